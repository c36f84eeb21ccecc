"""MosaicWriter and write_table: from the first batch to the file, or to no file at all."""

from __future__ import annotations

import errno
import gc
import io
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import mosaic
import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.errors import ClosedError, InvalidDataError
from pymosaic.testing.annex import without_annex
from tests.equality import assert_identical
from tests.oracle import decode
from tests.property.reference import reference_options, reference_table, reference_write
from tests.writing import write

OLD = b"the old file"
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
GOOD = pa.record_batch({"id": [1, 2], "name": ["x", None]})
BAD = pa.record_batch({"id": ["not a number"], "name": ["x"]})


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target.mosaic"


def same_as_reference(batches: list[Any], schema: pa.Schema, **options: Any) -> bytes:
    """The file, after checking that the reference writes the same one."""
    data = write(batches, schema, checksum=False, **options)
    assert data == reference_write(batches, schema, options)
    return data


# What is written


class StreamOnly:
    """Any library's table."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class ArrayOnly:
    """Any library's batch."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


SOURCES: dict[str, Callable[[], Any]] = {
    "table": lambda: pa.Table.from_batches([GOOD]),
    "batch": lambda: GOOD,
    "reader": lambda: pa.RecordBatchReader.from_batches(GOOD.schema, [GOOD]),
    "stream": lambda: StreamOnly(pa.Table.from_batches([GOOD])),
    "array": lambda: ArrayOnly(GOOD),
    "struct array": lambda: GOOD.to_struct_array(),
}


class TestWhatCanBeWritten:
    @pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
    def test_gives_the_same_file_by_both_ways(self, make: Callable[[], Any], target: Path) -> None:
        expected = write([GOOD], GOOD.schema)
        pymosaic.write_table(make(), target)
        assert target.read_bytes() == expected
        with pymosaic.MosaicWriter(target, GOOD.schema) as writer:
            writer.write(make())
        assert target.read_bytes() == expected

    def test_may_change_from_call_to_call(self) -> None:
        stream = io.BytesIO()
        with pymosaic.MosaicWriter(stream, SCHEMA) as writer:
            for make in SOURCES.values():
                writer.write(make())
        rows = pymosaic.read_table(stream.getvalue())
        assert_identical(rows, pa.Table.from_batches([GOOD] * len(SOURCES)))

    def test_is_the_chunks_of_a_table_one_after_the_other(self) -> None:
        table = pa.table(
            {
                "id": pa.chunked_array([[1, 2], [3], [4, 5, 6]]),
                "name": pa.chunked_array([["a"], ["b", "c", "d", "e"], ["f"]]),
            }
        )
        data = same_as_reference([table], table.schema, row_group_bytes=1)
        assert [group.num_rows for group in decode(data).row_groups] == [1, 1, 1, 2, 1]
        assert_identical(pymosaic.read_table(data), table)

    def test_an_error_of_the_callers_reader_comes_through(self, target: Path) -> None:
        class Broken(Exception):
            pass

        def batches() -> Iterator[pa.RecordBatch]:
            yield GOOD
            raise Broken

        reader = pa.RecordBatchReader.from_batches(SCHEMA, batches())
        with pytest.raises(Broken):
            pymosaic.write_table(reader, target)
        assert not target.exists()

    def test_the_schema_may_be_given_as_pyarrow_takes_it(self) -> None:
        assert pymosaic.MosaicWriter(io.BytesIO(), {"a": pa.int8()}).schema == pa.schema(
            [("a", pa.int8())]
        )


