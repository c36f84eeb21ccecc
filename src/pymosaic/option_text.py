"""Options as text, for the command line and Spark, with their help texts.

A class of options gives each of its fields a default, a help text and a text form with
:func:`option`. Interfaces that take options as text derive theirs from :func:`options_of`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from typing import Any

from pymosaic.errors import InvalidOptionError
from pymosaic.sizes import parse_size, short_size

__all__ = [
    "BOOLEAN",
    "INTEGER",
    "NAMES",
    "NAMES_OR_BOOLEAN",
    "NUMBER_OR_AUTO",
    "SIZE",
    "TEXT",
    "Option",
    "TextForm",
    "option",
    "options_of",
]


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the values of an option are written.

    Parameters
    ----------
    expected : str
        Description of a valid value, for messages: "must be …".
    placeholder : str
        Placeholder for a value in help texts.
    parse : callable
        Turns the text into the value; raises ValueError if it cannot.
    show : callable
        Turns a value into the text.
    """

    expected: str
    placeholder: str
    parse: Callable[[str], Any]
    show: Callable[[Any], str] = str

    def read(self, name: str, text: str) -> Any:
        """Parse the text of a value, or raise InvalidOptionError.

        Examples
        --------
        >>> from pymosaic.option_text import SIZE
        >>> SIZE.read("rowGroupBytes", "1GiB")
        1073741824
        """
        try:
            return self.parse(text)
        except ValueError:
            raise InvalidOptionError(f"{name} must be {self.expected}, got {text!r}") from None


def _number_or_auto(text: str) -> int | str:
    return "auto" if text.lower() == "auto" else int(text)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _names(text: str) -> tuple[str, ...]:
    if text.lstrip().startswith('["'):
        return tuple(map(str, json.loads(text)))
    return tuple(name for name in (part.strip() for part in text.split(",")) if name)


def _names_or_boolean(text: str) -> bool | tuple[str, ...]:
    return _boolean(text) if text.lower() in ("true", "false") else _names(text)


_NAMES = 'comma-separated names, or a JSON list such as ["a,b", "c"]'
TEXT = TextForm("text", "NAME", str)
INTEGER = TextForm("an integer", "N", int)
NUMBER_OR_AUTO = TextForm("an integer, or auto", "N|auto", _number_or_auto)
SIZE = TextForm("a size, such as 134217728, 128MiB or 1g", "SIZE", parse_size, short_size)
BOOLEAN = TextForm("true or false", "BOOLEAN", _boolean)
NAMES = TextForm(_NAMES, "NAMES", _names)
NAMES_OR_BOOLEAN = TextForm(f"true, false, {_NAMES}", "NAMES", _names_or_boolean)


@dataclass(frozen=True, slots=True)
class Option:
    """An option with its description.

    Parameters
    ----------
    name : str
        Name of the argument in Python.
    description : str
        A few words, without a full stop.
    form : TextForm
        The text form of values.
    default : str or None
        The default as text; None if there is none to show.
    """

    name: str
    description: str
    form: TextForm
    default: str | None

    @property
    def flag(self) -> str:
        """The name on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def camel_case(self) -> str:
        """The name among Spark's options."""
        first, *others = self.name.split("_")
        return first + "".join(map(str.capitalize, others))


def option(default: Any, description: str, form: TextForm, shown_default: str | None = None) -> Any:
    """A field of a class of options; ``shown_default`` is the default that None stands for."""
    if shown_default is None and default is not None and not isinstance(default, bool):
        shown_default = form.show(default)
    told = {"description": description, "form": form, "default": shown_default}
    return field(default=default, metadata=told)


def options_of(options: type[Any]) -> dict[str, Option]:
    """The options of a class, by name.

    Examples
    --------
    >>> from pymosaic.file.options import WriterOptions
    >>> from pymosaic.option_text import options_of
    >>> buckets = options_of(WriterOptions)["num_buckets"]
    >>> buckets.flag, buckets.camel_case, buckets.default
    ('--num-buckets', 'numBuckets', '100')
    """
    found: tuple[Field[Any], ...] = fields(options)
    return {item.name: Option(name=item.name, **item.metadata) for item in found}
