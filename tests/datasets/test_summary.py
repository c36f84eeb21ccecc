"""Counts, minima and maxima from metadata alone."""

import pyarrow as pa
import pytest

import pymosaic


@pytest.fixture
def base(tmp_path):
    for half in range(2):
        table = pa.table(
            {
                "n": pa.array([half * 10, None, half * 10 + 1], pa.int32()),
                "text": ["b", "ä", None],
                "nothing": pa.nulls(3, pa.int64()),
                "plain": [1, 2, 3],
            }
        )
        (tmp_path / f"half={half}").mkdir()
        pymosaic.write_table(
            table, tmp_path / f"half={half}/x.mosaic", statistics=["n", "text", "nothing"]
        )
    extra = pa.table({"n": pa.array([1 << 40], pa.int64())})
    pymosaic.write_table(extra, tmp_path / "half=1/y.mosaic", statistics=True)
    return tmp_path


def told(scan):
    summary = scan.summary()
    if summary is None:
        return None
    return summary.num_rows, {
        name: column
        and (
            column.num_values,
            column.min_scalar and column.min_scalar.as_py(),
            column.max_scalar and column.max_scalar.as_py(),
        )
        for name, column in summary.columns.items()
    }


def test_columns_are_summarised_without_reading_data(base, reads):
    dataset = pymosaic.dataset(base)
    reads.clear()
    assert told(dataset.scan()) == (
        7,
        {
            "n": (5, 0, 1 << 40),
            "text": (4, "b", "ä"),
            "nothing": (0, None, None),
            "plain": None,
            "half": (7, 0, 1),
        },
    )
    assert reads.ranges == []


def test_filters_count_if_metadata_decides_them(base):
    dataset = pymosaic.dataset(base)
    assert told(dataset.scan(["n"], [("half", "=", 0)])) == (3, {"n": (2, 0, 1)})
    assert told(dataset.scan(["n"], [("n", ">", 0)])) is None
    assert told(dataset.scan(["n"], [("n", "<", -1)])) == (0, {"n": (0, None, None)})
    assert dataset.scan(["n"], limit=2).summary() is None
