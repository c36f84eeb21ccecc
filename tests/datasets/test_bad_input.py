"""Foreign and broken files in a directory: named with the reason, or skipped with a warning."""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.testing.pieces import INTEGER, forge, row_group, schema
from tests.datasets.building import write_files, write_row_groups

FOREIGN = {
    "notes.txt": b"not a Mosaic file",
    "empty.mosaic": b"",
    "table.parquet": b"PAR1" + b"\0" * 100 + b"PAR1",
}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_files(tmp_path, {"a.mosaic": {"n": [1]}, "z.mosaic": {"n": [2]}})


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_named_with_the_reason(base: Path, name: str) -> None:
    (base / name).write_bytes(FOREIGN[name])
    with pytest.raises(pymosaic.CorruptFileError) as caught:
        pymosaic.dataset(base)
    assert caught.value.path == str(base / name)
    assert caught.value.reason in str(caught.value)


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_skipped_with_a_warning(base: Path, name: str) -> None:
    (base / name).write_bytes(FOREIGN[name])
    with pytest.warns(UserWarning, match=f"skipped a file: .*{name}"):
        dataset = pymosaic.dataset(base, on_error="skip")
    assert dataset.files == (str(base / "a.mosaic"), str(base / "z.mosaic"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dataset.scan().to_table().to_pydict() == {"n": [1, 2]}
        assert dataset.count_rows() == 2


def test_with_a_schema_a_foreign_file_is_found_when_it_is_planned(base: Path) -> None:
    (base / "notes.txt").write_bytes(b"not a Mosaic file")
    dataset = pymosaic.dataset(base, schema=pa.schema({"n": pa.int64()}))
    with pytest.raises(pymosaic.CorruptFileError, match=r"notes\.txt"):
        dataset.scan().plan()
    with pytest.raises(pymosaic.CorruptFileError, match=r"notes\.txt"):
        dataset.count_rows()


def test_a_directory_of_foreign_files_alone_has_no_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"not a Mosaic file")
    with (
        pytest.warns(UserWarning, match="skipped"),
        pytest.raises(pymosaic.DatasetError, match="no Mosaic files"),
    ):
        pymosaic.dataset(tmp_path, on_error="skip")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """The second of three row groups has a flipped bit."""
    path = write_row_groups(tmp_path / "d.mosaic", [{"n": [i, i + 10]} for i in range(3)])
    bucket = pymosaic.read_metadata(path).row_group(1).bucket(0)
    content = bytearray(path.read_bytes())
    content[bucket.offset + bucket.compressed_size - 1] ^= 1
    path.write_bytes(content)
    return tmp_path


def test_damaged_data_is_an_error_with_its_place(damaged: Path) -> None:
    dataset = pymosaic.dataset(damaged)
    assert dataset.count_rows() == 6
    with pytest.raises(pymosaic.CorruptFileError, match=r"d\.mosaic, row group 1"):
        dataset.scan().to_table()


def test_damaged_row_groups_are_skipped_with_a_warning(damaged: Path) -> None:
    dataset = pymosaic.dataset(damaged, on_error="skip")
    with pytest.warns(UserWarning, match=r"skipped a row group: .*d\.mosaic, row group 1"):
        table = dataset.scan().to_table()
    assert table["n"].to_pylist() == [0, 10, 2, 12]


def test_a_file_that_broke_after_planning_is_skipped_by_tasks(base: Path) -> None:
    scan = pymosaic.dataset(base, on_error="skip").scan()
    pieces = scan.plan().pieces
    (base / "a.mosaic").write_bytes(b"broken since")
    with pytest.warns(UserWarning, match=r"a\.mosaic"):
        batches = list(scan.task().read(pieces))
    assert [batch["n"].to_pylist() for batch in batches] == [[2]]


def test_a_file_that_is_gone_is_the_file_systems_error(base: Path) -> None:
    dataset = pymosaic.dataset(base, on_error="skip")
    (base / "a.mosaic").unlink()
    with pytest.raises(FileNotFoundError, match=r"a\.mosaic"):
        dataset.scan().to_table()


def test_a_file_beyond_the_limits_is_named(base: Path) -> None:
    with pytest.raises(pymosaic.LimitExceededError, match=r"a\.mosaic"):
        pymosaic.dataset(base, limits=pymosaic.Limits(max_index_bytes=1))


def test_wrong_options_are_refused(base: Path) -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="on_error must be"):
        pymosaic.dataset(base, on_error="ignore")
    with pytest.raises(pymosaic.InvalidOptionError, match="limits must be"):
        pymosaic.dataset(base, limits=5)  # type: ignore[arg-type]


def test_a_file_that_claims_billions_of_buckets_costs_no_memory(tmp_path: Path) -> None:
    # Nothing is stored, so every value is null.
    claimed = (1 << 32) - 1
    content = schema(("a", INTEGER), ("b", INTEGER), num_buckets=claimed)
    forged = forge(b"", content, row_group(2), num_buckets=claimed)
    (tmp_path / "forged.mosaic").write_bytes(forged)
    dataset = pymosaic.dataset(tmp_path)
    plan = dataset.scan().plan()
    assert (plan.buckets.to_read, plan.bytes.to_read) == (0, 0)
    assert dataset.scan(["b"]).to_table().to_pydict() == {"b": [None, None]}


def test_a_row_group_that_claims_billions_of_rows_is_refused(tmp_path: Path) -> None:
    forged = forge(b"", schema(("a", INTEGER)), row_group((1 << 32) - 1))
    (tmp_path / "forged.mosaic").write_bytes(forged)
    dataset = pymosaic.dataset(tmp_path, limits=pymosaic.Limits(max_row_group_bytes=1 << 20))
    assert dataset.count_rows() == (1 << 32) - 1
    with pytest.raises(pymosaic.LimitExceededError, match=r"forged\.mosaic"):
        dataset.scan().to_table()


@pytest.mark.parametrize("columns", [["b"], ["k"], ["a", "b"]])
def test_columns_that_are_made_up_are_held_to_the_limit_too(
    tmp_path: Path, columns: list[str]
) -> None:
    write_files(tmp_path, {"k=1/b.mosaic": {"b": [1]}})
    forged = forge(b"", schema(("a", INTEGER)), row_group((1 << 32) - 1))
    (tmp_path / "k=1/z.mosaic").write_bytes(forged)
    dataset = pymosaic.dataset(tmp_path)
    with pytest.raises(pymosaic.LimitExceededError, match=r"z\.mosaic.*max_row_group_bytes"):
        dataset.scan(columns).to_table()
    assert dataset.count_rows([("b", "is null"), ("k", "=", 1)]) == (1 << 32) - 1
