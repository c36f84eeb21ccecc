"""Writes: modes, partitions, what fails and what is left."""

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as f

import pymosaic
import pymosaic.spark
from pymosaic.datasets.commit import WriteJob


def data_files(base: Path) -> list[str]:
    """All files below a dataset's directory, hidden ones included, job records not."""
    return sorted(
        str(path.relative_to(base))
        for path in base.rglob("*")
        if path.is_file() and path.parent.name != "_mosaic"
    )


def published(base: Path) -> list[str]:
    """The data files that have their final names."""
    return [path for path in data_files(base) if not path.startswith("_mosaic")]


def ids(base: Path) -> list[int]:
    return sorted(pymosaic.dataset(str(base)).scan(["id"]).to_table()["id"].to_pylist())


@pytest.fixture
def base(tmp_path) -> Path:
    return tmp_path / "out"


def test_each_task_writes_its_files_and_they_are_published(spark, base):
    frame = spark.range(10, numPartitions=3)
    pymosaic.spark.write(frame, base)
    assert ids(base) == list(range(10))
    assert len(data_files(base)) == 3
    assert not (base / "_mosaic" / "staging").exists()


def test_append_adds_and_overwrite_replaces(spark, base):
    pymosaic.spark.write(spark.range(3), base)
    pymosaic.spark.write(spark.range(3, 5), base, mode="append")
    assert ids(base) == [0, 1, 2, 3, 4]
    pymosaic.spark.write(spark.range(7, 8, numPartitions=1), base, mode="overwrite")
    assert ids(base) == [7]
    assert len(pymosaic.dataset(base).files) == 1


def test_error_is_the_default_mode_and_ignore_does_nothing(spark, base):
    pymosaic.spark.write(spark.range(3), base)
    with pytest.raises(AnalysisException, match="already has 2 files"):
        pymosaic.spark.write(spark.range(9), base)
    pymosaic.spark.write(spark.range(9), base, mode="ignore")
    assert ids(base) == [0, 1, 2]
    with pytest.raises(pymosaic.InvalidOptionError, match="mode must be one of"):
        pymosaic.spark.write(spark.range(9), base, mode="replace")


def test_overwrite_of_a_path_that_is_being_read(spark, base):
    pymosaic.spark.write(spark.range(6), base)
    read = pymosaic.spark.read(spark, base)
    doubled = read.select((f.col("id") * 2).alias("id"))
    doubled.write.format("mosaic").mode("overwrite").save(str(base))
    assert ids(base) == [0, 2, 4, 6, 8, 10]


def test_partitions_become_directories_and_come_back_as_columns(spark, base):
    frame = spark.range(6).select(
        "id",
        f.expr("CASE WHEN id % 3 = 0 THEN NULL ELSE concat('a/b=', id % 3) END").alias("key"),
        f.expr("date_add(date'2024-05-30', cast(id % 2 AS int))").alias("day"),
    )
    pymosaic.spark.write(frame, base, partition_by=["day", "key"])
    assert {path.name for path in base.iterdir()} >= {"day=2024-05-30", "day=2024-05-31"}
    back = pymosaic.spark.read(spark, base)
    assert sorted(back.select("id", "key", "day").collect()) == sorted(frame.collect())
    one = back.where("day = date'2024-05-31'").select("id")
    assert sorted(row["id"] for row in one.collect()) == [1, 3, 5]


def test_appending_keeps_the_partitions_of_a_dataset(spark, base):
    frame = spark.range(4).withColumn("half", f.expr("cast(id % 2 AS int)"))
    pymosaic.spark.write(frame, base, partition_by=["half"])
    frame.write.format("mosaic").mode("append").save(str(base))
    assert all(path.startswith("half=") for path in data_files(base))
    with pytest.raises(Exception, match="but the dataset is partitioned by half"):
        pymosaic.spark.write(frame, base, mode="append", partition_by=["id"])
    with pytest.raises(Exception, match="the data has no column 'half'"):
        pymosaic.spark.write(spark.range(3), base, mode="append")
    assert ids(base) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_an_empty_frame_keeps_its_columns(spark, base):
    empty = spark.range(0).withColumn("day", f.lit("x"))
    pymosaic.spark.write(empty, base)
    back = pymosaic.spark.read(spark, base)
    assert back.columns == ["id", "day"]
    assert back.count() == 0
    pymosaic.spark.write(spark.range(0).withColumn("day", f.lit("x")), base, mode="append")
    assert len(data_files(base)) == 1


