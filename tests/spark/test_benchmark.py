"""The benchmark in small: it runs, and both formats are measured alike."""

from benchmarks.spark import FORMATS, GOALS, make_data
from benchmarks.spark_child import measure


def test_both_formats_are_measured_in_every_case(spark, tmp_path):
    make_data(tmp_path, columns=12, rows=4, files=3)
    for name in FORMATS:
        found = measure(spark, name, tmp_path, 10, rounds=1)
        assert set(found) == set(GOALS) - {"cold select 1"}
        assert all(value > 0 for value in found.values())