class TestMatchingByName:
    def test_columns_may_come_in_any_order(self) -> None:
        rows = [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}]
        batches = [
            pa.record_batch({"id": [1], "name": ["x"]}),
            pa.record_batch({"name": ["y"], "id": [2]}),
        ]
        table = pymosaic.read_table(write(batches, SCHEMA))
        assert table.schema == SCHEMA
        assert table.to_pylist() == rows

    def test_columns_of_one_type_are_not_mixed_up(self) -> None:
        names = [f"c{i}" for i in range(20)]
        schema = pa.schema([(name, pa.string()) for name in names])
        batches = []
        for seed in range(5):
            shuffled = Random(seed).sample(names, len(names))
            batches.append(pa.record_batch({name: [f"{name} {seed}"] for name in shuffled}))
        table = pymosaic.read_table(write(batches, schema, num_buckets=7))
        assert table.schema == schema
        for name in names:
            assert table[name].to_pylist() == [f"{name} {seed}" for seed in range(5)]

    @pytest.mark.parametrize(
        "metadata", [None, {"k": "v"}, {"pandas": "{}"}], ids=["none", "some", "pandas"]
    )
    def test_metadata_makes_no_difference(self, metadata: dict[str, str] | None) -> None:
        field = pa.field("name", pa.string(), metadata=metadata)
        schema = pa.schema([SCHEMA.field("id"), field], metadata=metadata)
        batch = pa.record_batch(GOOD.columns, schema)
        for writers in (SCHEMA, schema):
            data = write([GOOD, batch], writers)
            assert without_annex(data) == without_annex(write([GOOD, GOOD], SCHEMA))

    def test_nullability_is_a_matter_of_values(self) -> None:
        schema = pa.schema([pa.field("a", pa.int8(), nullable=False)])
        nullable = pa.record_batch({"a": pa.array([1, 2], pa.int8())})
        assert nullable.schema != schema
        table = pymosaic.read_table(write([nullable], schema))
        assert table.schema == schema
        assert table["a"].to_pylist() == [1, 2]

    @pytest.mark.parametrize(
        "given",
        [
            pa.array(["x", None, "y"], pa.large_string()),
            pa.array(["x", None, "y"], pa.string_view()),
            pa.array(["x", None, "y"], pa.dictionary(pa.uint8(), pa.string())),
            pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3]), pa.array(["x", None, "y"])),
        ],
        ids=lambda array: str(array.type),
    )
    def test_a_batch_may_hold_its_values_in_another_way(self, given: pa.Array) -> None:
        plain = pa.record_batch({"a": ["x", None, "y"]})
        other = pa.record_batch([given], ["a"])
        for schema in (plain.schema, other.schema):
            data = write([plain, other, plain], schema)
            assert without_annex(data) == without_annex(write([plain] * 3, plain.schema))
            found = pymosaic.read_table(data, types="arrow")
            assert found.schema == schema
            assert found["a"].to_pylist() == ["x", None, "y"] * 3

    def test_list_elements_may_have_another_name(self) -> None:
        schema = pa.schema([("a", pa.list_(pa.field("element", pa.int8())))])
        batch = pa.record_batch({"a": pa.array([[1], None], pa.list_(pa.int8()))})
        assert pymosaic.read_table(write([batch], schema)).schema == schema

    @pytest.mark.parametrize(
        "of",
        [
            pa.int8(),
            pa.bool_(),
            pa.string(),
            pa.decimal128(38, 2),
            pa.timestamp("ns", "UTC"),
            pa.list_(pa.int8()),
            pa.map_(pa.string(), pa.list_(pa.int8())),
        ],
        ids=str,
    )
    def test_a_column_of_the_null_type_fits_any_nullable_column(self, of: pa.DataType) -> None:
        schema = pa.schema([("a", of)])
        batch = pa.record_batch({"a": pa.nulls(3)})
        expected = pa.record_batch([pa.nulls(3, of)], schema)
        assert write([batch], schema) == write([expected], schema)

    def test_a_list_of_the_null_type_fits_any_list(self) -> None:
        of = pa.list_(pa.list_(pa.int8()))
        schema = pa.schema([("a", of)])
        values = [[None], [], None, [None, None]]
        batches = [
            pa.record_batch([pa.array(values, each)], ["a"]) for each in (pa.list_(pa.null()), of)
        ]
        assert write(batches[:1], schema) == write(batches[1:], schema)


