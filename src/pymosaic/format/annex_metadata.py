"""Sections of metadata in the annex: key-values, and what Arrow knows of fields beyond their type.

All are stored as zstd frames with checksums, whatever the compression of the file, so that a part
can be read and checked without the rest. A *block* is 4 bytes big-endian, the size of its content,
and a frame.

Type 3, key-values: a block. Content: varint number of pairs, then for each pair 1 byte (0 = Arrow's
schema metadata, 1 = the user's), varint length and bytes of the key, varint length and bytes of the
value.

Type 4, the directory of fields: a block. Content, in numbers of 4 bytes, big-endian: how many
columns are listed, how many groups; for each listed column its position in name order minus that of
the one listed before (the first: its position); for each listed column the number of its field; for
each group the number of its fields, the size of its frame and the size of its content. Columns that
are read as they were written are not listed, and columns that are alike share a field.

Type 5, fields: the frames of all groups, one after another. Content: an Arrow IPC schema message
with the fields of the group, named by their number in it.

Type 7, the directory of dictionaries: like that of fields.

Type 6, dictionaries: the frames of all groups, one after another. Content: an Arrow IPC stream,
whose buffers Arrow has not compressed, with one column of lists; each row has the entries of a
dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pymosaic.errors import CorruptFileError
from pymosaic.format.compression import ZSTD
from pymosaic.format.varint import decode_varint, encode_varint
from pymosaic.limits import Limits

__all__ = [
    "ItemDirectory",
    "KeyValues",
    "compress",
    "emit_content",
    "emit_directory",
    "emit_key_values",
    "parse_content",
    "parse_directory",
    "parse_key_values",
]

Numbers: TypeAlias = npt.NDArray[np.int64]
_NUMBER = np.dtype(">u4")
_STRUCTURE = "annex"
_PREFIX = 4
_LEVEL = 3
# What was parsed last is kept, for files of the same schema: how many blocks, of which size.
_KEPT_BLOCKS = 4
_KEPT_BYTES = 4 << 20
_ARROW, _USER = 0, 1
_compressor = ZSTD.compressor(_LEVEL, checksum=True)


@dataclass(frozen=True, slots=True)
class KeyValues:
    """Arrow's schema metadata, and the user's."""

    arrow: tuple[tuple[bytes, bytes], ...] = ()
    user: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ItemDirectory:
    """Which columns have a field or dictionary in the annex, by ascending position, and which.

    Parameters
    ----------
    positions : array
        Of the listed columns, in name order.
    items : array
        For each of these, the number of its field or dictionary.
    counts, firsts : array
        For each group, the number of its items, and the number of its first.
    offsets : array
        For each group, where its frame starts in its section.
    sizes : array
        For each group, the sizes of its frame and of its content.
    """

    positions: Numbers
    items: Numbers
    counts: Numbers
    firsts: Numbers
    offsets: Numbers
    sizes: Numbers


def compress(content: bytes) -> bytes:
    """One frame with a checksum."""
    return _compressor.compress(content)


def _block(content: bytes) -> bytes:
    return len(content).to_bytes(_PREFIX, "big") + compress(content)


def _content(body: bytes | memoryview, limits: Limits) -> memoryview:
    if len(body) < _PREFIX:
        raise CorruptFileError("a section of metadata is cut off", structure=_STRUCTURE)
    size = int.from_bytes(body[:_PREFIX], "big")
    return memoryview(ZSTD.decompress(body[_PREFIX:], size, _STRUCTURE, limits))


class _Reader:
    """Reads varints and bytes, never beyond the end."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._position = 0

    def varint(self) -> int:
        value, size = decode_varint(self._data[self._position : self._position + 5], _STRUCTURE)
        self._position += size
        return value

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise CorruptFileError("a section of metadata is cut off", structure=_STRUCTURE)
        self._position += size
        return bytes(self._data[self._position - size : self._position])

    @property
    def left(self) -> int:
        return len(self._data) - self._position

    def count(self) -> int:
        """A number of things that take at least a byte each."""
        value = self.varint()
        if value > self.left:
            raise CorruptFileError("a section of metadata is cut off", structure=_STRUCTURE)
        return value


