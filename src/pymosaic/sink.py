"""Where bytes go: paths, URIs, file objects, pyarrow.fs and fsspec file systems.

=================  =========================================  ==================================
target             while writing                              commit
=================  =========================================  ==================================
local path         a temporary file beside the target         fsync, rename over the target,
                                                              fsync of the directory
other file system  a local spool (memory, then a temporary    upload
                   file without a name)
file object        the object itself, from where it stands    flush
=================  =========================================  ==================================

The temporary file is called ``.<target name>.tmp-<pid>-<random>``; only a process that is killed
leaves one behind, and it may then be deleted. A target that exists keeps its permission bits and,
where the system allows it, its owner; a symbolic link stays one, and what it points to is replaced.
Bytes that a file object has taken cannot be taken back by ``abort``. A failed upload is discarded,
and what of it became visible is deleted; a file system that empties the old file as soon as a new
one is opened (fsspec's ``memory://``) has then lost the old one.
"""

from __future__ import annotations

import abc
import enum
import errno
import io
import mmap
import os
import secrets
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeAlias

from pymosaic.errors import ClosedError
from pymosaic.kernels.descriptor import Descriptor
from pymosaic.source import check_ability, check_binary, check_regular, resolve_location

__all__ = ["Sink", "SinkLike", "SupportsWrite", "open_sink", "sync_directory"]

_BUFFER_BYTES = 1 << 20
_SPOOL_BYTES = 64 << 20
_UPLOAD_BYTES = 8 << 20
_MAX_NAME_BYTES = 255


class _State(enum.Enum):
    OPEN = "open"
    FAILED = "unusable since a write failed"
    COMMITTED = "closed"
    ABORTED = "aborted"


class Sink(abc.ABC):
    """A place that takes a file's bytes in order. For one thread at a time.

    Attributes
    ----------
    name : str or None
        Path or URI for messages; None where there is none.
    position : int
        Where the next byte goes, from the start of the target.
    """

    def __init__(self, name: str | None, position: int = 0) -> None:
        self.name = name
        self.position = position
        self._state = _State.OPEN

    @abc.abstractmethod
    def _write(self, view: memoryview) -> None:
        """Take all bytes or raise."""

    @abc.abstractmethod
    def _commit(self) -> None:
        """Make what was written visible and durable."""

    @abc.abstractmethod
    def _discard(self) -> None:
        """Remove what was written, as far as that is possible; never raises OSError."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take the whole buffer; after an exception the sink can only be aborted."""
        self._check_open()
        view = memoryview(data).cast("B")
        try:
            self._write(view)
        except BaseException:
            self._state = _State.FAILED
            raise
        self.position += view.nbytes

    def commit(self) -> None:
        """Make the file visible and durable; a failure discards it. Again is harmless."""
        if self._state is _State.COMMITTED:
            return
        self._check_open()
        try:
            self._commit()
        except BaseException:
            self.abort()
            raise
        self._state = _State.COMMITTED

    def abort(self) -> None:
        """Leave no trace. Harmless at any time, also after a failure or a commit."""
        if self._state not in (_State.COMMITTED, _State.ABORTED):
            self._state = _State.ABORTED
            self._discard()

    def _check_open(self) -> None:
        if self._state is not _State.OPEN:
            raise ClosedError(f"{self.name or 'the file'} is {self._state.value}")


def _write_all(write: Callable[[memoryview], int], view: memoryview) -> None:
    while view.nbytes:
        count = write(view)
        if not 0 < count <= view.nbytes:
            raise OSError(errno.EIO, f"a write of {view.nbytes} bytes took {count}")
        view = view[count:]


def _write_some(file: Any, view: memoryview) -> int:
    # io promises not to keep the buffer; any other object gets one that it may keep.
    count = file.write(view if isinstance(file, io.IOBase) else bytes(view))
    if isinstance(count, int):
        return count
    if isinstance(file, io.RawIOBase):
        raise BlockingIOError(errno.EAGAIN, "the file object is non-blocking")
    return view.nbytes  # many a hand-made write() returns nothing


