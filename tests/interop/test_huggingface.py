"""Hugging Face datasets: shards, push-down, workers, resumption."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from datasets import Features, IterableDataset, Value
from datasets.distributed import split_dataset_by_node
from torch.utils.data import DataLoader

import pymosaic
from pymosaic import ColumnNotFoundError, InvalidOptionError
from tests.datasets.building import bucket_range, write_row_groups


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Four files of two row groups of five rows each."""
    for number in range(4):
        batches = [
            {"n": np.arange(start, start + 5), "text": ["a", None, "c", "d", "e"]}
            for start in (10 * number, 10 * number + 5)
        ]
        write_row_groups(tmp_path / "data" / f"{number}.mosaic", batches, statistics=["n"])
    return tmp_path / "data"


def test_rows_come_in_order_with_their_features(base):
    rows = pymosaic.to_hf(base, max_part_bytes=1)
    assert isinstance(rows, IterableDataset)
    assert rows.num_shards == 8
    assert rows.features == Features({"n": Value("int64"), "text": Value("string")})
    assert list(rows) == pymosaic.read_table(base).to_pylist()


def test_row_groups_that_the_filter_rules_out_are_no_shards(base):
    rows = pymosaic.to_hf(base, filters="n >= 33", columns=["n"], max_part_bytes=1)
    assert rows.num_shards == 2
    assert [row["n"] for row in rows] == list(range(33, 40))


def test_only_the_chosen_columns_are_read(tmp_path, reads):
    noise = np.random.default_rng(0).normal(size=(3, 40_000))
    path = tmp_path / "rows.mosaic"
    pymosaic.write_table(pa.table(dict(zip("abc", noise, strict=True))), path, num_buckets=3)
    rows = pymosaic.to_hf(path, columns=["b"])
    reads.clear()
    (batch,) = rows.with_format("arrow").iter(batch_size=40_000)
    assert batch["b"].to_numpy().tolist() == noise[1].tolist()
    assert bucket_range(path, "b") in reads.ranges
    assert not {bucket_range(path, "a"), bucket_range(path, "c")} & set(reads.ranges)


def test_nothing_is_read_until_rows_are_asked_for(base, reads):
    rows = pymosaic.to_hf(base, max_part_bytes=1)
    reads.clear()
    assert next(iter(rows))["n"] == 0
    assert reads.files == {"0.mosaic"}


@pytest.mark.parametrize("filters", ["n > 1000", None])
def test_no_rows_are_no_rows(filters, tmp_path):
    numbers = pa.array([1] if filters else [], pa.int64())
    pymosaic.write_table(pa.table({"n": numbers}), tmp_path / "none.mosaic")
    rows = pymosaic.to_hf(tmp_path / "none.mosaic", filters=filters)
    assert list(rows) == []
    assert list(rows.features) == ["n"]


def test_workers_of_a_loader_have_every_row_once(base):
    rows = pymosaic.to_hf(base, columns=["n"], max_part_bytes=1).with_format("torch")
    loader = DataLoader(rows, batch_size=3, num_workers=2)
    assert sorted(int(n) for batch in loader for n in batch["n"]) == list(range(40))


def test_nodes_have_every_row_once_and_shuffled(base):
    rows = pymosaic.to_hf(base, columns=["n"], max_part_bytes=1).shuffle(seed=3, buffer_size=4)
    parts = [[row["n"] for row in split_dataset_by_node(rows, node, 2)] for node in range(2)]
    assert sorted(parts[0] + parts[1]) == list(range(40))
    assert [len(part) for part in parts] == [20, 20]
    assert parts[0] + parts[1] != list(range(40))


def test_a_state_goes_on_where_it_was_taken(base):
    rows = pymosaic.to_hf(base, columns=["n"], max_part_bytes=1)
    iterator = iter(rows)
    first = [next(iterator)["n"] for _ in range(13)]
    state = rows.state_dict()
    again = pymosaic.to_hf(base, columns=["n"], max_part_bytes=1)
    again.load_state_dict(state)
    assert first + [row["n"] for row in again] == list(range(40))


def test_ten_thousand_columns_are_batches(tmp_path):
    names = [f"c{place:05d}" for place in range(10_000)]
    pymosaic.write_table(pa.table({name: [1.0, 2.0] for name in names}), tmp_path / "w.mosaic")
    rows = pymosaic.to_hf(tmp_path / "w.mosaic")
    (batch,) = rows.with_format("arrow").iter(batch_size=2)
    assert batch.num_columns == len(rows.features) == 10_000


def test_wrong_options_are_told(base):
    with pytest.raises(InvalidOptionError, match="max_part_bytes must be an int of at least 1"):
        pymosaic.to_hf(base, max_part_bytes=0)
    with pytest.raises(ColumnNotFoundError, match="'label'"):
        pymosaic.to_hf(base, columns=["label"])
