"""``pymosaic sample``."""

from __future__ import annotations

from typing import Annotated

from pymosaic.cli.options import Columns, Files, NumRows, Where, inspecting
from pymosaic.cli.output import Output
from pymosaic.cli.parameters import Named

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
    limit: NumRows = 10,
    seed: Annotated[
        int | None, Named(metavar="N", help="The same seed gives the same rows.")
    ] = None,
) -> None:
    """Show rows chosen at random.

    Every row is equally likely. The chosen rows are shown in file order.
    """
    from pymosaic.cli.rows import open_rows
    from pymosaic.cli.sampling import Sample

    with open_rows(files) as rows:
        output.rows(Sample(rows, columns, where, limit, seed))