# From open to closed


class TestClosing:
    def test_makes_the_file_appear_and_not_before(self, target: Path) -> None:
        writer = pymosaic.MosaicWriter(target, SCHEMA, row_group_bytes=1)
        writer.write(GOOD)
        assert not target.exists()
        writer.close()
        assert os.listdir(target.parent) == [target.name]
        assert_identical(pymosaic.read_table(target), pa.Table.from_batches([GOOD]))

    def test_keeps_the_old_file_until_then(self, target: Path) -> None:
        target.write_bytes(OLD)
        with pymosaic.MosaicWriter(target, SCHEMA, row_group_bytes=1) as writer:
            writer.write(GOOD)
            assert target.read_bytes() == OLD
        assert pymosaic.read_table(target).num_rows == 2

    def test_twice_writes_once(self, target: Path) -> None:
        with pymosaic.MosaicWriter(target, SCHEMA) as writer:
            writer.write(GOOD)
            writer.close()
            target.unlink()
            writer.close()
        writer.close()
        assert not target.exists()

    def test_a_file_object_twice_writes_once(self) -> None:
        stream = io.BytesIO()
        writer = pymosaic.MosaicWriter(stream, SCHEMA)
        writer.close()
        size = len(stream.getvalue())
        writer.close()
        assert len(stream.getvalue()) == size

    def test_leaves_a_file_object_open(self) -> None:
        stream = io.BytesIO()
        pymosaic.write_table(GOOD, stream)
        assert not stream.closed

    def test_ends_writing(self) -> None:
        writer = pymosaic.MosaicWriter(io.BytesIO(), SCHEMA)
        writer.close()
        with pytest.raises(ClosedError, match="closed"):
            writer.write(GOOD)

    def test_before_abort_keeps_the_file(self, target: Path) -> None:
        with pymosaic.MosaicWriter(target, SCHEMA) as writer:
            writer.write(GOOD)
        writer.abort()
        assert pymosaic.read_table(target).num_rows == 2
        writer.close()


class TestAborting:
    def test_leaves_nothing_and_may_be_repeated(self, target: Path) -> None:
        writer = pymosaic.MosaicWriter(target, SCHEMA, row_group_bytes=1)
        writer.write(GOOD)
        writer.abort()
        writer.abort()
        assert os.listdir(target.parent) == []
        for use in (writer.close, lambda: writer.write(GOOD)):
            with pytest.raises(ClosedError, match="abort"):
                use()

    def test_keeps_the_old_file(self, target: Path) -> None:
        target.write_bytes(OLD)
        writer = pymosaic.MosaicWriter(target, SCHEMA, row_group_bytes=1)
        writer.write(GOOD)
        writer.abort()
        assert target.read_bytes() == OLD
        assert os.listdir(target.parent) == [target.name]

    @pytest.mark.parametrize(
        "error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, GeneratorExit]
    )
    def test_is_what_an_exception_inside_with_does(
        self, error: type[BaseException], target: Path
    ) -> None:
        def write_and_fail(writer: pymosaic.MosaicWriter) -> None:
            with writer:
                writer.write(GOOD)
                raise error

        writer = pymosaic.MosaicWriter(target, SCHEMA, row_group_bytes=1)
        with pytest.raises(error):
            write_and_fail(writer)
        assert os.listdir(target.parent) == []
        with pytest.raises(ClosedError):
            writer.close()

    def test_inside_with_is_not_an_error(self, target: Path) -> None:
        with pymosaic.MosaicWriter(target, SCHEMA) as writer:
            writer.write(GOOD)
            writer.abort()
        assert os.listdir(target.parent) == []

    def test_is_what_forgetting_a_writer_does(self, target: Path) -> None:
        writer = pymosaic.MosaicWriter(target, SCHEMA, row_group_bytes=1)
        writer.write(GOOD)
        assert len(os.listdir(target.parent)) == 1
        del writer
        gc.collect()
        assert os.listdir(target.parent) == []

    def test_a_forgotten_writer_of_a_file_object_writes_no_end(self) -> None:
        stream = io.BytesIO()
        writer = pymosaic.MosaicWriter(stream, SCHEMA)
        writer.write(GOOD)
        del writer
        gc.collect()
        assert stream.getvalue() == b""


