"""Opening sources and sinks from what the caller passed."""

from __future__ import annotations

import io
import os
from typing import IO, TypeAlias

import pyarrow as pa

from pymosaic.errors import InvalidTypeError
from pymosaic.io import arrow, fsspec
from pymosaic.io.directory import Directory
from pymosaic.io.file_object import FileObjectSink, FileObjectSource, SupportsWrite
from pymosaic.io.kind import FileSystemKind, Status
from pymosaic.io.local import LOCAL
from pymosaic.io.location import Location, without_secrets
from pymosaic.io.memory import MemorySource
from pymosaic.io.sink import Sink
from pymosaic.io.source import Source

__all__ = [
    "SinkLike",
    "SourceLike",
    "open_directory",
    "open_sink",
    "open_source",
    "open_stream",
    "resolve_location",
    "status_of",
]

# A new kind of file system is a new module, listed here.
_KINDS: tuple[FileSystemKind, ...] = (LOCAL, arrow.ARROW, fsspec.FSSPEC)

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
SinkLike: TypeAlias = str | os.PathLike[str] | SupportsWrite


def open_source(source: SourceLike, filesystem: object = None, size: int | None = None) -> Source:
    """Open a file for reading, wherever its bytes are.

    Parameters
    ----------
    source : str, path, bytes, bytearray, memoryview, pyarrow.Buffer or binary file object
        A string with ``://`` is a URI, opened by pyarrow or else by fsspec; any other string is a
        local path. A file object must be seekable; it is not closed, and its position may change.
        Bytes are not copied. A :class:`Source` is returned unchanged.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of a path.
    size : int, optional
        The file's size, if known from a listing: saves some file systems a request.

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
        location = resolve_location(source, filesystem)
        return _kind_of(location).source(location, size)
    if filesystem is not None:
        raise InvalidTypeError(f"filesystem= requires a path, not {type(source).__name__}")
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes | bytearray | memoryview | pa.Buffer):
        return MemorySource(source)
    if isinstance(source, pa.NativeFile):
        return arrow.ArrowFileSource(source, name=None, owned=False)
    if hasattr(source, "read"):
        return FileObjectSource(source)
    raise InvalidTypeError(
        "source must be a path, a URI, bytes, a pyarrow.Buffer or an open binary file, "
        f"got {type(source).__name__}"
    )


def open_sink(where: SinkLike, filesystem: object = None) -> Sink:
    """Open a target for writing a file.

    Parameters
    ----------
    where : str, path or binary file object
        A string with ``://`` is a URI, opened by pyarrow or else by fsspec; any other string is a
        local path. A file object is written from its current position, and stays open.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of a path.

    Returns
    -------
    Sink

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> sink = open_sink(file)
    >>> sink.write(b"Mosaic")
    >>> sink.commit()
    >>> sink.position, file.getvalue()
    (6, b'Mosaic')
    """
    if isinstance(where, str | os.PathLike):
        location = resolve_location(where, filesystem)
        return _kind_of(location).sink(location)
    if filesystem is not None:
        raise InvalidTypeError(f"filesystem= requires a path, not {type(where).__name__}")
    if hasattr(where, "write"):
        return FileObjectSink(where)
    raise InvalidTypeError(
        f"where must be a path, a URI or an open binary file, got {type(where).__name__}"
    )


def open_directory(base: str | os.PathLike[str], filesystem: object = None) -> Directory:
    """Find the directory that a path or URI means; nothing is read.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"n": [1]}), "n.mosaic")
    >>> [entry.path for entry in open_directory(".").list_files() if entry.path == "n.mosaic"]
    ['n.mosaic']
    """
    location = resolve_location(base, filesystem)
    return _kind_of(location).directory(location)


def open_stream(location: Location) -> pa.NativeFile:
    """Open a file for pyarrow's own readers."""
    return _kind_of(location).stream(location)


def status_of(location: Location) -> Status | None:
    """What is at a path; None if nothing is."""
    return _kind_of(location).status(location)


def resolve_location(where: str | os.PathLike[str], filesystem: object = None) -> Location:
    """Find the file system of a path or URI, without touching the file.

    Wrappers (pyarrow's SubTreeFileSystem and FSSpecHandler, fsspec's ArrowFSWrapper) are removed,
    so that every way to name a local file leads to the same code.
    """
    path = os.fsdecode(where)
    if filesystem is not None:
        return _locate(path, path, filesystem)
    if isinstance(where, str) and "://" in where:
        return _resolve_uri(where)
    return Location(path, os.path.expanduser(path) if path.startswith("~") else path)


def _resolve_uri(uri: str) -> Location:
    path, filesystem = arrow.place_of_uri(uri) or fsspec.place_of_uri(uri)
    return _locate(without_secrets(uri), path, filesystem)


def _locate(name: str, path: str, filesystem: object) -> Location:
    for kind in _KINDS:
        place = kind.locate(path, filesystem)
        if place is None:
            continue
        inner_path, inner = place
        if inner is None or inner is filesystem:
            return Location(name, inner_path, inner)
        return _locate(name, inner_path, inner)
    raise InvalidTypeError(
        "filesystem must be a pyarrow.fs.FileSystem or an fsspec file system, "
        f"got {type(filesystem).__name__}"
    )


def _kind_of(location: Location) -> FileSystemKind:
    if location.filesystem is None:
        return LOCAL
    return next(kind for kind in _KINDS if kind.locate("", location.filesystem) is not None)
