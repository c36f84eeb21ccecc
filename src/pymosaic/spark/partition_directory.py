"""A partition that is written through its own directory: ``save("sales/day=1")``.

The records of a dataset are in its own directory, and readers look for them there. Such a write is
a job of the dataset, whose files all go to one partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pymosaic.datasets.partitioning import split_partition
from pymosaic.datasets.snapshot import Snapshot, take_snapshot
from pymosaic.errors import DatasetExistsError, InvalidOptionError
from pymosaic.io import Directory

__all__ = ["PartitionDirectory"]


@dataclass(frozen=True, slots=True)
class PartitionDirectory:
    """Where a write goes: a dataset, or one partition of it.

    Parameters
    ----------
    base : str
        The dataset's directory.
    path : str
        The partition's directory below it; empty for the whole dataset.
    """

    base: str
    path: str = ""

    @classmethod
    def of(cls, location: str) -> PartitionDirectory:
        """Split a location before the ``key=value`` directories at its end.

        Hidden directories are no partitions.

        Examples
        --------
        >>> PartitionDirectory.of("sales/day=1/city=Bonn")
        PartitionDirectory(base='sales', path='day=1/city=Bonn')
        >>> PartitionDirectory.of("day=1/sales")
        PartitionDirectory(base='day=1/sales', path='')
        """
        parts = location.rstrip("/").split("/")
        first = len(parts)
        while first > 0 and "=" in parts[first - 1][1:] and not parts[first - 1].startswith("."):
            first -= 1
        if first == len(parts):
            return cls(location)
        base = "/".join(parts[:first]) or ("/" if location.startswith("/") else ".")
        return cls(base, "/".join(parts[first:]))

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns whose values the directory tells."""
        return tuple(key for key, _ in split_partition(self.path.split("/"))) if self.path else ()

    def has_files(self, storage: Directory) -> bool:
        """Whether the partition has files."""
        return bool(self.files(take_snapshot(storage, allow_missing=True)))

    def files(self, snapshot: Snapshot) -> list[str]:
        """The files of the partition."""
        prefix = f"{self.path}/"
        return [entry.path for entry in snapshot.files if entry.path.startswith(prefix)]

    def nothing(self, snapshot: Snapshot) -> list[str]:
        """No file, for a commit that replaces none; raises if the partition has one."""
        if self.files(snapshot):
            raise self.exists_error()
        return []

    def exists_error(self) -> DatasetExistsError:
        """The error for a write that needs a partition without files."""
        return DatasetExistsError(
            f"{self.base.rstrip('/')}/{self.path} already has files; "
            "choose mode='append', 'overwrite' or 'ignore'"
        )

    def check_keys(self, existing: Sequence[str]) -> None:
        """Refuse a directory of other keys than the dataset has."""
        if tuple(existing[: len(self.keys)]) != self.keys:
            raise InvalidOptionError(
                f"{self.path} is not a partition of {self.base}, which is "
                + (f"partitioned by {', '.join(existing)}" if existing else "not partitioned")
            )
