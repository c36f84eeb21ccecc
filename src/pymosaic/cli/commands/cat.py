"""``pymosaic cat``."""

from __future__ import annotations

from typing import Annotated

from pymosaic.cli.options import Columns, Files, Limit, Offset, Where, inspecting
from pymosaic.cli.output import Output
from pymosaic.cli.parameters import Named

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic cat data.mosaic --format csv > data.csv",
    'pymosaic cat data.mosaic -c id,price -w "price > 9.5 and note is not null"',
    "pymosaic cat data.mosaic -n 1000 --offset 500000",
]


@inspecting
def command(
    output: Output,
    files: Files,
    columns: Columns = None,
    where: Where = None,
    limit: Limit = None,
    offset: Offset = 0,
    all_rows: Annotated[bool, Named("--all", help="Show all rows (the default).")] = (False),
) -> None:
    """Show all rows, or those that match a filter."""
    from pymosaic.cli.rows import Window, open_rows
    from pymosaic.errors import InvalidOptionError

    if all_rows and limit is not None:
        raise InvalidOptionError("--all and --rows cannot be combined")
    with open_rows(files) as rows:
        output.rows(Window(rows, columns, where, offset, limit))
