"""The formats of output: JSON, CSV, plain lines, and the choice between them and a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

from pymosaic.cli.output import Document, Excerpt, Format, Output

__all__ = ["open_output"]


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

    def rows(self, excerpt: Excerpt) -> None:
        from pymosaic.cli.formats.jsonl import json_lines

        for text in json_lines(excerpt.batches()):
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

    def rows(self, excerpt: Excerpt) -> None:
        from pymosaic.cli.formats.csv import csv_texts

        for text in csv_texts(excerpt.schema, excerpt.batches()):
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
