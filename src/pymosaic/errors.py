"""The error classes; each says whose fault the error is.

======================= =================== ===================================================
class                   also a              whose fault
======================= =================== ===================================================
CorruptFileError        ValueError          the file breaks the format
UnsupportedFeatureError NotImplementedError the file or the data needs what is not supported
LimitExceededError      ValueError          the file (or data) exceeds ``Limits``
ColumnNotFoundError     KeyError            the caller named a column that does not exist
RowNotFoundError        IndexError          the caller named a row (group) that does not exist
InvalidDataError        ValueError          the caller's data does not fit the schema
InvalidOptionError      ValueError          the caller gave an option an invalid value
UnknownOptionError      TypeError           the caller gave an option that does not exist
InvalidTypeError        TypeError           the caller gave something of a wrong type
FileMissingError        FileNotFoundError   the caller named a file that does not exist
DirectoryGivenError     IsADirectoryError   the caller named a directory instead of a file
ClosedError             ValueError          the caller used a closed or aborted writer
DatasetExistsError      FileExistsError     the caller asked for a new dataset where one exists
CommitConflictError     RuntimeError        another job changed the dataset in the meantime
DatasetError            ValueError          the files do not fit together, or there are none
======================= =================== ===================================================

Other I/O exceptions from the caller's files and file systems are never wrapped.
"""

from __future__ import annotations

from typing import Any, Literal

__all__ = [
    "ClosedError",
    "ColumnNotFoundError",
    "CommitConflictError",
    "CorruptFileError",
    "DatasetError",
    "DatasetExistsError",
    "DirectoryGivenError",
    "FileMissingError",
    "InvalidDataError",
    "InvalidOptionError",
    "InvalidTypeError",
    "LimitExceededError",
    "MosaicError",
    "RowNotFoundError",
    "UnknownOptionError",
    "UnsupportedFeatureError",
    "located",
    "printable",
]


def printable(text: str) -> str:
    r"""Escape everything in a text that could control a terminal or hide in a log.

    Column names, time zones and paths may contain anything.

    Examples
    --------
    >>> print(printable("naïve \x1b[31m\u202e"))
    naïve \x1b[31m\u202e
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


class MosaicError(Exception):
    """Base class of all errors that pymosaic raises itself.

    Messages never contain control characters, even if names in a file do.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class _LocatedError(MosaicError):
    """An error with a location: path, structure and byte offset inside the structure."""

    def __init__(
        self,
        reason: str,
        path: str | None = None,
        structure: str | None = None,
        offset: int | None = None,
    ) -> None:
        reason = printable(reason)
        super().__init__(reason, path, structure, offset)
        self.args: tuple[Any, ...]
        self.reason = reason
        self.path = path
        self.structure = structure
        self.offset = offset

    def relocate(self, *, path: str | None = None, structure: str | None = None) -> None:
        """Add details of the location as they become known."""
        self.path = self.path if path is None else path
        self.structure = self.structure if structure is None else structure
        self.args = (self.reason, self.path, self.structure, self.offset)

    def __reduce__(self) -> tuple[type, tuple[str, str | None, str | None, int | None]]:
        return type(self), (self.reason, self.path, self.structure, self.offset)

    def __str__(self) -> str:
        place = [part for part in (self.path, self.structure) if part]
        if self.offset is not None:
            place.append(f"byte {self.offset}")
        return printable(f"{', '.join(place)}: {self.reason}" if place else self.reason)


class CorruptFileError(_LocatedError, ValueError):
    """The bytes are not a valid Mosaic file.

    ``offset`` counts from the start of ``structure``, after decompression if it is compressed.
    """


class UnsupportedFeatureError(_LocatedError, NotImplementedError):
    """The file uses, or the data needs, a feature that pymosaic or the format does not support."""


class LimitExceededError(_LocatedError, ValueError):
    """A declared or actual size exceeds a cap in :class:`pymosaic.Limits`."""


class ColumnNotFoundError(MosaicError, KeyError):
    """A requested column name or pattern matches nothing."""

    def __str__(self) -> str:
        # KeyError shows repr(args[0]), which would quote the sentence.
        return printable(str(self.args[0])) if self.args else ""


class RowNotFoundError(MosaicError, IndexError):
    """There is no row or row group of a requested number."""


class InvalidDataError(MosaicError, ValueError):
    """Data passed to a writer does not match its schema, or cannot be stored exactly."""


class InvalidOptionError(MosaicError, ValueError):
    """An option has an invalid type or value; the message names the option."""


class UnknownOptionError(InvalidOptionError, TypeError):
    """A function has no option of this name; the message names the closest one."""


class InvalidTypeError(InvalidOptionError, TypeError):
    """An argument is not of a type that is accepted; the message names those that are."""


class FileMissingError(MosaicError, FileNotFoundError):
    """A file, or the directory of a new one, does not exist."""


class DirectoryGivenError(MosaicError, IsADirectoryError):
    """A directory was given where a file is needed."""


class ClosedError(MosaicError, ValueError):
    """The writer or file is closed, or was aborted after a failed batch."""


class DatasetError(MosaicError, ValueError):
    """The files do not form a dataset: none exist, or their schemas or partitions conflict."""


class DatasetExistsError(MosaicError, FileExistsError):
    """A new dataset was to be written where one already exists."""


class CommitConflictError(MosaicError, RuntimeError):
    """Another job has changed, or is changing, the same files; no output of this job is visible."""


class located:  # noqa: N801  (called as a function)
    """Add ``path`` to errors raised in the block that have none yet."""

    # A class: a generator with its context manager takes three times as long.
    __slots__ = ("_path",)

    def __init__(self, path: str | None) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: object, error: BaseException | None, traceback: object
    ) -> Literal[False]:
        if isinstance(error, _LocatedError) and error.path is None:
            error.relocate(path=self._path)
        return False
