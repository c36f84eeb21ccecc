"""The filter language: text parsed to the filters of :func:`pymosaic.read_table`.

::

    filter     = conjunction { "or" conjunction }
    conjunction= negation { "and" negation }
    negation   = "not" negation | "(" filter ")" | condition
    condition  = column ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) literal
               | literal <the same> column
               | column [ "not" ] "in" "(" literal { "," literal } ")"
               | column [ "not" ] "between" literal "and" literal
               | column [ "not" ] "like" 'prefix%'
               | column "is" [ "not" ] "null"
               | column                                          (of booleans: it is true)
    literal    = number | 'text' | "true" | "false" | x'00ff'
               | ( "date" | "time" | "timestamp" | "decimal" | "double" ) 'text'

Column names are written plainly, or in double quotes or backquotes, which are doubled inside a
name. A quote inside text is doubled. Keywords may be in upper case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymosaic.errors import InvalidOptionError
from pymosaic.filters.conditions import (
    AllOf,
    AnyOf,
    Condition,
    negated,
    normal_form,
    starts_with,
)
from pymosaic.filters.operators import mirrored
from pymosaic.filters.predicates import Predicate
from pymosaic.filters.tokens import FilterSyntaxError, Kind, Token, tokenize

__all__ = ["FilterSyntaxError", "parse_filter"]

# "and" of "or"s multiplies: a filter with more groups was not written by hand.
_MAX_GROUPS = 10_000
_MAX_DEPTH = 100
# Other spellings of operators.
_SPELLINGS = {"=": "==", "<>": "!="}


def parse_filter(text: str) -> list[list[tuple[Any, ...]]]:
    """Parse a filter written as text.

    Parameters
    ----------
    text : str
        Comparisons (``= != < <= > >=``), ``in``, ``between``, ``like 'prefix%'`` and ``is null``,
        joined by ``and``, ``or``, ``not`` and parentheses. Literals are numbers, ``'text'``,
        ``true``, ``false``, ``date '2024-05-31'``, ``timestamp '2024-05-31 23:59:00'``,
        ``time '23:59:00'``, ``decimal '1.50'``, ``double 'nan'`` and ``x'00ff'``. Names that are
        not plain words must be in double quotes or backquotes.

    Returns
    -------
    list of lists of tuples
        Valid for every ``filters=`` argument. Numbers stay as written: 0.1 is 0.1 for decimal
        columns, and the nearest float for float columns.

    Raises
    ------
    FilterSyntaxError
        With the position in the text.

    Examples
    --------
    >>> import pymosaic
    >>> pymosaic.parse_filter("age > 50 and city in ('Rome', 'Oslo') or note is null")
    [[('age', '>', 50), ('city', 'in', ['Rome', 'Oslo'])], [('note', 'is null')]]
    >>> pymosaic.parse_filter("not (age between 20 and 30)")
    [[('age', 'not >=', 20)], [('age', 'not <=', 30)]]
    >>> pymosaic.parse_filter("age > or city = 'Rome'")
    Traceback (most recent call last):
    ...
    pymosaic.filters.tokens.FilterSyntaxError: character 7: expected a value, got 'or'
      age > or city = 'Rome'
            ^
    """
    if not isinstance(text, str):
        raise InvalidOptionError(f"a filter must be a str, got {text!r}")
    parser = _Parser(text, tokenize(text))
    condition = parser.filter()
    end = parser.take()
    if end.kind is not Kind.END:
        raise end.error("expected 'and', 'or' or the end")
    form = normal_form(condition, _MAX_GROUPS)
    if not form.exact:
        raise FilterSyntaxError(
            f"this expands to over {_MAX_GROUPS} alternatives; use in (...) instead of 'or'",
            text,
            0,
        )
    return [[predicate.as_tuple() for predicate in group] for group in form.groups]


class _Parser:
    """A recursive descent parser with a method for each rule of the grammar."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def take(self) -> Token:
        token = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _accept(self, word: str) -> bool:
        if self._peek().is_word(word):
            self._next += 1
            return True
        return False

    def _expect(self, word: str) -> None:
        token = self._peek()
        if not self._accept(word):
            raise token.error(f"expected {word!r}")

    def filter(self) -> Condition:
        return AnyOf(self._joined("or", lambda: AllOf(self._joined("and", self._negation))))

    def _joined(self, word: str, part: Callable[[], Condition]) -> tuple[Condition, ...]:
        parts = [part()]
        while self._accept(word):
            parts.append(part())
        return tuple(parts)

    def _negation(self) -> Condition:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._peek().error(f"more than {_MAX_DEPTH} levels of 'not' and '('")
        token = self._peek()
        if self._accept("not"):
            condition = negated(self._negation())
        elif self._accept("("):
            condition = self.filter()
            if not self._accept(")"):
                raise self._peek().error(
                    f"expected 'and', 'or' or ')' for the '(' at character {token.position + 1}"
                )
        else:
            condition = self._condition()
        self._depth -= 1
        return condition

    def _condition(self) -> Condition:
        first = self.take()
        if first.kind is Kind.LITERAL:
            return self._mirrored(first)
        if first.kind is not Kind.NAME:
            raise first.error("expected a column")
        column = first.value
        operator = self._peek()
        if operator.kind is Kind.COMPARISON:
            self.take()
            return Predicate(column, _operator(operator), (self._literal(),))
        if self._accept("is"):
            is_negated = self._accept("not")
            self._expect("null")
            return Predicate(column, "is not null" if is_negated else "is null")
        is_negated = self._accept("not")
        condition = self._word_condition(column)
        if condition is None:
            if is_negated:
                raise self._peek().error("expected 'in', 'between' or 'like' after 'not'")
            if self._peek().kind is not Kind.WORD and self._peek().kind is not Kind.END:
                raise self._peek().error("expected an operator")
            return Predicate(column, "==", (True,))
        return negated(condition) if is_negated else condition

    def _mirrored(self, literal: Token) -> Condition:
        operator = self.take()
        if operator.kind is not Kind.COMPARISON:
            raise operator.error("expected a comparison with a column")
        column = self.take()
        if column.kind is not Kind.NAME:
            raise column.error("expected a column")
        return Predicate(column.value, mirrored(_operator(operator)), (literal.value,))

    def _word_condition(self, column: str) -> Condition | None:
        if self._accept("in"):
            return Predicate.of_set(column, "in", self._literals())
        if self._accept("between"):
            low = self._literal()
            self._expect("and")
            high = self._literal()
            return AllOf((Predicate(column, ">=", (low,)), Predicate(column, "<=", (high,))))
        if self._accept("like"):
            return _like(column, self.take())
        return None

    def _literals(self) -> list[Any]:
        self._expect("(")
        values = []
        while True:
            values.append(None if self._accept("null") else self._literal())
            if self._accept(")"):
                return values
            if not self._accept(","):
                raise self._peek().error("expected ',' or ')'")

    def _literal(self) -> Any:
        token = self.take()
        if token.kind is Kind.LITERAL:
            return token.value
        if token.is_word("null"):
            raise token.complaint("nothing equals null: write 'is null' or 'is not null'")
        if token.kind is Kind.NAME:
            raise token.error("expected a value (text must be quoted: 'Rome')")
        raise token.error("expected a value")


