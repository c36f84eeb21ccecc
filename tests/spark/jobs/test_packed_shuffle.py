"""Rows that are shuffled in packed batches: the same rows, entities and order as row by row."""

import sys
import uuid
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

import pymosaic
from pymosaic.spark.jobs import packed_shuffle, pivot
from pymosaic.spark.jobs.feature_counts import Features, count_features
from pymosaic.spark.jobs.packed_shuffle import (
    PackedRows,
    _dense,
    _entities,
    _packed,
    _targets,
    may_fit,
    slots_for,
    unpack,
)
from pymosaic.spark.jobs.payloads import Payload
from pymosaic.spark.session import for_tasks


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


FEATURES = pa.array([f"f{number}" for number in range(90)])


def packed(random: np.random.Generator, partitions: int) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Rows, and their payloads for targets from 5 on."""
    keys = random.integers(0, 40, 500)
    feature = FEATURES.take(pa.array(random.integers(0, 90, 500)))
    rows = pa.record_batch({"key": keys, "feature": feature, "n": np.arange(500)})
    encoded = rows.set_column(1, "feature", feature.dictionary_encode())
    targets = np.arange(partitions, dtype=np.int32) + 5
    return rows, _packed(encoded, 1, (keys % partitions).astype(np.int32), targets)


def parsed(column: pa.Array) -> list[Payload]:
    return [Payload.parse(x.as_buffer(), [pa.int64()], [pa.int64()]) for x in column]


@pytest.mark.parametrize("num_columns", [1, 1 << 19, 8 << 20])
def test_chunks_of_payloads_hold_whole_entities(num_columns):
    random = np.random.default_rng(1)
    rows, first = packed(random, 1)
    payloads = parsed(first["payload"]) + parsed(packed(random, 1)[1]["payload"])
    found = list(unpack(payloads, FEATURES, num_columns))
    assert max(chunk.num_entities for chunk in found) <= max(1, (4 << 20) // num_columns)
    keys = [key for chunk in found for key in chunk.keys[0].to_pylist()]
    assert keys == sorted(set(keys))
    assert set(rows["key"].to_pylist()) <= set(keys)
    seen = [n for chunk in found for piece in chunk.pieces for n in piece.values[0].to_pylist()]
    assert sorted(seen) == sorted([*range(500)] * 2)


@pytest.mark.parametrize("partitions", [1, 3, 70_000])
def test_payloads_hold_the_rows_of_their_partition(partitions):
    rows, payloads = packed(np.random.default_rng(2), partitions)
    found: list[tuple[int, int, str]] = []
    for number, target in enumerate(payloads["target"].to_pylist()):
        for payload in parsed(payloads.slice(number, 1)["payload"]):
            assert len(payload.features) <= len(payload.feature)
        for chunk in unpack(parsed(payloads.slice(number, 1)["payload"]), FEATURES, 10):
            assert {key % partitions for key in chunk.keys[0].to_pylist()} == {target - 5}
            for piece in chunk.pieces:
                key = chunk.keys[0].take(pa.array(piece.entity)).to_pylist()
                feature = FEATURES.take(pa.array(piece.feature)).to_pylist()
                found += zip(piece.values[0].to_pylist(), key, feature, strict=True)
    columns = (rows["n"], rows["key"], rows["feature"])
    assert sorted(found) == list(zip(*(x.to_pylist() for x in columns), strict=True))


TYPES = """
    IF(id % 13 = 0, NULL, concat('clé ', id % 13)) AS place,
    CASE id % 5 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D END AS scale,
    id % 3 = 0 AS flag,
    id DIV 500 AS part,
    concat(IF(id % 41 = 0, '', 'feature ü '), CAST(id % 41 AS string)) AS feature,
    IF(id % 41 % 13 = 0 AND id % 7 > 0, id % 2 = 0, NULL) AS v0,
    IF(id % 41 % 13 = 1 AND id % 7 > 0, CAST(id % 100 - 50 AS byte), NULL) AS v1,
    IF(id % 41 % 13 = 2, CAST(id AS short), NULL) AS v2,
    IF(id % 41 % 13 = 3, CAST(-id AS int), NULL) AS v3,
    IF(id % 41 % 13 = 4, id * 10000000000, NULL) AS v4,
    IF(id % 41 % 13 = 5, CAST(IF(id % 4 = 0, 'NaN', '-0.0') AS float), NULL) AS v5,
    IF(id % 41 % 13 = 6, CAST(IF(id % 4 = 0, 'NaN', '-0.0') AS double), NULL) AS v6,
    IF(id % 41 % 13 = 7, CAST(-id AS decimal(9, 2)), NULL) AS v7,
    IF(id % 41 % 13 = 8, CAST(-id AS decimal(38, 3)) * 1e20BD, NULL) AS v8,
    IF(id % 41 % 13 = 9, date_add(DATE '1969-01-01', CAST(id AS int)), NULL) AS v9,
    IF(id % 41 % 13 = 10, timestamp_micros(id * 1000001), NULL) AS v10,
    IF(id % 41 % 13 = 11, repeat('é', CAST(id % 5 AS int)), NULL) AS v11,
    IF(id % 41 % 13 = 12, CAST(repeat('x', CAST(id % 5 AS int)) AS binary), NULL) AS v12
