"""Batches for training: every row once, in whatever order, by whomever, and resumed anywhere."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pymosaic
from pymosaic import DatasetError, InvalidDataError, InvalidOptionError, LimitExceededError, Limits
from pymosaic.interop.training import Shard, WideBatches, _turns
from pymosaic.testing import pieces

SHUFFLES = [None, "row-groups", "rows"]


def write_rows(base: Path, sizes: list[list[int]]) -> int:
    """Files with row groups of these sizes; rows are numbered through."""
    base.mkdir(exist_ok=True)
    start = 0
    schema = pa.schema([("n", pa.int64()), ("half", pa.float64()), ("odd", pa.bool_())])
    for number, groups in enumerate(sizes):
        with pymosaic.MosaicWriter(
            base / f"{number}.mosaic", schema, row_group_bytes=1, statistics=["n"]
        ) as writer:
            for size in groups:
                rows = np.arange(start, start + size)
                start += size
                writer.write(pa.table([rows, rows / 2, rows % 2 == 1], schema=schema))
    return start


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    base = tmp_path_factory.mktemp("rows") / "data"
    assert write_rows(base, [[7, 1, 12], [30], [2, 2]]) == 54
    return base


def numbers(batches: Any) -> list[list[float]]:
    return [features[:, 0].tolist() for features, _ in batches]


def opened(base: Path, **options: Any) -> WideBatches:
    return WideBatches(base, features=["n", "half"], label="odd", **options)


@settings(deadline=None)
@given(
    shuffle=st.sampled_from(SHUFFLES),
    num_ranks=st.integers(1, 4),
    num_workers=st.integers(1, 4),
    batch_size=st.integers(1, 60),
    epoch=st.integers(0, 3),
    bound=st.integers(0, 60),
)
def test_every_row_is_in_one_batch_of_one_process(
    base, shuffle, num_ranks, num_workers, batch_size, epoch, bound
):
    found: list[float] = []
    sizes = []
    for rank in range(num_ranks):
        rows = opened(
            base,
            batch_size=batch_size,
            shuffle=shuffle,
            seed=3,
            filters=[("n", "<", bound)],
            rank=rank,
            num_ranks=num_ranks,
        )
        rows.set_epoch(epoch)
        for worker in range(num_workers):
            shard = Shard(rank, num_ranks, worker, num_workers)
            batches = list(rows.batches(shard))
            assert all(len(features) == batch_size for features, _ in batches[:-1])
            for features, labels in batches:
                np.testing.assert_array_equal(features[:, 1], features[:, 0] / 2)
                np.testing.assert_array_equal(labels, features[:, 0] % 2)
                found += features[:, 0].tolist()
            sizes.append(sum(len(features) for features, _ in batches))
    assert sorted(found) == list(range(min(bound, 54)))
    assert max(sizes) - min(sizes) <= 1
    if shuffle is None:
        assert found == sorted(found)


@settings(deadline=None)
@given(
    shuffle=st.sampled_from(SHUFFLES),
    num_workers=st.integers(1, 5),
    batch_size=st.integers(1, 20),
    step=st.integers(0, 60),
    drop_last=st.booleans(),
)
def test_what_follows_a_step_is_the_same_after_a_resumption(
    base, shuffle, num_workers, batch_size, step, drop_last
):
    def loaded(rows: WideBatches) -> list[list[float]]:
        """As torch's DataLoader does it: workers take turns, without those that have ended."""
        waiting = [rows.batches(Shard(0, 1, worker, num_workers)) for worker in range(num_workers)]
        found = []
        while waiting:
            for batches in list(waiting):
                batch = next(batches, None)
                if batch is None:
                    waiting.remove(batches)
                else:
                    found.append(batch[0][:, 0].tolist())
        return found

    options: Any = {"batch_size": batch_size, "shuffle": shuffle, "drop_last": drop_last}
    rows = opened(base, **options)
    rows.set_epoch(2)
    everything = loaded(rows)
    resumed = pickle.loads(pickle.dumps(opened(base, **options)))
    resumed.load_state_dict(rows.state_dict(step))
    step = min(step, len(everything))
    assert loaded(resumed) == everything[step:]
    if drop_last:
        assert {len(batch) for batch in everything} <= {batch_size}


def test_the_state_counts_batches_that_were_given(base):
    rows = opened(base, batch_size=10, shuffle="rows", seed=1)
    iterator = iter(rows)
    first = [next(iterator)[0][:, 0].tolist() for _ in range(2)]
    state = rows.state_dict()
    assert state["step"] == 2
    rest = numbers(iterator)
    again = opened(base, batch_size=10, shuffle="rows", seed=1)
    again.load_state_dict(state)
    assert numbers(again) == rest
    assert len(first) + len(rest) == len(rows) == 6


