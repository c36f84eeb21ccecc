"""The schema block: the columns, in name order.

On disk: 4 bytes big-endian = length of the content, then the content as a block.

Content:

================================ ==========================================================
field                            encoding
================================ ==========================================================
number of columns                varint
number of buckets                varint
name encoding                    1 byte: 1 = byte pairs and front coding, other = front coding
rules, with name encoding 1      varint count, then 2 bytes each: left and right symbol
per column                       varint bytes shared with the name before, varint suffix
                                 length, suffix, type descriptor
original order                   per column in the user's order: its position in this list,
                                 as zigzag varint difference to the one before
================================ ==========================================================

Type descriptor: type id, nullable (1 byte each), then for CHAR, VARCHAR, BINARY, VARBINARY a
varint length; for TIME and TIMESTAMP a varint precision; for TIMESTAMP_LTZ that and the zone
(varint length, UTF-8); for DECIMAL varint precision and scale (32-bit two's complement); for
ARRAY the element's name and descriptor; for MAP the name of the entries, then name and descriptor
of key and value.
"""

from __future__ import annotations

from pymosaic.format.compression import Compression, Compressor
from pymosaic.limits import Limits

__all__ = ["PREFIX", "content", "emit"]

# Size of the prefix: the length of the content.
PREFIX = 4
_STRUCTURE = "schema block"


def content(
    data: bytes | memoryview, compression: Compression, limits: Limits
) -> bytes | memoryview:
    """The content of a schema block that has its prefix.

    :mod:`pymosaic.kernels.schema_content` makes a catalog of it, and back.
    """
    declared_size = int.from_bytes(data[:PREFIX], "big")
    return compression.decompress(data[PREFIX:], declared_size, _STRUCTURE, limits)


def emit(content: bytes, compressor: Compressor) -> bytes:
    """The schema block of a content, prefix included."""
    return len(content).to_bytes(PREFIX, "big") + compressor.compress(content)
