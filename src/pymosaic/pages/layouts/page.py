"""The interface of layouts: how they request bytes, and what they return.

A layout reads without doing I/O: it is a generator that yields the ranges it needs next, is sent
their bytes, and returns :class:`Items`. A caller that runs many of them can fetch for all at once.
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

# Buffer number, offset in it, length. Blobs are outside of the page's buffers.
Range: TypeAlias = tuple[int, int, int]
FILE = -1
Steps: TypeAlias = Generator[list[Range], list[memoryview], _Result]


@dataclass(frozen=True, slots=True)
class PageInput:
    """A page to read: sizes of its buffers, its rows, and which of them are wanted (None: all)."""

    buffer_sizes: tuple[int, ...]
    num_rows: int
    rows: Integers | None = None

    def size(self, buffer: int) -> int:
        """The size of a buffer, which the page may lack."""
        if buffer >= len(self.buffer_sizes):
            raise CorruptFileError(
                f"buffer {buffer} is needed, but the page has {len(self.buffer_sizes)}",
                structure="page",
            )
        return self.buffer_sizes[buffer]

    def whole(self, buffer: int) -> Range:
        """The range of a whole buffer."""
        return buffer, 0, self.size(buffer)


@dataclass(frozen=True, slots=True)
class Items:
    """The items read.

    Parameters
    ----------
    levels : Levels
        Levels of all items read.
    num_items : int
        Number of items, used if there are no levels.
    values : Block or None
        The visible items; None if all are null.
    rows : array of int64 or None
        Positions of the wanted rows among those read; None if they are the same.
    """

    levels: Levels
    num_items: int
    values: Block | None
    rows: Integers | None = None


def check_rows(items: Items, shape: Shape, num_rows: int) -> None:
    """Raise unless the items of a whole page form its rows, whichever of them are wanted."""
    found = items.num_items
    if items.levels.repetition is not None:
        found = int(np.count_nonzero(items.levels.repetition == shape.max_rep))
    corrupt_unless(found == num_rows, f"{found} rows, not {num_rows}", "page")
