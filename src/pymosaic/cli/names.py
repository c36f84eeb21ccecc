"""Long names on narrow screens.

The names of a wide table mostly share their beginning and end. What all names share is told once,
above the table; a name that is still too long is cut where it equals its neighbours, so that what
tells it apart is always seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pymosaic.cli.text import cut_middle, width_of

__all__ = ["Affixes", "common_affixes", "distinct", "first_word", "prefixes", "widest"]

_SEPARATORS = frozenset("_-./:| ")
_SHORTEST = 3
_CONTEXT = 12


@dataclass(frozen=True, slots=True)
class Affixes:
    """What all names of a table start and end with."""

    prefix: str = ""
    suffix: str = ""

    def __bool__(self) -> bool:
        return bool(self.prefix or self.suffix)

    def without(self, name: str) -> str:
        """The part of a name that differs, marked with … where something is left out."""
        if not (name.startswith(self.prefix) and name.endswith(self.suffix)):
            return name
        if len(name) <= len(self.prefix) + len(self.suffix):
            return name
        middle = name[len(self.prefix) : len(name) - len(self.suffix)]
        return f"{'…' if self.prefix else ''}{middle}{'…' if self.suffix else ''}"

    def note(self, names: str = "all names") -> str:
        """What the names share, in words."""
        parts = [f"start with {self.prefix}"] if self.prefix else []
        parts += [f"end with {self.suffix}"] if self.suffix else []
        return f"{names} {' and '.join(parts)}"


def common_affixes(names: Sequence[str]) -> Affixes:
    """What all names share, as whole words.

    Examples
    --------
    >>> from pymosaic.cli.names import common_affixes
    >>> found = common_affixes(["line_07_motor_value", "line_08_pump_value"])
    >>> found
    Affixes(prefix='line_', suffix='_value')
    >>> found.without("line_07_motor_value")
    '…07_motor…'
    """
    if len(names) < 2:
        return Affixes()
    first, last = min(names), max(names)
    prefix = first[: _shared(first, last)]
    prefix = prefix[: _word_start(prefix)]
    backwards = [name[::-1] for name in names]
    first, last = min(backwards), max(backwards)
    suffix = first[: _shared(first, last)][::-1]
    suffix = suffix[_word_end(suffix) :]
    shortest = min(map(len, names))
    if len(prefix) + len(suffix) >= shortest:
        suffix = ""
    if len(prefix) >= shortest:
        prefix = ""
    return Affixes(
        prefix if len(prefix) >= _SHORTEST else "", suffix if len(suffix) >= _SHORTEST else ""
    )


def distinct(names: Sequence[str], width: int) -> list[str]:
    """Each name, in at most ``width`` cells, with the part in which it differs from its neighbours.

    Examples
    --------
    >>> from pymosaic.cli.names import distinct
    >>> distinct(["site_a_pressure_valve_7_mean", "site_a_pressure_valve_8_mean"], 14)
    ['site_a_p…7…ean', 'site_a_p…8…ean']
    """
    shown = []
    last = len(names) - 1
    for index, name in enumerate(names):
        if width_of(name) <= width:
            shown.append(name)
            continue
        near = (names[max(0, index - 1)], names[min(last, index + 1)])
        shown.append(_cut([other for other in near if other != name], name, width))
    return shown


def widest(texts: Sequence[str]) -> int:
    """The width of the widest text; 0 if there is none."""
    if all(map(str.isascii, texts)):
        return max(map(len, texts), default=0)
    return max(map(width_of, texts), default=0)


def _shared(first: str, second: str) -> int:
    """How many characters two texts have in common at their start."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))


def _cut(neighbours: list[str], name: str, width: int) -> str:
    start = max((_shared(name, other) for other in neighbours), default=0)
    backwards = name[::-1]
    ends = (_shared(backwards, other[::-1]) for other in neighbours)
    end = min(max(ends, default=0), len(name) - start)
    if not neighbours or start + end == 0:
        return cut_middle(name, width)
    # A whole word says more than the digit that differs.
    word = _word_start(name[:start])
    start = word if start - word <= _CONTEXT else start
    word = _word_end(name[len(name) - end :])
    end = end - word if word <= _CONTEXT else end
    middle = name[start : len(name) - end]
    room = width - len(middle) - bool(start) - bool(end)
    if room < 0:
        middle = cut_middle(middle, width - bool(start) - bool(end))
        room = 0
    tail = min(end, room // 3)
    head = min(start, room - tail)
    tail = min(end, room - head)
    text = name[:head] + ("…" if head < start else "") + middle
    text += ("…" if tail < end else "") + name[len(name) - tail :] * bool(tail)
    return text if width_of(text) <= width else cut_middle(text, width)


def _word_start(text: str) -> int:
    """Where the last word of a text begins, which may go on after it: ``a_12`` → 2."""
    for index in range(len(text) - 1, -1, -1):
        if text[index] in _SEPARATORS:
            return index + 1
        if index and text[index].isdigit() and text[index - 1].isalpha():
            return index
    return 0


def _word_end(text: str) -> int:
    """Where the first word of a text ends, which may begin before it: ``12_mean`` → 2."""
    for index, char in enumerate(text):
        if char in _SEPARATORS:
            return index
    return len(text)


def first_word(name: str, start: int = 0) -> str:
    """The name up to the end of its first word after ``start``, with a * for the rest.

    Examples
    --------
    >>> from pymosaic.cli.names import first_word
    >>> first_word("battery_cell_007"), first_word("sensor12"), first_word("id")
    ('battery_*', 'sensor*', 'id')
    """
    for index in range(start, len(name)):
        if name[index] in _SEPARATORS and index > start:
            return name[: index + 1] + "*"
        if index > start and name[index].isdigit() and name[index - 1].isalpha():
            return name[:index] + "*"
    return name


def prefixes(names: Sequence[str]) -> list[str]:
    """The group of each name: its first word after what all names share.

    If that puts every name into a group of its own, what they share is the group.

    Examples
    --------
    >>> from pymosaic.cli.names import prefixes
    >>> prefixes(["plant_oslo_1", "plant_oslo_2", "plant_rome_1"])
    ['plant_oslo_*', 'plant_oslo_*', 'plant_rome_*']
    >>> prefixes(["sensor_001", "sensor_002"])
    ['sensor_*', 'sensor_*']
    """
    shared = len(common_affixes(names).prefix)
    found = [first_word(name, shared) for name in names]
    return found if len(set(found)) < len(found) else [first_word(name) for name in names]
