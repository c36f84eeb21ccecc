"""Sizes in bytes as text."""

from __future__ import annotations

import pytest

from pymosaic import InvalidOptionError
from pymosaic.sizes import format_size, parse_size, short_size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1000", 1000),
        ("7b", 7),
        ("64k", 64 << 10),
        ("64kb", 64 << 10),
        ("64KiB", 64 << 10),
        (" 128 m ", 128 << 20),
        ("128MB", 128 << 20),
        ("1g", 1 << 30),
        ("1GiB", 1 << 30),
        ("2tib", 2 << 40),
    ],
)
def test_a_size_is_read(text: str, expected: int) -> None:
    assert parse_size(text) == expected
    assert parse_size(short_size(expected)) == expected


@pytest.mark.parametrize("text", ["", "many", "-1", "1.5g", "5ib", "5 x", "5kk", "٣", "1e3"])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="is not a valid size; write 1000, 64KiB"):
        parse_size(text)


@pytest.mark.parametrize(
    ("num_bytes", "shown", "short"),
    [
        (0, "0 B", "0"),
        (1023, "1023 B", "1023"),
        (1024, "1.0 KiB", "1KiB"),
        (32 << 10, "32.0 KiB", "32KiB"),
        (512 << 20, "512.0 MiB", "512MiB"),
        (3 << 60, "3072.0 PiB", "3145728TiB"),
    ],
)
def test_a_size_is_shown(num_bytes: int, shown: str, short: str) -> None:
    assert format_size(num_bytes) == shown
    assert short_size(num_bytes) == short
