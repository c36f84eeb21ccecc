"""MosaicFile and the read functions, as a caller sees them."""

from __future__ import annotations

import gc
import io
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs

import pymosaic
from pymosaic.io import Source
from pymosaic.testing.pieces import INTEGER, ONE_TWO, STRING, entry, forge, row_group, schema
from tests.equality import assert_identical
from tests.writing import of_table, write

TABLE = pa.table(
    {
        "name": ["Ann", None, "Bo", "Cy", "Di"],
        "age": pa.array([31, 52, None, 7, 7], pa.int32()),
        "temp_b": [1.5, 2.5, 3.5, None, float("inf")],
        "temp_a": [True, False, None, True, True],
        "tags": pa.array([["x"], [], None, ["y", None], ["z"]], pa.list_(pa.string())),
    }
)
# Row groups of two, two and one row.
DATA = write(TABLE.to_batches(max_chunksize=2), TABLE.schema, row_group_bytes=1, statistics=["age"])


@pytest.fixture
def file() -> Iterator[pymosaic.MosaicFile]:
    with pymosaic.MosaicFile(DATA) as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "people.mosaic"
    target.write_bytes(DATA)
    return target


class TestWhatAFileTells:
    def test_counts(self, file: pymosaic.MosaicFile) -> None:
        assert file.num_rows == 5
        assert file.num_columns == 5
        assert file.num_row_groups == 3
        assert file.num_buckets == 5

    def test_names_are_in_the_order_in_which_they_were_written(
        self, file: pymosaic.MosaicFile
    ) -> None:
        assert file.column_names == ["name", "age", "temp_b", "temp_a", "tags"]

    def test_the_schema_is_that_of_the_table(self, file: pymosaic.MosaicFile) -> None:
        assert file.schema.equals(TABLE.schema)
        assert file.schema is file.schema

    def test_read_schema(self, path: Path) -> None:
        assert pymosaic.read_schema(path).equals(TABLE.schema)
        assert pymosaic.read_schema(path.name, filesystem=subtree(path)).equals(TABLE.schema)

    def test_statistics_of_a_row_group_by_name(self, file: pymosaic.MosaicFile) -> None:
        first, second, third = (file.statistics(i) for i in range(3))
        assert list(first) == list(second) == list(third) == ["age"]
        assert (first["age"].min, first["age"].max, first["age"].null_count) == (31, 52, 0)
        assert (second["age"].min, second["age"].max, second["age"].null_count) == (7, 7, 1)
        assert third["age"].num_rows == 1

    def test_without_statistics_there_are_none(self) -> None:
        assert pymosaic.MosaicFile(of_table(TABLE)).statistics(0) == {}

    def test_repr_tells_where_and_how_large(self, path: Path) -> None:
        with pymosaic.MosaicFile(path) as file:
            assert repr(file) == (
                f"<pymosaic.MosaicFile {path}: 5 rows, 5 columns, 3 row groups, 5 buckets>"
            )
        assert "in memory" in repr(pymosaic.MosaicFile(DATA))

    def test_a_file_without_rows(self) -> None:
        with pymosaic.MosaicFile(write([], TABLE.schema)) as file:
            assert (file.num_rows, file.num_row_groups) == (0, 0)
            assert_identical(file.read(), TABLE.schema.empty_table())
            assert_identical(file.read(columns=["age"]), TABLE.schema.empty_table().select(["age"]))
            assert list(file.iter_batches()) == []
            assert pa.table(file).schema.equals(TABLE.schema)

    def test_a_file_without_columns(self) -> None:
        rows = pa.RecordBatch.from_struct_array(pa.array([{}] * 4, pa.struct([])))
        with pymosaic.MosaicFile(write([rows], rows.schema)) as file:
            assert file.column_names == []
            assert file.read().shape == (4, 0)
            assert file.read(columns=[]).shape == (4, 0)
            assert [batch.num_rows for batch in file.iter_batches(3)] == [3, 1]
            with pytest.raises(pymosaic.ColumnNotFoundError, match="the file has no columns"):
                file.read(columns=["a"])


