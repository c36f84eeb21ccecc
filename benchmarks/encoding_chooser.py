"""The study of the chooser: 20 realistic columns as Mosaic v1, as Parquet, and by trying.

Every column is alone in its file, as one row group. The chooser's size is that of the buffers of
the encoding that :func:`pymosaic.pages.choose` finds; what Lance writes with
``compression="zstd"``, which compresses chunk by chunk, stands beside it.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pymosaic
from benchmarks.data import SEED
from benchmarks.encoding_trees import categories, prices, small_ints, sorted_ids, timestamps, urls
from pymosaic.lance import write_table
from pymosaic.pages import choose

__all__ = ["CHOOSER_COLUMNS", "ChosenSizes", "choice_rows", "measure_choices"]

_Numbers = np.ndarray


def _of(make: Callable[[np.random.Generator, int], _Numbers]) -> Callable[[int], pa.Array]:
    return lambda rows: pa.array(make(np.random.default_rng(SEED), rows))


def _user_ids(chance: np.random.Generator, rows: int) -> _Numbers:
    """A few users do most."""
    users = chance.integers(10_000_000, 99_999_999, 50_000)
    found: _Numbers = users[np.minimum(chance.zipf(1.2, rows), len(users)) - 1]
    return found


def _mostly_zero(chance: np.random.Generator, rows: int) -> _Numbers:
    return np.where(chance.random(rows) < 0.01, chance.integers(1, 1000, rows), 0)


def _sessions(chance: np.random.Generator, rows: int) -> _Numbers:
    """Each number for a run of rows."""
    lengths = chance.geometric(0.05, rows)
    return np.repeat(chance.integers(0, 1 << 62, rows), lengths)[:rows]


def _late_arrivals(chance: np.random.Generator, rows: int) -> _Numbers:
    """Times that rise, but for a few that come late."""
    times = 1_700_000_000_000 + np.arange(rows) * 250
    late = np.where(chance.random(rows) < 0.05, chance.integers(0, 600_000, rows), 0)
    return times - late


def _emails(rows: int) -> pa.Array:
    numbers = np.random.default_rng(SEED).integers(0, 200_000, rows)
    return pa.array([f"user{number}@example.com" for number in numbers.tolist()])


def _hashes(rows: int) -> pa.Array:
    data = np.random.default_rng(SEED).bytes(16 * rows)
    return pa.array([data[16 * i : 16 * i + 16] for i in range(rows)], pa.binary(16))


def _messages(rows: int) -> pa.Array:
    chance = np.random.default_rng(SEED)
    kinds = chance.integers(0, 12, rows).tolist()
    numbers = chance.integers(0, 100_000, rows).tolist()
    return pa.array(
        [f"request {n} of kind {k} took {n % 977} ms" for k, n in zip(kinds, numbers, strict=True)]
    )


CHOOSER_COLUMNS: dict[str, Callable[[int], pa.Array]] = {
    "sorted ids": sorted_ids,
    "timestamps": timestamps,
    "late timestamps": _of(_late_arrivals),
    "small ints": small_ints,
    "prices": prices,
    "categories": categories,
    "URLs": urls,
    "user ids": _of(_user_ids),
    "mostly zero": _of(_mostly_zero),
    "session ids": _of(_sessions),
    "random walk (double)": _of(lambda c, n: 100 + np.cumsum(c.normal(0, 0.01, n))),
    "normal (float)": _of(lambda c, n: c.normal(0, 1, n).astype(np.float32)),
    "uniform (double)": _of(lambda c, n: c.random(n)),
    "percentages (float)": _of(lambda c, n: np.round(c.beta(2, 5, n) * 100, 1).astype(np.float32)),
    "temperatures (double)": _of(lambda c, n: np.round(c.normal(15, 8, n), 1)),
    "flags (int8)": _of(lambda c, n: (c.random(n) < 0.3).astype(np.int8)),
    "counters (int32)": _of(lambda c, n: np.cumsum(c.random(n) < 0.2).astype(np.int32)),
    "e-mail addresses": _emails,
    "hashes (16 bytes)": _hashes,
    "log messages": _messages,
}


@dataclass(frozen=True, slots=True)
class ChosenSizes:
    """Bytes of one column at one level."""

    column: str
    encoding: str
    mosaic: int
    parquet: int
    lance: int
    tried: dict[str, int]

    @property
    def chosen(self) -> int:
        """Bytes of the encoding chosen."""
        return self.tried[self.encoding]


def measure_choices(rows: int, level: int) -> list[ChosenSizes]:
    """Write every column in every way."""
    results = []
    for name, build in CHOOSER_COLUMNS.items():
        array = build(rows)
        table = pa.table({"c": array})
        mosaic, parquet, lance = io.BytesIO(), io.BytesIO(), io.BytesIO()
        pymosaic.write_table(table, mosaic, compression_level=level)
        pq.write_table(table, parquet, compression="zstd", compression_level=level)
        write_table(table, lance, compression=f"zstd:{level}")
        choice = choose(array, level)
        results.append(
            ChosenSizes(
                name,
                choice.encoding,
                len(mosaic.getvalue()),
                len(parquet.getvalue()),
                len(lance.getvalue()),
                choice.sizes,
            )
        )
    return results


def choice_rows(results: list[ChosenSizes]) -> list[list[str]]:
    """The table in kB, with sums."""
    names = ["plain", "dictionary", "run-length", "byte-stream-split", "delta"]
    rows = [["column (kB)", "Mosaic v1", "Parquet", "Lance", *names, "chosen", "saves"]]

    def kilobytes(size: int | None) -> str:
        return "–" if size is None else f"{size / 1000:,.0f}"

    rows += [
        [
            result.column,
            *map(kilobytes, (result.mosaic, result.parquet, result.lance)),
            *(kilobytes(result.tried.get(name)) for name in names),
            result.encoding,
            f"{1 - result.chosen / result.mosaic:.0%}",
        ]
        for result in results
    ]
    total = sum(result.chosen for result in results)
    mosaic = sum(result.mosaic for result in results)
    sums = [mosaic, sum(r.parquet for r in results), sum(r.lance for r in results)]
    rows.append(
        [
            "all",
            *map(kilobytes, sums),
            *[""] * len(names),
            kilobytes(total),
            f"{1 - total / mosaic:.0%}",
        ]
    )
    return rows
