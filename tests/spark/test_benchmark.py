"""The benchmark in small: it runs, and both formats are measured alike."""

from benchmarks.spark import GOALS, make_data
from benchmarks.spark_child import FORMATS, cold, first, warm


def test_both_formats_are_measured_in_every_case(spark, tmp_path):
    make_data(tmp_path, columns=12, rows=4, files=3)
    measured = warm(spark, tmp_path, rounds=1)
    for name in FORMATS:
        found = measured[name]
        for select in (1, 10):
            found |= first(spark, name, tmp_path, select) | cold(spark, name, tmp_path, select)
        assert set(found) == set(GOALS)
        assert all(value > 0 for value in found.values())
