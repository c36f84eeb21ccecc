"""``pymosaic head``."""

from __future__ import annotations

from typing import Annotated

import typer

from pymosaic.cli.options import Columns, Files, Offset, Where, inspecting
from pymosaic.cli.output import Output

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic head data.mosaic",
    "pymosaic head data.mosaic -n 3 -c id,'sensor_temp_*'",
    "pymosaic head 'table/**/*.mosaic' --where \"age > 50 and city = 'Rome'\"",
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
    offset: Offset = 0,
) -> None:
    """Show the first rows."""
    from pymosaic.cli.rows import open_rows, show_rows

    with open_rows(files) as rows:
        show_rows(output, rows, columns, where, offset, limit)
