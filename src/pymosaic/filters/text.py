"""A small language for filters: text in, the filters of :func:`pymosaic.read_table` out.

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

Names of columns are written as they are, or in double quotes or backquotes, doubled inside; in
text, a quote is doubled. Words of the language may be in upper case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from pymosaic.errors import InvalidOptionError
from pymosaic.filters.tokens import FilterSyntaxError, Kind, Token, tokenize

__all__ = ["FilterSyntaxError", "parse_filter"]

Condition: TypeAlias = tuple[Any, ...]
# Any of the lists, of which all must hold: disjunctive normal form.
Disjunction: TypeAlias = list[list[Condition]]

# "and" of "or"s multiplies: beyond this, no one wrote it by hand.
_MAX_CONJUNCTIONS = 10_000
_MAX_DEPTH = 100
_OPPOSITE = {
    "==": "!=",
    "!=": "==",
    "<": "not <",
    "<=": "not <=",
    ">": "not >",
    ">=": "not >=",
    "in": "not in",
    "not in": "in",
    "is null": "is not null",
    "is not null": "is null",
}
_OPPOSITE |= {negated: name for name, negated in _OPPOSITE.items() if negated.startswith("not ")}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARISONS = {"=": "==", "<>": "!=", **{name: name for name in ("==", "!=", *_MIRRORED)}}


def parse_filter(text: str) -> list[list[tuple[Any, ...]]]:
    """Read a filter that is written as text.

    Parameters
    ----------
    text : str
        Comparisons (``= != < <= > >=``), ``in``, ``between``, ``like 'prefix%'`` and ``is null``,
        joined by ``and``, ``or``, ``not`` and parentheses. Literals are numbers, ``'text'``,
        ``true``, ``false``, ``date '2024-05-31'``, ``timestamp '2024-05-31 23:59:00'``,
        ``time '23:59:00'``, ``decimal '1.50'``, ``double 'nan'`` and ``x'00ff'``. Names that are
        not plain words stand in double quotes or backquotes.

    Returns
    -------
    list of lists of tuples
        What ``filters=`` takes everywhere. Numbers stay as written: 0.1 is 0.1 for columns of
        decimals, and the nearest float for columns of floats.

    Raises
    ------
    FilterSyntaxError
        With the place in the text.

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
    tree = parser.filter()
    end = parser.take()
    if end.kind is not Kind.END:
        raise end.error("expected 'and', 'or' or the end")
    return _normal_form(tree, negated=False, where=parser)


@dataclass(frozen=True, slots=True)
class _Node:
    """``and``, ``or`` and ``not`` over nodes, or a leaf: conditions that all hold."""

    operator: str
    parts: tuple[_Node, ...] = ()
    condition: Condition = ()


def _leaf(*condition: Any) -> _Node:
    return _Node("leaf", condition=condition)


def _normal_form(node: _Node, negated: bool, where: _Parser) -> Disjunction:
    """Push ``not`` down to the conditions, then multiply out."""
    if node.operator == "leaf":
        column, operator, *literal = node.condition
        return [[(column, _OPPOSITE[operator] if negated else operator, *literal)]]
    if node.operator == "not":
        return _normal_form(node.parts[0], not negated, where)
    parts = [_normal_form(part, negated, where) for part in node.parts]
    if (node.operator == "or") != negated:
        result = [group for part in parts for group in part]
    else:
        result = [[]]
        for part in parts:
            where.check_size(len(result) * len(part))
            result = [before + group for before in result for group in part]
    where.check_size(len(result))
    return result


