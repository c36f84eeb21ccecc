"""Stored heads: the ends of many files of a dataset in one file, to open it without opening them.

Upkeep puts what planning needs of files that jobs have published, everything behind their buckets,
into packs, ``_mosaic/heads-<count>-<id>.pack``::

    8 bytes    MOSHEADS
    32 bytes   SHA-256 of everything below
    8 bytes    size of the compressed directory, little-endian
    8 bytes    its size when decompressed
    …          directory: JSON, compressed with zstd
    …          blobs, one after the other; equal ones, as schema blocks often are, are stored once

The directory has the lengths of the blobs and, for each file, its path, its size, when it was
changed, and three blobs: what is before its schema block, this, and what is after it.

Only files of jobs are stored, whose names are never used again. Packs are a cache: a file's own end
is read if no pack has it, if the pack is damaged or gone, or if size or time differ. A pack never
decides which files are part of the dataset. The bytes are parsed and checked as if they had been
read from the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pymosaic.datasets.records import RECORDS_DIRECTORY, is_same_time, job_of
from pymosaic.errors import CorruptFileError, MosaicError, located
from pymosaic.file.catalogs import catalogs
from pymosaic.file.open_file import FileHead, head_of
from pymosaic.file.tail import read_from, read_tail
from pymosaic.format.footer import Footer
from pymosaic.io import Directory, Source, open_source, resolve_location, status_of
from pymosaic.limits import DEFAULT_LIMITS, Limits

__all__ = [
    "StoredHead",
    "emit_pack",
    "load_packs",
    "pack_name",
    "pack_names",
    "parse_pack",
    "read_end",
    "read_ends",
]

_MAGIC = b"MOSHEADS"
_SIZES = struct.Struct("<QQ")
_BODY = len(_MAGIC) + hashlib.sha256().digest_size
_NAME = re.compile(r"heads-([0-9]{1,9})-[0-9a-f]{32}\.pack")
_MAX_DIRECTORY_BYTES = 64 << 20
# Of the packs of a dataset that a reader loads, and of one file's index.
_MAX_LOADED_BYTES = 256 << 20
_MAX_END_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class StoredHead:
    """What is stored of a file.

    Parameters
    ----------
    path : str
        Relative to the base.
    size : int
    modified : float
        When it was changed, by the file system's clock.
    before : bytes-like
        The last bytes before the schema block: an annex, if it has one.
    schema_block : bytes-like
    after : bytes-like
        Its row group index and footer.
    """

    path: str
    size: int
    modified: float
    before: bytes | memoryview
    schema_block: bytes | memoryview
    after: bytes | memoryview

    @property
    def blobs(self) -> tuple[bytes | memoryview, ...]:
        """Its bytes, in three parts."""
        return self.before, self.schema_block, self.after

    @property
    def num_bytes(self) -> int:
        """Its size, without the schema block, which files share."""
        return len(self.before) + len(self.after)

    def head(
        self, name: str, version: object, limits: Limits, *, keeps_metadata: bool = False
    ) -> FileHead:
        """The head of the file, checked as if it had been read from there.

        Raises
        ------
        MosaicError
            If the bytes are not those of the end of a file of this size.
        """
        source = _StoredSource(name, self, version)
        with located(name):
            tail = read_tail(source, limits)
            catalog = None
            if tail.schema_block == self.schema_block:
                # The same object for all files of a pack, which is hashed once.
                catalog = catalogs.parse(self.schema_block, tail.footer.compression, limits)
            return head_of(tail, source, limits, catalog, keeps_metadata=keeps_metadata)

    def is_of(self, size: int | None, modified: float | None) -> bool:
        """Whether a file of this size, changed then, is the one that this was read from."""
        return self.size == size and modified is not None and is_same_time(self.modified, modified)


class _StoredSource(Source):
    """The end of a file that is stored; the rest of the file cannot be read."""

    def __init__(self, name: str, stored: StoredHead, version: object) -> None:
        super().__init__(name, stored.size)
        self._end = memoryview(b"".join((stored.before, stored.schema_block, stored.after)))
        self._start = stored.size - len(self._end)
        self.tail_bytes = len(self._end)
        self.version = version

    def _read_once(self, offset: int, length: int) -> memoryview:
        if offset < self._start:
            raise CorruptFileError("too little of its end is stored", self.name)
        return self._end[offset - self._start : offset - self._start + length]


def pack_names(names: Iterable[str]) -> dict[str, int]:
    """Those of the names in ``_mosaic`` that are packs, each with its number of files.

    Examples
    --------
    >>> pack_names(["heads-7-0123456789abcdef0123456789abcdef.pack", "heads-x.pack"])
    {'heads-7-0123456789abcdef0123456789abcdef.pack': 7}
    """
    return {name: int(match[1]) for name in names if (match := _NAME.fullmatch(name)) is not None}


def pack_name(count: int) -> str:
    """A new name for a pack."""
    return f"heads-{count}-{uuid.uuid4().hex}.pack"


def emit_pack(heads: Sequence[StoredHead]) -> bytes:
    """The content of a pack."""
    places: dict[bytes, int] = {}
    files = [
        [
            head.path,
            head.size,
            head.modified,
            *(places.setdefault(bytes(blob), len(places)) for blob in head.blobs),
        ]
        for head in heads
    ]
    content = {"version": 1, "blobs": [len(blob) for blob in places], "files": files}
    raw = json.dumps(content, separators=(",", ":")).encode()
    directory = pa.compress(raw, codec="zstd", asbytes=True)
    body = b"".join((_SIZES.pack(len(directory), len(raw)), directory, *places))
    return _MAGIC + hashlib.sha256(body).digest() + body


def parse_pack(content: bytes, path: str) -> list[StoredHead]:
    """Read a pack. Checked: checksum, sizes and places; blobs are checked when they are used."""
    view = memoryview(content)
    if len(content) < _BODY + _SIZES.size or content[: len(_MAGIC)] != _MAGIC:
        raise CorruptFileError("not a pack of heads", path)
    if hashlib.sha256(view[_BODY:]).digest() != content[len(_MAGIC) : _BODY]:
        raise CorruptFileError("the checksum does not match: the file is damaged", path)
    size, raw_size = _SIZES.unpack_from(view, _BODY)
    start = _BODY + _SIZES.size
    if size > len(content) - start or raw_size > _MAX_DIRECTORY_BYTES:
        raise CorruptFileError("the directory of a pack is too large", path)
    try:
        raw = pa.decompress(view[start : start + size], raw_size, codec="zstd", asbytes=True)
        parsed = json.loads(raw)
        if parsed["version"] != 1:
            raise CorruptFileError("not a pack of version 1", path)
        blobs = list(_cut(view[start + size :], parsed["blobs"]))
        # One object for each, which is hashed and parsed once.
        schemas = {number: bytes(blobs[number]) for number in {x[4] for x in parsed["files"]}}
        return [_parse_file(item, blobs, schemas) for item in parsed["files"]]
    # pyarrow's own errors are of these kinds.
    except (ValueError, TypeError, LookupError, OSError, RecursionError) as error:
        raise CorruptFileError(f"the directory of a pack is damaged ({error})", path) from error


def _cut(view: memoryview, lengths: list[Any]) -> Iterator[memoryview]:
    start = 0
    for length in lengths:
        if not isinstance(length, int) or not 0 <= length <= len(view) - start:
            raise ValueError("a blob ends behind the file")
        yield view[start : start + length]
        start += length


def _parse_file(item: list[Any], blobs: list[memoryview], schemas: dict[int, bytes]) -> StoredHead:
    path, size, modified, before, schema_block, after = item
    places = (before, schema_block, after)
    is_valid = (
        isinstance(path, str)
        and job_of(path) is not None
        and isinstance(modified, int | float)
        and math.isfinite(modified)
        and all(isinstance(number, int) for number in (size, *places))
        and min(places) >= 0
        and max(places) < len(blobs)
        and size >= sum(len(blobs[place]) for place in places)
    )
    if not is_valid:
        raise ValueError("a file is not described as it should be")
    return StoredHead(path, size, modified, blobs[before], schemas[schema_block], blobs[after])


def load_packs(storage: Directory, sizes: Mapping[str, int]) -> dict[str, list[StoredHead]]:
    """Read packs, given as names with their sizes; those that are gone or damaged are left out."""
    names = []
    total = 0
    for name, size in sorted(sizes.items(), key=lambda item: item[1]):
        total += size
        if total <= _MAX_LOADED_BYTES:
            names.append(name)

    def load(name: str) -> list[StoredHead] | None:
        path = f"{RECORDS_DIRECTORY}/{name}"
        try:
            return parse_pack(storage.read(path), storage.full_path(path))
        except (OSError, MosaicError):
            return None

    loaded = zip(names, storage.each(load, names), strict=True)
    return {name: heads for name, heads in loaded if heads is not None}


def read_ends(
    storage: Directory, files: Iterable[tuple[str, float | None]]
) -> Iterator[StoredHead]:
    """Read the ends of files, given as paths with the times of a listing, if any.

    Files that cannot be read, and those with large indexes, are left out.
    """

    def read(file: tuple[str, float | None]) -> StoredHead | None:
        path, modified = file
        return read_end(path, storage.full_path(path), storage.filesystem, modified)

    return (head for head in storage.each(read, files) if head is not None)


def read_end(
    path: str, full_path: str, filesystem: object, modified: float | None = None
) -> StoredHead | None:
    """Read the end of a file; None if it cannot be read, or has a large index.

    Parameters
    ----------
    path : str
        What to call it.
    full_path : str
        Where it is.
    filesystem : object
    modified : float, optional
        When it was changed; asked for if not given.
    """
    with suppress(OSError, MosaicError):
        if modified is None:
            modified = _modified(full_path, filesystem)
        source = open_source(full_path, filesystem)
        try:
            end, footer = _end_of(source, DEFAULT_LIMITS)
            size = source.size
        finally:
            source.close()
        schema, index = footer.schema_offset - size, footer.index_offset - size
        stored = StoredHead(
            path, size, modified or 0.0, end[:schema], end[schema:index], end[index:]
        )
        if modified is not None and stored.num_bytes <= _MAX_END_BYTES:
            return stored
    return None


def _end_of(source: Source, limits: Limits) -> tuple[bytes, Footer]:
    """All that is read of a file when it is opened, and all that is not part of a bucket."""
    tail = read_tail(source, limits)
    head = head_of(tail, source, limits)
    _, data_stop = head.index.extent()
    start = min(data_stop, read_from(head.footer))
    if start >= tail.start:
        return bytes(tail.data[start - tail.start :]), head.footer
    return bytes(source.read(start, source.size - start)), head.footer


def _modified(path: str, filesystem: object) -> float | None:
    status = status_of(resolve_location(path, filesystem))
    return None if status is None else status.modified
