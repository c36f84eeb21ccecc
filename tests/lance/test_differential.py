"""300 random columns both ways: what either implementation writes, both read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lance.differential import check_own_file, check_peer_file
from tests.lance.random_columns import random_case

CASES, AT_ONCE = 300, 20


@pytest.mark.parametrize("first_seed", range(0, CASES, AT_ONCE))
def test_random_columns_are_read_equal_by_both(first_seed: int, tmp_path: Path) -> None:
    by_pylance = 0
    for seed in range(first_seed, first_seed + AT_ONCE):
        case = random_case(seed)
        check_own_file(case, tmp_path / "own.lance")
        by_pylance += check_peer_file(case, tmp_path / "peer.lance")
    assert by_pylance > AT_ONCE // 2
