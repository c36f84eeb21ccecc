"""Compaction planning: which files of a dataset to combine, by copying or by rewriting."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from pymosaic.arrow.types import fixed_bits
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.errors import located
from pymosaic.file.guard import Annex, read_annex
from pymosaic.file.open_file import FileHead, head_of
from pymosaic.file.row_group_reader import Selection
from pymosaic.file.tail import read_tail
from pymosaic.format.annex import SectionType
from pymosaic.io import Directory, Entry, open_source
from pymosaic.limits import Limits

__all__ = ["CompactionGroup", "FileSummary", "group_files", "summarize_files"]

# A file of at least this share of the target is left alone.
_SMALL = b"small"
_FULL = 0.75
# Assumed size of values of variable width.
_VARIABLE_WIDTH = 16
# A file is worth rewriting if row groups could hold this many times the rows.
_WORTH_FEWER = 4


@dataclass(frozen=True, slots=True)
class FileSummary:
    """The facts about a file that decide how it is compacted.

    Parameters
    ----------
    path : str
        Path below the base.
    size, data_bytes : int
        Size of the file, and of its buckets.
    num_row_groups : int
    schema : bytes
        A digest; files with equal digests can be merged by copying. Those with an annex have others
        than those without, and so have files that were written from other types.
    divisible : bool
        Whether its row groups are far smaller than a writer would make them.
    """

    path: str
    size: int
    data_bytes: int
    num_row_groups: int
    schema: bytes
    divisible: bool

    @property
    def directory(self) -> str:
        """The directory of the file, below the base."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class CompactionGroup:
    """Files of one directory to combine; ``copies`` if by copying their bytes."""

    directory: str
    files: tuple[str, ...]
    num_bytes: int
    copies: bool


def summarize_files(
    storage: Directory, limits: Limits, min_row_group_bytes: int, row_group_bytes: int
) -> list[FileSummary]:
    """Read the end of every file of a dataset."""

    def summarize(entry: Entry) -> FileSummary:
        path = storage.full_path(entry.path)
        source = open_source(path, storage.filesystem, entry.size)
        try:
            with located(source.name):
                tail = read_tail(source, limits)
                content = tail.schema_content(limits)
                footer = tail.footer
                annex = read_annex(tail, source, limits)
                told = _told(annex if isinstance(annex, Annex) else None)
                row_groups, size = footer.num_row_groups, footer.schema_offset
                divisible = (
                    row_groups > 1
                    and size < min_row_group_bytes * row_groups
                    and _is_divisible(head_of(tail, source, limits), row_group_bytes)
                )
        finally:
            source.close()
        return FileSummary(
            entry.path,
            source.size,
            size,
            row_groups,
            hashlib.sha256(content).digest() + bytes([footer.compression.code]) + told,
            divisible,
        )

    # A link that leads out of the dataset belongs to someone else.
    return storage.each(summarize, [x for x in take_snapshot(storage).files if not x.outside])


def _told(annex: Annex | None) -> bytes:
    """Whether a file is guarded, and checksums of what it tells of the types of its columns."""
    told = bytes([annex is not None and annex.integrity is not None])
    for kind in (SectionType.FIELDS, SectionType.FIELD_DIRECTORY):
        section = None if annex is None else annex.section(kind)
        told += b"-" if section is None else b"%d.%d" % (section.size, section.checksum)
    return told


def _is_divisible(head: FileHead, row_group_bytes: int) -> bool:
    """Whether a writer would put far more rows into a row group.

    Data that compresses well makes small row groups, however many rows they hold.
    """
    row_bytes = 0
    for data_type in Selection(head.catalog, head.catalog.original_order()).import_schema().types:
        bits = fixed_bits(data_type)
        row_bytes += _VARIABLE_WIDTH if bits is None else (bits + 7) // 8
    return head.index.num_rows * row_bytes * _WORTH_FEWER < row_group_bytes * (
        head.index.num_row_groups
    )


def group_files(
    files: Iterable[FileSummary], target_file_bytes: int, min_row_group_bytes: int
) -> list[CompactionGroup]:
    """Plan the groups; pure. They are runs of neighbours: the rows of a directory stay in order.

    - Files below three quarters of the target, with the same schema and row groups of
      ``min_row_group_bytes`` on average, are merged by copying up to the target.
    - Files with smaller row groups are rewritten together, whatever their schemas.
    - Files that are left alone between those, and neighbours, are rewritten together.
    """
    directories: dict[str, list[FileSummary]] = {}
    for file in files:
        directories.setdefault(file.directory, []).append(file)
    groups: list[CompactionGroup] = []
    for directory in sorted(directories):
        groups += _group_directory(
            directory, directories[directory], target_file_bytes, min_row_group_bytes
        )
    return groups


def _group_directory(
    directory: str, files: Sequence[FileSummary], target: int, min_row_group_bytes: int
) -> list[CompactionGroup]:
    def kind(file: FileSummary) -> bytes | None:
        """What a file can be merged with: its schema, ``_SMALL``, or None for nothing."""
        if not file.divisible and file.size >= _FULL * target:
            return None
        if file.divisible or file.data_bytes < min_row_group_bytes * max(1, file.num_row_groups):
            return _SMALL
        return file.schema

    groups: list[CompactionGroup] = []
    alone: list[FileSummary] = []

    def group_those_alone() -> None:
        packs = [x for x in _pack(alone, target) if len(x) > 1 or x[0].divisible]
        groups.extend(_group(directory, pack, copies=False) for pack in packs)
        alone.clear()

    for what, run in groupby(files, key=kind):
        if what is None:
            group_those_alone()
            continue
        for pack in _pack(list(run), target):
            if len(pack) > 1:
                group_those_alone()
                groups.append(_group(directory, pack, copies=what != _SMALL))
            else:
                alone += pack
    group_those_alone()
    return groups


def _pack(files: Sequence[FileSummary], target: int) -> list[list[FileSummary]]:
    """Runs of files that together have about the target size."""
    packs: list[list[FileSummary]] = []
    size = 0
    for file in files:
        if not packs or size + file.size > target:
            packs.append([])
            size = 0
        packs[-1].append(file)
        size += file.size
    return packs


def _group(directory: str, files: Sequence[FileSummary], copies: bool) -> CompactionGroup:
    paths = tuple(file.path for file in files)
    return CompactionGroup(directory, paths, sum(file.size for file in files), copies)
