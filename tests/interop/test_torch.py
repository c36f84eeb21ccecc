"""Tensors from datasets: workers of torch's loader and ranks share the rows out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from pymosaic.torch import WideDataset
from tests.interop.test_training import write_rows


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    base = tmp_path_factory.mktemp("rows") / "data"
    assert write_rows(base, [[7, 1, 12], [30], [2, 2]]) == 54
    return base


def loaded(base: Path, num_workers: int = 0, state: Any = None, **options: Any) -> list[Any]:
    rows = WideDataset(base, features=["n"], label="odd", batch_size=5, **options)
    if state is not None:
        rows.load_state_dict(state)
    loader = DataLoader(rows, batch_size=None, num_workers=num_workers)
    return [(features[:, 0].tolist(), labels.tolist()) for features, labels in loader]


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("shuffle", [None, "row-groups", "rows"])
def test_ranks_and_workers_have_every_row_once(base, num_workers, shuffle):
    found = []
    for rank in range(2):
        batches = loaded(base, num_workers, shuffle=shuffle, rank=rank, num_ranks=2)
        for numbers, labels in batches:
            assert labels == [number % 2 for number in numbers]
            found += numbers
    assert sorted(found) == list(range(54))


def test_a_loader_goes_on_at_a_step(base):
    everything = loaded(base, 2, shuffle="row-groups", seed=4)
    state = WideDataset(
        base, features=["n"], label="odd", batch_size=5, shuffle="row-groups", seed=4
    ).state_dict(step=3)
    assert loaded(base, 2, state, shuffle="row-groups", seed=4) == everything[3:]


def test_tensors_have_one_type(base):
    rows = WideDataset(base, label="odd", dtype="float64")
    assert rows.feature_names == ["n", "half"]
    ((features, labels),) = rows
    assert features.dtype == labels.dtype == torch.float64
    (matrix,) = WideDataset(base)
    assert matrix.dtype == torch.float32
    assert matrix.shape == (54, 3)
    assert matrix.is_contiguous()
