"""Long names on narrow screens: what is shared is told once, what differs is always seen."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymosaic.cli.names import Affixes, common_affixes, distinct, first_word
from pymosaic.cli.text import width_of, wrap

LONG = [f"plant_amsterdam_line_{n:04}_last_reported_value" for n in range(30)]


def test_what_all_names_share_ends_at_a_word():
    found = common_affixes(["sensor_01_mean", "sensor_02_mean"])
    assert found == Affixes("sensor_", "_mean")
    assert found.without("sensor_01_mean") == "…01…"
    assert found.without("other") == "other"


@pytest.mark.parametrize("names", [[], ["only_one"], ["a_b", "a_b_c"], ["x", "y"], ["a_b", "a_b"]])
def test_nothing_is_taken_from_names_that_would_vanish(names):
    affixes = common_affixes(names)
    assert all(affixes.without(name).strip("…") for name in names)


def test_neighbours_stay_different_at_any_width():
    for width in range(6, 50):
        shown = distinct(LONG, width)
        assert all(width_of(name) <= width for name in shown)
        assert all(a != b for a, b in pairwise(shown))


@given(st.lists(st.text(min_size=1), min_size=1, max_size=20), st.integers(1, 40))
def test_shortened_names_fit(names, width):
    assert all(width_of(name) <= max(width, 1) for name in distinct(names, width))


@given(st.lists(st.text(alphabet="ab_1é漢", min_size=1), min_size=2, max_size=20))
def test_what_is_left_is_different_wherever_names_are(names):
    affixes = common_affixes(names)
    assert len({affixes.without(name) for name in names}) == len(set(names))


@given(st.text(), st.integers(2, 60))
def test_wrapping_loses_nothing_but_spaces(text, width):
    lines = wrap(text, width)
    assert all(width_of(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_groups_are_named_by_their_first_word():
    assert first_word("battery_cell_007_voltage") == "battery_*"
    assert first_word("line_07_motor", len("line_")) == "line_07_*"
    assert first_word("plain") == "plain"
