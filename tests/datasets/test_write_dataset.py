"""write_dataset: sources, partitions, file sizes, modes and failures."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import pymosaic
from pymosaic.datasets.partitioning import split_partition
from pymosaic.datasets.rolling import PartitionedWriter
from pymosaic.datasets.splitting import partition_directory, split_batch

TABLE = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})


def read(base: Path, **options: Any) -> pa.Table:
    return pymosaic.dataset(str(base), **options).scan().to_table()


def rows(base: Path) -> list[dict[str, Any]]:
    return sorted(read(base).to_pylist(), key=repr)


def visible(base: Path) -> list[str]:
    return [
        path.relative_to(base).as_posix()
        for path in sorted(base.rglob("*.mosaic"))
        if "_mosaic" not in path.parts
    ]


def seen(base: Path) -> list[str]:
    return [Path(file).relative_to(base).as_posix() for file in pymosaic.dataset(base).files]


SOURCES = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(),
    "list of batches": lambda: TABLE.to_batches(max_chunksize=1),
    "generator of tables": lambda: (TABLE.slice(i, 1) for i in range(3)),
    "pyarrow dataset": lambda: pads.dataset(TABLE),
    "pyarrow scanner": lambda: pads.dataset(TABLE).scanner(),
    "polars": lambda: pl.DataFrame(TABLE.to_pydict()),
    "polars lazy": lambda: pl.LazyFrame(TABLE.to_pydict()),
    "pandas": lambda: pd.DataFrame({"id": [1, 2, 3], "name": ["a", "b", None]}),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_any_arrow_source(kind: str, tmp_path: Path) -> None:
    written = pymosaic.write_dataset(SOURCES[kind](), tmp_path / "set")
    assert written.num_rows == 3
    assert written.num_bytes == sum(Path(file).stat().st_size for file in written.files)
    assert read(tmp_path / "set").select(["id", "name"]).to_pylist() == TABLE.to_pylist()


def test_a_dataset_is_a_source(tmp_path: Path) -> None:
    pymosaic.write_dataset(TABLE, tmp_path / "one")
    pymosaic.write_dataset(pymosaic.dataset(str(tmp_path / "one")), tmp_path / "two")
    assert rows(tmp_path / "two") == TABLE.to_pylist()


def test_a_scan_of_a_dataset_is_a_source_even_of_its_own_overwrite(tmp_path: Path) -> None:
    pymosaic.write_dataset(TABLE, tmp_path)
    scan = pymosaic.dataset(str(tmp_path)).scan(filters=[("id", ">", 1)])
    written = pymosaic.write_dataset(scan, tmp_path, mode="overwrite")
    assert len(written.removed) == 1
    assert [row["id"] for row in rows(tmp_path)] == [2, 3]
    assert seen(tmp_path) == [Path(file).name for file in written.files]


@pytest.mark.parametrize(
    "bad", [[1, 2], "text", 5, [], iter([]), [TABLE, 3], [TABLE, TABLE.drop_columns("name")]]
)
def test_what_is_no_table_is_refused_and_leaves_nothing(bad: Any, tmp_path: Path) -> None:
    with pytest.raises(pymosaic.InvalidDataError):
        pymosaic.write_dataset(bad, tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_an_empty_table_keeps_its_schema(tmp_path: Path) -> None:
    pymosaic.write_dataset(TABLE.slice(0, 0), tmp_path)
    assert read(tmp_path).schema.names == ["id", "name"]
    assert read(tmp_path).num_rows == 0


class TestPartitions:
    def test_values_become_directories_and_columns_again(self, tmp_path: Path) -> None:
        day = datetime.date(2024, 5, 31)
        table = pa.table(
            {
                "n": [1, 2, 3, 4],
                "day": [day, day, None, day],
                "city": ["São Paulo/x", "a=b%c", "", None],
            }
        )
        pymosaic.write_dataset(table, tmp_path, partition_by=["day", "city"])
        assert [path.rpartition("/")[0] for path in visible(tmp_path)] == [
            "day=2024-05-31/city=S\u00e3o Paulo%2Fx",
            "day=2024-05-31/city=__HIVE_DEFAULT_PARTITION__",
            "day=2024-05-31/city=a%3Db%25c",
            "day=__HIVE_DEFAULT_PARTITION__/city=",
        ]
        assert rows(tmp_path) == sorted(table.to_pylist(), key=repr)

    @pytest.mark.parametrize("value", ["", "%", "%41", "a/b", "..", "x=y", "\x7f\n", "é", "'\"*?"])
    def test_names_come_back_from_directories(self, value: str) -> None:
        directory = partition_directory([(f"k{value}", value)])
        assert directory.count("/") == 0
        assert split_partition([directory]) == ((f"k{value}", value),)

    def test_a_text_like_the_null_partition_is_not_null(self, tmp_path: Path) -> None:
        table = pa.table({"n": [1, 2], "k": ["__HIVE_DEFAULT_PARTITION__", None]})
        pymosaic.write_dataset(table, tmp_path, partition_by="k")
        assert rows(tmp_path) == sorted(table.to_pylist(), key=repr)

    def test_rows_of_a_partition_keep_their_order(self) -> None:
        keys = np.random.default_rng(1).integers(0, 5, 200)
        batch = pa.record_batch({"k": keys, "n": np.arange(200), "s": [str(i) for i in range(200)]})
        found: dict[str, list[int]] = {}
        for directory, piece in split_batch(batch, ["k"]):
            assert piece.schema.names == ["n", "s"]
            assert piece["s"].to_pylist() == [str(n) for n in piece["n"].to_pylist()]
            found.setdefault(directory, []).extend(piece["n"].to_pylist())
        assert list(found) == [f"k={key}" for key in dict.fromkeys(keys.tolist())]
        for directory, numbers in found.items():
            assert numbers == np.flatnonzero(keys == int(directory[2:])).tolist()

    def test_types_that_arrow_cannot_reorder_are_split_in_runs(self) -> None:
        keys = [0, 1] * 10
        values = pa.array([[str(i)] for i in range(20)], pa.list_(pa.string_view()))
        batch = pa.record_batch({"k": keys, "v": values})
        found: dict[str, list[str]] = {}
        for directory, piece in split_batch(batch, ["k"]):
            found.setdefault(directory, []).extend(item[0] for item in piece["v"].to_pylist())
        assert found == {f"k={k}": [str(i) for i in range(k, 20, 2)] for k in (0, 1)}

    def test_dictionaries_and_views_are_keys_too(self, tmp_path: Path) -> None:
        frame = pl.DataFrame({"n": [1, 2, 3], "k": ["x", "y", "x"]})
        frame = frame.with_columns(c=pl.col("k").cast(pl.Categorical))
        pymosaic.write_dataset(frame, tmp_path, partition_by=["c", "k"])
        assert [path.rpartition("/")[0] for path in visible(tmp_path)] == ["c=x/k=x", "c=y/k=y"]

    def test_the_number_of_open_files_is_bounded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        most = 0
        original = PartitionedWriter._append

        def watch(self: PartitionedWriter, directory: str, batch: pa.RecordBatch) -> None:
            nonlocal most
            original(self, directory, batch)
            most = max(most, len(self._open))

        monkeypatch.setattr(PartitionedWriter, "_append", watch)
        table = pa.table({"k": np.arange(60) % 12, "n": np.arange(60)})
        written = pymosaic.write_dataset(table, tmp_path, partition_by="k", max_open_files=3)
        assert most == 3
        assert len(written.files) == 12
        assert rows(tmp_path) == sorted(table.select(["n", "k"]).to_pylist(), key=repr)

    @pytest.mark.parametrize(
        ("partition_by", "message"),
        [
            ("no", "0 columns named 'no'"),
            (["id", "id"], "twice"),
            (["id", "name"], "all columns"),
            (5, "column names"),
        ],
    )
    def test_bad_keys_are_refused(self, partition_by: Any, message: str, tmp_path: Path) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match=message):
            pymosaic.write_dataset(TABLE, tmp_path / "set", partition_by=partition_by)
        assert not (tmp_path / "set").exists()

    def test_lists_and_binary_are_no_keys(self, tmp_path: Path) -> None:
        for values in ([[1]], [b"x"]):
            with pytest.raises(pymosaic.UnsupportedFeatureError, match="'k'"):
                pymosaic.write_dataset(
                    pa.table({"k": values, "n": [1]}), tmp_path / "set", partition_by="k"
                )


class TestFileSizes:
    @pytest.mark.parametrize("compression", ["zstd", "none"])
    @pytest.mark.parametrize("batches", ["one", "many"])
    def test_files_come_near_the_target(
        self, compression: Any, batches: str, tmp_path: Path
    ) -> None:
        numbers = np.random.default_rng(2).integers(0, 1 << 40, 200_000)
        table = pa.table({"x": numbers, "y": np.arange(200_000)})
        source = table if batches == "one" else table.to_batches(max_chunksize=1000)
        target = 200_000
        written = pymosaic.write_dataset(
            source, tmp_path, target_file_bytes=target, compression=compression
        )
        sizes = [Path(file).stat().st_size for file in written.files]
        assert len(sizes) > 5
        assert all(target * 0.6 < size < target * 1.4 for size in sizes[:-1]), sizes
        assert sizes[-1] < target * 1.4
        assert written.num_rows == 200_000
        assert read(tmp_path).num_rows == 200_000

    def test_memory_is_bounded_over_many_partitions(self, tmp_path: Path) -> None:
        table = pa.table({"k": np.arange(4000) % 8, "x": np.random.default_rng(3).random(4000)})
        written = pymosaic.write_dataset(
            table.to_batches(max_chunksize=200), tmp_path, partition_by="k", row_group_bytes=2000
        )
        # 8 files of 4,000 bytes each would wait, but only 4,000 bytes may.
        for file in written.files:
            assert pymosaic.read_metadata(file).num_row_groups > 1


class TestManyPartitions:
    def test_partitions_that_take_turns_get_one_file_each(self, tmp_path: Path) -> None:
        table = pa.table({"k": np.arange(3000) % 300, "n": np.arange(3000)})
        batches = table.to_batches(max_chunksize=300)
        written = pymosaic.write_dataset(batches, tmp_path, partition_by="k", max_open_files=7)
        assert len(written.files) == 300
        found = pymosaic.dataset(tmp_path).to_table(filters=[("k", "=", 211)])
        assert found["n"].to_pylist() == list(range(211, 3000, 300))

    def test_rows_that_wait_are_bounded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        most = 0
        original = PartitionedWriter.write

        def watch(self: PartitionedWriter, batch: pa.RecordBatch) -> None:
            nonlocal most
            original(self, batch)
            most = max(most, sum(item.nbytes for item in self._waiting))

        monkeypatch.setattr(PartitionedWriter, "write", watch)
        monkeypatch.setattr("pymosaic.datasets.rolling._WAITING_BYTES", 10_000)
        table = pa.table({"k": np.arange(20_000) % 5, "n": np.arange(20_000)})
        pymosaic.write_dataset(table.to_batches(max_chunksize=100), tmp_path, partition_by="k")
        assert 1_600 < most < 10_000
        assert pymosaic.dataset(tmp_path).to_table().num_rows == 20_000

    def test_batches_that_differ_in_dictionaries_and_order_of_columns(self, tmp_path: Path) -> None:
        first = pa.record_batch(
            {"k": pa.array(["a", "b"]).dictionary_encode(), "n": pa.array([1, 2])}
        )
        second = pa.record_batch(
            {"k": pa.array(["c", "a"]).dictionary_encode(), "n": pa.array([3, 4])}
        )
        third = pa.record_batch({"n": [5], "k": pa.array(["b"]).dictionary_encode()})
        written = pymosaic.write_dataset([first, second, third], tmp_path, partition_by="k")
        assert {(row["k"], row["n"]) for row in rows(tmp_path)} == {
            ("a", 1),
            ("b", 2),
            ("c", 3),
            ("a", 4),
            ("b", 5),
        }
        assert len(written.files) == 3


class TestOrder:
    def test_rows_come_back_in_the_order_written(self, tmp_path: Path) -> None:
        """The tenth file does not come before the second, whatever their names."""
        table = pa.table({"n": np.arange(30_000), "x": np.random.default_rng(5).random(30_000)})
        written = pymosaic.write_dataset(table, tmp_path, target_file_bytes=10_000)
        assert len(written.files) > 12
        assert read(tmp_path)["n"].to_pylist() == list(range(30_000))
        assert pymosaic.dataset(tmp_path).files == written.files

    def test_appends_come_back_in_the_order_committed(self, tmp_path: Path) -> None:
        for number in range(12):
            pymosaic.write_dataset(pa.table({"n": [number]}), tmp_path, mode="append")
        assert read(tmp_path)["n"].to_pylist() == list(range(12))

    def test_columns_are_in_the_order_of_their_first_appearance(self, tmp_path: Path) -> None:
        for names in ("zy", "yxz", "wz"):
            pymosaic.write_dataset(pa.table({name: [1] for name in names}), tmp_path, mode="append")
        assert read(tmp_path).column_names == ["z", "y", "x", "w"]

    def test_rows_of_a_partition_keep_their_order_over_files(self, tmp_path: Path) -> None:
        table = pa.table({"k": np.arange(20_000) % 2, "n": np.arange(20_000)})
        table = table.append_column("x", pa.array(np.random.default_rng(5).random(20_000)))
        written = pymosaic.write_dataset(
            table.to_batches(max_chunksize=500),
            tmp_path,
            partition_by="k",
            target_file_bytes=5_000,
            row_group_bytes=4_000,
        )
        assert len(written.files) > 24
        for key in (0, 1):
            found = pymosaic.dataset(tmp_path).to_table(["n"], filters=[("k", "=", key)])
            assert found["n"].to_pylist() == list(range(key, 20_000, 2))


class TestModes:
    def test_error_refuses_what_is_there(self, tmp_path: Path) -> None:
        pymosaic.write_dataset(TABLE, tmp_path)
        before = visible(tmp_path)
        with pytest.raises(pymosaic.DatasetExistsError, match="mode='append'"):
            pymosaic.write_dataset(TABLE, tmp_path)
        with pytest.raises(FileExistsError):
            pymosaic.write_dataset(TABLE, tmp_path, mode="error")
        assert visible(tmp_path) == before

    def test_append_adds_overwrite_replaces_ignore_does_nothing(self, tmp_path: Path) -> None:
        one = pa.table({"n": [1]})
        pymosaic.write_dataset(one, tmp_path, mode="append")
        pymosaic.write_dataset(pa.table({"n": [2]}), tmp_path, mode="append")
        assert rows(tmp_path) == [{"n": 1}, {"n": 2}]
        ignored = pymosaic.write_dataset(pa.table({"n": [3]}), tmp_path, mode="ignore")
        assert (ignored.files, ignored.num_rows) == ((), 0)
        written = pymosaic.write_dataset(pa.table({"n": [4]}), tmp_path, mode="overwrite")
        assert len(written.removed) == 2
        assert rows(tmp_path) == [{"n": 4}]
        assert len(seen(tmp_path)) == 1

    def test_ignore_writes_where_nothing_is(self, tmp_path: Path) -> None:
        assert pymosaic.write_dataset(TABLE, tmp_path / "new", mode="ignore").num_rows == 3

    def test_overwrite_takes_files_of_no_job_but_no_foreign_ones(self, tmp_path: Path) -> None:
        pymosaic.write_table(TABLE, tmp_path / "mine.mosaic")
        pymosaic.write_dataset(pa.table({"n": [1]}), tmp_path, mode="overwrite")
        assert rows(tmp_path) == [{"n": 1}]
        # The name is free again.
        pymosaic.write_table(pa.table({"n": [2]}), tmp_path / "mine.mosaic")
        assert rows(tmp_path) == [{"n": 1}, {"n": 2}]
        (tmp_path / "thesis.txt").write_text("precious")
        with pytest.raises(pymosaic.InvalidOptionError, match=r"thesis\.txt"):
            pymosaic.write_dataset(TABLE, tmp_path, mode="overwrite")
        assert (tmp_path / "thesis.txt").exists()

    def test_directories_that_an_overwrite_empties_are_removed(self, tmp_path: Path) -> None:
        table = pa.table({"n": [1, 2], "k": ["a", "b"]})
        pymosaic.write_dataset(table, tmp_path, partition_by="k")
        pymosaic.write_dataset(
            table.slice(1), tmp_path, partition_by="k", mode="overwrite", keep_replaced=0
        )
        assert sorted(path.name for path in tmp_path.iterdir()) == ["_mosaic", "k=b"]

    def test_an_append_keeps_the_partitions(self, tmp_path: Path) -> None:
        table = pa.table({"n": [1, 2], "k": ["a", "b"]})
        pymosaic.write_dataset(table, tmp_path, partition_by="k")
        pymosaic.write_dataset(table.select(["k", "n"]), tmp_path, mode="append")
        assert [path.split("/")[0] for path in visible(tmp_path)] == ["k=a", "k=a", "k=b", "k=b"]
        with pytest.raises(pymosaic.InvalidDataError, match="no column 'k'"):
            pymosaic.write_dataset(pa.table({"n": [1]}), tmp_path, mode="append")
        for other in ("n", [], ["k", "n"]):
            with pytest.raises(pymosaic.InvalidOptionError, match=r"is partitioned by \['k'\]"):
                pymosaic.write_dataset(table, tmp_path, mode="append", partition_by=other)
        assert len(visible(tmp_path)) == 4

    def test_an_append_of_a_type_that_does_not_fit_is_refused(self, tmp_path: Path) -> None:
        pymosaic.write_dataset(TABLE, tmp_path)
        with pytest.raises(pymosaic.DatasetError, match="'id'"):
            pymosaic.write_dataset(pa.table({"id": ["x"]}), tmp_path, mode="append")
        assert rows(tmp_path) == TABLE.to_pylist()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"mode": "replace"}, "mode must be one of"),
            ({"target_file_bytes": 0}, "target_file_bytes"),
            ({"max_open_files": "many"}, "max_open_files"),
            ({"compression": "lz4"}, "compression"),
            ({"colour": "red"}, "colour"),
        ],
    )
    def test_bad_options_are_refused(
        self, options: dict[str, Any], message: str, tmp_path: Path
    ) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match=message):
            pymosaic.write_dataset(TABLE, tmp_path / "set", **options)
        assert not (tmp_path / "set").exists()


class TestFailures:
    @pytest.mark.parametrize("mode", ["error", "append", "overwrite"])
    def test_a_source_that_fails_leaves_the_dataset_as_it_was(
        self, mode: Any, tmp_path: Path
    ) -> None:
        base = tmp_path / "set"
        if mode != "error":
            pymosaic.write_dataset(TABLE, base)
        before = sorted(tmp_path.rglob("*"))

        def fail() -> Iterator[pa.RecordBatch]:
            yield from TABLE.to_batches()
            raise RuntimeError("the source broke")

        with pytest.raises(RuntimeError, match="the source broke"):
            pymosaic.write_dataset(fail(), base, mode=mode, target_file_bytes=1)
        assert sorted(tmp_path.rglob("*")) == before

    def test_bad_values_leave_the_dataset_as_it_was(self, tmp_path: Path) -> None:
        schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
        batch = pa.record_batch([pa.array([None], pa.int64())], schema=schema)
        with pytest.raises(pymosaic.InvalidDataError):
            pymosaic.write_dataset(batch, tmp_path / "set")
        assert not (tmp_path / "set").exists()

    def test_progress_can_cancel(self, tmp_path: Path) -> None:
        calls: list[tuple[int, int | None, str]] = []

        def progress(done: int, total: int | None, unit: str) -> None:
            calls.append((done, total, unit))
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pymosaic.write_dataset(
                TABLE.to_batches(max_chunksize=1), tmp_path / "set", progress=progress
            )
        assert calls == [(0, None, "rows"), (1, None, "rows"), (2, None, "rows")]
        assert not (tmp_path / "set").exists()


def test_a_slice_of_matrices_goes_to_its_partitions(tmp_path: Path) -> None:
    matrices = pa.array(
        [[[i, 1], [2, -i]] for i in range(40)], pa.list_(pa.list_(pa.int16(), 2), 2)
    )
    table = pa.table({"key": [i % 2 for i in range(30)], "m": matrices.slice(7, 30)})
    pymosaic.write_dataset(table, tmp_path / "set", partition_by=["key"])
    expected = table.select(["m", "key"]).to_pylist()
    assert rows(tmp_path / "set") == sorted(expected, key=repr)


def test_progress_ends_with_the_total(tmp_path: Path) -> None:
    calls: list[tuple[int, int | None, str]] = []
    pymosaic.write_dataset(TABLE, tmp_path, progress=lambda *call: calls.append(call))
    assert calls == [(0, 3, "rows"), (3, 3, "rows"), (3, 3, "rows")]


def test_ten_thousand_columns_in_partitions(tmp_path: Path) -> None:
    values = np.arange(40.0)
    table = pa.table({**{f"c{i:05}": values for i in range(10_000)}, "k": np.arange(40) % 2})
    pymosaic.write_dataset(table, tmp_path, partition_by="k")
    found = read(tmp_path)
    assert found.num_columns == 10_001
    assert sorted(found["c09999"].to_pylist()) == values.tolist()
