"""The files of a dataset, and what is known about them without reading data."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pymosaic.datasets.discovery import DataFile
from pymosaic.datasets.head_store import HeadStore
from pymosaic.file.open_file import FileHead

__all__ = ["DatasetFiles", "warn_skipped"]


def warn_skipped(error: Exception, what: str) -> None:
    """Warn that something was skipped."""
    warnings.warn(f"skipped {what}: {error}", UserWarning, stacklevel=4)


@dataclass(frozen=True, slots=True)
class DatasetFiles:
    """Files in the order in which they are read.

    Parameters
    ----------
    base : str
        The directory, pattern or file that was given.
    files : tuple of DataFile
    heads : HeadStore
        Their heads, as far as they have been read.
    on_error : {"raise", "skip"}
        What to do about a broken file: raise an error, or skip it with a warning.
    """

    base: str
    files: tuple[DataFile, ...]
    heads: HeadStore
    on_error: str

    @property
    def num_bytes(self) -> int:
        """The total size of all files, as far as it is known."""
        total = 0
        for file in self.files:
            head = self.heads.get(file.path)
            total += (file.size if head is None else head.size) or 0
        return total

    def load(self, files: Iterable[DataFile], check: bool) -> Iterator[tuple[DataFile, FileHead]]:
        """The heads of some of the files; see :meth:`HeadStore.load`."""
        for file, head in self.heads.load(files, check):
            if isinstance(head, FileHead):
                yield file, head
            elif self.on_error == "raise" and not isinstance(head, FileNotFoundError):
                raise head
            else:
                warn_skipped(head, "a file")
