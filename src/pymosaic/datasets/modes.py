"""What a write does about data that is there."""

from __future__ import annotations

import enum
from typing import Literal, TypeAlias

from pymosaic.errors import InvalidOptionError

__all__ = ["Mode", "WriteMode"]


class WriteMode(enum.StrEnum):
    """What a write does about data that is there.

    Examples
    --------
    >>> from pymosaic.datasets.modes import WriteMode
    >>> WriteMode.parse("append") is WriteMode.APPEND
    True
    >>> WriteMode.parse("replace")
    Traceback (most recent call last):
    ...
    pymosaic.errors.InvalidOptionError: mode must be one of error, append, ...
    """

    ERROR = "error"
    APPEND = "append"
    OVERWRITE = "overwrite"
    OVERWRITE_PARTITIONS = "overwrite_partitions"
    IGNORE = "ignore"

    @classmethod
    def parse(cls, mode: str, without: tuple[WriteMode, ...] = ()) -> WriteMode:
        """Return the mode of a name, or refuse it.

        Parameters
        ----------
        mode : str or WriteMode
            The caller's mode.
        without : tuple of WriteMode
            Modes that are not available to the caller.
        """
        known = [item for item in cls if item not in without]
        if mode not in known:
            raise InvalidOptionError(f"mode must be one of {', '.join(known)}, got {mode!r}")
        return cls(mode)

    @property
    def replaces(self) -> bool:
        """Whether files that are there are taken out."""
        return self in (WriteMode.OVERWRITE, WriteMode.OVERWRITE_PARTITIONS)


Mode: TypeAlias = (
    WriteMode | Literal["error", "append", "overwrite", "overwrite_partitions", "ignore"]
)
"""A mode, or its name."""
