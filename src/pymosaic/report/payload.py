"""The data of a page in one compact block: a JSON document and flat arrays of numbers.

::

    gzip( document length u32 | document, UTF-8 JSON, padded to 8 | arrays, each padded to 8 )

All little-endian. ``document["arrays"]`` maps the name of an array to ``[kind, offset, length]``:
its number type, its offset after the document, and the number of elements.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Numbers", "pack"]

Numbers = npt.NDArray[np.uint64]

_ALIGNMENT = 8
_KINDS = (np.uint8, np.uint16, np.uint32)
# The largest integer that a JavaScript number holds exactly.
_MAX_EXACT = 2**53


def pack(document: Mapping[str, Any], arrays: Mapping[str, Numbers]) -> bytes:
    """Pack a document and arrays; each array gets the narrowest type that holds its numbers.

    Examples
    --------
    >>> import gzip, numpy as np
    >>> packed = pack({"title": "x"}, {"sizes": np.array([1, 300], np.uint64)})
    >>> gzip.decompress(packed)[-8:]
    b'\\x01\\x00,\\x01\\x00\\x00\\x00\\x00'
    """
    directory: dict[str, tuple[str, int, int]] = {}
    pieces: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        narrow = _narrowed(array.ravel())
        piece = _padded(narrow.tobytes())
        directory[name] = (narrow.dtype.name, offset, narrow.size)
        pieces.append(piece)
        offset += len(piece)
    text = json.dumps({**document, "arrays": directory}, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate, from a path that is not UTF-8, cannot be encoded.
    encoded = text.encode("utf-8", "replace")
    start = _padded(len(encoded).to_bytes(4, "little") + encoded)
    # No timestamp: the same file gives the same page.
    return gzip.compress(b"".join((start, *pieces)), 6, mtime=0)


def _narrowed(array: Numbers) -> npt.NDArray[Any]:
    largest = int(array.max()) if array.size else 0
    for kind in _KINDS:
        if largest <= np.iinfo(kind).max:
            return array.astype(np.dtype(kind).newbyteorder("<"))
    return np.minimum(array, _MAX_EXACT).astype("<f8")


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)
