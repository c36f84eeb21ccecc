"""Values between bytes and Arrow: what the encodings give and take.

A block knows the form of its values but not their Arrow type: an int64, a timestamp and a double
are all :class:`FixedBlock` of 64 bits. Nulls are not its business either, except inside fixed-size
lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pymosaic.errors import CorruptFileError, LimitExceededError
from pymosaic.limits import Limits

__all__ = [
    "Block",
    "Bytes",
    "Chunks",
    "DictionaryBlock",
    "FixedBlock",
    "Integers",
    "ListBlock",
    "Memory",
    "StructBlock",
    "VariableBlock",
    "bytes_of",
    "corrupt_unless",
    "numbers_of",
]

Bytes: TypeAlias = npt.NDArray[np.uint8]
Integers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FixedBlock:
    """Values of one width: whole bytes each, or single bits, least significant first."""

    bits: int
    count: int
    data: Bytes


@dataclass(frozen=True, slots=True)
class VariableBlock:
    """Values of any length; ``offsets`` (int32 or int64) start at 0 and were checked."""

    offsets: npt.NDArray[Any]
    data: Bytes

    @property
    def count(self) -> int:
        """Number of values."""
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class ListBlock:
    """Fixed-size lists; ``validity`` is a bitmap of the items, None where all are valid."""

    size: int
    count: int
    items: Block
    validity: Bytes | None


@dataclass(frozen=True, slots=True)
class StructBlock:
    """Fields of a packed struct."""

    count: int
    fields: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class DictionaryBlock:
    """Indices into items; both were checked against each other."""

    indices: npt.NDArray[Any]
    items: Block

    @property
    def count(self) -> int:
        """Number of values."""
        return len(self.indices)


Block: TypeAlias = FixedBlock | VariableBlock | ListBlock | StructBlock | DictionaryBlock


@dataclass(frozen=True, slots=True)
class Chunks:
    """Buffers of several chunks inside one piece of memory; a block is one chunk.

    Parameters
    ----------
    data : array of uint8
        Where all of them are.
    starts, sizes : arrays of int64
        A row for each buffer of a chunk, a column for each chunk; checked to lie inside ``data``.
    counts : array of int64
        Values of each chunk.
    """

    data: Bytes
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    counts: Integers

    @property
    def num_buffers(self) -> int:
        """Buffers of each chunk."""
        return len(self.starts)

    @property
    def total(self) -> int:
        """Values of all chunks."""
        return int(self.counts[0] if len(self.counts) == 1 else self.counts.sum())

    def without_first(self) -> Chunks:
        """The buffers after the first one of each chunk."""
        return Chunks(self.data, self.starts[1:], self.sizes[1:], self.counts)

    def with_counts(self, counts: Integers) -> Chunks:
        """The same buffers, said to hold other numbers of values."""
        return Chunks(self.data, self.starts, self.sizes, counts)

    @staticmethod
    def single(data: Bytes, count: int) -> Chunks:
        """One buffer as one chunk; its count may come from a file as it stands there."""
        corrupt_unless(count < 1 << 62, f"{count} values", "block")
        return Chunks(
            data,
            np.zeros((1, 1), np.int64),
            np.array([[len(data)]], np.int64),
            np.array([count], np.int64),
        )


class Memory:
    """What decoding may take: every array is asked for here before it is made."""

    __slots__ = ("_left", "_limit", "_name", "_table")

    def __init__(self, limit: int, name: str, table: Memory | None = None) -> None:
        self._limit = self._left = limit
        self._name = name
        self._table = table

    @staticmethod
    def of_table(limits: Limits) -> Memory:
        """For all that one call reads."""
        return Memory(limits.max_table_bytes, "max_table_bytes")

    @staticmethod
    def of_page(limits: Limits, table: Memory | None = None) -> Memory:
        """For one page, as a part of a table."""
        return Memory(limits.max_row_group_bytes, "max_row_group_bytes", table)

    def charge(self, size: int) -> None:
        """Count ``size`` bytes."""
        if self._table is not None:
            self._table.charge(size)
        self._left -= size
        if self._left < 0:
            raise LimitExceededError(
                f"decoding takes more than Limits.{self._name} ({self._limit})", structure="page"
            )

    def bytes(self, size: int) -> Bytes:
        """Memory that is not cleared; it starts at a multiple of 16 bytes."""
        self.charge(size)
        return np.empty(size, np.uint8)

    def bitmap(self, bits: int) -> Bytes:
        """Clear memory for so many bits."""
        size = (bits + 7) // 8
        self.charge(size)
        return np.zeros(size, np.uint8)

    def array(self, count: int, kind: Any) -> npt.NDArray[Any]:
        """Memory for numbers, not cleared."""
        self.charge(count * np.dtype(kind).itemsize)
        return np.empty(count, kind)


def bytes_of(content: Any) -> Bytes:
    """A buffer as an array, not copied."""
    return np.frombuffer(content, np.uint8)


def numbers_of(content: Any, kind: str, count: int = -1) -> npt.NDArray[Any]:
    """A buffer as numbers; copied only where they would not lie at multiples of their width."""
    numbers = np.frombuffer(content, kind, count)
    return numbers if numbers.flags.aligned else numbers.copy()


def corrupt_unless(condition: bool, reason: str, structure: str) -> None:
    """Raise a CorruptFileError where a file breaks its own word."""
    if not condition:
        raise CorruptFileError(reason, structure=structure)
