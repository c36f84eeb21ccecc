"""Reading from what fails: short reads, I/O errors, files that change while they are open."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.io import Source, local
from tests.descriptors import open_descriptors
from tests.faults.injection import FaultyModule, disk_error, has_open, make_table
from tests.writing import write

TABLE = make_table(1)
# Several row groups of several buckets, paged and monolithic, and hardly anything in the tail.
OPTIONS = {"num_buckets": 6, "page_size_threshold": 900}
DATA = write(
    [TABLE.slice(start, 100).combine_chunks().to_batches()[0] for start in range(0, 500, 100)],
    TABLE.schema,
    row_group_bytes=1,
    **OPTIONS,
)
COLUMNS = ["column_000", "column_011", "column_023"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "data.mosaic"
    path.write_bytes(DATA)
    return path


@pytest.fixture(autouse=True)
def _many_small_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Source, "tail_bytes", 64)
    monkeypatch.setattr(Source, "merge_gap", 0)


def read_all(source: object) -> pa.Table:
    return pymosaic.read_table(source)


def read_some(source: object) -> pa.Table:
    return pymosaic.read_table(source, columns=COLUMNS)


def read_filtered(source: object) -> pa.Table:
    filters = [("column_004", ">=", 0)]
    return pymosaic.read_table(source, columns=COLUMNS, filters=filters)


READERS = [read_all, read_some, read_filtered]


@pytest.mark.parametrize("error", [disk_error(), KeyboardInterrupt()], ids=["EIO", "interrupt"])
@pytest.mark.parametrize("read", READERS)
def test_a_fault_at_any_call_comes_through_and_leaves_nothing_open(
    path: Path,
    read: Callable[[object], pa.Table],
    error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("stat", "open", "fstat", "pread", "preadv")
    expected = read(DATA)
    counting = FaultyModule(os, names)
    monkeypatch.setattr(local, "os", counting)
    assert read(path).equals(expected)
    assert counting.calls[:3] == ["stat", "open", "fstat"]
    assert len(counting.calls) > 8
    before = open_descriptors()
    for failing in range(len(counting.calls)):
        monkeypatch.setattr(local, "os", FaultyModule(os, names, failing, error))
        with pytest.raises(type(error)) as caught:
            read(path)
        assert caught.value is error
        error.__traceback__ = None  # its frames hold what was open
        del caught
        assert has_open(before), f"call {failing}: {counting.calls[failing]}"
    monkeypatch.setattr(local, "os", os)
    assert read(path).equals(expected)


def test_a_file_goes_on_after_a_fault(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pymosaic.MosaicFile(path) as file:
        for failing in range(5):
            faulty = FaultyModule(os, ("pread", "preadv"), failing, disk_error())
            monkeypatch.setattr(local, "os", faulty)
            with pytest.raises(OSError, match="Input/output error"):
                file.read(COLUMNS)
            monkeypatch.setattr(local, "os", os)
            assert file.read(COLUMNS).equals(TABLE.select(COLUMNS))


@pytest.mark.parametrize("at_most", [1, 3, 1000])
def test_short_reads_are_continued(
    path: Path, at_most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Short:
        def __getattr__(self, name: str) -> object:
            return getattr(os, name)

        def pread(self, descriptor: int, length: int, offset: int) -> bytes:
            return os.pread(descriptor, min(length, at_most), offset)

        def preadv(self, descriptor: int, buffers: list[memoryview], offset: int) -> int:
            return os.preadv(descriptor, [buffers[0][:at_most]], offset)

    monkeypatch.setattr(local, "os", Short())
    assert read_all(path).equals(TABLE)


class FaultyFile(io.BytesIO):
    """A file object whose n-th read fails."""

    def __init__(self, failing: int) -> None:
        super().__init__(DATA)
        self.failing = failing
        self.reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        if self.reads == self.failing:
            raise disk_error()
        return super().read(size)


def test_a_fault_of_a_file_object_comes_through_at_any_read() -> None:
    whole = FaultyFile(0)
    assert read_all(whole).equals(TABLE)
    for failing in range(1, whole.reads + 1):
        file = FaultyFile(failing)
        with pytest.raises(OSError, match="Input/output error"):
            read_all(file)
        assert read_all(file).equals(TABLE)  # only once, as disks do


class RemoteSource(Source):
    """Reads in parallel, as object stores are read; the n-th read fails."""

    parallel_reads = 4

    def __init__(self, failing: int, error: BaseException) -> None:
        super().__init__("remote", len(DATA))
        self.failing = failing
        self.error = error
        self.reads: list[int] = []

    def _read_once(self, offset: int, length: int) -> bytes:
        self.reads.append(offset)
        if len(self.reads) == self.failing:
            raise self.error
        return DATA[offset : offset + length]


@pytest.mark.parametrize("error", [disk_error(), KeyboardInterrupt()], ids=["EIO", "interrupt"])
def test_a_fault_of_one_of_several_reads_at_once_comes_through(error: BaseException) -> None:
    whole = RemoteSource(0, error)
    assert read_some(whole).equals(TABLE.select(COLUMNS))
    assert len(whole.reads) > 8
    for failing in range(1, len(whole.reads) + 1):
        source = RemoteSource(failing, error)
        with pytest.raises(type(error)) as caught:
            read_some(source)
        assert caught.value is error


def test_a_file_that_shrinks_is_an_error_or_was_read_before(path: Path) -> None:
    """Whatever is left of it: nothing but the data that was there, or an error with the place."""
    expected = TABLE.select(COLUMNS)
    refused = 0
    for length in [*range(0, len(DATA), max(1, len(DATA) // 40)), len(DATA) - 1]:
        path.write_bytes(DATA)
        with pymosaic.MosaicFile(path) as file:
            os.truncate(path, length)
            try:
                table = file.read(COLUMNS)
            except pymosaic.CorruptFileError as error:
                assert error.path == str(path)  # noqa: PT017
                refused += 1
            else:
                assert table.equals(expected)
    assert refused > 30


def test_a_file_that_shrinks_between_row_groups_gives_what_came_before(path: Path) -> None:
    with pymosaic.MosaicFile(path) as file:
        batches = file.iter_batches()
        first = next(batches)
        os.truncate(path, 0)
        with pytest.raises(pymosaic.CorruptFileError):
            next(batches)
    assert first.equals(TABLE.slice(0, 100).combine_chunks().to_batches()[0])


@pytest.mark.parametrize("replace", ["rename", "write", "delete"])
def test_a_file_that_is_replaced_while_open_is_read_as_it_was(path: Path, replace: str) -> None:
    other = make_table(2)
    with pymosaic.MosaicFile(path) as file:
        if replace == "rename":
            pymosaic.write_table(other, path.with_name("other"))
            os.replace(path.with_name("other"), path)
        elif replace == "write":
            pymosaic.write_table(other, path)
        else:
            path.unlink()
        assert file.read().equals(TABLE)
    if replace != "delete":
        assert pymosaic.read_table(path).equals(other)


def test_a_file_that_is_overwritten_in_place_never_gives_a_mixture(path: Path) -> None:
    """Checksums tell: the other file has the same structure and the same size of everything."""
    other = DATA[: len(DATA) // 2]
    garbled = bytes(byte ^ 0x55 for byte in other)
    for length in range(1, len(garbled), max(1, len(garbled) // 30)):
        path.write_bytes(DATA)
        with pymosaic.MosaicFile(path) as file:
            with path.open("r+b") as writing:
                writing.write(garbled[:length])
            with pytest.raises(pymosaic.CorruptFileError):
                file.read()


def test_no_more_descriptors_is_the_systems_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    monkeypatch.setattr(local, "os", FaultyModule(os, ("open",), 0, error))
    with pytest.raises(OSError, match="Too many open files"):
        read_all(path)
