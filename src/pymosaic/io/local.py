"""Local files.

Files are read with ``pread`` and never mapped: a file that shrinks while it is open causes an
error, not SIGBUS. They are written to a temporary file beside the target,
``.<target name>.tmp-<pid>-<random>``; ``commit`` syncs it, renames it over the target, and syncs
the directory. Only a killed process leaves one behind, which may then be deleted. An existing
target keeps its permission bits and, where the system allows it, its owner. A symbolic link stays a
link, and the file it points to is replaced.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

import pyarrow as pa

from pymosaic.errors import ClosedError, DatasetError
from pymosaic.io.directory import Directory, Entry
from pymosaic.io.kind import FileSystemKind, Status
from pymosaic.io.location import Location
from pymosaic.io.sink import Sink, write_all
from pymosaic.io.source import Source
from pymosaic.kernels.descriptor import Descriptor

__all__ = ["LOCAL", "LocalSink", "LocalSource", "sync_directory"]

_BUFFER_BYTES = 1 << 20
_MAX_NAME_BYTES = 255
_ATTEMPTS = 20


class LocalSource(Source):
    """A local file, read with ``pread``: no shared position, no lock, safe after a fork."""

    reads_when_decoded = True

    def __init__(self, name: str, path: str) -> None:
        _check_regular(
            name, os.stat(path)
        )  # before opening: opening a FIFO would wait for a writer
        self._descriptor: Descriptor | None = Descriptor(os.open, path, os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(self._descriptor.number)
        _check_regular(name, status)
        super().__init__(name, status.st_size)
        self.version: object = _version(status)

    def _read_once(self, offset: int, length: int) -> bytes:
        descriptor = self._descriptor
        if descriptor is None:
            raise ClosedError(f"{self.name} is closed")
        return os.pread(descriptor.number, length, offset)

    def read_into(self, offset: int, buffer: memoryview) -> None:
        """Fill ``buffer`` with the bytes from ``offset`` on."""
        self.check_open()
        self._check_range(offset, len(buffer))
        descriptor = self._descriptor
        if descriptor is None:  # another thread closed it in the meantime
            raise ClosedError(f"{self.name} is closed")
        have = os.preadv(descriptor.number, [buffer], offset)
        if have < len(buffer):
            buffer[have:] = self._read_fully(offset + have, len(buffer) - have)

    def _release(self) -> None:
        self._descriptor = None


class LocalSink(Sink):
    """A temporary file beside the target, renamed over it on commit."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name)
        self._target, replaced = _find_target(name, path)
        self._pending = bytearray()
        self._temporary = _TemporaryFile(_temporary_path(self._target))
        # Also runs when the sink is garbage-collected and when the interpreter exits. Set up before
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
        write_all(partial(os.write, self._temporary.number), view)

    def _commit(self) -> None:
        self._flush()
        os.fsync(self._temporary.number)
        os.replace(self._temporary.path, self._target)
        self._discard_once()  # closes it; no file of that name is left to delete
        sync_directory(os.path.dirname(self._target))

    def _discard(self) -> None:
        self._pending.clear()
        self._discard_once()


class _TemporaryFile:
    """A path and, while it is open, its file."""

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
            error.filename = name  # the caller does not know the temporary file
            raise

    def discard(self, owner: int) -> None:
        self._descriptor = None
        # When a forked child ends, it must not delete what its parent is writing.
        if os.getpid() == owner:
            with suppress(OSError):
                os.unlink(self.path)


def _find_target(name: str, path: str) -> tuple[str, os.stat_result | None]:
    """The file at the path, with links followed, and its status if it exists."""
    if not os.path.basename(path):
        code = errno.EISDIR if path else errno.ENOENT
        raise OSError(code, os.strerror(code), name)
    target = os.path.realpath(path)
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return target, None
    _check_regular(name, status)
    # A rename would succeed, but a read-only file is meant to stay.
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    return target, status


def _temporary_path(target: str) -> str:
    directory, name = os.path.split(target)
    suffix = f".tmp-{os.getpid()}-{os.urandom(8).hex()}"
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
    """Make a rename into a directory durable, if the file system can."""
    try:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        descriptor = Descriptor(os.open, directory, flags)
    except PermissionError:
        return  # the directory is writable but not readable; the rename stands
    try:
        os.fsync(descriptor.number)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every file system can
            raise


def _version(status: os.stat_result) -> object:
    return status.st_mtime_ns, status.st_ino


