"""The bytes of a bucket or page -> Arrow arrays, for the wanted columns only."""

import numpy as np
import numpy.typing as npt

from pymosaic.kernels.arrow_export import BatchExport, OutputArena
from pymosaic.kernels.catalog import Catalog

class BucketDecoder:
    """One bucket of a row group: locates its physical columns, then fills a batch."""

    def __init__(self, catalog: Catalog, bucket: int, num_rows: int) -> None: ...
    def load_missing(self) -> None:
        """The bucket is not in the file: every value is null."""

    def load_monolithic(self, raw: bytes | bytearray | memoryview, exact: bool = False) -> None:
        """Locate the columns of a decompressed monolithic bucket, all but their data."""

    def locate_all(self) -> None:
        """Walk the data of all columns of a monolithic bucket."""

    def unread_bytes(self) -> int:
        """Bytes behind the data, once all columns are located."""

    def directory_size(self) -> int:
        """Bytes at the start of a paged bucket that tell where its slots are."""

    def load_directory(
        self, raw: bytes | bytearray | memoryview, total_size: int
    ) -> npt.NDArray[np.int64]:
        """Offsets of the slots in a paged bucket, and the end."""

    def physical_range(self, position: int) -> tuple[int, int, int]:
        """Physical columns of a column: its primary, and the half-open range of its children."""

    def load_page(
        self, index: int, page: bytes | bytearray | memoryview, exact: bool = False
    ) -> None:
        """Locate the parts of a decompressed page."""

    def describe(self, index: int) -> tuple[int, bool, int, int, int, int]:
        """Encoding, has nulls, rows, values, dictionary entries and bytes of a located column."""

    def entries(self, index: int) -> list[bytes]:
        """The stored bytes of a located column's dictionary, or of its constant; else none."""

    def decode(
        self,
        batch: BatchExport,
        positions: npt.NDArray[np.int64],
        slots: npt.NDArray[np.int64],
        output: OutputArena,
    ) -> None:
        """Decode the columns at ``positions``, which ascend, into the output columns ``slots``."""
