"""Rows of a batch as lines of JSON."""

from collections.abc import Callable

import pyarrow as pa

class JsonRows:
    """The rows of a batch as lines of JSON."""

    def __init__(self, batch: pa.RecordBatch, encode: Callable[[str], str]) -> None: ...
    @property
    def others(self) -> list[int]:
        """The numbers of the columns whose texts must be given."""

    def line(self, row: int, heads: list[str], texts: dict[int, list[str]]) -> str:
        """A row as a line of JSON."""
