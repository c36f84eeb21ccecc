"""Batches of numbers for training: rows of a dataset, shuffled, shared out and resumed.

The order of rows depends on the seed and the epoch alone. Every process computes it for itself and
reads its own part, so that processes need not talk to each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from pymosaic.datasets.dataset import Dataset, dataset
from pymosaic.datasets.discovery import DatasetSource
from pymosaic.datasets.matrix import RowGroup, check_matrix, read_blocks, row_groups
from pymosaic.errors import InvalidOptionError, LimitExceededError
from pymosaic.file.matrix import MatrixType, Nulls
from pymosaic.file.projection import Columns
from pymosaic.filters.given import Filters
from pymosaic.keywords import checked_keywords
from pymosaic.limits import Limits

__all__ = ["Batch", "Shard", "Shuffle", "WideBatches"]

Shuffle: TypeAlias = "Literal['row-groups', 'rows'] | None"
Batch: TypeAlias = "npt.NDArray[Any] | tuple[npt.NDArray[Any], npt.NDArray[Any]]"

_SHUFFLES: tuple[Shuffle, ...] = (None, "row-groups", "rows")
# The place of a row, as numpy's permutations have it.
_PLACE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of the same rows: of a rank, and of one of its workers.

    Parameters
    ----------
    rank, num_ranks : int
        The process of a distributed training, and how many there are.
    worker, num_workers : int
        The process that loads data for it, and how many there are.
    """

    rank: int = 0
    num_ranks: int = 1
    worker: int = 0
    num_workers: int = 1

    @property
    def number(self) -> int:
        """Its number among all parts."""
        return self.rank * self.num_workers + self.worker

    @property
    def count(self) -> int:
        """How many parts there are."""
        return self.num_ranks * self.num_workers