def _check_regular(name: str, status: os.stat_result) -> None:
    """Refuse directories, devices and pipes, which have no stable size and cannot be replaced."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not stat.S_ISREG(status.st_mode):
        raise io.UnsupportedOperation(
            f"{name} is not a regular file; open it and pass the file object instead"
        )


class _LocalDirectory(Directory):
    """Local directories.

    Links are followed where files are listed and read. Nothing is written, moved or deleted behind
    a link to a directory.
    """

    moves = True
    one_listing = False

    def _source(self, path: str) -> Source:
        return LocalSource(self.full_path(path), self.full_path(path))

    def _sink(self, path: str) -> Sink:
        return LocalSink(self.full_path(path), self.full_path(path))

    def absolute(self) -> Directory:
        return _LocalDirectory(Location(self.name, os.path.abspath(self.base)))

    def exists(self) -> bool:
        return os.path.isdir(self.base)

    def list_files(
        self, directory: str = "", recursive: bool = True, skip: Callable[[str], bool] | None = None
    ) -> list[Entry]:
        entries: list[Entry] = []
        base = os.path.realpath(self.base)
        pending: list[tuple[str, bool, tuple[str, ...]]] = [(directory, False, (base,))]
        while pending:
            below, outside, links = pending.pop()
            try:
                listing = list(os.scandir(self.full_path(below)))
            except FileNotFoundError:
                continue
            for item in listing:
                path = f"{below}/{item.name}" if below else item.name
                if skip is not None and skip(path):
                    continue
                if item.is_dir():
                    if not recursive:
                        continue
                    if not item.is_symlink():
                        pending.append((path, outside, links))
                        continue
                    way = (*links, os.path.realpath(os.path.dirname(item.path)))
                    target = os.path.realpath(item.path)
                    # A link to a directory on the way to it would be followed for ever.
                    if not any(_is_within(place, target) for place in way):
                        pending.append((path, True, (*way, target)))
                    continue
                with suppress(FileNotFoundError):
                    status = item.stat()
                    entries.append(Entry(path, status.st_size, status.st_mtime, outside))
        return entries

    def write(self, path: str, data: bytes) -> None:
        self._in_directory(path, lambda: super(_LocalDirectory, self).write(path, data))

    def _check_inside(self, directory: str) -> None:
        """Refuse to change anything behind a link: what is there has another name as well."""
        if not directory:
            return
        expected = os.path.join(os.path.realpath(self.base), directory)
        if os.path.realpath(self.full_path(directory)) != expected:
            raise DatasetError(
                f"{self.full_path(directory)} leads elsewhere by a link: nothing is written or "
                "deleted there"
            )

    def _delete(self, path: str) -> None:
        self._check_inside(path.rpartition("/")[0])
        os.unlink(self.full_path(path))

    def _move(self, source: str, target: str) -> None:
        old, new = self.full_path(source), self.full_path(target)
        self._in_directory(target, lambda: os.replace(old, new))

    def _in_directory(self, path: str, action: Callable[[], None]) -> None:
        """Do something in a directory that other jobs may remove while it is empty."""
        for attempt in range(_ATTEMPTS):
            try:
                self.make_directory(path.rpartition("/")[0])
                action()
                return
            except FileNotFoundError:
                if attempt == _ATTEMPTS - 1:
                    raise

    def sync(self, directories: Iterable[str]) -> None:
        for directory in directories:
            sync_directory(self.full_path(directory))

    def remove_tree(self, directory: str) -> None:
        self._check_inside(directory.rpartition("/")[0])
        import shutil  # which loads all of Python's archive formats

        shutil.rmtree(self.full_path(directory), ignore_errors=True)

    def remove_empty(self, directory: str) -> None:
        with suppress(OSError):  # it does not exist, or is not empty
            os.rmdir(self.full_path(directory))

    def make_directory(self, directory: str) -> None:
        self._check_inside(directory)
        for attempt in range(_ATTEMPTS):
            try:
                os.makedirs(self.full_path(directory), exist_ok=True)
                return
            except FileNotFoundError:
                # A parent that was just made was empty, and another job removed it.
                if attempt == _ATTEMPTS - 1:
                    raise


def _is_within(path: str, directory: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(directory, ""))


class _LocalFileSystem(FileSystemKind):
    def source(self, location: Location, size: int | None) -> Source:
        return LocalSource(location.name, location.path)

    def sink(self, location: Location) -> Sink:
        return LocalSink(location.name, location.path)

    def directory(self, location: Location) -> Directory:
        return _LocalDirectory(location)

    def stream(self, location: Location) -> pa.NativeFile:
        return pa.OSFile(location.path)

    def status(self, location: Location) -> Status | None:
        try:
            found = os.stat(location.path)
        except FileNotFoundError:
            return None
        return Status(stat.S_ISREG(found.st_mode), found.st_size, _version(found))


LOCAL = _LocalFileSystem()
