"""How far apart ranges may be to share a read is the caller's to say."""

import pyarrow as pa
import pytest

import pymosaic
from tests.io_pattern.recording import RecordingSource
from tests.writing import write

TABLE = pa.table({f"c{i}": pa.array(range(i, i + 4000), pa.int64()) for i in range(5)})


@pytest.fixture(scope="module")
def data() -> bytes:
    # Five buckets of 32,000 bytes, none of them in the end of the file that opening reads.
    batch = TABLE.to_batches()[0]
    return write([batch] * 3, TABLE.schema, compression="none", row_group_bytes=1)


@pytest.mark.parametrize(("merge_gap", "reads"), [(0, 2), (40_000, 1)])
def test_ranges_within_the_gap_are_read_as_one(data: bytes, merge_gap: int, reads: int) -> None:
    source = RecordingSource(data)
    with pymosaic.MosaicFile(source, merge_gap=merge_gap) as file:
        before = len(source.reads)
        file.read_row_group(0, columns=["c0", "c2"])
        assert len(source.reads) - before == reads


@pytest.mark.parametrize("merge_gap", [-1, 0.5, True, "4k"])
def test_anything_but_a_size_is_refused_by_name(data: bytes, merge_gap: int) -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="merge_gap"):
        pymosaic.MosaicFile(data, merge_gap=merge_gap)
