"""A few random histories; ``make paimon-histories`` runs hundreds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.paimon.histories import run


@pytest.mark.parametrize("seed", range(8))
def test_both_read_the_same_rows(seed: int, tmp_path: Path) -> None:
    run(seed, 6, tmp_path)
