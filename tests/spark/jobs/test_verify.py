"""Verify: damage is found in its file, and every difference from the source is told."""

import datetime
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import pymosaic
import pymosaic.spark
from pymosaic.profiling.hashing import hash_values
from pymosaic.spark.jobs import Difference, verify
from pymosaic.spark.jobs.fingerprints import Fingerprint

SCHEMA = (
    "id long, tiny tinyint, ratio double, single float, flag boolean, text string, raw binary, "
    "price decimal(20,4), day date, at timestamp, local timestamp_ntz, list array<int>, "
    "pairs map<string,double>, key int"
)


def rows() -> list[tuple]:
    made = []
    for n in range(60):
        moment = datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=n)
        row = (
            n,
            n % 100,
            float("nan") if n == 7 else n / 3,
            n / 2,
            n % 2 == 0,
            f"text {n}",
            bytes([n]),
            Decimal(n) / 4,
            moment.date(),
            moment,
            moment,
            [n, None, 3][: n % 4],
            {f"k{n}": n / 7, "x": None},
        )
        nulled = [None if n % 11 == place else value for place, value in enumerate(row)]
        made.append((n, *nulled[1:], n % 2))
    return made


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(rows(), SCHEMA).repartition(3)


@pytest.fixture(scope="module")
def base(spark, frame, tmp_path_factory):
    base = tmp_path_factory.mktemp("verify") / "data"
    pymosaic.spark.write(frame, base, partition_by=["key"])
    return base


def test_a_sound_dataset_that_equals_its_source(spark, frame, base):
    report = verify(spark, base, source=frame.orderBy(f.desc("id")))
    assert report.differences == ()
    assert report.ok
    assert report.compared
    assert (report.rows, report.files) == (60, len(list(base.rglob("*.mosaic"))))
    assert report.bytes_in == sum(path.stat().st_size for path in base.rglob("*.mosaic"))


def test_every_difference_is_told(spark, frame, base):
    changed = (
        frame.withColumn("text", f.expr("IF(id = 8, 'other', text)"))
        .withColumn("flag", f.expr("IF(id = 6, NULL, flag)"))
        .withColumn("tiny", f.col("tiny").cast("int"))
        .withColumn("more", f.lit(1))
        .drop("single")
    )
    report = verify(spark, base, source=changed)
    assert not report.ok
    found = {(x.kind, x.column) for x in report.differences}
    assert found == {
        ("missing", "more"),
        ("extra", "single"),
        ("type", "tiny"),
        ("values", "text"),
        ("values", "flag"),
        ("nulls", "flag"),
    }
    assert Difference("type", "tiny", "int", "tinyint") in report.differences
    fewer = verify(spark, base, source=frame.where("id != 9"), deep=False)
    assert Difference("rows", None, 59, 60) in fewer.differences
    assert str(fewer.differences[0]) == "rows: 59 in the source, 60 in the dataset"


def test_damage_is_found_in_its_file(spark, frame, tmp_path):
    base = tmp_path / "damaged"
    for number in range(3):
        pymosaic.write_dataset(pa.table({"n": [number] * 9}), base, mode="append")
    damaged = sorted(base.glob("*.mosaic"))[1]
    data = bytearray(damaged.read_bytes())
    data[14] ^= 4
    damaged.write_bytes(data)
    report = verify(spark, base, source=spark.range(3))
    assert not report.ok
    assert not report.compared
    assert {x.path for x in report.findings} == {damaged.name}
    assert '"severity": "error"' in report.to_json()
    with pytest.raises(pymosaic.DatasetError, match="no Mosaic files"):
        verify(spark, tmp_path / "nothing")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2, None, -3], pa.int64()),
        pa.array([1.5, float("nan"), None, -0.0, 0.0]),
        pa.array([True, False, None]),
        pa.array(["", "a", "b", "ab", "ba", None, "aa", "a\0"]),
        pa.array([b"", b"\0", b"\0\0", None]),
        pa.array([Decimal("1.5"), Decimal("-1.5"), None], pa.decimal128(30, 2)),
        pa.array([[1, 2], [2, 1], [], [None], None, [1, 2, 0]], pa.list_(pa.int32())),
        pa.array([[("a", 1)], [("a", 2)], [], None, [("b", 1)]], pa.map_(pa.string(), pa.int8())),
        pa.array([["ab"], ["a", "b"], [""], ["", ""]]),
        pa.array([datetime.date(2024, 1, 1), None, datetime.date(1960, 1, 1)]),
    ],
    ids=lambda values: str(values.type),
)
def test_hashes_depend_on_values_alone(values):
    hashes = hash_values(values)
    assert len(set(hashes.tolist())) == len(values)
    around = pa.concat_arrays([values.slice(1), values, values.slice(0, 1)])
    part = around.slice(len(values) - 1, len(values))
    assert np.array_equal(hash_values(part), hashes)
    order = list(range(len(values)))
    random.Random(5).shuffle(order)
    assert np.array_equal(hash_values(values.take(pa.array(order))), hashes[order])


def test_fingerprints_of_parts_add_up():
    batch = pa.record_batch({"n": [1, 2, None, 4], "text": ["a", None, None, "d"]})
    whole, total = Fingerprint.empty(2), Fingerprint.empty(2)
    whole.add_batch(batch)
    for start in (3, 0):
        part = Fingerprint.empty(2)
        part.add_batch(batch.slice(start, 3))
        total.add(part)
    assert (whole.rows, whole.nulls.tolist()) == (4, [1, 2])
    assert np.array_equal(whole.hashes, total.hashes)
    assert np.array_equal(whole.whole_rows, total.whole_rows)


@pytest.mark.parametrize(
    "other",
    [
        pa.record_batch({"a": [1, 2, 3], "b": [2, 1, 3]}),
        pa.record_batch({"a": [2, 1, 3], "b": [1, 2, 3]}),
        pa.record_batch({"a": [1, 2, None], "b": [1, 2, 3]}),
    ],
)
def test_the_hash_of_rows_tells_which_values_share_a_row(other):
    batch = pa.record_batch({"a": [1, 2, 3], "b": [1, 2, 3]})
    turned = batch.take(pa.array([2, 0, 1]))

    def whole_rows(rows):
        found = Fingerprint.empty(2)
        found.add_batch(rows)
        return found.whole_rows[0]

    assert whole_rows(turned) == whole_rows(batch)
    assert whole_rows(other) != whole_rows(batch)


def test_values_in_other_rows_are_found(spark, tmp_path):
    pymosaic.write_table(pa.table({"id": [1, 2, 3], "n": [10, 20, 30]}), tmp_path / "a.mosaic")
    source = spark.createDataFrame([(2, 10), (1, 20), (3, 30)], "id long, n long")
    report = verify(spark, tmp_path, source=source)
    assert not report.ok
    assert [(x.kind, x.column) for x in report.differences] == [("pairs", None)]
    assert "in other rows" in str(report.differences[0])


def test_a_file_that_is_gone_is_found(spark, tmp_path):
    pymosaic.spark.write(spark.range(4, numPartitions=2), tmp_path / "gone")
    lost = min((tmp_path / "gone").glob("*.mosaic"))
    lost.unlink()
    with pytest.raises(pymosaic.DatasetError, match=f"not there: .*{lost.name}"):
        verify(spark, tmp_path / "gone")
