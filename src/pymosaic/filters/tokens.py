"""Tokens of the filter language: names, operators and typed literals with their positions."""

from __future__ import annotations

import datetime
import enum
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from pymosaic.errors import InvalidOptionError

__all__ = ["FilterSyntaxError", "Kind", "Token", "tokenize"]

# How much of a long filter a message shows on either side of the position.
_SHOWN = 60
_MAX_DIGITS = 1000
_WORDS = frozenset({"and", "or", "not", "in", "between", "like", "is", "null"})
_TYPES = frozenset({"date", "time", "timestamp", "decimal", "double"})
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<binary>[xX]'(?:[^']|'')*')
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*" | `(?:[^`]|``)*`)
    | (?P<comparison><=|>=|<>|!=|==|=|<|>)
    | (?P<mark>[(),])
    | (?P<name>[^\W\d][\w.$@]*)
    """,
    re.VERBOSE,
)


class FilterSyntaxError(InvalidOptionError):
    """A filter that cannot be parsed.

    Parameters
    ----------
    reason : str
        What is wrong.
    text : str
        The filter.
    position : int
        The index of the offending character.
    """

    def __init__(self, reason: str, text: str, position: int) -> None:
        super().__init__(reason, text, position)
        self.reason = reason
        self.text = text
        self.position = position

    def __str__(self) -> str:
        start = max(0, self.position - _SHOWN)
        shown = "".join(
            character if character.isprintable() else "�"
            for character in self.text[start : self.position + _SHOWN]
        )
        mark = " " * (self.position - start)
        return f"character {self.position + 1}: {self.reason}\n  {shown}\n  {mark}^"


class Kind(enum.Enum):
    """Kinds of tokens."""

    WORD = "word"
    COMPARISON = "comparison"
    NAME = "name"
    LITERAL = "literal"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A keyword, a comparison, a column name or a literal, as given by ``value``."""

    kind: Kind
    value: Any
    position: int
    source: str
    length: int

    def is_word(self, word: str) -> bool:
        """Whether this is the given keyword."""
        return self.kind is Kind.WORD and bool(self.value == word)

    @property
    def text(self) -> str:
        """The token as written."""
        return self.source[self.position : self.position + self.length]

    def error(self, reason: str) -> FilterSyntaxError:
        """An error at this token, which it quotes."""
        found = "the end" if self.kind is Kind.END else repr(self.text)
        return self.complaint(f"{reason}, got {found}")

    def complaint(self, reason: str, offset: int = 0) -> FilterSyntaxError:
        """An error at a character of this token."""
        return FilterSyntaxError(reason, self.source, self.position + offset)


def tokenize(text: str) -> list[Token]:
    """Split a filter into tokens, the last of which marks the end."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            _refuse(text, position)
        end = match.end()
        kind, found = match.lastgroup, match.group()
        if kind == "number" and text[end : end + 1].isalnum():
            raise FilterSyntaxError("a number runs into a word", text, end)
        if kind != "space":
            token = _token(str(kind), found, text, position)
            # `date '2024-05-31'`: a name followed by text.
            if token.kind is Kind.NAME and kind == "name" and found.lower() in _TYPES:
                literal = re.compile(r"\s*('(?:[^']|'')*')").match(text, end)
                if literal is not None:
                    value = _typed(found.lower(), literal[1], text, literal.start(1))
                    end = literal.end()
                    token = Token(Kind.LITERAL, value, position, text, end - position)
            tokens.append(token)
        position = end
    tokens.append(Token(Kind.END, None, len(text), text, 0))
    return tokens


def _refuse(text: str, position: int) -> NoReturn:
    character = text[position]
    if character in "'\"`":
        raise FilterSyntaxError(f"the {character} is never closed", text, position)
    raise FilterSyntaxError(f"unexpected {character!r}", text, position)


def _token(kind: str, found: str, text: str, position: int) -> Token:
    def make(kind: Kind, value: Any) -> Token:
        return Token(kind, value, position, text, len(found))

    if kind == "number":
        return make(Kind.LITERAL, _number(found, text, position))
    if kind == "text":
        return make(Kind.LITERAL, _unquote(found))
    if kind == "binary":
        try:
            return make(Kind.LITERAL, bytes.fromhex(_unquote(found[1:])))
        except ValueError:
            raise FilterSyntaxError(
                "expected pairs of hexadecimal digits, as in x'00ff'", text, position
            ) from None
    if kind == "quoted":
        name = _unquote(found)
        if not name:
            raise FilterSyntaxError("a column name must not be empty", text, position)
        return make(Kind.NAME, name)
    if kind == "comparison":
        return make(Kind.COMPARISON, found)
    word = found.lower()
    if kind == "mark" or word in _WORDS:
        return make(Kind.WORD, word)
    if word in ("true", "false"):
        return make(Kind.LITERAL, word == "true")
    return make(Kind.NAME, found)


def _unquote(found: str) -> str:
    quote = found[0]
    return found[1:-1].replace(quote * 2, quote)


def _number(found: str, text: str, position: int) -> Any:
    if found.lstrip("+-").isdigit() and len(found) <= _MAX_DIGITS:
        return int(found)
    from pymosaic.filters.literals import WrittenNumber

    number = WrittenNumber(found)
    if not _is_modest(number):
        raise FilterSyntaxError("a number with too many digits", text, position)
    return number


def _is_modest(number: Decimal) -> bool:
    """Whether the exact number, which comparisons need, is of a reasonable size."""
    return (
        number.is_finite() and abs(number.adjusted()) + len(number.as_tuple().digits) <= _MAX_DIGITS
    )


def _typed(kind: str, quoted: str, text: str, position: int) -> Any:
    literal = _unquote(quoted)
    try:
        if kind == "date":
            return datetime.date.fromisoformat(literal)
        if kind == "double":
            return float(literal)
        if kind == "decimal":
            return _decimal(literal)
        if kind == "time":
            return _time(literal)
        return _timestamp(literal)
    except (ValueError, ArithmeticError):
        example = {
            "date": "'2024-05-31'",
            "time": "'23:59:00'",
            "timestamp": "'2024-05-31 23:59:00' or '2024-05-31 23:59:00+02:00'",
            "decimal": "'1.50'",
            "double": "'0.25', 'nan' or 'inf'",
        }[kind]
        raise FilterSyntaxError(
            f"{quoted} is not a valid {kind}; write {kind} {example}", text, position
        ) from None


def _decimal(literal: str) -> Any:
    value = Decimal(literal)
    if not _is_modest(value):
        raise ValueError(literal)
    return value


def _time(literal: str) -> Any:
    import pyarrow as pa

    from pymosaic.filters.literals import locate

    place = locate(literal, pa.time64("ns"))
    if place is None or place != int(place):
        raise ValueError(literal)
    return pa.scalar(int(place), pa.time64("ns"))


def _timestamp(literal: str) -> Any:
    """A datetime if that is exact, otherwise an Arrow timestamp in nanoseconds."""
    import pyarrow as pa

    from pymosaic.filters.literals import locate

    for zone in (None, "UTC"):
        place = locate(literal, pa.timestamp("ns", zone))
        if place is None:
            continue
        if place % 1000 == 0:
            # Whole microseconds, which Python can represent.
            return datetime.datetime.fromisoformat(literal)
        if place == int(place):
            return pa.scalar(int(place), pa.timestamp("ns", zone))
    raise ValueError(literal)