def emit_key_values(pairs: KeyValues) -> bytes:
    """The body of a section of key-values."""
    found = [(_ARROW, key, value) for key, value in pairs.arrow]
    found += [(_USER, key.encode(), value.encode()) for key, value in pairs.user]
    content = encode_varint(len(found)) + b"".join(
        bytes([kind]) + encode_varint(len(key)) + key + encode_varint(len(value)) + value
        for kind, key, value in found
    )
    return _block(content)


def parse_key_values(body: bytes | memoryview, limits: Limits) -> KeyValues:
    """Parse a section of key-values; kinds that are not known are skipped."""
    return (_kept_key_values if _is_small(body) else _parse_key_values)(bytes(body), limits)


def _is_small(body: bytes | memoryview) -> bool:
    """Whether the content of a block may be kept for the next file that has the same."""
    return int.from_bytes(body[:_PREFIX], "big") <= _KEPT_BYTES


def _parse_key_values(body: bytes, limits: Limits) -> KeyValues:
    reader = _Reader(_content(body, limits))
    arrow, user = [], []
    for _ in range(reader.count()):
        (kind,) = reader.take(1)
        key, value = (reader.take(reader.varint()) for _ in range(2))
        if kind == _ARROW:
            arrow.append((key, value))
        elif kind == _USER:
            try:
                user.append((key.decode(), value.decode()))
            except UnicodeDecodeError as error:
                raise CorruptFileError(f"user metadata: {error}", structure=_STRUCTURE) from error
    return KeyValues(tuple(arrow), tuple(user))


# pandas has a text for each column there.
_kept_key_values = lru_cache(maxsize=_KEPT_BLOCKS)(_parse_key_values)


def emit_directory(
    positions: Sequence[int], items: Sequence[int], groups: Sequence[tuple[int, int, int]]
) -> bytes:
    """The body of a directory; groups are numbers of items, frame sizes and content sizes."""
    steps = np.diff(np.asarray(positions, np.int64), prepend=0)
    flat = np.asarray(groups, np.int64).reshape(-1)
    counts = [len(positions), len(groups)]
    numbers = np.concatenate((counts, steps, np.asarray(items, np.int64), flat))
    return _block(numbers.astype(_NUMBER).tobytes())


def parse_directory(
    body: bytes | memoryview, num_columns: int, items_size: int, limits: Limits
) -> ItemDirectory:
    """Parse a directory.

    Checked: positions ascend and exist, groups have all items and fill ``items_size``.
    """
    parse = _kept_directory if _is_small(body) else _parse_directory
    return parse(bytes(body), num_columns, items_size, limits)


def _parse_directory(
    body: bytes, num_columns: int, items_size: int, limits: Limits
) -> ItemDirectory:
    content = _content(body, limits)
    numbers = np.frombuffer(content, np.uint8, len(content) // 4 * 4).view(_NUMBER).astype(np.int64)
    if len(numbers) < 2 or len(content) != 4 * (2 + 2 * int(numbers[0]) + 3 * int(numbers[1])):
        raise CorruptFileError("a section of metadata is cut off", structure=_STRUCTURE)
    num_listed = int(numbers[0])
    steps = numbers[2 : 2 + num_listed]
    positions = np.cumsum(steps)
    if num_listed and (not steps[1:].all() or positions[-1] >= num_columns):
        raise CorruptFileError("metadata is about columns that do not exist", structure=_STRUCTURE)
    items = numbers[2 + num_listed : 2 + 2 * num_listed]
    groups = numbers[2 + 2 * num_listed :].reshape(-1, 3)
    # Numbers of 32 bits, of which there are fewer than 2**30, do not overflow 64 bits.
    ends = np.cumsum(groups, axis=0)
    num_items, size = ends[-1, :2].tolist() if len(groups) else (0, 0)
    if size != items_size or (num_listed and items.max() >= num_items):
        raise CorruptFileError("metadata does not match its directory", structure=_STRUCTURE)
    starts = ends - groups
    return ItemDirectory(positions, items, groups[:, 0], starts[:, 0], starts[:, 1], groups[:, 1:])


_kept_directory = lru_cache(maxsize=_KEPT_BLOCKS)(_parse_directory)


def emit_content(content: bytes) -> bytes:
    """A block."""
    return _block(content)


def parse_content(body: bytes | memoryview, limits: Limits) -> memoryview:
    """The content of a block."""
    return _content(body, limits)
