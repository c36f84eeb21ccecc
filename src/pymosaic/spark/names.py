"""Columns matched by name, according to ``spark.sql.caseSensitive``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pymosaic.errors import InvalidOptionError

__all__ = ["check_distinct", "match_names"]


def match_names(
    wanted: Sequence[str],
    known: Sequence[str],
    case_sensitive: bool,
    relation: Collection[str] = (),
) -> list[str | None]:
    """Return the matching known name, or None, for each wanted name.

    Parameters
    ----------
    wanted, known : sequence of str
        The names to look for, and the names to search.
    case_sensitive : bool
        Whether names that differ only in case are different.
    relation : collection of str
        Names, in addition to the wanted ones, that are known to be different although they differ
        only in case.

    Raises
    ------
    InvalidOptionError
        If a name matches several known names.

    Examples
    --------
    >>> from pymosaic.spark.names import match_names
    >>> match_names(["ID", "day", "new"], ["id", "day"], case_sensitive=False)
    ['id', 'day', None]
    """
    if case_sensitive:
        exact = set(known)
        return [name if name in exact else None for name in wanted]
    lowered = list(map(str.lower, known))
    only = dict(zip(lowered, known, strict=True))
    if len(only) == len(known):
        return [only.get(name.lower()) for name in wanted]
    exact = set(known)
    alike: dict[str, list[str]] = {}
    for lower, name in zip(lowered, known, strict=True):
        alike.setdefault(lower, []).append(name)
    different = {*wanted, *relation}
    found: list[str | None] = []
    for name in wanted:
        candidates = alike.get(name.lower(), ())
        if len(candidates) > 1 and not (name in exact and different.issuperset(candidates)):
            raise InvalidOptionError(
                f"column {name!r} is ambiguous: there are {' and '.join(map(repr, candidates))}; "
                "rename one, or set spark.sql.caseSensitive to true"
            )
        found.append(name if len(candidates) > 1 else next(iter(candidates), None))
    return found


def check_distinct(names: Sequence[str], case_sensitive: bool) -> None:
    """Reject names that cannot be distinguished."""
    if len(set(names if case_sensitive else map(str.lower, names))) == len(names):
        return
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name if case_sensitive else name.lower(), name)
        if other is not name:
            raise InvalidOptionError(
                f"column {name!r} is there twice"
                if name == other
                else f"columns {other!r} and {name!r} differ only in case: rename one, or set "
                "spark.sql.caseSensitive to true"
            )
