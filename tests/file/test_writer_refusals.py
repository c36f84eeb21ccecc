"""What a writer refuses: by column name, saying what to do, and leaving no trace.

Everything here is refused before the target is touched: no file appears, an old one stays as it
was, and nothing is left beside it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.errors import (
    ClosedError,
    InvalidDataError,
    InvalidOptionError,
    MosaicError,
    UnsupportedFeatureError,
)
from tests.writing import write

OLD = b"the old file"


@pytest.fixture(params=["no file", "an old file"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A path that, after the test, must be as it was before: empty-handed or with the old file."""
    path = tmp_path / "target.mosaic"
    if request.param == "an old file":
        path.write_bytes(OLD)
    yield path
    if request.param == "an old file":
        assert path.read_bytes() == OLD
        assert list(tmp_path.iterdir()) == [path]
    else:
        assert list(tmp_path.iterdir()) == []


class NoByte(io.BytesIO):
    """A file that nothing may be written to."""

    def write(self, data: Any) -> int:
        raise AssertionError("a byte was written")


@contextmanager
def refused(kind: type[MosaicError], *words: str) -> Iterator[None]:
    """The error is of this kind, and its message has all these words."""
    with pytest.raises(kind) as caught:
        yield
    assert type(caught.value) is kind
    message = str(caught.value)
    missing = [word for word in words if word not in message]
    assert not missing, f"{missing} not in: {message}"


def column(of: pa.DataType, nullable: bool = True) -> pa.Schema:
    return pa.schema([pa.field("fine", pa.int8()), pa.field("bad", of, nullable)])


def table(array: pa.Array, nullable: bool = True) -> pa.Table:
    fine = pa.array([1] * len(array), pa.int8())
    return pa.Table.from_arrays([fine, array], schema=column(array.type, nullable))


# Types

STRUCT = pa.struct([("x", pa.int8())])

UNSUPPORTED: dict[str, tuple[pa.DataType, str]] = {
    "struct": (STRUCT, 'flatten="."'),
    "empty struct": (pa.struct([]), "columns of their own"),
    "dense union": (pa.dense_union([pa.field("x", pa.int8())]), "one column per member type"),
    "sparse union": (pa.sparse_union([pa.field("x", pa.int8())]), "one column per member type"),
    "interval": (pa.month_day_nano_interval(), "integer columns"),
    "decimal256 of 39 digits": (pa.decimal256(39, 0), "38 digits"),
    "decimal256 of 76 digits": (pa.decimal256(76, 10), "decimal128"),
    "map with a list as key": (pa.map_(pa.list_(pa.int8()), pa.int8()), "scalars"),
    "map with a map as key": (pa.map_(pa.map_(pa.int8(), pa.int8()), pa.int8()), "scalars"),
    "map with a struct as key": (pa.map_(STRUCT, pa.int8()), "scalars"),
    "map with a dictionary of lists as key": (
        pa.map_(pa.dictionary(pa.int8(), pa.list_(pa.int8())), pa.int8()),
        "scalars",
    ),
    "extension on a struct": (
        pa.opaque(STRUCT, "point", "test"),
        "columns of their own",
    ),
}
every_unsupported_type = pytest.mark.parametrize(
    ("of", "advice"), UNSUPPORTED.values(), ids=UNSUPPORTED.keys()
)


