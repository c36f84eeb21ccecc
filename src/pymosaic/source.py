"""Where bytes come from: paths, URIs, buffers, file objects, pyarrow.fs and fsspec file systems.

::

    path, URI, file system ─► resolve_location ─┐
    bytes, Buffer, file object ─────────────────┴► open_source ─► Source
    Source.read_ranges ─► merge_ranges ─► one read per extent ─► slices, not copied

Every read is checked against the size found at open, so a wild offset never reaches the operating
system. Local files are read with ``pread`` and never mapped: a file that shrinks while it is open
gives an error, not SIGBUS. Exceptions of the caller's file object or file system come through
unchanged; bytes that are missing are a :class:`~pymosaic.errors.CorruptFileError`.
"""

from __future__ import annotations

import abc
import errno
import io
import os
import stat
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import IO, Any, NoReturn, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import pyarrow as pa

from pymosaic.errors import ClosedError, CorruptFileError, InvalidOptionError
from pymosaic.kernels.descriptor import Descriptor
from pymosaic.threads import read_map

__all__ = [
    "LOCAL_MERGE_GAP",
    "LOCAL_TAIL_BYTES",
    "MAX_MERGED_BYTES",
    "REMOTE_MERGE_GAP",
    "REMOTE_TAIL_BYTES",
    "Extent",
    "Location",
    "Source",
    "SourceLike",
    "check_ability",
    "check_binary",
    "check_regular",
    "merge_ranges",
    "open_source",
    "resolve_location",
]

LOCAL_TAIL_BYTES = 128 << 10
REMOTE_TAIL_BYTES = 512 << 10
LOCAL_MERGE_GAP = 4 << 10
REMOTE_MERGE_GAP = 1 << 20
MAX_MERGED_BYTES = 64 << 20
_REMOTE_PARALLEL_READS = 16


@dataclass(frozen=True, slots=True)
class Extent:
    """One read that serves several ranges; ``members`` are their positions in the caller's list."""

    offset: int
    length: int
    members: tuple[int, ...]


def merge_ranges(ranges: Sequence[tuple[int, int]], gap: int, max_bytes: int) -> list[Extent]:
    """Group byte ranges into reads.

    Parameters
    ----------
    ranges : sequence of (offset, length)
        In any order; they may overlap or repeat.
    gap : int
        Ranges at most this many bytes apart share a read.
    max_bytes : int
        No read grows beyond this by merging; a single longer range is one read.

    Returns
    -------
    list of Extent
        By rising offset. Empty ranges need no read and are members of none.

    Examples
    --------
    >>> merge_ranges([(100, 10), (0, 10), (12, 8)], gap=4, max_bytes=1 << 20)
    [Extent(offset=0, length=20, members=(1, 2)), Extent(offset=100, length=10, members=(0,))]
    """
    extents: list[Extent] = []
    members: list[int] = []
    start = end = 0
    occupied = (index for index, (_, length) in enumerate(ranges) if length > 0)
    for index in sorted(occupied, key=lambda index: ranges[index][0]):
        offset, length = ranges[index]
        reach = max(end, offset + length)
        if members and offset - end <= gap and (reach == end or reach - start <= max_bytes):
            end = reach
            members.append(index)
            continue
        if members:
            extents.append(Extent(start, end - start, tuple(members)))
        start, end, members = offset, offset + length, [index]
    if members:
        extents.append(Extent(start, end - start, tuple(members)))
    return extents


