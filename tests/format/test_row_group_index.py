"""What the index tells of many buckets at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pymosaic.format.bucket import BucketPlace
from pymosaic.format.row_group_index import emit_row_group
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.kernels.row_group_index import parse


def test_sizes_of_buckets() -> None:
    catalog = catalog_from_arrow(pa.schema([(f"c{i}", pa.int8()) for i in range(9)]), 9)
    entries = [BucketPlace(1, 0, 10, 20), BucketPlace(4, 10, 30, 0), BucketPlace(8, 40, 5, 6)]
    index = parse(emit_row_group(3, entries, []), catalog, 1, 100)
    compressed, raw = index.bucket_sizes(0, np.array([0, 1, 4, 7, 8, 1 << 40], np.int64))
    assert compressed.tolist() == [0, 10, 30, 0, 5, 0]
    assert raw.tolist() == [0, 20, 0, 0, 6, 0]
    assert [len(sizes) for sizes in index.bucket_sizes(0, np.empty(0, np.int64))] == [0, 0]
    with pytest.raises(IndexError, match="row group 1"):
        index.bucket_sizes(1, np.empty(0, np.int64))