class TestTypes:
    @every_unsupported_type
    def test_that_the_format_lacks_are_refused_by_name_with_advice(
        self, of: pa.DataType, advice: str, target: Path
    ) -> None:
        with refused(UnsupportedFeatureError, "'bad'", str(of), advice):
            pymosaic.MosaicWriter(target, column(of))

    @every_unsupported_type
    def test_are_refused_before_a_byte_reaches_a_file_object(
        self, of: pa.DataType, advice: str
    ) -> None:
        with pytest.raises(UnsupportedFeatureError):
            pymosaic.MosaicWriter(NoByte(), column(of))

    @pytest.mark.parametrize(
        "of",
        [
            pa.list_(STRUCT),
            pa.map_(pa.int8(), STRUCT),
            pa.list_(pa.struct([("millis", pa.int64()), ("nanos_of_milli", pa.int32())])),
        ],
        ids=str,
    )
    def test_structs_inside_lists_are_not_told_to_flatten_the_table(
        self, of: pa.DataType, target: Path
    ) -> None:
        with pytest.raises(UnsupportedFeatureError, match="'bad'") as caught:
            pymosaic.MosaicWriter(target, column(of))
        # Table.flatten() leaves such a column as it is.
        assert column(of).empty_table().flatten().schema.field("bad").type == of
        assert "flatten()" not in str(caught.value)

    @pytest.mark.parametrize(
        "follow",
        [
            lambda rows: rows.select(["s"]).flatten(),
            lambda rows: rows.select(["d"]).cast(pa.schema([("d", pa.int64())])),
            lambda rows: rows.select(["n"]).cast(pa.schema([("n", pa.decimal128(38, 0))])),
            lambda rows: rows.select(["n"]).cast(pa.schema([("n", pa.string())])),
        ],
        ids=["flatten", "int64", "decimal128", "string"],
    )
    def test_that_follow_the_advice_are_taken(self, follow: Callable[[pa.Table], pa.Table]) -> None:
        rows = pa.table(
            {
                "s": pa.array([{"x": 1}]),
                "d": pa.array([1], pa.duration("s")),
                "n": pa.array([1], pa.decimal256(39, 0)),
            }
        )
        with pytest.raises(UnsupportedFeatureError):
            write([], rows.schema)
        advised = follow(rows)
        assert pymosaic.read_table(write([advised], advised.schema)).equals(advised)

    @pytest.mark.parametrize("name", ["other", "millis"])
    def test_only_the_timestamp_struct_of_the_reference_is_no_struct(
        self, name: str, target: Path
    ) -> None:
        of = pa.struct([("millis", pa.int64()), (name, pa.int32())])
        with refused(UnsupportedFeatureError, "'bad'"):
            pymosaic.MosaicWriter(target, column(of))

    def test_nested_too_deep_are_refused_for_their_depth(self, target: Path) -> None:
        of: pa.DataType = pa.int8()
        for _ in range(2000):
            of = pa.list_(of)
        with refused(UnsupportedFeatureError, "'bad'", "deep"):
            pymosaic.MosaicWriter(target, column(of))


class TestNames:
    @pytest.mark.parametrize(
        ("names", "words"),
        [
            (["a", ""], ("column 1", "empty name")),
            (["a", "b", "a"], ("'a'", "twice")),
            (["é", "é"], ("'é'", "twice")),
            (["a\0b"], (r"'a\x00b'", "NUL")),
            (["\0"], (r"'\x00'", "NUL")),
        ],
        ids=["empty", "twice", "twice, not ASCII", "NUL inside", "NUL only"],
    )
    def test_that_no_file_can_have_are_refused(
        self, names: list[str], words: tuple[str, ...], target: Path
    ) -> None:
        schema = pa.schema([pa.field(name, pa.int8()) for name in names])
        with refused(InvalidDataError, *words):
            pymosaic.MosaicWriter(target, schema)
        with refused(InvalidDataError, *words):
            pymosaic.write_table(schema.empty_table(), target)

    @pytest.mark.parametrize("names", [["a", "A"], ["a", "a "], ["é", "e\u0301"]])
    def test_that_only_look_alike_are_different_columns(self, names: list[str]) -> None:
        schema = pa.schema([pa.field(name, pa.int8()) for name in names])
        assert pymosaic.read_schema(write([], schema)).names == names


# Values


def refuse_value(array: pa.Array, target: Path, *words: str, nullable: bool = True) -> None:
    """The table of this column is refused, whatever it is written to."""
    data = table(array, nullable)
    with refused(InvalidDataError, "'bad'", *words):
        pymosaic.write_table(data, target)
    with refused(InvalidDataError, "'bad'", *words):
        pymosaic.write_table(data, NoByte())


NOT_NULL = pa.field("item", pa.int8(), nullable=False)
WITH_NULL = pa.array([1, None], pa.int8())
TWO = pa.array([0, 1, 2], pa.int32())


NULL_INSIDE: dict[str, pa.Array] = {
    "list": pa.ListArray.from_arrays(TWO, WITH_NULL, type=pa.list_(NOT_NULL)),
    "large_list": pa.LargeListArray.from_arrays(
        TWO.cast(pa.int64()), WITH_NULL, type=pa.large_list(NOT_NULL)
    ),
    "list_view": pa.ListViewArray.from_arrays(
        TWO.slice(0, 2), pa.array([1, 1], pa.int32()), WITH_NULL, type=pa.list_view(NOT_NULL)
    ),
    "fixed_size_list": pa.FixedSizeListArray.from_arrays(WITH_NULL, type=pa.list_(NOT_NULL, 1)),
    "map value": pa.MapArray.from_arrays(
        TWO, pa.array(["x", "y"]), WITH_NULL, type=pa.map_(pa.string(), NOT_NULL)
    ),
    "list of dictionary": pa.ListArray.from_arrays(
        TWO,
        WITH_NULL.dictionary_encode(),
        type=pa.list_(NOT_NULL.with_type(pa.dictionary(pa.int32(), pa.int8()))),
    ),
    "list of list": pa.ListArray.from_arrays(
        pa.array([0, 2], pa.int32()),
        pa.ListArray.from_arrays(TWO, WITH_NULL, type=pa.list_(NOT_NULL)),
    ),
}


