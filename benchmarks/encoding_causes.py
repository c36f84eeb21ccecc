"""Why sizes differ: the reasons that decision 021 gives, each measured by itself.

Each row has the same values twice, compressed with zstd, with one difference between them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import zstandard

from benchmarks.encoding_chooser import CHOOSER_COLUMNS
from pymosaic.pages.blocks import FixedBlock, VariableBlock
from pymosaic.pages.encodings.variable import encode_chunks
from pymosaic.pages.flatten import array_to_block

__all__ = ["Cause", "cause_rows", "measure_causes"]

_STRINGS = ["URLs", "e-mail addresses", "log messages"]


@dataclass(frozen=True, slots=True)
class Cause:
    """Compressed bytes of one column without and with a difference."""

    column: str
    difference: str
    without: int
    changed: int


def _strings(array: pa.Array) -> tuple[list[bytes], list[bytes]]:
    """Lengths apart from the bytes; each length before its bytes, as in v1."""
    block = array_to_block(array)
    assert isinstance(block, VariableBlock)
    data = block.data.tobytes()
    bounds = block.offsets.tolist()
    lengths = np.diff(block.offsets).astype("<u4").tobytes()
    # All are shorter than 128 bytes, so that a varint is one byte.
    joined = b"".join(
        bytes([end - start]) + data[start:end] for start, end in itertools.pairwise(bounds)
    )
    return [lengths, data], [joined]


def _chunks(array: pa.Array) -> list[bytes]:
    """Offsets and bytes of about 4 KiB of strings each, as in a mini-block page of Lance."""
    block = array_to_block(array)
    assert isinstance(block, VariableBlock)
    chunks = encode_chunks(block)
    assert chunks is not None
    (buffer,) = chunks.buffers
    ends = np.cumsum(buffer.sizes)
    data = buffer.data.tobytes()
    return [
        data[start:end]
        for start, end in zip((ends - buffer.sizes).tolist(), ends.tolist(), strict=True)
    ]


def _offsets(array: pa.Array) -> tuple[list[bytes], list[bytes]]:
    """Lengths apart from the bytes; offsets before the bytes of each chunk."""
    return _strings(array)[0], [b"".join(_chunks(array))]


def _chunk_by_chunk(array: pa.Array) -> tuple[list[bytes], list[bytes]]:
    """Chunks compressed together; each by itself."""
    chunks = _chunks(array)
    return [b"".join(chunks)], chunks


def _shifted(array: pa.Array) -> tuple[list[bytes], list[bytes]]:
    """Big-endian numbers from the first byte on; behind three other bytes."""
    block = array_to_block(array)
    assert isinstance(block, FixedBlock)
    swapped = np.frombuffer(block.data, f"<u{block.bits // 8}").byteswap().tobytes()
    return [swapped], [b"\1\2\3" + swapped]


def _packed(array: pa.Array) -> tuple[list[bytes], list[bytes]]:
    """Indices of a dictionary of two values, a byte each; a bit each."""
    indices = array.dictionary_encode().indices.to_numpy().astype(np.uint8)
    return [indices.tobytes()], [np.packbits(indices, bitorder="little").tobytes()]


_DIFFERENCES: list[tuple[str, list[str], Callable[[pa.Array], tuple[list[bytes], list[bytes]]]]] = [
    ("each length before its bytes", _STRINGS, _strings),
    ("offsets instead of lengths", _STRINGS, _offsets),
    ("the same, chunk by chunk", _STRINGS, _chunk_by_chunk),
    (
        "not at multiples of the width",
        ["sorted ids", "timestamps", "late timestamps", "small ints", "prices", "user ids"],
        _shifted,
    ),
    ("a bit for each index", ["flags (int8)"], _packed),
]


def measure_causes(rows: int, level: int) -> list[Cause]:
    """Compress every pair."""
    compressor = zstandard.ZstdCompressor(level=level)

    def size(buffers: list[bytes]) -> int:
        return sum(len(compressor.compress(buffer)) for buffer in buffers)

    results = []
    for difference, columns, make in _DIFFERENCES:
        for column in columns:
            without, changed = make(CHOOSER_COLUMNS[column](rows))
            results.append(Cause(column, difference, size(without), size(changed)))
    return results


def cause_rows(results: list[Cause]) -> list[list[str]]:
    """The table in kB."""
    rows = [["column (kB)", "difference", "without", "with", "change"]]
    rows += [
        [
            result.column,
            result.difference,
            f"{result.without / 1000:,.0f}",
            f"{result.changed / 1000:,.0f}",
            f"{result.changed / result.without - 1:+.0%}",
        ]
        for result in results
    ]
    return rows
