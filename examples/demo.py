"""The first five minutes: a wide table from Parquet to Mosaic on Spark, then read by four engines.

It makes a table of 10,000 columns in Parquet files, converts them on an embedded local Spark, reads
one column and a group of columns through Spark, Polars, DuckDB and pyarrow from both formats, fills
a dataset by a stream while Polars reads it, and draws the picture of one file. Run it with
``make demo``; the results stay in ``build/demo``.
"""

from __future__ import annotations

import argparse
import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import pymosaic

NUM_COLUMNS = 10_000
ROWS_PER_DAY = 100
DAYS = ("2026-05-01", "2026-05-02")
SEED = 20_260_101
REPEATS = 2
STREAM_READS = 3

_SITES = ("amsterdam", "bogota", "cairo", "denver", "edinburgh", "fukuoka", "gothenburg", "hanoi")
_UNITS = ("celsius", "kilopascal", "millimetre_per_second", "percent", "revolutions_per_minute")
_STARTED = time.perf_counter()

console = Console(highlight=False)


def say(line: str) -> None:
    """Print a step of the demo, with the seconds since it started."""
    console.print(f"[dim]{time.perf_counter() - _STARTED:4.0f} s[/dim]  {line}")


def column_name(index: int) -> str:
    """Return a column name of about 80 bytes: site, machine, sensor and unit."""
    site = _SITES[index % len(_SITES)]
    unit = _UNITS[index // 7 % len(_UNITS)]
    return (
        f"plant_{site}_line_{index // 500:02d}_machine_{index // 20:03d}"
        f"_sensor_{index:05d}_{unit}_last_reported_value"
    )


def wide_table(num_columns: int, num_rows: int, seed: int) -> pa.Table:
    """Return one day of data: mostly readings, some states as text; the same in every run."""
    random = np.random.default_rng(seed)
    states = pa.array([f"state_{number}" for number in range(40)])
    columns = [
        states.take(pa.array(random.integers(0, len(states), num_rows)))
        if index % 10 == 9
        else pa.array(random.integers(0, 2_000, num_rows) / 8, mask=random.random(num_rows) < 0.3)
        for index in range(num_columns)
    ]
    return pa.table(columns, names=[column_name(index) for index in range(num_columns)])


def write_parquet(base: Path, num_columns: int, num_rows: int) -> None:
    """Write a Parquet file for each day."""
    for number, day in enumerate(DAYS):
        directory = base / f"day={day}"
        directory.mkdir(parents=True)
        table = wide_table(num_columns, num_rows, SEED + number)
        pq.write_table(table, directory / "readings.parquet", compression="zstd")


def start_spark() -> Any:
    """Return a local session without a web interface, that logs only errors."""
    from pyspark.sql import SparkSession

    # PySpark's warnings about pandas do not matter here.
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("pymosaic demo")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "3g")
        # In a session of a minute, the JVM's best compiler costs more than it saves.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def best_time(action: Callable[[], object]) -> tuple[float, object]:
    """Return the shortest of several times in seconds, and the answer, which must not vary."""
    times, answers = [], []
    for _ in range(REPEATS):
        start = time.perf_counter()
        answers.append(action())
        times.append(time.perf_counter() - start)
    if any(answer != answers[0] for answer in answers):
        raise SystemExit("the same query gave different answers")
    return min(times), answers[0]


def size_of(base: Path) -> int:
    """The total size of all files below a directory."""
    return sum(path.stat().st_size for path in base.rglob("*") if path.is_file())


Questions = dict[str, tuple[Callable[[], object], Callable[[], object]]]


def questions(
    spark: Any, mosaic: str, parquet: str, one: str, prefix: str, group: list[str]
) -> Questions:
    """The same queries on Mosaic and on Parquet, by engine."""
    from pyspark.sql import functions as sf

    def in_spark(format_name: str, path: str, columns: list[str]) -> object:
        frame = spark.read.format(format_name).load(path)
        return frame.agg(*[sf.count(frame[f"`{name}`"]) for name in columns]).first().asDict()

    def in_duckdb(readings: object) -> object:
        return duckdb.execute(f'select count("{one}") from readings').fetchall()

    return {
        "Spark: 1 column": (
            lambda: in_spark("mosaic", mosaic, [one]),
            lambda: in_spark("parquet", parquet, [one]),
        ),
        f"Spark: {len(group)} columns": (
            lambda: in_spark("mosaic", mosaic, group),
            lambda: in_spark("parquet", parquet, group),
        ),
        "Polars: 1 column": (
            lambda: pymosaic.scan_polars(mosaic).select(pl.col(one).count()).collect().item(),
            lambda: pl.scan_parquet(parquet).select(pl.col(one).count()).collect().item(),
        ),
        "DuckDB: 1 column": (
            lambda: in_duckdb(pymosaic.dataset(mosaic)),
            lambda: in_duckdb(pads.dataset(parquet, partitioning="hive")),
        ),
        f"pyarrow: {prefix}*": (
            lambda: pymosaic.dataset(mosaic).scan([f"{prefix}*"]).to_table().num_rows,
            lambda: pads.dataset(parquet, partitioning="hive").to_table(group).num_rows,
        ),
    }


