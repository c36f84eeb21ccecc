"""Huge batches become several row groups, unless the reference's boundaries are asked for."""

import io
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.file.options import WriterOptions

ROWS = 10_000
BATCH = pa.record_batch({"a": range(ROWS), "b": [None, 1.5] * (ROWS // 2)})


def row_groups(**options: Any) -> list[int]:
    stream = io.BytesIO()
    pymosaic.write_table(BATCH, stream, **options)
    with pymosaic.MosaicFile(stream.getvalue()) as file:
        assert file.read().equals(pa.table(BATCH))
        return [group.num_rows for group in file.metadata.row_groups()]


def test_a_batch_of_many_row_groups_is_split_into_about_equal_parts() -> None:
    groups = row_groups(row_group_bytes=BATCH.nbytes // 5, split_batches=True)
    assert len(groups) > 2
    assert max(groups) <= 2 * min(groups[:-1])


def test_a_batch_of_less_than_two_row_groups_is_kept_whole() -> None:
    assert row_groups(row_group_bytes=BATCH.nbytes // 2 + 1, split_batches=True) == [ROWS]


@pytest.mark.parametrize("options", [{}, {"split_batches": False}, {"checksum": False}])
def test_a_batch_of_ordinary_size_is_kept_whole_unless_asked(options: dict[str, bool]) -> None:
    assert row_groups(row_group_bytes=1000, **options) == [ROWS]


MIB = 1 << 20


@pytest.mark.parametrize(
    ("options", "total", "largest", "pieces"),
    [
        ({}, 1023 * MIB, 255 * MIB, 1),
        ({}, 1024 * MIB, 1 * MIB, 4),
        ({}, 560 * MIB, 560 * MIB, 3),
        ({"row_group_bytes": 4096 * MIB}, 560 * MIB, 560 * MIB, 3),
        ({"checksum": False}, 1 << 40, 1 << 40, 1),
        ({"split_batches": False}, 1 << 40, 1 << 40, 1),
        ({"split_batches": True}, 512 * MIB, 1, 2),
        ({"split_batches": True}, 1, 1, 1),
    ],
)
def test_by_default_only_huge_batches_are_split(
    options: dict[str, Any], total: int, largest: int, pieces: int
) -> None:
    assert WriterOptions(**options).pieces(total, largest) == pieces


def test_a_column_too_large_for_a_block_is_split_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pymosaic.file.options._HUGE_COLUMN", 30_000)
    assert len(row_groups(row_group_bytes=40_000)) > 1


def test_splitting_can_be_had_without_checksums() -> None:
    assert len(row_groups(row_group_bytes=1000, checksum=False, split_batches=True)) > 2


def test_a_batch_of_one_row_and_an_empty_one_are_no_trouble() -> None:
    for batch in (BATCH.slice(0, 1), BATCH.slice(0, 0)):
        stream = io.BytesIO()
        pymosaic.write_table(batch, stream, row_group_bytes=1, split_batches=True)
        assert pymosaic.read_table(stream.getvalue()).num_rows == batch.num_rows


def test_views_dictionaries_and_nested_data_can_be_split() -> None:
    table = pa.table(
        {
            "views": pa.array(["long enough to be outside of the view"] * 999, pa.string_view()),
            "kinds": pa.array(["x", "y", None] * 333).dictionary_encode(),
            "lists": pa.array([[1, 2], None, []] * 333),
            "nulls": pa.nulls(999),
        }
    )
    stream = io.BytesIO()
    pymosaic.write_table(table, stream, row_group_bytes=2000, split_batches=True)
    with pymosaic.MosaicFile(stream.getvalue()) as file:
        assert file.num_row_groups > 2
        assert file.read().to_pylist() == table.to_pylist()
