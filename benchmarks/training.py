"""The training study: from a file of numbers to a matrix, and to tensors batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from lance.torch.data import LanceDataset

import pymosaic
from benchmarks import child
from benchmarks.data import SEED
from benchmarks.measure import interleave
from benchmarks.profiles import Profile
from benchmarks.report import format_value
from pymosaic.torch import WideDataset

__all__ = ["WAYS", "TrainingSample", "run_training", "training_tables"]

_BATCH_ROWS = 256
_LANCE_COLUMNS = 1_000


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """One way from a file to numbers.

    Parameters
    ----------
    way : str
        A name of :data:`WAYS`.
    num_columns, num_rows : int
        The shape of the table.
    seconds : float
        Median time.
    peak_bytes : int
        Growth of resident memory at its peak, in a process of its own.
    """

    way: str
    num_columns: int
    num_rows: int
    seconds: float
    peak_bytes: int


def _matrix(directory: Path) -> npt.NDArray[Any]:
    with pymosaic.MosaicFile(directory / "rows.mosaic") as file:
        return file.to_numpy()[0]


def _tensor_of_batch(table: pa.Table) -> npt.NDArray[Any]:
    tensor = table.combine_chunks().to_batches()[0].to_tensor()
    return np.asarray(tensor.to_numpy())


def _mosaic_to_tensor(directory: Path) -> npt.NDArray[Any]:
    return _tensor_of_batch(pymosaic.read_table(directory / "rows.mosaic"))


def _parquet_to_tensor(directory: Path) -> npt.NDArray[Any]:
    return _tensor_of_batch(pq.read_table(directory / "rows.parquet"))


def _parquet_to_pandas(directory: Path) -> npt.NDArray[Any]:
    frame = pq.read_table(directory / "rows.parquet").to_pandas()
    values: npt.NDArray[Any] = frame.to_numpy("float32")
    return values


def _joined(batches: Sequence[torch.Tensor]) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = torch.cat(list(batches)).numpy()
    return values


def _wide_dataset(directory: Path) -> npt.NDArray[Any]:
    return _joined(list(WideDataset(directory / "rows.mosaic", batch_size=_BATCH_ROWS)))


def _parquet_batches(directory: Path) -> npt.NDArray[Any]:
    with pq.ParquetFile(directory / "rows.parquet") as file:
        return _joined(
            [
                torch.from_numpy(batch.to_pandas().to_numpy("float32", copy=True))
                for batch in file.iter_batches(_BATCH_ROWS)
            ]
        )


def _arrow_batches(directory: Path) -> npt.NDArray[Any]:
    with pq.ParquetFile(directory / "rows.parquet") as file:
        return _joined(
            [
                torch.from_numpy(np.array(batch.to_tensor()))
                for batch in file.iter_batches(_BATCH_ROWS)
            ]
        )


def _lance_batches(directory: Path) -> npt.NDArray[Any]:
    rows = LanceDataset(lance.dataset(str(directory / "rows.lance")), batch_size=_BATCH_ROWS)
    return _joined([torch.stack(list(batch.values()), dim=1) for batch in rows])


# The first of a kind is what the others are compared with.
WAYS: dict[str, tuple[str, Callable[[Path], npt.NDArray[Any]]]] = {
    "to_numpy": ("matrix", _matrix),
    "read_table, to_tensor": ("matrix", _mosaic_to_tensor),
    "Parquet, to_tensor": ("matrix", _parquet_to_tensor),
    "Parquet, pandas": ("matrix", _parquet_to_pandas),
    "WideDataset": ("batches", _wide_dataset),
    "Parquet batches, pandas": ("batches", _parquet_batches),
    "Parquet batches, to_tensor": ("batches", _arrow_batches),
    "Lance's torch loader": ("batches", _lance_batches),
}


def _ways(num_columns: int) -> dict[str, Callable[[Path], npt.NDArray[Any]]]:
    """The ways that are tried; Lance's loader takes minutes for thousands of columns."""
    return {
        way: read
        for way, (_, read) in WAYS.items()
        if read is not _lance_batches or num_columns <= _LANCE_COLUMNS
    }


def run_training(
    profile: Profile, directory: Path, log: Callable[[str], None]
) -> list[TrainingSample]:
    """Measure every way on the tables of the profile."""
    samples: list[TrainingSample] = []
    for num_columns, num_rows in profile.training_shapes:
        log(f"training: {num_columns:,} columns x {num_rows:,} rows")
        place = directory / f"training-{num_columns}"
        place.mkdir()
        samples += _run(profile, place, num_columns, num_rows)
    return samples


def _run(
    profile: Profile, directory: Path, num_columns: int, num_rows: int
) -> Iterator[TrainingSample]:
    random = np.random.default_rng(SEED)
    values = random.normal(size=(num_columns, num_rows)).astype("float32")
    table = pa.table({f"feature_{place:05d}": row for place, row in enumerate(values)})
    pymosaic.write_table(table, directory / "rows.mosaic")
    pq.write_table(table, directory / "rows.parquet", compression="zstd")
    lance.write_dataset(table, str(directory / "rows.lance"))
    ways = _ways(num_columns)
    for way, read in ways.items():
        if not np.array_equal(read(directory), values.T):
            raise ValueError(f"{way} gives other values than were written")
    actions: dict[str, Callable[[], object]] = {
        way: partial(read, directory) for way, read in ways.items()
    }
    taken = interleave(actions, profile.max_rounds, profile.seconds)
    for way in ways:
        peak = child.training_memory(directory, way)
        yield TrainingSample(way, num_columns, num_rows, median(taken[way]), peak)


def training_tables(samples: Sequence[TrainingSample]) -> dict[str, list[list[str]]]:
    """A table of each kind and shape; times are also given as multiples of the first way's."""
    titles = {"matrix": "To one matrix of float32", "batches": f"To tensors of {_BATCH_ROWS} rows"}
    tables: dict[str, list[list[str]]] = {}
    firsts: dict[str, TrainingSample] = {}
    for sample in samples:
        shape = f"{sample.num_columns:,} columns x {sample.num_rows:,} rows"
        title = f"{titles[WAYS[sample.way][0]]}, {shape}"
        heads = ["way", "time", "rows per second", "times the first", "peak memory"]
        rows = tables.setdefault(title, [heads])
        first = firsts.setdefault(title, sample)
        rows.append(
            [
                sample.way,
                format_value(sample.seconds, "seconds"),
                f"{sample.num_rows / sample.seconds:,.0f}",
                f"{sample.seconds / first.seconds:.1f}x",
                format_value(sample.peak_bytes, "bytes"),
            ]
        )
    return tables