class TestAFailedBatch:
    def test_ends_the_writer_and_later_errors_say_why(self, target: Path) -> None:
        writer = pymosaic.MosaicWriter(target, SCHEMA, row_group_bytes=1)
        writer.write(GOOD)
        with pytest.raises(InvalidDataError, match="'id'"):
            writer.write(BAD)
        assert os.listdir(target.parent) == []
        for use in (lambda: writer.write(GOOD), writer.close):
            with pytest.raises(ClosedError, match=r"InvalidDataError.*'id'"):
                use()
        writer.abort()
        assert os.listdir(target.parent) == []

    def test_in_the_middle_of_a_table_ends_it_too(self, target: Path) -> None:
        chunks = [pa.array([1], pa.time32("ms")), pa.array([-1], pa.time32("ms"))]
        table = pa.table({"t": pa.chunked_array(chunks)})
        writer = pymosaic.MosaicWriter(target, table.schema)
        with pytest.raises(InvalidDataError, match="'t'"):
            writer.write(table)
        with pytest.raises(ClosedError, match="InvalidDataError"):
            writer.write(table.slice(0, 1))

    def test_that_is_no_table_ends_it_too(self, target: Path) -> None:
        writer = pymosaic.MosaicWriter(target, SCHEMA)
        with pytest.raises(InvalidDataError, match="list"):
            writer.write([1])  # type: ignore[arg-type]
        with pytest.raises(ClosedError, match="list"):
            writer.close()
        assert os.listdir(target.parent) == []

    def test_swallowed_inside_with_is_not_taken_for_success(self, target: Path) -> None:
        def write_and_carry_on() -> None:
            with pymosaic.MosaicWriter(target, SCHEMA) as writer:
                writer.write(GOOD)
                with suppress(InvalidDataError):
                    writer.write(BAD)

        with pytest.raises(ClosedError, match="InvalidDataError"):
            write_and_carry_on()
        assert os.listdir(target.parent) == []

    def test_in_one_of_many_columns_is_found_by_any_thread(self, target: Path) -> None:
        columns = {f"c{i:03}": pa.array([0] * 1000, pa.time32("ms")) for i in range(300)}
        columns["c250"] = pa.array([0] * 999 + [-1], pa.time32("ms"))
        with pytest.raises(InvalidDataError, match="'c250'"):
            pymosaic.write_table(pa.table(columns), target)
        assert os.listdir(target.parent) == []


class Failing(io.BytesIO):
    """A file whose disk is full after some bytes, or whose user presses Ctrl-C then."""

    def __init__(self, error: BaseException, room: int = 0) -> None:
        super().__init__()
        self._error = error
        self._room = room

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > self._room:
            raise self._error
        return super().write(data)


every_error = pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "full"), KeyboardInterrupt(), RuntimeError("the caller's own")],
    ids=repr,
)


