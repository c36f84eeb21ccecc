"""Patterns of paths: ``*``, ``?``, ``[ab]``, ``[!ab]``, ``{a,b}``, and ``**`` for any depth.

A pattern that matches a directory includes what is in it. A backslash takes the next character as
it is.
"""

from __future__ import annotations

import re

from pymosaic.errors import InvalidOptionError

__all__ = ["PathPattern", "find_wildcard", "name_pattern"]

_WILDCARD = re.compile(r"[*?\[{]")
# A pattern may ask for so many alternatives that listing them would never end.
_MAX_ALTERNATIVES = 1000


def find_wildcard(path: str) -> int | None:
    """The place of the first wildcard; None if there is none."""
    found = _WILDCARD.search(path)
    return None if found is None else found.start()


class PathPattern:
    """A pattern of full paths.

    Parameters
    ----------
    pattern : str
        It has a wildcard.

    Attributes
    ----------
    directory : str
        The directory without wildcards in which to look; empty, or with a slash at its end.

    Examples
    --------
    >>> pattern = PathPattern("data/day={1,2}")
    >>> pattern.directory
    'data/'
    >>> pattern.root_of("data/day=2/part.mosaic"), pattern.root_of("data/day=3/part.mosaic")
    ('data/day=2', None)
    """

    def __init__(self, pattern: str) -> None:
        wildcard = find_wildcard(pattern)
        assert wildcard is not None
        self.directory: str = pattern[: pattern.rfind("/", 0, wildcard) + 1]
        below = pattern[len(self.directory) :]
        self._matches = [_translate(item).fullmatch for item in _alternatives(below)]

    def root_of(self, path: str) -> str | None:
        """The file or directory on the way to a path that the pattern names, if it does."""
        below = path[len(self.directory) :]
        for matches in self._matches:
            found = matches(below)
            if found is not None:
                return self.directory + found[1]
        return None


def name_pattern(pattern: str) -> re.Pattern[str]:
    """A regular expression for the names of files that a pattern describes."""
    expressions = (_translate_segment(item) for item in _alternatives(pattern))
    return re.compile("|".join(expressions), re.DOTALL)


def _alternatives(pattern: str) -> list[str]:
    """The patterns without braces that a pattern stands for."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        item = waiting.pop()
        braces = _first_braces(item)
        if braces is None:
            done.append(item)
        else:
            start, parts, end = braces
            waiting += [item[:start] + part + item[end:] for part in reversed(parts)]
        if len(done) + len(waiting) > _MAX_ALTERNATIVES:
            raise InvalidOptionError(
                f"the pattern {pattern!r} has more than {_MAX_ALTERNATIVES} alternatives"
            )
    return done


def _first_braces(pattern: str) -> tuple[int, list[str], int] | None:
    """Where the first braces start, what is between their commas, and where they end."""
    depth = start = part = index = 0
    parts: list[str] = []
    while index < len(pattern):
        character = pattern[index]
        if character == "\\":
            index += 1
        elif character == "[" and not depth and (end := pattern.find("]", index + 2)) > 0:
            index = end
        elif character == "{":
            if not depth:
                start, part = index, index + 1
            depth += 1
        elif character == "," and depth == 1:
            parts.append(pattern[part:index])
            part = index + 1
        elif character == "}" and depth:
            depth -= 1
            if not depth:
                return start, [*parts, pattern[part:index]], index + 1
        index += 1
    if depth:
        raise InvalidOptionError(f"the pattern {pattern!r} has an open brace")
    return None


def _translate(pattern: str) -> re.Pattern[str]:
    """A regular expression for paths, whose first group is what the pattern itself names."""
    parts = []
    segments = [segment for segment in pattern.split("/") if segment]
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if segment == "**":
            parts.append(".+" if last else "(?:.+/)?")
        else:
            parts.append(_translate_segment(segment) + ("" if last else "/"))
    return re.compile("(" + "".join(parts) + ")(?:/.*)?", re.DOTALL)


def _translate_segment(segment: str) -> str:
    result = ""
    index = 0
    while index < len(segment):
        character = segment[index]
        index += 1
        if character == "*":
            result += "[^/]*"
        elif character == "?":
            result += "[^/]"
        elif character == "[" and (end := segment.find("]", index + 1)) > 0:
            inside = segment[index:end].replace("\\", "\\\\")
            result += f"[^{inside[1:]}]" if inside[0] == "!" else f"[{inside}]"
            index = end + 1
        elif character == "\\" and index < len(segment):
            result += re.escape(segment[index])
            index += 1
        else:
            result += re.escape(character)
    return result
