"""The profile of a table, as users see it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.errors import ColumnNotFoundError, printable
from pymosaic.profiling.columns import ColumnProfiles
from pymosaic.progress import Meter

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Profile", "profile_batches"]

_SHOWN_COLUMNS = 10
_MAX_WIDTH = 24
_HEADERS = {"approximate_distinct": "distinct"}


@dataclass(frozen=True, slots=True)
class Profile:
    """What the columns of a table hold.

    Parameters
    ----------
    table : pyarrow.Table
        A row for each column: ``column`` and ``type``; ``rows``, ``nulls`` and ``nans``;
        ``minimum`` and ``maximum`` as text (of at most 200 characters, binary as hexadecimal);
        ``mean`` and quantiles (``25%``) of numbers; ``approximate_distinct``, the estimated number
        of distinct values.
    num_rows : int
        The number of rows.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> people = pa.table({"age": [31, 52, None], "name": ["Ann", "Bo", "Cy"]})
    >>> pymosaic.write_table(people, "people.mosaic")
    >>> profile = pymosaic.MosaicFile("people.mosaic").describe()
    >>> profile
    Profile of 2 columns, 3 rows
    column  type    nulls  nans  minimum  maximum  mean  25%  50%  75%  distinct
    age     int64       1     0  31       52       41.5   31   31   52         2
    name    string      0     0  Ann      Cy                                   3
    >>> profile["age"]["mean"]
    41.5
    """

    table: pa.Table
    num_rows: int

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, name: str) -> dict[str, Any]:
        """What is known of a column, as a dict."""
        found = self.table["column"].index(pa.scalar(name, pa.string())).as_py()
        if found < 0:
            raise ColumnNotFoundError(f"the profile has no column {name!r}")
        row: dict[str, Any] = self.table.slice(found, 1).to_pylist()[0]
        return row

    def to_pandas(self) -> pd.DataFrame:
        """The profile as a pandas frame with an index of column names."""
        return self.table.to_pandas().set_index("column")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    @property
    def title(self) -> str:
        """One line about the whole."""
        return f"Profile of {len(self):,} columns, {self.num_rows:,} rows"

    def shown(self) -> tuple[list[str], list[list[str]], list[bool], int]:
        """For people: headers, rows of texts, which are numbers, and how many rows are left out.

        Of many columns, the first and last are shown.
        """
        table = self.table.drop_columns(["rows"])
        left_out = max(0, len(self) - _SHOWN_COLUMNS)
        if left_out:
            half = _SHOWN_COLUMNS // 2
            table = pa.concat_tables([table.slice(0, half), table.slice(len(self) - half)])
        rows = [[_shown(value) for value in row.values()] for row in table.to_pylist()]
        headers = [_HEADERS.get(str(name), str(name)) for name in table.column_names]
        return headers, rows, [kind != pa.string() for kind in table.schema.types], left_out

    def _repr_html_(self) -> str:
        from pymosaic.notebook import table_html

        headers, rows, numbers, left_out = self.shown()
        if left_out:
            more = [f"… {left_out:,} more columns", *[""] * (len(headers) - 1)]
            rows.insert(_SHOWN_COLUMNS // 2, more)
        return table_html(self.title, headers, rows, numbers)

    def __repr__(self) -> str:
        headers, rows, numbers, left_out = self.shown()
        widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
        lines = [
            "  ".join(
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(row, widths, numbers, strict=True)
            ).rstrip()
            for row in [headers, *rows]
        ]
        if left_out:
            lines.insert(1 + _SHOWN_COLUMNS // 2, f"… {left_out:,} more columns")
        return "\n".join([self.title, *lines])


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = printable(str(value))
    return text if len(text) <= _MAX_WIDTH else f"{text[: _MAX_WIDTH - 1]}…"


def profile_batches(
    batches: Iterable[pa.RecordBatch],
    stored: pa.Schema,
    shown: pa.Schema,
    quantiles: Sequence[float],
    meter: Meter,
    use_threads: bool = True,
) -> Profile:
    """Profile rows: ``stored`` has the types of the batches, ``shown`` those for people."""
    profiles = ColumnProfiles(stored)
    for batch in batches:
        profiles.add_batch(batch, use_threads)
        meter.add(batch.num_rows)
    meter.finish()
    return Profile(profiles.table(shown, quantiles), profiles.rows)
