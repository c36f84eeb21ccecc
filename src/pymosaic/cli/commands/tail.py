"""``pymosaic tail``."""

from __future__ import annotations

from pymosaic.cli.options import Columns, Files, NumRows, Where, inspecting
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
    limit: NumRows = 10,
) -> None:
    """Show the last rows.

    With a filter, the matching rows are counted first.
    """
    from pymosaic.cli.rows import Window, open_rows

    with open_rows(files) as rows:
        offset = max(0, rows.count(where) - limit)
        output.rows(Window(rows, columns, where, offset, limit))
