"""Streams into datasets: each row is there once, whatever runs again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import pymosaic
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.io import open_directory


class Feed:
    """A stream of text files, one for each batch, with the numbers of its rows."""

    def __init__(self, spark: SparkSession, base: Path) -> None:
        self._spark = spark
        self._directory = base / "in"
        self._directory.mkdir()
        self._added = 0

    def add(self, batches: int = 1) -> None:
        for _ in range(batches):
            rows = range(self._added * 10, self._added * 10 + 10)
            text = "".join(f"{row}\n" for row in rows)
            (self._directory / f"{self._added:03d}.txt").write_text(text)
            self._added += 1

    def rows(self) -> DataFrame:
        stream = self._spark.readStream.option("maxFilesPerTrigger", 1).text(str(self._directory))
        return stream.selectExpr("cast(value as long) id", "cast(value as long) % 3 k")


def forget_commit(checkpoint: Path) -> None:
    """What is left when the driver dies after the dataset's commit and before Spark's."""
    commits = checkpoint / "commits"
    last = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)


def ids(base: object) -> list[int]:
    return sorted(pymosaic.dataset(str(base)).scan(["id"]).to_table()["id"].to_pylist())


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    return Feed(spark, tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., None]:
    """Writes what is available, and waits for the end."""

    def start(frame: DataFrame, target: Path | str, mode: str = "append", **options: Any) -> None:
        writer = frame.writeStream.format("mosaic").outputMode(mode).trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        if "partitionBy" in options:
            writer = writer.partitionBy(options.pop("partitionBy"))
        writer = writer.options(**options)
        if isinstance(target, Path):
            query = writer.start(str(target))
        else:
            query = writer.toTable(target)
        query.awaitTermination()

    return start


def test_a_batch_that_runs_again_is_there_once(feed, run, tmp_path):
    base = tmp_path / "out"
    feed.add(2)
    run(feed.rows(), base, partitionBy="k")
    assert ids(base) == list(range(20))
    assert {path.name for path in base.iterdir()} == {"_mosaic", "k=0", "k=1", "k=2"}
    forget_commit(tmp_path / "checkpoint")
    pymosaic.compact(base)
    pymosaic.vacuum(base, older_than=0)
    feed.add()
    run(feed.rows(), base, partitionBy="k")
    assert ids(base) == list(range(30))
    [number] = take_snapshot(open_directory(base)).transactions.values()
    assert number == 2


def test_a_table_gets_each_batch_once(spark, feed, run, tmp_path):
    feed.add(2)
    run(feed.rows(), "streamed", partitionBy="k")
    assert spark.table("streamed").count() == 20
    forget_commit(tmp_path / "checkpoint")
    run(feed.rows(), "streamed")
    rows = spark.table("streamed")
    assert sorted(row.id for row in rows.collect()) == list(range(20))
    assert spark.sql("SHOW PARTITIONS streamed").count() == 3
    spark.sql("DROP TABLE streamed")


def test_complete_mode_replaces_the_result(spark, feed, run, tmp_path):
    base = tmp_path / "counts"
    feed.add(2)
    run(feed.rows().groupBy("k").count(), base, "complete")
    found = spark.read.format("mosaic").load(str(base)).collect()
    assert {row.k: row["count"] for row in found} == {0: 7, 1: 7, 2: 6}


def test_each_batch_of_foreach_batch_is_there_once(spark, feed, tmp_path):
    base = tmp_path / "each"
    feed.add(2)

    def write(frame: DataFrame, number: int) -> None:
        writer = frame.write.format("mosaic").mode("append").option("txnAppId", "ours")
        for _ in range(2):
            writer.option("txnVersion", number).save(str(base))

    writer = feed.rows().writeStream.foreachBatch(write).trigger(availableNow=True)
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    assert ids(base) == list(range(20))
    assert take_snapshot(open_directory(base)).transactions == {"ours": 1}


def test_an_application_of_a_name_goes_on_with_a_new_checkpoint(feed, run, tmp_path):
    base = tmp_path / "out"
    feed.add()
    run(feed.rows(), base, txnAppId="events")
    (tmp_path / "checkpoint").rename(tmp_path / "lost")
    run(feed.rows(), base, txnAppId="events")
    assert ids(base) == list(range(10))


def test_what_a_stream_cannot_do_is_said_when_it_starts(spark, feed, run, tmp_path):
    feed.add()
    with pytest.raises(AnalysisException, match="update is not supported"):
        run(feed.rows().groupBy("k").count(), tmp_path / "out", "update")
    with pytest.raises(AnalysisException, match="no option 'compresion'"):
        run(feed.rows(), tmp_path / "out", compresion="none")
    with pytest.raises(AnalysisException, match="txnVersion is not for streams"):
        run(feed.rows(), tmp_path / "out", txnVersion="3")
    with pytest.raises(AnalysisException, match="the path is missing"):
        feed.rows().writeStream.format("mosaic").option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        ).start()
    with pytest.raises(AnalysisException, match="txnAppId and txnVersion go together"):
        spark.range(1).write.format("mosaic").option("txnAppId", "x").save(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
