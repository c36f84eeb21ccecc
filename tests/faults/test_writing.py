"""Writing to what fails: the target is the old file or the new one, whole, and nothing is left."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.io import local
from tests.descriptors import open_descriptors
from tests.faults.injection import (
    FaultyModule,
    disk_error,
    has_open,
    make_table,
    temporaries,
    version_of,
)

OLD, NEW = make_table(1), make_table(2)
CALLS = ("stat", "access", "open", "fchown", "fchmod", "write", "fsync", "replace")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target.mosaic"
    pymosaic.write_table(OLD, path)
    return path


@pytest.fixture(autouse=True)
def _small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_BUFFER_BYTES", 4 << 10)


def batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    for start in range(0, table.num_rows, 100):
        yield from table.slice(start, 100).combine_chunks().to_batches()


def write(table: pa.Table, where: object) -> None:
    with pymosaic.MosaicWriter(where, table.schema, row_group_bytes=1, num_buckets=5) as writer:  # type: ignore[arg-type]
        for batch in batches(table):
            writer.write(batch)


def count_calls(target: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    counting = FaultyModule(os, CALLS)
    monkeypatch.setattr(local, "os", counting)
    write(NEW, target)
    monkeypatch.setattr(local, "os", os)
    calls = counting.calls
    assert calls.count("write") > 5
    assert [call for call in calls if call not in ("write", "fchown", "fchmod")] == [
        *("stat", "access", "open"),
        *("fsync", "replace"),
        *("open", "fsync"),
    ]
    return calls


ERRORS: dict[str, Callable[[], BaseException]] = {
    "full disk": lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "broken disk": disk_error,
    "interrupt": KeyboardInterrupt,
}


@pytest.mark.parametrize("kind", list(ERRORS))
def test_a_fault_in_place_of_any_call(
    target: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count_calls(target, monkeypatch)
    before = open_descriptors()
    for failing, call in enumerate(calls):
        write(OLD, target)
        error = ERRORS[kind]()
        monkeypatch.setattr(local, "os", FaultyModule(os, CALLS, failing, error))
        try:
            write(NEW, target)
        except type(error) as caught:
            assert caught is error  # noqa: PT017
        else:
            assert call in ("fchown", "fchmod")  # giving a file its owner is a courtesy
        monkeypatch.setattr(local, "os", os)
        error.__traceback__ = None
        replaced = "replace" in calls[:failing] or call in ("fchown", "fchmod")
        if kind == "interrupt" and call in ("fchown", "fchmod"):
            replaced = False
        assert version_of(target) == (2 if replaced else 1), f"call {failing}: {call}"
        assert os.listdir(target.parent) == [target.name], f"call {failing}: {call}"
        assert has_open(before), f"call {failing}: {call}"
    write(NEW, target)
    assert version_of(target) == 2


def test_an_interrupt_right_after_any_call(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a signal arrives meanwhile: what the call did is not yet noted anywhere."""
    calls = count_calls(target, monkeypatch)
    before = open_descriptors()
    lost = 0
    for failing, call in enumerate(calls):
        write(OLD, target)
        error = KeyboardInterrupt()
        faulty = FaultyModule(os, CALLS, failing, error, afterwards=True)
        monkeypatch.setattr(local, "os", faulty)
        with pytest.raises(KeyboardInterrupt) as caught:
            write(NEW, target)
        monkeypatch.setattr(local, "os", os)
        assert caught.value is error
        error.__traceback__ = None
        del caught
        done = calls[: failing + 1]
        assert version_of(target) == (2 if "replace" in done else 1), f"call {failing}: {call}"
        assert os.listdir(target.parent) == [target.name], f"call {failing}: {call}"
        # Here os.open is wrapped in Python, which loses what it returned; compiled code does not.
        lost += call == "open"
        assert has_open(before + lost), f"call {failing}: {call}"


def test_a_temporary_file_that_cannot_be_deleted_says_what_it_is(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "os", FaultyModule(os, ("unlink",), 0, disk_error()))
    writer = pymosaic.MosaicWriter(target, NEW.schema)
    writer.write(NEW)
    writer.abort()
    assert version_of(target) == 1
    assert len(os.listdir(target.parent)) == 2
    (left,) = temporaries(target.parent)
    assert left.startswith(".target.mosaic.tmp-")


class FaultyFile(io.RawIOBase):
    """A file object whose n-th write fails, and every one after it."""

    def __init__(self, failing: int) -> None:
        self.failing = failing
        self.writes = 0
        self.taken = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        self.writes += 1
        if self.writes >= self.failing:
            raise disk_error()
        # Short writes on the way.
        piece = bytes(data)[:777]  # type: ignore[call-overload]
        self.taken += piece
        return len(piece)


def test_a_file_object_that_fails_at_any_write_is_told_of_and_left_alone() -> None:
    whole = FaultyFile(1 << 30)
    write(NEW, whole)
    assert pymosaic.read_table(bytes(whole.taken)).equals(NEW)
    assert whole.writes > 20
    for failing in range(1, whole.writes + 1):
        file = FaultyFile(failing)
        with pytest.raises(OSError, match="Input/output error"):
            write(NEW, file)
        assert file.writes == failing  # nothing is tried again, not even by abort
        assert not file.closed
        assert whole.taken.startswith(file.taken)
        # A file that was cut off does not pass for one.
        with pytest.raises(pymosaic.MosaicError):
            pymosaic.read_table(bytes(file.taken))


def test_a_full_device_is_the_systems_error() -> None:
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(OSError, match="No space left"),
    ):
        write(NEW, full)


@pytest.mark.parametrize("failing", range(3))
def test_after_a_failed_batch_nothing_more_is_written(
    target: Path, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = pymosaic.MosaicWriter(target, NEW.schema, row_group_bytes=1)
    monkeypatch.setattr(local, "os", FaultyModule(os, ("write",), failing, disk_error()))
    with pytest.raises(OSError, match="Input/output error"):
        writer.write(pa.concat_tables([NEW] * 3))
    for step in (
        lambda: writer.write(NEW),
        writer.close,
        lambda: writer.__exit__(None, None, None),
    ):
        with pytest.raises(pymosaic.ClosedError, match="Input/output error"):
            step()
    writer.abort()
    assert version_of(target) == 1
    assert os.listdir(target.parent) == [target.name]


# The system's own limit on the size of a file: a disk that is full, for everyone and without root.
FULL_DISK = """
import errno, json, os, resource, sys
from pathlib import Path
from tests.faults.injection import make_table, version_of
import pymosaic

target = Path(sys.argv[1])
old, new = make_table(1), make_table(2)
pymosaic.write_table(new, target)
size = target.stat().st_size
outcomes = []
for limit in [*range(0, size, size // 25), size - 1, size, size + 1]:
    pymosaic.write_table(old, target)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        pymosaic.write_table(new, target)
        raised = None
    except OSError as error:
        raised = errno.errorcode[error.errno]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    outcomes.append([limit >= size, raised, version_of(target), len(os.listdir(target.parent))])
sys.stdout.write(json.dumps(outcomes))
"""


def test_a_disk_that_is_full_at_any_size_keeps_the_old_file(target: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(target)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    outcomes = json.loads(run.stdout)
    assert len(outcomes) >= 28
    for fits, raised, version, files in outcomes:
        assert (raised, version) == ((None, 2) if fits else ("EFBIG", 1))
        assert files == 1