class TestRead:
    def test_everything(self, file: pymosaic.MosaicFile) -> None:
        assert_identical(file.read(), TABLE)

    def test_one_chunk_per_row_group(self, file: pymosaic.MosaicFile) -> None:
        assert [len(chunk) for chunk in file.read()["age"].chunks] == [2, 2, 1]

    @pytest.mark.parametrize("use_threads", [True, False])
    def test_threads_change_nothing(self, file: pymosaic.MosaicFile, use_threads: bool) -> None:
        assert_identical(file.read(use_threads=use_threads), TABLE)
        assert_identical(file.read_row_group(0, use_threads=use_threads), TABLE.slice(0, 2))
        batches = file.iter_batches(use_threads=use_threads)
        assert_identical(pa.Table.from_batches(batches), TABLE)
        assert_identical(pymosaic.read_table(DATA, use_threads=use_threads), TABLE)

    @pytest.mark.parametrize(
        ("columns", "expected"),
        [
            (["age"], ["age"]),
            (["tags", "age", "name"], ["tags", "age", "name"]),
            (("temp_a", "temp_b"), ["temp_a", "temp_b"]),
            (["temp_*"], ["temp_b", "temp_a"]),
            (["age", "temp_*"], ["age", "temp_b", "temp_a"]),
            (["temp_a", "temp_*", "name"], ["temp_a", "temp_b", "name"]),
            (["*"], ["name", "age", "temp_b", "temp_a", "tags"]),
            (["*a*e", "*p_b"], ["name", "age", "temp_b"]),
            (["age", "name", "age"], ["age", "name"]),
        ],
    )
    def test_columns_come_as_asked_for_and_each_once(
        self, file: pymosaic.MosaicFile, columns: Any, expected: list[str]
    ) -> None:
        assert_identical(file.read(columns=columns), TABLE.select(expected))
        assert_identical(file.read_row_group(1, columns), TABLE.slice(2, 2).select(expected))
        first = next(file.iter_batches(columns=columns))
        assert_identical(pa.Table.from_batches([first]), TABLE.slice(0, 2).select(expected))
        assert_identical(pymosaic.read_table(DATA, columns=columns), TABLE.select(expected))

    def test_columns_may_come_from_a_generator(self, file: pymosaic.MosaicFile) -> None:
        wanted = (name for name in ("tags", "age"))
        assert file.read(columns=wanted).column_names == ["tags", "age"]

    def test_no_columns_keep_the_rows(self, file: pymosaic.MosaicFile) -> None:
        assert file.read(columns=[]).shape == (5, 0)
        assert file.read_row_group(2, columns=[]).shape == (1, 0)
        assert pymosaic.read_table(DATA, columns=[]).shape == (5, 0)

    def test_an_existing_name_is_no_pattern(self) -> None:
        table = pa.table({"a*": [1], "ab": [2], "[x]": [3]})
        with pymosaic.MosaicFile(of_table(table)) as file:
            assert file.read(columns=["a*"]).column_names == ["a*"]
            assert file.read(columns=["a**"]).column_names == ["a*", "ab"]
            assert file.read(columns=["[x]"]).column_names == ["[x]"]

    @pytest.mark.parametrize("name", ["nme", "NAME", "name "])
    def test_an_unknown_column_is_an_error_that_names_the_closest(
        self, file: pymosaic.MosaicFile, name: str
    ) -> None:
        for read in (
            lambda: file.read(columns=[name]),
            lambda: file.read_row_group(0, [name]),
            lambda: file.iter_batches(columns=["age", name]),
            lambda: pymosaic.read_table(DATA, columns=[name]),
        ):
            with pytest.raises(pymosaic.ColumnNotFoundError) as caught:
                read()
            assert repr(name) in str(caught.value)
            assert "'name'" in str(caught.value)

    @pytest.mark.parametrize("columns", ["age", 5, [5], [None], [b"age"]])
    def test_columns_of_a_wrong_type_are_refused(
        self, file: pymosaic.MosaicFile, columns: Any
    ) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match="columns must"):
            file.read(columns=columns)


