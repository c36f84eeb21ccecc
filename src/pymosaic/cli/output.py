"""How commands show their results: one interface, and one class for each format.

Commands make a :class:`Document` (facts and rows that describe a file) or hand over batches of a
table. The output decides whether that becomes a table on a terminal, JSON or CSV.
"""

from __future__ import annotations

import abc
import enum
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Cell", "Document", "Field", "Format", "Output", "open_output"]


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


class Output(abc.ABC):
    """Where a command's results go."""

    @abc.abstractmethod
    def document(self, document: Document) -> None:
        """Show the description of a file."""

    @abc.abstractmethod
    def rows(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], first_row: int) -> None:
        """Show rows of a table; ``first_row`` is the number of the first one."""

    @abc.abstractmethod
    def answer(self, text: str, facts: dict[str, Any]) -> None:
        """Show a result: a line of text for people, facts for JSON."""

    def close(self) -> None:  # noqa: B027  (only a terminal has something to finish)
        """Finish the output."""


class _JsonOutput(Output):
    """JSON, one document or row per line."""

    def __init__(self, write: Callable[[str], object], *, lines: bool) -> None:
        self._write = write
        self._lines = lines

    def document(self, document: Document) -> None:
        from pymosaic.cli.values import to_json

        if self._lines:
            for line in document.lines():
                self._write(to_json(line) + "\n")
            return
        facts = to_json(document.facts)
        if not document.fields:
            self._write(facts + "\n")
            return
        # Row by row: a file may have a million columns.
        self._write(f"{facts[:-1]},{to_json(document.rows_key)}:[")
        separator = ""
        for row in document.rows:
            self._write(separator + to_json(row))
            separator = ","
        self._write("]}\n")

    def rows(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], first_row: int) -> None:
        from pymosaic.cli.formats.jsonl import json_lines

        for text in json_lines(batches):
            self._write(text)

    def answer(self, text: str, facts: dict[str, Any]) -> None:
        from pymosaic.cli.values import to_json

        self._write(to_json(facts) + "\n")


class _CsvOutput(Output):
    """CSV with a header; an empty field is null, "" is an empty string."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._header: list[str] | None = None

    def document(self, document: Document) -> None:
        from pymosaic.cli.formats.csv import csv_line

        keys = document.keys
        if keys != self._header:
            self._write(csv_line(keys))
            self._header = keys
        for line in document.lines():
            self._write(csv_line([line.get(key) for key in keys]))

    def rows(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], first_row: int) -> None:
        from pymosaic.cli.formats.csv import csv_texts

        for text in csv_texts(schema, batches):
            self._write(text)

    def answer(self, text: str, facts: dict[str, Any]) -> None:
        from pymosaic.cli.formats.csv import csv_line

        self._write(csv_line(list(facts)))
        self._write(csv_line(list(facts.values())))


class _PlainOutput(_JsonOutput):
    """The default for pipes: JSON lines, and plain answers."""

    def answer(self, text: str, facts: dict[str, Any]) -> None:
        self._write(text + "\n")


def open_output(wanted: Format | None, *, as_json: bool, pager: bool) -> Output:
    """The output chosen by the options and by the kind of standard output."""
    stream = sys.stdout
    if as_json:
        wanted = Format.JSON
    if wanted is None:
        wanted = Format.TABLE if stream.isatty() else None
    if wanted is Format.TABLE:
        from pymosaic.cli.terminal import TerminalOutput

        return TerminalOutput(stream, pager=pager)
    write = _writer(stream)
    if wanted is None:
        return _PlainOutput(write, lines=True)
    if wanted is Format.CSV:
        return _CsvOutput(write)
    return _JsonOutput(write, lines=wanted is Format.JSONL)


def _writer(stream: TextIO) -> Callable[[str], object]:
    """Writes UTF-8 whatever the locale; on a terminal, only text and line ends."""
    if stream.isatty():
        from pymosaic.errors import printable

        return lambda text: stream.write("\n".join(map(printable, text.split("\n"))))
    binary = stream.buffer
    return lambda text: binary.write(text.encode("utf-8", "surrogatepass"))