def fill_by_stream(spark: Any, base: Path) -> None:
    """Fill a dataset by a stream while Polars reads it: each batch appears as a whole."""
    events = spark.readStream.format("rate").option("rowsPerSecond", 1000).load()
    writer = events.selectExpr("value AS id", "value % 7 AS sensor", "timestamp").writeStream
    writer = writer.format("mosaic").option("checkpointLocation", str(base / "checkpoint"))
    query = writer.trigger(processingTime="1 second").start(str(base / "events"))
    counts = {0}
    while query.isActive and len(counts) <= STREAM_READS:
        time.sleep(0.2)
        if not (base / "events").exists():
            continue
        # Until the first batch is committed, there is no file to take a schema from.
        stream = pymosaic.scan_polars(base / "events", schema=pa.schema({"id": pa.int64()}))
        rows = stream.select(pl.len()).collect().item()
        if rows not in counts:
            counts.add(rows)
            say(f"the stream goes on; Polars counts {rows:,} rows")
    query.stop()


def main(directory: Path, num_columns: int, num_rows: int) -> None:
    """Run the pipeline in a directory, which is emptied first."""
    shutil.rmtree(directory, ignore_errors=True)
    mosaic, parquet = directory / "mosaic", directory / "parquet"
    say(f"generating {len(DAYS)} days of {num_columns:,} columns × {num_rows} rows as Parquet")
    write_parquet(parquet, num_columns, num_rows)

    say("starting an embedded Spark")
    spark = start_spark()
    from pymosaic.spark import jobs

    say("converting on Spark: Parquet → Mosaic, partitioned by day")
    report = jobs.convert(spark, parquet, mosaic, format="parquet", partition_by="day")
    say(f"wrote {report.rows:,} rows in {report.files} files, in {report.seconds:.0f} s")

    names = [column_name(index) for index in range(num_columns)]
    one = names[num_columns * 4 // 9]
    # One line of machines of one plant.
    prefix = one.partition("_machine_")[0] + "_"
    group = [name for name in names if name.startswith(prefix)]
    result = Table(title=f"{num_columns:,} columns, {report.rows:,} rows", title_justify="left")
    result.add_column("")
    for heading in ("Mosaic", "Parquet", "Parquet / Mosaic"):
        result.add_column(heading, justify="right")
    sizes = size_of(mosaic), size_of(parquet)
    ratio = sizes[1] / sizes[0]
    result.add_row("size", *(f"{size / 1e6:.1f} MB" for size in sizes), f"{ratio:.1f}x")
    asked = questions(spark, str(mosaic), str(parquet), one, prefix, group)
    for label, (of_mosaic, of_parquet) in asked.items():
        say(f"querying {label}")
        seconds, answer = best_time(of_mosaic)
        others, expected = best_time(of_parquet)
        if answer != expected:
            raise SystemExit(f"{label}: Mosaic answers {answer}, Parquet {expected}")
        times = f"{seconds * 1e3:.0f} ms", f"{others * 1e3:.0f} ms"
        result.add_row(label, *times, f"{others / seconds:.1f}x")
    say("filling a dataset by a stream")
    fill_by_stream(spark, directory / "stream")
    spark.stop()

    say("drawing the picture of one file")
    first = pymosaic.dataset(mosaic).files[0]
    picture = pymosaic.write_report(first, directory / "picture.html")
    console.print()
    console.print(result)
    console.print(
        f"Both formats give the same answers. Datasets are reopened; best of {REPEATS}.\n\n"
        "Try next:\n"
        f"  open {picture} in a browser\n"
        f"  .venv/bin/pymosaic schema {mosaic}\n"
        f"  .venv/bin/pymosaic head {mosaic} -n 3 -c 'plant_cairo_line_00*'\n"
        f"  .venv/bin/pymosaic count {mosaic} --where \"day = date '2026-05-02'\"\n"
        "  docs/tutorial.md",
        soft_wrap=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("build/demo"))
    parser.add_argument("--columns", type=int, default=NUM_COLUMNS)
    parser.add_argument("--rows", type=int, default=ROWS_PER_DAY)
    options = parser.parse_args()
    main(options.directory, options.columns, options.rows)
