"""A page: one physical column of a paged bucket. A slot: a page as stored in the file.

A slot:

====================== ===========================================================
field                  encoding
====================== ===========================================================
size of the page       varint
page                   a block (see :mod:`pymosaic.format.compression`)
====================== ===========================================================

A page:

====================== ===========================================================
field                  encoding
====================== ===========================================================
encoding               1 byte: :class:`pymosaic.format.types.Encoding`
flags                  1 byte: bit 0 = the column has nulls, the others are ignored
CONST: the value       one serialised value
DICT: the dictionary   varint number of entries, then the entries
bitmap, if it has      a bit per row, low bits first, 1 = null
nulls
PLAIN: the values      those that are not null, back to back
DICT: the indices      of the values that are not null, bit-packed, low bits first
====================== ===========================================================

A column that is all null has no slot, but a page that says so is accepted. The content of a page is
handled by :mod:`pymosaic.kernels.bucket_encoder` and :mod:`pymosaic.kernels.bucket_decoder`.
"""

from __future__ import annotations

from pymosaic.errors import InvalidDataError
from pymosaic.format.compression import Compression, Compressor, Scratch
from pymosaic.format.varint import decode_varint, encode_varint
from pymosaic.limits import Limits

__all__ = ["MAX_SLOT_BYTES", "emit_slot", "open_slot", "parse_slot"]

MAX_SLOT_BYTES = (1 << 32) - 1


def emit_slot(page: bytes, compressor: Compressor) -> bytes:
    """The slot of a page."""
    slot = encode_varint(len(page)) + compressor.compress(page)
    if len(slot) > MAX_SLOT_BYTES:
        raise InvalidDataError(f"a page of {len(slot)} bytes exceeds the format's maximum of 4 GiB")
    return slot


def open_slot(slot: memoryview, structure: str) -> tuple[int, memoryview]:
    """The size that a slot declares for its page, and the block."""
    declared_size, start = decode_varint(slot, structure)
    return declared_size, slot[start:]


def parse_slot(
    slot: memoryview,
    compression: Compression,
    structure: str,
    limits: Limits,
    scratch: Scratch | None = None,
) -> tuple[bytes | memoryview, bool]:
    """The page of a slot, and whether it has a checksum."""
    declared_size, block = open_slot(slot, structure)
    page = compression.decompress(block, declared_size, structure, limits, scratch)
    return page, compression.has_checksum(block)
