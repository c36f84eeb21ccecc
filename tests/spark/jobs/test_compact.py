"""Compact: the same rows in fewer files, one commit, conflicts."""

import json
import sys

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.compact import plan_compaction
from pymosaic.spark.jobs import compact

TABLE = pa.table({"n": range(40), "text": [f"row {x}" for x in range(40)]})


@pytest.fixture
def base(tmp_path) -> str:
    base = tmp_path / "days"
    for day in range(2):
        (base / f"day={day}").mkdir(parents=True)
        for part in range(4):
            rows = TABLE.slice(day * 20 + part * 5, 5)
            pymosaic.write_table(rows, base / f"day={day}" / f"{part}.mosaic")
    return str(base)


def numbers(base: str) -> list[int]:
    return sorted(pymosaic.dataset(base).scan(["n"]).to_table()["n"].to_pylist())


def test_files_of_each_directory_become_one_by_copying(spark, base):
    report = compact(spark, base, min_row_group_bytes=0, verify=True)
    assert (report.files_before, report.files_after, report.files) == (8, 2, 2)
    assert (report.files_copied, report.files_reencoded, report.conflicts) == (8, 0, 0)
    assert (report.rows, report.columns) == (40, 2)
    dataset = pymosaic.dataset(base)
    assert len(dataset.files) == 2
    assert numbers(base) == list(range(40))
    with pymosaic.MosaicFile(dataset.files[0]) as file:
        assert file.num_row_groups == 4
    assert compact(spark, base, min_row_group_bytes=0).files == 0


def test_small_row_groups_are_written_anew_in_one_commit(spark, base, tmp_path):
    report = compact(spark, base, compressionLevel=9)
    assert (report.files_copied, report.files_reencoded) == (0, 8)
    assert numbers(base) == list(range(40))
    [record] = (tmp_path / "days" / "_mosaic").glob("*.json")
    assert len(json.loads(record.read_text())["adds"]) == 2


def test_files_that_another_job_replaces_are_left_to_it(spark, base, monkeypatch):
    def plan_then_replace(*arguments, **options):
        planned = plan_compaction(*arguments, **options)
        pymosaic.compact(base, min_row_group_bytes=0)
        return planned

    monkeypatch.setattr(sys.modules[compact.__module__], "plan_compaction", plan_then_replace)
    report = compact(spark, base, min_row_group_bytes=0)
    assert (report.conflicts, report.files) == (8, 0)
    assert numbers(base) == list(range(40))


def test_a_damaged_file_fails_the_job_and_changes_nothing(spark, base, tmp_path):
    path = tmp_path / "days" / "day=1" / "2.mosaic"
    data = bytearray(path.read_bytes())
    data[12] ^= 1
    path.write_bytes(data)
    before = sorted(pymosaic.dataset(base).files)
    with pytest.raises(Exception, match=r"2\.mosaic"):
        compact(spark, base, min_row_group_bytes=0, verify=True)
    assert sorted(pymosaic.dataset(base).files) == before
    with pytest.raises(pymosaic.InvalidOptionError, match="did you mean 'compressionLevel'"):
        compact(spark, base, compresionLevel=3)


def test_a_path_without_files_is_refused(spark, tmp_path):
    with pytest.raises(pymosaic.DatasetError, match="has no Mosaic files"):
        compact(spark, tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
