"""Datasets in an object store, over the S3 protocol, from tasks."""

from collections.abc import Iterator

import boto3
import pytest
from moto.server import ThreadedMotoServer
from pyspark.sql import DataFrame

import pymosaic
import pymosaic.spark
from pymosaic.spark.storage import locate
from tests.spark.test_sink import forget_commit


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    client = boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    client.create_bucket(Bucket="bucket")
    yield url
    server.stop()


@pytest.fixture
def storage(endpoint) -> dict[str, str]:
    settings = {
        "endpoint_override": endpoint.removeprefix("http://"),
        "scheme": "http",
        "access_key": "key",
        "secret_key": "secret",
        "region": "us-east-1",
    }
    return {f"storage.{key}": value for key, value in settings.items()}


def test_tasks_write_and_read_over_the_s3_protocol(spark, storage):
    path = "s3a://bucket/numbers"
    frame = spark.range(30, numPartitions=3).selectExpr("id", "cast(id % 3 AS int) AS third")
    pymosaic.spark.write(frame, path, partition_by=["third"], **storage)
    pymosaic.spark.write(frame, path, mode="append", **storage)
    back = pymosaic.spark.read(spark, path, **storage)
    assert back.count() == 60
    assert [row["id"] for row in back.where("third = 1 and id < 6").orderBy("id").collect()] == [
        1,
        1,
        4,
        4,
    ]
    pymosaic.spark.write(back.where("id < 2"), path, mode="overwrite", **storage)
    assert sorted(row["id"] for row in pymosaic.spark.read(spark, path, **storage).collect()) == [
        0,
        0,
        1,
        1,
    ]


def test_a_failed_write_leaves_nothing_visible(spark, storage):
    path = "s3://bucket/failing"
    pymosaic.spark.write(spark.range(3), path, **storage)
    failing = spark.range(40, numPartitions=4).selectExpr(
        "CASE WHEN id = 39 THEN raise_error('enough') ELSE id END AS id"
    )
    with pytest.raises(Exception, match="enough"):
        pymosaic.spark.write(failing, path, mode="overwrite", **storage)
    assert pymosaic.spark.read(spark, path, **storage).count() == 3
    keys = {key.removeprefix("storage."): value for key, value in storage.items()}
    pymosaic.spark.vacuum(path, older_than=0, **keys)
    assert pymosaic.spark.read(spark, path, **storage).count() == 3


def test_streams_write_and_read_over_the_s3_protocol(spark, storage, tmp_path):
    """Each row once, though batches run again and files are compacted and deleted meanwhile."""
    keys = {key.removeprefix("storage."): value for key, value in storage.items()}
    [first], filesystem = locate(["s3a://bucket/first"], keys)
    (tmp_path / "in").mkdir()
    incoming = spark.readStream.schema("id LONG").json(str(tmp_path / "in"))
    incoming = incoming.selectExpr("id", "id % 2 AS half")

    def copy(frame: DataFrame, name: str) -> None:
        writer = frame.writeStream.format("mosaic").partitionBy("half").options(**storage)
        writer = writer.option("checkpointLocation", str(tmp_path / name))
        writer.trigger(availableNow=True).start(f"s3a://bucket/{name}").awaitTermination()

    for batch in range(3):
        rows = range(10 * batch, 10 * batch + 10)
        text = "".join(f'{{"id": {row}}}\n' for row in rows)
        (tmp_path / "in" / f"{batch}.json").write_text(text)
        copy(incoming, "first")
        if batch == 1:
            forget_commit(tmp_path / "first")
            copy(incoming, "first")
        else:
            source = spark.readStream.format("mosaic").options(**storage)
            copy(source.option("maxFilesPerTrigger", 3).load("s3a://bucket/first"), "second")
            forget_commit(tmp_path / "second")
        pymosaic.compact(first, filesystem=filesystem, keep_replaced=0)
    for name in ("first", "second"):
        back = pymosaic.spark.read(spark, f"s3a://bucket/{name}", **storage)
        assert sorted(row["id"] for row in back.collect()) == list(range(30))


def test_storage_options_need_a_path_of_an_object_store(spark, storage, tmp_path):
    with pytest.raises(Exception, match="options storage"):
        pymosaic.spark.read(spark, tmp_path, **storage)
