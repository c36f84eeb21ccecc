"""Buckets, pages and slots: what is emitted is what is parsed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.format.bucket import (
    BucketPlace,
    buckets_of,
    check_layout,
    emit,
    is_paged,
    parse_directory,
    starts_of,
)
from pymosaic.format.compression import NONE, ZSTD, Compression
from pymosaic.format.page import emit_slot, parse_slot
from pymosaic.kernels.arrow_source import bind, catalog_from_arrow
from pymosaic.kernels.bucket_decoder import BucketDecoder
from pymosaic.kernels.bucket_encoder import BucketEncoder
from pymosaic.kernels.row_group_buffer import RowGroupBuffer

LIMITS = pymosaic.Limits()
BATCH = pa.record_batch({"a": [1, 2, 3], "b": [None, None, None], "c": ["x", "yy", None]})


def encoder() -> BucketEncoder:
    catalog = catalog_from_arrow(BATCH.schema, 1)
    rows = RowGroupBuffer(catalog)
    capsule = BATCH.__arrow_c_array__()[1]
    rows.append(bind(BATCH.schema, catalog, BATCH.schema), capsule, 0, 3, 0, BATCH.num_rows)
    rows.add_rows(BATCH.num_rows)
    return BucketEncoder(rows, 0, 255, 1 << 15)


@pytest.mark.parametrize(
    ("sizes", "layout"), [((0, 0), "missing"), ((9, 0), "paged"), ((9, 20), "monolithic")]
)
def test_sizes_tell_the_layout(sizes: tuple[int, int], layout: str) -> None:
    place = BucketPlace(0, 0, *sizes)
    assert place.layout == layout
    assert (place.missing, place.paged) == (layout == "missing", layout == "paged")
    compressed, raw = np.array([sizes]).T
    assert is_paged(compressed, raw).tolist() == [layout == "paged"]


@pytest.mark.parametrize(("num_columns", "num_buckets"), [(23, 7), (7, 7), (3, 5), (50, 3)])
def test_columns_and_buckets_agree(num_columns: int, num_buckets: int) -> None:
    schema = pa.schema([(f"c{number:02}", pa.int8()) for number in range(num_columns)])
    catalog = catalog_from_arrow(schema, num_buckets)
    buckets = np.arange(num_buckets + 1)
    starts = starts_of(catalog, buckets)
    for bucket in range(num_buckets):
        assert catalog.bucket_range(bucket) == (starts[bucket], starts[bucket + 1])
        inside = np.arange(starts[bucket], starts[bucket + 1])
        assert set(buckets_of(catalog, inside).tolist()) <= {bucket}


def test_a_slot_gives_back_its_page() -> None:
    page = b"\x00\x00" + bytes(50)
    slot = memoryview(emit_slot(page, ZSTD.compressor(1, checksum=True)))
    assert parse_slot(slot, ZSTD, "slot", LIMITS) == (page, True)


def test_the_directory_of_a_paged_bucket_tells_where_its_slots_are() -> None:
    content = emit(encoder(), ZSTD.compressor(1, checksum=True), 0)
    assert content.raw_size == 0
    header, directory, first, third = content.pieces
    data = memoryview(b"".join(content.pieces))
    place = BucketPlace(0, 0, len(data), content.raw_size)
    decoder = BucketDecoder(catalog_from_arrow(BATCH.schema, 1), 0, BATCH.num_rows)
    start = len(header) + len(directory)
    # The second column is all null, and has none.
    middle, end = start + len(first), start + len(first) + len(third)
    assert parse_directory(decoder, data, place, "bucket").tolist() == [start, middle, middle, end]


def test_a_directory_that_does_not_fit_its_bucket_is_refused() -> None:
    decoder = BucketDecoder(catalog_from_arrow(BATCH.schema, 1), 0, BATCH.num_rows)
    with pytest.raises(pymosaic.CorruptFileError, match="is shorter than its directory of 12"):
        parse_directory(decoder, memoryview(bytes(11)), BucketPlace(0, 0, 11, 0), "bucket")


@pytest.mark.parametrize("codec", [NONE, ZSTD], ids=lambda codec: codec.name)
def test_a_monolithic_bucket_is_one_block(codec: Compression) -> None:
    content = emit(encoder(), codec.compressor(1, checksum=True), 1 << 20)
    (block,) = content.pieces
    assert content.raw_size == content.content_size
    raw = codec.decompress(block, content.raw_size, "bucket", LIMITS)
    assert bytes(raw) == encoder().monolithic(1 << 20)


def test_pages_need_compression() -> None:
    assert emit(encoder(), NONE.compressor(1, checksum=True), 0).raw_size > 0
    check_layout(BucketPlace(0, 0, 9, 0), ZSTD, "bucket")
    with pytest.raises(pymosaic.CorruptFileError, match="a paged bucket in a file without"):
        check_layout(BucketPlace(0, 0, 9, 0), NONE, "bucket")