class Source(abc.ABC):
    """Bytes at known positions. Safe to share between threads.

    Attributes
    ----------
    name : str or None
        Path or URI for messages; None where there is none.
    size : int
        Total bytes, as found at open.
    tail_bytes : int
        How much of the end to read first when a file is opened.
    merge_gap : int
        Ranges at most this far apart are read as one; may be changed at any time.
    parallel_reads : int
        How many merged ranges are fetched at once; may be changed at any time.
    """

    tail_bytes: int = LOCAL_TAIL_BYTES
    merge_gap: int = LOCAL_MERGE_GAP
    parallel_reads: int = 1

    def __init__(self, name: str | None, size: int) -> None:
        self.name = name
        self.size = size
        self._closed = False

    @abc.abstractmethod
    def _read_once(self, offset: int, length: int) -> bytes | memoryview:
        """Up to ``length`` bytes; fewer are asked for again, none means the end."""

    def _release(self) -> None:  # noqa: B027  (most sources own nothing)
        """Give back what this source owns."""

    def close(self) -> None:
        """Release what this source opened itself; the caller's own objects stay open."""
        if not self._closed:
            self._closed = True
            self._release()

    def read(self, offset: int, length: int) -> bytes | memoryview:
        """Exactly ``length`` bytes from ``offset``."""
        self.check_open()
        self._check_range(offset, length)
        return self._read_fully(offset, length) if length else b""

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        """The bytes of each ``(offset, length)``, in the order given; near ones share a read.

        A view keeps the whole read that it was cut from in memory.
        """
        self.check_open()
        for offset, length in ranges:
            self._check_range(offset, length)
        extents = merge_ranges(ranges, self.merge_gap, MAX_MERGED_BYTES)
        views = [memoryview(b"")] * len(ranges)
        for extent, data in zip(extents, self._read_extents(extents), strict=True):
            view = memoryview(data)
            for index in extent.members:
                offset, length = ranges[index]
                start = offset - extent.offset
                views[index] = view[start : start + length]
        return views

    def _read_extents(self, extents: list[Extent]) -> list[bytes | memoryview]:
        # After a failure or Ctrl-C, reads that have not begun never do.
        return read_map(
            lambda extent: self._read_fully(extent.offset, extent.length),
            extents,
            self.parallel_reads,
        )

    def _read_fully(self, offset: int, length: int) -> bytes | memoryview:
        data = self._read_some(offset, length)
        if len(data) == length:
            return data
        pieces = [data]
        have = len(data)
        while have < length:
            data = self._read_some(offset + have, length - have)
            if not data:
                self.check_open()  # another thread may have closed it meanwhile
                raise CorruptFileError(
                    f"file ended at byte {offset + have}, wanted {length} bytes from {offset}",
                    self.name,
                    "file",
                    offset,
                )
            pieces.append(data)
            have += len(data)
        return b"".join(pieces)

    def _read_some(self, offset: int, length: int) -> bytes | memoryview:
        data = self._read_once(offset, length)
        if len(data) > length:
            raise OSError(errno.EIO, f"a read of {length} bytes gave {len(data)}", self.name)
        return data

    def check_open(self) -> None:
        """Raise if the source was closed."""
        if self._closed:
            raise ClosedError(f"{self.name or 'file'} is closed")

    def _check_range(self, offset: int, length: int) -> None:
        if offset < 0 or length < 0 or offset + length > self.size:
            raise CorruptFileError(
                f"{length} bytes from {offset} do not lie inside the file's {self.size} bytes",
                self.name,
                "file",
                offset,
            )


class _MemorySource(Source):
    """Bytes in memory, never copied; the caller must not change them while they are in use."""

    def __init__(self, data: Any) -> None:
        self._data = memoryview(data).cast("B").toreadonly()
        super().__init__(None, self._data.nbytes)

    def _read_once(self, offset: int, length: int) -> memoryview:
        return self._data[offset : offset + length]

    def _release(self) -> None:
        self._data = memoryview(b"")


