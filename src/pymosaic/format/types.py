"""Type ids and encodings, as the file stores them.

``kernels/catalog.pxd`` has the same numbers for C; a test compares them.
"""

from __future__ import annotations

import enum

__all__ = ["Encoding", "TypeId"]


class TypeId(enum.IntEnum):
    """The first byte of a type descriptor."""

    BOOLEAN = 0
    TINYINT = 1
    SMALLINT = 2
    INTEGER = 3
    BIGINT = 4
    FLOAT = 5
    DOUBLE = 6
    DATE = 7
    CHAR = 8
    VARCHAR = 9
    STRING = 10
    BINARY = 11
    VARBINARY = 12
    BYTES = 13
    DECIMAL = 14
    TIME = 15
    TIMESTAMP = 16
    TIMESTAMP_LTZ = 17
    ARRAY = 18
    MAP = 19


class Encoding(enum.IntEnum):
    """How a physical column's values are stored in one row group."""

    PLAIN = 0
    CONST = 1
    DICT = 2
    ALL_NULL = 3