class TestAFailingFile:
    @every_error
    def test_ends_the_writer_with_its_own_exception(self, error: BaseException) -> None:
        stream = Failing(error)
        writer = pymosaic.MosaicWriter(stream, SCHEMA, row_group_bytes=1)
        with pytest.raises(type(error)) as caught:
            writer.write(GOOD)
        assert caught.value is error
        for use in (lambda: writer.write(GOOD), writer.close):
            with pytest.raises(ClosedError, match=type(error).__name__):
                use()

    @every_error
    @pytest.mark.parametrize("room", [0, 60])
    def test_at_the_end_does_so_too(self, error: BaseException, room: int) -> None:
        stream = Failing(error, room)
        writer = pymosaic.MosaicWriter(stream, SCHEMA)
        writer.write(GOOD)
        with pytest.raises(type(error)) as caught:
            writer.close()
        assert caught.value is error
        with pytest.raises(ClosedError, match=type(error).__name__):
            writer.close()

    def test_in_flush_is_a_failure_too(self) -> None:
        class Unflushable(io.BytesIO):
            def flush(self) -> None:
                raise OSError(errno.EIO, "lost")

        writer = pymosaic.MosaicWriter(Unflushable(), SCHEMA)
        with pytest.raises(OSError, match="lost"):
            writer.close()
        with pytest.raises(ClosedError, match="lost"):
            writer.close()

    def test_an_interrupted_local_write_leaves_nothing(
        self, target: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(descriptor: int, data: object) -> int:
            raise KeyboardInterrupt

        writer = pymosaic.MosaicWriter(target, SCHEMA)
        writer.write(GOOD)
        monkeypatch.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.close()
        assert os.listdir(target.parent) == []

    def test_an_interrupt_between_batches_leaves_nothing(self, target: Path) -> None:
        def batches() -> Iterator[pa.RecordBatch]:
            yield GOOD
            raise KeyboardInterrupt

        writer = pymosaic.MosaicWriter(target, SCHEMA, row_group_bytes=1)
        with pytest.raises(KeyboardInterrupt):
            writer.write(pa.RecordBatchReader.from_batches(SCHEMA, batches()))
        with pytest.raises(ClosedError, match="KeyboardInterrupt"):
            writer.close()
        assert os.listdir(target.parent) == []


# Shapes


class TestBuckets:
    @pytest.mark.parametrize(
        ("requested", "columns", "expected"),
        [
            (None, 1, 1),
            (None, 99, 99),
            (None, 101, 100),
            (1, 5, 1),
            (3, 5, 3),
            (5, 5, 5),
            (6, 5, 5),
            (2**32 - 1, 5, 5),
            (7, 23, 7),
        ],
    )
    def test_are_as_many_as_asked_but_never_more_than_columns(
        self, requested: int | None, columns: int, expected: int
    ) -> None:
        batch = pa.record_batch({f"c{i}": [i] for i in range(columns)})
        data = same_as_reference([batch], batch.schema, num_buckets=requested)
        content = decode(data)
        assert content.num_buckets == expected
        assert [bucket.layout for bucket in content.row_groups[0].buckets] == [
            "monolithic"
        ] * expected

    def test_are_all_written_even_if_all_null(self) -> None:
        batch = pa.record_batch({"a": pa.nulls(3, pa.int8()), "b": pa.nulls(3, pa.string())})
        content = decode(same_as_reference([batch], batch.schema))
        assert content.layouts() == ["monolithic", "monolithic"]


def rows_without_columns(count: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))


class TestNothingMuch:
    @pytest.mark.parametrize("batches", [[], [GOOD.slice(0, 0)], [GOOD.slice(0, 0)] * 2])
    def test_no_rows_make_a_file_without_row_groups(self, batches: list[pa.RecordBatch]) -> None:
        data = same_as_reference(batches, SCHEMA)
        assert pymosaic.MosaicFile(data).num_row_groups == 0
        assert_identical(pymosaic.read_table(data), SCHEMA.empty_table())

    def test_empty_batches_among_others_are_nothing(self) -> None:
        empty = GOOD.slice(0, 0)
        data = same_as_reference([empty, GOOD, empty, GOOD, empty], SCHEMA, row_group_bytes=1)
        assert data == write([GOOD, GOOD], SCHEMA, checksum=False, row_group_bytes=1)

    def test_no_columns_and_no_rows(self) -> None:
        data = same_as_reference([], pa.schema([]))
        file = pymosaic.MosaicFile(data)
        assert (file.num_columns, file.num_rows, file.num_buckets) == (0, 0, 1)

    @pytest.mark.parametrize(
        "make",
        [
            rows_without_columns,
            lambda count: pa.Table.from_batches([rows_without_columns(count)]),
            lambda count: pa.table({"a": range(count)}).select([]),
        ],
        ids=["batch", "table", "selection"],
    )
    def test_no_columns_keep_their_rows(self, make: Callable[[int], Any]) -> None:
        data = same_as_reference([make(3), make(4)], pa.schema([]))
        file = pymosaic.MosaicFile(data)
        assert (file.num_columns, file.num_rows, file.num_row_groups) == (0, 7, 1)
        assert file.read().num_rows == 7

    def test_one_row_of_one_column(self) -> None:
        batch = pa.record_batch({"a": [1]})
        data = same_as_reference([batch], batch.schema)
        assert pymosaic.read_table(data).to_pylist() == [{"a": 1}]


