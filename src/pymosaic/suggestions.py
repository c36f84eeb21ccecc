"""Suggestions for unknown names: "did you mean 'temperature'?".

Comparing two names in full is slow. So the pairs of neighbouring bytes that each name shares with
the wanted one are counted first, for all names at once, and only the best are compared in full. A
suggestion among 100,000 columns takes milliseconds once their names are indexed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["MAX_INDEXED_NAMES", "NameIndex", "did_you_mean", "quote"]

# Bounds on the work for one message: names indexed, names compared in full, and the length up to
# which they are compared.
MAX_INDEXED_NAMES = 200_000
_COMPARED_NAMES = 100
_COMPARED_CHARACTERS = 80
_SHOWN_NAMES = 3
_SHOWN_CHARACTERS = 80
# Above this share of differing characters, two names are unrelated.
_MAX_DISTANCE = 0.6


def did_you_mean(wanted: str, names: Iterable[str], count: int = _SHOWN_NAMES) -> str:
    """Return a suggestion to append to a message, or an empty text if no name is close.

    Parameters
    ----------
    wanted : str
        The name that was not found.
    names : iterable of str
        The names that exist; only the first :data:`MAX_INDEXED_NAMES` are considered.
    count : int
        The maximum number of names to suggest.

    Examples
    --------
    >>> from pymosaic.suggestions import did_you_mean
    >>> did_you_mean("heigth", ["age", "height", "weight"])
    " (did you mean 'height' or 'weight'?)"
    >>> did_you_mean("zone", ["age", "height", "weight"])
    ''
    """
    return NameIndex(names).did_you_mean(wanted, count)


def quote(name: str) -> str:
    """Return a name in quotes, cut to a length suitable for a message.

    Examples
    --------
    >>> from pymosaic.suggestions import quote
    >>> quote("age")
    "'age'"
    """
    if len(name) > _SHOWN_CHARACTERS:
        name = name[: _SHOWN_CHARACTERS - 1] + "…"
    return repr(name)


class NameIndex:
    """Names that several unknown names are compared with; indexing them is most of the work.

    Examples
    --------
    >>> from pymosaic.suggestions import NameIndex
    >>> index = NameIndex(["age", "height", "weight"])
    >>> index.closest("heigth"), index.closest("aeg", 1)
    (['height', 'weight'], ['age'])
    """

    def __init__(self, names: Iterable[str]) -> None:
        known: Sequence[str] = names if isinstance(names, list | tuple) else list(names)
        self._names = known[:MAX_INDEXED_NAMES]
        self._pairs: _PairCounts | None = None

    def closest(self, wanted: str, count: int = _SHOWN_NAMES) -> list[str]:
        """Return the names most similar to one, ignoring case, the closest first."""
        wanted = wanted.lower()[:_COMPARED_CHARACTERS]
        ranked = sorted(_rank(wanted, name) for name in self._candidates(wanted))
        return [name for distance, _, name in ranked[:count] if distance <= _MAX_DISTANCE]

    def did_you_mean(self, wanted: str, count: int = _SHOWN_NAMES) -> str:
        """Return a suggestion to append to a message, or an empty text if no name is close."""
        found = list(map(quote, self.closest(wanted, count)))
        if not found:
            return ""
        *first, last = found
        return f" (did you mean {', '.join(first)}{' or ' if first else ''}{last}?)"

    def _candidates(self, wanted: str) -> Iterable[str]:
        if len(self._names) <= _COMPARED_NAMES:
            return self._names
        if self._pairs is None:
            self._pairs = _PairCounts(self._names)
        return [self._names[number] for number in self._pairs.best(wanted)]


def _rank(wanted: str, name: str) -> tuple[float, bool, str]:
    """Return a sort key by similarity; at equal distance, swapped letters come first."""
    text = name.lower()[:_COMPARED_CHARACTERS]
    import difflib  # only for what is misspelt

    distance = 1 - difflib.SequenceMatcher(None, text, wanted, autojunk=False).ratio()
    return distance, sorted(text) != sorted(wanted), name


class _PairCounts:
    """Ranks many names by the pairs of neighbouring bytes they share with a text, ignoring case.

    The pairs of all names are in one array, so that they are looked up all at once.
    """

    def __init__(self, names: Sequence[str]) -> None:
        import numpy as np

        texts = [_marked(name) for name in names]
        self._lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._pairs = _pairs(b"".join(texts) + b"\n")

    def best(self, wanted: str) -> list[int]:
        """Return the indices of the names that share most, the best first."""
        import numpy as np

        text = _marked(wanted)
        is_wanted = np.zeros(1 << 16, np.bool_)
        is_wanted[_pairs(text)] = True
        shared = np.add.reduceat(is_wanted[self._pairs], self._starts, dtype=np.int64)
        # Extra pairs make a name less similar to the text, but missing pairs count more.
        score = shared - 0.3 * np.abs(self._lengths - len(text))
        best = np.argpartition(-score, _COMPARED_NAMES)[:_COMPARED_NAMES]
        ranked: list[int] = best[np.argsort(-score[best], kind="stable")].tolist()
        return ranked


def _marked(name: str) -> bytes:
    """Return the bytes of a name to compare, with a mark at both ends so that ends match ends."""
    return b"\n%b\n" % name.lower()[:_COMPARED_CHARACTERS].encode("utf-8", "surrogatepass")


def _pairs(text: bytes) -> npt.NDArray[np.uint16]:
    import numpy as np

    wide = np.frombuffer(text, np.uint8).astype(np.uint16)
    pairs: npt.NDArray[np.uint16] = wide[:-1] << np.uint16(8) | wide[1:]
    return pairs
