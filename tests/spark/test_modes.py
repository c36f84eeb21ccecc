"""`df.write` to a path as for any other source: modes, partitionBy; and errors that users make."""

import pytest
from pyspark.errors import AnalysisException

import pymosaic


@pytest.fixture
def base(tmp_path):
    return str(tmp_path / "out")


@pytest.fixture
def frame(spark):
    return spark.range(6).selectExpr("id", "cast(id % 3 AS int) AS k")


def count(spark, base) -> int:
    return spark.read.format("mosaic").load(base).count()


def test_all_modes(spark, frame, base):
    frame.write.format("mosaic").save(base)
    for mode in ("error", "errorifexists", "default"):
        with pytest.raises(AnalysisException, match="already has 2 files") as caught:
            frame.write.format("mosaic").mode(mode).save(base)
        assert caught.value.getCondition() == "PATH_ALREADY_EXISTS"
    frame.selectExpr("raise_error('a task ran') AS id").write.format("mosaic").mode("ignore").save(
        base
    )
    assert count(spark, base) == 6
    frame.write.format("mosaic").mode("append").save(base)
    assert count(spark, base) == 12
    frame.limit(1).write.format("mosaic").mode("overwrite").save(base)
    assert count(spark, base) == 1


def test_partition_by(spark, frame, base, tmp_path):
    frame.write.format("mosaic").partitionBy("k").save(base)
    directories = {path.name for path in (tmp_path / "out").iterdir()} - {"_mosaic"}
    assert directories == {"k=0", "k=1", "k=2"}
    frame.write.format("mosaic").partitionBy("k").mode("append").save(base)
    assert spark.read.format("mosaic").load(base).where("k = 1").count() == 4
    plain = f"{base}-plain"
    frame.write.format("mosaic").partitionBy().save(plain)
    assert count(spark, plain) == 6


@pytest.mark.parametrize(
    ("options", "name", "message", "condition"),
    [
        ({}, "nothing", "No such file or directory: .*nothing", "PATH_NOT_FOUND"),
        ({"colums": "id"}, "out", r"no option 'colums' \(did you mean 'columns'\?\)", None),
        ({"filters": "id > 5"}, "out", "filters must be JSON", None),
        ({"columns": "idd"}, "out", "'idd'.*did you mean 'id'", None),
    ],
)
def test_mistakes_are_told_in_one_line(
    spark, frame, base, tmp_path, options, name, message, condition
):
    frame.write.format("mosaic").save(base)
    reader = spark.read.format("mosaic").options(**options)
    with pytest.raises(AnalysisException, match=message) as caught:
        reader.load(str(tmp_path / name))
    text = str(caught.value)
    assert "\n" not in text
    assert "Traceback" not in text
    assert caught.value.getCondition() == (condition or caught.value.getCondition())
    assert condition or caught.value.getMessage().startswith(text)


def test_types_that_cannot_be_stored_are_told_in_one_line(spark, base):
    frame = spark.sql("SELECT named_struct('a', 1) AS s")
    advice = r"^column 's' of type struct.*df\.withColumns\(.*df\['s'\].*\)\.drop\('s'\)$"
    with pytest.raises(AnalysisException, match=advice):
        frame.write.format("mosaic").save(base)


@pytest.mark.parametrize("by", ["option", "conf"])
def test_max_records_per_file(spark, frame, base, conf, tmp_path, by):
    writer = frame.coalesce(1).write.format("mosaic")
    if by == "conf":
        conf("spark.sql.files.maxRecordsPerFile", 2)
    else:
        writer = writer.option("maxRecordsPerFile", 2)
    writer.save(base)
    assert len(list((tmp_path / "out").glob("*.mosaic"))) == 3
    assert count(spark, base) == 6


@pytest.mark.parametrize(
    ("name", "codec"), [("snappy", "zstd"), ("uncompressed", "none"), ("ZSTD", "zstd")]
)
def test_compression_in_the_names_of_spark(frame, base, tmp_path, name, codec):
    if name == "snappy":
        with pytest.warns(UserWarning, match="'snappy': mosaic files are compressed with zstd"):
            frame.write.format("mosaic").option("compression", name).save(base)
    else:
        frame.write.format("mosaic").option("compression", name).save(base)
    [path, *_] = (tmp_path / "out").glob("*.mosaic")
    with pymosaic.MosaicFile(path) as file:
        assert file.metadata.compression == codec


def test_the_directory_of_a_partition_is_written_by_itself(spark, frame, base):
    frame.write.format("mosaic").partitionBy("k").save(base)
    rows = spark.range(7, 8)
    rows.write.format("mosaic").mode("overwrite").save(f"{base}/k=1")
    found = spark.read.format("mosaic").load(base)
    assert sorted(map(tuple, found.collect())) == [(0, 0), (2, 2), (3, 0), (5, 2), (7, 1)]


def test_a_write_that_spark_cannot_plan_leaves_no_job(spark, tmp_path, conf):
    path = tmp_path / "base"
    spark.range(2).write.format("mosaic").save(str(path))
    before = sorted(file.name for file in (path / "_mosaic").rglob("*"))
    conf("spark.sql.crossJoin.enabled", False)
    product = spark.range(2).join(spark.range(3).toDF("other"))
    with pytest.raises(AnalysisException, match="cartesian product"):
        product.write.format("mosaic").mode("append").save(str(path))
    assert sorted(file.name for file in (path / "_mosaic").rglob("*")) == before