def test_an_empty_partitioned_frame_can_be_added_to(spark, base):
    frame = spark.range(3).withColumn("day", f.lit("x"))
    pymosaic.spark.write(frame.limit(0), base, partition_by=["day"])
    pymosaic.spark.write(frame, base, mode="append")
    assert ids(base) == [0, 1, 2]
    assert pymosaic.spark.read(spark, base).where("day = 'x'").count() == 3


def test_writer_options_reach_the_files(spark, base):
    frame = spark.range(1000, numPartitions=1).withColumn("other", f.col("id") * 3)
    pymosaic.spark.write(
        frame,
        base,
        compression="none",
        numBuckets=1,
        statistics=["id"],
        rowGroupBytes="4k",
        splitBatches=True,
    )
    [path] = data_files(base)
    with pymosaic.MosaicFile(base / path) as file:
        assert file.metadata.compression == "none"
        assert file.num_buckets == 1
        assert file.num_row_groups > 1
        assert set(file.statistics(0)) == {"id"}


def test_files_end_at_the_target_size(spark, base):
    frame = spark.range(20_000, numPartitions=1).select("id", f.rand(5).alias("noise"))
    pymosaic.spark.write(frame, base, targetFileBytes="64k")
    sizes = [(base / path).stat().st_size for path in data_files(base)]
    assert len(sizes) > 2
    assert max(sizes) < 2 * 65536
    assert ids(base) == list(range(20_000))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compresion": "zstd"}, "did you mean 'compression'"),
        ({"targetFileBytes": "many"}, "targetFileBytes must be a size"),
        ({"numBuckets": "0"}, "num_buckets must be from 1"),
        ({"partitionBy": "nothing"}, "'nothing'"),
        ({"statistics": "nothing*"}, "'nothing\\*'"),
    ],
)
def test_wrong_options_are_refused_and_leave_no_trace(spark, base, options, message):
    writer = spark.range(3).write.format("mosaic").mode("append").options(**options)
    with pytest.raises(Exception, match=message):
        writer.save(str(base))
    assert not base.exists()


def test_a_failed_write_leaves_the_dataset_as_it_was(spark, base):
    # Spark aborts a job without waiting for its other tasks: they may go on to write where
    # nobody looks.
    pymosaic.spark.write(spark.range(3), base)
    before = published(base)
    failing = spark.range(100, numPartitions=4).select(
        f.expr("CASE WHEN id = 99 THEN raise_error('enough') ELSE id END").cast("long").alias("id")
    )
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="enough"):
            pymosaic.spark.write(failing, base, mode=mode)
        assert published(base) == before
        assert ids(base) == [0, 1, 2]
        assert not list((base / "_mosaic").glob("*.pending"))


def test_abort_after_a_half_done_publication_undoes_it(spark, base):
    """Spark calls abort when commit raises: some files have their final names by then."""
    from pyspark.sql.types import LongType, StructField, StructType

    from pymosaic.spark.options import SourceOptions
    from pymosaic.spark.writing import DatasetWriter, WrittenFiles

    pymosaic.spark.write(spark.range(2), base)
    before = data_files(base)
    options = SourceOptions.parse({"path": str(base)})
    writer = DatasetWriter(options, StructType([StructField("id", LongType())]), False)
    job = writer._job
    assert isinstance(job, WriteJob)
    import pyarrow as pa

    staged = []
    for task in range(2):
        file = job.file("", task, 0)
        pymosaic.write_table(pa.table({"id": [task]}), file.write_path)
        staged.append(file)
    os.unlink(staged[1].write_path)  # a disk that loses a file
    with pytest.raises(FileNotFoundError):
        writer.commit([WrittenFiles(tuple(staged)), None])
    writer.abort([WrittenFiles(tuple(staged)), None])
    assert data_files(base) == before
    assert ids(base) == [0, 1]


