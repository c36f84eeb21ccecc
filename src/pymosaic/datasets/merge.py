"""Merging files by copying their bytes.

Row groups do not depend on the file that contains them: buckets are found through the index alone,
and statistics are stored with their row group. So files whose schema blocks have the same content
(columns, types, order, number of buckets) and that have the same compression are merged by copying
the bytes of their buckets, one file after another, and writing one index with the offsets of
buckets adjusted::

    [buckets of file 0][buckets of file 1] … [annex][schema block of file 0][indexes, moved][footer]

Nothing is decompressed. Checksums are preserved, and the columns with statistics may differ between
row groups. If all files are guarded by an annex, the new file is; the bytes that are copied are
compared with the checksums in theirs. If one is not, nothing vouches for its part of the index, and
the new file has no annex. Metadata that is the same in all files is kept, and dictionaries are
united.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

from pymosaic.errors import (
    CorruptFileError,
    InvalidDataError,
    InvalidOptionError,
    LimitExceededError,
    located,
)
from pymosaic.file.merged_metadata import check_units, merged_metadata
from pymosaic.file.open_file import FileHead, OpenFile, head_of
from pymosaic.file.plan import plan_row_group
from pymosaic.file.row_group_reader import BucketLoader, RowGroupReader
from pymosaic.file.tail import GuardedData, check_size, read_tail, write_tail
from pymosaic.format.annex import METADATA_SECTIONS, check_body
from pymosaic.format.row_group_index import bucket_place
from pymosaic.io import Sink, SinkLike, Source, SourceLike, open_sink, open_source
from pymosaic.keywords import checked_keywords
from pymosaic.limits import DEFAULT_LIMITS, Limits
from pymosaic.notebook import ShownFields
from pymosaic.progress import Meter, Progress
from pymosaic.threads import ordered_map, split_evenly

__all__ = ["MergeReport", "merge"]

_COPY_BYTES = 8 << 20
_VERIFY_BYTES = 32 << 20
_U32_MAX = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class MergeReport(ShownFields):
    """The result of a merge: the number of input files, and the contents of the new file."""

    num_files: int
    num_row_groups: int
    num_rows: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class _Input:
    """A file to copy; its buckets are from ``start`` to ``stop``."""

    source: SourceLike
    name: str
    head: FileHead
    start: int
    stop: int
    metadata: dict[int, bytes]


@dataclass(slots=True)
class _Guarded:
    """Checksums of what has been copied."""

    checksum: int = 0
    bucket_checksums: array[int] = field(default_factory=lambda: array("I"))


@checked_keywords()
def merge(
    files: Iterable[SourceLike],
    out: SinkLike,
    *,
    verify: bool = False,
    filesystem: object = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> MergeReport:
    """Concatenate files with the same schema, without decoding or compressing anything.

    The new file has the row groups of all files, in order. It appears when it is complete, and may
    replace one of the files. It has an annex if all files have one with checksums.

    Parameters
    ----------
    files : iterable of str, path-like, bytes-like or binary file objects
        They must have the same columns in the same order, the same number of buckets, and the same
        compression.
    out : str, path-like or binary file object
        The file to write.
    verify : bool
        Decompress every bucket before copying it, which checks its checksum and structure.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of the paths in ``files`` and ``out``.
    limits : Limits, optional
        Caps on what a file may demand.
    progress : callable, optional
        Called with bytes copied, total bytes and ``"bytes"``.

    Returns
    -------
    MergeReport

    Raises
    ------
    InvalidDataError
        If the files do not have the same schema; the message names two that differ, and how.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> for day in range(3):
    ...     pymosaic.write_table(pa.table({"day": [day], "n": [1]}), f"{day}.mosaic")
    >>> report = pymosaic.merge([f"{day}.mosaic" for day in range(3)], "all.mosaic")
    >>> report.num_rows, report.num_row_groups
    (3, 3)
    >>> pymosaic.read_table("all.mosaic").column("day").to_pylist()
    [0, 1, 2]
    """
    if isinstance(files, str | bytes | bytearray | memoryview):
        raise InvalidOptionError(f"files must be a list of files, got {type(files).__name__}")
    limits = DEFAULT_LIMITS if limits is None else limits
    inputs, block = _open_inputs(list(files), filesystem, limits)
    sink = open_sink(out, _filesystem_of(out, filesystem))
    try:
        report = _glue(inputs, block, sink, filesystem, limits, verify, progress)
        sink.commit()
    except BaseException:
        sink.abort()
        raise
    return report


def _filesystem_of(place: Any, filesystem: object) -> object:
    """The file system of an entry; None for file objects and bytes."""
    return filesystem if isinstance(place, str) or hasattr(place, "__fspath__") else None


def _open_inputs(
    files: list[SourceLike], filesystem: object, limits: Limits
) -> tuple[list[_Input], bytes]:
    """Check all files before anything is written; also returns the first one's schema block."""
    if not files:
        raise InvalidOptionError("files must not be empty")
    inputs: list[_Input] = []
    block = content = b""
    for number, file in enumerate(files):
        source = open_source(file, _filesystem_of(file, filesystem))
        name = source.name or f"file {number}"
        try:
            with located(name):
                tail = read_tail(source, limits)
                found = tail.schema_content(limits)
                if not inputs:
                    block, content = bytes(tail.schema_block), found
                catalog = inputs[0].head.catalog if inputs and found == content else None
                head = head_of(tail, source, limits, catalog)
                metadata = _metadata(head, source, limits)
        finally:
            if source is not file:
                source.close()
        opened = _Input(file, name, head, *head.index.extent(), metadata)
        inputs.append(opened)
        if found != content or head.compression is not inputs[0].head.compression:
            raise InvalidDataError(
                f"{name} cannot be merged with {inputs[0].name}: {_difference(inputs[0], opened)}"
            )
    check_units([item.metadata for item in inputs], inputs[0].head.catalog, limits)
    return inputs, block


