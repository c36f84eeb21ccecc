"""Column selection: the caller's ``columns``, resolved to positions in the file.

Names are sorted in the file, so a pattern with a literal prefix can only match one run of columns,
and only that run is scanned.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pymosaic.errors import ColumnNotFoundError, InvalidOptionError
from pymosaic.suggestions import MAX_INDEXED_NAMES, NameIndex, quote

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnCatalog", "Columns", "Names", "Positions", "named", "resolve_columns"]

Positions = npt.NDArray[np.int64]


class _Container(Protocol):
    """A list, tuple, set or index of names; not a str, which only looks for texts in itself."""

    def __contains__(self, item: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...


Names: TypeAlias = "_Container | Iterator[str]"
"""Names or patterns, but not one text."""
Columns: TypeAlias = "Names | Callable[[pa.Field], bool]"
"""What ``columns=`` takes: names or patterns, or a function that chooses fields."""

_WILDCARD = "*"
# Special in patterns elsewhere (paths, shells), but part of names here, such as "x[1]".
_OTHER_WILDCARDS = frozenset("?[")
# Up to this many entries are compared without numpy.
_FEW = 32
# Number of failed entries that an error message names.
_SHOWN_ENTRIES = 5


class ColumnCatalog(Protocol):
    """The columns of a file by position in name order: the interface of the compiled catalog."""

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        ...

    def find(self, name: str) -> int:
        """Position of a name, or -1."""
        ...

    def find_many(self, names: list[str]) -> Positions:
        """Positions of names, with -1 for unknown ones."""
        ...

    def name(self, position: int) -> str:
        """Name at a position."""
        ...

    def names(self, start: int, stop: int) -> list[str]:
        """Names at the positions from ``start`` up to ``stop``."""
        ...

    def prefix_range(self, prefix: str) -> tuple[int, int] | None:
        """Range of the positions of names with a prefix: first, and one after the last.

        None if the names in the file are not sorted.
        """
        ...

    def original_order(self) -> Positions:
        """Position of each column, in the order in which they were written."""
        ...


def named(columns: Columns | None, schema: Callable[[], pa.Schema]) -> Names | None:
    """Names and patterns as they are; those of the fields that a function chooses.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.file.projection import named
    >>> schema = pa.schema({"age": pa.int64(), "name": pa.string()})
    >>> named(lambda field: pa.types.is_integer(field.type), lambda: schema)
    ['age']
    """
    if callable(columns):
        return [field.name for field in schema() if columns(field)]
    return columns


def resolve_columns(
    columns: Iterable[str] | None,
    catalog: ColumnCatalog,
    option: str = "columns",
    exclude: Iterable[str] | None = None,
) -> Positions:
    """Resolve a selection of columns to positions.

    Parameters
    ----------
    columns : iterable of str, or None
        Names and patterns, in the wanted order; None selects all columns in their original order.
        An entry that is the name of a column selects that column. Any other entry with a ``*``,
        which matches any text, is a pattern; its columns come in their original order. No other
        character is special: an entry without ``*`` never selects a column of another name.
        A column that is selected more than once appears once, at its first place.
    catalog : ColumnCatalog
        The columns of the file.
    option : str
        Name of the caller's option, for messages.
    exclude : iterable of str, or None
        Names and patterns of columns to leave out.

    Returns
    -------
    numpy.ndarray of intp
        Positions in name order, one for each selected column.

    Raises
    ------
    ColumnNotFoundError
        If an entry matches nothing; the message names the closest columns.
    InvalidOptionError
        If ``columns`` is not a list of strings.

    Examples
    --------
    >>> import numpy as np
    >>> from pymosaic.file.projection import resolve_columns
    >>> class Catalog:
    ...     num_columns = 3
    ...
    ...     def find_many(self, names):
    ...         known = {"age": 0, "temp_a": 1, "temp_b": 2}
    ...         return np.array([known.get(name, -1) for name in names], np.int64)
    ...
    ...     def prefix_range(self, prefix):
    ...         return (1, 3) if "temp_".startswith(prefix) else (0, 0)
    ...
    ...     def original_order(self):
    ...         return np.array([2, 0, 1])
    >>> resolve_columns(["age", "temp_*"], Catalog()).tolist()
    [0, 2, 1]
    """
    if exclude is not None:
        chosen = resolve_columns(columns, catalog, option)
        return chosen[~np.isin(chosen, resolve_columns(exclude, catalog, "exclude"))]
    if columns is None:
        return np.asarray(catalog.original_order(), np.int64)
    entries = _check_entries(columns, option)
    positions = np.asarray(catalog.find_many(entries), np.int64)
    if len(entries) <= _FEW:
        # numpy takes longer to start than this takes.
        found = positions.tolist()
        if len(set(found)) == len(found) and min(found, default=0) >= 0:
            return positions
    unknown = np.flatnonzero(positions < 0)
    if len(unknown):
        positions = _expand_patterns(entries, positions, unknown, catalog, option)
    first = np.unique(positions, return_index=True)[1]
    return positions if len(first) == len(positions) else positions[np.sort(first)]


def _check_entries(columns: Iterable[str], option: str) -> list[str]:
    if isinstance(columns, str):
        raise InvalidOptionError(
            f"{option} must be a list of names or patterns, got the string {columns!r}: "
            f"write {option}=[{columns!r}]"
        )
    try:
        entries = list(columns)
    except TypeError:
        raise InvalidOptionError(
            f"{option} must be a list of names or patterns, got {columns!r}"
        ) from None
    if set(map(type, entries)) - {str}:
        for entry in entries:
            if not isinstance(entry, str):
                raise InvalidOptionError(
                    f"{option} must contain names or patterns (str), got {entry!r}"
                )
        entries = [str(entry) for entry in entries]
    return entries


def _expand_patterns(
    entries: list[str],
    positions: Positions,
    unknown: Positions,
    catalog: ColumnCatalog,
    option: str,
) -> Positions:
    """Replace patterns with their matches; ``unknown`` marks the entries that name no column."""
    scanner = _Scanner(catalog)
    pieces: list[Positions] = []
    missing: list[str] = []
    start = 0
    for index in unknown.tolist():
        matches = scanner.match(entries[index])
        if not len(matches):
            missing.append(entries[index])
        pieces += (positions[start:index], matches)
        start = index + 1
    if missing:
        raise ColumnNotFoundError(f"{option}: {_describe(missing, len(entries), catalog)}")
    return np.concatenate([*pieces, positions[start:]])


class _Scanner:
    """Matches patterns against the columns; data shared by several patterns is built once."""

    def __init__(self, catalog: ColumnCatalog) -> None:
        self._catalog = catalog
        self._original_rank: Positions | None = None
        self._all_names: list[str] | None = None

    def match(self, pattern: str) -> Positions:
        """Return the matching positions in original order; none for a text without wildcards."""
        prefix, wildcard, rest = pattern.partition(_WILDCARD)
        if not wildcard:
            return np.empty(0, np.int64)
        everything = (0, self._catalog.num_columns)
        run = self._catalog.prefix_range(prefix) if prefix else everything
        if run is not None and not rest:
            return self._in_original_order(np.arange(*run, dtype=np.int64))
        start, stop = everything if run is None else run
        # Its regular expressions do not backtrack, however many stars there are.
        literal = re.sub(r"[?\[]", r"[\g<0>]", pattern)
        matches = re.compile(fnmatch.translate(literal)).match
        found = [
            position
            for position, name in enumerate(self._names(start, stop), start)
            if matches(name)
        ]
        return self._in_original_order(np.array(found, np.int64))

    def _names(self, start: int, stop: int) -> list[str]:
        if (start, stop) != (0, self._catalog.num_columns):
            return self._catalog.names(start, stop)
        if self._all_names is None:
            self._all_names = self._catalog.names(start, stop)
        return self._all_names

    def _in_original_order(self, positions: Positions) -> Positions:
        if len(positions) < 2:
            return positions
        if self._original_rank is None:
            order = self._catalog.original_order()
            self._original_rank = np.empty(len(order), np.int64)
            self._original_rank[order] = np.arange(len(order))
        return positions[np.argsort(self._original_rank[positions])]


def _describe(missing: list[str], num_entries: int, catalog: ColumnCatalog) -> str:
    """The message for entries that match nothing."""
    if not catalog.num_columns:
        return f"{quote(missing[0])} matches nothing: the file has no columns"
    shown = missing[:_SHOWN_ENTRIES]
    told = _with_suggestions(shown, catalog)
    if len(missing) == 1:
        text = f"no column matches {told[0]}"
    else:
        text = f"{len(missing)} of {num_entries} entries match nothing: {', '.join(told)}"
    if len(missing) > len(shown):
        text += f" and {len(missing) - len(shown)} more"
    text += f"; the file has {catalog.num_columns} columns"
    if any(_OTHER_WILDCARDS.intersection(entry) for entry in shown):
        text += ", and only * makes a pattern"
    return text


def _with_suggestions(entries: list[str], catalog: ColumnCatalog) -> list[str]:
    """Add suggestions of similar column names to each entry."""
    index: NameIndex | None = None
    result: list[str] = []
    for entry in entries:
        if index is None or catalog.num_columns > MAX_INDEXED_NAMES:
            index = NameIndex(_neighbours(entry, catalog))
        result.append(quote(entry) + index.did_you_mean(entry.replace(_WILDCARD, "")))
    return result


def _neighbours(entry: str, catalog: ColumnCatalog) -> list[str]:
    """Names to compare an entry with: all, or those around its longest known prefix."""
    num_columns = catalog.num_columns
    if num_columns <= MAX_INDEXED_NAMES:
        return catalog.names(0, num_columns)
    centre = 0
    shortest, longest = 0, len(entry)
    # If some name has a prefix, all shorter prefixes occur too.
    while shortest < longest:
        length = (shortest + longest + 1) // 2
        run = catalog.prefix_range(entry[:length])
        if run is not None and run[0] < run[1]:
            shortest, centre = length, run[0]
        else:
            longest = length - 1
    start = max(0, min(centre - MAX_INDEXED_NAMES // 2, num_columns - MAX_INDEXED_NAMES))
    return catalog.names(start, start + MAX_INDEXED_NAMES)
