"""How commands show their results: the one interface, and what they hand to it.

Commands make a :class:`Document` (facts and rows that describe a file) or hand over an
:class:`Excerpt` of a table. The output decides whether that becomes a table on a terminal, JSON or
CSV.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Cell", "Document", "Excerpt", "Field", "Format", "Output"]


class Format(enum.StrEnum):
    """Output formats."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"


class Cell(enum.Enum):
    """The kind of value in a field, which decides how a terminal shows it."""

    NAME = "name"
    TEXT = "text"
    NUMBER = "number"
    BYTES = "bytes"
    SHARE = "share"
    VALUE = "value"
    # Text that is never cut; a terminal wraps it. The last field of a document only.
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a document's rows; ``key`` is its name in JSON and CSV."""

    key: str
    cell: Cell = Cell.TEXT
    header: str | None = None
    # Given a row: what a terminal shows instead of the value.
    text: Callable[[dict[str, Any]], str] | None = None
    on_terminal: bool = True

    @property
    def title(self) -> str:
        """The header on a terminal."""
        return self.key.replace("_", " ") if self.header is None else self.header


@dataclass(frozen=True, slots=True)
class Document:
    """What a command found out about one file.

    In JSON, ``facts`` come first, then ``rows`` as a list under the key ``rows_key``. As JSON lines
    and CSV, each row is a line that also names the file; a document without fields is one line of
    its facts.
    """

    title: str
    facts: dict[str, Any]
    rows_key: str = ""
    fields: tuple[Field, ...] = ()
    rows: Iterable[dict[str, Any]] = ()
    # Facts that a terminal shows as sizes, and what it shows if there are no rows.
    sizes: tuple[str, ...] = ()
    empty: str = "none"
    # Whether what was found is good or bad, which a terminal shows in colour.
    verdict: bool | None = None

    def lines(self) -> Iterator[dict[str, Any]]:
        """One dict for each line of JSON lines and CSV."""
        if not self.fields:
            return iter([self.facts])
        named = {"file": self.facts["file"]} if "file" in self.facts else {}
        return ({**named, **row} for row in self.rows)

    @property
    def keys(self) -> list[str]:
        """The names of the values on a line."""
        if not self.fields:
            return list(self.facts)
        return [*(["file"] if "file" in self.facts else []), *(item.key for item in self.fields)]


class Excerpt(abc.ABC):
    """Some rows and columns of a table, which are read when they are shown."""

    names: list[str]
    first_row: int = 0  # the number of the first row

    @property
    @abc.abstractmethod
    def schema(self) -> pa.Schema:
        """The columns; names alone cost less."""

    @abc.abstractmethod
    def batches(self, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows, with these columns or all."""


class Output(abc.ABC):
    """Where a command's results go."""

    @abc.abstractmethod
    def document(self, document: Document) -> None:
        """Show the description of a file."""

    @abc.abstractmethod
    def rows(self, excerpt: Excerpt) -> None:
        """Show rows of a table."""

    @abc.abstractmethod
    def answer(self, text: str, facts: dict[str, Any]) -> None:
        """Show a result: a line of text for people, facts for JSON."""

    def total(self, text: str, verdict: bool | None = None) -> None:  # noqa: B027
        """Show a line about all files together; only people need it."""

    def close(self) -> None:  # noqa: B027  (only a terminal has something to finish)
        """Finish the output."""
