"""The columns of a Lance file: which leaf each belongs to, and its pages, parsed when needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.lance.container import TypedMessage
from pymosaic.pages.blocks import bytes_of
from pymosaic.pages.kernels.lance_messages import read_pages
from pymosaic.pages.layouts.page import PageInput
from pymosaic.pages.messages import Layout, parse_layout
from pymosaic.pages.protobuf import parse

__all__ = ["ColumnPages", "LancePage", "parse_column"]

_TYPE = "lance.encodings21.PageLayout"


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
    """

    first_row: int
    num_rows: int
    layout: Layout
    buffer_offsets: tuple[int, ...]
    buffer_sizes: tuple[int, ...]

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
    first_rows: np.ndarray


@lru_cache(maxsize=256)
def _layout(content: bytes) -> Layout:
    # Columns of a wide table often have the same description.
    typed = parse(TypedMessage, content)
    if typed.type_url.rsplit("/", 1)[-1] != _TYPE:
        raise UnsupportedFeatureError(
            f"a page described by {typed.type_url[:100]!r}", structure="page"
        )
    return parse_layout(typed.value)


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
        layout = _layout(_description(description, is_elsewhere))
        pages.append(LancePage(first_row, length, layout, offsets, sizes))
        first_row += length
    if first_row != num_rows:
        raise CorruptFileError(
            f"its pages have {first_row} rows, the file has {num_rows}", structure="column"
        )
    starts = np.array([page.first_row for page in pages], np.int64)
    return ColumnPages(tuple(pages), starts)
