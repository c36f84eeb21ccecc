"""Streams that read a dataset: each row once per checkpoint, whatever stops and runs again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame

import pymosaic
from pymosaic.errors import CorruptFileError, DatasetError, InvalidOptionError, MosaicError
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.relations import Relation, states
from pymosaic.spark.streams import DatasetStream
from tests.spark.test_sink import forget_commit


def add(base: Path, *rows: int, k: int = 0, mode: Any = "append") -> None:
    table = pa.table({"id": rows, "k": [k] * len(rows), "text": [str(row) for row in rows]})
    pymosaic.write_dataset(table, base, partition_by=["k"], mode=mode)


def put(base: Path, name: str, row: int) -> None:
    pymosaic.write_table(pa.table({"id": [row], "text": [""]}), base / f"{name}.mosaic")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for number in range(3):
        add(tmp_path / "data", 2 * number, 2 * number + 1, k=number)
    return tmp_path / "data"


class Query:
    """What Spark does with a stream, and what it keeps: the last position it has committed."""

    def __init__(self, base: Path, **options: str) -> None:
        self._options = SourceOptions.parse({"path": str(base), **options})
        self._checkpoint = f"file:{base.parent}/checkpoint/sources/0"
        self.position = 0
        self.restart()

    def restart(self) -> None:
        self.stream = DatasetStream(self._checkpoint, self._options)

    def files(self, end: int) -> list[str]:
        return [file.path for file in self.stream.listing(self.position, end).files]

    def batch(self, everything: bool = False) -> list[int]:
        end = self.stream.next_position(self.position, everything=everything)
        rows = [row for path in self.files(end) for row in read(path)]
        self.position = end
        return rows


def read(path: str) -> list[int]:
    rows: list[int] = pymosaic.read_table(path, columns=["id"])["id"].to_pylist()
    return rows


class TestPositions:
    def test_limits_split_what_is_there(self, base):
        query = Query(base, maxFilesPerTrigger="2")
        assert query.batch() == [0, 1, 2, 3]
        assert query.batch() == [4, 5]
        assert query.batch() == []
        assert query.position == 2
        query = Query(base, maxBytesPerTrigger="1")
        query.position = 2
        add(base, 6)
        add(base, 7)
        assert [query.batch(), query.batch()] == [[6], [7]], "at least one file"
        add(base, 8)
        add(base, 9)
        assert query.batch(everything=True) == [8, 9]

    def test_a_restart_goes_on_and_a_batch_that_runs_again_is_the_same(self, base):
        query = Query(base, maxFilesPerTrigger="1")
        found = []
        for number in range(24):
            # Spark dies before it hears of a position, or before it has committed the batch.
            end = query.stream.next_position(query.position, everything=False)
            if end > query.position:
                before = query.files(end)
                query.restart()
                assert query.stream.next_position(query.position, everything=False) == end
                assert query.files(end) == before
            add(base, 100 + number)
            pymosaic.compact(base)
            found += query.batch()
            query.stream.forget_before(query.position)
            query.restart()
        query.restart()
        while rows := query.batch():
            found += rows
        assert sorted(found) == [*range(6), *range(100, 124)]
        names = list((base.parent / "checkpoint" / "sources" / "0").glob("position-*"))
        assert len(names) <= 32, "what is no longer needed is deleted"

    def test_the_end_can_be_fixed(self, base):
        query = Query(base, maxFilesPerTrigger="2")
        query.stream.fix_end()
        add(base, 6)
        assert [query.batch(), query.batch(), query.batch()] == [[0, 1, 2, 3], [4, 5], []]
        query.restart()
        assert query.batch() == [6]

    @pytest.mark.parametrize("written", [False, True])
    def test_a_position_whose_write_failed_loses_and_doubles_nothing(
        self, base, monkeypatch, written
    ):
        query = Query(base)
        query.stream.fix_end()
        kind = type(query.stream._positions)
        write = kind.write

        def failing(*arguments: Any) -> None:
            if written:
                write(*arguments)
            raise OSError("no answer")

        with monkeypatch.context() as patch:
            patch.setattr(kind, "write", failing)
            with pytest.raises(OSError, match="no answer"):
                query.batch()
        assert query.batch() == list(range(6))
        assert query.batch() == []

    @pytest.mark.parametrize("late", [False, True])
    def test_two_drivers_with_one_checkpoint_agree_on_what_the_one_that_goes_on_has_read(
        self, base, monkeypatch, late
    ):
        first, second = Query(base), Query(base)
        kind = type(second.stream._positions)
        write = kind.write
        found = []

        def in_between(directory: Any, path: str, data: bytes) -> None:
            """After the second has looked, a row is added, and the first plans the position."""
            if path != "position-1.json":
                return write(directory, path, data)
            monkeypatch.setattr(kind, "write", write)
            add(base, 6)
            if late:
                found.extend(first.batch())
            else:
                end = first.stream.next_position(0, everything=False)
            write(directory, path, data)
            if not late:
                found.extend(row for path in first.files(end) for row in read(path))
                first.position = end
            return None

        monkeypatch.setattr(kind, "write", in_between)
        second.stream.next_position(0, everything=False)
        # Spark ends the second; the first goes on, and is restarted.
        found += first.batch()
        first.restart()
        add(base, 7)
        while rows := first.batch():
            found += rows
        assert sorted(found) == list(range(8))

    def test_latest_begins_at_the_first_look(self, base):
        query = Query(base, startingVersion="latest")
        assert query.batch() == []
        add(base, 6)
        query.restart()
        assert query.batch() == [6]

    def test_a_stream_begins_at_a_time_and_skips_changes_since(self, base):
        add(base, 9, mode="overwrite")
        add(base, 10)
        begin = {"startingTimestamp": "1970-01-01", "timeZone": "UTC"}
        with pytest.raises(DatasetError, match="set the option skipChangeCommits"):
            Query(base, **begin).batch()
        assert Query(base, **begin, skipChangeCommits="true").batch() == [0, 1, 2, 3, 4, 5, 10]

    def test_what_is_gone_is_an_error_unless_that_is_allowed(self, base):
        query = Query(base)
        query.batch()
        add(base, 6)
        pymosaic.compact(base)
        end = query.stream.next_position(query.position, everything=False)
        pymosaic.vacuum(base, older_than=0, keep_unread=False)
        with pytest.raises(DatasetError, match="deleted before this stream read it"):
            query.files(end)
        lenient = Query(base, ignoreMissingFiles="true")
        lenient.position = query.position
        assert lenient.batch() == []

    def test_files_that_were_not_read_outlive_compaction_and_vacuum(self, base):
        query = Query(base, maxFilesPerTrigger="1")
        found = query.batch()
        for number in range(10, 20):
            add(base, number)
            put(base, f"of-others-{number}", 100 + number)
            pymosaic.compact(base, keep_replaced=0)
            assert pymosaic.vacuum(base, older_than=0).files_unread
            if number % 3 == 0:
                query.restart()
                found += query.batch()
        while rows := query.batch():
            found += rows
        assert sorted(found) == [*range(6), *range(10, 20), *range(110, 120)]

    def test_files_that_were_read_do_not(self, base):
        query = Query(base)
        query.batch()
        add(base, 6)
        assert query.batch() == [6]
        pymosaic.compact(base)
        for path in (base / "_mosaic").glob("*.committed.json"):
            os.utime(path, (path.stat().st_mtime - 7200,) * 2)
        report = pymosaic.vacuum(base, older_than=0)
        assert (len(report.files), report.files_unread) == (2, 0)
        add(base, 7)
        assert query.batch() == [7]

    def test_files_stay_for_as_long_as_the_stream_may_be_away(self, base):
        query = Query(base, keepUnreadFiles="2 days")
        query.batch()
        add(base, 6)
        pymosaic.compact(base)
        [path] = (base / "_mosaic").glob("*.follower")
        os.utime(path, (path.stat().st_mtime - 86400,) * 2)
        assert pymosaic.vacuum(base, older_than=0).files_unread
        os.utime(path, (path.stat().st_mtime - 86400,) * 2)
        assert pymosaic.vacuum(base, older_than=0).files_unread == 0
        assert not path.exists()
        with pytest.raises(DatasetError, match="keepUnreadFiles"):
            query.batch()

    @pytest.mark.filterwarnings("error")
    def test_a_dataset_that_cannot_be_written_to_is_read(self, base, monkeypatch):
        def refuse(*_: object) -> None:
            raise PermissionError("read-only")

        query = Query(base)
        monkeypatch.setattr(query.stream._storage, "write", refuse)
        with pytest.warns(UserWarning, match="cannot be written to"):
            assert query.batch() == list(range(6))
        add(base, 6)
        assert query.batch() == [6], "and says so once"

    def test_a_directory_without_records_gets_none(self, tmp_path):
        (tmp_path / "data").mkdir()
        put(tmp_path / "data", "mine", 1)
        query = Query(tmp_path / "data")
        assert query.batch() == [1]
        assert [path.name for path in (tmp_path / "data").iterdir()] == ["mine.mosaic"]

    def test_a_file_that_was_found_before_it_was_complete_is_read_once(self, base):
        """Somebody copies a file there; a batch that fails on its first half is run again."""
        query = Query(base)
        query.batch()
        put(base, "mine", 6)
        content = (base / "mine.mosaic").read_bytes()
        (base / "mine.mosaic").write_bytes(content[:100])
        end = query.stream.next_position(query.position, everything=False)
        assert len(query.files(end)) == 1, "which cannot be read"
        (base / "mine.mosaic").write_bytes(content)
        with pytest.raises(DatasetError, match="was replaced by another of this name"):
            query.files(end)
        for option in ("skipChangeCommits", "ignoreChanges"):
            lenient = Query(base, **{option: "true"})
            lenient.position = query.position
            assert [*lenient.batch(), *lenient.batch(), *lenient.batch()] == [6]
            (base.parent / "checkpoint" / "sources" / "0" / "position-3.json").unlink(True)

    def test_files_that_are_not_read_may_change(self, base):
        (base / "notes.txt").write_text("one")
        (base / "other").mkdir()
        put(base / "other", "mine", 6)
        query = Query(base)
        query.batch()
        (base / "notes.txt").write_text("another")
        put(base / "other", "mine", 66)
        assert query.batch() == []

    def test_a_name_that_is_used_again_does_not_stand_for_the_file_before(self, base):
        query = Query(base)
        query.batch()
        put(base, "mine", 6)
        end = query.stream.next_position(query.position, everything=False)
        pymosaic.compact(base)
        assert len(query.files(end)) == 1, "which is kept for readers"
        put(base, "mine", 7)
        with pytest.raises(DatasetError, match="was replaced by another of this name"):
            query.files(end)

    def test_a_batch_of_most_files_reads_their_ends_from_packs(self, tmp_path, reads):
        base = tmp_path / "data"
        table = pa.table({"id": range(70), "k": range(70)})
        pymosaic.write_dataset(table, base, partition_by=["k"])
        query = Query(base)
        listing = query.stream.listing(0, query.stream.next_position(0, everything=False))
        reads.clear()
        relation = Relation(SourceOptions.parse({"path": str(base)}), states.put(listing))
        assert relation.open().count_rows() == 70
        assert not [name for name in reads.files if name.endswith(".mosaic")]
        query.position = 1
        add(base, 70)
        assert not query.stream.listing(1, query.stream.next_position(1, everything=False)).packs

    def test_datasets_inside_are_not_left_out_silently(self, base):
        pymosaic.write_dataset(pa.table({"id": [6], "text": ["6"]}), base / "other")
        assert Query(base).batch() == list(range(6)), "as in a batch read"
        with pytest.raises(DatasetError, match="other is a dataset of its own"):
            Query(base, recursiveFileLookup="true").batch()

    def test_a_file_is_not_a_directory(self, base):
        [path] = (base / "k=0").iterdir()
        with pytest.raises(InvalidOptionError, match="a stream reads a directory"):
            Query(path)

    def test_a_damaged_or_missing_position_is_an_error(self, base):
        query = Query(base)
        query.batch()
        [path] = (base.parent / "checkpoint" / "sources" / "0").glob("position-*")
        content = path.read_bytes()
        path.write_bytes(content.replace(b"part-0", b"part-1"))
        query.restart()
        with pytest.raises(CorruptFileError, match="checksum"):
            query.batch()
        path.unlink()
        with pytest.raises(MosaicError, match="incomplete"):
            query.batch()

    @pytest.mark.parametrize(
        "options",
        [
            {"path": "/data/*"},
            {"pathGlobFilter": "x*"},
            {"paths": '["/a", "/b"]'},
            {"startingVersion": "latest", "startingTimestamp": "2024-05-31"},
            {"startingTimestamp": "yesterday"},
        ],
    )
    def test_what_streams_do_not_have_is_refused(self, base, options: dict[str, Any]):
        with pytest.raises(InvalidOptionError):
            Query(base, **options)


def run(frame: DataFrame, checkpoint: Path, **trigger: Any) -> tuple[list[list[Any]], Any]:
    """The ids of each batch of what is available, and the query."""
    batches: list[list[Any]] = []

    def collect(rows: DataFrame, _: int) -> None:
        batches.append(sorted(row.id for row in rows.collect()))

    writer = frame.writeStream.foreachBatch(collect).trigger(**(trigger or {"availableNow": True}))
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    return batches, query


def test_a_query_reads_each_row_once(spark, base, tmp_path):
    source = spark.readStream.format("mosaic")
    frame = source.option("maxFilesPerTrigger", 2).load(str(base)).where("id >= 1").select("id")
    batches, query = run(frame, tmp_path / "checkpoint")
    assert batches == [[1, 2, 3], [4, 5]]
    plan = query._jsq.explainInternal(False)
    assert "columns: struct<id:bigint>" in plan
    assert '"name":">="' in plan
    assert query.lastProgress["numInputRows"] == 2
    add(base, 6)
    pymosaic.compact(base)
    pymosaic.write_table(pa.table({"id": [7], "text": ["of others"]}), base / "k=1" / "x.mosaic")
    forget_commit(tmp_path / "checkpoint")
    assert run(frame, tmp_path / "checkpoint")[0] == [[4, 5], [6, 7]]
    assert run(frame, tmp_path / "checkpoint")[0] == []


def test_an_overwrite_ends_a_query_unless_it_is_to_be_skipped(spark, base, tmp_path):
    source = spark.readStream.format("mosaic").load(str(base))
    assert run(source, tmp_path / "checkpoint")[0] == [list(range(6))]
    add(base, 9, mode="overwrite")
    with pytest.raises(StreamingQueryException, match="set the option skipChangeCommits"):
        run(source, tmp_path / "checkpoint")
    add(base, 10)
    skipping = spark.readStream.format("mosaic").option("skipChangeCommits", True).load(str(base))
    assert run(skipping, tmp_path / "checkpoint")[0] == [[10]]
    add(base, 11, mode="overwrite")
    reading = spark.readStream.format("mosaic").option("ignoreChanges", True).load(str(base))
    assert run(reading, tmp_path / "checkpoint")[0] == [[11]]


def test_one_batch_has_all_that_is_there(spark, base, tmp_path):
    source = spark.readStream.format("mosaic").option("maxFilesPerTrigger", 2).load(str(base))
    assert run(source, tmp_path / "checkpoint", once=True)[0] == [list(range(6))]
    add(base, 6)
    pymosaic.compact(base, keep_replaced=0)
    assert run(source, tmp_path / "checkpoint", once=True)[0] == [[6]]
    assert run(source, tmp_path / "checkpoint", once=True)[0] == []


def test_a_query_begins_now_or_at_a_moment(spark, base, tmp_path):
    for path in (base / "_mosaic").iterdir():
        os.utime(path, (1e9, 1e9))
    source = spark.readStream.format("mosaic")
    latest = source.option("startingVersion", "latest").load(str(base))
    assert run(latest, tmp_path / "latest")[0] == [[]], "an empty batch remembers the start"
    add(base, 6)
    source = spark.readStream.format("mosaic")
    recent = source.option("startingTimestamp", "2001-09-09 10:46:41").load(str(base))
    assert run(recent, tmp_path / "recent")[0] == [[6]]
    source = spark.readStream.format("mosaic")
    early = source.option("startingTimestamp", "2001-09-09T01:46:40Z").load(str(base))
    assert run(early, tmp_path / "early")[0] == [list(range(7))]
    add(base, 7)
    assert run(latest, tmp_path / "latest")[0] == [[6, 7]]
    assert run(recent, tmp_path / "recent")[0] == [[7]]
    with pytest.raises(AnalysisException, match="startingTimestamp"):
        source.option("startingTimestamp", "soon").load(str(base))


def test_without_merging_a_batch_has_the_columns_of_all_its_files(spark, base, tmp_path):
    """The first file of a batch may lack one that the first file of the dataset has."""
    frame = spark.readStream.format("mosaic").option("mergeSchema", False).load(str(base))
    run(frame, tmp_path / "checkpoint")
    short = pa.table({"id": [6], "k": [0]})
    pymosaic.write_dataset(short, base, partition_by=["k"], mode="append")
    add(base, 7)
    frame = frame.selectExpr("struct(id, text) id")
    [rows], _ = run(frame, tmp_path / "checkpoint")
    assert [tuple(row) for row in rows] == [(6, None), (7, "7")]


def test_a_table_is_read_as_a_stream_and_into_a_dataset(spark, tmp_path):
    spark.sql("CREATE TABLE followed (id LONG, k INT) USING mosaic PARTITIONED BY (k)")
    spark.sql("INSERT INTO followed VALUES (1, 1), (2, 2)")
    writer = spark.readStream.table("followed").groupBy("k").count().writeStream
    writer = writer.format("mosaic").outputMode("complete").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    for expected in ({1: 1, 2: 1}, {1: 1, 2: 2}):
        writer.start(str(tmp_path / "counts")).awaitTermination()
        found = spark.read.format("mosaic").load(str(tmp_path / "counts")).collect()
        assert {row.k: row["count"] for row in found} == expected
        spark.sql("INSERT INTO followed VALUES (3, 2)")
    spark.sql("DROP TABLE followed")


def test_a_query_that_reads_a_stream_twice_gets_the_columns_of_each(spark, tmp_path):
    table = pa.table({"id": [1, 2], "a": [10, 20], "b": [100, 200]})
    pymosaic.write_dataset(table, tmp_path / "data")
    frame = spark.readStream.format("mosaic").load(str(tmp_path / "data"))
    # Spark reuses an exchange for another one that looks the same.
    parts = [frame.select("id", name).repartition(2, "id") for name in ("a", "b")]
    writer = parts[0].union(parts[1]).writeStream.format("mosaic").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.start(str(tmp_path / "out")).awaitTermination()
    found = spark.read.format("mosaic").load(str(tmp_path / "out")).collect()
    assert sorted(map(tuple, found)) == [(1, 10), (1, 100), (2, 20), (2, 200)]
