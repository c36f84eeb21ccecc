"""Ways to damage a file. Every stream of mutations is the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

# Of files up to this size every bit is flipped, of larger ones one bit of every byte.
ALL_BITS_UP_TO = 1024


@dataclass(frozen=True)
class Mutation:
    """Damaged bytes, how they came about, and for a flip where."""

    kind: str
    what: str
    data: bytes
    offset: int | None = None


def flip(data: bytes, position: int) -> Mutation:
    """The file with one bit flipped; positions count bits."""
    offset, bit = divmod(position, 8)
    damaged = bytearray(data)
    damaged[offset] ^= 1 << bit
    return Mutation("bit flipped", f"byte {offset}, bit {bit}", bytes(damaged), offset)


def flip_positions(data: bytes, random: Random) -> list[int]:
    """Which bits are flipped."""
    if len(data) <= ALL_BITS_UP_TO:
        return list(range(8 * len(data)))
    return [8 * offset + random.randrange(8) for offset in range(len(data))]


def flips(data: bytes, random: Random) -> Iterator[Mutation]:
    """Each bit, or a bit of each byte."""
    for position in flip_positions(data, random):
        yield flip(data, position)


def inversions(data: bytes, _random: Random) -> Iterator[Mutation]:
    """Each byte inverted."""
    for offset in range(len(data)):
        damaged = bytearray(data)
        damaged[offset] ^= 0xFF
        yield Mutation("byte inverted", f"byte {offset}", bytes(damaged), offset)


def truncations(data: bytes, _random: Random) -> Iterator[Mutation]:
    """Every length."""
    for length in range(len(data)):
        yield Mutation("truncated", f"{length} bytes", data[:length])


def random_bytes(data: bytes, random: Random, count: int = 300) -> Iterator[Mutation]:
    """A few bytes set to telling values, mostly in the end that steers the reader."""
    near_end = max(0, len(data) - 400)
    for _ in range(count if data else 0):
        damaged = bytearray(data)
        places = []
        for _ in range(random.choice([2, 3, 5])):
            offset = random.randrange(random.choice([0, near_end]), len(data))
            damaged[offset] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
            places.append(offset)
        yield Mutation("bytes set", f"bytes {places}", bytes(damaged))


def _range(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data))
    longest = random.choice([4, 40, len(data)])
    return start, random.randrange(start + 1, min(len(data), start + longest) + 1)


def ranges(data: bytes, random: Random, count: int = 300) -> Iterator[Mutation]:
    """Ranges of bytes repeated, removed, or copied over others."""
    for _ in range(count if data else 0):
        start, stop = _range(data, random)
        what = f"bytes {start}..{stop}"
        yield Mutation("range repeated", what, data[:stop] + data[start:])
        yield Mutation("range removed", what, data[:start] + data[stop:])
        target = random.randrange(len(data) - (stop - start) + 1)
        laid = data[:target] + data[start:stop] + data[target + stop - start :]
        yield Mutation("range copied over another", f"{what} to {target}", laid)


def splices(
    data: bytes, others: list[bytes], random: Random, count: int = 300
) -> Iterator[Mutation]:
    """The front of one file and the end of another."""
    for _ in range(count if data else 0):
        other = random.choice(others)
        cut = random.choice([random.randrange(len(data) + 1), _schema_offset(data)])
        rest = random.choice([random.randrange(len(other) + 1), _schema_offset(other)])
        yield Mutation("spliced", f"{cut} bytes, then {rest} on", data[:cut] + other[rest:])


def _schema_offset(data: bytes) -> int:
    """Where the footer says that the data ends, for splices that nearly fit."""
    return min(int.from_bytes(data[-24:-16], "big"), len(data))
