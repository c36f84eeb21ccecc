"""``pymosaic head``."""

from __future__ import annotations

from pymosaic.cli.options import Columns, Files, NumRows, Offset, Where, inspecting
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
    limit: NumRows = 10,
    offset: Offset = 0,
) -> None:
    """Show the first rows."""
    from pymosaic.cli.rows import Window, open_rows

    with open_rows(files) as rows:
        output.rows(Window(rows, columns, where, offset, limit))
