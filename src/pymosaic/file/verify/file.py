"""Verification: walk a whole file, check everything, and report all faults.

::

    footer ─► schema block ─► index (walk_index) ─► places of buckets ─► each bucket, decoded
                                                                         └► against its statistics

The reader stops at the first fault; this continues wherever it can. Nothing is written.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.statistics import decode_value, order_key
from pymosaic.errors import (
    CorruptFileError,
    InvalidOptionError,
    LimitExceededError,
    printable,
)
from pymosaic.file.catalogs import catalogs
from pymosaic.file.guard import Annex
from pymosaic.file.open_file import FileHead
from pymosaic.file.row_group_reader import Selection
from pymosaic.file.tail import Tail, check_size
from pymosaic.file.verify.annex import AnnexCheck, DataChecksum
from pymosaic.file.verify.bucket import REFUSALS, BucketCheck, BucketReport, Note, Refusal
from pymosaic.file.verify.index import Statistic, WalkedRowGroup, walk_index
from pymosaic.format import schema_block
from pymosaic.format.bucket import BucketPlace, buckets_of
from pymosaic.format.footer import FOOTER_SIZE, MAGIC, Footer
from pymosaic.io import Source, SourceLike, open_source
from pymosaic.kernels import row_group_index
from pymosaic.kernels.catalog import Catalog
from pymosaic.keywords import checked_keywords
from pymosaic.limits import DEFAULT_LIMITS, Limits
from pymosaic.threads import ordered_map

__all__ = ["Finding", "verify"]

Severity: TypeAlias = Literal["error", "warning", "info"]
Progress: TypeAlias = Callable[[int, int | None, str], None]

# A file can have more faults than anyone wants to read.
_MAX_FINDINGS = 1000
_RESERVED = struct.Struct(">26xH4x")
_INDEX = "row group index"


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a file, or something worth knowing.

    Parameters
    ----------
    severity : str
        ``"error"``: the file breaks the format, or contradicts itself. ``"warning"``: readers must
        accept it, but no known writer does it. ``"info"``: nothing is wrong, but worth knowing.
    structure : str
        Where: ``"footer"``, ``"schema block"``, ``"row group index"``, ``"row group 0, bucket 3"``.
    message : str
        What is wrong, and what would be right.
    offset : int or None
        Offset in the file: of the fault itself, or of the compressed structure that contains it.
    row_group, bucket : int or None
        Numbers of the row group and bucket, if it is in one.
    column : str or None
        The column, if only one is affected.
    """

    severity: Severity
    structure: str
    message: str
    offset: int | None = None
    row_group: int | None = None
    bucket: int | None = None
    column: str | None = None

    def __str__(self) -> str:
        place = self.structure if self.offset is None else f"{self.structure} (byte {self.offset})"
        column = "" if self.column is None else f", column {self.column!r}"
        return printable(f"{self.severity}: {place}{column}: {self.message}")


@checked_keywords()
def verify(
    source: SourceLike,
    deep: bool = True,
    progress: Progress | None = None,
    *,
    filesystem: object = None,
    limits: Limits | None = None,
    use_threads: bool = True,
) -> list[Finding]:
    """Check one file; see :func:`pymosaic.verify`, which takes a dataset as well."""
    if limits is not None and not isinstance(limits, Limits):
        raise InvalidOptionError(f"limits must be a pymosaic.Limits, got {limits!r}")
    opened = open_source(source, filesystem)
    try:
        return _Verification(opened, limits or DEFAULT_LIMITS, deep, progress, use_threads).run()
    finally:
        opened.close()


class _TooMany(Exception):
    """There are more findings than can be listed."""


