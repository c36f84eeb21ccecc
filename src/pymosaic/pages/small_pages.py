"""Pages of many columns, written by one kernel, and their descriptions.

The kernel, ``kernels.small_pages``, takes columns of numbers, booleans and strings whose rows are
one page, and makes the choices of :mod:`pymosaic.pages.write`. Other columns are written one by
one.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.pages.blocks import Integers
from pymosaic.pages.kernels.small_pages import encode_pages
from pymosaic.pages.messages import (
    AllNullLayout,
    Encoding,
    Flat,
    InlineBitpacking,
    Layer,
    Layout,
    MiniBlockLayout,
    OutOfLineBitpacking,
    Rle,
    Variable,
)

__all__ = ["MAX_ROWS", "SmallPages", "encode_batch", "layout_of"]

MAX_ROWS = 1 << 16
# The kernel's numbers.
_LEFT, _ALL_NULL, _PLAIN, _BIT_PACKED, _RUNS, _STRINGS, _CONSTANT = range(7)
_NO_DICTIONARY, _NUMBERS_DICTIONARY, _STRINGS_DICTIONARY = range(3)
_STRING_OFFSETS = Variable(offsets=Flat(bits_per_value=32))
_LEVELS = OutOfLineBitpacking(uncompressed_bits_per_value=16, values=Flat(bits_per_value=1))


@dataclass(frozen=True, slots=True)
class SmallPages:
    """A page for each column of a batch.

    Parameters
    ----------
    data : bytes
        All buffers, each padded to 64 bytes.
    sizes : array of int64, columns x 3
        Sizes of the buffers; -1 for those that a page does not have.
    forms : array of int64, columns x 5
        How each page is encoded, for :func:`layout_of`.
    """

    data: bytes
    sizes: Integers
    forms: Integers

    @property
    def is_written(self) -> npt.NDArray[np.bool_]:
        """Which columns have a page; the others must be written one by one."""
        return np.not_equal(self.forms[:, 0], _LEFT)


def encode_batch(batch: pa.RecordBatch, version: str, page_bytes: int) -> SmallPages:
    """Write the pages of all columns that the kernel handles.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        Valid Arrow.
    version : str
        Version of the format: ``"2.1"`` or ``"2.2"``.
    page_bytes : int
        Columns of about this size or more are left to the caller.
    """
    sizes = np.empty((batch.num_columns, 3), np.int64)
    forms = np.empty((batch.num_columns, 5), np.int64)
    schema, array = batch.__arrow_c_array__()
    data = encode_pages(schema, array, version == "2.2", page_bytes, sizes, forms)
    return SmallPages(data, sizes, forms)


@functools.lru_cache(maxsize=1024)
def layout_of(
    encoding: int,
    bits: int,
    has_nulls: int,
    dictionary: int,
    number: int,
    num_rows: int,
    version: str,
) -> Layout:
    """The layout of a page, by its row of ``forms``; ``number`` is that of items, or the value."""
    layers = (int(Layer.NULLABLE_ITEM if has_nulls else Layer.ALL_VALID_ITEM),)
    if encoding == _ALL_NULL:
        return AllNullLayout(layers=layers)
    if encoding == _CONSTANT:
        value = number & (1 << bits) - 1
        return AllNullLayout(layers=layers, inline_value=value.to_bytes(bits // 8, "little"))
    values: dict[int, Encoding] = {
        _PLAIN: Flat(bits_per_value=bits),
        _BIT_PACKED: InlineBitpacking(uncompressed_bits_per_value=bits),
        _RUNS: Rle(values=Flat(bits_per_value=bits), run_lengths=Flat(bits_per_value=8)),
        _STRINGS: _STRING_OFFSETS,
    }
    items: dict[int, Encoding | None] = {
        _NO_DICTIONARY: None,
        _NUMBERS_DICTIONARY: Flat(bits_per_value=64),
        _STRINGS_DICTIONARY: _STRING_OFFSETS,
    }
    return MiniBlockLayout(
        rep_compression=None,
        def_compression=_LEVELS if has_nulls else None,
        value_compression=values[encoding],
        dictionary=items[dictionary],
        num_dictionary_items=number,
        layers=layers,
        num_buffers=2 if encoding == _RUNS else 1,
        repetition_index_depth=0,
        num_items=num_rows,
        has_large_chunk=version == "2.2",
    )