NESTED_SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("scores", pa.map_(pa.string(), pa.float64())),
        pa.field("amount", pa.decimal128(30, 2)),
        pa.field("at", pa.timestamp("ns")),
        *(pa.field(f"flag{i}", pa.bool_()) for i in range(9)),
    ]
)


def random_batch(rows: int, random: Random) -> pa.RecordBatch:
    def maybe(value: Any) -> Any:
        return None if random.random() < 0.2 else value

    def text() -> str:
        return random.choice(["a", "bb", "x" * random.randrange(200)])

    columns: dict[str, list[Any]] = {
        "id": [random.getrandbits(40) for _ in range(rows)],
        "name": [maybe(text()) for _ in range(rows)],
        "tags": [maybe([maybe(text()) for _ in range(random.randrange(4))]) for _ in range(rows)],
        "scores": [
            maybe([(text(), maybe(random.random())) for _ in range(random.randrange(3))])
            for _ in range(rows)
        ],
        "amount": [maybe(random.getrandbits(60)) for _ in range(rows)],
        "at": [maybe(random.getrandbits(50)) for _ in range(rows)],
    }
    for i in range(9):
        columns[f"flag{i}"] = [maybe(random.random() < 0.5) for _ in range(rows)]
    arrays = [pa.array(columns[field.name], field.type) for field in NESTED_SCHEMA]
    return pa.record_batch(arrays, NESTED_SCHEMA)


class TestRowGroups:
    @pytest.mark.parametrize(
        ("limit", "expected"),
        [(1, [5] * 6), (45, [5] * 6), (46, [10] * 3), (91, [15, 15]), (10**6, [30])],
    )
    def test_end_with_the_batch_that_fills_them(self, limit: int, expected: list[int]) -> None:
        # Five numbers of 8 bytes and five bitmap bytes: 45 for each batch.
        batch = pa.record_batch({"a": pa.array(range(5), pa.int64())})
        data = same_as_reference([batch] * 6, batch.schema, row_group_bytes=limit)
        assert [group.num_rows for group in decode(data).row_groups] == expected

    def test_never_split_a_batch(self) -> None:
        batch = pa.record_batch({"a": range(1000)})
        data = same_as_reference([batch], batch.schema, row_group_bytes=1)
        assert [group.num_rows for group in decode(data).row_groups] == [1000]

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"compression": "none"},
            {"page_size_threshold": 0},
            {"page_size_threshold": 300, "num_buckets": 3},
            {"num_buckets": 1, "compression_level": 9},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("limit", [500, 5000, 10**9])
    def test_and_size_estimates_are_those_of_the_reference_at_every_step(
        self, options: dict[str, Any], limit: int
    ) -> None:
        random = Random(limit)
        batches = [random_batch(random.choice([0, 1, 7, 40]), random) for _ in range(25)]
        options = {**options, "row_group_bytes": limit}
        ours, theirs = io.BytesIO(), io.BytesIO()
        with (
            mosaic.MosaicWriter(theirs, NESTED_SCHEMA, reference_options(**options)) as reference,
            pymosaic.MosaicWriter(ours, NESTED_SCHEMA, checksum=False, **options) as writer,
        ):
            for batch in batches:
                assert writer.estimated_size == reference.estimated_file_size()
                writer.write(batch)
                reference.write(batch)
                assert ours.getvalue() == theirs.getvalue()
            assert writer.estimated_size == reference.estimated_file_size()
        assert ours.getvalue() == theirs.getvalue()
        groups = pymosaic.MosaicFile(ours.getvalue()).num_row_groups
        assert groups == 1 if limit == 10**9 else groups > 1

    def test_the_estimate_is_there_after_the_end_too(self) -> None:
        stream = io.BytesIO()
        with pymosaic.MosaicWriter(stream, SCHEMA) as writer:
            writer.write(GOOD)
        assert writer.estimated_size >= len(stream.getvalue())


