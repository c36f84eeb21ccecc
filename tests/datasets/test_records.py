"""Job records and checkpoints: what they hide, and what in them is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import pymosaic
from pymosaic.datasets.checkpoint import Checkpoint, ReplacedFile
from pymosaic.datasets.commit import WriteJob
from pymosaic.datasets.records import (
    AddedFile,
    JobRecord,
    Listing,
    RemovedFile,
    emit_document,
    is_hidden,
    list_records,
)
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.io import Entry, open_directory

ONE, TWO, THREE = ("1" * 32), ("2" * 32), ("3" * 32)
TIME = 1_700_000_000.25


def part(job: str, number: int = 0, task: int = 0) -> str:
    return f"part-{task}-{job}-{number}.mosaic"


def added(*paths: str) -> tuple[AddedFile, ...]:
    return tuple(AddedFile(path, 4) for path in paths)


def removed(*paths: str) -> tuple[RemovedFile, ...]:
    return tuple(RemovedFile(path) for path in paths)


def fill(base: Path, files: list[str], records: dict[str, bytes]) -> None:
    for path in files:
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_bytes(b"rows")
        os.utime(base / path, (TIME, TIME))
    (base / "_mosaic").mkdir(exist_ok=True)
    for name, content in records.items():
        (base / "_mosaic" / name).write_bytes(content)


def seen(base: Path) -> list[str]:
    return [entry.path for entry in take_snapshot(open_directory(base)).files]


def version_one(**paths: list[str]) -> bytes:
    return json.dumps({"version": 1, **paths}).encode()


def checkpoint(number: int, **content: Any) -> tuple[str, bytes]:
    name = f"checkpoint-{number}-{THREE}.json"
    return name, Checkpoint(number, **content).emit()


BOTH = [part(ONE, 0), part(ONE, 1)]


@pytest.mark.parametrize(
    ("records", "visible"),
    [
        ({}, ["mine.mosaic", *BOTH]),
        ({f"{ONE}.pending": b""}, ["mine.mosaic"]),
        ({f"{ONE}.aborted": b""}, ["mine.mosaic"]),
        (
            {f"{ONE}.1.committed.json": JobRecord(1, added(BOTH[1])).emit()},
            ["mine.mosaic", BOTH[1]],
        ),
        (
            {
                f"{ONE}.pending": b"",
                f"{ONE}.2.committed.json": JobRecord(
                    2, added(BOTH[0]), (RemovedFile("mine.mosaic", 4, TIME),)
                ).emit(),
            },
            [BOTH[0]],
        ),
        # A job that gave up is not saved by a record that came late.
        (
            {
                f"{ONE}.aborted": b"",
                f"{ONE}.1.committed.json": JobRecord(1, added(*BOTH)).emit(),
            },
            ["mine.mosaic"],
        ),
        # Files of others are meant by size and time.
        *(
            (
                {f"{TWO}.1.committed.json": JobRecord(1, (), (RemovedFile(*file),)).emit()},
                ["mine.mosaic", *BOTH],
            )
            for file in [("mine.mosaic", 5, TIME), ("mine.mosaic", 4, TIME - 9)]
        ),
        # Another client of the store may tell whole seconds only.
        (
            {
                f"{TWO}.1.committed.json": JobRecord(
                    1, (), (RemovedFile("mine.mosaic", 4, float(int(TIME))),)
                ).emit()
            },
            BOTH,
        ),
        # Versions of before.
        ({f"{ONE}.committed.json": version_one(adds=[BOTH[1]])}, ["mine.mosaic", BOTH[1]]),
        (
            {
                f"{ONE}.pending": b"",
                f"{ONE}.replacing.json": version_one(adds=[BOTH[0]], removes=["mine.mosaic"]),
            },
            [BOTH[0]],
        ),
        (
            {
                f"{ONE}.replacing.json": version_one(adds=[BOTH[0]], removes=["mine.mosaic"]),
                f"{ONE}.committed.json": version_one(adds=[BOTH[0]], removed=["mine.mosaic"]),
            },
            ["mine.mosaic", BOTH[0]],
        ),
        # Checkpoints: what they do not list, of jobs that they know, is hidden.
        (dict([checkpoint(7, files=added(BOTH[0]), jobs={ONE: None})]), ["mine.mosaic", BOTH[0]]),
        (
            dict(
                [
                    checkpoint(7, files=added(BOTH[0]), jobs={ONE: None}),
                    (f"{ONE}.1.committed.json", JobRecord(1, added(*BOTH)).emit()),
                    (f"{ONE}.pending", b""),
                    (f"checkpoint-6-{TWO}.json", b"of no interest: 7 stands for it"),
                ]
            )
            | dict(
                [
                    checkpoint(
                        7,
                        stands_for=frozenset([f"checkpoint-6-{TWO}.json"]),
                        files=added(BOTH[0]),
                        jobs={ONE: 5.0},
                    )
                ]
            ),
            ["mine.mosaic", BOTH[0]],
        ),
        # One that was written late, with what was known long ago, takes nothing away.
        (
            dict(
                [
                    checkpoint(7, files=added(BOTH[1]), jobs={ONE: None}),
                    (f"checkpoint-8-{TWO}.json", Checkpoint(8).emit()),
                ]
            ),
            ["mine.mosaic", BOTH[1]],
        ),
    ],
)
def test_what_is_part_of_the_dataset(
    records: dict[str, bytes], visible: list[str], tmp_path: Path
) -> None:
    fill(tmp_path, [*BOTH, "mine.mosaic"], records)
    assert seen(tmp_path) == visible


def test_files_come_in_the_order_in_which_they_were_committed(tmp_path: Path) -> None:
    """Files of others first, as people sort; then by sequence, whatever ids and names say."""
    files = [part(THREE, 2), part(THREE, 10), part(ONE, 0), part(TWO, 0)]
    fill(
        tmp_path,
        [*files, "x-10.mosaic", "x-9.mosaic"],
        {
            f"{THREE}.3.committed.json": JobRecord(3, added(*files[:2])).emit(),
            f"{ONE}.12.committed.json": JobRecord(12, added(files[2])).emit(),
            f"{TWO}.4.committed.json": JobRecord(4, added(files[3])).emit(),
        },
    )
    assert seen(tmp_path) == ["x-9.mosaic", "x-10.mosaic", *files[:2], files[3], files[2]]


def test_a_job_lists_its_files_by_task_and_number_as_numbers(tmp_path: Path) -> None:
    job = WriteJob.start(tmp_path)
    files = [job.file(d, t, n) for d, t, n in [("", 10, 0), ("k=2", 2, 10), ("k=1", 2, 9)]]
    for file in files:
        Path(file.write_path).write_bytes(b"rows")
    job.commit(files)
    assert seen(tmp_path) == [file.final_path for file in reversed(files)]


def test_what_replaces_a_file_takes_its_place(tmp_path: Path) -> None:
    old = [part(ONE, n) for n in range(3)]
    new = part(TWO)
    fill(
        tmp_path,
        [*old, new],
        {
            f"{ONE}.1.committed.json": JobRecord(1, added(*old)).emit(),
            f"{TWO}.2.committed.json": JobRecord(
                2, (AddedFile(new, 4, place=old[1]),), removed(old[1])
            ).emit(),
        },
    )
    assert seen(tmp_path) == [old[0], new, old[2]]


def test_a_missing_file_is_an_error_that_names_it_and_the_way_out(tmp_path: Path) -> None:
    fill(
        tmp_path,
        [BOTH[0]],
        {f"{ONE}.1.committed.json": JobRecord(1, added(*BOTH)).emit()},
    )
    with pytest.raises(pymosaic.DatasetError, match=rf"{BOTH[1]}.*forget_missing=True"):
        seen(tmp_path)
    assert take_snapshot(open_directory(tmp_path), allow_missing=True).missing == (BOTH[1],)
    report = pymosaic.vacuum(tmp_path, forget_missing=True)
    assert report.forgotten == (f"{tmp_path}/{BOTH[1]}",)
    assert seen(tmp_path) == [BOTH[0]]


def test_files_of_version_one_that_somebody_deleted_are_no_error(tmp_path: Path) -> None:
    fill(tmp_path, [BOTH[0]], {f"{ONE}.committed.json": version_one(adds=BOTH)})
    assert seen(tmp_path) == [BOTH[0]]


def test_a_checkpoint_that_a_record_follows_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pymosaic.datasets.log.time.sleep", lambda _: None)
    fill(
        tmp_path,
        [BOTH[0]],
        {f"{ONE}.9.committed.json": JobRecord(9, added(BOTH[0]), follows=8).emit()},
    )
    with pytest.raises(pymosaic.MosaicError, match="checkpoint 8"):
        seen(tmp_path)


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("a.mosaic", False),
        ("_a.mosaic", True),
        (".a.mosaic", True),
        ("_mosaic/a.mosaic", True),
        ("k=1/.tmp/a.mosaic", True),
        ("_k=1/a.mosaic", False),
        (".k=1/a.mosaic", True),
    ],
)
def test_hidden_names(path: str, hidden: bool) -> None:
    assert is_hidden(path) == hidden


def _bad_records() -> list[bytes]:
    def with_content(**changes: Any) -> bytes:
        from pymosaic.datasets.records import emit_document

        content = json.loads(JobRecord(1).emit())
        content.pop("sha256")
        return emit_document({**content, **changes})

    good = JobRecord(1, added(BOTH[0])).emit()
    return [
        b"",
        b"{",
        b"[]",
        b"[" * 100_000,
        "\u00e9".encode("latin-1"),
        version_one(adds=[]),
        good[:-20],
        good.replace(b'"size": 4', b'"size": 5'),
        with_content(version=3),
        with_content(sequence=2),
        with_content(sequence="1"),
        with_content(keep_seconds=None),
        with_content(adds="x"),
        with_content(adds=[1]),
        with_content(adds=[{"path": BOTH[0], "size": "4"}]),
        with_content(adds=[{"path": part(TWO), "size": 4}]),
        with_content(adds=[{"path": f"../{BOTH[0]}", "size": 4}]),
        with_content(adds=[{"path": f"/{BOTH[0]}", "size": 4}]),
        with_content(adds=[{"path": BOTH[0], "size": 4, "place": ".."}]),
        with_content(removes=[{"path": "a//b"}]),
        with_content(removes=[{"path": "a", "size": 1, "modified": "now"}]),
        with_content(partition_types={"k": 1}),
        with_content(transaction=["app"]),
    ]


@pytest.mark.parametrize("content", _bad_records())
def test_what_is_not_a_record_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    fill(tmp_path, ["a.mosaic"], {})
    path = tmp_path / "_mosaic" / f"{ONE}.1.committed.json"
    path.write_bytes(content)
    with pytest.raises(pymosaic.CorruptFileError, match=path.name):
        seen(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        JobRecord(1).emit(),
        Checkpoint(7, files=added(BOTH[0]), jobs={}).emit(),
        Checkpoint(7, files=added("../x"), jobs={ONE: None}).emit(),
        Checkpoint(7, files=added(BOTH[0]), jobs={ONE: None}).emit()[:-9],
        Checkpoint(7, jobs={ONE: None}).emit().replace(b"null", b"17.5"),
    ],
)
def test_what_is_not_a_checkpoint_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    fill(tmp_path, [BOTH[0]], {})
    path = tmp_path / "_mosaic" / f"checkpoint-7-{TWO}.json"
    path.write_bytes(content)
    with pytest.raises(pymosaic.CorruptFileError, match=path.name):
        seen(tmp_path)


def test_records_and_checkpoints_come_back_as_they_were() -> None:
    record = JobRecord(
        4,
        (AddedFile(f"é/{BOTH[0]}", 3, "x"), AddedFile(BOTH[1], 0)),
        (RemovedFile("a"), RemovedFile("b", 3, TIME), RemovedFile("c", 3, None)),
        12.5,
        {"k": "int64"},
        ("app", 3),
        2,
    )
    assert JobRecord.parse(record.emit(), f"_mosaic/{ONE}.4.committed.json") == record
    original = Checkpoint(
        9,
        frozenset({"x"}),
        added(*BOTH),
        (
            ReplacedFile(RemovedFile("b", 3, TIME), 4.5, 9.0),
            ReplacedFile(RemovedFile("c"), None, 1.0),
        ),
        {ONE: None, TWO: 4.5},
        {"k": "int64"},
        {"app": 3},
    )
    assert Checkpoint.parse(original.emit(), "checkpoint") == original


def test_names_of_records() -> None:
    names = [
        f"{ONE}.17.committed.json",
        f"{TWO}.pending",
        f"{THREE}.aborted",
        f"checkpoint-9-{ONE}.json",
        f"checkpoint-10-{ONE}.json",
        *(f"{THREE}.claim", f"{THREE}.json", "x.pending", f"{THREE}0.pending", f".{TWO}.aborted"),
        *(f"{THREE}.3.pending", f"{THREE}.3.replacing.json", "checkpoint-1.json"),
    ]
    listing = Listing.of([Entry(f"_mosaic/{name}", 0, None) for name in names])
    assert listing.sequences == {ONE: (17, names[0])}
    assert listing.pending == {TWO}
    assert listing.aborted == {THREE}
    assert listing.checkpoints == (names[4], names[3])
    assert (listing.number, listing.highest) == (10, 17)


def test_types_of_partition_columns_and_transactions_are_kept(tmp_path: Path) -> None:
    job = WriteJob.start(tmp_path, partition_types={"k": "string"})
    job.commit([], transaction=("stream", 4))
    WriteJob.start(tmp_path).commit([], partition_types={"d": "date32"}, transaction=("stream", 5))
    for _ in range(70):
        WriteJob.start(tmp_path).commit([])
    assert list((tmp_path / "_mosaic").glob("checkpoint-*"))
    snapshot = take_snapshot(open_directory(tmp_path))
    assert snapshot.partition_types == {"k": "string", "d": "date32"}
    assert snapshot.transactions == {"stream": 5}


class _Unlistable(MemoryFileSystem):  # type: ignore[misc]
    """Fails to list directories of a name."""

    cachable = False
    failing = "_mosaic"

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        if self.failing in path:
            raise PermissionError(13, "Permission denied", path)
        return super().ls(path, detail=detail, **kwargs)


@pytest.mark.parametrize("failing", ["_mosaic", "k=1"])
def test_a_listing_that_fails_is_an_error_and_not_an_empty_one(
    memory_filesystem: Any, failing: str
) -> None:
    table = pa.table({"k": [1, 2], "n": [1, 2]})
    pymosaic.write_dataset(table, "/d", partition_by="k", filesystem=memory_filesystem)
    filesystem = _Unlistable()
    filesystem.failing = failing
    with pytest.raises(PermissionError):
        pymosaic.dataset("/d", filesystem=filesystem)


@pytest.mark.parametrize(
    "change",
    [
        {"keep_seconds": 10**400},
        {"follows": float("inf")},
        {"removes": [{"path": "x.mosaic", "size": 1, "modified": float("nan")}]},
        {"removes": [{"path": "_mosaic/other.committed.json"}]},
    ],
    ids=["seconds", "follows", "time", "hidden"],
)
def test_numbers_and_paths_of_a_record_are_checked(change: dict[str, Any]) -> None:
    content = {
        "version": 2,
        "sequence": 1,
        "adds": [],
        "removes": [],
        "keep_seconds": 1.0,
        "follows": 0,
        **change,
    }
    name = f"_mosaic/{'0' * 32}.1.committed.json"
    with pytest.raises(pymosaic.CorruptFileError):
        JobRecord.parse(emit_document(content), name)


def test_a_number_above_which_there_is_none_is_an_error(tmp_path: Path) -> None:
    pymosaic.write_dataset(pa.table({"n": [1]}), tmp_path)
    (tmp_path / "_mosaic" / f"checkpoint-{10**18 - 1}-{'0' * 32}.json").write_text("{}")
    listing = list_records(open_directory(tmp_path))
    with pytest.raises(pymosaic.CorruptFileError, match="above which there is none"):
        _ = listing.next_number
