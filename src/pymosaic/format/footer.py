"""The footer: the last 32 bytes of a file, big-endian.

====== ==== ==================================================
offset size field
====== ==== ==================================================
0      8    index offset: where the row group index starts
8      8    schema offset: where the schema block starts
16     4    number of buckets
20     4    number of row groups
24     1    compression: :mod:`pymosaic.format.compression`
25     1    version: 1
26     2    reserved: written as 0, ignored when read
28     4    magic: ``MOSA``
====== ==== ==================================================
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.format.compression import BY_CODE, Compression

__all__ = ["FOOTER_SIZE", "MAGIC", "VERSION", "Footer"]

_LAYOUT = struct.Struct(">QQIIBBH4s")
FOOTER_SIZE = _LAYOUT.size
MAGIC = b"MOSA"
VERSION = 1
# The schema block starts with its own length.
_SCHEMA_PREFIX = 4


# How files of other formats end.
_OTHER_MAGIC = (
    (b"PAR1", "a Parquet file"),
    (b"PARE", "an encrypted Parquet file"),
    (b"ARROW1", "an Arrow IPC file"),
    (b"LANC", "a Lance file"),
)


def _other_format(end: bytes) -> str | None:
    """What the last bytes of a file of another format tell; None for an unknown one."""
    # ORC's last byte is the length of its postscript, which ends with the magic bytes.
    if end[-4:-1] == b"ORC":
        return "an ORC file"
    return next((name for magic, name in _OTHER_MAGIC if end.endswith(magic)), None)


class Footer(NamedTuple):
    """A parsed footer; :meth:`parse` checks everything that can be checked without the file."""

    index_offset: int
    schema_offset: int
    num_buckets: int
    num_row_groups: int
    compression: Compression

    @classmethod
    def parse(cls, data: bytes | memoryview, file_size: int) -> Footer:
        """Parse the last 32 bytes of a file of ``file_size`` bytes.

        Checked: magic, version, compression, and that schema block, index and footer follow each
        other inside the file. Not checked here: the bucket count, which the schema block repeats.
        """
        if bytes(data[-4:]) != MAGIC and (other := _other_format(bytes(data[-6:]))):
            raise CorruptFileError(
                f"this is {other}, not a Mosaic file; `pymosaic convert` converts it",
                structure="footer",
            )
        if len(data) < FOOTER_SIZE:
            raise CorruptFileError(
                f"the file is too short: {file_size} bytes, but a Mosaic file has at least "
                f"{FOOTER_SIZE}",
                structure="footer",
            )
        fields = _LAYOUT.unpack(data[-FOOTER_SIZE:])
        index_offset, schema_offset, num_buckets, num_row_groups, code, version = fields[:6]
        if fields[7] != MAGIC:
            raise CorruptFileError(
                "not a Mosaic file: it does not end with the magic bytes MOSA",
                structure="footer",
                offset=28,
            )
        if version != VERSION:
            raise UnsupportedFeatureError(
                f"format version {version}; this reader supports version {VERSION}",
                structure="footer",
                offset=25,
            )
        compression = BY_CODE.get(code)
        if compression is None:
            raise UnsupportedFeatureError(
                f"unknown compression {code}", structure="footer", offset=24
            )
        if not schema_offset + _SCHEMA_PREFIX <= index_offset <= file_size - FOOTER_SIZE:
            raise CorruptFileError(
                f"offsets of schema block {schema_offset} and index {index_offset} do not fit a "
                f"file of {file_size} bytes",
                structure="footer",
                offset=0,
            )
        return cls(
            index_offset,
            schema_offset,
            num_buckets,
            num_row_groups,
            compression,
        )

    @property
    def schema_size(self) -> int:
        """Size of the schema block."""
        return self.index_offset - self.schema_offset

    def index_size(self, file_size: int) -> int:
        """Size of the row group index, in a file of this size."""
        return file_size - FOOTER_SIZE - self.index_offset

    def emit(self) -> bytes:
        """The 32 bytes."""
        return _LAYOUT.pack(
            self.index_offset,
            self.schema_offset,
            self.num_buckets,
            self.num_row_groups,
            self.compression.code,
            VERSION,
            0,
            MAGIC,
        )
