"""Files that are not there, and directories in their place: what to do about them."""

from __future__ import annotations

import errno
import os
from typing import Literal

from pymosaic.errors import DirectoryGivenError, FileMissingError
from pymosaic.suggestions import did_you_mean

__all__ = ["told_if_missing"]

# In larger directories no similar name is looked for.
_MOST_NAMES = 10_000


class told_if_missing:  # noqa: N801  (called as a function)
    """Raise errors of pymosaic, which say what to do, for a file that is not there.

    Errors of the system keep their number, text and file name, and their built-in type.

    Examples
    --------
    >>> from pymosaic.io.missing import told_if_missing
    >>> with told_if_missing("."):
    ...     open(".")
    Traceback (most recent call last):
    ...
    pymosaic.errors.DirectoryGivenError: [Errno 21] Is a directory ...
    """

    __slots__ = ("_path",)

    def __init__(self, path: object) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: object, error: BaseException | None, traceback: object
    ) -> Literal[False]:
        if error is None or isinstance(error, FileMissingError | DirectoryGivenError):
            return False
        path = self._path
        if isinstance(error, FileNotFoundError):
            raise FileMissingError(*_facts(error, errno.ENOENT, path, _hint(path))) from error
        if isinstance(error, IsADirectoryError):
            advice = " (pymosaic.read_table and pymosaic.dataset read the files of a directory)"
            raise DirectoryGivenError(*_facts(error, errno.EISDIR, path, advice)) from error
        return False


def _facts(error: OSError, number: int, path: object, advice: str) -> tuple[int, str, str]:
    text = error.strerror or str(error) or os.strerror(number)
    return error.errno or number, f"{text}{advice}", os.fsdecode(error.filename or str(path))


def _hint(path: object) -> str:
    """Similar names in the directory of a local file, or that the directory does not exist."""
    if not isinstance(path, str | os.PathLike) or "://" in str(path):
        return ""
    directory, name = os.path.split(os.path.expanduser(os.fsdecode(path)))
    try:
        names = os.listdir(directory or ".")
    except OSError:
        return f" (there is no directory {directory!r})" if directory else ""
    return did_you_mean(name, names) if len(names) <= _MOST_NAMES else ""
