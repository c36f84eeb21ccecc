"""Structs that are written as columns of their own, and what gives them back."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pymosaic
from pymosaic.arrow.structs import STRUCTS_KEY

INNER = pa.struct([pa.field("u", pa.uint8(), False), pa.field("v", pa.string())])
PLACE = pa.struct([pa.field("x", pa.int64()), pa.field("in", INNER, metadata={"k": "v"})])
ROWS = [{"x": 1, "in": {"u": 3, "v": "a"}}, None, {"x": None, "in": {"u": 4, "v": None}}]


def places() -> pa.Table:
    return pa.table(
        {"id": [1, 2, 3], "place": pa.array(ROWS, PLACE), "last": [0.5, None, 2.0]}
    ).replace_schema_metadata({"mine": "kept"})


def written(table: pa.Table, **options: object) -> io.BytesIO:
    file = io.BytesIO()
    pymosaic.write_table(table, file, flatten=".", **options)  # type: ignore[arg-type]
    return file


def test_structs_come_back_with_nulls_nullability_and_metadata() -> None:
    table = pymosaic.read_table(written(places(), row_group_rows=2))
    assert table.schema.equals(places().schema, check_metadata=True)
    assert table.to_pylist() == places().to_pylist()
    table.validate(full=True)
    assert pymosaic.read_schema(written(places())).equals(places().schema, check_metadata=True)


def test_files_and_other_readers_have_a_column_for_each_field() -> None:
    flat = ["id", "place.x", "place.in.u", "place.in.v", "last"]
    file = pymosaic.MosaicFile(written(places()))
    assert file.column_names == flat
    assert file.schema.field("place.in.u").nullable, "a null struct has null fields"
    assert pymosaic.read_table(written(places()), types="mosaic").schema.names == flat
    assert pymosaic.read_table(written(places(), checksum=False)).schema.names == flat
    [batch] = file.iter_batches()
    assert pymosaic.unflatten(batch).to_pylist() == places().to_pylist()


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["last", "place"], ["last", "place"]),
        (["place.x"], ["place.x"]),
        (["place.*"], ["place.x", "place.in.u", "place.in.v"]),
        (["id"], ["id"]),
        (lambda field: field.name.startswith("place.in"), ["place.in.u", "place.in.v"]),
    ],
)
def test_columns_name_structs_or_fields(columns: list[str], expected: list[str]) -> None:
    table = pymosaic.read_table(written(places()), columns=columns, filters="id < 3")
    assert table.schema.names == expected
    assert table.num_rows == 2
    if "place" in expected:
        assert table["place"].to_pylist() == ROWS[:2]
        assert STRUCTS_KEY not in table.schema.metadata


def test_a_struct_may_be_left_out() -> None:
    table = pymosaic.read_table(written(places()), exclude=["place"])
    assert table.schema.names == ["id", "last"]
    partly = pymosaic.read_table(written(places()), exclude=["place.x"])
    assert partly.schema.names == ["id", "place.in.u", "place.in.v", "last"]


def test_a_struct_of_nulls_comes_back_as_null_where_it_may() -> None:
    kind = pa.struct({"x": pa.int64()})
    data = pa.array([{"x": None}, {"x": 1}], kind)
    free, bound = (pa.schema([pa.field("s", kind, nullable)]) for nullable in (True, False))
    assert pymosaic.read_table(written(pa.table([data], schema=free)))["s"].to_pylist() == [
        None,
        {"x": 1},
    ]
    table = pa.table([data], schema=bound)
    assert pymosaic.read_table(written(table)).equals(table)


def test_a_struct_that_must_not_be_null_inside_of_one_that_is() -> None:
    inner = pa.field("in", pa.struct([pa.field("u", pa.int8(), False)]), False)
    table = pa.table({"s": pa.array([None, {"in": {"u": 1}}], pa.struct([inner]))})
    back = pymosaic.read_table(written(table))
    assert back.schema == table.schema
    assert back.to_pylist() == table.to_pylist()


def test_batches_may_have_another_order_of_columns_and_fields(tmp_path) -> None:
    other = pa.struct([PLACE.field("in"), PLACE.field("x")])
    batch = pa.table({"place": pa.array(ROWS, other), "last": [1.0, 2.0, 3.0], "id": [4, 5, 6]})
    path = tmp_path / "places.mosaic"
    with pymosaic.MosaicWriter(path, places().schema, flatten=".") as writer:
        assert writer.schema == places().schema
        writer.write(places())
        writer.write(batch)
    back = pymosaic.read_table(path)
    assert back["place"].to_pylist() == ROWS + ROWS
    assert back["id"].to_pylist() == [1, 2, 3, 4, 5, 6]


def test_datasets_are_flattened_and_partitioned_by_fields(tmp_path) -> None:
    base = str(tmp_path / "places")
    pymosaic.write_dataset(places(), base, flatten=".", partition_by="place.x")
    pymosaic.write_dataset(places(), base, flatten=".", mode="append")
    back = pymosaic.read_table(base, columns=["id", "place"])
    assert sorted(back["id"].to_pylist()) == [1, 1, 2, 2, 3, 3]
    assert {row["id"]: row["place"] for row in back.to_pylist()} == dict(
        zip([1, 2, 3], ROWS, strict=True)
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"a": [{"b": 1}], "a.b": [2]}), "makes two columns 'a.b'"),
        (pa.table({"a": [{"b.c": 1, "b": {"c": 1}}]}), "makes two columns 'a.b.c'"),
        (pa.table({"a": pa.array([{}], pa.struct([]))}), "column 'a' is a struct without fields"),
        (pa.table({"a": [[{"b": 1}]]}), "column 'a' of type list"),
        (pa.table({"a": [{"b": [{"c": 1}]}]}), "column 'a.b' of type list"),
    ],
)
def test_what_cannot_be_flattened_is_refused_by_name(table: pa.Table, message: str) -> None:
    with pytest.raises(pymosaic.MosaicError, match=message):
        written(table)


@pytest.mark.parametrize("flatten", ["", 1, True])
def test_a_separator_is_a_text(flatten: object) -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="flatten must be a text"):
        pymosaic.write_table(places(), io.BytesIO(), flatten=flatten)  # type: ignore[arg-type]


def recorded(record: object) -> io.BytesIO:
    """A file of columns x and s.x with this record."""
    data = record if isinstance(record, bytes) else json.dumps(record).encode()
    file = io.BytesIO()
    table = pa.table({"x": [1], "s.x": pa.array([None], pa.int64())})
    pymosaic.write_table(table.replace_schema_metadata({STRUCTS_KEY: data}), file)
    return file


def deep(levels: int) -> dict[str, object]:
    field: dict[str, object] = {"name": "x"}
    for _ in range(levels):
        field = {"name": "s", "fields": [field]}
    return field


S = {"name": "s", "fields": [{"name": "x"}]}


@pytest.mark.parametrize(
    "record",
    [
        b"\xff",
        b"[" * 100_000,
        [],
        {"separator": "."},
        {"separator": "", "structs": [S]},
        {"separator": ".", "structs": {"s": 1}},
        {"separator": ".", "structs": [{"name": "s"}]},
        {"separator": ".", "structs": [{"name": "s", "fields": []}]},
        {"separator": ".", "structs": [{"name": 1, "fields": [{"name": "x"}]}]},
        {"separator": ".", "structs": [S, S]},
        {"separator": ".", "structs": [deep(40)]},
        {"separator": ".", "structs": [S | {"metadata": [["key"]]}]},
        {"separator": ".", "structs": [S | {"metadata": [["key", "\u20ac"]]}]},
        {
            "separator": ".",
            "structs": [
                {"name": "s", "nullable": False, "fields": [{"name": "x", "nullable": False}]}
            ],
        },
    ],
)
def test_a_record_that_is_not_valid_is_refused(record: object) -> None:
    file = recorded(record)
    with pytest.raises(pymosaic.CorruptFileError):
        pymosaic.read_table(file)
    assert pymosaic.read_table(file, types="mosaic").schema.names == ["x", "s.x"]


@pytest.mark.parametrize("name", ["x", "other"])
def test_columns_of_structs_that_are_gone_stay_columns(name: str) -> None:
    record = {"separator": ".", "structs": [{"name": name, "fields": [{"name": "y"}]}]}
    assert pymosaic.read_table(recorded(record)).schema.names == ["x", "s.x"]


_LEAVES = st.sampled_from([pa.int64(), pa.string(), pa.uint16(), pa.list_(pa.int8())])
_NAMES = st.sampled_from(["a", "b", "c d", "é"])


def _structs(children: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    return st.dictionaries(_NAMES, children, min_size=1, max_size=3).map(pa.struct)


@given(st.data(), _structs(st.recursive(_LEAVES, _structs, max_leaves=6)))
def test_any_struct_comes_back(data: st.DataObject, kind: pa.StructType) -> None:
    rows = data.draw(st.lists(_values(kind), max_size=5))
    table = pa.table({"s": pa.array(rows, kind)})
    back = pymosaic.read_table(written(table))
    assert back.schema == table.schema
    assert back["s"].to_pylist() == [_without_empty(row) for row in rows]


def _values(kind: pa.DataType) -> st.SearchStrategy[object]:
    if pa.types.is_struct(kind):
        fields = {field.name: _values(field.type) for field in kind}
        return st.none() | st.fixed_dictionaries(fields)
    if pa.types.is_string(kind):
        return st.none() | st.text(st.characters(codec="utf-8"), max_size=3)
    if pa.types.is_list(kind):
        return st.none() | st.lists(st.integers(0, 9), max_size=2)
    return st.none() | st.integers(0, 9)


def _without_empty(value: object) -> object:
    """A value with null in place of structs of nulls."""
    if not isinstance(value, dict):
        return value
    fields = {name: _without_empty(inner) for name, inner in value.items()}
    return fields if any(inner is not None for inner in fields.values()) else None
