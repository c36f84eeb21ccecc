"""The annex: bytes between the last bucket and the schema block, which version 1 skips.

::

    [buckets] [head | bodies of sections | table | trailer] [schema block] [index] [footer]

All numbers are big-endian.

====== ==== =========================================================================
offset size field
====== ==== =========================================================================
0      4    head: magic ``93 41 4e 58``
4      4    head: length of the annex, from its head to the schema block
8           bodies of the sections, one after another
====== ==== =========================================================================

Then the table, 12 bytes for each section: type (2), flags (2; 1 = a reader that does not know the
type must refuse the file), length of the body (4), CRC-32 of the body (4). Then the trailer:

====== ==== =========================================================================
offset size field
====== ==== =========================================================================
0      4    length of the annex, as in the head
4      1    number of sections
5      1    version: 1
6      2    reserved: 0
8      4    CRC-32 of the table and of the trailer up to here
12     8    magic ``MosAnnex``
====== ==== =========================================================================

Readers find the trailer in front of the schema block, and look for the head after the last bucket
only if there is no trailer: whichever of footer and index is damaged, the other leads to the annex.
CRC-32 is that of zlib; it detects every change of up to 32 bits in a row.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple
from zlib import crc32

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError

__all__ = [
    "HEAD_MAGIC",
    "HEAD_SIZE",
    "INTEGRITY_SIZE",
    "METADATA_SECTIONS",
    "TRAILER_MAGIC",
    "TRAILER_SIZE",
    "Body",
    "Integrity",
    "Section",
    "SectionType",
    "Trailer",
    "check_body",
    "emit",
    "emit_bucket_checksums",
    "emit_head",
    "parse_table",
    "resembles",
    "size_of",
]

STRUCTURE = "annex"
VERSION = 1
# As the size of a schema block, this would be more than 2 GiB.
HEAD_MAGIC = b"\x93ANX"
TRAILER_MAGIC = b"MosAnnex"
_HEAD = struct.Struct(">4sI")
_ENTRY = struct.Struct(">HHII")
# The part of the trailer that its checksum covers, and the rest.
_TRAILER_FIELDS = struct.Struct(">IBBH")
_TRAILER_SEAL = struct.Struct(">I8s")
_INTEGRITY = struct.Struct(">IIII")
HEAD_SIZE = _HEAD.size
TRAILER_SIZE = _TRAILER_FIELDS.size + _TRAILER_SEAL.size
INTEGRITY_SIZE = _INTEGRITY.size
_MAX_SECTIONS = 255
_U32_MAX = (1 << 32) - 1
_REQUIRED = 1


class SectionType(IntEnum):
    """The types of sections; readers skip others."""

    INTEGRITY = 1
    BUCKET_CHECKSUMS = 2
    KEY_VALUES = 3
    FIELD_DIRECTORY = 4
    FIELDS = 5
    DICTIONARIES = 6
    DICTIONARY_DIRECTORY = 7


METADATA_SECTIONS = (
    SectionType.KEY_VALUES,
    SectionType.FIELDS,
    SectionType.FIELD_DIRECTORY,
    SectionType.DICTIONARIES,
    SectionType.DICTIONARY_DIRECTORY,
)


class Body(NamedTuple):
    """A section to be written."""

    kind: int
    data: bytes
    required: bool = False


class Section(NamedTuple):
    """An entry of the table; ``start`` and ``stop`` are offsets of the body in the file."""

    kind: int
    required: bool
    start: int
    stop: int
    checksum: int

    @property
    def size(self) -> int:
        """Size of the body in bytes."""
        return self.stop - self.start


class Integrity(NamedTuple):
    """CRC-32 of everything but the annex, which has its own.

    Parameters
    ----------
    data : int
        Of all bytes from the first bucket to the annex.
    schema_block, row_group_index, footer : int
        Of these structures as stored; the schema block includes its prefix.
    """

    data: int
    schema_block: int
    row_group_index: int
    footer: int

    @classmethod
    def parse(cls, body: bytes | memoryview) -> Integrity:
        """Parse the body of an integrity section."""
        if len(body) != INTEGRITY_SIZE:
            raise CorruptFileError(
                f"an integrity section of {len(body)} bytes, not {INTEGRITY_SIZE}",
                structure=STRUCTURE,
            )
        return cls(*_INTEGRITY.unpack(body))

    def emit(self) -> bytes:
        """The 16 bytes."""
        return _INTEGRITY.pack(self.data, self.schema_block, self.row_group_index, self.footer)


class Trailer(NamedTuple):
    """The last 20 bytes of an annex."""

    length: int
    num_sections: int
    version: int
    checksum: int

    @classmethod
    def parse(cls, data: bytes | memoryview) -> Trailer | None:
        """Parse the trailer at the end of ``data``; None if the magic bytes are not there.

        Nothing is checked: :func:`parse_table` does that.
        """
        if len(data) < TRAILER_SIZE or data[-len(TRAILER_MAGIC) :] != TRAILER_MAGIC:
            return None
        fields = _TRAILER_FIELDS.unpack_from(data, len(data) - TRAILER_SIZE)
        length, num_sections, version, _reserved = fields
        checksum, _magic = _TRAILER_SEAL.unpack_from(data, len(data) - _TRAILER_SEAL.size)
        return cls(length, num_sections, version, checksum)

    @property
    def closing_size(self) -> int:
        """Size of table and trailer."""
        return self.num_sections * _ENTRY.size + TRAILER_SIZE


def parse_table(trailer: Trailer, closing: bytes | memoryview, stop: int) -> tuple[Section, ...]:
    """The sections of an annex that ends at ``stop``.

    Checked: the checksum of table and trailer, the version, and that head, bodies, table and
    trailer fill the annex. ``closing`` is table and trailer.
    """
    if crc32(closing[: -_TRAILER_SEAL.size]) != trailer.checksum:
        raise CorruptFileError(
            "its table and trailer do not match their checksum", structure=STRUCTURE
        )
    if trailer.version != VERSION:
        raise UnsupportedFeatureError(
            f"annex version {trailer.version}; this reader supports version {VERSION}",
            structure=STRUCTURE,
        )
    position = stop - trailer.length + HEAD_SIZE
    if position < HEAD_SIZE:
        raise CorruptFileError(
            f"{trailer.length} bytes do not fit in the {stop} before the schema block",
            structure=STRUCTURE,
        )
    sections = []
    for number in range(trailer.num_sections):
        kind, flags, size, checksum = _ENTRY.unpack_from(closing, number * _ENTRY.size)
        sections.append(Section(kind, bool(flags & _REQUIRED), position, position + size, checksum))
        position += size
    if position + trailer.closing_size != stop:
        raise CorruptFileError(
            f"its parts have {position + trailer.closing_size - stop + trailer.length} bytes, but "
            f"its length is {trailer.length}",
            structure=STRUCTURE,
        )
    return tuple(sections)


def check_body(section: Section, body: bytes | memoryview) -> None:
    """Compare the body of a section with its checksum."""
    if crc32(body) != section.checksum:
        raise CorruptFileError(
            f"section of type {section.kind} does not match its checksum", structure=STRUCTURE
        )


def size_of(sizes: Sequence[int]) -> int:
    """Size of an annex whose sections have these sizes."""
    return HEAD_SIZE + sum(sizes) + _ENTRY.size * len(sizes) + TRAILER_SIZE


def resembles(first: bytes, last: bytes, size: int) -> bool:
    """Whether ``size`` bytes may be an annex with damage at both ends.

    Parameters
    ----------
    first, last : bytes
        Their beginning and their end, of the size of a head and of a trailer, or less.
    size : int
    """
    head = zip(first, HEAD_MAGIC, strict=False)
    trailer = zip(reversed(last), reversed(TRAILER_MAGIC), strict=False)
    length = size.to_bytes(4, "big")
    return (
        sum(a == b for a, b in head) >= len(HEAD_MAGIC) // 2
        or sum(a == b for a, b in trailer) >= len(TRAILER_MAGIC) // 2 - 1
        or first[len(HEAD_MAGIC) : HEAD_SIZE] == length
        or last[-TRAILER_SIZE:][:4] == length
    )


def emit_head(length: int) -> bytes:
    """The head of an annex of this length."""
    return _HEAD.pack(HEAD_MAGIC, length)


def emit_bucket_checksums(checksums: Sequence[int]) -> bytes:
    """The body of a section of bucket checksums: for each row group, for each bucket."""
    return struct.pack(f">{len(checksums)}I", *checksums)


def emit(bodies: Sequence[Body]) -> bytes:
    """The bytes of an annex."""
    length = size_of([len(body.data) for body in bodies])
    if len(bodies) > _MAX_SECTIONS or length > _U32_MAX:
        raise ValueError(f"{len(bodies)} sections of {length} bytes do not fit in an annex")
    fields = b"".join(
        _ENTRY.pack(body.kind, int(body.required) * _REQUIRED, len(body.data), crc32(body.data))
        for body in bodies
    ) + _TRAILER_FIELDS.pack(length, len(bodies), VERSION, 0)
    seal = _TRAILER_SEAL.pack(crc32(fields), TRAILER_MAGIC)
    return emit_head(length) + b"".join(body.data for body in bodies) + fields + seal