class _LocalSource(Source):
    """A local file, read with ``pread``: no shared position, no lock, fine after a fork."""

    def __init__(self, name: str, path: str) -> None:
        check_regular(name, os.stat(path))  # before open: opening a FIFO would wait for a writer
        self._descriptor: Descriptor | None = Descriptor(os.open, path, os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(self._descriptor.number)
        check_regular(name, status)
        super().__init__(name, status.st_size)

    def _read_once(self, offset: int, length: int) -> bytes:
        descriptor = self._descriptor
        if descriptor is None:
            raise ClosedError(f"{self.name} is closed")
        return os.pread(descriptor.number, length, offset)

    def _release(self) -> None:
        self._descriptor = None


class _FileObjectSource(Source):
    """A caller's Python file object: seek and read under a lock; its position moves.

    It is read from its first byte whatever its position, and is not closed. Nothing else may use
    the object at the same time.
    """

    def __init__(self, file: Any) -> None:
        check_binary(file)
        check_ability(file, "readable")
        check_ability(file, "seekable")
        if not hasattr(file, "seek"):
            _refuse_ability(file, "seekable")
        self._file = file
        self._lock = threading.Lock()
        name = getattr(file, "name", None)
        file.seek(0, os.SEEK_END)
        super().__init__(name if isinstance(name, str) else None, file.tell())

    def _read_once(self, offset: int, length: int) -> bytes | memoryview:
        with self._lock:
            self._file.seek(offset)
            data = self._file.read(length)
        if data is None:
            raise BlockingIOError(errno.EAGAIN, "the file object is non-blocking", self.name)
        if not isinstance(data, bytes | bytearray | memoryview):
            kind = type(self._file).__name__
            raise TypeError(f"{kind}.read() gave {type(data).__name__}, not bytes")
        return memoryview(data) if isinstance(data, bytearray) else data


class _NativeFileSource(Source):
    """A pyarrow file; its ``read_at`` is thread-safe and leaves the position alone."""

    def __init__(self, file: Any, name: str | None, owned: bool) -> None:
        check_ability(file, "readable")
        check_ability(file, "seekable")
        self._file = file
        self._owned = owned
        if type(file) is pa.NativeFile:  # from a file system, likely a remote one
            _tune_for_latency(self)
        super().__init__(name, file.size())

    def _read_once(self, offset: int, length: int) -> bytes:
        data: bytes = self._file.read_at(length, offset)
        return data

    def _release(self) -> None:
        if self._owned:
            self._file.close()


class _FsspecSource(Source):
    """A path in an fsspec file system: one ranged request per read, no read-ahead."""

    def __init__(self, name: str, path: str, filesystem: Any, size: int | None) -> None:
        self._path = path
        self._filesystem = filesystem
        # Only the asynchronous file systems promise to be thread-safe.
        self._lock = nullcontext() if filesystem.async_impl else threading.Lock()
        if size is None:
            information = filesystem.info(path)
            if information.get("type") == "directory":
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
            size = information.get("size")
        if size is None:
            raise io.UnsupportedOperation(f"{name}: the file system does not tell the file's size")
        _tune_for_latency(self)
        super().__init__(name, size)

    def _read_once(self, offset: int, length: int) -> bytes:
        with self._lock:
            data: bytes = self._filesystem.cat_file(self._path, start=offset, end=offset + length)
        return data


def _tune_for_latency(source: Source) -> None:
    source.tail_bytes = REMOTE_TAIL_BYTES
    source.merge_gap = REMOTE_MERGE_GAP
    source.parallel_reads = _REMOTE_PARALLEL_READS


SourceLike: TypeAlias = (
    str
    | os.PathLike[str]
    | bytes
    | bytearray
    | memoryview
    | pa.Buffer
    | IO[bytes]
    | io.IOBase
    | Source
)


def open_source(source: SourceLike, filesystem: object = None, size: int | None = None) -> Source:
    """Open whatever holds a file's bytes.

    Parameters
    ----------
    source : str, path, bytes, bytearray, memoryview, pyarrow.Buffer or binary file object
        A string with ``://`` is a URI, known to pyarrow or else to fsspec; any other string is a
        local path. A file object must be seekable; it stays the caller's, is not closed, and its
        position may move. Bytes are not copied. A :class:`Source` is returned as it is.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        Where a path lies.
    size : int, optional
        The file's size, if a listing has told it: spares some file systems a request.

    Returns
    -------
    Source

    Examples
    --------
    >>> source = open_source(b"Mosaic")
    >>> source.size, bytes(source.read(2, 3))
    (6, b'sai')
    """
    if isinstance(source, str | os.PathLike):
        return _open_location(resolve_location(source, filesystem), size)
    if filesystem is not None:
        raise TypeError(f"filesystem= goes with a path, not with {type(source).__name__}")
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes | bytearray | memoryview | pa.Buffer):
        return _MemorySource(source)
    if isinstance(source, pa.NativeFile):
        return _NativeFileSource(source, name=None, owned=False)
    if hasattr(source, "read"):
        return _FileObjectSource(source)
    raise TypeError(
        "source must be a path, a URI, bytes, a pyarrow.Buffer or an open binary file, "
        f"got {type(source).__name__}"
    )


def _open_location(location: Location, size: int | None) -> Source:
    name, path, filesystem = location.name, location.path, location.filesystem
    if filesystem is None:
        return _LocalSource(name, path)
    if location.is_fsspec:
        return _FsspecSource(name, path, filesystem, size)
    return _NativeFileSource(filesystem.open_input_file(path), name, owned=True)


