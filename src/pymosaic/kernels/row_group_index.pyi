"""The row group index: bytes -> flat arrays."""

import numpy as np
import numpy.typing as npt

from pymosaic.kernels.catalog import Catalog

class RowGroupIndex:
    """Rows, bucket places and statistics of every row group; made by :func:`parse`."""

    @property
    def num_row_groups(self) -> int: ...
    @property
    def num_rows(self) -> int: ...
    def row_count(self, row_group: int) -> int:
        """Rows of a row group."""

    def compressed_size(self, row_group: int) -> int:
        """Bytes of a row group's buckets on disk."""

    def bucket_sizes(
        self, row_group: int, buckets: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Compressed and raw sizes of some buckets, given in ascending order, as two arrays."""

    def entry(self, row_group: int, bucket: int) -> tuple[int, int, int] | None:
        """``(offset, compressed size, raw size)`` of a bucket; None where it is not stored."""

    def extent(self) -> tuple[int, int]:
        """Where the bytes of all buckets begin and end; 0, 0 where there are none."""

    def shifted(self, distance: int) -> bytes:
        """The bytes of the index for a file in which all buckets are moved by ``distance``."""

    def statistics(self, row_group: int) -> list[tuple[int, int, bytes | None, bytes | None]]:
        """A list of ``(position, null count, min bytes or None, max bytes or None)``."""

    def find_statistic(
        self, row_group: int, position: int
    ) -> tuple[int, int, bytes | None, bytes | None] | None:
        """The entry of one column as in :meth:`statistics`, or None."""

def parse(
    data: bytes | bytearray | memoryview, catalog: Catalog, num_row_groups: int, data_end: int
) -> RowGroupIndex:
    """Read the row group index; ``data_end`` is where the schema block starts."""