class TestRowGroups:
    def test_one_row_group(self, file: pymosaic.MosaicFile) -> None:
        assert_identical(file.read_row_group(0), TABLE.slice(0, 2))
        assert_identical(file.read_row_group(2), TABLE.slice(4))

    def test_a_numpy_integer_is_a_row_group(self, file: pymosaic.MosaicFile) -> None:
        index: Any = np.int64(1)
        assert file.read_row_group(index).num_rows == 2

    @pytest.mark.parametrize("row_group", [3, -1, 1 << 40, 1 << 70, -(1 << 70)])
    def test_a_row_group_out_of_range_is_an_index_error_that_tells_the_range(
        self, file: pymosaic.MosaicFile, row_group: int
    ) -> None:
        for ask in (
            lambda: file.read_row_group(row_group),
            lambda: file.iter_batches(row_groups=[0, row_group]),
            lambda: file.statistics(row_group),
            lambda: file.metadata.row_group(row_group),
        ):
            with pytest.raises(pymosaic.RowNotFoundError, match=rf"row group {row_group} .* 3"):
                ask()

    @pytest.mark.parametrize("row_group", [0.5, 1.0, "0", None])
    def test_what_is_no_integer_is_no_row_group(
        self, file: pymosaic.MosaicFile, row_group: Any
    ) -> None:
        for ask in (
            lambda: file.read_row_group(row_group),
            lambda: file.iter_batches(row_groups=[row_group]),
            lambda: file.statistics(row_group),
        ):
            with pytest.raises(TypeError):
                ask()


class TestIterBatches:
    @pytest.mark.parametrize(
        ("batch_size", "rows"),
        [(1, [1, 1, 1, 1, 1]), (2, [2, 2, 1]), (3, [2, 2, 1]), (1 << 40, [2, 2, 1])],
    )
    def test_batches_have_at_most_the_rows_asked_for_and_end_with_row_groups(
        self, file: pymosaic.MosaicFile, batch_size: int, rows: list[int]
    ) -> None:
        batches = list(file.iter_batches(batch_size))
        assert [batch.num_rows for batch in batches] == rows
        assert_identical(pa.Table.from_batches(batches), TABLE)

    def test_batches_are_65536_rows_by_default(self) -> None:
        batch = pa.record_batch({"n": np.arange(65536 * 2 + 1)})
        with pymosaic.MosaicFile(write([batch], batch.schema)) as file:
            assert [part.num_rows for part in file.iter_batches()] == [65536, 65536, 1]

    def test_row_groups_come_in_the_order_asked_for(self, file: pymosaic.MosaicFile) -> None:
        batches = file.iter_batches(columns=["name"], row_groups=[2, 0, 2])
        names = [batch["name"].to_pylist() for batch in batches]
        assert names == [["Di"], ["Ann", None], ["Di"]]

    def test_row_groups_may_come_from_a_generator(self, file: pymosaic.MosaicFile) -> None:
        batches = file.iter_batches(row_groups=(i for i in (1, 2)))
        assert [batch.num_rows for batch in batches] == [2, 1]

    def test_no_row_groups_give_no_batches(self, file: pymosaic.MosaicFile) -> None:
        assert list(file.iter_batches(row_groups=[])) == []

    def test_columns_and_filters(self, file: pymosaic.MosaicFile) -> None:
        batches = file.iter_batches(1, columns=["name"], filters=[("age", "<=", 31)])
        assert [batch.to_pydict() for batch in batches] == [
            {"name": ["Ann"]},
            {"name": ["Cy"]},
            {"name": ["Di"]},
        ]

    @pytest.mark.parametrize("batch_size", [0, -1, 1.5, "2", None])
    def test_a_bad_batch_size_is_refused_by_name_before_anything_is_read(
        self, file: pymosaic.MosaicFile, batch_size: Any
    ) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match="batch_size must be an int"):
            file.iter_batches(batch_size)

    def test_two_iterations_do_not_disturb_each_other(self, file: pymosaic.MosaicFile) -> None:
        pairs = list(zip(file.iter_batches(), file.iter_batches(), strict=True))
        assert [left.equals(right) for left, right in pairs] == [True, True, True]


