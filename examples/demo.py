"""Write a very wide table as Mosaic and as Parquet, read columns back, compare sizes and times.

The table has 10,000 columns with names of about 80 bytes, 90 % string and 10 % int32, and 500 rows.
Both formats compress with zstd at the same level. Run with ``make demo``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pymosaic

NUM_COLUMNS = 10_000
NUM_ROWS = 500
COMPRESSION_LEVEL = 1
SEED = 20_260_101
REPEATS = 5

_SITES = ("amsterdam", "bogota", "cairo", "denver", "edinburgh", "fukuoka", "gothenburg", "hanoi")
_UNITS = ("celsius", "kilopascal", "millimetre_per_second", "percent", "revolutions_per_minute")


def column_name(index: int) -> str:
    """Return the name of a column: place, machine, sensor and unit, about 80 bytes."""
    site = _SITES[index % len(_SITES)]
    unit = _UNITS[index // 7 % len(_UNITS)]
    return (
        f"plant_{site}_line_{index // 500:02d}_machine_{index // 20:03d}"
        f"_sensor_{index:05d}_{unit}_last_reported_value"
    )


def string_column(random: np.random.Generator, index: int) -> pa.Array:
    """Return one string column: empty, constant, a few values, or all different."""
    kind = random.integers(0, 10)
    if kind == 0:
        return pa.nulls(NUM_ROWS, pa.string())
    if kind == 1:
        return pa.repeat(pa.scalar(f"status_{index}"), NUM_ROWS)
    if kind < 8:
        values = pa.array([f"state_{index}_{number}" for number in range(random.integers(2, 40))])
        choice = random.integers(0, len(values), NUM_ROWS)
        return values.take(pa.array(choice, mask=random.random(NUM_ROWS) < 0.1))
    return pa.array([f"{value:012x}" for value in random.integers(0, 1 << 48, NUM_ROWS).tolist()])


def wide_table() -> pa.Table:
    """Return the table, the same one in every run."""
    random = np.random.default_rng(SEED)
    columns = [
        pa.array(random.integers(0, 100_000, NUM_ROWS, dtype=np.int32))
        if index % 10 == 9
        else string_column(random, index)
        for index in range(NUM_COLUMNS)
    ]
    return pa.table(columns, names=[column_name(index) for index in range(NUM_COLUMNS)])


def best_time(action: Callable[[], object], repeats: int) -> float:
    """Return the shortest of several times, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def read_mosaic(path: Path, columns: list[str] | None) -> pa.Table:
    """Open the Mosaic file and read the columns."""
    return pymosaic.read_table(path, columns=columns)


def read_parquet(path: Path, columns: list[str] | None) -> pa.Table:
    """Open the Parquet file and read the columns, in the way that is fastest for one file."""
    with pq.ParquetFile(path) as file:
        return file.read(columns=columns)


def print_row(label: str, mosaic: str, parquet: str, ratio: str) -> None:
    """Print one aligned line of the result."""
    print(f"{label:<18}{mosaic:>12}{parquet:>12}{ratio:>18}", flush=True)


def print_times(label: str, mosaic: float, parquet: float) -> None:
    """Print two times and their ratio."""
    print_row(label, f"{mosaic * 1e3:.1f} ms", f"{parquet * 1e3:.1f} ms", f"{parquet / mosaic:.1f}")


def main(directory: Path) -> None:
    """Write both files into the directory, read them and print what it cost."""
    print(f"Making a table of {NUM_COLUMNS:,} columns and {NUM_ROWS} rows ...", flush=True)
    table = wide_table()
    names = table.column_names
    mosaic_path, parquet_path = directory / "wide.mosaic", directory / "wide.parquet"

    print(f"Writing and reading it, zstd level {COMPRESSION_LEVEL} ...\n", flush=True)
    print_row("", "Mosaic", "Parquet", "Parquet / Mosaic")
    compression: dict[str, Any] = {"compression": "zstd", "compression_level": COMPRESSION_LEVEL}
    print_times(
        "write",
        best_time(partial(pymosaic.write_table, table, mosaic_path, **compression), 1),
        best_time(partial(pq.write_table, table, parquet_path, **compression), 1),
    )
    mosaic_bytes, parquet_bytes = mosaic_path.stat().st_size, parquet_path.stat().st_size
    print_row(
        "file size",
        f"{mosaic_bytes / 1e6:.1f} MB",
        f"{parquet_bytes / 1e6:.1f} MB",
        f"{parquet_bytes / mosaic_bytes:.1f}",
    )

    selections = {
        "read 1 column": names[4_321:4_322],
        "read 10 columns": names[500::1_000],
        "read all columns": None,
    }
    for label, columns in selections.items():
        expected = table if columns is None else table.select(columns)
        for read, path in ((read_mosaic, mosaic_path), (read_parquet, parquet_path)):
            if not read(path, columns).equals(expected):
                raise SystemExit(f"{label}: {path.name} gives other values than were written")
        repeats = 1 if columns is None else REPEATS
        print_times(
            label,
            best_time(partial(read_mosaic, mosaic_path, columns), repeats),
            best_time(partial(read_parquet, parquet_path, columns), repeats),
        )
    print(
        "\nEvery value read equals the value written."
        f" Reads open the file anew; the best of {REPEATS} (all columns: one) is shown."
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="pymosaic-demo-") as temporary:
        main(Path(temporary))
