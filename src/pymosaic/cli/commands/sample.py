"""``pymosaic sample``."""

from __future__ import annotations

from typing import Annotated

import typer

from pymosaic.cli.options import Columns, Files, Where, inspecting
from pymosaic.cli.output import Output

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic sample data.mosaic",
    "pymosaic sample data.mosaic -n 100 --seed 7 -w 'price > 9.5' --format csv",
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
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="The same seed gives the same rows.")
    ] = None,
) -> None:
    """Show rows chosen at random.

    Every row is equally likely. The chosen rows are shown in file order.
    """
    from pymosaic.cli.rows import open_rows
    from pymosaic.cli.sampling import sample_rows

    with open_rows(files) as rows:
        names = rows.names(columns)
        table = sample_rows(rows, names, where, limit, seed)
        output.rows(table.schema, table.to_batches(), 0)