class TestArrowStream:
    def test_pyarrow_takes_a_file_as_a_table(self, file: pymosaic.MosaicFile) -> None:
        assert_identical(pa.table(file), TABLE)

    def test_it_can_be_exported_again(self, file: pymosaic.MosaicFile) -> None:
        assert_identical(pa.table(file), pa.table(file))

    def test_a_reader_of_the_stream_outlives_the_name_of_the_file(self) -> None:
        reader = pa.RecordBatchReader.from_stream(pymosaic.MosaicFile(DATA))
        gc.collect()
        assert_identical(reader.read_all(), TABLE)

    def test_a_requested_schema_is_cast_to(self, file: pymosaic.MosaicFile) -> None:
        wanted = TABLE.schema.set(1, pa.field("age", pa.int64()))
        reader = pa.RecordBatchReader.from_stream(file, schema=wanted)
        assert reader.read_all()["age"].type == pa.int64()

    def test_a_file_is_written_like_any_other_stream(self, file: pymosaic.MosaicFile) -> None:
        copy = io.BytesIO()
        pymosaic.write_table(file, copy)
        assert_identical(pymosaic.read_table(copy.getvalue()), TABLE)

    def test_damage_found_on_the_way_is_an_error_of_the_consumer(self) -> None:
        damaged = DATA[:5] + bytes([DATA[5] ^ 1]) + DATA[6:]
        with pytest.raises(Exception, match="row group 0, bucket 0"):
            pa.table(pymosaic.MosaicFile(damaged))


class TestClosing:
    def test_the_context_manager_gives_the_file_and_closes_it(self, path: Path) -> None:
        with pymosaic.MosaicFile(path) as file:
            assert isinstance(file, pymosaic.MosaicFile)
        assert_closed(file)

    def test_an_exception_closes_it_too_and_comes_through(self, path: Path) -> None:
        with pytest.raises(ZeroDivisionError), pymosaic.MosaicFile(path) as file:
            raise ZeroDivisionError
        assert_closed(file)

    def test_closing_twice_is_fine(self, path: Path) -> None:
        file = pymosaic.MosaicFile(path)
        file.close()
        file.close()

    @pytest.mark.parametrize("size", ["small", "large"])
    def test_a_closed_file_is_not_read(self, size: str, tmp_path: Path) -> None:
        # Of a small file every byte is known after opening; that must not make a difference.
        path = tmp_path / "file.mosaic"
        path.write_bytes(DATA if size == "small" else large_file())
        file = pymosaic.MosaicFile(path)
        metadata = file.metadata
        file.close()
        assert_closed(file)
        with pytest.raises(ValueError, match="closed"):
            metadata.row_group(0).bucket(0).columns()

    def test_what_was_known_at_opening_is_known_after_closing(self, path: Path) -> None:
        with pymosaic.MosaicFile(path) as file:
            pass
        assert (file.num_rows, file.column_names) == (5, TABLE.column_names)
        assert file.schema.equals(TABLE.schema)
        assert file.statistics(0)["age"].max == 52

    def test_an_iteration_ends_with_an_error_when_the_file_is_closed(self, tmp_path: Path) -> None:
        path = tmp_path / "large.mosaic"
        path.write_bytes(large_file())
        file = pymosaic.MosaicFile(path)
        batches = file.iter_batches(row_groups=[0, 0])
        next(batches)
        file.close()
        with pytest.raises(ValueError, match="closed"):
            list(batches)

    def test_a_callers_file_object_stays_open(self, path: Path) -> None:
        with path.open("rb") as stream:
            with pymosaic.MosaicFile(stream) as file:
                file.read()
            assert not stream.closed
            assert_identical(pymosaic.read_table(stream), TABLE)
            assert not stream.closed

    def test_a_dropped_file_gives_its_memory_back(self) -> None:
        file = pymosaic.MosaicFile(DATA)
        reference = weakref.ref(file)
        file.read()
        del file
        assert reference() is None

    def test_a_file_that_cannot_be_opened_is_closed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        released = []
        path = tmp_path / "bad.mosaic"
        path.write_bytes(b"PAR1" * 20)
        monkeypatch.setattr(Source, "close", lambda self: released.append(self.name))
        with pytest.raises(pymosaic.CorruptFileError):
            pymosaic.MosaicFile(path)
        assert released == [str(path)]