"""


@pytest.mark.parametrize("limit", [1, 2_000, 16 << 20])
def test_the_jvm_packs_as_python_does(spark, tmp_path, monkeypatch, limit):
    rows = spark.range(0, 3_000, 1, 3).selectExpr(*TYPES.strip().split(",\n"))
    rows.write.parquet(str(tmp_path / "long"))
    options: dict[str, Any] = {
        "entity": ["place", "scale", "flag", "part"],
        "feature": "feature",
    }
    # Of a scan without expressions, batches are read.
    scan = spark.read.parquet(str(tmp_path / "long"))
    plain: dict[str, Any] = {"entity": ["place", "flag", "part"], "feature": "feature"}
    ways = {}
    for name, way in (("jvm", None), ("python", packed_shuffle._kept_by_cache)):
        if way is not None:
            monkeypatch.setattr(packed_shuffle, "_kept_by_shuffle", way)
        monkeypatch.setattr(packed_shuffle, "_BATCH_BYTES", limit)
        for kind, frame, given in (("rows", rows, options), ("scan", scan.drop("scale"), plain)):
            path = tmp_path / f"{name} {kind}"
            report = pivot(spark, frame, path, partitions=3, **given)
            assert report.rows_in == rows.count()
            # As text, where NaN is equal to itself, and -0.0 not to 0.0.
            tables = [pymosaic.read_table(x) for x in pymosaic.dataset(path).files]
            texts = sorted(str((table.schema, table.to_pylist())) for table in tables)
            ways[name, kind] = (report.rows, report.columns, report.features, texts)
    assert ways["jvm", "rows"] == ways["python", "rows"]
    assert ways["jvm", "scan"] == ways["python", "scan"]
    assert ways["jvm", "rows"][1:3] == (45, 41)


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
    for name, most in (("packed", 256 << 20), ("estimated", 0), ("found too late", 0)):
        monkeypatch.setattr(packed_shuffle, "_MAX_TASK_BYTES", most)
        if name == "found too late":
            monkeypatch.setattr(packed_shuffle, "may_fit", lambda long, slots: True)
        pivot(spark, long, tmp_path / name, **options)
        files = pymosaic.dataset(tmp_path / name).files
        tables = [pymosaic.read_table(path) for path in files]
        tables.sort(key=lambda table: str(table.slice(0, 1).to_pylist()))
        ways.append(tables)
    assert len(ways[0]) == 3
    assert ways[0] == ways[1] == ways[2]


def test_batches_of_a_file_have_one_dictionary(spark):
    """Spark puts a new object around it for each batch; names would be looked up for each."""
    jvm = spark.sparkContext._jvm
    frame = spark.range(1).selectExpr("id AS e", "'f' AS f", "id AS v")
    loader = for_tasks(spark, "MosaicPacker", frame._jdf, 1, 16, 1).getClass().getClassLoader()
    names = loader.loadClass("pymosaic.spark.MosaicPacker$Names")
    [find] = [way for way in names.getDeclaredMethods() if way.getName() == "dictionaryOf"]
    find.setAccessible(True)

    def of_file() -> Any:
        data = jvm.org.apache.parquet.bytes.BytesInput.fromInt(0)
        plain = jvm.org.apache.parquet.column.Encoding.PLAIN
        page = jvm.org.apache.parquet.column.page.DictionaryPage(data, 1, plain)
        kinds = jvm.org.apache.parquet.column.values.dictionary.PlainValuesDictionary
        return kinds.PlainBinaryDictionary(page)

    def found(dictionary: Any) -> Any:
        execution = jvm.org.apache.spark.sql.execution
        text = jvm.org.apache.spark.sql.types.DataTypes.StringType
        vector = execution.vectorized.OnHeapColumnVector(1, text)
        vector.setDictionary(execution.datasources.parquet.ParquetDictionary(dictionary, False))
        arguments = spark.sparkContext._gateway.new_array(jvm.Object, 1)
        arguments[0] = vector
        return find.invoke(None, arguments)

    one, other = of_file(), of_file()
    identity = jvm.java.lang.System.identityHashCode
    assert identity(found(one)) == identity(found(one)) == identity(one)
    assert identity(found(other)) == identity(other) != identity(one)


def test_row_groups_have_dictionaries_of_their_own(spark, tmp_path):
    """A batch of Spark has 4,096 rows: a row group has several, and then other names come."""
    random = np.random.default_rng(3)
    expected: dict[tuple[int, str], int] = {}
    with pq.ParquetWriter(
        tmp_path / "long.parquet", pa.schema({"e": pa.int64(), "f": pa.string(), "v": pa.int64()})
    ) as writer:
        for group in range(3):
            cells = random.permutation(10_000) + 10_000 * group
            entities, names = cells // 200, [f"f{7 * group + cell % 200}" for cell in cells]
            table = pa.table([pa.array(entities), pa.array(names), pa.array(cells)], writer.schema)
            writer.write_table(table)
            expected |= zip(zip(entities.tolist(), names, strict=True), cells.tolist(), strict=True)
    long = spark.read.parquet(str(tmp_path / "long.parquet"))
    report = pivot(spark, long, tmp_path / "wide", entity="e", feature="f")
    assert (report.rows, report.features, report.rows_in) == (150, 214, 30_000)
    wide = pymosaic.read_table(tmp_path / "wide").to_pylist()
    found = {(row["e"], name): value for row in wide for name, value in row.items()}
    assert {key: found[key] for key in expected} == expected
    assert sum(value is not None for value in found.values()) == 150 + len(expected)


def test_rows_that_are_estimated_too_many_are_not_packed(spark, tmp_path, monkeypatch):
    rows = spark.range(100).selectExpr("id % 5 AS e", "concat('f', id DIV 5) AS f", "id AS v")
    assert may_fit(rows, 1)
    monkeypatch.setattr(packed_shuffle, "_MAX_TASK_BYTES", 100)
    assert not may_fit(rows, 1)
    assert may_fit(rows, 1_000)
    # An RDD has no estimate.
    assert may_fit(spark.createDataFrame(rows.rdd, rows.schema), 1)
    monkeypatch.delattr(packed_shuffle, "kept")
    report = pivot(spark, rows, tmp_path / "wide", entity="e", feature="f", partitions=1)
    assert (report.rows, report.features) == (5, 20)


def tracker(spark: Any) -> Any:
    """What knows where the files of shuffles are."""
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    field = scheduler.getClass().getDeclaredField("mapOutputTracker")
    field.setAccessible(True)
    return field.get(scheduler)


def shuffles(spark: Any) -> set[int]:
    """The shuffles whose files Spark keeps."""
    found = tracker(spark).shuffleStatuses()
    numbers = found.keysIterator()
    return {numbers.next() for _ in range(found.size())}


def test_long_rows_are_read_once_and_nothing_is_kept(spark, tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()

    def marked(batches):
        (marks / uuid.uuid4().hex).touch()
        yield from batches

    before = shuffles(spark)
    rows = spark.range(0, 600, 1, 2).selectExpr(
        "id % 20 AS entity", "concat('f', id DIV 20) AS feature", "id * 0.5 AS value"
    )
    long = rows.mapInArrow(marked, rows.schema)
    report = pivot(spark, long, tmp_path / "once", entity="entity", feature="feature")
    assert (report.rows, report.columns, report.rows_in, report.features) == (20, 31, 600, 30)
    assert len(list(marks.iterdir())) == 2
    with pytest.raises(pymosaic.InvalidDataError, match="several values"):
        pivot(spark, long.union(long), tmp_path / "twice", entity="entity", feature="feature")
    assert shuffles(spark) <= before


def value_of(field: str, owner: Any) -> Any:
    """The value of a private field of an object in the JVM."""
    found = owner.getClass().getDeclaredField(field)
    found.setAccessible(True)
    return found.get(owner)


def test_a_task_holds_no_payload_that_it_has_handed_over(spark):
    rows = spark.range(0, 4_000, 1, 1).selectExpr("id DIV 100 AS e", "'f' AS f", "id AS v")
    packer = for_tasks(spark, "MosaicPacker", rows._jdf, 1, 16, 10_000)
    shuffle = value_of("shuffled", packer).rdd().dependencies().apply(0)
    # Only serializers that remember nothing between two records can do that.
    assert shuffle.serializer().supportsRelocationOfSerializedObjects()

    gateway, jvm = spark.sparkContext._gateway, spark.sparkContext._jvm
    types = gateway.new_array(jvm.org.apache.spark.sql.types.DataType, 3)
    places = gateway.new_array(jvm.int, 3)
    for place in range(3):
        types[place] = rows._jdf.schema().apply(place).dataType()
        places[place] = place
    loader = packer.getClass().getClassLoader()
    [constructor] = loader.loadClass(
        "pymosaic.spark.MosaicPacker$Packing"
    ).getDeclaredConstructors()
    constructor.setAccessible(True)
    arguments = jvm.java.util.ArrayList()
    given = jvm.java.util.ArrayList()
    for row in rows._jdf.queryExecution().executedPlan().executeCollect():
        given.add(row)
    for argument in (given.iterator(), types, places, 1, 16):
        arguments.add(argument)
    arguments.add(jvm.java.lang.Long(10_000))
    packing = constructor.newInstance(arguments.toArray())
    handed_over = set()
    while packing.hasNext():
        slot = packing.next()._1()
        assert slot == 16 or value_of("slots", packing)[slot] is None
        handed_over.add(slot)
    assert len(handed_over) > 8


def test_rows_are_packed_for_numbers_of_tasks_that_divide_the_slots(spark):
    assert [slots_for(x) for x in (1, 2, 7, 12, 200)] == [16, 16, 28, 24, 200]
    packed = PackedRows(
        lambda tasks: spark.range(0), Features(0, {}), 3 * (256 << 20), slots_for(12)
    )
    assert [packed.partitions_for(x) for x in (1, 5, 12, 13, 24, 99)] == [1, 6, 12, 24, 24, 24]
    assert [packed.fits(x) for x in (2, 3)] == [False, True]
    targets = _targets(24)
    frame = spark.createDataFrame([(int(target),) for target in targets], "target int")
    found = frame.repartition(6, "target").select("target", f.spark_partition_id())
    assert dict(map(tuple, found.collect())) == {int(x): i % 6 for i, x in enumerate(targets)}


def test_features_of_batches_are_united():
    def counted(names: list[str | None], *values: list[object]) -> pa.Table:
        return count_features(pa.array(names).dictionary_encode(), list(map(pa.array, values)))

    first = counted(["b", "a", "b"], [1, None, 2], [None, None, "x"])
    second = counted(["c", "b"], [None, None], [None, "y"])
    found = Features.of([first, second.cast(first.schema)])
    assert found == Features(5, {"a": (0, 0), "b": (2, 2), "c": (0, 0)})
    assert list(found.counts) == ["a", "b", "c"]
    assert Features.of([]) == Features(0, {})
    with pytest.raises(pymosaic.InvalidDataError, match="2 rows have no feature"):
        Features.of([counted([None, "a", None], [1, 2, 3])])


@pytest.mark.parametrize("way", ["_kept_by_shuffle", "_kept_by_cache"])
def test_payloads_that_are_lost_are_made_again_in_any_order(spark, tmp_path, monkeypatch, way):
    monkeypatch.setattr(packed_shuffle, "_kept_by_shuffle", getattr(packed_shuffle, way))
    module = sys.modules["pymosaic.spark.jobs.pivot"]
    make_plan = module.make_plan
    mark = tmp_path / "lost"

    def losing(*arguments: Any) -> Any:
        mark.touch()
        if way == "_kept_by_cache":
            spark.catalog.clearCache()
        else:
            tracker(spark).unregisterAllMapAndMergeOutput(max(shuffles(spark)))
        return make_plan(*arguments)

    def turned(batches):
        for batch in batches:
            order = np.arange(batch.num_rows)
            yield batch.take(pa.array(order[::-1] if mark.exists() else order))

    monkeypatch.setattr(module, "make_plan", losing)
    rows = spark.range(0, 60, 1, 2).selectExpr(
        "id % 3 AS entity", "concat('f', id DIV 3) AS feature", "id AS value"
    )
    long = rows.mapInArrow(turned, rows.schema)
    pivot(spark, long, tmp_path / "wide", entity="entity", feature="feature", partitions=2)
    found = pymosaic.dataset(tmp_path / "wide").scan().to_table().sort_by("entity").to_pylist()
    expected = [{f"f{n}": 3 * n + entity for n in range(20)} for entity in range(3)]
    assert found == [{"entity": n} | row for n, row in enumerate(expected)]
    assert mark.exists()


def test_rows_without_a_feature_are_refused_in_both_ways(spark, tmp_path, monkeypatch):
    long = spark.range(6).selectExpr("id AS e", "IF(id % 3 = 0, NULL, 'f') AS f", "id AS v")
    for way in (packed_shuffle._kept_by_shuffle, packed_shuffle._kept_by_cache):
        monkeypatch.setattr(packed_shuffle, "_kept_by_shuffle", way)
        with pytest.raises(pymosaic.InvalidDataError, match="2 rows have no feature"):
            pivot(spark, long, tmp_path / "wide", entity="e", feature="f")
