"""One local session for all tests of a process that use it.

With two processes or more, `--dist loadgroup` keeps the table of spellings on one and the rest on
another.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import pymosaic
from pymosaic.spark import enable
from tests.spark.versions import VERSION

# Executors import the tests' helpers, too.
os.environ["PYSPARK_PYTHON"] = sys.executable


def pytest_itemcollected(item: pytest.Item) -> None:
    if "spark" in getattr(item, "fixturenames", ()):
        group = "surface" if item.path.parent.name == "surface" else "spark"
    else:
        # Tests that start programs of their own need not wait for those that share the session.
        group = item.nodeid.partition("::")[0]
    item.add_marker(pytest.mark.xdist_group(group))
    # Sessions, clusters and servers are slow to start on a busy machine.
    item.add_marker(pytest.mark.timeout(1800))
    if VERSION < (4, 3):
        # Sockets by which PySpark fetches results are left to the garbage collector.
        item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    work = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("pymosaic tests")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(work / "warehouse"))
        .config("spark.sql.session.timeZone", "Asia/Tokyo")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    enable(session)
    yield session
    session.stop()


@pytest.fixture
def conf(spark: SparkSession) -> Iterator[Callable[[str, object], None]]:
    """Sets session settings, for one test."""
    changed: dict[str, str | None] = {}

    def change(key: str, value: object) -> None:
        changed.setdefault(key, spark.conf.get(key, None))
        spark.conf.set(key, str(value).lower() if isinstance(value, bool) else str(value))

    yield change
    for key, value in changed.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)


@pytest.fixture(scope="session")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of 300 columns: two partitions, two files each, two row groups in each file."""
    base = tmp_path_factory.mktemp("wide")
    for number in range(4):
        rows = range(number * 20, number * 20 + 20)
        table = pa.table(
            {
                "id": pa.array(rows, pa.int64()),
                "name": [f"row {row}" for row in rows],
                "score": [None if row % 7 == 0 else row / 2 for row in rows],
            }
            | {f"column_{place:03d}": [row * place for row in rows] for place in range(296)}
        )
        directory = base / f"half={number // 2}"
        directory.mkdir(exist_ok=True)
        with pymosaic.MosaicWriter(
            directory / f"file-{number}.mosaic",
            table.schema,
            statistics=["id", "score"],
            row_group_bytes=1,
        ) as writer:
            writer.write(table.slice(0, 10))
            writer.write(table.slice(10))
    return base
