"""The output of encodings when writing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pymosaic.pages.blocks import Bytes, Integers
from pymosaic.pages.messages import Encoding

__all__ = [
    "MAX_CHUNK_BYTES",
    "MAX_CHUNK_VALUES",
    "ChunkBuffer",
    "EncodedBlock",
    "EncodedChunks",
    "even_counts",
    "fitting_count",
    "join",
]

# Other writers keep to this limit, and some readers rely on it.
MAX_CHUNK_BYTES = 8186
MAX_CHUNK_VALUES = 4096


@dataclass(frozen=True, slots=True)
class ChunkBuffer:
    """One buffer of every chunk, back to back, with their sizes."""

    data: Bytes
    sizes: Integers


@dataclass(frozen=True, slots=True)
class EncodedChunks:
    """Values in chunks; all but the last hold a power of two of them."""

    encoding: Encoding
    counts: Integers
    buffers: tuple[ChunkBuffer, ...]

    @property
    def num_bytes(self) -> int:
        """Total size of all buffers."""
        return sum(len(buffer.data) for buffer in self.buffers)


@dataclass(frozen=True, slots=True)
class EncodedBlock:
    """One block: a dictionary, or levels."""

    encoding: Encoding
    data: Bytes


def fitting_count(bits_per_value: int, extra_bits: int = 0) -> int:
    """The largest power of two of values that fits in a chunk; 1 if two do not fit."""
    count = MAX_CHUNK_VALUES
    while count > 1 and (count * (bits_per_value + extra_bits) + 7) // 8 > MAX_CHUNK_BYTES:
        count //= 2
    return count


def even_counts(total: int, chunk_values: int) -> Integers:
    """The number of values in each chunk; the last one has the rest."""
    chunks = -(-total // chunk_values)
    counts = np.full(chunks, chunk_values, np.int64)
    if chunks:
        counts[-1] = total - (chunks - 1) * chunk_values
    return counts


def join(pieces: Sequence[bytes]) -> ChunkBuffer:
    """Join pieces of different sizes into one buffer."""
    sizes = np.array([len(piece) for piece in pieces], np.int64)
    return ChunkBuffer(np.frombuffer(b"".join(pieces), np.uint8), sizes)
