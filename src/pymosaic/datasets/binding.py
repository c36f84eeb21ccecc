"""Scans bound to files: where their columns are, and which part of the filter remains."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import pyarrow as pa

from pymosaic.arrow.statistics import ColumnStatistics
from pymosaic.datasets.file_columns import FileColumns, WantedColumns
from pymosaic.datasets.partitioning import Partition
from pymosaic.datasets.plan import BucketShares
from pymosaic.errors import located
from pymosaic.file.open_file import FileHead
from pymosaic.file.statistics import row_group_statistics
from pymosaic.filters.residual import residual_filter
from pymosaic.filters.row_filter import Filter
from pymosaic.kernels.catalog import Catalog

__all__ = ["BoundFile", "ColumnBinding"]

# Number of bound catalogs and partitions that a scan keeps.
_REMEMBERED_FILES = 64


class _Scanned(Protocol):
    """What a scan wants, of all files."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def partition_schema(self) -> pa.Schema: ...
    @property
    def row_filter(self) -> Filter | None: ...
    @property
    def filter_schema(self) -> pa.Schema: ...
    @property
    def trust_statistics(self) -> bool: ...
    def constants(self, partition: Partition, /) -> dict[str, pa.Scalar]: ...


class BoundFile:
    """A scan bound to the catalog and partition of a file.

    Attributes
    ----------
    columns : FileColumns
        The wanted columns that the file has.
    any_row : bool
        Whether any row can match the filter, given partition values and missing columns.
    row_filter : Filter or None
        The part of the filter left to test.
    tested : FileColumns or None
        The columns of that filter.
    trust_statistics : bool
        Whether statistics count that no checksum covers.
    """

    def __init__(self, task: _Scanned, columns: FileColumns, partition: Partition) -> None:
        self.columns = columns
        self.trust_statistics: bool = task.trust_statistics
        self.any_row: bool = True
        self.row_filter: Filter | None = None
        self.tested: FileColumns | None = None
        if task.row_filter is None:
            return
        constants = task.constants(partition)
        catalog = columns.catalog
        for field in task.filter_schema:
            if field.name not in constants and catalog.find(field.name) < 0:
                constants[field.name] = pa.scalar(None, field.type)
        self.any_row, self.row_filter = residual_filter(task.row_filter, constants)
        if self.row_filter is not None:
            schema = pa.schema([task.filter_schema.field(x) for x in self.row_filter.columns])
            self.tested = FileColumns(catalog, WantedColumns(schema), columns.path)

    @cached_property
    def shares(self) -> BucketShares:
        """The share of each bucket that must be read."""
        positions = [self.columns.selection.positions]
        if self.tested is not None:
            positions.append(self.tested.selection.positions)
        return BucketShares(self.columns.catalog, positions)

    def excludes(self, head: FileHead, row_group: int) -> bool:
        """Whether partition or statistics show that no row of a row group matches."""
        if not self.any_row:
            return True
        if self.row_filter is None:
            return False
        num_rows = head.index.row_count(row_group)
        return self.row_filter.excludes(self._statistics(head, row_group), num_rows)

    def covers(self, head: FileHead, row_group: int) -> bool:
        """Whether partition or statistics show that every row of a row group matches."""
        if self.row_filter is None:
            return self.any_row
        num_rows = head.index.row_count(row_group)
        return self.row_filter.covers(self._statistics(head, row_group), num_rows)

    def _statistics(
        self, head: FileHead, row_group: int
    ) -> Callable[[str], ColumnStatistics | None]:
        assert self.tested is not None
        types = self.tested.ordered_types

        def statistics(name: str) -> ColumnStatistics | None:
            if name not in types:
                return None
            with located(head.name):
                return row_group_statistics(
                    head, row_group, name, types[name], self.trust_statistics
                )

        return statistics


class ColumnBinding:
    """Binds a scan to files; what files with the same catalog share is computed once."""

    def __init__(self, task: _Scanned) -> None:
        self._task = task
        names = set(task.partition_schema.names)
        schema = task.schema
        if names.intersection(schema.names):
            schema = pa.schema([item for item in schema if item.name not in names])
        self._wanted = WantedColumns(schema)
        tested = () if task.row_filter is None else task.row_filter.columns
        # Otherwise files of all partitions are bound alike.
        self._tests_partition = not names.isdisjoint(tested)
        self._columns: dict[Catalog, FileColumns] = {}
        self._bound: dict[tuple[Catalog, Partition], BoundFile] = {}
        self._passes: dict[Partition, bool] = {}
        self._lock = threading.Lock()

    def partition_passes(self, partition: Partition) -> bool:
        """Whether rows of a partition can match the filter."""
        if self._task.row_filter is None:
            return True
        passes = self._passes.get(partition)
        if passes is None:
            passes = residual_filter(self._task.row_filter, self._task.constants(partition))[0]
            self._passes[partition] = passes
        return passes

    def bind(self, head: FileHead, partition: Partition, path: str) -> BoundFile:
        """Find the scan's columns in a file."""
        catalog = head.catalog
        partition = partition if self._tests_partition else ()
        with self._lock:
            bound = self._bound.get((catalog, partition))
            if bound is None:
                if len(self._bound) >= _REMEMBERED_FILES:
                    self._bound.clear()
                    self._columns.clear()
                if catalog not in self._columns:
                    self._columns[catalog] = FileColumns(catalog, self._wanted, path)
                bound = BoundFile(self._task, self._columns[catalog], partition)
                self._bound[catalog, partition] = bound
            return bound