@pytest.mark.parametrize(
    ("changed", "now"),
    [
        ({"batch_size": 9}, "batch_size 10, which is now 9"),
        ({"seed": 2}, "seed 1, which is now 2"),
        ({"shuffle": "row-groups"}, "shuffle 2, which is now 1"),
        ({"drop_last": True}, "drop_last 0, which is now 1"),
        ({"num_ranks": 2}, "num_ranks 1, which is now 2"),
    ],
    ids=lambda changed: next(iter(changed)) if isinstance(changed, dict) else "",
)
def test_a_state_of_another_order_is_refused(base, changed, now):
    options = {"batch_size": 10, "shuffle": "rows", "seed": 1}
    state = opened(base, **options).state_dict()
    with pytest.raises(InvalidOptionError, match=f"taken with {now}"):
        opened(base, **options | changed).load_state_dict(state)


def test_epochs_and_seeds_change_the_order(base):
    for shuffle in SHUFFLES[1:]:
        orders = set()
        for seed in (0, 1):
            rows = opened(base, shuffle=shuffle, seed=seed)
            for epoch in (0, 1):
                rows.set_epoch(epoch)
                (order,) = numbers(rows)
                assert numbers(rows) == [order]
                orders.add(tuple(order))
        assert len(orders) == 4


def test_with_drop_last_all_processes_give_as_many_batches(base):
    for num_ranks in (1, 2, 3, 4, 5):
        counts = set()
        for rank in range(num_ranks):
            rows = opened(base, batch_size=5, drop_last=True, rank=rank, num_ranks=num_ranks)
            counts.add(len(list(rows)))
            assert len(rows) == len(list(rows))
        assert len(counts) == 1


def test_features_and_labels_are_chosen(base):
    rows = WideBatches(base, label=["odd", "half"], batch_size=54, dtype="float64")
    ((features, labels),) = rows
    assert rows.feature_names == ["n"]
    assert features.dtype == labels.dtype == np.float64
    assert labels.tolist() == [[n % 2, n / 2] for n in range(54)]
    (matrix,) = WideBatches(base, features=["h*", "n"], batch_size=54)
    assert isinstance(matrix, np.ndarray)
    assert matrix[3].tolist() == [1.5, 3]
    assert matrix.flags.c_contiguous


def test_labels_may_be_patterns_but_a_vector_is_one_column(tmp_path):
    table = pa.table({"x": [1.0], "y1": [2.0], "y2": [3.0]})
    pymosaic.write_table(table, tmp_path / "x.mosaic")
    batches = WideBatches(tmp_path / "x.mosaic", label=["y*", "y2"])
    assert batches.feature_names == ["x"]
    assert batches.label_names == ["y1", "y2"]
    assert [(a.tolist(), b.tolist()) for a, b in batches] == [([[1]], [[2, 3]])]
    with pytest.raises(InvalidOptionError, match=r"label 'y\*' matches 2 columns"):
        WideBatches(tmp_path / "x.mosaic", label="y*")
    with pytest.raises(InvalidOptionError, match="column 'y1' is both a feature and a label"):
        WideBatches(tmp_path / "x.mosaic", features=["y1"], label=["y*"])


@pytest.mark.parametrize("shuffle", [None, "rows", "row-groups"])
@pytest.mark.parametrize("features", [["late"], ["day"], []])
def test_rows_of_which_nothing_is_read_come_once(features, shuffle, tmp_path):
    """Row groups weigh nothing if the file lacks all columns, or they come from directories."""
    (tmp_path / "day=1").mkdir()
    first = tmp_path / "day=1" / "a.mosaic"
    with pymosaic.MosaicWriter(first, pa.schema({"x": pa.int64()}), row_group_bytes=1) as writer:
        for start in range(0, 6, 2):
            writer.write(pa.table({"x": [start, start + 1]}))
    (tmp_path / "day=2").mkdir()
    pymosaic.write_table(pa.table({"x": [7], "late": [8]}), tmp_path / "day=2" / "b.mosaic")
    batches = WideBatches(tmp_path, features=features, shuffle=shuffle, batch_size=4)
    assert [len(batch) for batch in batches] == [4, 3]


@pytest.mark.parametrize("shuffle", [None, "rows", "row-groups"])
def test_rows_that_are_skipped_are_not_made_up(shuffle, tmp_path):
    for number in range(3):
        numbers = np.arange(4.0) + 10 * number
        pymosaic.write_table(pa.table({"x": numbers}), tmp_path / f"{number}.mosaic")
    path = tmp_path / "1.mosaic"
    damaged = bytearray(path.read_bytes())
    damaged[2] ^= 0xFF
    path.write_bytes(damaged)
    source = pymosaic.dataset(tmp_path, on_error="skip")
    with pytest.warns(UserWarning, match="skipped a row group"):
        found = list(WideBatches(source, shuffle=shuffle, batch_size=5))
    assert sorted(np.concatenate(found)[:, 0].tolist()) == [0, 1, 2, 3, 20, 21, 22, 23]


