"""Translation of Arrow expressions, which DuckDB and others pass to datasets, into filters.

pyarrow exposes only the text of an expression. Its serialised form is an Arrow file: literals and
options are the columns of one row, and the schema's metadata describes the tree::

    call: and_kleene  call: greater  field_ref: a  literal: 0  end: greater  …  end: and_kleene

Metadata keys repeat, which pyarrow's own access (a dict) hides, so they are read through the Arrow
C data interface.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.filters.conditions import (
    EVERYTHING,
    UNKNOWN,
    AllOf,
    AnyOf,
    Condition,
    compare,
    to_filter,
)
from pymosaic.filters.operators import complement, mirrored, negation
from pymosaic.filters.row_filter import Filter

__all__ = ["Pushdown", "push_down", "used_columns"]

_COMPARISONS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
# With more alternatives than this, a filter costs more than it saves.
_MAX_GROUPS = 128
# What is raised by a form of this or a later version of pyarrow that is not known here.
_UNKNOWN_FORM = (pa.ArrowException, RecursionError, LookupError, ValueError)
# Offset of metadata inside struct ArrowSchema: after format and name.
_METADATA_POINTER = 2


@dataclass(frozen=True, slots=True)
class _Field:
    name: str


@dataclass(frozen=True, slots=True)
class _Call:
    function: str
    arguments: tuple[_Node, ...]
    options: dict[str, Any] | None


_Node: TypeAlias = "_Field | _Call | pa.Scalar"


@dataclass(frozen=True, slots=True)
class Pushdown:
    """The part of an expression that a dataset can apply.

    Parameters
    ----------
    row_filter : Filter or None
        Keeps at least the rows for which the expression is true.
    columns : tuple of str or None
        Columns that the expression uses; None if that is unknown.
    exact : bool
        Whether the filter keeps exactly those rows, so that the expression need not be applied.
    """

    row_filter: Filter | None
    columns: tuple[str, ...] | None
    exact: bool


def push_down(expression: pc.Expression, schema: pa.Schema) -> Pushdown:
    """Translate an expression over columns of a schema.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.compute as pc
    >>> schema = pa.schema({"age": pa.int64(), "city": pa.string()})
    >>> wanted = (pc.field("age") > 50) & pc.field("city").isin(["Oslo", "Rome"])
    >>> str(push_down(wanted, schema).row_filter)
    "age > 50 and city in ['Oslo', 'Rome']"
    """
    try:
        columns: dict[str, None] = {}
        tree = _parse(expression, columns)
        condition = _translate(tree, schema, negated=False)
    except _UNKNOWN_FORM:
        return Pushdown(None, None, False)
    row_filter, exact = to_filter(condition, _MAX_GROUPS)
    return Pushdown(row_filter, tuple(columns), exact)


def used_columns(expression: pc.Expression) -> tuple[str, ...] | None:
    """The columns that an expression uses, in order of first use; None if that is unknown.

    Examples
    --------
    >>> import pyarrow.compute as pc
    >>> used_columns((pc.field("b") > pc.field("a")) | pc.field("b").is_null())
    ('b', 'a')
    """
    columns: dict[str, None] = {}
    try:
        _parse(expression, columns)
    except _UNKNOWN_FORM:
        return None
    return tuple(columns)


def _parse(expression: pc.Expression, columns: dict[str, None]) -> _Node:
    _, (serialised,) = expression.__reduce__()
    reader = pa.ipc.open_file(serialised)
    row = reader.get_batch(0)
    tokens = iter(_metadata(reader.schema))

    def argument(key: bytes, value: bytes) -> _Node:
        if key == b"literal":
            return row.column(int(value))[0]
        if key == b"field_ref":
            name = value.decode()
            columns[name] = None
            return _Field(name)
        if key != b"call":
            raise ValueError(f"unknown part {key!r} of an expression")
        arguments: list[_Node] = []
        options = None
        for inner_key, inner_value in tokens:
            if inner_key == b"end":
                return _Call(value.decode(), tuple(arguments), options)
            if inner_key == b"options":
                options = dict(row.column(int(inner_value))[0].items())
            else:
                arguments.append(argument(inner_key, inner_value))
        raise ValueError("an expression that does not end")

    return argument(*next(tokens))


def _metadata(schema: pa.Schema) -> list[tuple[bytes, bytes]]:
    """All key-value pairs of a schema's metadata, in order."""
    capsule = schema.__arrow_c_schema__()
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = pointer_of(capsule, b"arrow_schema")
    words = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))
    at = words[_METADATA_POINTER]
    if not at:
        raise ValueError("an expression without content")

    def read(size: int) -> bytes:
        nonlocal at
        assert at is not None
        data = ctypes.string_at(at, size)
        at += size
        return data

    def read_text() -> bytes:
        return read(struct.unpack("=i", read(4))[0])

    return [(read_text(), read_text()) for _ in range(struct.unpack("=i", read(4))[0])]


