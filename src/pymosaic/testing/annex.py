"""Annexes put into files, taken out of them, and forged; see :mod:`pymosaic.format.annex`.

Nothing here goes through the writer, and nothing is checked: whatever is given ends up in the file.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any
from zlib import crc32

__all__ = ["annex", "integrity", "with_annex", "without_annex"]

_HEAD = b"\x93ANX"
_MAGIC = b"MosAnnex"
_TRAILER_SIZE = 20
_INTEGRITY = 1


def annex(
    *sections: tuple[int, bytes],
    required: Sequence[int] = (),
    length: int | None = None,
    count: int | None = None,
    sizes: Sequence[int] | None = None,
    version: int = 1,
    seal: int | None = None,
    head: bytes | None = None,
    magic: bytes = _MAGIC,
) -> bytes:
    """An annex of sections given as type and body; keyword arguments replace the correct values.

    Examples
    --------
    >>> annex((77, b"abc"))[:11]
    b'\\x93ANX\\x00\\x00\\x00+abc'
    """
    bodies = [body for _, body in sections]
    total = 8 + sum(map(len, bodies)) + 12 * len(sections) + _TRAILER_SIZE
    stated = total if length is None else length
    stated_sizes = list(map(len, bodies)) if sizes is None else sizes
    covered = b"".join(
        struct.pack(">HHII", kind, int(kind in required), size, crc32(body))
        for (kind, body), size in zip(sections, stated_sizes, strict=True)
    )
    covered += struct.pack(">IBBH", stated, len(sections) if count is None else count, version, 0)
    start = _HEAD + struct.pack(">I", stated) if head is None else head
    checksum = crc32(covered) if seal is None else seal
    return start + b"".join(bodies) + covered + struct.pack(">I", checksum) + magic


def integrity(data: bytes, first_bucket: int, annex_size: int, annex_start: int) -> bytes:
    """The body of an integrity section for a file that has no annex yet.

    The annex will be inserted at ``annex_start``, in front of the schema block.
    """
    footer = _moved_footer(data, annex_size)
    index_offset, schema_offset = struct.unpack(">QQ", data[-32:-16])
    return struct.pack(
        ">IIII",
        crc32(data[first_bucket:annex_start]),
        crc32(data[schema_offset:index_offset]),
        crc32(data[index_offset:-32]),
        crc32(footer),
    )


def _moved_footer(data: bytes, distance: int) -> bytes:
    index_offset, schema_offset = struct.unpack(">QQ", data[-32:-16])
    return struct.pack(">QQ", index_offset + distance, schema_offset + distance) + data[-16:]


def with_annex(
    data: bytes,
    *sections: tuple[int, bytes],
    guard: bool = True,
    first_bucket: int = 0,
    **lies: Any,
) -> bytes:
    """A file without annex, with one put in front of its schema block.

    Parameters
    ----------
    data : bytes
    *sections : (int, bytes)
        Types and bodies.
    guard : bool
        Add a section with the checksums of the other structures.
    first_bucket : int
        Where the first bucket starts.
    **lies
        As for :func:`annex`.

    Examples
    --------
    >>> import pymosaic
    >>> from pymosaic.testing import pieces
    >>> data = with_annex(pieces.of_one(pieces.INTEGER, pieces.ONE_TWO))
    >>> pymosaic.read_table(data).to_pydict()
    {'a': [1, 2]}
    >>> pymosaic.read_table(data[:-5] + b"\\x01" + data[-4:])
    Traceback (most recent call last):
    pymosaic.errors.CorruptFileError: footer: does not match its checksum in the annex
    """
    schema_offset = int.from_bytes(data[-24:-16], "big")
    parts = list(sections)
    if guard:
        size = len(annex(*parts, (_INTEGRITY, bytes(16)), **lies))
        parts.append((_INTEGRITY, integrity(data, first_bucket, size, schema_offset)))
    inserted = annex(*parts, **lies)
    footer = _moved_footer(data, len(inserted))
    return data[:schema_offset] + inserted + data[schema_offset:-32] + footer


def without_annex(data: bytes) -> bytes:
    """A file with its annex taken out, as version 1 without checksums of index and footer.

    Examples
    --------
    >>> from pymosaic.testing import pieces
    >>> plain = pieces.of_one(pieces.INTEGER, pieces.ONE_TWO)
    >>> without_annex(with_annex(plain)) == plain
    True
    """
    schema_offset = int.from_bytes(data[-24:-16], "big")
    trailer = data[schema_offset - _TRAILER_SIZE : schema_offset]
    if not trailer.endswith(_MAGIC):
        return data
    length = int.from_bytes(trailer[:4], "big")
    footer = _moved_footer(data, -length)
    return data[: schema_offset - length] + data[schema_offset:-32] + footer
