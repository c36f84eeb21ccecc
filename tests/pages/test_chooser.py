"""``pages.choose`` tries every encoding, and each holds what is needed to decode it."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.pages import choose
from pymosaic.pages.chooser import encode_whole_page

CHANCE = np.random.default_rng(5)
ROWS = 20_000


@pytest.mark.parametrize(
    ("values", "encoding"),
    [
        (np.cumsum(CHANCE.integers(1, 20, ROWS)), "delta"),
        (np.round(CHANCE.lognormal(1, 1, ROWS), 1), "dictionary"),
        (1000 + np.cumsum(CHANCE.standard_normal(ROWS)), "byte-stream-split"),
        (np.repeat(CHANCE.integers(0, 1 << 60, 4000), CHANCE.integers(1, 9, 4000)), "run-length"),
        (np.frombuffer(CHANCE.bytes(8 * ROWS), np.int64), "plain"),
        ([f"name {n}" for n in CHANCE.integers(0, 3000, ROWS).tolist()], "dictionary"),
        ([f"{n:x} and others" for n in CHANCE.integers(0, 1 << 60, ROWS).tolist()], "plain"),
    ],
)
def test_the_smallest_after_zstd_is_chosen(values: object, encoding: str) -> None:
    choice = choose(pa.array(values))
    assert choice.encoding == encoding
    assert choice.num_bytes == min(choice.sizes.values())
    assert len(choice.sizes) >= 2 or encoding == "plain"


@pytest.mark.parametrize("kind", ["<i2", "<i4", "<i8", "<u8"])
def test_every_encoding_of_numbers_can_be_undone(kind: str) -> None:
    limits = np.iinfo(kind)
    numbers = np.repeat(
        CHANCE.integers(limits.min, limits.max, 300, kind, endpoint=True),
        CHANCE.integers(1, 5, 300),
    )
    numbers[:2] = limits.max, limits.min  # a difference that wraps around
    width, count = numbers.itemsize, len(numbers)
    encoded = encode_whole_page(pa.array(numbers))
    assert encoded["plain"] == (numbers.tobytes(),)

    def joined(buffers: tuple[bytes, ...]) -> np.ndarray:
        rows = np.frombuffer(buffers[0], np.uint8).reshape(width, count).T
        return np.ascontiguousarray(rows).view(kind).reshape(-1)

    assert (joined(encoded["byte-stream-split"]) == numbers).all()
    assert (np.cumsum(joined(encoded["delta"]), dtype=kind) == numbers).all()
    values = np.frombuffer(encoded["run-length"][0], kind)
    lengths = np.frombuffer(encoded["run-length"][1], "<u1")
    assert (np.repeat(values, lengths) == numbers).all()
    indices = np.frombuffer(encoded["dictionary"][0], "<u2")
    items = np.frombuffer(encoded["dictionary"][1], kind)
    assert (items[indices] == numbers).all()


def test_every_encoding_of_strings_can_be_undone() -> None:
    texts = ["", "a", "bb", "a", "", "ä"]
    encoded = encode_whole_page(pa.array(texts))

    def strings(lengths: bytes, data: bytes) -> list[str]:
        ends = np.cumsum(np.frombuffer(lengths, "<u4"))
        return [data[s:e].decode() for s, e in zip([0, *ends[:-1]], ends, strict=True)]

    assert strings(*encoded["plain"]) == texts
    items = strings(*encoded["dictionary"][1:])
    assert [items[index] for index in encoded["dictionary"][0]] == texts


def test_nulls_are_left_out_and_other_types_are_taken_by_their_bytes() -> None:
    assert encode_whole_page(pa.array([1, None, 2])) == encode_whole_page(pa.array([1, 2]))
    for array in (
        pa.array([Decimal("1.5")] * 100),
        pa.array([1, 2] * 50, pa.timestamp("us", "UTC")),
        pa.array([b"abc"] * 100, pa.binary(3)),
        pa.array([b"abc"] * 100, pa.large_binary()),
        pa.array([], pa.int64()),
    ):
        assert choose(array).num_bytes > 0


def test_more_items_than_indices_of_two_bytes_reach_are_no_dictionary() -> None:
    assert "dictionary" in encode_whole_page(pa.array(np.arange(1 << 16)))
    assert "dictionary" not in encode_whole_page(pa.array(np.arange((1 << 16) + 1)))


def test_mistakes_are_refused() -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="level must be an int from 1 to 22"):
        choose(pa.array([1]), level=0)
    with pytest.raises(pymosaic.UnsupportedFeatureError, match="only one encoding"):
        choose(pa.array([True]))