def _translate(node: _Node, schema: pa.Schema, negated: bool) -> Condition:
    if isinstance(node, _Field):
        if pa.types.is_boolean(schema.field(node.name).type):
            return compare(node.name, "==", [not negated], pa.bool_())
        return UNKNOWN
    if not isinstance(node, _Call):
        is_true = isinstance(node, pa.BooleanScalar) and node.as_py() is (not negated)
        return EVERYTHING if is_true else UNKNOWN
    match node.function, node.arguments:
        case ("and_kleene" | "and" | "or_kleene" | "or") as name, parts:
            translated = tuple(_translate(part, schema, negated) for part in parts)
            return AllOf(translated) if name.startswith("and") != negated else AnyOf(translated)
        case "invert", (operand,):
            return _translate(operand, schema, not negated)
        case ("is_null" | "is_valid") as name, (_Field(column),):
            if (node.options or {}).get("nan_is_null") == pa.scalar(True):
                return UNKNOWN
            wants_null = (name == "is_null") != negated
            test = "is null" if wants_null else "is not null"
            return compare(column, test, [], schema.field(column).type)
        case "is_in", (_Field(column),) if not negated:
            return _membership(column, node.options or {}, schema)
        case "if_else", (condition, chosen, pa.Scalar() as otherwise) if not negated:
            # DuckDB's IN: null instead of false where the column is null.
            if otherwise.is_valid:
                return UNKNOWN
            parts = (_translate(condition, schema, False), _translate(chosen, schema, False))
            return AllOf(parts)
        case name, (_Field(column), pa.Scalar() as literal) if name in _COMPARISONS:
            return _comparison(column, _COMPARISONS[name], literal, schema, negated)
        case name, (pa.Scalar() as literal, _Field(column)) if name in _COMPARISONS:
            return _comparison(column, mirrored(_COMPARISONS[name]), literal, schema, negated)
    return UNKNOWN


def _comparison(
    column: str, operator: str, literal: pa.Scalar, schema: pa.Schema, negated: bool
) -> Condition:
    column_type = schema.field(column).type
    if not literal.is_valid or not _compares_alike(column_type, literal.type):
        return UNKNOWN
    if negated:
        # The complement reads better, but a NaN is neither below a number nor at or above it.
        may_be_nan = pa.types.is_floating(column_type)
        operator = negation(operator) if may_be_nan else complement(operator)
    return compare(column, operator, [literal], column_type)


def _membership(column: str, options: dict[str, Any], schema: pa.Schema) -> Condition:
    column_type = schema.field(column).type
    values = options["value_set"].values
    if values.null_count or not _compares_alike(column_type, values.type):
        return UNKNOWN
    condition = compare(column, "in", list(values), column_type)
    # Arrow distinguishes -0.0 from 0.0 here, filters do not.
    return AllOf((condition, UNKNOWN)) if pa.types.is_floating(column_type) else condition


def _compares_alike(column: pa.DataType, literal: pa.DataType) -> bool:
    """Whether Arrow compares these types by exact value, as filters do."""
    if column.equals(literal):
        return True
    types = pa.types
    if types.is_timestamp(column) and types.is_timestamp(literal):
        return bool((column.tz is None) == (literal.tz is None))
    return any(
        is_kind(column) and is_kind(literal)
        for is_kind in (
            types.is_signed_integer,
            types.is_floating,
            types.is_decimal128,
            types.is_time,
            _is_text,
        )
    )


def _is_text(arrow_type: pa.DataType) -> bool:
    return arrow_type in (pa.string(), pa.large_string())