@dataclass(slots=True)
class _Verification:
    source: Source
    limits: Limits
    deep: bool
    progress: Progress | None
    use_threads: bool
    findings: list[Finding] = field(default_factory=list)
    done: int = 0
    blocks: int = 0
    unprotected: int = 0

    def run(self) -> list[Finding]:
        self._advance(0)
        try:
            self._file()
        except _TooMany:
            message = f"there are more; only the first {_MAX_FINDINGS} findings are listed"
            self.findings.append(Finding("info", "file", message))
        self._advance(self.source.size - self.done)
        return self.findings

    def _advance(self, count: int) -> None:
        # Otherwise buckets that overlap would count twice.
        self.done = min(self.done + count, self.source.size)
        if self.progress is not None:
            self.progress(self.done, self.source.size, "bytes")

    def _add(self, finding: Finding) -> None:
        if len(self.findings) == _MAX_FINDINGS:
            raise _TooMany
        self.findings.append(finding)

    def _refused(self, error: Refusal, structure: str, start: int, inside: bool = True) -> None:
        """Add an error of the reader; ``start`` is the offset of its structure."""
        # In compressed structures, offsets refer to the content.
        offset = start + (error.offset or 0) if inside else start
        self._add(Finding("error", structure, error.reason, offset))

    def _file(self) -> None:
        footer = self._footer()
        if footer is None:
            return
        annex = AnnexCheck(self.source, self.limits, self._report)
        tail = annex.open(footer)
        catalog = self._schema(footer, tail, annex.guards_tail)
        if catalog is None:
            annex.compare_tail(self._faulty())
            message = "not checked, and neither are buckets: both need the schema block"
            self._add(Finding("warning", _INDEX, message, footer.index_offset))
            return
        index = self._read_index(footer, tail)
        if index is not None:
            first, last = self._index(index, footer, catalog, annex.annex)
            data = DataChecksum() if self.deep else None
            if data is not None:
                self._buckets(index, footer, catalog, annex.annex, data)
            annex.compare_tail(self._faulty())
            # Damage to a bucket that was found is not reported again.
            faulty = any(", bucket" in structure for structure in self._faulty())
            annex.finish(first, last, None if faulty else data)
        if self.unprotected:
            message = (
                f"{self.unprotected} of {self.blocks} checked blocks have no checksum: "
                "damage to their values can go unnoticed"
            )
            self._add(Finding("info", "file", message))

    def _faulty(self) -> set[str]:
        """The structures that have errors; buckets are called "row group 0, bucket 0"."""
        return {finding.structure for finding in self.findings if finding.severity == "error"}

    def _report(
        self, severity: Literal["error", "info"], structure: str, message: str, offset: int
    ) -> None:
        self._add(Finding(severity, structure, message, offset))

    def _footer(self) -> Footer | None:
        size = self.source.size
        start = max(0, size - FOOTER_SIZE)
        data = bytes(self.source.read(start, size - start))
        footer = self._parse_footer(data, start)
        if footer is None and len(data) == FOOTER_SIZE and not data.endswith(MAGIC):
            footer = self._parse_footer(data[: -len(MAGIC)] + MAGIC, start)
        if footer is None:
            return None
        (reserved,) = _RESERVED.unpack(data)
        if reserved:
            message = f"the reserved bytes are {reserved:#06x}, not 0"
            self._add(Finding("warning", "footer", message, start + 26))
        return footer

    def _parse_footer(self, data: bytes, start: int) -> Footer | None:
        try:
            return Footer.parse(data, self.source.size)
        except REFUSALS as error:
            self._refused(error, "footer", start)
            return None

    def _schema(self, footer: Footer, tail: Tail | None, guarded: bool) -> Catalog | None:
        start, size = footer.schema_offset, footer.schema_size
        try:
            check_size("schema block", size, self.limits)
            data = memoryview(self.source.read(start, size)) if tail is None else tail.schema_block
            catalog = catalogs.parse(data, footer.compression, self.limits)
            Selection(catalog, catalog.original_order()).import_schema()
        except REFUSALS as error:
            is_plain = footer.compression.is_plain
            prefix = schema_block.PREFIX if is_plain and error.offset is not None else 0
            self._refused(error, "schema block", start + prefix, is_plain)
            return None
        self.blocks += 1
        if not guarded:
            self.unprotected += not footer.compression.has_checksum(data[schema_block.PREFIX :])
        for wrong, message in (
            (not catalog.is_sorted, "columns are not sorted by name"),
            (catalog.unread_bytes > 0, f"{catalog.unread_bytes} bytes after the content"),
            (
                catalog.num_buckets > max(1, catalog.num_columns),
                f"{catalog.num_buckets} buckets for {catalog.num_columns} columns",
            ),
        ):
            if wrong:
                self._add(Finding("warning", "schema block", message, start))
        if catalog.num_buckets != footer.num_buckets:
            message = f"{footer.num_buckets} buckets, the schema block has {catalog.num_buckets}"
            offset = self.source.size - FOOTER_SIZE + 16
            self._add(Finding("error", "footer", message, offset))
        return catalog

    def _read_index(self, footer: Footer, tail: Tail | None) -> memoryview | None:
        start = footer.index_offset
        size = footer.index_size(self.source.size)
        try:
            check_size(_INDEX, size, self.limits)
        except LimitExceededError as error:
            self._refused(error, _INDEX, start)
            return None
        return memoryview(self.source.read(start, size)) if tail is None else tail.row_group_index

    def _index(
        self, index: memoryview, footer: Footer, catalog: Catalog, annex: Annex | None
    ) -> tuple[int, int]:
        """Check the index; returns where the bytes of all buckets begin and end."""
        start = footer.index_offset
        errors = 0

        def report(severity: Severity, message: str, offset: int, row_group: int) -> None:
            nonlocal errors
            errors += severity == "error"
            number = row_group if row_group < footer.num_row_groups else None
            self._add(Finding(severity, _INDEX, message, start + offset, number))

        bounds = _Bounds(catalog)
        # Flat, because there may be millions: row group, bucket, offset, size.
        places = array("q")
        groups = walk_index(index, catalog, footer.num_row_groups, footer.schema_offset, report)
        for number, group in enumerate(groups):
            for place in group.buckets.values():
                places.extend((number, place.bucket, place.offset, place.compressed_size))
            for statistic, severity, message in bounds.faults(group.statistics):
                name = catalog.name(statistic.position)
                offset = start + statistic.place
                self._add(Finding(severity, _INDEX, message, offset, number, column=name))
        table = np.frombuffer(places, np.int64).reshape(-1, 4)
        stop = footer.schema_offset if annex is None else annex.start
        overlap = self._places(table, stop)
        if not errors and not overlap:
            try:
                row_group_index.parse(index, catalog, footer.num_row_groups, footer.schema_offset)
            except CorruptFileError as error:
                self._refused(error, _INDEX, start)
        stored = table[table[:, 3] > 0]
        if len(stored) == 0:
            return 0, 0
        return int(stored[:, 2].min()), int((stored[:, 2] + stored[:, 3]).max())

    def _places(self, places: npt.NDArray[np.int64], stop: int) -> bool:
        """Whether buckets share bytes; reports that, and bytes that belong to no bucket."""
        places = places[np.argsort(places[:, 2], kind="stable")]
        starts, sizes = places[:, 2], places[:, 3]
        # The end of all earlier buckets.
        reached = np.concatenate(([0], np.maximum.accumulate(starts + sizes)))
        overlaps = np.flatnonzero(starts < reached[:-1]).tolist()
        for place in overlaps:
            row_group, bucket, offset, size = places[place].tolist()
            shared = min(int(reached[place]) - offset, size)
            message = f"shares {shared} bytes with an earlier bucket"
            structure = f"row group {row_group}, bucket {bucket}"
            self._add(Finding("error", structure, message, offset, row_group, bucket))
        starts = np.append(starts, stop)
        for place in np.flatnonzero(starts > reached).tolist():
            self._gap(int(reached[place]), int(starts[place]))
        return bool(overlaps)

    def _gap(self, start: int, stop: int) -> None:
        message = f"{stop - start} bytes that belong to no structure"
        self._add(Finding("warning", "file", message, start))

    def _buckets(
        self,
        index: memoryview,
        footer: Footer,
        catalog: Catalog,
        annex: Annex | None,
        data: DataChecksum,
    ) -> None:
        empty = row_group_index.parse(b"", catalog, 0, 0)
        head = FileHead(self.source.name, self.source.size, footer, catalog, empty, annex, None)
        check = BucketCheck(head.open(self.source, self.limits))
        # Walked again instead of kept: statistics of many row groups take much memory as objects.
        groups = walk_index(
            index, catalog, footer.num_row_groups, footer.schema_offset, lambda *_: None
        )
        work = self._checks(groups, catalog, data)
        for report in ordered_map(lambda item: check.run(*item), work, self.use_threads):
            self._take(report)

    def _checks(
        self, row_groups: Iterator[WalkedRowGroup], catalog: Catalog, checksum: DataChecksum
    ) -> Iterator[tuple[int, int, BucketPlace, memoryview, list[Statistic]]]:
        """The buckets to check, with their bytes."""
        positions = np.arange(catalog.num_columns, dtype=np.int64)
        owners = buckets_of(catalog, positions)
        buckets = np.unique(owners).tolist()
        for number, group in enumerate(row_groups):
            if group.num_rows == 0:
                continue
            missing = 0
            statistics: dict[int, list[Statistic]] = {}
            for statistic in group.statistics:
                statistics.setdefault(int(owners[statistic.position]), []).append(statistic)
            for bucket in buckets:
                if bucket in group.doubtful:
                    continue
                place = group.buckets.get(bucket)
                missing += place is None
                place = place or BucketPlace(bucket)
                data = memoryview(self.source.read(place.offset, place.compressed_size))
                if not place.missing:
                    checksum.add(place.offset, data)
                yield number, group.num_rows, place, data, statistics.get(bucket, [])
            if missing:
                message = (
                    f"{missing} of {len(buckets)} buckets are not stored: their columns read as "
                    "nulls, and the reference implementation drops them"
                )
                self._add(Finding("warning", f"row group {number}", message, row_group=number))

    def _take(self, report: BucketReport) -> None:
        self.blocks += report.blocks
        self.unprotected += report.unprotected
        for note in report.notes:
            self._add(_finding(note, report))
        self._advance(report.place.compressed_size)


