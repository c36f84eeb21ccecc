"""A few killed writers, and pairs of writers; ``make paimon-kills`` runs a hundred."""

from __future__ import annotations

from pathlib import Path

from tests.paimon.killing import kill, write_at_once


def test_a_killed_writer_leaves_a_whole_snapshot(tmp_path: Path) -> None:
    assert kill(4, 1, tmp_path, seconds=0.6).total() == 4


def test_two_writers_lose_nothing_that_was_committed(tmp_path: Path) -> None:
    ended = write_at_once(1, tmp_path)
    # Rows that are appended conflict with nothing.
    assert ended["append: end"] == 12
    assert ended["append: conflict"] == 0