def check_regular(name: str, status: os.stat_result) -> None:
    """Refuse directories, devices and pipes, which have no stable size and cannot be replaced."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not stat.S_ISREG(status.st_mode):
        raise io.UnsupportedOperation(
            f"{name} is not a regular file; open it and pass the file object instead"
        )


def check_binary(file: Any) -> None:
    """Refuse text-mode file objects, also those that a wrapper hides."""
    if isinstance(file, io.TextIOBase) or isinstance(getattr(file, "encoding", None), str):
        raise TypeError(
            f"{type(file).__name__} is in text mode: open it in binary mode ('rb' or 'wb')"
        )


def check_ability(file: Any, ability: str) -> None:
    """Refuse a file object that says it is not ``readable``, ``seekable`` or ``writable``."""
    question: Callable[[], bool] | None = getattr(file, ability, None)
    if question is not None and not question():
        _refuse_ability(file, ability)


def _refuse_ability(file: Any, ability: str) -> NoReturn:
    advice = "; read it into bytes and pass those" if ability == "seekable" else ""
    raise io.UnsupportedOperation(f"{type(file).__name__} is not {ability}{advice}")


@dataclass(frozen=True, slots=True)
class Location:
    """A path in a file system; ``filesystem`` is None for the local one, however it was named."""

    name: str
    path: str
    filesystem: Any = None
    is_fsspec: bool = False


def resolve_location(where: str | os.PathLike[str], filesystem: object = None) -> Location:
    """Find the file system that a path or URI means, without touching the file.

    Wrappers (pyarrow's SubTreeFileSystem and FSSpecHandler, fsspec's ArrowFSWrapper) are taken
    off, so that every way to name a local file leads to the same local code.
    """
    path = os.fsdecode(where)
    if filesystem is not None:
        return _locate(path, path, filesystem)
    if isinstance(where, str) and "://" in where:
        return _resolve_uri(where)
    return Location(path, os.path.expanduser(path))


def _resolve_uri(uri: str) -> Location:
    from pyarrow.fs import FileSystem

    try:
        filesystem, path = FileSystem.from_uri(uri)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if uri.startswith("file:"):
            raise InvalidOptionError(f"not a valid file URI: {uri}") from error
        filesystem, path = _fsspec_from_uri(uri)
    return _locate(_without_secrets(uri), path, filesystem)


def _fsspec_from_uri(uri: str) -> tuple[Any, str]:
    scheme = uri.partition("://")[0]
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InvalidOptionError(
            f"pyarrow does not know the URI scheme {scheme!r}: install fsspec, which may"
        ) from None
    try:
        filesystem, path = url_to_fs(uri)
    except ValueError as error:
        raise InvalidOptionError(
            f"neither pyarrow nor fsspec knows the URI scheme {scheme!r}"
        ) from error
    return filesystem, path


def _without_secrets(uri: str) -> str:
    """The URI as it may appear in messages: passwords and query parameters (keys) taken out."""
    parts = urlsplit(uri)
    user, at, host = parts.netloc.rpartition("@")
    netloc = f"***@{host}" if at and ":" in user else parts.netloc
    return urlunsplit((parts.scheme, netloc, parts.path, "", ""))


def _locate(name: str, path: str, filesystem: Any) -> Location:
    from pyarrow import fs

    if isinstance(filesystem, fs.SubTreeFileSystem):
        return _locate(name, filesystem.base_path + path.lstrip("/"), filesystem.base_fs)
    if isinstance(filesystem, fs.PyFileSystem):
        handler = filesystem.handler
        if isinstance(handler, fs.FSSpecHandler):
            return _locate(name, path, handler.fs)
    if isinstance(filesystem, fs.LocalFileSystem):
        return _resolve_uri(path) if path.startswith("file://") else Location(name, path)
    if isinstance(filesystem, fs.FileSystem):
        return Location(name, path, filesystem)
    if _is_instance(filesystem, "fsspec.implementations.arrow", "ArrowFSWrapper"):
        return _locate(name, filesystem._strip_protocol(path), filesystem.fs)
    if _is_instance(filesystem, "fsspec.implementations.local", "LocalFileSystem"):
        return Location(name, filesystem._strip_protocol(path))
    if _is_instance(filesystem, "fsspec.spec", "AbstractFileSystem"):
        return Location(name, path, filesystem, is_fsspec=True)
    raise TypeError(
        "filesystem must be a pyarrow.fs.FileSystem or an fsspec file system, "
        f"got {type(filesystem).__name__}"
    )


def _is_instance(value: object, module: str, name: str) -> bool:
    """``isinstance`` without importing: where the module is not loaded there are no instances."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name))
