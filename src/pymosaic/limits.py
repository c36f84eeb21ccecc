"""Caps that protect readers from hostile files."""

from __future__ import annotations

from dataclasses import dataclass, fields

from pymosaic.errors import InvalidOptionError

__all__ = ["DEFAULT_LIMITS", "MAX_NESTING_DEPTH", "Limits"]

# Arrow itself allows 64 levels, and a map counts as two.
MAX_NESTING_DEPTH = 30
# Types are parsed recursively, so the stack is the bound.
_DEEPEST_LIMIT = 1000

_MIB = 1 << 20
_GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Caps on the resources that a file may demand of the reader.

    Every honest file passes the defaults. A file that exceeds a cap raises
    :class:`pymosaic.LimitExceededError`, which names the limit to raise.

    Parameters
    ----------
    max_block_bytes : int
        Decompressed size of one block: schema, monolithic bucket or page.
    max_index_bytes : int
        Size of the row group index, and of the schema block, on disk.
    max_columns : int
        Number of columns, nested ones included.
    max_name_bytes : int
        Length of one column name.
    max_names_bytes : int
        Total length of all column names after decoding.
    max_nesting_depth : int
        Depth of ARRAY and MAP types; at most 1000.
    max_row_group_bytes : int
        Arrow memory for decoding one row group.
    max_table_bytes : int
        Arrow memory for reading a whole table.

    Examples
    --------
    >>> import pymosaic
    >>> pymosaic.Limits(max_row_group_bytes=64 << 20).max_row_group_bytes
    67108864
    """

    max_block_bytes: int = 512 * _MIB
    max_index_bytes: int = 512 * _MIB
    max_columns: int = 10_000_000
    max_name_bytes: int = 1 * _MIB
    max_names_bytes: int = 512 * _MIB
    max_nesting_depth: int = MAX_NESTING_DEPTH
    max_row_group_bytes: int = 8 * _GIB
    max_table_bytes: int = 1024 * _GIB

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 1 << 62:
                raise InvalidOptionError(
                    f"Limits.{field.name} must be an int from 1 to 2**62 - 1, got {value!r}"
                )
        if self.max_nesting_depth > _DEEPEST_LIMIT:
            raise InvalidOptionError(
                f"Limits.max_nesting_depth must be at most {_DEEPEST_LIMIT}, "
                f"got {self.max_nesting_depth}"
            )


# Made once: checking the values takes longer than opening a small file.
DEFAULT_LIMITS = Limits()
