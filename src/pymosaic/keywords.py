"""Checked keywords of public functions: an unknown keyword is an error that names the closest."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from pymosaic.errors import UnknownOptionError
from pymosaic.suggestions import did_you_mean

__all__ = ["checked_keywords", "unknown_keyword"]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_SHOWN_KEYWORDS = 2
_KEYWORDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def checked_keywords(
    *more: str,
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Decorate a function so that unknown keywords raise UnknownOptionError.

    Parameters
    ----------
    *more : str
        Keywords besides those of its signature, where that ends in ``**options``.

    Examples
    --------
    >>> from pymosaic.keywords import checked_keywords
    >>> @checked_keywords()
    ... def read(path, *, columns=None):
    ...     return columns
    >>> read("a.mosaic", columns=["id"])
    ['id']
    >>> read("a.mosaic", colums=["id"])
    Traceback (most recent call last):
    ...
    pymosaic.errors.UnknownOptionError: read() has no option 'colums' (did you mean 'columns'?)
    """

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        parameters = inspect.signature(function).parameters.values()
        named = (item.name for item in parameters if item.kind in _KEYWORDS)
        known = frozenset((*named, *more)) - {"self"}
        owner = f"{function.__qualname__.removesuffix('.__init__')}()"

        @functools.wraps(function)
        def checked(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
            if not known.issuperset(options):
                unknown = next(key for key in options if key not in known)
                raise unknown_keyword(owner, unknown, known)
            return function(*arguments, **options)

        return checked

    return decorate


def unknown_keyword(owner: str, keyword: str, known: Iterable[str]) -> UnknownOptionError:
    """The error for an unknown keyword of ``owner``."""
    return UnknownOptionError(
        f"{owner} has no option {keyword!r}{did_you_mean(keyword, sorted(known), _SHOWN_KEYWORDS)}"
    )
