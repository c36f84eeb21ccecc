"""Choosing writer options for a table by measurement.

Three options decide the cost of a projection: the number of buckets, the size from which columns of
a bucket are compressed one by one, and the compression level. They are tried in this order, each
with the best values of the previous ones, by writing the sample to memory and reading the
projections from it. The cost of a read is that of its bytes and requests on the given storage, plus
the time to decode.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.datasets.dataset import Dataset
from pymosaic.datasets.write import open_batches
from pymosaic.errors import InvalidDataError, InvalidOptionError
from pymosaic.file.options import DEFAULT_NUM_BUCKETS, WRITER_OPTIONS
from pymosaic.file.reader import MosaicFile
from pymosaic.file.writer import write_table
from pymosaic.io import Source
from pymosaic.keywords import checked_keywords
from pymosaic.notebook import table_html
from pymosaic.progress import Meter, Progress
from pymosaic.sizes import format_size

__all__ = ["Recommendation", "Trial", "tune"]

_BUCKETS = (1, 10, 30, 100, 300, 1000, 3000, 10_000)
_THRESHOLDS = (4 << 10, 32 << 10, 256 << 10)
_LEVELS = (1, 3, 9)
_DEFAULT_THRESHOLD = 32 << 10
_DEFAULT_LEVEL = 1
_READS = 3
# Costs this close to the lowest count as equal; the smaller file wins.
_AS_GOOD = 1.05
# A higher level must save this share of the bytes, and may slow down writing by this factor.
_WORTH_SAVING = 0.05
_MOST_WRITE_TIME = 3.0
_SEED = 7


@dataclass(frozen=True, slots=True)
class Trial:
    """One set of options and its cost on the sample.

    Parameters
    ----------
    num_buckets, page_size_threshold, compression_level : int
        The options.
    file_bytes : int
        Size of the file.
    write_seconds : float
        Time to write it to memory.
    read_bytes, read_requests : int
        Average bytes and requests of a projection, including opening the file.
    read_seconds : float
        Average time to decode a projection from memory; the fastest of several attempts.
    cost : float
        Average time of a projection: decoding, plus fetching from the given storage.
    """

    num_buckets: int
    page_size_threshold: int
    compression_level: int
    file_bytes: int
    write_seconds: float
    read_bytes: int
    read_requests: float
    read_seconds: float
    cost: float

    @property
    def options(self) -> dict[str, Any]:
        """The options, for :func:`pymosaic.write_table`."""
        return {
            "num_buckets": self.num_buckets,
            "page_size_threshold": self.page_size_threshold,
            "compression_level": self.compression_level,
        }


@dataclass(frozen=True, slots=True)
class Recommendation:
    """Recommended options, and everything that was measured; ``print`` shows it.

    Parameters
    ----------
    best : Trial
        The recommended trial.
    default : Trial
        The trial with the default options.
    trials : tuple of Trial
        All trials, in the order in which they ran.
    """

    best: Trial
    default: Trial
    trials: tuple[Trial, ...]

    @property
    def options(self) -> dict[str, Any]:
        """The recommended options, for :func:`pymosaic.write_table` and similar functions."""
        return self.best.options

    def _repr_html_(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        heads = ["buckets", "page threshold", "level", "file", "write", "read", "requests", "cost"]
        rows = [
            [
                f"{trial.num_buckets:,}",
                f"{trial.page_size_threshold:,}",
                str(trial.compression_level),
                format_size(trial.file_bytes),
                f"{trial.write_seconds:.2f} s",
                format_size(round(trial.read_bytes)),
                f"{trial.read_requests:.1f}",
                f"{trial.cost * 1e3:.2f} ms",
            ]
            for trial in self.trials
        ]
        return table_html(f"Recommended: {options}", heads, rows, [True] * len(heads))

    def __str__(self) -> str:
        head = "buckets  page threshold  level  file bytes  write s  read bytes  requests  cost ms"
        lines = [head]
        for trial in self.trials:
            mark = " <- best" if trial == self.best else ""
            mark += " (default)" if trial == self.default else ""
            lines.append(
                f"{trial.num_buckets:7}  {trial.page_size_threshold:14}  "
                f"{trial.compression_level:5}  {trial.file_bytes:10}  {trial.write_seconds:7.2f}  "
                f"{trial.read_bytes:10}  {trial.read_requests:8.1f}  {trial.cost * 1e3:7.2f}{mark}"
            )
        return "\n".join(lines)


class _CountingSource(Source):
    """A file in memory that counts reads."""

    def __init__(self, data: memoryview) -> None:
        super().__init__(None, data.nbytes)
        self._data = data
        self.num_bytes = self.num_requests = 0

    def _read_once(self, offset: int, length: int) -> memoryview:
        self.num_bytes += length
        self.num_requests += 1
        return self._data[offset : offset + length]


@checked_keywords(*WRITER_OPTIONS)
def tune(
    sample: object,
    projections: Iterable[Sequence[str]] | None = None,
    *,
    latency: float = 0.0005,
    bandwidth: float = 500e6,
    max_growth: float = 1.5,
    max_sample_bytes: int = 256 << 20,
    progress: Progress | None = None,
    **writer_options: Any,
) -> Recommendation:
    """Recommend the number of buckets, page threshold and compression level for a table.

    Parameters
    ----------
    sample : Arrow data, or the path of a Mosaic file or dataset
        Rows as they will be written, ideally about as many as a row group will have, because the
        result depends on the size of buckets.
    projections : list of lists of str, optional
        Columns (names or patterns) that queries will read, one list per query. By default one
        column, ten columns spread over the table, and ten neighbours in name order.
    latency : float
        Seconds per request to the storage: about 0.0001 for a local disk, 0.03 for an object
        store.
    bandwidth : float
        Bytes per second from the storage.
    max_growth : float
        Maximum size of the recommended file, as a multiple of the smallest of all trials: many
        small buckets are fast to read, but compress less well.
    max_sample_bytes : int
        Maximum size in memory of the rows taken from the sample.
    progress : callable, optional
        Called with trials done, total trials and ``"trials"``.
    **writer_options
        Other options that files will be written with, as for :func:`pymosaic.write_table`.

    Returns
    -------
    Recommendation
        With all measurements.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table({f"sensor_{i}": range(i, i + 50) for i in range(40)})
    >>> recommendation = pymosaic.tune(table, projections=[["sensor_1", "sensor_2"]])
    >>> sorted(recommendation.options)
    ['compression_level', 'num_buckets', 'page_size_threshold']
    >>> pymosaic.write_table(table, "tuned.mosaic", **recommendation.options)
    """
    for name in ("num_buckets", "page_size_threshold", "compression_level", "compression"):
        if name in writer_options:
            raise InvalidOptionError(f"{name} is chosen by tune and cannot be given")
    if not (latency >= 0 and bandwidth > 0 and max_growth >= 1):
        raise InvalidOptionError(
            "latency must be at least 0, bandwidth above 0 and max_growth at least 1"
        )
    table = _take_sample(sample, max_sample_bytes)
    wanted = _default_projections(table) if projections is None else [list(p) for p in projections]
    if not wanted or not all(wanted):
        raise InvalidOptionError("projections must be one or more lists of column names")
    return _Tuning(table, wanted, latency, bandwidth, max_growth, writer_options).run(progress)


def _take_sample(sample: Any, max_bytes: int) -> pa.Table:
    if isinstance(sample, str | os.PathLike):
        sample = Dataset(sample).scan()
    schema, batches, _ = open_batches(sample)
    taken: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        rows = batch.num_rows
        if rows == 0:
            continue
        share = max(1, int(rows * (max_bytes - size) / max(1, batch.nbytes)))
        taken.append(batch.slice(0, share))
        size += batch.nbytes
        if size >= max_bytes:
            break
    if not taken or not schema.names:
        raise InvalidDataError("the sample has no rows or no columns: there is nothing to measure")
    # One row group, as a writer would make it.
    return pa.Table.from_batches(taken, schema).combine_chunks()


def _default_projections(table: pa.Table) -> list[list[str]]:
    names = sorted(table.column_names)
    random = np.random.default_rng(_SEED)
    spread = random.choice(len(names), min(10, len(names)), replace=False).tolist()
    middle = len(names) // 2
    return [
        [names[spread[0]]],
        [names[place] for place in sorted(spread)],
        names[middle : middle + 10],
    ]


class _Tuning:
    def __init__(
        self,
        table: pa.Table,
        projections: list[list[str]],
        latency: float,
        bandwidth: float,
        max_growth: float,
        writer_options: dict[str, Any],
    ) -> None:
        self._table = table
        self._projections = projections
        self._latency = latency
        self._bandwidth = bandwidth
        self._max_growth = max_growth
        self._options = writer_options
        self._trials: dict[tuple[int, int, int], Trial] = {}

    def run(self, progress: Progress | None) -> Recommendation:
        columns = self._table.num_columns
        default = min(DEFAULT_NUM_BUCKETS, columns)
        buckets = sorted({min(count, columns) for count in (*_BUCKETS, default)})
        meter = Meter(progress, len(buckets) + len(_THRESHOLDS) + len(_LEVELS) - 2, "trials")
        best = self._cheapest(
            [self._try(count, _DEFAULT_THRESHOLD, _DEFAULT_LEVEL, meter) for count in buckets]
        )
        by_threshold = [
            self._try(best.num_buckets, threshold, _DEFAULT_LEVEL, meter)
            for threshold in _THRESHOLDS
        ]
        best = self._cheapest([best, *by_threshold])
        for level in _LEVELS:
            trial = self._try(best.num_buckets, best.page_size_threshold, level, meter)
            if _is_worth_its_level(trial, best):
                best = trial
        meter.finish()
        fallback = self._trials[default, _DEFAULT_THRESHOLD, _DEFAULT_LEVEL]
        return Recommendation(best, fallback, tuple(self._trials.values()))

    def _cheapest(self, trials: Sequence[Trial]) -> Trial:
        smallest = min(trial.file_bytes for trial in self._trials.values())
        allowed = [x for x in trials if x.file_bytes <= smallest * self._max_growth]
        lowest = min(trial.cost for trial in allowed)
        as_good = (trial for trial in allowed if trial.cost <= lowest * _AS_GOOD)
        return min(as_good, key=lambda trial: trial.file_bytes)

    def _try(self, num_buckets: int, threshold: int, level: int, meter: Meter) -> Trial:
        key = num_buckets, threshold, level
        trial = self._trials.get(key)
        if trial is None:
            trial = self._trials[key] = self._measure(*key)
            meter.add(1)
        return trial

    def _measure(self, num_buckets: int, threshold: int, level: int) -> Trial:
        stream = io.BytesIO()
        start = time.perf_counter()
        write_table(
            self._table,
            stream,
            num_buckets=num_buckets,
            page_size_threshold=threshold,
            compression_level=level,
            **self._options,
        )
        write_seconds = time.perf_counter() - start
        data = stream.getbuffer()
        num_bytes = num_requests = 0
        seconds = 0.0
        for columns in self._projections:
            source, fastest = self._read(data, columns)
            num_bytes += source.num_bytes
            num_requests += source.num_requests
            seconds += fastest
        count = len(self._projections)
        cost = seconds + num_requests * self._latency + num_bytes / self._bandwidth
        return Trial(
            num_buckets,
            threshold,
            level,
            data.nbytes,
            write_seconds,
            num_bytes // count,
            num_requests / count,
            seconds / count,
            cost / count,
        )

    def _read(self, data: memoryview, columns: list[str]) -> tuple[_CountingSource, float]:
        # Unwanted bytes are read too if that takes less time than another request.
        gap = int(self._latency * self._bandwidth)
        fastest = float("inf")
        for _ in range(_READS):
            source = _CountingSource(data)
            # As for remote files.
            source.tail_bytes = max(source.tail_bytes, min(512 << 10, gap))
            start = time.perf_counter()
            with MosaicFile(source, merge_gap=gap) as file:
                file.read(columns)
            fastest = min(fastest, time.perf_counter() - start)
        return source, fastest


def _is_worth_its_level(trial: Trial, best: Trial) -> bool:
    return (
        trial.file_bytes <= best.file_bytes * (1 - _WORTH_SAVING)
        and trial.write_seconds <= best.write_seconds * _MOST_WRITE_TIME
        and trial.cost <= best.cost * _AS_GOOD
    )
