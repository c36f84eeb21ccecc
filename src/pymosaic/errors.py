"""The error tree: each class says whose fault it is.

====================== ==================== ==========================================
class                  also a               whose fault
====================== ==================== ==========================================
CorruptFileError       ValueError           the file breaks the format
UnsupportedFeatureError NotImplementedError the file or the data wants what we lack
LimitExceededError     ValueError           the file (or data) is larger than ``Limits``
ColumnNotFoundError    KeyError             the caller named a column that is not there
InvalidDataError       ValueError           the caller's data does not fit the schema
InvalidOptionError     ValueError           the caller gave an option a wrong value
UnknownOptionError     TypeError            the caller gave an option that does not exist
ClosedError      ValueError           the caller used a closed or aborted writer
DatasetExistsError     FileExistsError      the caller asked for a new dataset where one is
CommitConflictError    RuntimeError         another job has changed the dataset meanwhile
DatasetError           ValueError           files do not fit together, or there are none
====================== ==================== ==========================================

I/O exceptions of the caller's own files and file systems are never wrapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "ClosedError",
    "ColumnNotFoundError",
    "CommitConflictError",
    "CorruptFileError",
    "DatasetError",
    "DatasetExistsError",
    "InvalidDataError",
    "InvalidOptionError",
    "LimitExceededError",
    "MosaicError",
    "UnknownOptionError",
    "UnsupportedFeatureError",
    "located",
    "printable",
]


def printable(text: str) -> str:
    r"""The text with everything escaped that could steer a terminal or hide in a log.

    Column names, time zones and paths may hold anything.

    Examples
    --------
    >>> print(printable("naïve \x1b[31m\u202e"))
    naïve \x1b[31m\u202e
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


class MosaicError(Exception):
    """Base class of every error that pymosaic raises on its own account.

    Its text never holds control characters, whatever the file or the caller put into names.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class _LocatedError(MosaicError):
    """An error that knows its place: path, structure and byte offset inside the structure."""

    def __init__(
        self,
        reason: str,
        path: str | None = None,
        structure: str | None = None,
        offset: int | None = None,
    ) -> None:
        reason = printable(reason)
        super().__init__(reason, path, structure, offset)
        self.reason = reason
        self.path = path
        self.structure = structure
        self.offset = offset

    def relocate(self, *, path: str | None = None, structure: str | None = None) -> None:
        """Say more exactly where it was, once that is known."""
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
    """The bytes are not a legal Mosaic file.

    ``offset`` counts from the start of ``structure`` (after decompression, where it is compressed).
    """


class UnsupportedFeatureError(_LocatedError, NotImplementedError):
    """The file uses, or the data needs, something that pymosaic (or the format) does not offer."""


class LimitExceededError(_LocatedError, ValueError):
    """A declared or real size is above a cap in :class:`pymosaic.Limits`."""


class ColumnNotFoundError(MosaicError, KeyError):
    """A requested column name or pattern matches nothing."""

    def __str__(self) -> str:
        # KeyError shows repr(args[0]); a sentence should read as one.
        return printable(str(self.args[0])) if self.args else ""


class InvalidDataError(MosaicError, ValueError):
    """Data handed to a writer breaks the schema it was opened with, or cannot be stored exactly."""


class InvalidOptionError(MosaicError, ValueError):
    """An option has a wrong type or value; the message names the option."""


class UnknownOptionError(InvalidOptionError, TypeError):
    """A function has no option of this name; the message names the closest one."""


class ClosedError(MosaicError, ValueError):
    """The writer or file is closed, or a failed batch has aborted it."""


class DatasetError(MosaicError, ValueError):
    """Files do not make up one dataset: none, schemas or partitions that do not fit together."""


class DatasetExistsError(MosaicError, FileExistsError):
    """There is a dataset already where a new one was to be written."""


class CommitConflictError(MosaicError, RuntimeError):
    """Another job has changed, or is changing, the same files; nothing of this job is visible."""


@contextmanager
def located(path: str | None) -> Iterator[None]:
    """Add ``path`` to errors raised inside that do not know theirs yet."""
    try:
        yield
    except _LocatedError as error:
        if error.path is None:
            error.relocate(path=path)
        raise
