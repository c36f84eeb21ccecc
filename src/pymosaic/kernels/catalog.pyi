"""The catalog: all columns of a file in flat C arrays, and the search for names in them."""

import numpy as np
import numpy.typing as npt

class Catalog:
    """All columns of a file, in the order of the schema block; a *position* is a place in it."""

    @property
    def num_nodes(self) -> int: ...
    @property
    def num_columns(self) -> int: ...
    @property
    def num_buckets(self) -> int: ...
    @property
    def name_encoding(self) -> int: ...
    @property
    def num_rules(self) -> int: ...
    @property
    def is_sorted(self) -> bool: ...
    @property
    def has_nul_names(self) -> bool: ...
    @property
    def unread_bytes(self) -> int: ...
    @property
    def nbytes(self) -> int:
        """Bytes of memory that the columns take."""

    def spread_over(self, num_buckets: int) -> None:
        """Spread the columns over another number of buckets; for a file not yet begun."""

    def bucket_range(self, bucket: int) -> tuple[int, int]:
        """Positions ``(first, last + 1)`` of a bucket's columns."""

    def find(self, name: str) -> int:
        """The position of a column, or -1."""

    def find_many(self, names: list[str]) -> npt.NDArray[np.int64]:
        """Positions of many columns in one call, -1 for those that are not there."""

    def name(self, position: int) -> str:
        """The name of a column."""

    def names(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Names of the columns at positions ``start`` to ``stop``."""

    def prefix_range(self, prefix: str) -> tuple[int, int] | None:
        """Positions ``(first, last + 1)`` of names that start so; None where names are unsorted."""

    def original_order(self) -> npt.NDArray[np.int64]:
        """For each column in the user's order, its position."""

    def type_of(self, position: int) -> tuple[int, bool, int, int]:
        """``(type id, nullable, parameter, scale)`` of a column."""

    def has_statistics(self, position: int) -> bool:
        """Whether the format keeps min and max for a column's type."""
