"""Columns computed from others: ``"a / b"`` as Arrow arrays.

The text has Python's operators, names of columns, numbers and texts in quotes; ``column("x y")``
names a column that is not a Python name. Nothing else is allowed, and nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.errors import InvalidOptionError

__all__ = ["Expression"]

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: pc.add,
    ast.Sub: pc.subtract,
    ast.Mult: pc.multiply,
    ast.Pow: pc.power,
    ast.BitAnd: pc.and_kleene,
    ast.BitOr: pc.or_kleene,
    ast.USub: pc.negate,
    ast.Not: pc.invert,
    ast.Invert: pc.invert,
    ast.Eq: pc.equal,
    ast.NotEq: pc.not_equal,
    ast.Lt: pc.less,
    ast.LtE: pc.less_equal,
    ast.Gt: pc.greater,
    ast.GtE: pc.greater_equal,
    ast.And: pc.and_kleene,
    ast.Or: pc.or_kleene,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": pc.abs,
    "ceil": pc.ceil,
    "coalesce": pc.coalesce,
    "exp": pc.exp,
    "floor": pc.floor,
    "if_else": pc.if_else,
    "is_null": pc.is_null,
    "length": pc.utf8_length,
    "log": pc.ln,
    "lower": pc.utf8_lower,
    "round": pc.round,
    "sqrt": pc.sqrt,
    "upper": pc.utf8_upper,
}
_MAX_LENGTH = 10_000


class Expression:
    """A parsed expression.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ratio = Expression("a / b")
    >>> ratio.columns
    ('a', 'b')
    >>> ratio.evaluate(pa.record_batch({"a": [1, 3], "b": [2, 0]})).to_pylist()
    [0.5, inf]
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._columns: dict[str, None] = {}
        if len(text) > _MAX_LENGTH:
            raise InvalidOptionError(f"an expression may have {_MAX_LENGTH} characters")
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self._wrong(str(error)) from error
        self._check(self._tree)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it uses."""
        return tuple(self._columns)

    def _wrong(self, why: str) -> InvalidOptionError:
        return InvalidOptionError(f"expression {self._text!r}: {why}")

    def _check(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self._columns[node.id] = None
        elif isinstance(node, ast.Constant):
            if not isinstance(node.value, bool | int | float | str | None):
                raise self._wrong(f"{node.value!r} is not supported")
        elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp):
            if type(node.op) not in _OPERATORS and not isinstance(node.op, ast.Div | ast.UAdd):
                raise self._wrong(f"{type(node.op).__name__} is not supported")
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, ast.operator | ast.unaryop | ast.boolop):
                    self._check(child)
        elif isinstance(node, ast.Compare):
            if len(node.ops) != 1 or type(node.ops[0]) not in _OPERATORS:
                raise self._wrong("compare two values with one of == != < <= > >=")
            self._check(node.left)
            self._check(node.comparators[0])
        elif isinstance(node, ast.Call):
            self._check_call(node)
        else:
            raise self._wrong(f"{type(node).__name__} is not supported")

    def _check_call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "column":
            self._columns[self._column_name(node)] = None
            return
        if name not in _FUNCTIONS or node.keywords:
            known = ", ".join(("column", *_FUNCTIONS))
            raise self._wrong(f"functions are {known}")
        for argument in node.args:
            self._check(argument)

    def _column_name(self, node: ast.Call) -> str:
        if len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
            value = node.args[0].value
            if isinstance(value, str):
                return value
        raise self._wrong("column takes a name in quotes")

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """Compute the column for the rows of a batch."""
        try:
            value = self._value(self._tree, batch)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError) as error:
            raise self._wrong(str(error)) from error
        if isinstance(value, pa.Scalar):
            return pa.repeat(value, batch.num_rows)
        return value

    def _value(self, node: ast.AST, batch: pa.RecordBatch) -> Any:
        if isinstance(node, ast.Name):
            return batch.column(node.id)
        if isinstance(node, ast.Constant):
            return pa.scalar(node.value)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, batch)
            return value if isinstance(node.op, ast.UAdd) else _OPERATORS[type(node.op)](value)
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, batch), self._value(node.right, batch)
            if isinstance(node.op, ast.Div):
                # As in SQL engines for features: never the quotient of whole numbers.
                return pc.divide(_as_float(left), _as_float(right))
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.BoolOp):
            values = [self._value(item, batch) for item in node.values]
            result = values[0]
            for value in values[1:]:
                result = _OPERATORS[type(node.op)](result, value)
            return result
        if isinstance(node, ast.Compare):
            left, right = self._value(node.left, batch), self._value(node.comparators[0], batch)
            return _OPERATORS[type(node.ops[0])](left, right)
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        if node.func.id == "column":
            return batch.column(self._column_name(node))
        arguments = [self._value(item, batch) for item in node.args]
        return _FUNCTIONS[node.func.id](*arguments)


def _as_float(value: Any) -> Any:
    return value.cast(pa.float64()) if pa.types.is_integer(value.type) else value
