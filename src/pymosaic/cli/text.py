"""Text for people: cut to a width; readable counts."""

from __future__ import annotations

__all__ = [
    "child_name",
    "count",
    "cut",
    "cut_middle",
    "percent",
    "ratio",
    "width_of",
    "wrap",
]


def width_of(text: str) -> int:
    """The number of terminal cells that a text takes."""
    # Names that were shortened have an ellipsis, one cell wide.
    if text.isascii() or text.replace("…", "").isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, width: int) -> str:
    """The text, with its end replaced by … if it is too wide."""
    if width_of(text) <= width:
        return text
    return _start(text, width - 1) + "…"


def cut_middle(text: str, width: int) -> str:
    """The text, with its middle replaced by … if it is too wide: both ends of a name matter."""
    if width_of(text) <= width:
        return text
    tail = (width - 1) // 2
    end = _start(text[::-1], tail)[::-1]
    return _start(text, width - 1 - tail) + "…" + end


def _start(text: str, width: int) -> str:
    if text.isascii():
        return text[: max(0, width)]
    kept = text[: max(0, width)]
    while kept and width_of(kept) > width:
        kept = kept[:-1]
    return kept


def wrap(text: str, width: int) -> list[str]:
    """The text on as many lines as it needs; a word that is too long for a line is broken.

    Examples
    --------
    >>> from pymosaic.cli.text import wrap
    >>> wrap("a file that is damaged", 10)
    ['a file', 'that is', 'damaged']
    """
    width = max(1, width)
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and width_of(line) + 1 + width_of(word) <= width:
            line += " " + word
            continue
        if line:
            lines.append(line)
        while width_of(word) > width:
            start = _start(word, width) or word[:1]
            lines.append(start)
            word = word[len(start) :]
        line = word
    return [*lines, line] if line or not lines else lines


def count(number: int, singular: str, plural: str | None = None) -> str:
    """A count with its noun, in singular or plural.

    Examples
    --------
    >>> from pymosaic.cli.text import count
    >>> count(1, "row"), count(12000, "row")
    ('1 row', '12,000 rows')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def child_name(column: str, child: int | None) -> str:
    """A physical column; the children of lists and maps are numbered."""
    return column if child is None else f"{column} › {child}"


def percent(part: float) -> str:
    """A share as a percentage."""
    return f"{part:.2%}"


def ratio(raw: int, stored: int) -> str:
    """The compression ratio."""
    return f"{raw / stored:.1f}x" if stored else ""
