import io

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.file.options import AUTO_BUCKET_BYTES, AUTO_LEAST_BUCKETS, WriterOptions


def wide(num_columns: int, num_rows: int) -> pa.Table:
    values = pa.array(range(num_rows), pa.int64())
    return pa.table([values] * num_columns, names=[f"c{i:05d}" for i in range(num_columns)])


def num_buckets(data: object, **options: object) -> int:
    out = io.BytesIO()
    pymosaic.write_table(data, out, num_buckets="auto", **options)  # type: ignore[arg-type]
    with pymosaic.MosaicFile(out.getvalue()) as file:
        return file.num_buckets


@pytest.mark.parametrize(
    ("num_columns", "row_group_bytes", "expected"),
    [
        (10_000, 0, AUTO_LEAST_BUCKETS),
        (10_000, AUTO_LEAST_BUCKETS * AUTO_BUCKET_BYTES, AUTO_LEAST_BUCKETS),
        (10_000, AUTO_LEAST_BUCKETS * AUTO_BUCKET_BYTES + 1, AUTO_LEAST_BUCKETS + 1),
        (10_000, 85 * AUTO_BUCKET_BYTES, 85),
        (10_000, 1 << 50, 10_000),
        (3, 0, 3),
        (0, 0, 1),
    ],
)
def test_auto_takes_a_bucket_for_each_mebibyte_of_the_first_row_group(
    num_columns: int, row_group_bytes: int, expected: int
) -> None:
    options = WriterOptions(num_buckets="auto")
    assert options.bucket_count(num_columns, row_group_bytes) == expected


def test_the_number_follows_the_data_of_the_file() -> None:
    assert num_buckets(wide(2_000, 2)) == AUTO_LEAST_BUCKETS
    # 8 bytes a value, and the writer's estimate of bitmaps: 250 bytes a row.
    assert num_buckets(wide(2_000, 1_000)) == -(-1_000 * (8 * 2_000 + 250) // AUTO_BUCKET_BYTES)


def test_only_the_first_row_group_decides_and_all_rows_read_back() -> None:
    table = wide(300, 400)
    out = io.BytesIO()
    with pymosaic.MosaicWriter(
        out, table.schema, num_buckets="auto", row_group_bytes=1 << 18
    ) as writer:
        for start in range(0, 400, 100):
            writer.write(table.slice(start, 100))
    with pymosaic.MosaicFile(out.getvalue()) as file:
        assert (file.num_buckets, file.num_row_groups) == (AUTO_LEAST_BUCKETS, 2)
        assert file.read().equals(table)


def test_a_file_without_rows_is_readable() -> None:
    table = wide(50, 0)
    out = io.BytesIO()
    pymosaic.write_table(table, out, num_buckets="auto")
    assert pymosaic.read_table(out.getvalue()).equals(table)
