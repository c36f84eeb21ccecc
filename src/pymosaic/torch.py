"""Wide datasets for PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy.typing as npt
import torch
from torch.utils.data import IterableDataset, get_worker_info

from pymosaic.datasets.dataset import Dataset
from pymosaic.datasets.discovery import DatasetSource
from pymosaic.file.matrix import Nulls
from pymosaic.file.projection import Columns
from pymosaic.filters.given import Filters
from pymosaic.interop.training import Shard, Shuffle, WideBatches

__all__ = ["WideDataset"]


class WideDataset(IterableDataset[Any]):
    """Batches of a dataset as tensors, for ``torch.utils.data.DataLoader(..., batch_size=None)``.

    Workers of the loader, and the processes of ``torch.distributed`` if it is initialised, share
    the rows out without overlap or loss.

    Parameters
    ----------
    source, features, label, batch_size, filters, shuffle, seed, drop_last, dtype, nulls
        As for :class:`pymosaic.interop.training.WideBatches`.
    rank, num_ranks : int, optional
        Which part of a distributed training this is, and of how many; asked of
        ``torch.distributed`` by default.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> from pymosaic.torch import WideDataset
    >>> from torch.utils.data import DataLoader
    >>> pymosaic.write_table(pa.table({"x": [1.0, 2, 3], "y": [0, 1, 0]}), "xy.mosaic")
    >>> loader = DataLoader(WideDataset("xy.mosaic", label="y", batch_size=2), batch_size=None)
    >>> [labels.tolist() for features, labels in loader]
    [[0.0, 1.0], [0.0]]
    """

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
        rank: int | None = None,
        num_ranks: int | None = None,
    ) -> None:
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        if rank is None:
            rank = torch.distributed.get_rank() if distributed else 0
        if num_ranks is None:
            num_ranks = torch.distributed.get_world_size() if distributed else 1
        self.batches: WideBatches = WideBatches(
            source,
            features=features,
            label=label,
            batch_size=batch_size,
            filters=filters,
            shuffle=shuffle,
            seed=seed,
            drop_last=drop_last,
            dtype=dtype,
            nulls=nulls,
            rank=rank,
            num_ranks=num_ranks,
        )

    @property
    def feature_names(self) -> list[str]:
        """The columns of the matrix."""
        return self.batches.feature_names

    def set_epoch(self, epoch: int) -> None:
        """Begin another epoch; see :meth:`WideBatches.set_epoch`."""
        self.batches.set_epoch(epoch)

    def state_dict(self, step: int | None = None) -> dict[str, int]:
        """Where to resume; see :meth:`WideBatches.state_dict`."""
        return self.batches.state_dict(step)

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on where a state was taken; see :meth:`WideBatches.load_state_dict`."""
        self.batches.load_state_dict(state)

    def __iter__(self) -> Iterator[Any]:
        own = self.batches.shard
        worker = get_worker_info()
        shard = (
            own if worker is None else Shard(own.rank, own.num_ranks, worker.id, worker.num_workers)
        )
        for batch in self.batches.batches(shard):
            if isinstance(batch, tuple):
                features, labels = batch
                yield torch.from_numpy(features), torch.from_numpy(labels)
            else:
                yield torch.from_numpy(batch)