def _operator(token: Token) -> str:
    name: str = token.value
    return _SPELLINGS.get(name, name)


def _like(column: str, token: Token) -> Condition:
    """A prefix is a range in the order of text."""
    if token.kind is not Kind.LITERAL or not isinstance(token.value, str):
        raise token.error("expected a pattern such as 'Ro%'")
    prefix, is_open = _split_pattern(token)
    if not is_open:
        return Predicate(column, "==", (prefix,))
    return starts_with(column, prefix)


def _split_pattern(token: Token) -> tuple[str, bool]:
    prefix = ""
    pattern: str = token.value
    index = 0
    while index < len(pattern):
        character = pattern[index]
        if character == "%" and index == len(pattern) - 1:
            return prefix, True
        if character in "%_":
            raise token.complaint(
                f"{character!r} is only allowed at the end, as in 'Ro%' (write the plain character "
                f"as \\{character})",
                _offset(pattern, index),
            )
        if character == "\\":
            index += 1
            if pattern[index : index + 1] not in ("%", "_", "\\"):
                raise token.complaint(
                    "a backslash must be followed by %, _ or another backslash",
                    _offset(pattern, index - 1),
                )
            character = pattern[index]
        prefix += character
        index += 1
    return prefix, False


def _offset(pattern: str, index: int) -> int:
    """The position of a pattern's character in the token, where quotes are doubled."""
    return 1 + index + pattern[:index].count("'")
