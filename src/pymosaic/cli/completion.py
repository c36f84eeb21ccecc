"""Completion of column names in the shell."""

from __future__ import annotations

from typing import Any

__all__ = ["complete_columns"]

_MOST = 200


def complete_columns(ctx: Any, incomplete: str) -> list[str]:
    """Column names of the file on the command line that continue the list typed so far."""
    # While a line is incomplete, everything that is not an option is still an argument.
    given = [*(ctx.params.get("files") or ()), *ctx.args]
    source = next((word for word in given if not word.startswith("-")), None)
    if source is None:
        return []
    before, comma, start = incomplete.rpartition(",")
    try:
        from pymosaic.cli.rows import open_rows

        with open_rows([source]) as rows:
            names = rows.schema.names
    except Exception:  # whatever is wrong with the file, the shell offers no completions
        return []
    matching = (name for name in names if name.startswith(start) and name.isprintable())
    return [f"{before}{comma}{name}" for _, name in zip(range(_MOST), matching, strict=False)]