@pytest.mark.parametrize("claimed", [3, 5])
@pytest.mark.parametrize("shuffle", [None, "rows"])
def test_a_file_with_another_number_of_rows_is_refused(shuffle, claimed, tmp_path):
    pymosaic.write_table(pa.table({"x": [1.0, 2, 3, 4]}), tmp_path / "x.mosaic")
    batches = WideBatches(tmp_path / "x.mosaic", shuffle=shuffle)
    (piece,) = batches._pieces
    batches._pieces = (replace(piece, num_rows=claimed),)
    with pytest.raises(DatasetError, match="has changed since the scan was planned"):
        list(batches)


def test_a_share_reads_no_row_groups_of_others(base, reads):
    rows = opened(base, rank=2, num_ranks=3)
    reads.clear()
    list(rows)
    assert reads.files == {"1.mosaic", "2.mosaic"}


def test_batches_do_not_change_when_the_next_are_read(base):
    batches = list(opened(base, batch_size=4))
    assert [row for features, _ in batches for row in features[:, 0]] == list(range(54))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size must be an int of at least 1, got 0"),
        ({"shuffle": "all"}, "shuffle must be 'row-groups' or 'rows', got 'all'"),
        ({"rank": 2, "num_ranks": 2}, "rank must be less than num_ranks, got 2 of 2"),
        ({"nulls": "mask"}, "nulls='mask' is not possible in batches"),
        ({"features": ["n", "odd"]}, "column 'odd' is both a feature and a label"),
        ({"seed": -1}, "seed must be"),
        ({"batchsize": 3}, "did you mean 'batch_size'"),
    ],
)
def test_wrong_options_are_told(base, options, message):
    with pytest.raises(InvalidOptionError, match=message):
        WideBatches(base, **{"label": "odd", **options})


def test_text_is_refused_by_name_before_anything_is_read(tmp_path):
    pymosaic.write_table(pa.table({"x": [1], "city": ["Rome"]}), tmp_path / "t.mosaic")
    with pytest.raises(InvalidDataError, match="column 'city' of type string"):
        WideBatches(tmp_path / "t.mosaic")


@settings(deadline=None)
@given(counts=st.lists(st.integers(0, 7), min_size=1, max_size=5), step=st.integers(0, 40))
def test_workers_take_turns(counts, step):
    given_so_far = [0] * len(counts)
    turns = [
        place for turn in range(max(counts)) for place, count in enumerate(counts) if turn < count
    ]
    for place in turns[:step]:
        given_so_far[place] += 1
    found, turn = _turns(step, counts)
    assert found == given_so_far
    # A worker that has ended is passed over.
    around = [(turn + place) % len(counts) for place in range(len(counts))]
    active = [place for place in around if found[place] < counts[place]]
    assert active[:1] == turns[step : step + 1]


def claiming(path: Path, num_rows: int, num_row_groups: int = 1) -> Path:
    """A file whose index claims rows, all of them null, for which no data vouches."""
    content = pieces.schema(("a", pieces.INTEGER))
    index = pieces.row_group(num_rows) * num_row_groups
    path.write_bytes(pieces.forge(b"", content, index, num_row_groups=num_row_groups))
    return path


@pytest.fixture
def no_large_arrays(monkeypatch) -> None:
    """Permutations of more than a million rows fail the test instead of taking memory."""
    make = np.random.default_rng

    class Random:
        def __init__(self, seed: Any) -> None:
            self._random = make(seed)

        def permutation(self, count: int) -> Any:
            assert count <= 1_000_000
            return self._random.permutation(count)

    monkeypatch.setattr(np.random, "default_rng", Random)


@pytest.mark.usefixtures("no_large_arrays")
@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_row_group_that_claims_too_many_rows_takes_no_memory(shuffle, tmp_path):
    path = claiming(tmp_path / "claims.mosaic", (1 << 32) - 1)
    with pytest.raises(LimitExceededError, match=r"claims\.mosaic.*max_row_group_bytes"):
        next(iter(WideBatches(path, shuffle=shuffle)))


@pytest.mark.usefixtures("no_large_arrays")
def test_row_groups_that_claim_too_many_rows_together_take_no_memory(tmp_path):
    path = claiming(tmp_path / "claims.mosaic", 1 << 20, 100)
    source = pymosaic.dataset(path, limits=Limits(max_table_bytes=64 << 20))
    with pytest.raises(LimitExceededError, match=r"in random order.*max_table_bytes"):
        next(iter(WideBatches(source, shuffle="rows")))


def test_places_of_rows_are_made_when_their_row_group_is_read(base, monkeypatch):
    made: list[int] = []

    def places(count: int, start: int, stop: int, seed: Any) -> Any:
        made.append(count)
        return np.random.default_rng(seed).permutation(count)[start:stop]

    monkeypatch.setattr("pymosaic.interop.training._places", places)
    batches = iter(opened(base, shuffle="row-groups", batch_size=1, use_threads=False))
    next(batches)
    assert len(made) < 6
    assert len(list(batches)) == 53
    assert sorted(made) == [1, 2, 2, 7, 12, 30]


def test_a_batch_size_above_all_rows_takes_memory_for_the_rows(base):
    [(features, _)] = list(opened(base, batch_size=1 << 40))
    assert features.shape == (54, 2)