def _finding(note: Note, report: BucketReport) -> Finding:
    place = report.place
    offset = place.offset if place.compressed_size else None
    where = (offset, report.row_group, place.bucket, note.column)
    return Finding(note.severity, note.structure, note.message, *where)


class _Bounds:
    """Check that minimum and maximum of statistics are valid values, in order."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._types: dict[int, pa.DataType] = {}

    def faults(
        self, statistics: list[Statistic]
    ) -> Iterator[tuple[Statistic, Literal["error", "warning"], str]]:
        """The invalid ones, with the reason."""
        new = sorted({s.position for s in statistics} - self._types.keys())
        schema = Selection(self._catalog, np.array(new, np.int64)).import_schema()
        self._types.update(zip(new, schema.types, strict=True))
        for statistic in statistics:
            if statistic.minimum is None or statistic.maximum is None:
                continue
            arrow_type = self._types[statistic.position]
            try:
                low = order_key(decode_value(statistic.minimum, arrow_type))
                high = order_key(decode_value(statistic.maximum, arrow_type))
            except CorruptFileError as error:
                yield statistic, "error", error.reason
                continue
            if low != low or high != high:
                yield statistic, "warning", "a bound is NaN, which readers ignore"
            elif low > high:  # type: ignore[operator]
                message = "the minimum is above the maximum: readers ignore both"
                yield statistic, "warning", message