class TestValuesStay:
    """What was read never changes, whatever happens to the file or is read next."""

    def test_batches_keep_their_values_while_others_are_read(
        self, file: pymosaic.MosaicFile
    ) -> None:
        batches = file.iter_batches(1)
        first = next(batches)
        scalars = [column[0] for column in first.columns]
        before = first.to_pydict()
        for _ in range(3):
            list(file.iter_batches(1))
            file.read()
        assert len(list(batches)) == 4
        assert first.to_pydict() == before
        assert [scalar.as_py() for scalar in scalars] == [value for (value,) in before.values()]

    def test_a_table_outlives_the_file_and_its_bytes(self, path: Path) -> None:
        with pymosaic.MosaicFile(path) as file:
            table = file.read()
        path.write_bytes(bytes(len(DATA)))
        path.unlink()
        del file
        gc.collect()
        assert_identical(table, TABLE)

    @pytest.mark.parametrize("compression", ["zstd", "none"])
    def test_a_table_does_not_share_the_callers_memory(self, compression: str) -> None:
        memory = bytearray(of_table(TABLE, compression=compression))
        table = pymosaic.read_table(memory)
        memory[:] = bytes(len(memory))
        assert_identical(table, TABLE)

    def test_an_open_file_reads_on_after_it_was_deleted_or_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "large.mosaic"
        path.write_bytes(large_file())
        with pymosaic.MosaicFile(path) as file:
            path.unlink()
            pymosaic.write_table(pa.table({"other": [1]}), path)
            assert file.read(columns=["c0"]).num_rows == 20_000

    def test_one_column_outlives_the_others(self, file: pymosaic.MosaicFile) -> None:
        column = file.read()["tags"]
        gc.collect()
        assert column.to_pylist() == TABLE["tags"].to_pylist()


def local(path: Path) -> tuple[Any, ...]:
    return path.name, subtree(path)


SOURCES: dict[str, Callable[[Path], tuple[Any, ...]]] = {
    "str": lambda path: (str(path),),
    "pathlib": lambda path: (path,),
    "file URI": lambda path: (path.as_uri(),),
    "open file": lambda path: (path.open("rb"),),
    "unbuffered file": lambda path: (path.open("rb", buffering=0),),
    "BytesIO": lambda path: (io.BytesIO(path.read_bytes()),),
    "bytes": lambda path: (path.read_bytes(),),
    "bytearray": lambda path: (bytearray(path.read_bytes()),),
    "memoryview": lambda path: (memoryview(path.read_bytes()),),
    "pyarrow Buffer": lambda path: (pa.py_buffer(path.read_bytes()),),
    "pyarrow file": lambda path: (pa.OSFile(str(path)),),
    "pyarrow memory map": lambda path: (pa.memory_map(str(path)),),
    "pyarrow file system": local,
    "fsspec file system": lambda path: (memory_path(path), MemoryFileSystem()),
    "fsspec URI": lambda path: ("memory://" + memory_path(path),),
    "fsspec open file": lambda path: (MemoryFileSystem().open(memory_path(path), "rb"),),
}


@pytest.mark.usefixtures("memory_filesystem")
class TestSources:
    @pytest.mark.parametrize("kind", SOURCES)
    def test_a_file_is_read_from_anywhere(self, kind: str, path: Path) -> None:
        where, *rest = SOURCES[kind](path)
        filesystem = rest[0] if rest else None
        try:
            with pymosaic.MosaicFile(where, filesystem=filesystem) as file:
                assert_identical(file.read(), TABLE)
                assert_identical(file.read(columns=["age"]), TABLE.select(["age"]))
            assert_identical(pymosaic.read_table(where, filesystem=filesystem), TABLE)
            assert pymosaic.read_schema(where, filesystem=filesystem).equals(TABLE.schema)
            metadata = pymosaic.read_metadata(where, filesystem=filesystem)
            assert metadata.row_group(2).bucket(0).columns()[0].num_values == 1
        finally:
            if hasattr(where, "close"):
                where.close()

    def test_a_missing_file_is_the_systems_own_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError) as caught:
            pymosaic.MosaicFile(tmp_path / "none.mosaic")
        assert caught.value.filename == str(tmp_path / "none.mosaic")

    def test_errors_of_a_callers_file_come_through_as_they_are(self) -> None:
        class Unplugged(OSError):
            pass

        error = Unplugged("the disk is gone")

        class File(io.BytesIO):
            plugged = True

            def read(self, size: int | None = -1, /) -> bytes:
                if not self.plugged:
                    raise error
                return super().read(size)

        stream = File(large_file())
        file = pymosaic.MosaicFile(stream)
        stream.plugged = False
        with pytest.raises(Unplugged) as caught:
            file.read()
        assert caught.value is error
        with pytest.raises(Unplugged):
            pymosaic.MosaicFile(stream)

    def test_a_file_that_was_cut_off_while_open_is_corrupt(self, tmp_path: Path) -> None:
        path = tmp_path / "large.mosaic"
        path.write_bytes(large_file())
        with pymosaic.MosaicFile(path) as file:
            path.write_bytes(b"")
            with pytest.raises(pymosaic.CorruptFileError, match="ended") as caught:
                file.read()
        assert caught.value.path == str(path)

    @pytest.mark.parametrize("source", [None, 5, ["a.mosaic"]])
    def test_what_is_no_source_is_refused(self, source: Any) -> None:
        with pytest.raises(TypeError, match="source must be"):
            pymosaic.MosaicFile(source)

    @pytest.mark.parametrize("source", [None, 5, [5], []])
    def test_what_is_neither_file_nor_dataset_is_refused(self, source: Any) -> None:
        for read in (pymosaic.read_table, pymosaic.read_schema):
            with pytest.raises((TypeError, pymosaic.InvalidOptionError), match="source must be"):
                read(source)

    @pytest.mark.parametrize("limits", [5, {"max_columns": 5}, pymosaic.Limits])
    def test_limits_of_a_wrong_type_are_refused(self, limits: Any) -> None:
        for read in (
            pymosaic.MosaicFile,
            pymosaic.read_table,
            pymosaic.read_schema,
            pymosaic.read_metadata,
        ):
            with pytest.raises(pymosaic.InvalidOptionError, match=r"limits must be a pymosaic\.L"):
                read(DATA, limits=limits)


