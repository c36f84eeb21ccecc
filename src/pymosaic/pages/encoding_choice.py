"""The choice of layout and encodings of a page.

Whatever is not forced is chosen by size, in bytes of the page's values:

1. A page without values, or with nulls only, is an all-null page.
2. Values of 256 bytes or more, even one, make a full-zip page; the others a mini-block page, unless
   a chunk would have more levels than its header can count.
3. Fixed width (8 to 64 bits): the smallest of plain, bit-packed and runs; on equal sizes the one
   named first. Other widths: plain.
4. Variable width: FSST where the values have 32 KiB and it saves a tenth, else plain.
5. A dictionary instead, for strings and for values of 64 bits and more, where its items and its
   indices, packed to their bits, take less than four fifths of what 3 or 4 gives.
6. A general compressor, where one is asked for, is kept for a page only where it makes it smaller.
   With one, strings are not FSST-compressed, and numbers of 32 and 64 bits that would be plain are
   split into byte streams first.
"""

from __future__ import annotations

from dataclasses import dataclass

from pymosaic.errors import InvalidOptionError
from pymosaic.pages.messages import CompressionScheme

__all__ = ["EncodingChoice", "parse_choice"]

LAYOUTS = ("mini-block", "full-zip", "blob")
VALUES = (
    "plain",
    "bit-packed",
    "run-length",
    "byte-stream-split",
    "fsst",
    "dictionary",
    "packed-struct",
)
COMPRESSIONS = {"zstd": CompressionScheme.ZSTD, "lz4": CompressionScheme.LZ4}
# Listed so that requesting them gives an explanation.
_REFUSED = {
    "dictionary-message": "no version of Lance decodes the Dictionary message; 'dictionary' uses "
    "the dictionary of the mini-block layout",
    "variable-packed-struct": "VariablePackedStruct came with version 2.2; a 2.1 reader refuses it",
}
_MAX_ZSTD_LEVEL = 22


@dataclass(frozen=True, slots=True)
class EncodingChoice:
    """Forced choices; None if the writer chooses."""

    layout: str | None = None
    values: str | None = None
    compression: CompressionScheme | None = None
    level: int | None = None


def parse_choice(text: object, column: str) -> EncodingChoice:
    """Parse a caller's choice, such as ``"full-zip+fsst"`` or ``"byte-stream-split+zstd:9"``.

    Examples
    --------
    >>> parse_choice("run-length+zstd:9", "n")
    EncodingChoice(layout=None, values='run-length',
                   compression=<CompressionScheme.ZSTD: 2>, level=9)
    """
    if not isinstance(text, str):
        raise InvalidOptionError(f"encodings[{column!r}] must be a string, got {text!r}")
    found: dict[str, object] = {}

    def put(kind: str, value: object) -> None:
        if kind in found:
            raise InvalidOptionError(
                f"encodings[{column!r}] = {text!r} names two options of one kind"
            )
        found[kind] = value

    for part in text.split("+"):
        name, _, level = part.strip().partition(":")
        if name in COMPRESSIONS:
            put("compression", COMPRESSIONS[name])
            if level:
                if not level.isdigit() or not 1 <= int(level) <= _MAX_ZSTD_LEVEL or name != "zstd":
                    raise InvalidOptionError(
                        f"encodings[{column!r}]: {part!r} has no level from 1 to 22 of zstd"
                    )
                found["level"] = int(level)
        elif level or name not in LAYOUTS + VALUES:
            if name in _REFUSED:
                raise InvalidOptionError(f"encodings[{column!r}]: {_REFUSED[name]}")
            known = ", ".join([*LAYOUTS, *VALUES, *COMPRESSIONS])
            raise InvalidOptionError(
                f"encodings[{column!r}]: {part!r} is not known; use {known}, joined by '+'"
            )
        else:
            put("layout" if name in LAYOUTS else "values", name)
    return EncodingChoice(**found)  # type: ignore[arg-type]
