"""Rows that are shuffled in packed batches: the same rows, entities and order as row by row."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import pymosaic
from pymosaic.spark.jobs import packed_shuffle, pivot
from pymosaic.spark.jobs.entity_chunks import split
from pymosaic.spark.jobs.packed_shuffle import _dense, _entities, _packed, _targets, unpack


@pytest.mark.parametrize("partitions", [1, 2, 7, 200])
def test_spark_puts_each_target_into_its_partition(spark, partitions):
    targets = _targets(partitions)
    frame = spark.createDataFrame([(int(target),) for target in targets], "target int")
    found = frame.repartition(partitions, "target").select("target", f.spark_partition_id())
    assert {tuple(row) for row in found.collect()} == {(x, i) for i, x in enumerate(targets)}


def test_entities_are_numbered_in_the_order_of_spark():
    rows = pa.record_batch(
        {
            "x": [2.0, float("nan"), None, -1.0, 2.0, float("nan"), float("inf")],
            "y": ["b", "a", "é", "a", "B", "a", None],
        }
    )
    # Nulls come first and NaN last; strings are compared as bytes.
    assert _entities(rows, 2).tolist() == [3, 5, 0, 1, 2, 5, 4]
    assert _entities(rows, 1).tolist() == [2, 4, 0, 1, 2, 4, 3]


def test_numbers_are_made_dense_in_either_way():
    numbers = np.array([7, 3, 7, 900, 0])
    assert [_dense(numbers, limit)[0].tolist() for limit in (901, 1 << 40)] == [[2, 1, 2, 3, 0]] * 2


@pytest.mark.parametrize("num_columns", [1, 1 << 20, 8 << 20])
def test_chunks_of_rows_in_any_order_hold_whole_entities(num_columns):
    random = np.random.default_rng(1)
    entity = random.permutation(np.repeat(np.arange(50), 3))
    rows = pa.record_batch({"key": entity, "n": np.arange(len(entity))})
    found = list(split(rows, entity, num_columns))
    assert max(chunk.num_entities for chunk in found) <= max(1, (4 << 20) // num_columns)
    assert [key for chunk in found for key in chunk.keys(1)[0].to_pylist()] == list(range(50))
    numbers = [row for chunk in found for row in chunk.rows["n"].to_pylist()]
    assert sorted(numbers) == list(range(len(entity)))


@pytest.mark.parametrize("partitions", [1, 3, 70_000])
def test_payloads_hold_the_rows_of_their_partition(partitions):
    random = np.random.default_rng(2)
    keys = random.integers(0, 40, 500)
    rows = pa.record_batch({"key": keys, "n": np.arange(500)})
    partition = (keys % partitions).astype(np.int32)
    targets = np.arange(partitions, dtype=np.int32) + 5
    packed = _packed(rows, partition, targets)
    found = []
    for number, target in enumerate(packed["target"].to_pylist()):
        for chunk in unpack([packed.slice(number, 1)], rows.schema, 1, 10):
            assert {key % partitions for key in chunk.rows["key"].to_pylist()} == {target - 5}
            found += chunk.rows["n"].to_pylist()
    assert sorted(found) == list(range(500))


def test_both_ways_make_the_same_files(spark, tmp_path, monkeypatch):
    long = spark.range(0, 6_000, 1, 3).selectExpr(
        "IF(id % 31 = 0, NULL, concat('p', id % 31)) AS person",
        "CAST(id % 5 AS smallint) AS day",
        "concat('f', id % 37) AS feature",
        "IF(id % 37 < 20 AND id % 11 > 0, id * 0.5, NULL) AS number",
        "IF(id % 37 >= 20 AND id % 13 > 0, concat('text ', id), NULL) AS text",
    )
    long = long.dropDuplicates(["person", "day", "feature"])
    options: dict[str, Any] = {"entity": ["person", "day"], "feature": "feature", "partitions": 3}
    ways = []
    monkeypatch.setattr(packed_shuffle, "_BATCH_BYTES", 20_000)
    for name, most in (("packed", 256 << 20), ("sorted", 0)):
        monkeypatch.setattr(packed_shuffle, "_MAX_TASK_BYTES", most)
        pivot(spark, long, tmp_path / name, **options)
        files = pymosaic.dataset(tmp_path / name).files
        tables = [pymosaic.read_table(path) for path in files]
        tables.sort(key=lambda table: str(table.slice(0, 1).to_pylist()))
        ways.append(tables)
    assert len(ways[0]) == 3
    assert ways[0] == ways[1]
