"""Job records: what they hide and what in them is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pymosaic
from pymosaic.dataset.records import JobRecord, is_hidden, parse_record_name, take_snapshot
from pymosaic.dataset.storage import open_storage

ONE, TWO, THREE = ("1" * 32), ("2" * 32), ("3" * 32)


def fill(base: Path, files: list[str], records: dict[str, Any]) -> None:
    for path in files:
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_bytes(b"rows")
    (base / "_mosaic").mkdir(exist_ok=True)
    for name, content in records.items():
        (base / "_mosaic" / name).write_text(json.dumps(content))


def seen(base: Path) -> list[str]:
    return [entry.path for entry in take_snapshot(open_storage(base)).files]


def record(**paths: list[str]) -> dict[str, Any]:
    return {"version": 1, **paths}


def part(job: str, number: int = 0) -> str:
    return f"part-0-{job}-{number}.mosaic"


@pytest.mark.parametrize(
    ("records", "visible"),
    [
        ({}, [part(ONE, 0), part(ONE, 1), "mine.mosaic"]),
        ({f"{ONE}.pending": {}}, ["mine.mosaic"]),
        ({f"{ONE}.aborted": {}}, ["mine.mosaic"]),
        ({f"{ONE}.committed.json": record(adds=[part(ONE, 1)])}, [part(ONE, 1), "mine.mosaic"]),
        (
            {
                f"{ONE}.pending": {},
                f"{ONE}.replacing.json": record(adds=[part(ONE)], removes=["mine.mosaic"]),
            },
            [part(ONE)],
        ),
        (
            {f"{TWO}.committed.json": record(adds=[], removed=[part(ONE), "mine.mosaic"])},
            # The name may have been used again, that of a job never is.
            [part(ONE, 1), "mine.mosaic"],
        ),
        ({f"{TWO}.pending": {}, "notes.txt": {}}, [part(ONE, 0), part(ONE, 1), "mine.mosaic"]),
    ],
)
def test_what_is_part_of_the_dataset(
    records: dict[str, Any], visible: list[str], tmp_path: Path
) -> None:
    fill(tmp_path, [part(ONE, 0), part(ONE, 1), "mine.mosaic"], records)
    assert seen(tmp_path) == sorted(visible)


def test_published_files_that_somebody_deleted_are_no_reason_to_wait(tmp_path: Path) -> None:
    fill(tmp_path, [part(ONE)], {f"{ONE}.committed.json": record(adds=[part(ONE), part(ONE, 1)])})
    assert seen(tmp_path) == [part(ONE)]


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


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 2, "adds": []}',
        b'{"version": 1, "adds": "x"}',
        b'{"version": 1, "adds": [1]}',
        b'{"version": 1, "adds": ["../x.mosaic"]}',
        b'{"version": 1, "adds": ["/etc/passwd"]}',
        b'{"version": 1, "adds": [], "removes": ["a//b"]}',
        b'{"version": 1, "adds": [], "removed": [""]}',
        b"[" * 100_000,
        "\u00e9".encode("latin-1"),
    ],
)
def test_what_is_no_record_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    fill(tmp_path, ["a.mosaic"], {})
    path = tmp_path / "_mosaic" / f"{ONE}.replacing.json"
    path.write_bytes(content)
    with pytest.raises(pymosaic.CorruptFileError, match=path.name):
        seen(tmp_path)


def test_records_come_back_as_they_were() -> None:
    for original in (
        JobRecord(frozenset({"a", "é/b"})),
        JobRecord(frozenset(), frozenset({"x"}), frozenset({"y"})),
    ):
        assert JobRecord.parse(original.emit(), "record") == original


def test_names_of_records() -> None:
    assert parse_record_name(f"{ONE}.committed.json") == (ONE, "committed.json")
    for name in (f"{ONE}.claim", f"{ONE}.json", "x.pending", f"{ONE}0.pending", f".{ONE}.pending"):
        assert parse_record_name(name) is None
