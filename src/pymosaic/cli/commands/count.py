"""``pymosaic count``."""

from __future__ import annotations

from pymosaic.cli.options import Files, Where, inspecting
from pymosaic.cli.output import Output

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic count data.mosaic",
    "pymosaic count table/ --where \"city like 'Ro%'\"",
]


@inspecting
def command(output: Output, files: Files, where: Where = None) -> None:
    """Count all rows, or those that match a filter."""
    from pymosaic.cli.rows import open_rows

    with open_rows(files) as rows:
        number = rows.count(where)
    output.answer(str(number), {"num_rows": number})
