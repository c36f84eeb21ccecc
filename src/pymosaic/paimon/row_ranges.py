"""What a snapshot consists of: ranges of rows, each with its column files.

PyPaimon plans splits; here they become plain values that tasks elsewhere can use. Rows that must be
merged (a primary key whose files overlap), and files of formats that only PyPaimon reads, stay its
splits.
"""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from pymosaic.datasets.partitioning import Partition
from pymosaic.errors import DatasetError, UnsupportedFeatureError
from pymosaic.paimon.commit import reading
from pymosaic.paimon.schema import TableFields
from pymosaic.paimon.table import PaimonTable

__all__ = ["ColumnFile", "Deletions", "MergedRows", "RowRange", "Rows", "plan_rows"]

_FORMATS = ("mosaic", "parquet")


@dataclass(frozen=True, slots=True)
class Deletions:
    """Where the deletion vector of a row range is stored."""

    path: str
    offset: int
    length: int
    count: int | None


@dataclass(frozen=True, slots=True)
class ColumnFile:
    """A file with some or all columns of a row range.

    Parameters
    ----------
    path : str
        In the table's file system.
    format : {"mosaic", "parquet"}
    size, num_rows : int
    schema_id : int
        The schema that its columns were named by.
    columns : tuple of str, or None
        The columns that were written; None for all of that schema.
    statistics : tuple, or None
        Names (None: as ``columns``), stored minima, maxima and null counts, as in the manifest.
    """

    path: str
    format: str
    size: int
    num_rows: int
    schema_id: int
    columns: tuple[str, ...] | None
    statistics: tuple[tuple[str, ...] | None, bytes, bytes, tuple[int | None, ...]] | None


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows that are stored side by side in one or several files.

    Parameters
    ----------
    files : tuple of ColumnFile
        The newest first: it has the last word on its columns.
    num_rows : int
        With deleted ones.
    partition : tuple of (str, value)
    deletions : Deletions or None
    first_row_id : int or None
    bucket : int
    """

    files: tuple[ColumnFile, ...]
    num_rows: int
    partition: Partition
    deletions: Deletions | None
    first_row_id: int | None
    bucket: int

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class MergedRows:
    """Rows that PyPaimon reads."""

    split: Any
    num_rows: int
    partition: Partition
    size: int


Rows: TypeAlias = RowRange | MergedRows


def plan_rows(table: PaimonTable, fields: TableFields, snapshot: Any) -> list[Rows]:
    """The rows of a snapshot, in the order in which they are read."""
    if snapshot is None:
        return []
    with reading(table.path):
        lean = table.lean(fields)
        if lean.options.query_auth_enabled:
            raise UnsupportedFeatureError(f"{table.path}: tables with query authorization")
        rows: list[Rows] = []
        for split in _scanner(lean, snapshot).scan().splits():
            rows.extend(_rows_of(split, table, fields, lean))
    return rows


def _scanner(lean: Any, snapshot: Any) -> Any:
    from pypaimon.manifest.manifest_file_manager import ManifestFileManager
    from pypaimon.manifest.manifest_list_manager import ManifestListManager
    from pypaimon.read.scanner.file_scanner import FileScanner

    class Manifests(ManifestFileManager):  # type: ignore[misc]
        """Manifests whose statistics stay bytes: a lean table does not know their fields."""

        def _get_value_stats_fields(self, file_dict: Any, file_schema: Any) -> list[Any]:
            return []

    class Scanner(FileScanner):  # type: ignore[misc]
        """A scanner that keeps statistics."""

        def read_manifest_entries(
            self, manifest_files: Any, row_ranges: Any = None, keep_stats: bool = True
        ) -> Any:
            return super().read_manifest_entries(manifest_files, row_ranges, True)

    manifests = ManifestListManager(lean).read_all(snapshot)
    scanner = Scanner(
        lean, lambda: (manifests, snapshot), skip_level0=lean.options.batch_scan_skip_level0()
    )
    scanner.manifest_file_manager = Manifests(lean)
    return scanner


def _rows_of(split: Any, table: PaimonTable, fields: TableFields, lean: Any) -> Iterator[Rows]:
    partition = tuple(zip(fields.partition_keys, map(_plain, split.partition.values), strict=True))
    files = list(split.files)
    deletions = list(split.data_deletion_files or [None] * len(files))
    evolves = lean.options.data_evolution_enabled()
    formats = {_format_of(file.file_name) for file in files}
    dedicated = any(".vector." in file.file_name for file in files)
    merges = not split.raw_convertible and not evolves
    if merges or dedicated or not formats <= set(_FORMATS):
        num_rows = sum(file.row_count for file in files)
        yield MergedRows(split, num_rows, partition, sum(file.file_size for file in files))
        return
    vectors = {
        file.file_name: item
        for file, item in zip(files, deletions, strict=True)
        if item is not None
    }
    groups = _by_first_row(files, table.path) if evolves else [[file] for file in files]
    for group in groups:
        anchor = min(group, key=lambda file: (file.max_sequence_number, file.file_name))
        vector = vectors.get(anchor.file_name)
        yield RowRange(
            tuple(_column_file(file, table) for file in group),
            group[0].row_count,
            partition,
            None
            if vector is None
            else Deletions(vector.dv_index_path, vector.offset, vector.length, vector.cardinality),
            group[0].first_row_id,
            split.bucket,
        )


def _by_first_row(files: list[Any], path: str) -> list[list[Any]]:
    """Files of the same rows together, the newest first."""
    groups: dict[int, list[Any]] = {}
    end = -1
    for file in sorted(files, key=lambda file: (file.first_row_id, -file.max_sequence_number)):
        first = file.first_row_id
        known = groups.get(first)
        if known is None:
            if first < end:
                raise DatasetError(f"{path}: {file.file_name} overlaps rows of another file")
            groups[first] = [file]
            end = first + file.row_count
        elif known[0].row_count == file.row_count:
            known.append(file)
        else:
            raise DatasetError(
                f"{path}: {file.file_name} has {file.row_count} rows, but {known[0].file_name}, "
                f"which begins at the same row, has {known[0].row_count}"
            )
    return list(groups.values())


def _format_of(file_name: str) -> str:
    return file_name.rsplit(".", 1)[-1].lower()


def _column_file(file: Any, table: PaimonTable) -> ColumnFile:
    stats = file.value_stats
    statistics = None
    if stats is not None and stats.null_counts and file.value_stats_cols != []:
        names = file.value_stats_cols
        statistics = (
            None if names is None else tuple(names),
            stats.min_values.data,
            stats.max_values.data,
            tuple(stats.null_counts),
        )
    return ColumnFile(
        table.local_path(file.physical_path()),
        _format_of(file.file_name),
        file.file_size,
        file.row_count,
        file.schema_id,
        None if file.write_cols is None else tuple(file.write_cols),
        statistics,
    )


def _plain(value: Any) -> Any:
    """A partition value as Python's own type."""
    if hasattr(value, "to_local_date_time"):
        return value.to_local_date_time()
    if hasattr(value, "to_big_decimal"):
        return value.to_big_decimal()
    return value