class _LocalSink(Sink):
    """A temporary file beside the target, renamed over it on commit."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name)
        self._target, replaced = _find_target(name, path)
        self._pending = bytearray()
        self._temporary = _TemporaryFile(_temporary_path(self._target))
        # Also runs when the sink is forgotten, and when the interpreter exits. It stands before
        # there is a file, so that an interrupt leaves none.
        self._discard_once = weakref.finalize(self, self._temporary.discard, os.getpid())
        self._temporary.create(name, replaced)
        if replaced is not None:
            _copy_ownership(self._temporary.number, replaced)

    def _write(self, view: memoryview) -> None:
        if len(self._pending) + view.nbytes > _BUFFER_BYTES:
            self._flush()
        if view.nbytes > _BUFFER_BYTES:
            self._write_through(view)
        else:
            self._pending += view

    def _flush(self) -> None:
        pending, self._pending = self._pending, bytearray()
        self._write_through(memoryview(pending))

    def _write_through(self, view: memoryview) -> None:
        _write_all(partial(os.write, self._temporary.number), view)

    def _commit(self) -> None:
        self._flush()
        os.fsync(self._temporary.number)
        os.replace(self._temporary.path, self._target)
        self._discard_once()  # closes it; there is nothing of that name to delete any more
        sync_directory(os.path.dirname(self._target))

    def _discard(self) -> None:
        self._pending.clear()
        self._discard_once()


class _TemporaryFile:
    """A path and, while it is open, the file there."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor: Descriptor | None = None

    @property
    def number(self) -> int:
        assert self._descriptor is not None, "it is discarded"
        return self._descriptor.number

    def create(self, name: str, replaced: os.stat_result | None) -> None:
        mode = 0o666 if replaced is None else 0o600  # the kernel applies the umask
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self._descriptor = Descriptor(os.open, self.path, flags, mode)
        except OSError as error:
            error.filename = name  # the caller never heard of the temporary file
            raise

    def discard(self, owner: int) -> None:
        self._descriptor = None
        # A forked child that ends must not delete what its parent is writing.
        if os.getpid() == owner:
            with suppress(OSError):
                os.unlink(self.path)


def _find_target(name: str, path: str) -> tuple[str, os.stat_result | None]:
    """The file that the path means, links followed, and its status if it exists."""
    if not os.path.basename(path):
        code = errno.EISDIR if path else errno.ENOENT
        raise OSError(code, os.strerror(code), name)
    target = os.path.realpath(path)
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return target, None
    check_regular(name, status)
    # A rename would not ask, but a file made read-only is meant to stay.
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    return target, status


def _temporary_path(target: str) -> str:
    directory, name = os.path.split(target)
    suffix = f".tmp-{os.getpid()}-{secrets.token_hex(8)}"
    while len(os.fsencode(name)) > _MAX_NAME_BYTES - 1 - len(suffix):
        name = name[:-1]
    return os.path.join(directory, f".{name}{suffix}")


def _copy_ownership(descriptor: int, replaced: os.stat_result) -> None:
    # Best effort: only the superuser may give files away, and some file systems have no owners.
    with suppress(OSError):
        os.fchown(descriptor, replaced.st_uid, replaced.st_gid)
    with suppress(OSError):
        os.fchmod(descriptor, stat.S_IMODE(replaced.st_mode) & 0o777)


def sync_directory(directory: str) -> None:
    """Make a rename into a directory durable, where the file system can."""
    try:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        descriptor = Descriptor(os.open, directory, flags)
    except PermissionError:
        return  # a directory that may be written but not read; the rename stands
    try:
        os.fsync(descriptor.number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every file system can
            raise


class _SpooledSink(Sink):
    """A local spool, sent to another file system on commit."""

    def __init__(self, name: str, path: str, filesystem: Any) -> None:
        super().__init__(name)
        self._path = path
        self._filesystem = filesystem
        self._spool = tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES)  # noqa: SIM115

    @abc.abstractmethod
    def _upload(self, contents: memoryview) -> None:
        """Create the file; on failure, do not complete it."""

    @abc.abstractmethod
    def _look(self) -> tuple[int | None, object]:
        """Size and a mark of what is at the path; (None, None) where there is nothing."""

    @abc.abstractmethod
    def _delete(self) -> None:
        """Delete what is at the path."""

    def _write(self, view: memoryview) -> None:
        _write_all(self._spool.write, view)

    def _commit(self) -> None:
        try:
            before = self._look()
        except OSError:  # may be allowed to write but not to look
            before = None
        try:
            self._upload(self._contents())
        except BaseException:
            if before is not None:
                self._delete_partial(before)
            raise
        self._spool.close()

    def _discard(self) -> None:
        self._spool.close()

    def _contents(self) -> memoryview:
        self._spool.seek(0)
        if self.position <= _SPOOL_BYTES:
            return memoryview(self._spool.read())
        return memoryview(mmap.mmap(self._spool.fileno(), 0, access=mmap.ACCESS_READ))

    def _delete_partial(self, before: tuple[int | None, object]) -> None:
        """Delete what a failed upload left, but never the file that was there before it."""
        with suppress(Exception):  # the first failure is what the caller must see
            size, mark = self._look()
            if size is not None and size != self.position and (size, mark) != before:
                self._delete()


