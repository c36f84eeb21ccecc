"""Spark Connect: servers of their own, and clients that have no JVM."""

import json
from pathlib import Path

from pymosaic.spark.connect.__main__ import command
from tests.spark.connect_servers import connect_server, run_client

PROLOGUE = """
import json, sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import pymosaic.spark
from pymosaic.spark import jobs

address, wide, out = sys.argv[1:]
spark = SparkSession.builder.remote(address).getOrCreate()
support = pymosaic.spark.enable(spark)
again = pymosaic.spark.enable(spark)
full = spark.read.format("mosaic").load(wide)
"""
PLAIN_CLIENT = (
    PROLOGUE
    + """
narrow = pymosaic.spark.read(spark, wide, columns=["id", "column_00*"], filters=[("id", "<", 30)])
filtered = full.where("id = 3").union(full.where("id = 44")).select("id", "column_002")
pymosaic.spark.write(narrow.select("id", (f.col("id") % 2).alias("odd")), out, partition_by=["odd"])
try:
    spark.read.format("mosaic").option("colums", "id").load(wide).schema
    message = ""
except Exception as error:
    message = str(error)
def stream(frame):
    try:
        writer = frame.writeStream.format("mosaic").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", out + "-checkpoint")
        writer.start(out + "-stream").awaitTermination()
    except Exception as error:
        return str(error)
long = narrow.selectExpr("id", "concat('f', id % 3) AS feature", "column_002 AS value")
found = {
    "support": [support.push_down, support == again],
    "reasons": list(support.reasons),
    "sum": full.agg(f.sum("column_003")).collect()[0][0],
    "columns": len(full.columns),
    "narrow": [len(narrow.columns), narrow.count()],
    "filtered": [list(row) for row in filtered.collect()],
    "written": sorted(list(row) for row in spark.read.format("mosaic").load(out).collect()),
    "message": message,
    "streams": [
        stream(spark.readStream.format("mosaic").load(wide)),
        stream(spark.readStream.format("rate").load()),
    ],
    "jobs": [
        jobs.compact(spark, out, progress=lambda *state: None).files_after,
        jobs.verify(spark, out, source=narrow.selectExpr("id", "id % 2 AS odd")).ok,
        jobs.pivot(spark, long, out + "-pivot", entity="id", feature="feature").columns,
        jobs.profile(spark, out).columns,
    ],
}
print(json.dumps(found), file=open(out + ".json", "w"))
spark.stop()
"""
)
CLIENT = (
    PROLOGUE
    + """
narrow = full.where("id < 30").select("id", "column_003")
writer = spark.readStream.format("mosaic").load(wide).select("id").writeStream.format("mosaic")
writer = writer.option("checkpointLocation", out + "-checkpoint").trigger(availableNow=True)
writer.start(out + "-stream").awaitTermination()
found = {
    "support": [support.push_down, support.driver_planning, list(support.reasons)],
    "same": support == again,
    "plan": narrow._explain_string("formatted"),
    "rows": sorted(list(row) for row in narrow.collect()),
    "count": full.count(),
    "stream": spark.read.format("mosaic").load(out + "-stream").count(),
}
print(json.dumps(found), file=open(out + ".json", "w"))
spark.stop()
"""
)


def test_results_are_right_and_columns_narrows(wide: Path, tmp_path: Path):
    out = tmp_path / "out"
    with connect_server(tmp_path / "log", with_mosaic=False) as address:
        run_client(PLAIN_CLIENT, address, str(wide), str(out))
    found = json.loads(out.with_suffix(".json").read_text())
    assert found["support"] == [False, True]
    [reason] = found["reasons"]
    assert "python -m pymosaic.spark.connect" in reason
    assert found["sum"] == sum(3 * row for row in range(80))
    assert found["columns"] == 300
    assert found["narrow"] == [11, 30]
    assert sorted(found["filtered"]) == [[3, 6], [44, 88]]
    assert found["written"] == [[row, row % 2] for row in range(30)]
    assert "did you mean 'columns'" in found["message"]
    for message in found["streams"]:
        assert "streams need" in message
        assert "python -m pymosaic.spark.connect" in message
    assert found["jobs"] == [2, True, 4, 2]


def test_a_server_that_knows_mosaic_pushes_down(wide: Path, tmp_path: Path):
    out = tmp_path / "out"
    with connect_server(tmp_path / "log", with_mosaic=True) as address:
        run_client(CLIENT, address, str(wide), str(out))
    found = json.loads(out.with_suffix(".json").read_text())
    assert found["support"] == [True, True, []]
    assert found["same"]
    assert found["rows"] == [[row, 3 * row] for row in range(30)]
    assert found["count"] == 80
    assert found["stream"] == 80
    assert "column_003" in found["plan"]
    assert "column_004" not in found["plan"]


def test_arguments_of_the_caller_stay():
    arguments = ["--conf", "spark.plugins=one.Plugin", "--master", "local[2]"]
    line = command(arguments)
    assert line[-5:-1] == arguments
    assert "spark.mosaic.server=true" in line
    assert line[-1].endswith("driver.py")
