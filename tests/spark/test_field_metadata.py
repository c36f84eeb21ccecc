"""What Spark knows of columns beyond their types, kept in files as Parquet keeps it."""

import warnings

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

import pymosaic
import pymosaic.spark
from pymosaic.spark import jobs
from pymosaic.spark.field_metadata import spark_metadata, spark_type_kept

METADATA = {
    "comment": "the number",
    "unit": "m",
    "scale": 2,
    "factor": 0.5,
    "signed": True,
    "tags": ["a", "b"],
    "nested": {"of": [1, 2], "nothing": None},
}
SPARK_KEY = b"SPARK::metadata::json"


@pytest.fixture
def base(tmp_path) -> str:
    return str(tmp_path / "out")


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*(metadata|collations)")
        yield


def described(spark):
    rows = spark.range(4).selectExpr("id", "concat('Ä', id) AS text", "id % 2 AS k")
    return rows.withMetadata("id", METADATA).withMetadata("text", {"comment": "a name"})


def read(spark, base, **options):
    return spark.read.format("mosaic").options(**options).load(base)


def metadata_of(frame) -> dict[str, dict]:
    return {field.name: field.metadata for field in frame.schema}


def test_metadata_is_read_back_as_from_parquet(spark, base):
    frame = described(spark)
    frame.write.format("mosaic").save(base)
    frame.write.parquet(f"{base}-parquet")
    expected = metadata_of(spark.read.parquet(f"{base}-parquet"))
    assert expected["id"] == METADATA
    for options in ({}, {"mergeSchema": "false"}):
        found = read(spark, base, **options)
        assert metadata_of(found) == expected
        assert found.schema == spark.read.parquet(f"{base}-parquet").schema
    assert sorted(found.collect()) == sorted(frame.collect())
    assert found.where("id = 3").select("text").collect() == [("Ä3",)]
    # Columns may be chosen, and Arrow sees what Spark itself keeps in Arrow schemas.
    assert metadata_of(read(spark, base, columns="text")) == {"text": {"comment": "a name"}}
    assert set(pymosaic.dataset(base).schema.field("id").metadata) == {SPARK_KEY}


def test_marks_that_spark_puts_on_columns_of_queries_are_not_kept(spark, base):
    frame = described(spark)
    frame.groupBy("k").agg({"id": "max"}).toDF("k", "most").write.format("mosaic").save(base)
    assert metadata_of(read(spark, base)) == {"k": {}, "most": {}}
    assert not any(field.metadata for field in pymosaic.dataset(base).schema)


def test_char_and_varchar_are_read_back_as_from_parquet(spark, base):
    spark.sql("CREATE TABLE declared (c CHAR(5), v VARCHAR(6)) USING parquet")
    try:
        spark.sql("INSERT INTO declared VALUES ('ab', 'cd')")
        frame = spark.table("declared")
        frame.write.format("mosaic").save(base)
        frame.write.parquet(f"{base}-parquet")
    finally:
        spark.sql("DROP TABLE declared")
    found, expected = read(spark, base), spark.read.parquet(f"{base}-parquet")
    assert metadata_of(found) == metadata_of(expected)
    assert metadata_of(found)["c"] == {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}
    assert found.collect() == expected.collect() == [("ab   ", "cd")]
    assert found.where("c = 'ab'").count() == expected.where("c = 'ab'").count() == 1
    spark.sql(f"CREATE TABLE copied USING mosaic LOCATION '{base}'")
    try:
        types = {row.col_name: row.data_type for row in spark.sql("DESCRIBE copied").collect()}
        assert types == {"c": "char(5)", "v": "varchar(6)"}
    finally:
        spark.sql("DROP TABLE copied")


def test_default_values_are_read_back_as_from_parquet(spark, base):
    spark.sql("CREATE TABLE defaulted (id INT, n INT DEFAULT 7) USING parquet")
    try:
        spark.sql("INSERT INTO defaulted (id) VALUES (1)")
        frame = spark.table("defaulted")
        frame.write.format("mosaic").save(base)
        frame.write.parquet(f"{base}-parquet")
        found, expected = read(spark, base), spark.read.parquet(f"{base}-parquet")
        assert metadata_of(found) == metadata_of(expected)
        assert found.collect() == expected.collect() == [(1, 7)]
    finally:
        spark.sql("DROP TABLE defaulted")


COLLATED = """
    SELECT c COLLATE UTF8_LCASE AS c, array(c COLLATE UNICODE_CI) AS many, n
    FROM VALUES ('a', 1), ('A', 2), ('b', 3) AS t(c, n)
"""


def test_collations_are_read_back(spark, base):
    frame = spark.sql(COLLATED)
    frame.write.format("mosaic").option("statistics", "c,n").save(base)
    found = read(spark, base)
    assert [field.dataType for field in found.schema] == [
        StringType("UTF8_LCASE"),
        ArrayType(StringType("UNICODE_CI")),
        frame.schema["n"].dataType,
    ]
    assert found.where("c = 'A'").count() == 2
    assert found.where("c > 'A'").count() == 1
    assert found.where("c LIKE 'A%'").count() == 2
    assert found.select("c").distinct().count() == 2
    assert found.selectExpr("min(c) = 'A'", "count(c)").collect() == [(True, 3)]
    assert found.where("array_contains(many, 'A' COLLATE UNICODE_CI)").count() == 2


def test_collated_columns_are_refused_where_nothing_keeps_them(spark, base):
    frame = spark.sql(COLLATED)
    with pytest.raises(Exception, match=r"'c' .*CAST\(c AS STRING COLLATE UTF8_BINARY\)"):
        frame.write.format("mosaic").partitionBy("c").save(base)
    with pytest.raises(Exception, match=r"'c' .*do not keep collations"):
        frame.write.format("mosaic").option("checksum", "false").save(base)