class TestNulls:
    @pytest.mark.parametrize(
        "array",
        [
            WITH_NULL,
            WITH_NULL.dictionary_encode(),
            pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), WITH_NULL),
            pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), WITH_NULL),
            pa.array(["x", None], pa.string_view()),
            pa.array([True, None]),
            pa.array([[1], None]),
            pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())),
            pa.array(
                [(0, 0), None], pa.struct([("millis", pa.int64()), ("nanos_of_milli", pa.int32())])
            ),
        ],
        ids=[
            "int8",
            "dictionary index",
            "dictionary entry",
            "run",
            "string_view",
            "bool",
            "list",
            "map",
            "timestamp struct",
        ],
    )
    def test_in_a_not_null_column_are_refused(self, array: pa.Array, target: Path) -> None:
        refuse_value(array, target, "NOT NULL", nullable=False)

    @pytest.mark.parametrize("array", NULL_INSIDE.values(), ids=NULL_INSIDE.keys())
    def test_in_a_not_null_element_are_refused(self, array: pa.Array, target: Path) -> None:
        refuse_value(array, target, "NOT NULL")

    def test_count_when_the_batch_says_nullable_and_the_writer_not(self, target: Path) -> None:
        schema = pa.schema([pa.field("bad", pa.int8(), nullable=False)])
        fine, bad = (pa.record_batch({"bad": pa.array([value], pa.int8())}) for value in (1, None))
        with refused(InvalidDataError, "'bad'"), pymosaic.MosaicWriter(target, schema) as writer:
            writer.write(fine)
            writer.write(bad)

    def test_of_the_null_type_count_too(self, target: Path) -> None:
        schema = pa.schema([pa.field("bad", pa.int8(), nullable=False)])
        batch = pa.record_batch({"bad": pa.nulls(1)})
        with refused(InvalidDataError, "'bad'"), pymosaic.MosaicWriter(target, schema) as writer:
            writer.write(batch)


def from_bytes(of: pa.DataType, data: bytes) -> pa.Array:
    return pa.Array.from_buffers(of, 1, [None, pa.py_buffer(data)])


