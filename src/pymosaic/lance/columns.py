"""The columns of a Lance file: which leaf each belongs to, and its pages, parsed when needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count

import numpy as np

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.lance.container import TypedMessage
from pymosaic.pages.blocks import bytes_of
from pymosaic.pages.kernels.lance_messages import read_pages
from pymosaic.pages.layouts.page import PageInput
from pymosaic.pages.layouts.page_groups import common_layout
from pymosaic.pages.messages import Layout, MiniBlockLayout, parse_layout
from pymosaic.pages.protobuf import parse

__all__ = ["ColumnPages", "LancePage", "parse_column"]

_TYPE = "lance.encodings21.PageLayout"
_kinds = count(1)


@dataclass(frozen=True, slots=True)
class LancePage:
    """One page of a column.

    Parameters
    ----------
    first_row, num_rows : int
        The rows of the file that it holds.
    layout : Layout
        Its structural layout, with the tree of encodings.
    buffer_offsets, buffer_sizes : tuple of int
        Where its buffers are in the file.
    kind : int
        Pages of one kind can be read together; 0 for pages that are read alone.
    """

    first_row: int
    num_rows: int
    layout: Layout
    buffer_offsets: tuple[int, ...]
    buffer_sizes: tuple[int, ...]
    kind: int = field(default=0, repr=False, compare=False)

    @property
    def num_bytes(self) -> int:
        """Total size of all buffers."""
        return sum(self.buffer_sizes)

    def input(self, rows: np.ndarray | None = None) -> PageInput:
        """What its layout reads from; ``rows`` count from the page's first."""
        return PageInput(self.buffer_sizes, self.num_rows, rows)


@dataclass(frozen=True, slots=True)
class ColumnPages:
    """Pages of a column in order of their rows."""

    pages: tuple[LancePage, ...]

    @property
    def first_rows(self) -> list[int]:
        """The first row of each page."""
        return [page.first_row for page in self.pages]


@lru_cache(maxsize=1024)
def _kind(common: MiniBlockLayout) -> int:
    """A number for a common layout; another one if it was forgotten, which costs only time."""
    return next(_kinds)


@lru_cache(maxsize=1024)
def _layout(content: bytes) -> tuple[Layout, int]:
    # Columns of a wide table often have the same description.
    typed = parse(TypedMessage, content)
    if typed.type_url.rsplit("/", 1)[-1] != _TYPE:
        raise UnsupportedFeatureError(
            f"a page described by {typed.type_url[:100]!r}", structure="page"
        )
    layout = parse_layout(typed.value)
    common = common_layout(layout)
    return layout, 0 if common is None else _kind(common)


def _description(description: bytes | None, is_elsewhere: bool) -> bytes:
    if description is not None:
        return description
    if is_elsewhere:
        raise UnsupportedFeatureError("a description elsewhere in the file", structure="page")
    raise CorruptFileError("a page without a description", structure="page")


def parse_column(content: bytes | memoryview, num_rows: int, file_size: int) -> ColumnPages:
    """Parse a column's metadata; checks its number of rows, and that buffers are in the file."""
    pages: list[LancePage] = []
    first_row = 0
    for offsets, sizes, length, description, is_elsewhere in read_pages(bytes_of(content)):
        if len(offsets) != len(sizes):
            raise CorruptFileError("buffers without sizes", structure="page")
        for offset, size in zip(offsets, sizes, strict=True):
            if offset + size > file_size:
                raise CorruptFileError(
                    f"a buffer of {size} bytes at {offset} is not inside the file", structure="page"
                )
        layout, kind = _layout(_description(description, is_elsewhere))
        pages.append(LancePage(first_row, length, layout, offsets, sizes, kind))
        first_row += length
    if first_row != num_rows:
        raise CorruptFileError(
            f"its pages have {first_row} rows, the file has {num_rows}", structure="column"
        )
    return ColumnPages(tuple(pages))