def test_what_is_not_kept_is_told(spark, base):
    frame = described(spark)
    with pytest.warns(UserWarning, match=r"files without checksums do not keep .* 2 have .*'id'"):
        frame.write.format("mosaic").option("checksum", "false").save(base)
    assert metadata_of(read(spark, base)) == {"id": {}, "text": {}, "k": {}}
    frame = frame.withMetadata("k", {"comment": "the key"})
    with pytest.warns(UserWarning, match=r"names of directories do not keep .* 1 have .*'k'"):
        frame.write.format("mosaic").partitionBy("k").save(f"{base}-parts")
    assert metadata_of(read(spark, f"{base}-parts"))["id"] == METADATA


def test_metadata_that_files_agree_on_is_kept(spark, base):
    frame = described(spark)
    frame.write.format("mosaic").save(base)
    frame.withMetadata("text", {"comment": "another"}).write.format("mosaic").mode("append").save(
        base
    )
    assert metadata_of(read(spark, base)) == {"id": METADATA, "text": {}, "k": {}}


def test_compaction_keeps_metadata(spark, base):
    frame = described(spark).coalesce(1)
    for _ in range(3):
        frame.write.format("mosaic").mode("append").save(base)
    before = read(spark, base).schema
    assert jobs.compact(spark, base, min_row_group_bytes=0).files_copied == 3
    assert read(spark, base).schema == before
    for _ in range(3):
        frame.write.format("mosaic").mode("append").save(base)
    assert jobs.compact(spark, base, min_row_group_bytes=1 << 20).files_reencoded > 3
    assert read(spark, base).schema == before
    assert metadata_of(read(spark, base))["id"] == METADATA
    assert pymosaic.compact(base).files_after == 1
    assert read(spark, base).schema == before


def test_jobs_keep_metadata(spark, base):
    frame = described(spark)
    collated = spark.sql("SELECT id, concat('a', id) COLLATE UTF8_LCASE AS c FROM range(4)")
    frame.write.parquet(f"{base}-parquet")
    jobs.convert(spark, f"{base}-parquet", base)
    assert metadata_of(read(spark, base)) == metadata_of(frame)
    jobs.assemble(spark, [frame, collated], f"{base}-wide", on="id")
    wide = read(spark, f"{base}-wide")
    assert metadata_of(wide)["id"] == METADATA
    assert metadata_of(wide)["text"] == {"comment": "a name"}
    assert wide.schema["c"].dataType == StringType("UTF8_LCASE")
    with pytest.raises(Exception, match=r"'c' .*keys of jobs do not keep collations"):
        jobs.assemble(spark, [collated, collated], f"{base}-other", on="c")
    jobs.pivot(spark, frame, f"{base}-pivot", entity="id", feature="text", values="k")
    assert metadata_of(read(spark, f"{base}-pivot"))["id"] == METADATA
    jobs.convert(spark, collated, f"{base}-collated")
    assert jobs.verify(spark, f"{base}-collated", source=collated).differences == ()


def test_streams_keep_metadata(spark, base):
    frame = described(spark)
    frame.write.format("mosaic").save(base)
    stream = spark.readStream.format("mosaic").load(base)
    assert metadata_of(stream) == metadata_of(frame)
    query = stream.writeStream.format("mosaic").option("checkpointLocation", f"{base}-state")
    query.trigger(availableNow=True).start(f"{base}-copy").awaitTermination()
    assert metadata_of(read(spark, f"{base}-copy")) == metadata_of(frame)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff",
        b"[1]",
        b'"x"',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 9223372036854775808}',
        b'{"a": [1, "x"]}',
        b'{"a": [[1]]}',
        b'{"a": ' * 40 + b"1" + b"}" * 40,
        b"[" * 100_000,
    ],
)
def test_metadata_that_spark_would_not_understand_is_ignored(text):
    field = pa.field("x", pa.int64(), metadata={SPARK_KEY: text})
    with pytest.warns(UserWarning, match=r"'x': its metadata for Spark is not valid"):
        assert spark_metadata(field) == {}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b'"int"',
        b'"string collate"',
        b"{}",
        b'{"type": "array"}',
        b"1",
        b"null",
        b"[]",
        b"\xff",
    ],
)
def test_a_type_that_does_not_fit_is_ignored(text):
    field = pa.field("x", pa.string(), metadata={b"SPARK::type::json": text})
    with pytest.warns(UserWarning, match=r"'x': its type for Spark is not valid"):
        assert spark_type_kept(field, StringType()) == StringType()


def test_a_file_whose_metadata_is_not_for_spark_is_read(spark, base):
    text = '{"a": [1, "x"]}'
    field = pa.field("x", pa.int64(), metadata={SPARK_KEY: text, b"other": b"1"})
    table = pa.table([[1, 2]], schema=pa.schema([field, pa.field("y", pa.uint8())][:1]))
    pymosaic.write_table(table, f"{base}.mosaic")
    with pytest.warns(UserWarning, match="not valid"):
        found = read(spark, f"{base}.mosaic")
    assert found.schema == StructType([StructField("x", LongType())])
    assert found.count() == 2


def test_many_columns_have_comments(spark, base):
    fields = [
        StructField(f"c{i}", LongType(), True, {"comment": f"number {i}"}) for i in range(800)
    ]
    spark.createDataFrame([tuple(range(800))], StructType(fields)).write.format("mosaic").save(base)
    assert read(spark, base).schema == StructType(fields)