def _difference(first: _Input, second: _Input) -> str:
    if first.head.compression is not second.head.compression:
        compressed = second if first.head.compression.is_plain else first
        return f"{compressed.name} is compressed, and the other is not"
    one, other = first.head.catalog, second.head.catalog
    if one.num_buckets != other.num_buckets:
        return (
            f"they have {one.num_buckets} and {other.num_buckets} buckets "
            f"({one.num_columns} and {other.num_columns} columns)"
        )
    names = one.names(), other.names()
    for here, names_here, names_there in (
        (first, names[0], set(names[1])),
        (second, names[1], set(names[0])),
    ):
        for name in names_here:
            if name not in names_there:
                return f"only {here.name} has a column {name!r}"
    for position, name in enumerate(names[0]):
        if one.type_of(position) != other.type_of(other.find(name)):
            return f"column {name!r} has different types"
    return "the column order or nested types differ"


def _glue(
    inputs: list[_Input],
    block: bytes,
    sink: Sink,
    filesystem: object,
    limits: Limits,
    verify: bool,
    progress: Progress | None,
) -> MergeReport:
    start = sink.position
    meter = Meter(progress, sum(item.stop - item.start for item in inputs), "bytes")
    index = bytearray()
    first = inputs[0].head
    guarded = _Guarded() if all(item.head.guarded for item in inputs) else None
    for item in inputs:
        index += item.head.index.shifted(sink.position - item.start)
        if len(index) > limits.max_index_bytes:
            raise LimitExceededError(
                f"an index of {len(index)} bytes exceeds Limits.max_index_bytes "
                f"({limits.max_index_bytes}): merge fewer files",
                sink.name,
            )
        source = open_source(item.source, _filesystem_of(item.source, filesystem))
        try:
            if source.size != item.head.size:
                raise CorruptFileError("the file changed while it was being read", item.name)
            if verify:
                with located(item.name):
                    _verify(item.head.open(source, limits))
            copied = 0
            for offset in range(item.start, item.stop, _COPY_BYTES):
                length = min(_COPY_BYTES, item.stop - offset)
                data = source.read(offset, length)
                sink.write(data)
                meter.add(length)
                if item.head.guarded:
                    copied = crc32(data, copied)
                if guarded is not None:
                    guarded.checksum = crc32(data, guarded.checksum)
            _compare(item, copied)
            if guarded is not None and first.compression.is_plain:
                guarded.bucket_checksums += _bucket_checksums(item, source)
        finally:
            if source is not item.source:
                source.close()
    num_row_groups = sum(item.head.index.num_row_groups for item in inputs)
    if num_row_groups > _U32_MAX:
        raise InvalidDataError(f"{num_row_groups} row groups are too many for one file")
    write_tail(
        sink,
        block,
        bytes(index),
        num_buckets=first.catalog.num_buckets,
        num_row_groups=num_row_groups,
        compression=first.compression,
        guarded=None
        if guarded is None
        else GuardedData(
            guarded.checksum,
            guarded.bucket_checksums,
            merged_metadata([item.metadata for item in inputs], first.catalog.num_columns, limits),
        ),
    )
    meter.finish()
    num_rows = sum(item.head.index.num_rows for item in inputs)
    return MergeReport(len(inputs), num_row_groups, num_rows, sink.position - start)


def _metadata(head: FileHead, source: Source, limits: Limits) -> dict[int, bytes]:
    """The sections of metadata in the annex of a file, by type."""
    found = {}
    for section in () if head.annex is None else head.annex.sections:
        if section.kind in METADATA_SECTIONS:
            check_size("annex", section.size, limits)
            found[section.kind] = bytes(source.read(section.start, section.size))
            check_body(section, found[section.kind])
    return found


def _compare(item: _Input, copied: int) -> None:
    """Compare the checksum of the copied bytes with that in the annex of their file."""
    annex = item.head.annex
    if annex is None or annex.integrity is None:
        return
    # Bytes between buckets and annex are covered, but not copied.
    if item.stop in (annex.start, 0) and copied != annex.integrity.data:
        raise CorruptFileError(
            "the buckets do not match their common checksum in the annex", item.name
        )


def _bucket_checksums(item: _Input, source: Source) -> array[int]:
    """The checksums of all buckets of a file without compression."""
    annex, index = item.head.annex, item.head.index
    num_buckets = item.head.catalog.num_buckets
    checksums = array("I")
    for row_group in range(index.num_row_groups):
        for bucket in range(num_buckets):
            known = None if annex is None else annex.bucket_checksum(row_group, bucket)
            if known is None:
                place = bucket_place(index, row_group, bucket)
                known = crc32(source.read(place.offset, place.compressed_size))
            checksums.append(known)
    return checksums


def _verify(file: OpenFile) -> None:
    """Decompress every block, which checks its checksum, and check its structure."""
    for _ in ordered_map(_walk, _fetch_buckets(file), use_threads=True):
        pass


def _fetch_buckets(file: OpenFile) -> Iterator[BucketLoader]:
    positions = np.arange(file.catalog.num_columns)
    for row_group in range(file.index.num_row_groups):
        plans = plan_row_group(file.catalog, file.index, row_group, positions)
        sizes = [plan.place.compressed_size for plan in plans]
        for run in split_evenly(plans, sizes, -(-sum(sizes) // _VERIFY_BYTES)):
            yield from RowGroupReader(file, row_group, use_threads=False).fetch(run)


def _walk(loader: BucketLoader) -> None:
    loader.load()
    loader.decoder.locate_all()
