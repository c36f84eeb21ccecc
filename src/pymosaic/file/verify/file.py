"""Verification: walk a whole file, check everything, and tell of all that is wrong with it.

::

    footer ─► schema block ─► index (walk_index) ─► places of buckets ─► each bucket, decoded
                                                                         └► against its statistics

The reader stops at the first fault that it meets; this goes on wherever it can. Nothing is written.
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
from pymosaic.file.open_file import FileHead
from pymosaic.file.row_group_reader import Selection
from pymosaic.file.tail import check_size
from pymosaic.file.verify.bucket import REFUSALS, BucketCheck, BucketReport, Note, Refusal
from pymosaic.file.verify.index import Statistic, WalkedRowGroup, walk_index
from pymosaic.format import schema_block
from pymosaic.format.bucket import BucketPlace, buckets_of
from pymosaic.format.footer import FOOTER_SIZE, MAGIC, Footer
from pymosaic.io import Source, SourceLike, open_source
from pymosaic.kernels import row_group_index
from pymosaic.kernels.catalog import Catalog
from pymosaic.keywords import checked_keywords
from pymosaic.limits import Limits
from pymosaic.threads import ordered_map

__all__ = ["Finding", "verify"]

Severity: TypeAlias = Literal["error", "warning", "info"]
Progress: TypeAlias = Callable[[int, int | None, str], None]

# A file can be wrong in more places than anybody wants to read of.
_MAX_FINDINGS = 1000
_RESERVED = struct.Struct(">26xH4x")
_INDEX = "row group index"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a file, or worth to know.

    Parameters
    ----------
    severity : str
        ``"error"``: the file breaks the format, or its data is not what it says. ``"warning"``:
        readers must take it, but no known writer does it. ``"info"``: all is well, and yet.
    structure : str
        Where: ``"footer"``, ``"schema block"``, ``"row group index"``, ``"row group 0, bucket 3"``.
    message : str
        What, and what would be right.
    offset : int or None
        The byte of the file: of the fault itself, or where the compressed structure starts that
        it is in.
    row_group, bucket : int or None
        Numbers, where it is in one.
    column : str or None
        The column, where one alone is concerned.
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
    """Check a whole file, every checksum and value of it, and list what is wrong.

    It goes on after a fault wherever it can, decodes bucket by bucket, and never writes.

    Parameters
    ----------
    source : str, path-like, bytes-like or binary file object
        As for :class:`pymosaic.MosaicFile`.
    deep : bool
        Read, decompress and decode all buckets, and compare them with the stored statistics.
        Without, only what is around them is checked: footer, schema block, index, places.
    progress : callable, optional
        Called as ``progress(done, total, "bytes")``, first with 0 and at last with
        ``done == total``; what it raises ends the work.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        Where ``source``, then a path, is looked up.
    limits : Limits, optional
        Caps that the file is held to.
    use_threads : bool
        Decode on several threads, a few buckets at a time.

    Returns
    -------
    list of Finding
        Empty for a file that is whole and has checksums. One without them has a finding of
        severity ``"info"`` that says so: damage to its values cannot be seen.

    Examples
    --------
    >>> import pathlib, pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"age": [31, 52]}), "ages.mosaic")
    >>> pymosaic.verify("ages.mosaic")
    []
    >>> data = bytearray(pathlib.Path("ages.mosaic").read_bytes())
    >>> data[20] ^= 1
    >>> for finding in pymosaic.verify(data):
    ...     print(finding)
    error: row group 0, bucket 0 (byte 0): zstd: decompression error: ...
    """
    if limits is not None and not isinstance(limits, Limits):
        raise InvalidOptionError(f"limits must be a pymosaic.Limits, got {limits!r}")
    opened = open_source(source, filesystem)
    try:
        return _Verification(opened, limits or Limits(), deep, progress, use_threads).run()
    finally:
        opened.close()


class _TooMany(Exception):
    """More findings than are listed."""


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
            message = f"there is more; the first {_MAX_FINDINGS} findings are listed"
            self.findings.append(Finding("info", "file", message))
        self._advance(self.source.size - self.done)
        return self.findings

    def _advance(self, count: int) -> None:
        # Buckets that overlap would else count twice.
        self.done = min(self.done + count, self.source.size)
        if self.progress is not None:
            self.progress(self.done, self.source.size, "bytes")

    def _add(self, finding: Finding) -> None:
        if len(self.findings) == _MAX_FINDINGS:
            raise _TooMany
        self.findings.append(finding)

    def _refused(self, error: Refusal, structure: str, start: int, inside: bool = True) -> None:
        """Take in an error of the reader's; ``start`` is where its structure starts."""
        # In what is compressed, offsets are those of the content.
        offset = start + (error.offset or 0) if inside else start
        self._add(Finding("error", structure, error.reason, offset))

    def _file(self) -> None:
        footer = self._footer()
        if footer is None:
            return
        catalog = self._schema(footer)
        if catalog is None:
            message = "not checked, nor are buckets: that needs the schema block"
            self._add(Finding("warning", _INDEX, message, footer.index_offset))
            return
        index = self._read_index(footer)
        if index is not None:
            self._index(index, footer, catalog)
            if self.deep:
                self._buckets(index, footer, catalog)
        if self.unprotected:
            message = (
                f"{self.unprotected} of {self.blocks} blocks that were checked have no checksum: "
                "damage to their values can go unnoticed"
            )
            self._add(Finding("info", "file", message))

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

    def _schema(self, footer: Footer) -> Catalog | None:
        start, size = footer.schema_offset, footer.schema_size
        try:
            check_size("schema block", size, self.limits)
            data = memoryview(self.source.read(start, size))
            catalog = catalogs.parse(data, footer.compression, self.limits)
            Selection(catalog, catalog.original_order()).import_schema()
        except REFUSALS as error:
            is_plain = footer.compression.is_plain
            prefix = schema_block.PREFIX if is_plain and error.offset is not None else 0
            self._refused(error, "schema block", start + prefix, is_plain)
            return None
        self.blocks += 1
        self.unprotected += not footer.compression.has_checksum(data[schema_block.PREFIX :])
        for wrong, message in (
            (not catalog.is_sorted, "columns are not in the order of their names"),
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

    def _read_index(self, footer: Footer) -> memoryview | None:
        start = footer.index_offset
        size = footer.index_size(self.source.size)
        try:
            check_size(_INDEX, size, self.limits)
        except LimitExceededError as error:
            self._refused(error, _INDEX, start)
            return None
        return memoryview(self.source.read(start, size))

    def _index(self, index: memoryview, footer: Footer, catalog: Catalog) -> None:
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
        overlap = self._places(np.frombuffer(places, np.int64).reshape(-1, 4), footer)
        if not errors and not overlap:
            try:
                row_group_index.parse(index, catalog, footer.num_row_groups, footer.schema_offset)
            except CorruptFileError as error:
                self._refused(error, _INDEX, start)

    def _places(self, places: npt.NDArray[np.int64], footer: Footer) -> bool:
        """Whether buckets share bytes; tells of that, and of bytes in no bucket."""
        places = places[np.argsort(places[:, 2], kind="stable")]
        starts, sizes = places[:, 2], places[:, 3]
        # How far all buckets before one reach.
        reached = np.concatenate(([0], np.maximum.accumulate(starts + sizes)))
        overlaps = np.flatnonzero(starts < reached[:-1]).tolist()
        for place in overlaps:
            row_group, bucket, offset, size = places[place].tolist()
            shared = min(int(reached[place]) - offset, size)
            message = f"shares {shared} bytes with a bucket before it"
            structure = f"row group {row_group}, bucket {bucket}"
            self._add(Finding("error", structure, message, offset, row_group, bucket))
        starts = np.append(starts, footer.schema_offset)
        for place in np.flatnonzero(starts > reached).tolist():
            self._gap(int(reached[place]), int(starts[place]))
        return bool(overlaps)

    def _gap(self, start: int, stop: int) -> None:
        message = f"{stop - start} bytes that belong to nothing"
        self._add(Finding("warning", "file", message, start))

    def _buckets(self, index: memoryview, footer: Footer, catalog: Catalog) -> None:
        empty = row_group_index.parse(b"", catalog, 0, 0)
        head = FileHead(self.source.name, self.source.size, footer, catalog, empty, None)
        check = BucketCheck(head.open(self.source, self.limits))
        # Walked again instead of kept: statistics of many row groups take much memory as objects.
        groups = walk_index(
            index, catalog, footer.num_row_groups, footer.schema_offset, lambda *_: None
        )
        work = self._checks(groups, catalog)
        for report in ordered_map(lambda item: check.run(*item), work, self.use_threads):
            self._take(report)

    def _checks(
        self, row_groups: Iterator[WalkedRowGroup], catalog: Catalog
    ) -> Iterator[tuple[int, int, BucketPlace, memoryview, list[Statistic]]]:
        """What to check, bucket by bucket, with its bytes."""
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
                yield number, group.num_rows, place, data, statistics.get(bucket, [])
            if missing:
                message = (
                    f"{missing} of {len(buckets)} buckets are not stored: their columns read as "
                    "nulls, and vanish with the reference"
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
    """Whether minimum and maximum of statistics are values of their type, in order."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._types: dict[int, pa.DataType] = {}

    def faults(
        self, statistics: list[Statistic]
    ) -> Iterator[tuple[Statistic, Literal["error", "warning"], str]]:
        """Those that are not, and why."""
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
                yield statistic, "warning", "a bound is NaN, which readers take for none"
            elif low > high:  # type: ignore[operator]
                message = "the minimum is above the maximum: readers use neither"
                yield statistic, "warning", message
