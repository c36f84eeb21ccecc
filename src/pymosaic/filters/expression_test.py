"""Arrow expressions that filters cannot express, tested row by row by Arrow itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.errors import InvalidOptionError

__all__ = ["ExpressionTest"]

_ROW = "row"


@dataclass(frozen=True, slots=True)
class ExpressionTest:
    """An expression over columns, some of which may be constant.

    Parameters
    ----------
    expression : pyarrow.compute.Expression
        A row is kept if it is true.
    columns : tuple of str
        The columns that it uses and that are not constant.
    constants : dict of str to pyarrow.Scalar
        Values of the others.
    """

    # Arrow's comparison of two expressions makes a third.
    expression: pc.Expression = field(compare=False)
    columns: tuple[str, ...]
    constants: Mapping[str, pa.Scalar] = field(default_factory=dict, compare=False)

    def validate(self, types: Mapping[str, pa.DataType]) -> None:
        """Check that the expression can be computed for columns of these types."""
        fields = [(name, types[name]) for name in self.columns]
        try:
            pa.schema(fields).empty_table().filter(self.expression)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            raise InvalidOptionError(f"filters: {self.expression}: {error}") from error

    def with_constants(self, constants: Mapping[str, pa.Scalar]) -> ExpressionTest:
        """The test where some columns have one value."""
        used = {name: constants[name] for name in self.columns if name in constants}
        left = tuple(name for name in self.columns if name not in used)
        return replace(self, columns=left, constants={**self.constants, **used})

    def mask(self, columns: Mapping[str, pa.Array] | pa.RecordBatch, num_rows: int) -> pa.Array:
        """Return for each row whether it is kept; the result has no nulls."""
        arrays = [columns[name] for name in self.columns]
        arrays += [pa.repeat(value, num_rows) for value in self.constants.values()]
        names = [*self.columns, *self.constants]
        # Only the rows that are kept come back: a column with their numbers tells which.
        row = _ROW
        while row in names:
            row += "_"
        table = pa.table([*arrays, np.arange(num_rows)], names=[*names, row])
        kept = np.zeros(num_rows, np.bool_)
        kept[table.filter(self.expression)[row].to_numpy()] = True
        return pa.array(kept)

    def __str__(self) -> str:
        return str(self.expression)
