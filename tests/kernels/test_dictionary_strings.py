"""Strings of a dictionary: most are copied as 16 bytes, without looking at each of them again."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pymosaic

LENGTHS = (0, 1, 7, 15, 16, 17, 40)


def _stored(table: pa.Table, **options: object) -> bytes:
    out = io.BytesIO()
    pymosaic.write_table(table, out, **options)  # type: ignore[arg-type]
    return out.getvalue()


@given(
    st.lists(st.sampled_from(LENGTHS), min_size=2, max_size=9),
    st.integers(1, 400),
    st.randoms(use_true_random=False),
    st.booleans(),
    st.booleans(),
)
def test_they_come_out_as_they_went_in(
    lengths: list[int], num_rows: int, random: object, with_nulls: bool, paged: bool
) -> None:
    pool: list[str | None] = [chr(97 + place) * length for place, length in enumerate(lengths)]
    if with_nulls:
        pool.append(None)
    values = [random.choice(pool) for _ in range(num_rows)]  # type: ignore[attr-defined]
    # A second column behind it, so that the dictionary is not always at the end of the block.
    table = pa.table({"a": pa.array(values, pa.string()), "b": pa.array(range(num_rows))})
    data = _stored(table, num_buckets=1, page_size_threshold=0 if paged else 1 << 30)
    assert pymosaic.read_table(data).equals(table)


@pytest.mark.parametrize("row", [0, 500, 999])
def test_an_index_beyond_the_entries_is_refused(row: int) -> None:
    table = pa.table({"a": ["red", "green", "blue", "red"] * 250})
    data = bytearray(_stored(table, compression="none", checksum=False))
    with pymosaic.MosaicFile(bytes(data)) as file:
        [bucket] = next(iter(file.metadata.row_groups())).buckets()
    # The indices, of two bits each, are the last bytes of the bucket.
    start = bucket.offset + bucket.compressed_size - 250
    data[start + row // 4] |= 3 << 2 * (row % 4)
    with pytest.raises(pymosaic.CorruptFileError, match="beyond its entries"):
        pymosaic.read_table(bytes(data))
