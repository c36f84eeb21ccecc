"""Compaction of a Paimon table: small files joined, columns that were added folded into one file.

PyPaimon refuses messages of a compaction, but commits files that replace others, as a snapshot of
kind OVERWRITE. If one of the replaced files is gone by then, that is a conflict. In a table without
data evolution files are joined, and rows that others append meanwhile stay. With data evolution a
range of rows keeps its extent, because PyPaimon knows rows by it; its column files become one. A
column that was updated meanwhile would be lost there, so that any change of the partition is a
conflict.
"""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pymosaic.errors import CommitConflictError, DatasetError, UnsupportedFeatureError
from pymosaic.keywords import checked_keywords
from pymosaic.paimon.commit import commit_messages, published_by
from pymosaic.paimon.dataset import PaimonDataset
from pymosaic.paimon.row_ranges import RowRange
from pymosaic.paimon.scan import PaimonScan
from pymosaic.paimon.schema_changes import changed_schema
from pymosaic.paimon.storage import writing_table
from pymosaic.paimon.table import PaimonTable, open_table
from pymosaic.paimon.task import PaimonPiece
from pymosaic.paimon.write import fitted
from pymosaic.threads import num_threads, read_ahead

__all__ = ["CompactedTable", "Compaction", "compact"]

# A file of at least this share of the wanted size is large enough.
_LARGE_ENOUGH = 0.7
# Compressed bytes of groups that are written at the same time.
_BYTES_AT_ONCE = 64 << 20


@dataclass(frozen=True, slots=True)
class CompactedTable:
    """What a compaction did.

    Parameters
    ----------
    path : str
    snapshot_id : int or None
        The snapshot that was made; None if there was nothing to do.
    files_before, files_after : int
        Data files of the table as it was read, and without those that were replaced.
    files_written, rows_written, bytes_written : int
    """

    path: str
    snapshot_id: int | None
    files_before: int
    files_after: int
    files_written: int
    rows_written: int
    bytes_written: int


@checked_keywords()
def compact(table: object, *, options: Mapping[str, str] | None = None) -> CompactedTable:
    """Join small files of a table without a primary key, in one snapshot.

    Rows stay as they are, and so do their row ids. In a table with data evolution, the files that
    hold columns of the same rows become one. Rows with deletion vectors are left alone.

    Parameters
    ----------
    table : str, path-like, or table of PyPaimon
    options : mapping, optional
        Options of PyPaimon's storage, for a path.

    Returns
    -------
    CompactedTable

    Raises
    ------
    CommitConflictError
        If another writer replaced files meanwhile or, in a table with data evolution, wrote to the
        same partition. The table is as that writer left it.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> _ = pymosaic.paimon.write(pa.table({"id": [1, 2]}), "c.db/t", create=True)
    >>> _ = pymosaic.paimon.add_columns("c.db/t", {"twice": "id * 2"})
    >>> report = pymosaic.paimon.compact("c.db/t")
    >>> report.files_before, report.files_after
    (2, 1)
    """
    compaction = Compaction(open_table(table, options))
    weighed = [
        (number, sum(rows.size for rows in group)) for number, group in enumerate(compaction.groups)
    ]
    written: Iterable[list[Any]] = read_ahead(
        compaction.write, weighed, num_threads(), _BYTES_AT_ONCE, "pymosaic-compact"
    )
    return compaction.commit(list(written))


