"""``pymosaic diff``."""

from __future__ import annotations

from typing import Annotated

from pymosaic.cli.options import Columns, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output
from pymosaic.cli.parameters import Named, Positional

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "LEFT RIGHT"
EXAMPLES = [
    "pymosaic diff old.mosaic new.mosaic",
    "pymosaic diff table.parquet table.mosaic -c 'price*'",
    "pymosaic diff a.mosaic b.mosaic --schema-only --json",
]

_FIELDS = (
    Field("kind"),
    Field("column", Cell.NAME),
    Field("count", Cell.NUMBER, "differ"),
    Field("row", Cell.NUMBER, "first row"),
    Field("left", Cell.VALUE),
    Field("right", Cell.VALUE),
)


@inspecting
def command(
    output: Output,
    left: Annotated[str, Positional("LEFT")],
    right: Annotated[str, Positional("RIGHT")],
    columns: Columns = None,
    schema_only: Annotated[
        bool, Named("--schema-only", help="Compare only the columns, not the rows.")
    ] = False,
) -> int:
    """Compare two files or datasets: columns, rows, values.

    Rows are compared in order, in the columns that both have with the same type. Exit code 0: no
    differences; 1: differences. All formats that convert supports can be compared.
    """
    from pymosaic.cli.comparison import compare
    from pymosaic.cli.progress import progress_bar
    from pymosaic.cli.rows import open_rows
    from pymosaic.cli.text import count

    with (
        open_rows([left]) as first,
        open_rows([right]) as second,
        progress_bar("comparing") as progress,
    ):
        differences = compare(first, second, columns, schema_only, progress)
        facts = {
            "left": left,
            "right": right,
            "equal": not differences,
            "left_rows": first.num_rows,
            "right_rows": second.num_rows,
        }
    found = count(len(differences), "difference") if differences else "no differences"
    title = f"{left} and {right}: {found}"
    output.document(
        Document(
            title,
            facts,
            "differences",
            _FIELDS,
            differences,
            empty="identical",
            verdict=not differences,
        )
    )
    return 1 if differences else 0
