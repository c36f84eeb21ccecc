"""The tables to measure. The same seed gives the same table in every run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.profiles import Profile

__all__ = ["TableSpec", "constant_doubles", "reference_strings", "sparse_numbers", "table_specs"]

SEED = 20_260_513
REFERENCE_LEVEL = 9
DEFAULT_LEVEL = 1

_SITES = ("amsterdam", "bogota", "cairo", "denver", "edinburgh", "fukuoka", "gothenburg", "hanoi")
_UNITS = ("celsius", "kilopascal", "millimetre_per_second", "percent", "revolutions_per_minute")
# With this many values of 16 hexadecimal digits, sizes come near those the format's authors publish
# (500 rows: Mosaic 11.5 MB, Parquet 57.4 MB); they give the shape of their table, not its values.
_STRING_POOL = 2_000


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table to measure, built when first needed.

    Parameters
    ----------
    name, title : str
        Names in commands and reports.
    level : int
        zstd level for every peer that has levels.
    build : callable
        Builds the table.
    growth : float
        Expected write time of a slow peer, as a multiple of that for the table named by
        ``larger_than``.
    larger_than : str or None
        The next smaller table of the same kind.
    """

    name: str
    title: str
    level: int
    build: Callable[[], pa.Table]
    growth: float = 1.0
    larger_than: str | None = None


