"""Completion of column names in the shell."""

from __future__ import annotations

from typing import Any

__all__ = ["complete_columns"]

_MOST = 200


def complete_columns(ctx: Any, incomplete: str) -> list[str]:
    """Names of the columns of the file before the cursor, after what is typed of a list."""
    # While a line is incomplete, what is no option is still among the arguments.
    given = [*(ctx.params.get("files") or ()), *ctx.args]
    source = next((word for word in given if not word.startswith("-")), None)
    if source is None:
        return []
    before, comma, start = incomplete.rpartition(",")
    try:
        from pymosaic.cli.rows import open_rows

        with open_rows([source]) as rows:
            names = rows.schema.names
    except Exception:  # the shell shows nothing, whatever is wrong with the file
        return []
    matching = (name for name in names if name.startswith(start) and name.isprintable())
    return [f"{before}{comma}{name}" for _, name in zip(range(_MOST), matching, strict=False)]
