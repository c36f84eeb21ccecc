"""What notebooks show of files, datasets and others: a small table of facts.

Colours are those of the page around it, so that it fits light and dark themes. Names come from
files, so that everything is escaped.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pymosaic.errors import printable
from pymosaic.sizes import format_size

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ShownFields", "facts_html", "schema_summary", "summarize", "table_html"]

_SHOWN_NAMES = 8
_MAX_NAME = 60
_MAX_FACT = 200
_CELL = 'style="text-align:{};padding:1px 8px;border:0;background:none"'


class ShownFields:
    """A dataclass whose fields notebooks show, for reports on what was done.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, slots=True)
    ... class Report(ShownFields):
    ...     bytes_written: int
    >>> "12.1 KiB" in Report(12_345)._repr_html_()
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        # Those of dataclasses; this class itself has no fields.
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        facts = [(name.replace("_", " "), _fact(name, getattr(self, name))) for name in names]
        return facts_html(type(self).__name__, facts)


def _fact(name: str, value: Any) -> str:
    """A field for people; of many items, the first."""
    if isinstance(value, list | tuple | frozenset | set):
        shown = ", ".join(_cut(str(item)) for item in list(value)[:_SHOWN_NAMES])
        more = f", … {len(value) - _SHOWN_NAMES:,} more" if len(value) > _SHOWN_NAMES else ""
        return f"{len(value):,}{': ' if shown else ''}{shown}{more}"
    if isinstance(value, int) and not isinstance(value, bool):
        is_size = name.startswith("bytes") or name.endswith("bytes")
        return format_size(value) if is_size else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    text = str(value)
    return text if len(text) <= _MAX_FACT else f"{text[:_MAX_FACT]}…"


def facts_html(title: str, facts: Iterable[tuple[str, str]]) -> str:
    """A title, and a line for each fact.

    Examples
    --------
    >>> "&lt;b&gt;" in facts_html("a file", [("path", "<b>")])
    True
    """
    rows = [[what, told] for what, told in facts]
    return table_html(title, None, rows, [False, False])


def table_html(
    title: str,
    headers: Sequence[str] | None,
    rows: Iterable[Sequence[str]],
    numbers: Sequence[bool],
) -> str:
    """A title and a table; ``numbers`` tells which columns are on the right."""
    cells = [_CELL.format("right" if number else "left") for number in numbers]
    lines = [
        "<tr>" + "".join(f"<td {c}>{_text(x)}</td>" for c, x in zip(cells, row, strict=True))
        for row in rows
    ]
    if headers is not None:
        named = zip(cells, headers, strict=True)
        lines.insert(0, "<tr>" + "".join(f"<th {c}>{_text(x)}</th>" for c, x in named))
    return (
        f'<div style="overflow-x:auto;color:inherit"><b>{_text(title)}</b>'
        f'<table style="border-collapse:collapse;margin:2px 0">{"".join(lines)}</table></div>'
    )


def schema_summary(names: Sequence[str], types: Iterable[object]) -> list[tuple[str, str]]:
    """The first names of columns, and how many have which type; short for any number.

    Examples
    --------
    >>> schema_summary(["a", "b"], ["int64", "int64"])
    [('columns', '2: a, b'), ('types', '2 int64')]
    """
    shown = [_cut(name) for name in names[:_SHOWN_NAMES]]
    more = f", … {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    kinds = Counter(map(str, types)).most_common()
    told = [f"{count:,} {_cut(kind)}" for kind, count in kinds[:_SHOWN_NAMES]]
    others = f", … {len(kinds) - len(told):,} more" if len(kinds) > len(told) else ""
    return [
        ("columns", f"{len(names):,}: {', '.join(shown)}{more}"),
        ("types", f"{', '.join(told)}{others}"),
    ]


def summarize(schema: pa.Schema) -> str:
    """A few lines on a schema of any width: ``str(schema)`` has a line for each column.

    Parameters
    ----------
    schema : pyarrow.Schema

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> wide = pa.schema([(f"sensor_{number:05}", pa.float32()) for number in range(10_000)])
    >>> print(pymosaic.summarize(wide.append(pa.field("label", pa.bool_()))))
    columns: 10,001: sensor_00000, sensor_00001, sensor_00002, sensor_00003, ... 9,993 more
    types: 10,000 float, 1 bool
    """
    return "\n".join(
        f"{what}: {printable(told)}" for what, told in schema_summary(schema.names, schema.types)
    )


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_NAME else f"{text[:_MAX_NAME]}…"


def _text(text: str) -> str:
    return html.escape(printable(text))