def _column_name(index: int) -> str:
    """A name of about 80 bytes: place, machine, sensor and unit."""
    site = _SITES[index % len(_SITES)]
    unit = _UNITS[index // 7 % len(_UNITS)]
    return (
        f"plant_{site}_line_{index // 500:02d}_machine_{index // 20:03d}"
        f"_sensor_{index:05d}_{unit}_last_reported_value"
    )


def reference_strings(num_columns: int, num_rows: int) -> pa.Table:
    """The benchmark of the format's authors: 90 % STRING, 10 % INT, names of about 80 bytes."""
    random = np.random.default_rng(SEED)
    numbers = random.integers(0, 1 << 63, _STRING_POOL).tolist()
    pool = pa.array([f"{number:016x}" for number in numbers])
    columns = [
        pa.array(random.integers(0, 100_000, num_rows, dtype=np.int32))
        if index % 10 == 9
        else pool.take(pa.array(random.integers(0, _STRING_POOL, num_rows)))
        for index in range(num_columns)
    ]
    return pa.table(columns, names=[_column_name(index) for index in range(num_columns)])


def _sparse_values(
    random: np.random.Generator, type_: pa.DataType, num_rows: int
) -> npt.NDArray[np.generic]:
    if pa.types.is_float64(type_):
        return random.uniform(-256.0, 255.9, num_rows)
    dtype = np.dtype(type_.to_pandas_dtype())
    bounds = np.iinfo(dtype)
    return random.integers(bounds.min, bounds.max, num_rows, dtype=dtype, endpoint=True)


def sparse_numbers(num_columns: int, num_rows: int) -> pa.Table:
    """The authors' second table: 79 % int8, 11 % double, 8 % int16, 2 % int32; random values.

    18 of 100 columns are null, 16 are full, in the others a quarter of the rows has a value. Names
    are the authors' with ``_`` for ``.``, which Lance does not allow.
    """
    random = np.random.default_rng(SEED)
    start = 1_778_218_500_000
    names = ["timestamp"]
    columns = [pa.array(np.arange(start, start + 200 * num_rows, 200))]
    data_columns = num_columns - 1
    for index in range(1, num_columns):
        place = (index - 1) / data_columns
        type_ = (
            pa.int8()
            if place < 0.794
            else pa.float64()
            if place < 0.907
            else pa.int16()
            if place < 0.983
            else pa.int32()
        )
        letter = chr(ord("A") + index % 26)
        names.append(f"054_O1O4NO5_NN2g60ObDkkukO5Jz0g1uaaDU8DSCZ{letter}_col_{index:05d}_pad")
        if index % 100 < 18:
            columns.append(pa.nulls(num_rows, type_))
            continue
        mask = None if index % 100 < 34 else random.random(num_rows) >= 0.25
        columns.append(pa.array(_sparse_values(random, type_, num_rows), mask=mask))
    return pa.table(columns, names=names)


def constant_doubles(num_columns: int, num_rows: int = 8) -> pa.Table:
    """The metadata test of the F3 paper: every value is the same, so only the schema has weight."""
    column = pa.array(np.full(num_rows, 3.25))
    names = [f"feature_{index:06d}" for index in range(num_columns)]
    return pa.table([column] * num_columns, names=names)


def narrow_events(num_columns: int, num_rows: int) -> pa.Table:
    """A typical table: few columns, many rows, numbers and short strings."""
    random = np.random.default_rng(SEED)
    words = pa.array([f"word_{index}" for index in range(200)])
    kinds: list[Callable[[], pa.Array]] = [
        lambda: pa.array(np.arange(num_rows)),
        lambda: pa.array(random.integers(0, 10_000, num_rows, dtype=np.int32)),
        lambda: pa.array(np.round(random.normal(20, 5, num_rows), 2)),
        lambda: words.take(pa.array(random.integers(0, len(words), num_rows))),
    ]
    names = [f"column_{index:02d}" for index in range(num_columns)]
    return pa.table([kinds[index % 4]() for index in range(num_columns)], names=names)


def dense_doubles(num_columns: int, num_rows: int) -> pa.Table:
    """Only doubles of high entropy, to be scanned as a whole."""
    random = np.random.default_rng(SEED)
    columns = [pa.array(random.normal(size=num_rows)) for _ in range(num_columns)]
    return pa.table(columns, names=[f"signal_{index:05d}" for index in range(num_columns)])


def table_specs(profile: Profile) -> dict[str, TableSpec]:
    """All tables of a profile by name, smaller before larger."""
    specs = []
    width = profile.num_columns
    smaller = None
    for num_rows in profile.reference_rows:
        name = f"strings-{num_rows}"
        title = f"{width:,} columns, 90 % string, 10 % int32, {num_rows:,} rows, level 9"
        build = partial(reference_strings, width, num_rows)
        specs.append(TableSpec(name, title, REFERENCE_LEVEL, build, 2.0, smaller))
        smaller = name
    main_rows = profile.main_rows
    specs.append(
        TableSpec(
            f"strings-{main_rows}-level-1",
            f"{width:,} columns, 90 % string, 10 % int32, {main_rows:,} rows, level 1",
            DEFAULT_LEVEL,
            partial(reference_strings, width, main_rows),
        )
    )
    sparse_rows = profile.sparse_rows
    specs.append(
        TableSpec(
            "sparse",
            f"{width:,} columns, integers and doubles, 67 % null, {sparse_rows:,} rows, level 9",
            REFERENCE_LEVEL,
            partial(sparse_numbers, width, sparse_rows),
        )
    )
    smaller = None
    for num_columns in profile.column_counts:
        name = f"doubles-{num_columns}"
        title = f"{num_columns:,} columns of constant doubles, 8 rows"
        build = partial(constant_doubles, num_columns)
        specs.append(TableSpec(name, title, DEFAULT_LEVEL, build, 10.0, smaller))
        smaller = name
    num_files, num_columns = profile.small_files
    title = f"{num_files:,} files of {num_columns:,} columns of constant doubles, 8 rows"
    specs.append(TableSpec("files", title, DEFAULT_LEVEL, partial(constant_doubles, num_columns)))
    for name, kind, make, shape in (
        ("narrow", "numbers and short strings", narrow_events, profile.narrow_shape),
        ("dense", "random doubles", dense_doubles, profile.dense_shape),
    ):
        title = f"{shape[0]:,} columns, {kind}, {shape[1]:,} rows, level 1"
        specs.append(TableSpec(name, title, DEFAULT_LEVEL, partial(make, *shape)))
    return {spec.name: spec for spec in specs}