def text(data: bytes, of: pa.DataType) -> pa.Array:
    if of == pa.string_view():
        # Arrow has no unchecked way from bytes to a view, but the buffers are the same.
        array = pa.array([data], pa.binary_view())
        return pa.Array.from_buffers(of, 1, array.buffers())
    offsets = np.array([0, len(data)], np.int64 if of == pa.large_string() else np.int32)
    return pa.Array.from_buffers(of, 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


class TestValues:
    @pytest.mark.parametrize("of", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
    @pytest.mark.parametrize(
        "data",
        [
            b"\xff",
            b"\x80",
            b"ends early \xc3",
            b"\xc0\x80",
            b"\xe0\x9f\xbf",
            b"\xed\xa0\x80",
            b"\xf0\x8f\xbf\xbf",
            b"\xf4\x90\x80\x80",
            b"\xf5\x80\x80\x80",
            b"longer than eight bytes\xe9",
        ],
        ids=bytes.hex,
    )
    def test_text_that_is_not_utf8(self, data: bytes, of: pa.DataType, target: Path) -> None:
        refuse_value(text(data, of), target, "UTF-8")

    @pytest.mark.parametrize("data", [b"\xff", b"\xed\xa0\x80"], ids=bytes.hex)
    def test_text_that_is_not_utf8_in_lists_and_dictionaries(
        self, data: bytes, target: Path
    ) -> None:
        value = text(data, pa.string())
        offsets, index = pa.array([0, 1], pa.int32()), pa.array([0], pa.int8())
        for array in (
            pa.ListArray.from_arrays(offsets, value),
            pa.DictionaryArray.from_arrays(index, value),
            pa.MapArray.from_arrays(offsets, value, index),
        ):
            refuse_value(array, target, "UTF-8")

    @pytest.mark.parametrize(
        "data", ["\x7f", "\x80", "߿", "ࠀ", "퟿", "\ue000", "￿", "𐀀", "\U0010ffff"]
    )
    def test_text_at_the_edges_of_utf8_is_taken(self, data: str) -> None:
        batch = pa.record_batch({"a": [data]})
        assert pymosaic.read_table(write([batch], batch.schema))["a"].to_pylist() == [data]

    @pytest.mark.parametrize("sign", [1, -1])
    @pytest.mark.parametrize(
        ("of", "width", "unscaled"),
        [
            (pa.decimal32(3, 1), 4, 1000),
            (pa.decimal64(18, 0), 8, 10**18),
            (pa.decimal128(1, 0), 16, 10),
            (pa.decimal128(18, 2), 16, 10**18),
            (pa.decimal128(18, 2), 16, 2**64),
            (pa.decimal128(19, 2), 16, 10**19),
            (pa.decimal128(38, 2), 16, 10**38),
            (pa.decimal256(18, 0), 32, 2**128),
            (pa.decimal256(38, 0), 32, 10**38),
            (pa.decimal256(38, 0), 32, 2**127),
            (pa.decimal256(38, 0), 32, 2**200),
        ],
    )
    def test_decimals_beyond_their_precision(
        self, of: pa.DataType, width: int, unscaled: int, sign: int, target: Path
    ) -> None:
        array = from_bytes(of, (sign * unscaled).to_bytes(width, "little", signed=True))
        refuse_value(array, target, "precision")

    @pytest.mark.parametrize("millis", [-1, 86_400_000, 2**31 - 1, -(2**31)])
    def test_times_out_of_the_day(self, millis: int, target: Path) -> None:
        refuse_value(pa.array([millis], pa.time32("ms")), target, "day")

    def test_times_finer_than_milliseconds(self, target: Path) -> None:
        refuse_value(pa.array([1], pa.time64("us")), target, "time32", "int64")

    def test_dictionary_indices_outside_the_dictionary(self, target: Path) -> None:
        for index in (pa.array([1], pa.int8()), pa.array([-1], pa.int8())):
            array = pa.DictionaryArray.from_arrays(index, pa.array(["x"]), safe=False)
            refuse_value(array, target, "dictionary")

    def test_after_good_row_groups_in_a_local_file(self, target: Path) -> None:
        chunks = [pa.array([1, 2], pa.time32("ms")), pa.array([-1], pa.time32("ms"))]
        data = pa.table({"bad": pa.chunked_array(chunks)})
        with refused(InvalidDataError, "'bad'"):
            pymosaic.write_table(data, target, row_group_bytes=1)


# Batches

SCHEMA = pa.schema([("a", pa.int32()), ("b", pa.string())])


class TestBatches:
    @pytest.mark.parametrize(
        ("batch", "words"),
        [
            (pa.record_batch({"a": pa.array([1], pa.int32())}), ("lacks", "'b'")),
            (pa.record_batch({}), ("lacks", "'a'")),
            (
                pa.record_batch([pa.array([1], pa.int32()), ["x"], [2]], ["a", "b", "c"]),
                ("'c'", "does not have"),
            ),
            (pa.record_batch([pa.array([1], pa.int32()), ["x"]], ["a", "B"]), ("'B'",)),
            (pa.record_batch([pa.array([1], pa.int32()), ["x"]], ["a", "b\0"]), (r"'b\x00'",)),
            (
                pa.record_batch([pa.array([1], pa.int32()), ["x"], ["y"]], ["a", "b", "b"]),
                ("two columns", "'b'"),
            ),
            (
                pa.record_batch([pa.array([1], pa.int64()), ["x"]], ["a", "b"]),
                ("'a'", "int64", "int32"),
            ),
            (
                pa.record_batch([pa.array([1], pa.int32()), [b"x"]], ["a", "b"]),
                ("'b'", "binary", "string"),
            ),
            (
                pa.record_batch([pa.array([1], pa.int32()), [["x"]]], ["a", "b"]),
                ("'b'", "list", "string"),
            ),
        ],
        ids=["missing", "empty", "extra", "case", "NUL", "twice", "wider", "binary", "list"],
    )
    def test_that_do_not_fit_the_schema(
        self, batch: pa.RecordBatch, words: tuple[str, ...], target: Path
    ) -> None:
        for rows in (batch, batch.slice(0, 0)):
            with refused(InvalidDataError, *words), pymosaic.MosaicWriter(target, SCHEMA) as writer:
                writer.write(rows)

    @pytest.mark.parametrize(
        ("declared", "given"),
        [
            (pa.timestamp("ms"), pa.timestamp("us")),
            (pa.timestamp("ms"), pa.timestamp("ms", "UTC")),
            (pa.timestamp("ms", "UTC"), pa.timestamp("ms")),
            (pa.timestamp("ms", "UTC"), pa.timestamp("ms", "Asia/Tokyo")),
            (pa.decimal128(10, 2), pa.decimal128(10, 3)),
            (pa.decimal128(10, 2), pa.decimal128(11, 2)),
            (pa.decimal128(10, 2), pa.int64()),
            (pa.float64(), pa.float32()),
            (pa.int16(), pa.int8()),
            (pa.list_(pa.int8()), pa.list_(pa.int16())),
            (pa.list_(pa.int8()), pa.int8()),
            (pa.map_(pa.string(), pa.int8()), pa.map_(pa.binary(), pa.int8())),
            (pa.map_(pa.string(), pa.int8()), pa.map_(pa.string(), pa.int16())),
            (pa.string(), pa.dictionary(pa.int8(), pa.int8())),
        ],
        ids=str,
    )
    def test_of_another_type_are_not_cast(
        self, declared: pa.DataType, given: pa.DataType, target: Path
    ) -> None:
        batch = pa.record_batch([pa.nulls(1, given)], ["bad"])
        schema = pa.schema([("bad", declared)])
        with (
            refused(InvalidDataError, "'bad'", str(given)),
            pymosaic.MosaicWriter(target, schema) as writer,
        ):
            writer.write(batch)

    def test_with_a_type_that_the_format_lacks(self, target: Path) -> None:
        batch = pa.record_batch([pa.array([{"x": 1}])], ["bad"])
        schema = pa.schema([("bad", pa.int64())])
        with (
            refused(UnsupportedFeatureError, "'bad'"),
            pymosaic.MosaicWriter(target, schema) as writer,
        ):
            writer.write(batch)

    def test_whose_second_chunk_is_bad(self, target: Path) -> None:
        good = pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]})
        bad = pa.table(
            {"a": pa.array([1], pa.int32()), "b": pa.chunked_array([text(b"\xff", pa.string())])}
        )
        with refused(InvalidDataError, "'b'"), pymosaic.MosaicWriter(target, SCHEMA) as writer:
            writer.write(pa.concat_tables([good, bad]))


