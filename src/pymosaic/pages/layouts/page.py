"""What the layouts share: how they ask for bytes, and what they give.

A layout reads without doing I/O: it is a generator that yields the ranges it wants next, gets their
bytes sent, and returns :class:`Items`. Whoever drives many of them can fetch for all at once.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from pymosaic.errors import CorruptFileError
from pymosaic.pages.blocks import Block, Integers, corrupt_unless
from pymosaic.pages.levels import Levels, Shape

__all__ = ["FILE", "Items", "PageInput", "Range", "Steps", "check_rows"]

_Result = TypeVar("_Result")

# Buffer number, offset in it, length. Blobs lie outside of the page's buffers.
Range: TypeAlias = tuple[int, int, int]
FILE = -1
Steps: TypeAlias = Generator[list[Range], list[memoryview], _Result]


@dataclass(frozen=True, slots=True)
class PageInput:
    """A page to read: sizes of its buffers, its rows, and which of them are wanted (None: all)."""

    buffer_sizes: tuple[int, ...]
    num_rows: int
    rows: Integers | None = None

    def whole(self, buffer: int) -> Range:
        """All of a buffer."""
        if buffer >= len(self.buffer_sizes):
            raise CorruptFileError(
                f"buffer {buffer} is needed, but the page has {len(self.buffer_sizes)}",
                structure="page",
            )
        return buffer, 0, self.buffer_sizes[buffer]


@dataclass(frozen=True, slots=True)
class Items:
    """What was read.

    Parameters
    ----------
    levels : Levels
        Those of all items that were read.
    num_items : int
        How many items that is; counts where there are no levels.
    values : Block or None
        The visible ones; None where all are null.
    rows : array of int64 or None
        Where the wanted rows are among those read; None where they are the ones read.
    """

    levels: Levels
    num_items: int
    values: Block | None
    rows: Integers | None = None


def check_rows(items: Items, shape: Shape, num_rows: int) -> None:
    """Raise unless the items of a whole page make its rows, whichever of them are wanted."""
    found = items.num_items
    if items.levels.repetition is not None:
        found = int(np.count_nonzero(items.levels.repetition == shape.max_rep))
    corrupt_unless(found == num_rows, f"{found} rows, not {num_rows}", "page")
