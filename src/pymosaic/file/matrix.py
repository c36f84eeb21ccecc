"""Matrices: columns of numbers, decoded straight into rows and columns of numpy.

A bucket is read, decoded, converted and released before the next: beside the matrix, memory holds
a few buckets for each thread; of files that are not local, also the stored bytes of a row group.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.errors import InvalidDataError, InvalidOptionError, LimitExceededError
from pymosaic.file.open_file import FileHead, OpenFile
from pymosaic.file.plan import BucketPlan, plan_row_group
from pymosaic.file.projection import Positions
from pymosaic.file.row_group_reader import RowGroupReader, Selection
from pymosaic.kernels.arrow_export import BatchExport
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.matrix import fill, first_unfit
from pymosaic.threads import num_threads, ordered_map

if TYPE_CHECKING:
    from pymosaic.file.file_filter import FileFilter

__all__ = [
    "Matrix",
    "MatrixType",
    "Nulls",
    "Rows",
    "check_numbers",
    "first_known_null",
    "read_matrix",
    "refuse_nulls",
]

Nulls: TypeAlias = "Literal['nan', 'mask', 'error'] | float"
Rows: TypeAlias = "npt.NDArray[np.int64] | None"
"""Numbers of rows in a row group; None for all."""

_TYPES = ("float32", "float64", "int32", "int64")
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class MatrixType:
    """What a matrix is made of, checked.

    Parameters
    ----------
    dtype : numpy dtype
    nulls : "nan", "mask", "error" or a number
    order : "C" or "F"
    """

    dtype: np.dtype[Any]
    nulls: Nulls
    order: Literal["C", "F"]

    @classmethod
    def of(cls, dtype: npt.DTypeLike, nulls: Nulls, order: Literal["C", "F"]) -> MatrixType:
        """The type that a user asks for."""
        try:
            found: np.dtype[Any] = np.dtype(dtype)
        except TypeError as error:
            raise InvalidOptionError(f"dtype: {error}") from error
        if found.name not in _TYPES or not found.isnative:
            raise InvalidOptionError(f"dtype must be one of {', '.join(_TYPES)}, got {dtype!r}")
        if order not in ("C", "F"):
            raise InvalidOptionError(f"order must be 'C' (rows) or 'F' (columns), got {order!r}")
        if not isinstance(nulls, str) and isinstance(nulls, Real) and not isinstance(nulls, bool):
            cls._check_value(found, nulls)
        elif not isinstance(nulls, str) or nulls not in ("nan", "mask", "error"):
            raise InvalidOptionError(
                f"nulls must be 'nan', 'mask', 'error' or a number, got {nulls!r}"
            )
        elif nulls == "nan" and found.kind == "i":
            raise InvalidOptionError(
                f"nulls='nan' needs a dtype of floats, got {found.name}: "
                "give a number that stands for nulls, nulls='mask' or nulls='error'"
            )
        return cls(found, nulls, order)

    @staticmethod
    def _check_value(dtype: np.dtype[Any], value: float) -> None:
        if dtype.kind == "i":
            bounds = np.iinfo(dtype)
            fits = bounds.min <= value <= bounds.max and value == int(value)
        else:
            largest = float(np.finfo(dtype).max)
            fits = -largest <= value <= largest or value != value or abs(value) == float("inf")
        if not fits:
            raise InvalidOptionError(f"nulls: {dtype.name} cannot hold {value!r}")

    @property
    def null(self) -> float:
        """What stands in the matrix for a null."""
        if isinstance(self.nulls, str):
            return float("nan") if self.dtype.kind == "f" else 0
        return int(self.nulls) if self.dtype.kind == "i" else float(self.nulls)


def check_numbers(catalog: Catalog, positions: Positions, dtype: np.dtype[Any]) -> None:
    """Refuse columns that have no place in a matrix, by name, before anything is read."""
    place = first_unfit(catalog, positions, dtype.itemsize, dtype.kind == "i")
    if place < 0:
        return
    position = positions[place : place + 1]
    field = Selection(catalog, position).import_schema().field(0)
    fitting = first_unfit(catalog, positions, 8, False) < 0
    advice = (
        "choose a dtype that holds it, such as 'float64'"
        if fitting
        else "choose other columns: numbers, booleans, decimals and dates fit"
    )
    raise InvalidDataError(
        f"column {field.name!r} of type {field.type} does not fit a matrix of {dtype.name}: "
        f"{advice}"
    )


def first_known_null(file: FileHead, row_group: int, positions: Positions) -> int:
    """The index of the first column that has nulls as far as is known without its data, or -1.

    Buckets of nothing but nulls are not stored, and statistics count nulls; those that no checksum
    covers are not asked.
    """
    index = file.index
    if index.row_count(row_group) == 0:
        return -1
    plans = plan_row_group(file.catalog, index, row_group, positions)
    places = [plan.slots for plan in plans if plan.place.missing]
    if file.guarded:
        counted = [entry[0] for entry in index.statistics(row_group) if entry[1]]
        places.append(np.flatnonzero(np.isin(positions, np.array(counted, np.int64))))
    known = np.concatenate([np.zeros(0, np.int64), *places])
    return int(known.min()) if len(known) else -1


class Matrix:
    """A matrix while row groups are decoded into it.

    Parameters
    ----------
    kind : MatrixType
    names : list of str
        Its columns.
    num_rows : int
    out : numpy array or None
        Where the numbers go; None for new memory.
    limit : int
        The most bytes that it may take.
    """

    def __init__(
        self,
        kind: MatrixType,
        names: list[str],
        num_rows: int,
        out: npt.NDArray[Any] | None,
        limit: int,
    ) -> None:
        self.kind = kind
        self.names = names
        shape = (num_rows, len(names))
        size = num_rows * len(names) * (kind.dtype.itemsize + (kind.nulls == "mask"))
        if out is not None:
            _check_out(out, kind, shape)
        elif size > limit:
            raise LimitExceededError(
                f"a matrix of {num_rows} rows and {len(names)} columns takes {size} bytes, "
                f"more than Limits.max_table_bytes ({limit})"
            )
        self.mask: npt.NDArray[np.uint8] | None = None
        try:
            self.values = np.empty(shape, kind.dtype, kind.order) if out is None else out
            if kind.nulls == "mask":
                self.mask = np.zeros(shape, np.uint8, kind.order)
        except MemoryError as error:
            raise LimitExceededError(
                f"a matrix of {num_rows} rows and {len(names)} columns takes {size} bytes, more "
                "than there is memory; read fewer columns or rows, or batches (WideBatches)"
            ) from error

    def fill(
        self,
        reader: RowGroupReader,
        positions: Positions,
        columns: Positions,
        first: int,
        rows: Rows,
    ) -> None:
        """Decode columns of a row group into rows from ``first`` on.

        Parameters
        ----------
        reader : RowGroupReader
        positions : numpy array of int64
            The columns of the file.
        columns : numpy array of int64
            The column of the matrix for each.
        first : int
            The row of the matrix for the first of them.
        rows : numpy array of int64 or None
            The rows of the row group.
        """
        kind = self.kind

        def take(plan: BucketPlan, batch: BatchExport) -> None:
            place = fill(
                batch,
                plan.positions,
                columns[plan.slots],
                self.values,
                first,
                rows,
                kind.null,
                self.mask,
                kind.nulls == "error",
            )
            if place >= 0:
                self._refuse(int(columns[plan.slots[place]]))

        reader.visit(positions, take)

    def fill_nulls(self, columns: Positions, first: int, count: int) -> None:
        """Rows of columns that a file does not have."""
        if len(columns) == 0 or count == 0:
            return
        if self.kind.nulls == "error":
            self._refuse(int(columns[0]))
        self.values[first : first + count, columns] = self.kind.null
        if self.mask is not None:
            self.mask[first : first + count, columns] = 1

    def fill_batch(self, batch: pa.RecordBatch, columns: Positions, first: int) -> None:
        """Rows that had to be converted by Arrow."""
        is_float = self.kind.dtype.kind == "f"
        number = pa.float64() if is_float else pa.int64()
        rows = slice(first, first + batch.num_rows)
        for column, array in zip(columns.tolist(), batch.columns, strict=True):
            values = array.cast(pa.int32()) if pa.types.is_date32(array.type) else array
            # Floats are rounded.
            numbers = values.cast(number, safe=not is_float).fill_null(self.kind.null)
            with np.errstate(over="ignore"):
                self.values[rows, column] = numbers.to_numpy()
            if array.null_count:
                if self.kind.nulls == "error":
                    self._refuse(column)
                if self.mask is not None:
                    self.mask[rows, column] = array.is_null().to_numpy(zero_copy_only=False)

    def fill_value(self, value: object, column: int, first: int, count: int) -> None:
        """The same value in some rows."""
        if value is None:
            self.fill_nulls(np.array([column], np.int64), first, count)
            return
        number = (value - _EPOCH).days if isinstance(value, date) else value
        self.values[first : first + count, column] = self.kind.dtype.type(number)

    def _refuse(self, column: int) -> None:
        refuse_nulls(self.names[column])

    def remove(self, ranges: list[tuple[int, int]]) -> None:
        """Remove rows: ranges of a first row and a number of rows."""
        rows = np.concatenate([np.arange(first, first + count) for first, count in ranges])
        self.values = np.delete(self.values, rows, axis=0)
        if self.mask is not None:
            self.mask = np.delete(self.mask, rows, axis=0)

    def result(self) -> tuple[npt.NDArray[Any], list[str]]:
        """The matrix, masked if it was asked for, and the names of its columns."""
        if self.mask is None:
            return self.values, self.names
        return np.ma.MaskedArray(self.values, self.mask.view(np.bool_)), self.names


def refuse_nulls(name: str) -> NoReturn:
    """Raise the error of ``nulls="error"``."""
    raise InvalidDataError(
        f"column {name!r} has nulls, which nulls='error' refuses: choose nulls='nan', "
        "nulls='mask' or a number"
    )


def read_matrix(
    file: OpenFile,
    positions: Positions,
    row_filter: FileFilter | None,
    kind: MatrixType,
    out: npt.NDArray[Any] | None,
    use_threads: bool,
) -> tuple[npt.NDArray[Any], list[str]]:
    """Columns of a file as a matrix, and their names."""
    check_numbers(file.catalog, positions, kind.dtype)
    num_row_groups = file.index.num_row_groups
    if kind.nulls == "error" and row_filter is None:
        for row_group in range(num_row_groups):
            place = first_known_null(file, row_group, positions)
            if place >= 0:
                refuse_nulls(file.catalog.name(int(positions[place])))
    # Threads share the row groups if those are many, else the buckets of one after another.
    by_row_group = use_threads and num_row_groups >= 2 * num_threads()

    def matching(row_group: int) -> tuple[int, Rows, int]:
        reader = RowGroupReader(file, row_group, use_threads)
        rows: Rows = None
        if row_filter is not None:
            if row_filter.excludes(reader, row_group):
                return row_group, None, 0
            rows = row_filter.rows(reader)
        return row_group, rows, reader.num_rows if rows is None else len(rows)

    parts = list(ordered_map(matching, range(num_row_groups), by_row_group))
    firsts = np.cumsum([0, *(count for _, _, count in parts)]).tolist()
    names = file.catalog.names()
    chosen = [names[position] for position in positions]
    matrix = Matrix(kind, chosen, firsts[-1], out, file.limits.max_table_bytes)
    places = np.arange(len(chosen), dtype=np.int64)

    def decode(part: tuple[int, Rows, int]) -> None:
        row_group, rows, _ = part
        # A new reader: that of the filter keeps what it has read.
        reader = RowGroupReader(file, row_group, use_threads)
        matrix.fill(reader, positions, places, firsts[row_group], rows)

    for _ in ordered_map(decode, [part for part in parts if part[2]], by_row_group):
        pass
    return matrix.result()


def _check_out(out: npt.NDArray[Any], kind: MatrixType, shape: tuple[int, int]) -> None:
    # Not every caller checks types.
    if not isinstance(out, np.ndarray):
        raise InvalidOptionError(f"out must be a numpy array, got {type(out).__name__}")
    if out.shape != shape or out.dtype != kind.dtype:
        raise InvalidOptionError(
            f"out must have shape {shape} and dtype {kind.dtype.name}, "
            f"got {out.shape} and {out.dtype}"
        )
    if not out.flags.writeable or not out.flags.aligned:
        raise InvalidOptionError("out must be writeable and aligned")
