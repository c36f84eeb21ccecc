"""A bucket of the row group buffer -> its encodings, its layout and its bytes."""

from pymosaic.kernels.row_group_buffer import RowGroupBuffer

class BucketEncoder:
    """One bucket of a row group: choose encodings, then ask for the bytes."""

    def __init__(
        self, rows: RowGroupBuffer, bucket: int, max_dict_entries: int, max_dict_bytes: int
    ) -> None: ...
    def page_bytes(self) -> int:
        """Bytes of the pages that count for the layout; the size estimate goes by them."""

    def is_paged(self, threshold: int) -> bool:
        """Whether pages of this bucket are large enough to be compressed one by one."""

    def monolithic(self, max_block_bytes: int) -> bytes:
        """The bytes of the monolithic layout."""

    def page_header(self) -> bytes:
        """What stands before the directory: element counts of the children, if there are any."""

    def num_pages(self) -> int:
        """Number of physical columns: entries of the page directory."""

    def page(self, index: int, max_block_bytes: int) -> bytes | None:
        """The page of a physical column, None for ALL_NULL."""

    def release(self) -> None:
        """Free the row group's memory for this bucket."""
