"""Heads that a dataset stores: they spare reads, and whatever happens to them costs no row."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.binding import BoundFile
from pymosaic.datasets.stored_heads import emit_pack, parse_pack
from tests.datasets.building import Reads
from tests.datasets.many_files import make_dataset

ROWS = 100


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("written")
    table = pa.table({"k": range(ROWS), "n": range(ROWS), "text": [f"v{i}" for i in range(ROWS)]})
    pymosaic.write_dataset(table, base, partition_by="k", statistics=True)
    return base


@pytest.fixture
def base(written: Path, tmp_path: Path) -> Path:
    """A copy of a dataset of 100 files, with their times."""
    return shutil.copytree(written, tmp_path / "year" / "set")


def packs(base: Path) -> list[Path]:
    return sorted(base.glob("_mosaic/heads-*.pack"))


def data_files(reads: Reads) -> set[str]:
    return {name for name in reads.files if name.endswith(".mosaic")}


def check(base: Path) -> None:
    """The dataset as a reader sees it, which is the same with and without stored heads."""
    held = pymosaic.dataset(base)
    assert held.count_rows() == ROWS
    plan = held.scan(["n"], [("n", ">=", 90)]).plan()
    assert (plan.files.to_read, plan.num_rows) == (10, 10)
    found = held.scan(["n", "k"], [("n", ">=", 90)]).to_table()
    assert found["n"].to_pylist() == found["k"].to_pylist() == list(range(90, 100))
    assert held.schema.names == ["n", "text", "k"]


def test_opening_and_planning_reads_no_file_of_the_dataset(base: Path, reads: Reads) -> None:
    assert len(packs(base)) == 1
    reads.clear()
    held = pymosaic.dataset(base)
    assert held.count_rows() == ROWS
    plan = held.scan(["n"], [("n", ">=", 90)]).plan()
    assert plan.files.to_read == 10
    assert data_files(reads) == set()
    assert held.scan(["n"], [("n", ">=", 98)]).to_table()["n"].to_pylist() == [98, 99]
    assert len(data_files(reads)) == 2
    check(base)


def test_from_above_and_from_inside(base: Path, reads: Reads) -> None:
    reads.clear()
    for source in (base.parents[1], base.parent, f"{base.parent}/s*"):
        assert pymosaic.dataset(source).count_rows() == ROWS
    assert pymosaic.dataset(base / "k=7").to_table().num_rows == 1
    assert len(data_files(reads)) == 1


def test_plans_are_those_of_the_files_themselves(base: Path) -> None:
    stored = pymosaic.dataset(base)
    for pack in packs(base):
        pack.unlink()
    plain = pymosaic.dataset(base)
    assert stored.schema == plain.schema
    for filters in (None, [("n", "<", 40)], [("text", "=", "v5")]):
        assert stored.scan(None, filters).plan() == plain.scan(None, filters).plan()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
        lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
        lambda data: b"MOSHEADX" + data[8:],
    ],
)
def test_a_damaged_pack_costs_time_and_no_rows(
    damage: Callable[[bytes], bytes], base: Path, reads: Reads
) -> None:
    [pack] = packs(base)
    pack.write_bytes(damage(pack.read_bytes()))
    reads.clear()
    check(base)
    assert len(data_files(reads)) == ROWS
    pymosaic.vacuum(base)
    reads.clear()
    assert pymosaic.dataset(base).count_rows() == ROWS
    assert data_files(reads) == set()


def sealed(directory: Any, blobs: bytes = b"", raw_size: int | None = None) -> bytes:
    """A pack with a correct checksum, whatever it says."""
    raw = directory if isinstance(directory, bytes) else json.dumps(directory).encode()
    packed = pa.compress(raw, codec="zstd", asbytes=True)
    sizes = struct.pack("<QQ", len(packed), len(raw) if raw_size is None else raw_size)
    body = sizes + packed + blobs
    return b"MOSHEADS" + hashlib.sha256(body).digest() + body


NAME = "part-0-0123456789abcdef0123456789abcdef-0.mosaic"


@pytest.mark.parametrize(
    "content",
    [
        sealed(b"[]"),
        sealed(b"{"),
        sealed({"version": 2, "blobs": [], "files": []}),
        sealed({"version": 1, "blobs": [1 << 60], "files": []}),
        sealed({"version": 1, "blobs": [-1], "files": []}),
        sealed({"version": 1, "blobs": ["1"], "files": []}),
        sealed({"version": 1, "blobs": [40], "files": [[NAME, 120, 1.0, 0, 0, 1]]}, bytes(40)),
        sealed({"version": 1, "blobs": [40], "files": [[NAME, 120, 1.0, 0, -1, 0]]}, bytes(40)),
        sealed({"version": 1, "blobs": [40], "files": [[NAME, 119, 1.0, 0, 0, 0]]}, bytes(40)),
        sealed({"version": 1, "blobs": [40], "files": [[NAME, 120, "x", 0, 0, 0]]}, bytes(40)),
        sealed(
            {"version": 1, "blobs": [40], "files": [[NAME, 120, float("nan"), 0, 0, 0]]}, bytes(40)
        ),
        sealed(
            {"version": 1, "blobs": [40], "files": [["mine.mosaic", 120, 1.0, 0, 0, 0]]}, bytes(40)
        ),
        sealed({"version": 1, "blobs": [40], "files": [[NAME, 80]]}, bytes(40)),
        sealed({"version": 1, "blobs": [], "files": []}, raw_size=1 << 50),
        sealed({"version": 1, "blobs": [], "files": []}, raw_size=3),
        sealed(b"[" * 100_000),
    ],
)
def test_a_pack_that_claims_nonsense_is_refused(content: bytes) -> None:
    with pytest.raises(pymosaic.CorruptFileError):
        parse_pack(content, "pack")


def test_heads_that_do_not_fit_their_files_are_not_used(base: Path) -> None:
    """Right path, size and time; but bytes of other files, or none that make sense."""
    [pack] = packs(base)
    heads = parse_pack(pack.read_bytes(), "pack")
    first = heads[0]
    for after in (bytes(200), first.after[1:], bytes(first.after[:-1]) + b"x"):
        wrong = [replace(head, after=after) for head in heads]
        pack.write_bytes(emit_pack(wrong))
        check(base)
    pack.write_bytes(emit_pack([replace(head, schema_block=b"less") for head in heads]))
    check(base)
    pack.write_bytes(emit_pack([replace(head, before=b"less") for head in heads]))
    check(base)


def test_a_file_that_was_touched_is_read_itself(base: Path, reads: Reads) -> None:
    [touched] = (base / "k=3").iterdir()
    os.utime(touched, (1, 1))
    reads.clear()
    check(base)
    assert touched.name in data_files(reads)
    assert len(data_files(reads)) == 11


def test_many_appends_make_few_packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pymosaic.datasets.maintenance.RECORDS_PER_CHECKPOINT", 2)
    for number in range(36):
        pymosaic.write_dataset(pa.table({"n": [number]}), tmp_path, mode="append")
    assert 1 <= len(packs(tmp_path)) <= 5
    stored = [x for pack in packs(tmp_path) for x in parse_pack(pack.read_bytes(), "pack")]
    assert len({head.path for head in stored}) == len(stored) >= 30
    assert pymosaic.dataset(tmp_path).to_table()["n"].to_pylist() == list(range(36))


def test_files_that_were_replaced_are_forgotten(base: Path) -> None:
    pymosaic.write_dataset(pa.table({"n": [1]}), base, mode="overwrite")
    pymosaic.vacuum(base, older_than=0)
    [pack] = packs(base)
    assert len(parse_pack(pack.read_bytes(), "pack")) == 1


def test_five_hundred_files(tmp_path: Path, reads: Reads) -> None:
    rows = make_dataset(tmp_path / "set", 500)
    reads.clear()
    held = pymosaic.dataset(tmp_path / "set")
    assert held.count_rows() == rows
    assert len(held.scan(["n"]).plan().pieces) == 500
    assert data_files(reads) == set()


def test_what_is_known_is_not_handed_to_threads(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("a thread is asked")

    monkeypatch.setattr("pymosaic.datasets.head_store.read_ahead_if_slow", refuse)
    held = pymosaic.dataset(base)
    assert held.scan(["n"], [("n", ">=", 90)]).plan().files.to_read == 10
    assert held.count_rows() == ROWS
    for pack in packs(base):
        pack.unlink()
    with pytest.raises(AssertionError, match="a thread is asked"):
        pymosaic.dataset(base)


def test_files_of_all_partitions_are_bound_together_unless_the_filter_tests_them(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound: list[object] = []
    bind = BoundFile.__init__

    def binding(file: BoundFile, *given: Any) -> None:
        bound.append(given)
        bind(file, *given)

    monkeypatch.setattr(BoundFile, "__init__", binding)
    held = pymosaic.dataset(base)
    assert held.scan(["n"], [("n", ">=", 90)]).plan().files.to_read == 10
    assert len(bound) == 1
    both = held.scan(["n"], [[("n", ">=", 98)], [("k", "=", 3), ("n", "<", 50)]])
    assert both.to_table()["n"].to_pylist() == [3, 98, 99]
    assert len(bound) > ROWS
