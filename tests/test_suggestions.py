"""Suggestions for unknown names: close ones, few of them, and cheaply."""

from __future__ import annotations

import pytest

from pymosaic import suggestions
from pymosaic.suggestions import NameIndex, did_you_mean, quote


@pytest.mark.parametrize(
    ("wanted", "names", "expected"),
    [
        ("colums", ["path", "columns"], " (did you mean 'columns'?)"),
        ("COLUMNS", ["path", "columns"], " (did you mean 'columns'?)"),
        ("bb", ["ab", "bc"], " (did you mean 'ab' or 'bc'?)"),
        ("temp", ["temp_b", "temp_a", "temp_c"], " (did you mean 'temp_a', 'temp_b' or 'temp_c'?)"),
        ("qqq", ["path", "columns"], ""),
        ("qqq", [], ""),
        ("", ["path"], ""),
    ],
)
def test_suggestion(wanted: str, names: list[str], expected: str) -> None:
    assert did_you_mean(wanted, names) == expected


def test_names_may_come_from_any_iterable() -> None:
    assert did_you_mean("colums", {"columns": 1}) == " (did you mean 'columns'?)"
    assert did_you_mean("colums", iter(["columns"])) == " (did you mean 'columns'?)"


def test_of_equally_close_names_exchanged_letters_go_first() -> None:
    assert NameIndex(["tamp", "temp"]).closest("tmep", 1) == ["temp"]


def test_among_100_000_names_few_are_compared_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    rank = suggestions._rank

    def counted(wanted: str, name: str) -> tuple[float, bool, str]:
        compared.append(name)
        return rank(wanted, name)

    monkeypatch.setattr(suggestions, "_rank", counted)
    index = NameIndex([f"sensor_{number:05}" for number in range(100_000)])
    assert index.closest("snesor_54321", 1) == ["sensor_54321"]
    assert 0 < len(compared) <= 100


def test_long_names_are_cut() -> None:
    assert quote("y" * 1000) == repr("y" * 79 + "…")
    assert len(did_you_mean("y" * 1000, ["y" * 1001])) < 120
