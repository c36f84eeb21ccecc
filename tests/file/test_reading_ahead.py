"""Batches of a file: the next row group is read while the caller works on one."""

from __future__ import annotations

import gc
import io
import threading

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.file.row_group_reader import RowGroupReader

ROWS = 6


@pytest.fixture
def file() -> pymosaic.MosaicFile:
    target = io.BytesIO()
    pymosaic.write_table(pa.table({"n": range(ROWS)}), target, row_group_rows=1)
    return pymosaic.MosaicFile(target.getvalue())


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The row groups whose reading has begun."""
    numbers: list[int] = []
    original = RowGroupReader.read

    def read(self, *arguments, **options):
        numbers.append(self._row_group)
        return original(self, *arguments, **options)

    monkeypatch.setattr(RowGroupReader, "read", read)
    return numbers


def wait_until_idle() -> None:
    """Wait for what is read ahead: its pool works in order."""
    from pymosaic.threads import read_ahead

    barrier = threading.Barrier(2)
    list(read_ahead(lambda _: barrier.wait(30), [(0, 1), (1, 1)], 2, 2))


def test_the_next_row_group_is_read_while_the_caller_works(file, begun) -> None:
    batches = file.iter_batches()
    assert next(batches)["n"].to_pylist() == [0]
    wait_until_idle()
    assert begun == [0], "who wants one batch reads one row group"
    assert next(batches)["n"].to_pylist() == [1]
    wait_until_idle()
    assert sorted(begun) == [0, 1, 2]
    assert next(batches)["n"].to_pylist() == [2]
    wait_until_idle()
    assert sorted(begun) == [0, 1, 2, 3], "no more than one ahead"


def test_without_threads_nothing_is_read_ahead(file, begun) -> None:
    batches = file.iter_batches(use_threads=False)
    for number in range(3):
        assert next(batches)["n"].to_pylist() == [number]
        assert begun == list(range(number + 1))


@pytest.mark.parametrize("use_threads", [True, False])
def test_batches_come_in_order_whatever_is_chosen(file, use_threads) -> None:
    def numbers(**options) -> list[int]:
        batches = file.iter_batches(use_threads=use_threads, **options)
        return [number for batch in batches for number in batch["n"].to_pylist()]

    assert numbers() == list(range(ROWS))
    assert numbers(row_groups=[4, 0, 4]) == [4, 0, 4]
    assert numbers(filters="n > 1 and n != 3") == [2, 4, 5]
    assert numbers(filters="n > 9") == []
    assert numbers(row_groups=[]) == []


def test_an_error_comes_after_the_batches_before_it(file, monkeypatch) -> None:
    original = RowGroupReader.read

    def read(self, *arguments, **options):
        if self._row_group == 3:
            raise pymosaic.CorruptFileError("damaged")
        return original(self, *arguments, **options)

    monkeypatch.setattr(RowGroupReader, "read", read)
    batches = file.iter_batches()
    assert [next(batches)["n"].to_pylist() for _ in range(3)] == [[0], [1], [2]]
    with pytest.raises(pymosaic.CorruptFileError, match="damaged"):
        next(batches)


@pytest.mark.parametrize("leave", ["close", "drop"])
def test_who_leaves_early_leaves_nothing_running(file, begun, leave) -> None:
    batches = file.iter_batches()
    next(batches)
    next(batches)
    if leave == "close":
        batches.close()
    else:
        del batches
        gc.collect()
    known = list(begun)
    wait_until_idle()
    assert begun == known
    assert set(begun) <= {0, 1, 2}


def test_a_file_that_is_closed_gives_what_was_read_and_then_an_error(tmp_path) -> None:
    pymosaic.write_table(
        pa.table({"n": range(ROWS), "text": ["x" * 200_000] * ROWS}),
        tmp_path / "n.mosaic",
        row_group_rows=1,
        compression="none",
        max_dict_entries=0,
    )
    with pymosaic.MosaicFile(tmp_path / "n.mosaic") as file:
        batches = file.iter_batches()
        next(batches)
        next(batches)
        wait_until_idle()
    assert next(batches)["n"].to_pylist() == [2]
    with pytest.raises(pymosaic.ClosedError):
        list(batches)
