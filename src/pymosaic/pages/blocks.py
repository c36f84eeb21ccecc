"""Blocks: values between bytes and Arrow, the input and output of encodings.

A block has the form of its values but not their Arrow type: an int64, a timestamp and a double are
all a :class:`FixedBlock` of 64 bits. It has no nulls either, except inside fixed-size lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import get_ident
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
    """Values of any length; ``offsets`` (int32 or int64) start at 0 and are checked."""

    offsets: npt.NDArray[Any]
    data: Bytes

    @property
    def count(self) -> int:
        """Number of values."""
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class ListBlock:
    """Fixed-size lists; ``validity`` is a bitmap of the items, None if all are valid."""

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
    """Indices into items; checked against each other."""

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
        The memory that contains all of them.
    starts, sizes : arrays of int64
        A row for each buffer of a chunk, a column for each chunk; checked to be inside ``data``.
    counts : array of int64
        Number of values of each chunk.
    """

    data: Bytes
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    counts: Integers

    @property
    def num_buffers(self) -> int:
        """Number of buffers of each chunk."""
        return len(self.starts)

    @property
    def total(self) -> int:
        """Number of values of all chunks."""
        return int(self.counts[0] if len(self.counts) == 1 else self.counts.sum())

    def without_first(self) -> Chunks:
        """The buffers after the first one of each chunk."""
        return Chunks(self.data, self.starts[1:], self.sizes[1:], self.counts)

    def with_counts(self, counts: Integers) -> Chunks:
        """The same buffers, with other numbers of values."""
        return Chunks(self.data, self.starts, self.sizes, counts)

    @staticmethod
    def single(data: Bytes, count: int) -> Chunks:
        """One buffer as one chunk; its count may come unchecked from a file."""
        corrupt_unless(count < 1 << 62, f"{count} values", "block")
        return Chunks(
            data,
            np.zeros((1, 1), np.int64),
            np.array([[len(data)]], np.int64),
            np.array([count], np.int64),
        )


class Memory:
    """The memory budget of decoding: every array is charged here before it is allocated.

    Pages that are decoded by several threads charge one table.
    """

    __slots__ = ("_limit", "_name", "_table", "_taken")

    def __init__(self, limit: int, name: str, table: Memory | None = None) -> None:
        self._limit = limit
        self._name = name
        self._table = table
        # For each thread what it has taken: only its own thread changes an entry, so that no charge
        # is lost, and there is no lock that an interrupt could leave locked.
        self._taken: dict[int, int] = {}

    @staticmethod
    def of_table(limits: Limits) -> Memory:
        """The budget of one call."""
        return Memory(limits.max_table_bytes, "max_table_bytes")

    @staticmethod
    def of_page(limits: Limits, table: Memory | None = None, pages: int = 1) -> Memory:
        """The budget of one page, or of several that are read together, as a part of a table."""
        return Memory(limits.max_row_group_bytes * pages, "max_row_group_bytes", table)

    def charge(self, size: int) -> None:
        """Charge ``size`` bytes."""
        if self._table is not None:
            self._table.charge(size)
        thread = get_ident()
        self._taken[thread] = self._taken.get(thread, 0) + size
        if sum(self._taken.values()) > self._limit:
            raise LimitExceededError(
                f"decoding takes more than Limits.{self._name} ({self._limit})", structure="page"
            )

    def bytes(self, size: int) -> Bytes:
        """Uninitialised memory, aligned to 16 bytes."""
        self.charge(size)
        return np.empty(size, np.uint8)

    def bitmap(self, bits: int) -> Bytes:
        """Cleared memory for a number of bits."""
        size = (bits + 7) // 8
        self.charge(size)
        return np.zeros(size, np.uint8)

    def array(self, count: int, kind: Any) -> npt.NDArray[Any]:
        """Uninitialised memory for numbers."""
        self.charge(count * np.dtype(kind).itemsize)
        return np.empty(count, kind)


def bytes_of(content: Any) -> Bytes:
    """A buffer as an array, not copied."""
    return np.frombuffer(content, np.uint8)


def numbers_of(content: Any, kind: str, count: int = -1) -> npt.NDArray[Any]:
    """A buffer as numbers; copied only if it is not aligned to their width."""
    numbers = np.frombuffer(content, kind, count)
    return numbers if numbers.flags.aligned else numbers.copy()


def corrupt_unless(condition: bool, reason: str, structure: str) -> None:
    """Raise a CorruptFileError if a condition on the file does not hold."""
    if not condition:
        raise CorruptFileError(reason, structure=structure)
