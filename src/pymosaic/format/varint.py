"""Varints: unsigned LEB128 of up to 32 bits, seven bits per byte, low bits first.

Kernels have their own; these are for the few varints that Python reads and writes.
"""

from __future__ import annotations

from pymosaic.errors import CorruptFileError

__all__ = ["decode_varint", "encode_varint"]

_MAX_BYTES = 5


def encode_varint(value: int) -> bytes:
    """Encode a number in the shortest form.

    Examples
    --------
    >>> encode_varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_varint(data: bytes | memoryview, structure: str) -> tuple[int, int]:
    """The varint at the start of ``data``, and its size in bytes.

    Examples
    --------
    >>> decode_varint(bytes.fromhex("ac02ff"), "slot")
    (300, 2)
    """
    value = 0
    for place, byte in enumerate(data[:_MAX_BYTES]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            if value >> 32:
                break
            return value, place + 1
    raise CorruptFileError("does not start with a varint", structure=structure, offset=0)
