"""Tables between Lance and Mosaic: structs, names with a dot, types that one side lacks."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.lance import LanceFile, from_mosaic, to_mosaic, write_table

STRUCT = pa.struct([("x", pa.int32()), ("in", pa.struct([("y", pa.string())]))])


def through_mosaic(table: pa.Table) -> pa.Table:
    buffer = io.BytesIO()
    pymosaic.write_table(table, buffer)
    return pymosaic.read_table(buffer.getvalue())


def test_structs_become_columns_and_come_back() -> None:
    table = pa.table(
        {
            "id": [1, 2, 3],
            "s": pa.array([{"x": 1, "in": {"y": "a"}}, None, {"x": None, "in": None}], STRUCT),
        }
    )
    flat = to_mosaic(table)
    assert flat.column_names == ["id", "s.x", "s.in.y"]
    assert flat.to_pydict() == {
        "id": [1, 2, 3],
        "s.x": [1, None, None],
        "s.in.y": ["a", None, None],
    }
    back = from_mosaic(through_mosaic(flat))
    assert back.column_names == ["id", "s"]
    assert back["s"].to_pylist() == [
        {"x": 1, "in": {"y": "a"}},
        {"x": None, "in": {"y": None}},
        {"x": None, "in": {"y": None}},
    ]
    buffer = io.BytesIO()
    write_table(back, buffer)
    assert LanceFile(buffer.getvalue()).read().equals(back)


def test_durations_become_numbers_of_their_unit() -> None:
    table = pa.table({"d": pa.array([5, None], pa.duration("ms"))})
    assert to_mosaic(table).equals(pa.table({"d": pa.array([5, None], pa.int64())}))


def test_maps_become_lists_of_structs() -> None:
    maps = pa.array([[("a", 1), ("b", None)], None, []], pa.map_(pa.string(), pa.int32()))
    for column in (maps, pa.chunked_array([maps, maps.slice(1)])):
        table = pa.table({"m": column})
        lists = from_mosaic(through_mosaic(table))
        assert lists["m"].to_pylist()[:3] == [
            [{"key": "a", "value": 1}, {"key": "b", "value": None}], None, [],
        ]  # fmt: skip
        lists.validate(full=True)
        buffer = io.BytesIO()
        write_table(lists, buffer)
        assert LanceFile(buffer.getvalue()).read().to_pylist() == lists.to_pylist()


def test_record_batches_are_taken_too_and_an_empty_one_gives_the_schema() -> None:
    batch = pa.record_batch({"s": pa.array([], STRUCT)})
    flat = to_mosaic(batch)
    assert isinstance(flat, pa.RecordBatch)
    assert flat.schema.names == ["s.x", "s.in.y"]
    assert from_mosaic(flat).schema.field("s").type == STRUCT


@pytest.mark.parametrize(
    "data_type",
    [
        pa.list_(pa.struct([("a", pa.int8())])),
        pa.list_(pa.duration("s")),
        pa.decimal256(50, 2),
        pa.map_(pa.string(), pa.struct([("a", pa.int8())])),
    ],
    ids=str,
)
def test_what_mosaic_cannot_hold_is_refused_with_the_column(data_type: pa.DataType) -> None:
    table = pa.table({"s": pa.StructArray.from_arrays([pa.nulls(1, data_type)], ["c"])})
    with pytest.raises(pymosaic.UnsupportedFeatureError, match=r"'s\.c'"):
        to_mosaic(table)


def test_what_mosaic_can_hold_is_written_by_it() -> None:
    table = pa.table(
        {
            "f": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)),
            "d": pa.array(["x"]).dictionary_encode(),
            "l": pa.array([[[1]]]),
            "n": pa.nulls(1),
            "u": pa.array([1], pa.uint64()),
        }
    )
    assert through_mosaic(to_mosaic(table)).num_columns == 5


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["a", "a.b"], "'a' and 'a.b' cannot both"),
        (["s.a.b", "s.a"], "'s.a' and 's.a.b' cannot both"),
        ([".a"], "'.a' cannot be a field"),
        (["a."], "'a.' cannot be a field"),
        (["a..b"], "cannot be a field"),
    ],
)
def test_names_that_make_no_structs_are_refused(names: list[str], match: str) -> None:
    with pytest.raises(pymosaic.InvalidDataError, match=match):
        from_mosaic(pa.table([[1]] * len(names), names=names))


def test_two_columns_of_one_name_are_refused() -> None:
    column = pa.array([{"b": 1}])
    with pytest.raises(pymosaic.InvalidDataError, match=r"named 'a\.b'"):
        to_mosaic(pa.table([column, pa.array([1])], names=["a", "a.b"]))