class Compaction:
    """The groups of a table's files that become one each; picklable, for tasks elsewhere.

    Parameters
    ----------
    table : PaimonTable

    Attributes
    ----------
    groups : list of list of RowRange
        Rows that are written anew, together.
    """

    def __init__(self, table: PaimonTable) -> None:
        before = PaimonDataset(table, None, None, None, None)
        if before._fields.primary_keys:
            raise UnsupportedFeatureError(
                f"{table.path} has a primary key: Paimon compacts it (CALL sys.compact)"
            )
        self._table = table
        self._before = before
        self._evolving = before._fields.options.get("data-evolution.enabled") == "true"
        self._schema = changed_schema(table, [], before._fields.schema_id)
        ranges = [rows for rows in before._rows if isinstance(rows, RowRange)]
        self._num_files = sum(len(rows.files) for rows in ranges)
        if self._evolving:
            self.groups: list[list[RowRange]] = [
                [x] for x in ranges if len(x.files) > 1 and x.deletions is None
            ]
        else:
            target = self._writing().options.target_file_size(False)
            self.groups = list(_small_neighbours(ranges, int(target)))

    @property
    def num_columns(self) -> int:
        """Number of columns of the table."""
        return len(self._before._fields.names)

    def _writing(self) -> Any:
        return writing_table(self._table, schema=self._schema)

    def write(self, number: int) -> list[Any]:
        """Write a group anew; the result goes to :meth:`commit`."""
        from pypaimon.write.writer.append_only_data_writer import AppendOnlyDataWriter

        group = self.groups[number]
        whole = self._writing()
        partition = tuple(value for _, value in group[0].partition)
        writer = AppendOnlyDataWriter(whole, partition, group[0].bucket, 0, whole.options, None)
        if self._evolving:
            # One range is one file, whatever its size.
            writer.target_file_size = writer.target_file_row_num = 1 << 62
        task = cast(PaimonScan, self._before.scan()).task()
        pieces = [PaimonPiece(rows, rows.num_rows, rows.size) for rows in group]
        for batch in task.read(pieces, use_threads=False):
            writer.write(fitted(batch, self._before._fields.arrow, self._table.path))
        files: list[Any] = writer.prepare_commit()
        expected = sum(rows.num_rows for rows in group)
        if sum(file.row_count for file in files) != expected:
            raise DatasetError(f"{self._table.path}: not all of {expected} rows were read")
        first = group[0].first_row_id
        if first is None:
            return files
        numbered = []
        for file in files:
            numbered.append(file.assign_first_row_id(first))
            first += file.row_count
        return numbered

    def commit(self, written: list[list[Any]]) -> CompactedTable:
        """Replace the files: those of each group, in their order.

        Raises
        ------
        CommitConflictError
        """
        files = [file for group in written for file in group]
        num_replaced = sum(len(rows.files) for group in self.groups for rows in group)
        return CompactedTable(
            self._table.path,
            self._publish(written) if files else None,
            self._num_files,
            self._num_files - num_replaced + len(files),
            len(files),
            sum(file.row_count for file in files),
            sum(file.file_size for file in files),
        )

    def _publish(self, written: list[list[Any]]) -> int | None:
        builder = self._writing().new_batch_write_builder()
        try:
            return commit_messages(builder, self._messages(written), self._table.path)
        except CommitConflictError:
            since = self._before.snapshot_id or 0
            published = published_by(self._table, since, builder.commit_user)
            if published is not None:
                return published
            raise

    def _messages(self, written: list[list[Any]]) -> list[Any]:
        from pypaimon.write.commit_message import CommitMessage

        known = self._known_files()
        check_from = self._before.snapshot_id if self._evolving else None
        messages: dict[tuple[Any, int], Any] = {}
        for group, files in zip(self.groups, written, strict=True):
            key = tuple(value for _, value in group[0].partition), group[0].bucket
            if key not in messages:
                messages[key] = CommitMessage(*key, [], check_from)
            messages[key].new_files += files
            for rows in group:
                for file in rows.files:
                    name = file.path.rsplit("/", 1)[-1]
                    if name not in known:
                        raise CommitConflictError(
                            f"{self._table.path}: another writer has replaced {name}"
                        )
                    messages[key].deleted_files.append(known[name])
        return list(messages.values())

    def _known_files(self) -> dict[str, Any]:
        """What the manifests say of the files of the newest snapshot, by name."""
        builder = self._writing().new_read_builder()
        splits = builder.new_scan().plan().splits()
        return {file.file_name: file for split in splits for file in split.files}


def _small_neighbours(ranges: list[RowRange], target: int) -> Iterator[list[RowRange]]:
    """Groups of small files, together about as large as wanted.

    Those with row ids follow one another.
    """
    places: dict[tuple[Any, int], list[RowRange]] = {}
    for rows in ranges:
        places.setdefault((rows.partition, rows.bucket), []).append(rows)
    for files in places.values():
        files.sort(key=lambda rows: rows.first_row_id or 0)
        group: list[RowRange] = []
        for rows in files:
            small = rows.size < _LARGE_ENOUGH * target and rows.deletions is None
            if not small and rows.first_row_id is None:
                continue
            if group and not (
                small
                and _follows(group[-1], rows)
                and sum(x.size for x in group) + rows.size <= target
            ):
                if len(group) > 1:
                    yield group
                group = []
            if small:
                group.append(rows)
        if len(group) > 1:
            yield group


def _follows(left: RowRange, right: RowRange) -> bool:
    """Whether the row ids of one continue those of the other; without ids any may follow."""
    if left.first_row_id is None or right.first_row_id is None:
        return left.first_row_id is right.first_row_id
    return left.first_row_id + left.num_rows == right.first_row_id
