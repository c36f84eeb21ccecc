"""Which encoding makes a column smallest, found by trying: :func:`choose`.

An encoding that is followed by a compressor cannot be judged by its own size: bit packing makes
numbers small and destroys the bytes that zstd would have matched. So each encoding is applied to
the whole page, compressed, and measured.

===================== ============================================================================
``plain``             values one behind the other; of strings the lengths; the bytes
``dictionary``        indices of one or two bytes, of a bit for two values; up to 65,536 distinct
                      values
``byte-stream-split`` all first bytes of the page, then all second bytes, and so on
``delta``             differences of neighbours, as byte streams; Lance 2.1 does not have it
``run-length``        the value of each run; the lengths of the runs
===================== ============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from pymosaic.errors import InvalidOptionError, UnsupportedFeatureError
from pymosaic.pages.blocks import Bytes, FixedBlock, VariableBlock
from pymosaic.pages.flatten import array_to_block

__all__ = ["DICTIONARY_ITEMS", "PageChoice", "choose", "encode_whole_page"]

DICTIONARY_ITEMS = 1 << 16
_SPLIT_WIDTHS = (2, 4, 8)
_LEVELS = range(1, 23)


@dataclass(frozen=True, slots=True)
class PageChoice:
    """The encoding that makes a page smallest.

    Parameters
    ----------
    encoding : str
        Its name.
    sizes : dict of str to int
        Compressed bytes of every encoding that was tried.
    """

    encoding: str
    sizes: dict[str, int]

    @property
    def num_bytes(self) -> int:
        """Compressed bytes of the encoding chosen."""
        return self.sizes[self.encoding]


def choose(values: pa.Array, level: int = 1) -> PageChoice:
    """Find the encoding of a page that is smallest after zstd.

    Parameters
    ----------
    values : pyarrow.Array
        Numbers, dates, times, decimals, strings or bytes. Nulls are left out: readers know them
        from elsewhere.
    level : int
        Level of zstd, from 1 to 22.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.pages import choose
    >>> choose(pa.array(range(0, 500_000, 7))).encoding
    'delta'
    >>> choose(pa.array(["red", "green", "green"] * 5000)).encoding
    'dictionary'
    """
    # Not every caller checks types.
    if not isinstance(level, int) or level not in _LEVELS:  # type: ignore[redundant-expr]
        raise InvalidOptionError(f"level must be an int from 1 to 22, got {level!r}")
    compressor = zstandard.ZstdCompressor(level=level)
    sizes = {
        name: sum(len(compressor.compress(buffer)) for buffer in buffers)
        for name, buffers in encode_whole_page(values).items()
    }
    # Of equal sizes the first: it is the simplest.
    return PageChoice(min(sizes, key=lambda name: sizes[name]), sizes)


def encode_whole_page(values: pa.Array) -> dict[str, tuple[bytes, ...]]:
    """The buffers of the page in every encoding that takes its type, simplest first.

    Buffers are compressed by themselves: values and lengths have little in common.
    """
    if values.null_count:
        values = values.drop_null()
    block = array_to_block(values)
    if isinstance(block, VariableBlock):
        found: dict[str, tuple[bytes, ...] | None] = {
            "plain": _strings(block),
            "dictionary": _dictionary(values),
        }
    elif isinstance(block, FixedBlock) and block.bits % 8 == 0:
        width = block.bits // 8
        found = {"plain": (block.data.tobytes(),), "dictionary": _dictionary(values)}
        rows = block.data[: block.count * width].reshape(block.count, width)
        found["run-length"] = _runs(rows)
        if width in _SPLIT_WIDTHS:
            found["byte-stream-split"] = (_split(rows),)
            if not pa.types.is_floating(values.type):
                numbers = np.frombuffer(block.data, f"<u{width}", block.count)
                # Differences wrap around, and so does their sum: nothing is lost.
                differences = np.diff(numbers, prepend=numbers.dtype.type(0))
                found["delta"] = (_split(_bytes_of(differences)),)
    else:
        raise UnsupportedFeatureError(f"pages of {values.type} have only one encoding")
    return {name: buffers for name, buffers in found.items() if buffers is not None}


def _bytes_of(numbers: npt.NDArray[np.generic]) -> Bytes:
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(len(numbers), numbers.itemsize)


def _split(rows: Bytes) -> bytes:
    return np.ascontiguousarray(rows.T).tobytes()


def _strings(block: VariableBlock) -> tuple[bytes, bytes]:
    lengths = np.diff(block.offsets).astype("<u4")
    return lengths.tobytes(), block.data.tobytes()


def _runs(rows: Bytes) -> tuple[bytes, bytes]:
    if not len(rows):
        return b"", b""
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.flatnonzero(begins)
    lengths = np.diff(np.append(starts, len(rows)))
    width = next(width for width in (1, 2, 4, 8) if int(lengths.max()) < 1 << 8 * width)
    return rows[starts].tobytes(), lengths.astype(f"<u{width}").tobytes()


def _dictionary(values: pa.Array) -> tuple[bytes, ...] | None:
    if isinstance(values.type, pa.BaseExtensionType):
        values = values.storage
    sample = values.slice(0, 4 * DICTIONARY_ITEMS)
    if pc.count_distinct(sample).as_py() > DICTIONARY_ITEMS:
        return None
    encoded = values.dictionary_encode()
    if len(encoded.dictionary) > DICTIONARY_ITEMS:
        return None
    items = array_to_block(encoded.dictionary)
    width = 1 if len(encoded.dictionary) <= 256 else 2
    indices = encoded.indices.to_numpy(zero_copy_only=False).astype(f"<u{width}")
    if len(encoded.dictionary) == 2:
        indices = np.packbits(indices, bitorder="little")
    if isinstance(items, VariableBlock):
        return indices.tobytes(), *_strings(items)
    assert isinstance(items, FixedBlock)
    return indices.tobytes(), items.data.tobytes()