class WideBatches:
    """Batches of numbers from a dataset, as numpy matrices.

    Iterating gives matrices of ``batch_size`` rows; with ``label``, pairs of a matrix and the
    labels. Row groups are read ahead. Any number of processes share the rows out without overlap
    or loss; their numbers of rows differ by one at most.

    Parameters
    ----------
    source : Dataset, or what :func:`pymosaic.dataset` opens
    features : list of str or callable, optional
        Columns of the matrix, as in :func:`pymosaic.read_table`; all but the labels by default.
        Columns that are not numbers are refused by name.
    label : str or list of str, optional
        The column with the label, which comes as a vector, or several, as a matrix.
    batch_size : int
        Rows of a batch; the last one may have fewer.
    filters : optional
        Rows to keep, as in :func:`pymosaic.read_table`. The filter's columns are read once, before
        the first batch.
    shuffle : {"row-groups", "rows"}, optional
        "row-groups": row groups in random order, and their rows, too; memory for a few row groups.
        "rows": all rows in random order; needs memory for all rows of a process.
    seed : int
        The same seed gives the same order in all processes.
    drop_last : bool
        Leave out the last batch if it is not full. All processes then give the same number of
        batches.
    dtype, nulls
        As for :meth:`pymosaic.MosaicFile.to_numpy`; ``nulls="mask"`` is not possible.
    rank, num_ranks : int
        Which part of a distributed training this is, and of how many.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> from pymosaic.interop.training import WideBatches
    >>> table = pa.table({"x": [1.0, 2, 3], "y": [4.0, 5, 6], "bought": [0, 1, 0]})
    >>> pymosaic.write_table(table, "events.mosaic")
    >>> for features, labels in WideBatches("events.mosaic", label="bought", batch_size=2):
    ...     print(features.tolist(), labels.tolist())
    [[1.0, 4.0], [2.0, 5.0]] [0.0, 1.0]
    [[3.0, 6.0]] [0.0]
    """

    @checked_keywords()
    def __init__(
        self,
        source: Dataset | DatasetSource,
        *,
        features: Columns | None = None,
        label: str | Sequence[str] | None = None,
        batch_size: int = 1024,
        filters: Filters | None = None,
        shuffle: Shuffle = None,
        seed: int = 0,
        drop_last: bool = False,
        dtype: npt.DTypeLike = "float32",
        nulls: Nulls = "nan",
        rank: int = 0,
        num_ranks: int = 1,
        use_threads: bool = True,
    ) -> None:
        _check_at_least("batch_size", batch_size, 1)
        _check_at_least("seed", seed, 0)
        _check_at_least("num_ranks", num_ranks, 1)
        _check_at_least("rank", rank, 0)
        if rank >= num_ranks:
            raise InvalidOptionError(f"rank must be less than num_ranks, got {rank} of {num_ranks}")
        if shuffle not in _SHUFFLES:
            raise InvalidOptionError(f"shuffle must be 'row-groups' or 'rows', got {shuffle!r}")
        if nulls == "mask":
            raise InvalidOptionError("nulls='mask' is not possible in batches: give a number")
        self.batch_size: int = int(batch_size)
        self.shard: Shard = Shard(int(rank), int(num_ranks))
        self._kind = MatrixType.of(dtype, nulls, "C")
        self._shuffle = shuffle
        self._seed = int(seed)
        self._drop_last = bool(drop_last)
        self._use_threads = use_threads
        self._epoch = 0
        self._step = 0
        self._row_groups: list[RowGroup] | None = None
        opened = source if isinstance(source, Dataset) else dataset(source)
        self._is_vector = isinstance(label, str)
        labels = _labels(opened, label)
        chosen = _features(opened, features, labels)
        self.feature_names: list[str] = chosen
        self.label_names: list[str] = labels
        scan = opened.scan(columns=[*chosen, *labels], filters=filters)
        self._task = scan.task()
        check_matrix(self._task, self._kind)
        self._pieces = scan.plan(max_piece_bytes=1).pieces

    def _found(self) -> list[RowGroup]:
        if self._row_groups is None:
            found = row_groups(self._task, self._pieces, self._use_threads)
            for item in found:
                _check_size(
                    f"the places of the {item.count} rows of a row group",
                    item.count * _PLACE_BYTES,
                    "max_row_group_bytes",
                    self._task.limits,
                    item.piece.path,
                )
            self._row_groups = found
        return self._row_groups

    @property
    def num_rows(self) -> int:
        """Rows of all processes together."""
        return sum(item.count for item in self._found())

    def __len__(self) -> int:
        """The number of batches that this process gives in an epoch."""
        return sum(self._num_batches(shard) for shard in self._workers(1))

    def _workers(self, count: int) -> list[Shard]:
        rank, num_ranks = self.shard.rank, self.shard.num_ranks
        return [Shard(rank, num_ranks, worker, count) for worker in range(count)]

    def _rows(self, shard: Shard) -> range:
        """The places in the order of rows that a shard has."""
        total = self.num_rows
        start = total * shard.number // shard.count
        stop = total * (shard.number + 1) // shard.count
        if self._drop_last:
            full = total // shard.count // self.batch_size
            stop = start + full * self.batch_size
        return range(start, stop)

    def _num_batches(self, shard: Shard) -> int:
        return -(-len(self._rows(shard)) // self.batch_size)

    def set_epoch(self, epoch: int) -> None:
        """Begin another epoch, whose order of rows differs if they are shuffled.

        Call it before each epoch. Workers that torch's DataLoader keeps from epoch to epoch
        (``persistent_workers=True``) do not hear of it.
        """
        _check_at_least("epoch", epoch, 0)
        self._epoch, self._step = int(epoch), 0

    def state_dict(self, step: int | None = None) -> dict[str, int]:
        """Where to resume: see :meth:`load_state_dict`.

        Parameters
        ----------
        step : int, optional
            How many batches of the epoch this rank has used. By default as many as were given; if
            other processes give them, as the workers of torch's DataLoader, it must be told.
        """
        if step is not None:
            _check_at_least("step", step, 0)
        return {
            "epoch": self._epoch,
            "step": self._step if step is None else int(step),
            **self._order(),
        }

    def _order(self) -> dict[str, int]:
        """What decides which rows a step has."""
        return {
            "seed": self._seed,
            "shuffle": _SHUFFLES.index(self._shuffle),
            "batch_size": self.batch_size,
            "drop_last": int(self._drop_last),
            "num_ranks": self.shard.num_ranks,
            "num_rows": self.num_rows,
        }

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on where a state was taken: the next iteration gives the batches that follow.

        Refuses a state of other rows, of another order, or of another number of ranks.
        """
        for name, own in self._order().items():
            if state.get(name) != own:
                raise InvalidOptionError(
                    f"the state was taken with {name} {state.get(name)}, which is now {own}"
                )
        self._epoch, self._step = state["epoch"], state["step"]

    def __iter__(self) -> Iterator[Batch]:
        return self.batches(self.shard)

    def batches(self, shard: Shard) -> Iterator[Batch]:
        """The batches of a shard, from the current step on.

        Workers that take turns go on with the one whose turn it is.
        """
        counts = [self._num_batches(item) for item in self._workers(shard.num_workers)]
        given, turn = _turns(self._step, counts)
        worker = (shard.worker + turn) % shard.num_workers
        shard = Shard(shard.rank, shard.num_ranks, worker, shard.num_workers)
        rows = self._rows(shard)[given[worker] * self.batch_size :]
        return self._generate(rows, counts_steps=shard.num_workers == 1)

    def _generate(self, rows: range, counts_steps: bool) -> Iterator[Batch]:
        # A batch is not larger than what there is, whatever was asked for.
        batch_size = min(self.batch_size, max(1, len(rows)))
        for block in _cut(self._blocks(rows), batch_size, len(self._task.schema)):
            if counts_steps:
                self._step += 1
            yield self._split(block)
        if counts_steps:
            self._step = 0

    def _split(self, block: npt.NDArray[Any]) -> Batch:
        if not self.label_names:
            return block
        width = len(self.feature_names)
        labels = block[:, width] if self._is_vector else block[:, width:]
        return np.ascontiguousarray(block[:, :width]), np.ascontiguousarray(labels)

    def _blocks(self, rows: range) -> Iterator[npt.NDArray[Any]]:
        """Matrices of some rows, by their places in the order of the epoch."""
        found = self._found()
        if self._shuffle == "rows":
            yield from self._shuffled_rows(rows)
            return
        order = np.arange(len(found))
        if self._shuffle == "row-groups":
            order = np.random.default_rng([self._seed, self._epoch]).permutation(len(found))
        wanted = []
        first = 0
        for number in order.tolist():
            item = found[number]
            start, stop = max(rows.start - first, 0), min(rows.stop - first, item.count)
            first += item.count
            if start >= stop:
                continue
            if self._shuffle == "row-groups" or stop - start < item.count:
                # Not 0, which numpy takes for no number at all: the order of the row groups.
                seed = [self._seed, self._epoch, number + 1] if self._shuffle else None
                choose = partial(_places, item.count, start, stop, seed)
                item = replace(item, count=stop - start, choose=choose)
            wanted.append(item)
        yield from read_blocks(self._task, wanted, self._kind, self._use_threads)

    def _shuffled_rows(self, rows: range) -> Iterator[npt.NDArray[Any]]:
        """All rows of a shard are read, and then given in random order."""
        found = self._found()
        width = len(self._task.schema) * self._kind.dtype.itemsize
        # The order of all rows, and for rows of the shard three arrays of places and the matrix.
        size = self.num_rows * _PLACE_BYTES + len(rows) * (3 * _PLACE_BYTES + width)
        what = f"{len(rows)} of {self.num_rows} rows in random order"
        _check_size(what, size, "max_table_bytes", self._task.limits, None)
        random = np.random.default_rng([self._seed, self._epoch])
        chosen = random.permutation(self.num_rows)[rows.start : rows.stop]
        ordered = np.argsort(chosen, kind="stable")
        ends = np.cumsum([item.count for item in found])
        cuts = np.searchsorted(chosen[ordered], ends).tolist()
        wanted = []
        before, first = 0, 0
        for item, cut in zip(found, cuts, strict=True):
            if cut > before:
                wanted.append(item.chosen(chosen[ordered[before:cut]] - first))
            before, first = cut, first + item.count
        shape = (len(chosen), len(self._task.schema))
        values = np.empty(shape, self._kind.dtype)
        first = 0
        for block in read_blocks(self._task, wanted, self._kind, self._use_threads):
            values[ordered[first : first + len(block)]] = block
            first += len(block)
        # With on_error="skip", rows may be missing, and their places were not written.
        yield values if first == len(values) else values[np.sort(ordered[:first])]


def _check_size(what: str, size: int, limit: str, limits: Limits, path: str | None) -> None:
    """Refuse what would take more memory than a limit allows: a file may claim any row count."""
    most = getattr(limits, limit)
    if size > most:
        raise LimitExceededError(
            f"{what} take {size} bytes, more than Limits.{limit} ({most})", path
        )


def _places(count: int, start: int, stop: int, seed: list[int] | None) -> npt.NDArray[np.int64]:
    """The rows from ``start`` to ``stop`` of ``count``, in random order if there is a seed."""
    if seed is None:
        return np.arange(start, stop, dtype=np.int64)
    return np.random.default_rng(seed).permutation(count)[start:stop]


def _check_at_least(option: str, value: int, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidOptionError(f"{option} must be an int of at least {least}, got {value!r}")


def _labels(source: Dataset, label: str | Sequence[str] | None) -> list[str]:
    if label is None:
        return []
    wanted = [label] if isinstance(label, str) else label
    found: list[str] = source.scan(columns=wanted).schema.names
    if isinstance(label, str) and len(found) != 1:
        raise InvalidOptionError(
            f"label {label!r} matches {len(found)} columns: give a list for several"
        )
    return found


def _features(source: Dataset, features: Columns | None, labels: Sequence[str]) -> list[str]:
    if features is None:
        return [name for name in source.schema.names if name not in set(labels)]
    chosen: list[str] = source.scan(columns=features).schema.names
    both = sorted(set(chosen).intersection(labels))
    if both:
        raise InvalidOptionError(f"column {both[0]!r} is both a feature and a label")
    return chosen


def _turns(step: int, counts: Sequence[int]) -> tuple[list[int], int]:
    """How many batches each worker has given after some steps, and whose turn it is.

    Workers take turns, without those that have no more batches, as in torch's DataLoader.
    """
    given = [0] * len(counts)
    while step > 0 and given != list(counts):
        active = [place for place, count in enumerate(counts) if given[place] < count]
        rounds = min(counts[place] - given[place] for place in active)
        whole = min(rounds, step // len(active))
        for place in active:
            given[place] += whole
        step -= whole * len(active)
        if whole < rounds:
            for place in active[:step]:
                given[place] += 1
            return given, active[step]
    return given, 0


def _cut(
    blocks: Iterator[npt.NDArray[Any]], batch_size: int, width: int
) -> Iterator[npt.NDArray[Any]]:
    """Blocks of rows as batches of their own memory; the last may have fewer rows."""
    batch: npt.NDArray[Any] | None = None
    filled = 0
    for block in blocks:
        start = 0
        while start < len(block):
            if batch is None:
                batch, filled = np.empty((batch_size, width), block.dtype), 0
            count = min(batch_size - filled, len(block) - start)
            batch[filled : filled + count] = block[start : start + count]
            filled += count
            start += count
            if filled == batch_size:
                yield batch
                batch = None
    if batch is not None:
        yield batch[:filled]