class TestCompression:
    @pytest.mark.parametrize("paged", [False, True], ids=["monolithic", "paged"])
    @pytest.mark.parametrize("level", [-5, 1, 9, 19, 22])
    def test_levels_write_what_the_reference_writes(self, level: int, paged: bool) -> None:
        # More than one zstd block, of what neither encodings nor the fastest level make small.
        random = Random(0)
        words = [f"{random.getrandbits(30):x}" for _ in range(2000)]
        batch = pa.record_batch({"a": random.choices(words, k=30_000)})
        options = {"compression_level": level, "page_size_threshold": 0 if paged else 2**32 - 1}
        # Another libzstd compresses to other bytes at some levels.
        same = pymosaic.__build__.writes_bytes_of_reference
        data = (same_as_reference if same else write)([batch], batch.schema, **options)
        content = decode(data)
        assert content.layouts() == ["paged" if paged else "monolithic"]
        assert_identical(pymosaic.read_table(data), pa.Table.from_batches([batch]))
        assert_identical(reference_table(data), pa.Table.from_batches([batch]))

    def test_higher_levels_make_smaller_files(self) -> None:
        random = Random(0)
        words = [f"{random.getrandbits(30):x}" for _ in range(2000)]
        batch = pa.record_batch({"a": random.choices(words, k=30_000)})
        sizes = [
            len(write([batch], batch.schema, compression_level=level)) for level in (-5, 1, 19)
        ]
        assert sizes == sorted(sizes, reverse=True)
        assert len(set(sizes)) == 3

    def test_none_is_never_paged(self) -> None:
        batch = pa.record_batch({"a": range(100)})
        data = same_as_reference([batch], batch.schema, compression="none", page_size_threshold=0)
        content = decode(data)
        assert (content.layouts(), content.frames) == (["monolithic"], [])

    def test_the_reference_reads_files_with_checksums(self) -> None:
        for threshold in (0, 2**32 - 1):
            data = write([GOOD], SCHEMA, page_size_threshold=threshold)
            assert_identical(reference_table(data), pa.Table.from_batches([GOOD]))


class TestAFileObjectWithContent:
    def test_is_read_from_where_it_was_written(self) -> None:
        stream = io.BytesIO()
        stream.write(b"what was there before")
        pymosaic.write_table(GOOD, stream)
        assert stream.getvalue().startswith(b"what was there before")
        assert_identical(pymosaic.MosaicFile(stream).read(), pa.Table.from_batches([GOOD]))

    @pytest.mark.parametrize(
        "options", [{}, {"page_size_threshold": 0}, {"compression": "none"}], ids=str
    )
    def test_has_absolute_offsets_in_every_row_group(self, options: dict[str, Any]) -> None:
        prefix = bytes(1000)
        stream = io.BytesIO(prefix)
        stream.seek(0, io.SEEK_END)
        with pymosaic.MosaicWriter(stream, SCHEMA, row_group_bytes=1, **options) as writer:
            for _ in range(3):
                writer.write(GOOD)
        buckets = [group.buckets for group in decode(stream.getvalue()).row_groups]
        offsets = [bucket.offset for group in buckets for bucket in group]
        assert offsets[0] == len(prefix)
        assert_identical(pymosaic.read_table(stream.getvalue()), pa.Table.from_batches([GOOD] * 3))
        assert_identical(reference_table(stream.getvalue()), pa.Table.from_batches([GOOD] * 3))

    @pytest.mark.parametrize("mode", ["ab", "r+b"])
    def test_may_be_a_real_file(self, mode: str, target: Path) -> None:
        target.write_bytes(OLD)
        with target.open(mode) as file:
            file.seek(0, io.SEEK_END)
            pymosaic.write_table(GOOD, file)
        assert target.read_bytes().startswith(OLD)
        assert_identical(pymosaic.read_table(target), pa.Table.from_batches([GOOD]))

    def test_counts_only_its_own_bytes_in_the_estimate(self) -> None:
        stream = io.BytesIO()
        stream.write(bytes(10_000))
        with pymosaic.MosaicWriter(stream, SCHEMA) as writer:
            writer.write(GOOD)
            assert writer.estimated_size < 10_000


