"""Buckets of local files are read by who decodes them; those of others before."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pymosaic
from pymosaic.file import row_group_reader
from pymosaic.file.reader import opened
from pymosaic.file.row_group_reader import RowGroupReader
from pymosaic.io import open_source
from pymosaic.io.local import LocalSource

ROWS = 400


def table(num_columns: int = 60) -> pa.Table:
    """Names, numbers and nulls that fill more than the end of a file that is read at once."""
    chance = np.random.default_rng(3)
    columns: dict[str, Any] = {}
    for number in range(num_columns):
        values = chance.integers(0, 1 << 60, ROWS)
        columns[f"n{number:03}"] = pa.array(values, mask=chance.random(ROWS) < number % 3 / 3)
        columns[f"s{number:03}"] = pa.array([f"{value:x}" for value in values.tolist()])
    return pa.table(columns)


TABLE = table()
OPTIONS: list[dict[str, Any]] = [
    {"num_buckets": 7},
    {"num_buckets": 40, "row_group_bytes": 200_000, "split_batches": True},
    {"num_buckets": 5, "page_size_threshold": 0},
    {"num_buckets": 5, "compression": "none"},
    {"num_buckets": 7, "checksum": False},
]


@pytest.fixture(scope="module", params=OPTIONS, ids=str)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("files") / "table.mosaic"
    pymosaic.write_table(TABLE, target, **request.param)
    return target


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    columns=st.none() | st.lists(st.sampled_from(TABLE.column_names), unique=True),
    use_threads=st.booleans(),
)
def test_a_local_file_gives_what_its_bytes_give(
    path: Path, columns: list[str] | None, use_threads: bool
) -> None:
    local = pymosaic.MosaicFile(path).read(columns, use_threads=use_threads)
    in_memory = pymosaic.MosaicFile(path.read_bytes()).read(columns, use_threads=use_threads)
    assert local.equals(in_memory)
    assert local.equals(TABLE if columns is None else TABLE.select(columns))
    local.validate(full=True)


def test_a_result_does_not_change_when_other_files_are_read(path: Path) -> None:
    kept = pymosaic.MosaicFile(path).read()
    for _ in range(3):
        pymosaic.MosaicFile(path).read(TABLE.column_names[::7])
    assert kept.equals(TABLE)


def test_many_threads_read_at_once(path: Path) -> None:
    wrong: list[str] = []

    def read(number: int) -> None:
        names = TABLE.column_names[number::8]
        reads = (pymosaic.MosaicFile(path).read(names) for _ in range(5))
        if not all(found.equals(TABLE.select(names)) for found in reads):
            wrong.append(names[0])

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(row_group_reader._free_memory) <= pa.cpu_count()


def test_memory_that_is_in_use_is_not_lent_again() -> None:
    lend, take_back = row_group_reader._borrow_memory, row_group_reader._return_memory
    row_group_reader._free_memory.clear()
    outer, inner = lend(), lend()
    assert outer is not inner
    take_back(inner)
    assert lend() is inner


def test_memory_of_a_failed_run_is_not_used_again(path: Path) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with pymosaic.MosaicFile(path) as file:
        reader = RowGroupReader(opened(file), 0, use_threads=False)
        memory = row_group_reader._borrow_memory()
        row_group_reader._free_memory[:] = [memory]
        with pytest.raises(ZeroDivisionError):
            reader.visit(np.arange(2), fail)
        assert not row_group_reader._free_memory
        reader.visit(np.arange(2), lambda *_: None)
        assert memory not in row_group_reader._free_memory


def test_a_file_that_shrinks_while_it_is_open_raises(tmp_path: Path) -> None:
    target = tmp_path / "table.mosaic"
    pymosaic.write_table(TABLE, target, num_buckets=7)
    with pymosaic.MosaicFile(target) as file:
        os.truncate(target, 1000)
        with pytest.raises(pymosaic.CorruptFileError, match="file ended at byte"):
            file.read()


def test_a_damaged_bucket_is_named(tmp_path: Path) -> None:
    target = tmp_path / "table.mosaic"
    pymosaic.write_table(TABLE, target, num_buckets=7)
    data = bytearray(target.read_bytes())
    data[5000] ^= 0xFF
    target.write_bytes(data)
    with pytest.raises(pymosaic.CorruptFileError, match="bucket 0") as caught:
        pymosaic.MosaicFile(target).read()
    assert caught.value.path == str(target)


class TestReadInto:
    @pytest.fixture
    def source(self, tmp_path: Path) -> Any:
        target = tmp_path / "digits"
        target.write_bytes(b"0123456789")
        return open_source(target)

    def test_it_fills_the_buffer(self, source: LocalSource) -> None:
        buffer = bytearray(4)
        source.read_into(3, memoryview(buffer))
        assert buffer == b"3456"

    def test_short_reads_are_continued(
        self, source: LocalSource, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        preadv = os.preadv
        monkeypatch.setattr(
            os, "preadv", lambda number, views, offset: preadv(number, [views[0][:2]], offset)
        )
        buffer = bytearray(5)
        source.read_into(2, memoryview(buffer))
        assert buffer == b"23456"

    def test_it_stays_inside_the_file(self, source: LocalSource) -> None:
        with pytest.raises(pymosaic.CorruptFileError, match="not inside"):
            source.read_into(8, memoryview(bytearray(3)))

    def test_a_closed_source_is_not_read(self, source: LocalSource) -> None:
        source.close()
        with pytest.raises(ValueError, match="closed"):
            source.read_into(0, memoryview(bytearray(3)))

    def test_sources_in_memory_can_do_it_too(self) -> None:
        buffer = bytearray(2)
        open_source(b"0123").read_into(1, memoryview(buffer))
        assert buffer == b"12"