class TestWhatIsNoTable:
    @pytest.mark.parametrize(
        "thing",
        [[1, 2], [{"a": 1}], {"a": [1]}, "a.csv", b"bytes", None, 1, np.zeros(3)],
        ids=lambda thing: type(thing).__name__,
    )
    def test_is_refused_by_its_type_with_what_would_do(self, thing: Any, target: Path) -> None:
        words = (type(thing).__name__, "pyarrow Table", "RecordBatch", "__arrow_c_stream__")
        with refused(InvalidDataError, *words):
            pymosaic.write_table(thing, target)
        with refused(InvalidDataError, *words), pymosaic.MosaicWriter(target, SCHEMA) as writer:
            writer.write(thing)

    @pytest.mark.parametrize(
        "thing",
        [pa.array([1]), pa.chunked_array([[1]]), pa.array([{"a": 1}, None])],
        ids=["array", "chunked array", "null rows"],
    )
    def test_is_refused_also_when_it_is_arrow(self, thing: Any, target: Path) -> None:
        with refused(InvalidDataError):
            pymosaic.write_table(thing, target)

    @pytest.mark.parametrize(
        "schema", [None, "abc", 5, pa.array([1])], ids=lambda each: type(each).__name__
    )
    def test_is_refused_as_a_schema_too(self, schema: object, target: Path) -> None:
        with pytest.raises((TypeError, MosaicError)):
            pymosaic.MosaicWriter(target, schema)


class TestOptionsAndTargets:
    def test_a_wrong_option_touches_nothing(self, target: Path) -> None:
        with refused(InvalidOptionError, "num_buckets"):
            pymosaic.MosaicWriter(target, SCHEMA, num_buckets=0)

    def test_statistics_of_a_column_that_cannot_have_any_touch_nothing(self, target: Path) -> None:
        with refused(InvalidOptionError, "statistics", "'bad'"):
            pymosaic.MosaicWriter(target, column(pa.binary()), statistics=["bad"])

    def test_a_refused_writer_is_closed(self, target: Path) -> None:
        writer = pymosaic.MosaicWriter.__new__(pymosaic.MosaicWriter)
        with pytest.raises(InvalidOptionError):
            writer.__init__(target, SCHEMA, num_buckets=0)  # type: ignore[misc]
        with pytest.raises(ClosedError):
            writer.close()
