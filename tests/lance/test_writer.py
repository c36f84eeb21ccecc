"""write_table: what may be forced, what is refused, and that a failure leaves nothing behind."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.lance import LanceFile, write_table, writer
from pymosaic.pages.encoding_choice import EncodingChoice
from pymosaic.pages.messages import Layer
from pymosaic.pages.summary import summarize
from tests.lance.peer import peer_read, peer_write

NUMBERS = pa.table({"n": range(1000)})


def refuse(table: pa.Table, encoding: str, match: str, column: str = "n") -> None:
    with pytest.raises(pymosaic.MosaicError, match=match):
        write_table(table, io.BytesIO(), encodings={column: encoding})


@pytest.mark.parametrize(
    ("encoding", "match"),
    [
        ("gzip", "'gzip' is not known; use mini-block"),
        ("plain+bit-packed", "two options of one kind"),
        ("zstd:40", "no level from 1 to 22"),
        ("lz4:3", "no level"),
        ("plain:3", "is not known"),
        ("fsst", "fsst does not apply to a column of int64"),
        ("blob", "blob is for large_binary"),
        ("packed-struct", "packed-struct is for structs"),
        ("full-zip+bit-packed", "full-zip"),
        ("full-zip+zstd", "full-zip with compression"),
        ("dictionary-message", "no version of Lance decodes"),
        ("variable-packed-struct", "came with version 2.2"),
    ],
)
def test_what_does_not_go_is_refused_with_the_reason(encoding: str, match: str) -> None:
    refuse(NUMBERS, encoding, match)


def test_a_column_that_is_not_there_is_refused() -> None:
    refuse(NUMBERS, "plain", "no column is named 'm'", "m")


def test_a_forced_encoding_must_be_text() -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="must be a string"):
        write_table(NUMBERS, io.BytesIO(), encodings={"n": 5})  # type: ignore[dict-item]


@pytest.mark.parametrize("version", ["2.0", "2.3", "stable"])
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match=r"version must be one of 2\.1"):
        write_table(NUMBERS, io.BytesIO(), version=version)


def test_a_leaf_can_be_forced_by_its_path() -> None:
    table = pa.table({"p": [{"x": i, "y": i} for i in range(1000)]})
    buffer = io.BytesIO()
    write_table(table, buffer, encodings={"p.y": "run-length"})
    file = LanceFile(buffer.getvalue())
    assert summarize(file.pages("p", 0)[0].layout) == "mini-block bit-packed"
    assert summarize(file.pages("p", 1)[0].layout) == "mini-block run-length"


@pytest.mark.parametrize(
    ("column", "match"),
    [
        (pa.array([{"a": 1, "b": "x"}]), "fields must be numbers"),
        (pa.array([{"a": 1, "b": [2]}]), r"list<item: int64> cannot be stored in one column"),
        (pa.array([{"a": 1, "b": None}], pa.struct([("a", pa.int8()), ("b", pa.int8())])), "nulls"),
    ],
)
def test_a_packed_struct_takes_numbers_without_nulls(column: pa.Array, match: str) -> None:
    refuse(pa.table({"n": column}), "packed-struct", match)


@pytest.mark.parametrize(
    ("column", "match"),
    [
        (pa.nulls(2, pa.month_day_nano_interval()), "Lance has no type for"),
        (pa.nulls(2, pa.list_view(pa.int8())), "Lance has no type for"),
        (pa.array([["a", "b"]], pa.list_(pa.string(), 2)), "fixed-size lists of string"),
        (pa.array([None, {}], pa.struct([])), "without fields cannot be null"),
        (pa.array([b""], pa.binary(0)), "Lance has no type for"),
        (pa.array([[]], pa.list_(pa.int8(), 0)), "Lance has no type for"),
        *(
            (pa.nulls(2, pa.dictionary(pa.int8(), value_type)), "Lance has no dictionaries of")
            for value_type in (
                pa.timestamp("us"),
                pa.date32(),
                pa.time64("ns"),
                pa.duration("s"),
                pa.decimal128(9, 2),
                pa.binary(3),
            )
        ),
        (
            pa.nulls(2, pa.map_(pa.string(), pa.int8())),
            r"2\.1 has no maps; pymosaic\.lance\.from_m",
        ),
        (pa.nulls(0, pa.binary(1 << 28)), "column 'n': values of .* wider than 268435455 bytes"),
        (pa.array([[{"a": 1}]], pa.list_(pa.struct([("a", pa.int8())]), 1)), "Lance has no type"),
    ],
)
def test_types_that_lance_lacks_are_refused_by_name(column: pa.Array, match: str) -> None:
    with pytest.raises(pymosaic.UnsupportedFeatureError, match=match):
        write_table(pa.table({"n": column}), io.BytesIO())


def test_names_with_a_dot_and_names_that_repeat_are_refused() -> None:
    with pytest.raises(pymosaic.InvalidDataError, match="a step into a struct"):
        write_table(pa.table({"a.b": [1]}), io.BytesIO())
    with pytest.raises(pymosaic.InvalidDataError, match="two columns are named 'a'"):
        write_table(pa.table([[1], [2]], names=["a", "a"]), io.BytesIO())


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "kept.lance"
    write_table(NUMBERS, path)
    before = path.read_bytes()
    refuse_table = pa.table({"n": pa.array([["a", "b"]], pa.list_(pa.string(), 2))})
    with pytest.raises(pymosaic.UnsupportedFeatureError):
        write_table(refuse_table, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["kept.lance"]


def test_the_same_table_gives_the_same_bytes() -> None:
    table = pa.table({"t": [f"https://example.org/{i}" for i in range(5000)], "n": range(5000)})
    first, second = io.BytesIO(), io.BytesIO()
    write_table(table, first)
    write_table(table, second)
    assert first.getvalue() == second.getvalue()


def test_slices_and_chunks_are_written_as_what_they_show() -> None:
    column = pa.array([[{"a": i, "b": None if i % 3 else str(i)}] * (i % 4) for i in range(200)])
    table = pa.table({"c": pa.chunked_array([column.slice(7, 50), column.slice(100, 31)])})
    buffer = io.BytesIO()
    write_table(table, buffer)
    assert LanceFile(buffer.getvalue()).read().equals(table.combine_chunks())
    flat = pa.table({"b": pa.array([True, None, False] * 40).slice(5, 77)})
    buffer = io.BytesIO()
    write_table(flat, buffer)
    assert LanceFile(buffer.getvalue()).read().equals(flat)


def test_values_hidden_below_nulls_are_not_written() -> None:
    values = pa.array(["secret" * 20, "shown"])
    hidden = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\2"), *values.buffers()[1:]], 1)
    lists = pa.ListArray.from_arrays([0, 1, 2], values, mask=pa.array([True, False]))
    for column in (hidden, lists):
        buffer = io.BytesIO()
        write_table(pa.table({"c": column}), buffer)
        assert b"secret" not in buffer.getvalue()
        assert LanceFile(buffer.getvalue()).read()["c"].combine_chunks().equals(column)


def test_metadata_of_schema_and_fields_is_kept() -> None:
    field = pa.field("n", pa.int64(), nullable=False, metadata={"unit": "m"})
    table = pa.table([[1, 2]], schema=pa.schema([field], {"made by": "hand"}))
    buffer = io.BytesIO()
    write_table(table, buffer)
    assert LanceFile(buffer.getvalue()).schema.equals(table.schema, check_metadata=True)


def test_what_was_read_as_blobs_is_written_as_blobs() -> None:
    table = pa.table({"b": pa.array([b"abc", None, b""], pa.large_binary())})
    first, second = io.BytesIO(), io.BytesIO()
    write_table(table, first, encodings={"b": "blob"})
    write_table(LanceFile(first.getvalue()).read(), second)
    file = LanceFile(second.getvalue())
    assert summarize(file.pages("b")[0].layout) == "blob"
    assert file.read().equals(table)


def test_the_smallest_of_the_encodings_is_chosen() -> None:
    columns = {
        "sorted": (np.arange(10_000), "mini-block bit-packed"),
        "negative": (-np.arange(1, 10_001), "mini-block flat"),
        "runs": (np.repeat(np.arange(100), 100), "mini-block run-length"),
        "far apart": ((np.arange(10_000) % 7) << 50, "mini-block dictionary("),
    }
    for name, (values, expected) in columns.items():
        buffer = io.BytesIO()
        write_table(pa.table({"c": values}), buffer)
        found = summarize(LanceFile(buffer.getvalue()).pages("c")[0].layout)
        assert found.startswith(expected), name


def test_an_arrow_stream_is_written_too() -> None:
    buffer = io.BytesIO()
    write_table(NUMBERS.to_reader(max_chunksize=100), buffer)
    assert LanceFile(buffer.getvalue()).read().equals(NUMBERS)


def test_a_packed_struct_with_strings_is_for_a_later_version() -> None:
    refuse(
        pa.table({"n": pa.array([{"a": 1, "b": "x"}])}),
        "full-zip+packed-struct",
        "VariablePackedStruct, which came with version 2",
    )


def test_a_compressor_is_left_out_where_the_chosen_layout_has_no_use_for_it() -> None:
    vectors = pa.FixedSizeListArray.from_arrays(np.arange(5000.0), 500)
    buffer = io.BytesIO()
    write_table(pa.table({"v": vectors}), buffer, encodings={"v": "zstd"})
    found = summarize(LanceFile(buffer.getvalue()).pages("v")[0].layout)
    assert found == "full-zip fixed-size-list(flat)"


def hidden_matrices() -> pa.Array:
    """Lists of 2 × 2 matrices, of which null ones hide values."""
    rows = pa.FixedSizeListArray.from_arrays(pa.array(range(384), pa.int16()), 2)
    matrices = pa.FixedSizeListArray.from_arrays(rows, 2)
    is_null = pa.array([i % 4 == 1 for i in range(32)])
    return pa.ListArray.from_arrays(pa.array(range(0, 97, 3)), matrices, mask=is_null)


@pytest.mark.parametrize(("page_bytes", "first_row"), [(800, 0), (8 << 20, 7), (300, 5)])
def test_matrices_in_lists_that_hide_values_are_written_as_what_they_show(
    page_bytes: int, first_row: int
) -> None:
    table = pa.table({"c": hidden_matrices()}).slice(first_row)
    buffer = io.BytesIO()
    write_table(table, buffer, page_bytes=page_bytes)
    file = LanceFile(buffer.getvalue())
    assert file.read()["c"].to_pylist() == table["c"].to_pylist()
    rows = [20, 3, 4, 11]
    assert file.take(rows)["c"].to_pylist() == [table["c"].to_pylist()[row] for row in rows]


def nulls_that_hide_lists() -> pa.Array:
    """Structs of which some are null above lists of every kind."""
    lists = pa.array([[1, 2], [], None, [3], [None], [4, 5], [], [6]] * 5)
    is_null = pa.array([row >= 12 and row % 3 == 0 for row in range(40)])
    return pa.StructArray.from_arrays([lists, pa.array(range(40))], ["l", "n"], mask=is_null)


@pytest.mark.parametrize("page_bytes", [100, 300, 8 << 20])
def test_nulls_above_lists_are_read_by_pylance_however_they_fall_into_pages(
    page_bytes: int, tmp_path: Path
) -> None:
    structs = nulls_that_hide_lists()
    in_lists = pa.ListArray.from_arrays(
        pa.array(range(0, 41, 2)), structs, mask=pa.array([row % 4 == 1 for row in range(20)])
    )
    for number, column in enumerate((structs, in_lists)):
        table = pa.table({"c": column})
        path = tmp_path / f"{number}.lance"
        write_table(table, path, page_bytes=page_bytes)
        assert peer_read(path).equals(table)
        assert LanceFile(path).read().equals(table)


def test_nulls_that_are_hidden_make_no_levels() -> None:
    values = pa.array([1, None, 3, None, None, 6])
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3, 5, 6]), values, mask=pa.array([False, True, False, True, False])
    )
    buffer = io.BytesIO()
    write_table(pa.table({"c": lists}), buffer)
    page = LanceFile(buffer.getvalue()).pages("c")[0]
    assert page.layout.layers == (Layer.ALL_VALID_ITEM, Layer.NULLABLE_LIST)


@pytest.mark.parametrize("encodings", [None, {"a": "fsst"}, {"a": "full-zip"}])
def test_offsets_that_fall_are_refused_before_a_kernel_sees_them(
    encodings: dict[str, str] | None,
) -> None:
    offsets = np.zeros(8001, np.int32)
    offsets[1::2] = offsets[-1] = 100_000
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"x" * 100_000)]
    array = pa.Array.from_buffers(pa.string(), 8000, buffers)
    with pytest.raises(pymosaic.InvalidDataError, match="not valid Arrow"):
        write_table(pa.table({"a": array}), io.BytesIO(), encodings=encodings)


@pytest.mark.parametrize("data_type", [pa.string(), pa.large_string()])
@pytest.mark.parametrize(
    ("text", "middle"),
    [
        (b"x" * (2 << 20), 3 << 20),  # offsets that fall, of nothing but ASCII
        (b"x" * (2 << 20) + b"\xff", 1 << 20),
        ("é".encode() * (1 << 20), 1),  # each half of a character in another string
    ],
)
def test_long_strings_that_are_not_valid_are_refused(
    text: bytes, middle: int, data_type: pa.DataType
) -> None:
    kind = np.int32 if data_type == pa.string() else np.int64
    offsets = pa.py_buffer(np.array([0, middle, len(text)], kind))
    array = pa.Array.from_buffers(data_type, 2, [None, offsets, pa.py_buffer(text)])
    with pytest.raises(pymosaic.InvalidDataError, match="not valid Arrow"):
        write_table(pa.table({"a": array}), io.BytesIO())


def test_list_offsets_that_fall_are_refused() -> None:
    offsets = pa.py_buffer(np.array([0, 1 << 28, 3], np.int32))
    array = pa.Array.from_buffers(
        pa.list_(pa.int64()), 2, [None, offsets], children=[pa.array([1, None, 3])]
    )
    with pytest.raises(pymosaic.InvalidDataError, match="not valid Arrow"):
        write_table(pa.table({"a": array}), io.BytesIO())


def test_with_compression_the_smallest_after_it_is_chosen(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    rows = 20_000
    table = pa.table(
        {
            "ids": np.cumsum(chance.integers(1, 20, rows)),
            "users": chance.zipf(1.3, rows) % 100_000,
            "zeros": np.where(chance.random(rows) < 0.01, chance.integers(0, 1 << 40, rows), 0),
            "prices": np.round(chance.lognormal(3, 1, rows), 2),
            "names": [f"name {n}" for n in chance.integers(0, 500, rows).tolist()],
            "lists": [[n] * (n % 3) for n in chance.integers(0, 50, rows).tolist()],
        }
    )
    path = tmp_path / "compressed.lance"
    write_table(table, path, compression="zstd")
    assert LanceFile(path).read().equals(table)
    assert peer_read(path).equals(table)
    forced = ("plain", "bit-packed", "run-length", "byte-stream-split")
    for name in ("ids", "users", "zeros"):
        chosen = sum(page.num_bytes for page in LanceFile(path).pages(name))
        for encoding in forced:
            other = tmp_path / f"{name}-{encoding}.lance"
            write_table(table.select([name]), other, encodings={name: f"{encoding}+zstd"})
            assert chosen <= sum(page.num_bytes for page in LanceFile(other).pages(name))


@pytest.mark.parametrize("compression", ["brotli", "zstd:23", "zstd+lz4", "plain", 3])
def test_a_compression_that_is_not_there_is_refused(compression: str) -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="compression"):
        write_table(pa.table({"n": [1]}), io.BytesIO(), compression=compression)


def test_the_schema_is_made_once_whatever_number_of_columns_has_a_choice() -> None:
    class Fields:
        """A schema that cannot be changed field by field, which would copy all fields each time."""

        def __init__(self, schema: pa.Schema) -> None:
            self.names, self.metadata, self._schema = schema.names, schema.metadata, schema

        def __iter__(self) -> Iterator[pa.Field]:
            return iter(self._schema)

    struct = pa.struct({"x": pa.int8()})
    schema = pa.schema({"a": struct, "b": pa.int8(), "c": struct}, {"k": "v"})
    choices = writer._Choices(
        {"a": "packed-struct", "b": "plain", "c": "packed-struct"}, EncodingChoice(), schema
    )
    prepared = writer._prepared_schema(Fields(schema), choices)
    assert prepared.metadata == {b"k": b"v"}
    assert [bool(field.metadata) for field in prepared] == [True, False, True]


@pytest.mark.parametrize("of_field", [False, True])
def test_metadata_whose_keys_are_not_text_is_refused(of_field: bool) -> None:
    metadata = {b"\xff": b"x"}
    field = pa.field("a", pa.int64(), metadata=metadata if of_field else None)
    table = pa.table([[1]], schema=pa.schema([field], None if of_field else metadata))
    with pytest.raises(pymosaic.InvalidDataError, match="key of the metadata is not UTF-8"):
        write_table(table, io.BytesIO())


REQUIRED = pa.field("x", pa.int64(), nullable=False)
REQUIRED_ITEMS = pa.list_(pa.field("item", pa.int64(), nullable=False))
REQUIRED_STRUCT = pa.struct([REQUIRED])
ITEMS_WITH_NULL = pa.array([1, None, 3])
NULLS_WHERE_NONE_SHOULD_BE = {
    "x": (REQUIRED, pa.array([1, None, 3])),
    "x, all null": (REQUIRED, pa.nulls(3, pa.int64())),
    "d": (
        pa.field("d", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.array(["a", None]).dictionary_encode(),
    ),
    "s.x": (
        pa.field("s", REQUIRED_STRUCT),
        pa.StructArray.from_arrays(
            [ITEMS_WITH_NULL], fields=[REQUIRED], mask=pa.array([True, False, False])
        ),
    ),
    "l.item": (
        pa.field("l", REQUIRED_ITEMS),
        pa.ListArray.from_arrays(pa.array([0, 2, 3]), ITEMS_WITH_NULL, type=REQUIRED_ITEMS),
    ),
    "l.item.x": (
        pa.field("l", pa.list_(pa.field("item", REQUIRED_STRUCT))),
        pa.ListArray.from_arrays(
            pa.array([0, 2, 3]), pa.StructArray.from_arrays([ITEMS_WITH_NULL], fields=[REQUIRED])
        ),
    ),
}


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("case", NULLS_WHERE_NONE_SHOULD_BE)
def test_nulls_in_a_field_that_is_declared_non_null_are_refused_as_by_pylance(
    case: str, version: str, tmp_path: Path
) -> None:
    field, array = NULLS_WHERE_NONE_SHOULD_BE[case]
    table = pa.Table.from_arrays([array], schema=pa.schema([field]))
    name = case.partition(",")[0]
    with pytest.raises(pymosaic.InvalidDataError, match=f"'{name}' is declared non-null but has"):
        write_table(table, io.BytesIO(), version=version)
    with pytest.raises(Exception, match="non-null"):
        peer_write(table, tmp_path / "file.lance", version)


def test_null_values_of_maps_are_refused_where_the_map_has_none() -> None:
    data_type = pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False))
    keys = pa.array(["a", "b", "c"])
    maps = pa.MapArray.from_arrays(pa.array([0, 2, 3]), keys, ITEMS_WITH_NULL, type=data_type)
    table = pa.table({"m": maps})
    with pytest.raises(pymosaic.InvalidDataError, match=r"'m.value' is declared non-null"):
        write_table(table, io.BytesIO(), version="2.2")


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_what_nulls_hide_may_be_null_in_a_field_that_is_declared_non_null(
    version: str, tmp_path: Path
) -> None:
    is_null = pa.array([False, True, False])
    structs = pa.StructArray.from_arrays([ITEMS_WITH_NULL], fields=[REQUIRED], mask=is_null)
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3]), ITEMS_WITH_NULL, type=REQUIRED_ITEMS, mask=is_null
    )
    nested = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3]),
        pa.StructArray.from_arrays([ITEMS_WITH_NULL], fields=[REQUIRED]),
        mask=is_null,
    )
    table = pa.table({"s": structs, "l": lists, "n": nested}).slice(1)
    path = tmp_path / "file.lance"
    write_table(table, path, version=version)
    read = LanceFile(path).read()
    assert read.schema == table.schema
    assert read.to_pylist() == table.to_pylist()
    assert peer_read(path).to_pylist() == table.to_pylist()