DYING_DRIVER = """
import os, signal, sys
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.writing import DatasetWriter
from pyspark.sql.types import LongType, StructField, StructType
import pyarrow as pa, pymosaic
writer = DatasetWriter(
    SourceOptions.parse({"path": sys.argv[1]}), StructType([StructField("id", LongType())]), True
)
file = writer._job.file("", 0, 0)
pymosaic.write_table(pa.table({"id": [5]}), file.write_path)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_dead_driver_left_is_invisible_and_vacuum_removes_it(spark, base):
    pymosaic.spark.write(spark.range(2), base)
    before = data_files(base)
    done = subprocess.run([sys.executable, "-c", DYING_DRIVER, str(base)], timeout=600)
    assert done.returncode == -signal.SIGKILL
    assert len(data_files(base)) == len(before) + 1
    assert ids(base) == [0, 1]
    assert pymosaic.spark.read(spark, base).count() == 2
    report = pymosaic.spark.vacuum(base, older_than=0)
    assert len(report.jobs) == 1
    assert data_files(base) == before
    assert ids(base) == [0, 1]


def test_published_records_name_exactly_the_visible_files(spark, base):
    pymosaic.spark.write(spark.range(4, numPartitions=2), base)
    [record] = (base / "_mosaic").glob("*.committed.json")
    adds = json.loads(record.read_text())["adds"]
    assert sorted(file["path"] for file in adds) == data_files(base)


def test_a_thread_without_an_active_session_can_write(spark, base):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pymosaic.spark.write, spark.range(3), base).result()
    assert ids(base) == [0, 1, 2]


def test_rows_without_columns_are_refused(spark, base):
    with pytest.raises(Exception, match="rows without columns cannot be stored"):
        pymosaic.spark.write(spark.range(3).select(), base)
    assert not base.exists()


@pytest.mark.parametrize("by", ["conf", "option"])
def test_a_dynamic_overwrite_replaces_only_the_partitions_it_writes_to(spark, base, conf, by):
    frame = spark.range(6).selectExpr("id", "cast(id % 3 AS int) AS day")
    pymosaic.spark.write(frame, base, partition_by=["day"])
    writer = spark.range(100, 101).selectExpr("id", "1 AS day").write.format("mosaic")
    if by == "conf":
        conf("spark.sql.sources.partitionOverwriteMode", "dynamic")
    else:
        writer = writer.option("partitionOverwriteMode", "dynamic")
    writer.mode("overwrite").option("partitionBy", "day").save(str(base))
    assert ids(base) == [0, 2, 3, 5, 100]
    writer.mode("overwrite").option("partitionOverwriteMode", "static").save(str(base))
    assert ids(base) == [100]


def test_a_dynamic_overwrite_keeps_the_partitions_of_a_dataset(spark, base, conf):
    conf("spark.sql.sources.partitionOverwriteMode", "dynamic")
    frame = spark.range(6).selectExpr("id", "cast(id % 3 AS int) AS day")
    pymosaic.spark.write(frame, base, partition_by=["day"], mode="overwrite")
    frame.where("id < 1").write.format("mosaic").mode("overwrite").save(str(base))
    assert ids(base) == [0, 1, 2, 4, 5]
    frame.where("id < 0").write.format("mosaic").mode("overwrite").save(str(base))
    assert ids(base) == [0, 1, 2, 4, 5]


def test_a_dynamic_overwrite_of_a_dataset_without_partitions_replaces_it(spark, base, conf):
    conf("spark.sql.sources.partitionOverwriteMode", "dynamic")
    for number in (3, 2):
        pymosaic.spark.write(spark.range(number), base, mode="overwrite")
    assert ids(base) == [0, 1]


def test_a_column_of_another_type_is_refused_before_a_task_starts(spark, base):
    pymosaic.spark.write(spark.range(3), base)
    other = spark.range(2).selectExpr("raise_error('a task ran') AS id")
    with pytest.raises(Exception, match=r"column 'id' is int64 in .* and string in the data"):
        pymosaic.spark.write(other.selectExpr("string(id) AS id"), base, mode="append")
    assert ids(base) == [0, 1, 2]


def test_names_of_other_case_are_the_same_columns(spark, base, conf):
    frame = spark.range(2).selectExpr("id", "cast(id AS string) AS Day")
    pymosaic.spark.write(frame, base, partition_by=["DAY"])
    frame.selectExpr("id + 5 AS ID", "day").write.format("mosaic").mode("append").save(str(base))
    assert pymosaic.dataset(str(base)).schema.names == ["id", "Day"]
    assert ids(base) == [0, 1, 5, 6]
    with pytest.raises(Exception, match="differ only in case"):
        pymosaic.spark.write(frame.selectExpr("id", "1 AS ID", "day"), base, mode="append")
    conf("spark.sql.caseSensitive", True)
    both = frame.selectExpr("id", "id + 1 AS ID", "Day")
    pymosaic.spark.write(both, base, mode="append")
    assert pymosaic.dataset(str(base)).schema.names == ["id", "ID", "Day"]
    conf("spark.sql.caseSensitive", False)
    with pytest.raises(Exception, match="column 'iD' is ambiguous"):
        pymosaic.spark.write(frame.withColumnRenamed("id", "iD"), base, mode="append")


def test_collations_are_kept_by_tables(spark):
    frame = spark.sql("SELECT c COLLATE UTF8_LCASE AS c FROM VALUES ('a'), ('A'), ('b') AS t(c)")
    frame.write.format("mosaic").saveAsTable("collated")
    try:
        table = spark.table("collated")
        assert table.schema["c"].dataType == frame.schema["c"].dataType
        assert table.where("c = 'a'").count() == 2
        assert table.distinct().count() == 2
    finally:
        spark.sql("DROP TABLE collated")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("'x\\0y'", "of column 'key' holds a NUL character"),
        ("repeat('ü', 130)", "of column 'key' makes the name of a directory longer than 255 bytes"),
    ],
)
def test_values_that_cannot_name_a_directory_are_told(spark, base, value, message):
    frame = spark.range(1).selectExpr("id", f"{value} AS key")
    with pytest.raises(Exception, match=message):
        pymosaic.spark.write(frame, base, partition_by=["key"])
    assert not base.exists() or published(base) == []


def test_a_partition_that_is_loaded_has_its_key_below_a_base_path(spark, base):
    frame = spark.range(4).selectExpr("id", "cast(id % 2 AS int) AS half")
    pymosaic.spark.write(frame, base, partition_by=["half"])
    for path in ("half=1", "half=1*", "half={1,7}", "half=1/*.mosaic"):
        reader = spark.read.format("mosaic")
        assert sorted(reader.load(f"{base}/{path}").collect()) == [(1,), (3,)], path
        found = reader.option("basePath", str(base)).load(f"{base}/{path}")
        assert sorted(found.collect()) == [(1, 1), (3, 1)], path


def test_partition_columns_come_back_in_their_types_on_request(spark, base):
    frame = spark.sql(
        "SELECT 1L AS id, 7L AS i, true AS flag, 1.5D AS number, 2.50BD AS price, "
        "timestamp'2024-05-31 10:30:00.25' AS at, date'2024-05-31' AS day, '007' AS text"
    )
    keys = frame.columns[1:]
    pymosaic.spark.write(frame, base, partition_by=keys)
    pymosaic.spark.write(frame, base, mode="append")
    back = spark.read.format("mosaic").option("partitionTypes", "recorded").load(str(base))
    assert [field.dataType for field in back.schema] == [field.dataType for field in frame.schema]
    assert back.collect() == frame.collect() * 2
    assert back.where("at = timestamp'2024-05-31 10:30:00.25' AND price > 2").count() == 2
    # Otherwise as Spark reads such directories of Parquet files.
    inferred = spark.read.format("mosaic").load(str(base))
    assert [kind for _, kind in inferred.dtypes] == [
        "bigint",
        "int",
        "string",
        "double",
        "double",
        "timestamp",
        "date",
        "int",
    ]
    assert inferred.select("flag", "text", "at").first() == ("true", 7, frame.first().at)


def test_the_advice_for_a_struct_column_works(spark, tmp_path):
    df = spark.sql("SELECT 1 AS id, named_struct('x', 2, 'y', 'a') AS place")
    target = str(tmp_path / "places")
    with pytest.raises(Exception, match="make its fields columns of their own") as refused:
        df.write.format("mosaic").save(target)
    advice = re.search(r"own: (df\.withColumns\(.*\.drop\('place'\))", str(refused.value))
    assert advice is not None
    eval(advice[1], {"df": df}).write.format("mosaic").save(target)
    assert pymosaic.read_table(target).to_pylist() == [{"id": 1, "place.x": 2, "place.y": "a"}]
