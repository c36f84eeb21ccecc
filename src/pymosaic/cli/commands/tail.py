"""``pymosaic tail``."""

from __future__ import annotations

from typing import Annotated

import typer

from pymosaic.cli.options import Columns, Files, Where, inspecting
from pymosaic.cli.output import Output

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic tail data.mosaic",
    "pymosaic tail table/ -n 3 -c id,'sensor_temp_*' --where 'age > 50'",
]


@inspecting
def command(
    output: Output,
    files: Files,
    columns: Columns = None,
    where: Where = None,
    limit: Annotated[
        int, typer.Option("-n", "--rows", min=0, metavar="N", help="Number of rows.")
    ] = 10,
) -> None:
    """Show the last rows.

    With a filter, all matching rows are read to find the last ones.
    """
    from pymosaic.cli.rows import open_rows, show_rows

    with open_rows(files) as rows:
        number = rows.count(where)
        show_rows(output, rows, columns, where, max(0, number - limit), limit)
