"""Spark Connect: a server of its own, and a client that has no JVM."""

import json
import os
import subprocess
import sys
from pathlib import Path

CLIENT = """
import json, sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import pymosaic.spark
from pymosaic.spark import jobs

wide, out = sys.argv[1:]
builder = SparkSession.builder.remote("local[2]")
for key, value in {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
support = pymosaic.spark.enable(spark)
again = pymosaic.spark.enable(spark)
full = spark.read.format("mosaic").load(wide)
narrow = pymosaic.spark.read(spark, wide, columns=["id", "column_00*"], filters=[("id", "<", 30)])
filtered = full.where("id = 3").union(full.where("id = 44")).select("id", "column_002")
pymosaic.spark.write(narrow.select("id", (f.col("id") % 2).alias("odd")), out, partition_by=["odd"])
try:
    spark.read.format("mosaic").option("colums", "id").load(wide).schema
    message = ""
except Exception as error:
    message = str(error)
long = narrow.selectExpr("id", "concat('f', id % 3) AS feature", "column_002 AS value")
found = {
    "support": [support.push_down, list(support.reasons), support == again],
    "sum": full.agg(f.sum("column_003")).collect()[0][0],
    "columns": len(full.columns),
    "narrow": [len(narrow.columns), narrow.count()],
    "filtered": [list(row) for row in filtered.collect()],
    "written": sorted(list(row) for row in spark.read.format("mosaic").load(out).collect()),
    "message": message,
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


def test_results_are_right_and_columns_narrows(wide: Path, tmp_path: Path):
    out = tmp_path / "out"
    # With SPARK_TESTING the server takes any free port.
    environment = os.environ | {"SPARK_TESTING": "1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(wide), str(out)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    found = json.loads(out.with_suffix(".json").read_text())
    assert found["support"] == [False, ["Spark Connect gives no access to the optimizer"], True]
    assert found["sum"] == sum(3 * row for row in range(80))
    assert found["columns"] == 300
    assert found["narrow"] == [11, 30]
    assert sorted(found["filtered"]) == [[3, 6], [44, 88]]
    assert found["written"] == [[row, row % 2] for row in range(30)]
    assert "did you mean 'columns'" in found["message"]
    assert found["jobs"] == [2, True, 4, 2]