class _ArrowSink(_SpooledSink):
    """A path in a pyarrow file system.

    pyarrow cannot give up a stream: dropping one completes it. Hence one single write, which
    Ctrl-C does not cut in two; and object stores do not complete a stream with a failed part.
    """

    def _upload(self, contents: memoryview) -> None:
        # compression: by default pyarrow would go by the file name's extension.
        stream = self._filesystem.open_output_stream(self._path, compression=None)
        try:
            stream.write(contents)
        except BaseException:
            with suppress(Exception):  # the first failure is what the caller must see
                stream.close()
            raise
        stream.close()

    def _look(self) -> tuple[int | None, object]:
        information = self._filesystem.get_file_info(self._path)
        return information.size, information.mtime_ns

    def _delete(self) -> None:
        self._filesystem.delete_file(self._path)


class _FsspecSink(_SpooledSink):
    """A path in an fsspec file system, committed only when all of it has been sent.

    Inside ``with filesystem.transaction`` it appears when the transaction ends.
    """

    def _upload(self, contents: memoryview) -> None:
        # Without autocommit=False, fsspec completes a file even when it is dropped half-written.
        file = self._filesystem.open(self._path, "wb", autocommit=False)
        try:
            for start in range(0, contents.nbytes, _UPLOAD_BYTES):
                _write_all(partial(_write_some, file), contents[start : start + _UPLOAD_BYTES])
            file.close()
            if not self._awaits_transaction(file):
                self._forget(file)
                if hasattr(file, "commit"):  # else close() was it
                    file.commit()
        except BaseException:
            self._forget(file)
            with suppress(Exception):  # the first failure is what the caller must see
                file.discard()
            raise

    def _transactions(self) -> Iterator[tuple[bool, Any]]:
        """For each file system, from wrapper to wrapped: is one begun, and the files waiting."""
        from fsspec.spec import AbstractFileSystem

        filesystem: Any = self._filesystem
        while isinstance(filesystem, AbstractFileSystem):
            yield filesystem._intrans, getattr(filesystem.transaction, "files", ())
            filesystem = getattr(filesystem, "fs", None)

    def _awaits_transaction(self, file: Any) -> bool:
        return any(begun and file in files for begun, files in self._transactions())

    def _forget(self, file: Any) -> None:
        """Take the file off fsspec's list: it is put there even where no transaction has begun."""
        for _, files in self._transactions():
            if file in files:
                files.remove(file)

    def _look(self) -> tuple[int | None, object]:
        self._filesystem.invalidate_cache(self._path)
        try:
            information = self._filesystem.info(self._path)
        except FileNotFoundError:
            return None, None
        return information["size"], information

    def _delete(self) -> None:
        self._filesystem.rm_file(self._path)


class _FileObjectSink(Sink):
    """A caller's file object: written from where it stands, flushed, never closed."""

    def __init__(self, file: Any) -> None:
        check_binary(file)
        check_ability(file, "writable")
        name = getattr(file, "name", None)
        super().__init__(name if isinstance(name, str) else None, _tell(file))
        self._file = file

    def _write(self, view: memoryview) -> None:
        _write_all(partial(_write_some, self._file), view)

    def _commit(self) -> None:
        if hasattr(self._file, "flush"):
            self._file.flush()

    def _discard(self) -> None:
        """Bytes that were written stay written."""


def _tell(file: Any) -> int:
    try:
        position = file.tell()
    except (AttributeError, OSError):  # pipes and sockets
        return 0
    return position if isinstance(position, int) else 0


class SupportsWrite(Protocol):
    """A binary file object, as far as writing needs one."""

    def write(self, data: bytes, /) -> object:
        """Take the bytes, or the first so many and return their number."""


SinkLike: TypeAlias = str | os.PathLike[str] | SupportsWrite


def open_sink(where: SinkLike, filesystem: object = None) -> Sink:
    """Open the place that a file is written to.

    Parameters
    ----------
    where : str, path or binary file object
        A string with ``://`` is a URI, known to pyarrow or else to fsspec; any other string is a
        local path. A file object is written from its position on, and stays open.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        Where a path lies.

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
        if location.filesystem is None:
            return _LocalSink(location.name, location.path)
        kind = _FsspecSink if location.is_fsspec else _ArrowSink
        return kind(location.name, location.path, location.filesystem)
    if filesystem is not None:
        raise TypeError(f"filesystem= goes with a path, not with {type(where).__name__}")
    if hasattr(where, "write"):
        return _FileObjectSink(where)
    raise TypeError(
        f"where must be a path, a URI or an open binary file, got {type(where).__name__}"
    )
