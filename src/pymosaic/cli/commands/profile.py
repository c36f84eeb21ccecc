"""``pymosaic profile``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pymosaic.cli.options import Columns, Files, Where, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pymosaic.profiling.profile import Profile

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic profile data.mosaic",
    "pymosaic profile table/ -c 'price*' -w 'day > 3' --format csv",
]


def _number(key: str) -> Field:
    return Field(key, text=lambda row: "" if row[key] is None else f"{row[key]:.6g}")


_FIELDS = (
    Field("column", Cell.NAME),
    Field("type"),
    Field("rows", Cell.NUMBER),
    Field("nulls", Cell.NUMBER),
    Field("nans", Cell.NUMBER, "NaNs"),
    Field("minimum", Cell.VALUE),
    Field("maximum", Cell.VALUE),
    _number("mean"),
    _number("25%"),
    _number("50%"),
    _number("75%"),
    Field("approximate_distinct", Cell.NUMBER, "distinct"),
)


@inspecting
def command(output: Output, files: Files, columns: Columns = None, where: Where = None) -> None:
    """Describe columns: nulls, range, mean, distinct values.

    Rows are read once, a row group at a time. Quantiles are off by about 0.3 % of the rows, the
    number of distinct values by about 3 %.
    """
    from pymosaic.cli.progress import progress_bar
    from pymosaic.cli.rows import open_rows
    from pymosaic.profiling.columns import QUANTILES
    from pymosaic.profiling.profile import profile_batches
    from pymosaic.progress import Meter

    with open_rows(files) as rows, progress_bar("profiling") as progress:
        names = rows.names(columns)
        schema = rows.selected_schema(names)
        total = rows.num_rows if where is None else None
        batches = rows.batches(names, where)
        meter = Meter(progress, total, "rows")
        found = profile_batches(batches, schema, schema, QUANTILES, meter)
    path = ", ".join(files)
    facts = {"file": path, "num_rows": found.num_rows, "num_columns": len(found)}
    output.document(Document(path, facts, "columns", _FIELDS, _rows(found)))


def _rows(profile: Profile) -> Iterator[dict[str, Any]]:
    for batch in profile.table.to_batches(1000):
        yield from batch.to_pylist()
