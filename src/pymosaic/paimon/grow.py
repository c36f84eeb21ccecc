"""Columns of a Paimon table: added and updated without rewriting others, dropped, renamed."""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pymosaic.errors import InvalidOptionError
from pymosaic.keywords import checked_keywords
from pymosaic.paimon.growth import Growth, check_known
from pymosaic.paimon.schema_changes import alter
from pymosaic.paimon.table import PaimonTable, open_table
from pymosaic.paimon.write import WrittenTable
from pymosaic.threads import num_threads, read_ahead

__all__ = ["add_columns", "drop_columns", "rename_columns", "update_columns"]


@checked_keywords()
def add_columns(
    table: object,
    values: object,
    *,
    key: str | None = None,
    columns: Iterable[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> WrittenTable:
    """Add columns to a table; only the new columns are written, in one snapshot.

    The table must have ``row-tracking.enabled`` and ``data-evolution.enabled``, as tables made by
    :func:`write` have.

    Parameters
    ----------
    table : str, path-like, or table of PyPaimon
    values : dict, callable, or anything that speaks Arrow
        - a dict of names to expressions, such as ``{"ratio": "a / b"}``;
        - a function from a record batch to the new columns (a table, batch or dict) of its rows;
        - a table or frame that has the new columns, and a ``key`` to find rows by. Rows that it
          does not have are null.
    key : str, optional
        The column that the frame and the table have in common.
    columns : list of str, optional
        Columns that the function gets; all, unless given.
    options : mapping, optional
        Options of PyPaimon's storage, for a path.

    Returns
    -------
    WrittenTable
        What was written: one file for each range of rows.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> table = pa.table({"id": [1, 2], "price": [0.5, 1.5], "count": [4, 2]})
    >>> _ = pymosaic.paimon.write(table, "shop.db/orders", create=True)
    >>> _ = pymosaic.paimon.add_columns("shop.db/orders", {"total": "price * count"})
    >>> scores = pa.table({"id": [2], "score": ["good"]})
    >>> _ = pymosaic.paimon.add_columns("shop.db/orders", scores, key="id")
    >>> orders = pymosaic.paimon.dataset("shop.db/orders")
    >>> orders.scan(columns=["total", "score"]).to_table().to_pydict()
    {'total': [2.0, 3.0], 'score': [None, 'good']}
    """
    return _grow(open_table(table, options), values, key, columns, new=True)


@checked_keywords()
def update_columns(
    table: object,
    values: object,
    *,
    key: str | None = None,
    columns: Iterable[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> WrittenTable:
    """Give columns of a table new values; only these columns are written, in one snapshot.

    Parameters
    ----------
    table, key, columns, options
        As for :func:`add_columns`.
    values : dict, callable, or anything that speaks Arrow
        As for :func:`add_columns`; the columns must be there. Rows that a frame does not have keep
        their values.

    Returns
    -------
    WrittenTable

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> _ = pymosaic.paimon.write(pa.table({"id": [1], "price": [2.0]}), "u.db/t", create=True)
    >>> _ = pymosaic.paimon.update_columns("u.db/t", {"price": "price * 1.5"})
    >>> pymosaic.paimon.dataset("u.db/t").to_table().to_pydict()
    {'id': [1], 'price': [3.0]}
    """
    return _grow(open_table(table, options), values, key, columns, new=False)


@checked_keywords()
def drop_columns(
    table: object, names: Iterable[str], *, options: Mapping[str, str] | None = None
) -> None:
    """Drop columns of a table: its schema changes, no file does.

    Parameters
    ----------
    table : str, path-like, or table of PyPaimon
    names : list of str
    options : mapping, optional
        Options of PyPaimon's storage, for a path.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> _ = pymosaic.paimon.write(pa.table({"a": [1], "b": [2]}), "d.db/t", create=True)
    >>> pymosaic.paimon.drop_columns("d.db/t", ["b"])
    >>> pymosaic.paimon.dataset("d.db/t").schema.names
    ['a']
    """
    from pypaimon.schema.schema_change import SchemaChange

    if isinstance(names, str):
        raise InvalidOptionError("names must be a list of column names")
    opened = open_table(table, options)
    wanted = list(names)
    check_known(opened, wanted)
    alter(opened, [SchemaChange.drop_column(name) for name in wanted])


@checked_keywords()
def rename_columns(
    table: object, names: Mapping[str, str], *, options: Mapping[str, str] | None = None
) -> None:
    """Rename columns of a table: its schema changes, no file does.

    Parameters
    ----------
    table : str, path-like, or table of PyPaimon
    names : mapping of str to str
        Old names to new ones.
    options : mapping, optional
        Options of PyPaimon's storage, for a path.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> _ = pymosaic.paimon.write(pa.table({"a": [1]}), "r.db/t", create=True)
    >>> pymosaic.paimon.rename_columns("r.db/t", {"a": "first"})
    >>> pymosaic.paimon.dataset("r.db/t").to_table().to_pydict()
    {'first': [1]}
    """
    from pypaimon.schema.schema_change import SchemaChange

    opened = open_table(table, options)
    check_known(opened, list(names))
    alter(opened, [SchemaChange.rename_column(old, new) for old, new in names.items()])


def _grow(
    table: PaimonTable, values: object, key: str | None, columns: Iterable[str] | None, new: bool
) -> WrittenTable:
    """Write the new columns of every range, several at a time, and commit them together."""
    growth = Growth(table, values, key, columns, new)
    numbers = ((number, 1) for number in range(len(growth.ranges)))
    files: Iterable[Any] = read_ahead(
        growth.write, numbers, num_threads(), 2 * num_threads(), "pymosaic-grow"
    )
    return growth.commit(list(files))