# Memory and threads


class TestTheCallersMemory:
    @pytest.mark.parametrize(
        "dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64", "float16", "float64"]
    )
    def test_may_be_reused_after_write(self, dtype: str) -> None:
        values = np.arange(20).astype(dtype)
        array = pa.array(values)
        assert array.buffers()[1].address == values.ctypes.data
        schema = pa.schema([("a", array.type)])
        batch = pa.record_batch([array], schema)
        expected = write([batch], schema)
        stream = io.BytesIO()
        with pymosaic.MosaicWriter(stream, schema) as writer:
            writer.write(batch)
            values[:] = 99
        assert stream.getvalue() == expected

    def test_of_strings_lists_and_bitmaps_may_be_reused_too(self) -> None:
        text = bytearray(b"abcdef")
        offsets, bitmap = bytearray(np.array([0, 2, 4, 6], np.int32)), bytearray(b"\x05")
        strings = pa.Array.from_buffers(
            pa.string(), 3, [pa.py_buffer(part) for part in (bitmap, offsets, text)]
        )
        list_offsets = bytearray(np.array([0, 1, 1, 3], np.int32))
        lists = pa.Array.from_buffers(
            pa.list_(pa.string()), 3, [None, pa.py_buffer(list_offsets)], children=[strings]
        )
        batch = pa.record_batch([strings, lists], ["s", "l"])
        stream = io.BytesIO()
        with pymosaic.MosaicWriter(stream, batch.schema) as writer:
            writer.write(batch)
            for part in (text, offsets, bitmap, list_offsets):
                part[:] = bytes(len(part))
        assert pymosaic.read_table(stream.getvalue()).to_pydict() == {
            "s": ["ab", None, "ef"],
            "l": [["ab"], [], [None, "ef"]],
        }


class TestTheSameInput:
    @pytest.mark.parametrize(
        "options", [{}, {"page_size_threshold": 0}, {"num_buckets": 3}], ids=str
    )
    def test_gives_the_same_bytes_with_and_without_threads(self, options: dict[str, Any]) -> None:
        # Enough values for columns to be shared out among threads.
        random = Random(0)
        numbers = [random.choices(range(1000), k=1000) for _ in range(10)]
        table = pa.table(
            {f"c{i:03}": pa.array(numbers[i % 10], pa.int32()) for i in range(300)}
            | {f"s{i}": [str(number) for number in numbers[i]] for i in range(10)}
        )
        batches = [*table.to_batches(), *table.slice(5, 100).to_batches()]
        files = {
            write(batches, table.schema, use_threads=use_threads, statistics=["s*"], **options)
            for use_threads in (True, False, True)
        }
        assert len(files) == 1

    def test_gives_the_same_bytes_twice(self) -> None:
        batches = [random_batch(50, Random(1)) for _ in range(3)]
        files = {write(batches, NESTED_SCHEMA) for _ in range(3)}
        assert len(files) == 1
