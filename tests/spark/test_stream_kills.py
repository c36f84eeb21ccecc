"""A short form of ``make stream-kills``."""

from pathlib import Path

from tests.spark.stream_kills import run


def test_each_row_arrives_once_whatever_is_killed(tmp_path: Path) -> None:
    # With this seed, a worker is killed before its driver.
    figures = run(kills=2, seed=0, base=tmp_path, worker_kills=1, files_ahead=4)
    assert figures["drivers killed"] >= 1
    assert figures["rows, each once in both datasets"] > 0