class TestErrorsTellWhere:
    def test_a_path_and_a_structure(self, path: Path) -> None:
        path.write_bytes(DATA[:5] + bytes([DATA[5] ^ 1]) + DATA[6:])
        with pymosaic.MosaicFile(path) as file, pytest.raises(pymosaic.CorruptFileError) as caught:
            file.read()
        assert caught.value.path == str(path)
        assert caught.value.structure == "row group 0, bucket 0"
        assert str(caught.value).startswith(f"{path}, row group 0, bucket 0: ")

    def test_a_file_that_is_none(self, path: Path) -> None:
        path.write_bytes(b"none" * 20)
        with pytest.raises(pymosaic.CorruptFileError, match="not a Mosaic file") as caught:
            pymosaic.read_table(path)
        assert (caught.value.path, caught.value.structure) == (str(path), "footer")
        assert caught.value.offset == 28

    def test_bytes_have_no_path(self) -> None:
        with pytest.raises(pymosaic.CorruptFileError) as caught:
            pymosaic.read_table(b"")
        assert caught.value.path is None

    def test_a_uri_is_told_without_its_secrets(self, memory_filesystem: MemoryFileSystem) -> None:
        memory_filesystem.pipe("/bad.mosaic", b"PAR1" * 20)
        with pytest.raises(pymosaic.CorruptFileError) as caught:
            pymosaic.read_table("memory://bad.mosaic")
        assert caught.value.path == "memory://bad.mosaic"