class _Parser:
    """Recursive descent; a method for each rule of the grammar."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def check_size(self, size: int) -> None:
        if size > _MAX_CONJUNCTIONS:
            raise FilterSyntaxError(
                f"written out, this would be over {_MAX_CONJUNCTIONS} alternatives; use in (...) "
                "in place of many 'or'",
                self._text,
                0,
            )

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

    def filter(self) -> _Node:
        return self._joined("or", lambda: self._joined("and", self._negation))

    def _joined(self, word: str, part: Callable[[], _Node]) -> _Node:
        parts = [part()]
        while self._accept(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else _Node(word, tuple(parts))

    def _negation(self) -> _Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._peek().error(f"more than {_MAX_DEPTH} levels of 'not' and '('")
        token = self._peek()
        if self._accept("not"):
            node = _Node("not", (self._negation(),))
        elif self._accept("("):
            node = self.filter()
            if not self._accept(")"):
                raise self._peek().error(
                    f"expected 'and', 'or' or ')' for the '(' at character {token.position + 1}"
                )
        else:
            node = self._condition()
        self._depth -= 1
        return node

    def _condition(self) -> _Node:
        first = self.take()
        if first.kind is Kind.LITERAL:
            return self._mirrored(first)
        if first.kind is not Kind.NAME:
            raise first.error("expected a column")
        column = first.value
        operator = self._peek()
        if operator.kind is Kind.COMPARISON:
            self.take()
            return _leaf(column, _COMPARISONS[operator.value], self._literal())
        if self._accept("is"):
            negated = self._accept("not")
            self._expect("null")
            return _leaf(column, "is not null" if negated else "is null")
        negated = self._accept("not")
        node = self._word_condition(column)
        if node is None:
            if negated:
                raise self._peek().error("expected 'in', 'between' or 'like' after 'not'")
            if self._peek().kind is not Kind.WORD and self._peek().kind is not Kind.END:
                raise self._peek().error("expected an operator")
            return _leaf(column, "==", True)
        return _Node("not", (node,)) if negated else node

    def _mirrored(self, literal: Token) -> _Node:
        operator = self.take()
        if operator.kind is not Kind.COMPARISON:
            raise operator.error("expected a comparison with a column")
        column = self.take()
        if column.kind is not Kind.NAME:
            raise column.error("expected a column")
        name = _COMPARISONS[operator.value]
        return _leaf(column.value, _MIRRORED.get(name, name), literal.value)

    def _word_condition(self, column: str) -> _Node | None:
        if self._accept("in"):
            return _leaf(column, "in", self._literals())
        if self._accept("between"):
            low = self._literal()
            self._expect("and")
            return _Node("and", (_leaf(column, ">=", low), _leaf(column, "<=", self._literal())))
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
            raise token.error("expected a value (text stands in quotes: 'Rome')")
        raise token.error("expected a value")


def _like(column: str, token: Token) -> _Node:
    """A prefix is a range in the order of text."""
    if token.kind is not Kind.LITERAL or not isinstance(token.value, str):
        raise token.error("expected a pattern such as 'Ro%'")
    prefix, is_open = _split_pattern(token)
    if not is_open:
        return _leaf(column, "==", prefix)
    above = _next_text(prefix)
    from_prefix = _leaf(column, ">=", prefix)
    return from_prefix if above is None else _Node("and", (from_prefix, _leaf(column, "<", above)))


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
                f"{character!r} can only stand at the end, as in 'Ro%' (as a plain character it is "
                f"written \\{character})",
                _offset(pattern, index),
            )
        if character == "\\":
            index += 1
            if pattern[index : index + 1] not in ("%", "_", "\\"):
                raise token.complaint(
                    "a backslash goes before %, _ or another backslash",
                    _offset(pattern, index - 1),
                )
            character = pattern[index]
        prefix += character
        index += 1
    return prefix, False


def _offset(pattern: str, index: int) -> int:
    """Where a character of a pattern stands in the token, whose quotes are doubled."""
    return 1 + index + pattern[:index].count("'")


def _next_text(prefix: str) -> str | None:
    """The least text above all that start with the prefix; None where there is none."""
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return None
    successor = ord(kept[-1]) + 1
    if successor == 0xD800:  # surrogates are no text
        successor = 0xE000
    return kept[:-1] + chr(successor)
