"""Replacement of whole partitions: the files are chosen at commit, not at the start of a job.

A job that names files may find that another job has replaced them since. A job that names
*partitions* passes a :data:`ReplacedPartitions` to :meth:`WriteJob.commit`, which calls it with the
current snapshot while it holds the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.datasets.partitioning import partition_schema, split_partition, typed_partition
from pymosaic.datasets.snapshot import Snapshot
from pymosaic.errors import InvalidOptionError
from pymosaic.filters.given import given_filter
from pymosaic.filters.residual import residual_filter
from pymosaic.filters.tuples import parse_filters

__all__ = ["ReplacedPartitions", "partition_of", "partitions_of", "partitions_where"]

# Takes a snapshot of a dataset and returns the paths of the files to replace.
ReplacedPartitions: TypeAlias = Callable[[Snapshot], Iterable[str]]


def partition_of(path: str) -> tuple[tuple[str, str | None], ...]:
    """The keys and values, as text, of the directories of a file.

    Examples
    --------
    >>> partition_of("day=1/city=S%C3%A3o/x.mosaic")
    (('day', '1'), ('city', 'São'))
    """
    return split_partition(path.split("/")[:-1])


def partitions_of(adds: Iterable[str]) -> ReplacedPartitions:
    """Replace all files of the partitions that these files are in."""
    touched = {partition_of(path) for path in adds}
    return lambda snapshot: [
        entry.path for entry in snapshot.files if partition_of(entry.path) in touched
    ]


def partitions_where(filters: object, schema: pa.Schema | None = None) -> ReplacedPartitions:
    """Replace all files of the partitions that a filter selects, as in ``replaceWhere``.

    Parameters
    ----------
    filters : str, list of tuples, list of lists of tuples, or pyarrow expression
        As for :func:`pymosaic.read_table`, but on partition columns only.
    schema : pyarrow.Schema, optional
        Types of partition columns; by default those that readers have.

    Raises
    ------
    InvalidOptionError
        When files are chosen, if the filter uses a column that is not a partition column.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> from pymosaic.datasets.commit import WriteJob
    >>> days = pa.table({"day": [1, 2, 3], "temp": [7, 8, 9]})
    >>> _ = pymosaic.write_dataset(days, "week", partition_by="day")
    >>> job = WriteJob.start("week", mode="append")
    >>> len(job.commit([], removes=partitions_where([("day", ">=", 2)])))
    2
    >>> pymosaic.dataset("week").scan().to_table()["temp"].to_pylist()
    [7]
    """
    if filters is None:
        raise InvalidOptionError("filters must select the partitions to replace, got None")
    if not isinstance(filters, pc.Expression):
        # Mistakes are told before files are looked at.
        filters = parse_filters(filters)

    def select(snapshot: Snapshot) -> Iterable[str]:
        partitions = {entry.path: partition_of(entry.path) for entry in snapshot.files}
        types = partition_schema(partitions, schema, snapshot.partition_types)
        if not snapshot.files:
            return []
        row_filter, _ = given_filter(filters, partial(_partition_columns, types))
        chosen = []
        for path, partition in partitions.items():
            constants = {
                key: pa.scalar(value, types.field(key).type)
                for key, value in typed_partition(partition, types, path)
            }
            if row_filter is None or residual_filter(row_filter, constants)[0]:
                chosen.append(path)
        return chosen

    return select


def _partition_columns(types: pa.Schema, names: tuple[str, ...] | None) -> pa.Schema:
    for name in names or ():
        if name not in types.names:
            raise InvalidOptionError(
                f"filters: {name!r} is not a partition column; these are {types.names}"
            )
    return types if names is None else pa.schema([types.field(name) for name in names])