class TestUnusualFiles:
    A_AND_B = schema(("a", INTEGER), ("b", STRING), num_buckets=2)
    FIRST = entry(0, 0, len(ONE_TWO), len(ONE_TWO))

    def test_a_bucket_that_is_not_listed_is_null(self) -> None:
        data = forge(ONE_TWO, self.A_AND_B, row_group(2, self.FIRST), num_buckets=2)
        with pymosaic.MosaicFile(data) as file:
            assert file.read().to_pydict() == {"a": [1, 2], "b": [None, None]}
            assert file.read(columns=["b"])["b"].type == pa.string()
            assert file.read(filters=[("b", "is null"), ("a", ">", 1)])["a"].to_pylist() == [2]
            assert file.read(filters=[("b", "==", "x")]).num_rows == 0

    def test_a_bucket_without_bytes_is_null(self) -> None:
        index = row_group(2, self.FIRST, entry(1, 0, 0, 0))
        data = forge(ONE_TWO, self.A_AND_B, index, num_buckets=2)
        assert pymosaic.read_table(data).to_pydict() == {"a": [1, 2], "b": [None, None]}

    def test_a_bucket_is_missing_in_one_row_group_and_not_in_the_other(self) -> None:
        data = forge(
            ONE_TWO,
            schema(("a", INTEGER)),
            row_group(3) + row_group(2, self.FIRST),
            num_row_groups=2,
        )
        with pymosaic.MosaicFile(data) as file:
            assert file.read()["a"].to_pylist() == [None, None, None, 1, 2]
            assert file.read_row_group(0)["a"].to_pylist() == [None, None, None]

    def test_row_groups_without_rows(self) -> None:
        index = row_group(0) + row_group(2, self.FIRST) + row_group(0)
        data = forge(ONE_TWO, schema(("a", INTEGER)), index, num_row_groups=3)
        with pymosaic.MosaicFile(data) as file:
            assert (file.num_rows, file.num_row_groups) == (2, 3)
            assert file.read()["a"].to_pylist() == [1, 2]
            assert [batch.num_rows for batch in file.iter_batches()] == [2]
            empty = file.read_row_group(0)
            assert_identical(empty, pa.schema({"a": pa.int32()}).empty_table())
            assert file.statistics(0) == {}
            assert file.read(filters=[("a", ">", 1)])["a"].to_pylist() == [2]

    def test_names_that_are_not_sorted(self) -> None:
        content = schema(("b", INTEGER), ("a2", INTEGER), ("a1", INTEGER))
        raw = bytes([0b010101, 0]) + b"".join(n.to_bytes(4, "big") for n in (1, 2, 3))
        data = forge(raw, content, row_group(1, entry(0, 0, len(raw), len(raw))))
        with pymosaic.MosaicFile(data) as file:
            assert file.column_names == ["b", "a2", "a1"]
            assert file.read().to_pydict() == {"b": [1], "a2": [2], "a1": [3]}
            assert file.read(columns=["a1"]).to_pydict() == {"a1": [3]}
            assert file.read(columns=["a*"]).to_pydict() == {"a2": [2], "a1": [3]}
            with pytest.raises(pymosaic.ColumnNotFoundError, match="'a1'"):
                file.read(columns=["a3"])

    def test_names_with_a_nul_are_whole(self) -> None:
        content = schema(("a", INTEGER), ("a\0b", INTEGER), ("a\0c", INTEGER))
        raw = bytes([0b010101, 0]) + b"".join(n.to_bytes(4, "big") for n in (1, 2, 3))
        data = forge(raw, content, row_group(1, entry(0, 0, len(raw), len(raw))))
        with pymosaic.MosaicFile(data) as file:
            assert file.column_names == file.schema.names == ["a", "a\0b", "a\0c"]
            assert file.read().to_pydict() == {"a": [1], "a\0b": [2], "a\0c": [3]}
            assert file.read(columns=["a\0c"]).to_pydict() == {"a\0c": [3]}
            assert file.read(columns=["a\0*"]).column_names == ["a\0b", "a\0c"]
            assert file.read(columns=["a"], filters=[("a\0b", "==", 2)]).to_pydict() == {"a": [1]}
            assert next(file.iter_batches()).schema.names == ["a", "a\0b", "a\0c"]


class TestThreads:
    def test_many_threads_share_one_file(self, tmp_path: Path) -> None:
        path = tmp_path / "large.mosaic"
        path.write_bytes(large_file())
        with pymosaic.MosaicFile(path) as file, ThreadPoolExecutor(8) as pool:
            expected = file.read()
            ready = threading.Barrier(8)

            def read(i: int) -> bool:
                ready.wait()
                name = f"c{i % 4}"
                return file.read(columns=[name]).equals(expected.select([name]))

            assert all(pool.map(read, range(8)))


def assert_closed(file: pymosaic.MosaicFile) -> None:
    for use in (
        lambda: file.read(),
        lambda: file.read_row_group(0),
        lambda: list(file.iter_batches()),
        lambda: pa.table(file),
    ):
        with pytest.raises(ValueError, match="closed"):
            use()


def subtree(path: Path) -> fs.FileSystem:
    return fs.SubTreeFileSystem(str(path.parent), fs.LocalFileSystem())


def memory_path(path: Path) -> str:
    MemoryFileSystem().pipe("/people.mosaic", path.read_bytes())
    return "/people.mosaic"


def large_file() -> bytes:
    """Four columns of 160 kB each, more than opening reads."""
    values = np.random.default_rng(7).integers(1 << 62, size=(4, 20_000))
    batch = pa.record_batch({f"c{i}": column for i, column in enumerate(values)})
    return write([batch], batch.schema)
