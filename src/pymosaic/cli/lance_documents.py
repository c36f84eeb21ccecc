"""What ``meta``, ``pages``, ``column-size`` and ``stats`` show for Lance files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pymosaic.cli.column_sizes import ColumnSize
from pymosaic.cli.inputs import select_names
from pymosaic.cli.output import Cell, Document, Field
from pymosaic.cli.text import count
from pymosaic.lance import LanceFile, LancePage

__all__ = ["add_lance_sizes", "lance_meta", "lance_pages", "lance_statistics"]

_COLUMNS = (
    Field("column", Cell.NAME),
    Field("leaf", Cell.NAME),
    Field("num_pages", Cell.NUMBER, "pages"),
    Field("compressed_bytes", Cell.BYTES, "size"),
)
_PAGES = (
    Field("column", Cell.NAME),
    Field("leaf", Cell.NAME),
    Field("first_row", Cell.NUMBER),
    Field("num_rows", Cell.NUMBER, "rows"),
    Field("layout"),
    Field("encoding"),
    Field("compressed_bytes", Cell.BYTES, "size"),
)


def lance_meta(path: str) -> Document:
    """Version, rows, and the pages and bytes of each column."""
    with LanceFile(path) as file:
        facts = {
            "file": path,
            "format": f"lance {file.version}",
            "num_rows": file.num_rows,
            "num_columns": file.num_columns,
        }
        rows = [
            {
                "column": column,
                "leaf": leaf,
                "num_pages": len(pages),
                "compressed_bytes": sum(page.num_bytes for page in pages),
            }
            for column, leaf, pages in _leaves(file, file.column_names)
        ]
        title = (
            f"{path}: Lance {file.version}, {count(file.num_rows, 'row')}, "
            f"{count(file.num_columns, 'column')}"
        )
    return Document(title, facts, "columns", _COLUMNS, rows)


def lance_pages(path: str, columns: list[str] | None) -> Document:
    """Rows, layout, encodings and bytes of each page."""
    with LanceFile(path) as file:
        facts = {"file": path, "format": f"lance {file.version}", "num_columns": file.num_columns}
        names = select_names(columns, file.column_names) or file.column_names
        rows = [
            {
                "column": column,
                "leaf": leaf,
                "first_row": page.first_row,
                "num_rows": page.num_rows,
                "layout": type(page.layout).__name__.removesuffix("Layout"),
                "encoding": _encoding(page),
                "compressed_bytes": page.num_bytes,
            }
            for column, leaf, pages in _leaves(file, names)
            for page in pages
        ]
    return Document(f"{path}: {count(len(rows), 'page')}", facts, "pages", _PAGES, rows)


def add_lance_sizes(sizes: dict[str, ColumnSize], path: str) -> int:
    """Add the sizes of a file's columns, which their metadata lists; returns the size of all data.

    The sizes before compression are not stored, so they are unknown.
    """
    stored = 0
    with LanceFile(path) as file:
        for field in file.schema:
            size = sizes.setdefault(field.name, ColumnSize(field.name, str(field.type)))
            size.raw_bytes = None
        for name, _, pages in _leaves(file, file.column_names):
            size = sizes[name]
            for page in pages:
                size.num_bytes += page.num_bytes
                stored += page.num_bytes
                encoding = _encoding(page) or type(page.layout).__name__.removesuffix("Layout")
                size.encodings[encoding] = size.encodings.get(encoding, 0) + page.num_bytes
    return stored


def lance_statistics(path: str, columns: list[str] | None, fields: tuple[Field, ...]) -> Document:
    """Nothing: Lance files store no statistics. The columns must exist all the same."""
    with LanceFile(path) as file:
        select_names(columns, file.column_names)
        facts = {"file": path, "num_rows": file.num_rows, "num_row_groups": None}
    empty = "Lance files store no statistics; `pymosaic profile` computes them from the rows"
    return Document(path, facts, "statistics", fields, [], empty=empty)


def _leaves(file: LanceFile, names: list[str]) -> Iterator[tuple[str, str, tuple[LancePage, ...]]]:
    for name in names:
        for number, leaf in enumerate(file.leaves(name)):
            yield name, leaf, file.pages(name, number)


def _encoding(page: LancePage) -> str | None:
    """The names of the encodings, outermost first: ``General > Flat``."""
    layout: Any = page.layout
    encoding = getattr(getattr(layout, "inner_layout", layout), "value_compression", None)
    names = []
    while encoding is not None:
        names.append(type(encoding).__name__)
        encoding = getattr(encoding, "values", None)
        if isinstance(encoding, tuple):
            encoding = encoding[0] if encoding else None
    return " > ".join(names) or None
