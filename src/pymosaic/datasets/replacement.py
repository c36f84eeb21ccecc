"""Replacement of whole partitions: the files are chosen at commit, not at the start of a job.

A job that names files may find that another job has replaced them since. A job that names
*partitions* passes a :data:`ReplacedPartitions` to :meth:`WriteJob.commit`, which calls it with the
current snapshot while it holds the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import pyarrow as pa

from pymosaic.datasets.partitioning import partition_schema, split_partition, typed_partition
from pymosaic.datasets.snapshot import Snapshot
from pymosaic.errors import InvalidOptionError
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
    filters : list of tuples, list of lists of tuples
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
    row_filter = parse_filters(filters)
    if row_filter is None:
        raise InvalidOptionError("filters must select the partitions to replace, got None")

    def select(snapshot: Snapshot) -> Iterable[str]:
        partitions = {entry.path: partition_of(entry.path) for entry in snapshot.files}
        types = partition_schema(partitions, schema, snapshot.partition_types)
        if missing := [name for name in row_filter.columns if name not in types.names]:
            if not snapshot.files:
                return []
            raise InvalidOptionError(
                f"filters: {missing[0]!r} is not a partition column; these are {types.names}"
            )
        row_filter.validate({field.name: field.type for field in types})
        chosen = []
        for path, partition in partitions.items():
            constants = {
                key: pa.scalar(value, types.field(key).type)
                for key, value in typed_partition(partition, types, path)
            }
            if residual_filter(row_filter, constants)[0]:
                chosen.append(path)
        return chosen

    return select
