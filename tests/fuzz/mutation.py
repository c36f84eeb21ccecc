"""Changes to recipes: chunk by chunk, so that most of a file stays what it was."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.fuzz.recipe import MAX_PAYLOAD, TAGS, Chunk, emit, parse

ByteMutator = Callable[[bytes], bytes]

# Where counts and sizes go wrong: around the widths of varints and integers.
_INTERESTING: tuple[int, ...] = (
    *(0, 1, 2, 7, 8, 127, 128, 255, 256, 0x3FFF, 0x4000, 0x7FFF, 0xFFFF, 0x10000),
    *(0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, (1 << 63) - 1, (1 << 64) - 1),
)


def mutate(recipe: bytes, random: Random, mutate_bytes: ByteMutator) -> bytes:
    """One changed recipe; ``mutate_bytes`` changes what is inside a chunk."""
    chunks = parse(recipe)
    choice = random.random()
    if not chunks or choice < 0.05:
        return mutate_bytes(recipe)
    where = random.randrange(len(chunks))
    tag, payload = chunks[where]
    if choice < 0.8:
        chunks[where] = tag, mutate_bytes(payload)[:MAX_PAYLOAD]
    elif choice < 0.85:
        chunks.insert(random.randrange(len(chunks) + 1), (tag, payload))
    elif choice < 0.89:
        del chunks[where]
    elif choice < 0.92:
        other = random.randrange(len(chunks))
        chunks[where], chunks[other] = chunks[other], chunks[where]
    elif choice < 0.96:
        lie = random.choice(b"EFERT"), random.randbytes(random.randrange(1, 12))
        chunks.insert(where + 1, lie)
    else:
        chunks[where] = random.choice(TAGS[1:]), payload
    return emit(chunks)


def cross(left: bytes, right: bytes, random: Random) -> bytes:
    """The first chunks of one recipe and the last of another, or one chunk in another's place."""
    first, second = parse(left), parse(right)
    if not first or not second:
        return left + right
    if random.random() < 0.5:
        of_tag: list[Chunk] = [chunk for chunk in second if chunk[0] == random.choice(first)[0]]
        if of_tag:
            chunk = random.choice(of_tag)
            places = [i for i, (tag, _) in enumerate(first) if tag == chunk[0]]
            if places:
                first[random.choice(places)] = chunk
                return emit(first)
    return emit(first[: random.randrange(len(first) + 1)] + second[random.randrange(len(second)) :])


def mutate_bytes(data: bytes, random: Random) -> bytes:
    """A few changes to plain bytes, for runs without a fuzzing engine."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        _CHANGES[random.randrange(len(_CHANGES))](changed, random)
    return bytes(changed)


def _place(data: bytearray, random: Random) -> int:
    return random.randrange(len(data) + 1)


def _flip_bit(data: bytearray, random: Random) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _set_byte(data: bytearray, random: Random) -> None:
    if data:
        data[random.randrange(len(data))] = random.choice(
            (0, 1, 0x7F, 0x80, 0xFF, random.getrandbits(8))
        )


def _add(data: bytearray, random: Random) -> None:
    if data:
        place = random.randrange(len(data))
        data[place] = (data[place] + random.randrange(-8, 9)) & 0xFF


def _insert(data: bytearray, random: Random) -> None:
    place = _place(data, random)
    data[place:place] = random.randbytes(random.randrange(1, 9))


def _delete(data: bytearray, random: Random) -> None:
    place = _place(data, random)
    del data[place : place + random.randrange(1, 9)]


def _cut(data: bytearray, random: Random) -> None:
    del data[_place(data, random) :]


def _copy(data: bytearray, random: Random) -> None:
    start = _place(data, random)
    piece = data[start : start + random.randrange(1, 17)]
    place = _place(data, random)
    data[place : place + random.choice((0, len(piece)))] = piece


def _put_integer(data: bytearray, random: Random) -> None:
    value = random.choice(_INTERESTING)
    place = _place(data, random)
    encoding = random.randrange(3)
    if encoding == 0:
        encoded = bytearray()
        while value >= 0x80:
            encoded.append(value & 0x7F | 0x80)
            value >>= 7
        encoded.append(value)
        data[place : place + random.choice((0, 1, len(encoded)))] = encoded
    else:
        width = random.choice((1, 2, 4, 8))
        masked = value & ((1 << 8 * width) - 1)
        data[place : place + width] = masked.to_bytes(width, "big" if encoding == 1 else "little")


_CHANGES = (_flip_bit, _set_byte, _set_byte, _add, _insert, _delete, _cut, _copy, _put_integer)
