"""The end of a file: schema block, row group index and footer, read and written together."""

from __future__ import annotations

from dataclasses import dataclass

from pymosaic.errors import CorruptFileError, LimitExceededError
from pymosaic.format import schema_block
from pymosaic.format.compression import Compression
from pymosaic.format.footer import FOOTER_SIZE, Footer
from pymosaic.io import Sink, Source
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits

__all__ = ["Tail", "check_buckets", "check_size", "read_tail", "write_tail"]


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a file as read, from ``start`` on; only the footer is parsed."""

    footer: Footer
    data: memoryview
    start: int

    @property
    def schema_block(self) -> memoryview:
        """The bytes of the schema block."""
        start, stop = self.footer.schema_offset, self.footer.index_offset
        return self.data[start - self.start : stop - self.start]

    @property
    def row_group_index(self) -> memoryview:
        """The bytes of the row group index."""
        return self.data[self.footer.index_offset - self.start : -FOOTER_SIZE]

    def schema_content(self, limits: Limits) -> bytes:
        """The content of the schema block; equal contents may be compressed to different bytes."""
        return bytes(schema_block.content(self.schema_block, self.footer.compression, limits))


def read_tail(source: Source, limits: Limits) -> Tail:
    """Read footer, index and schema block, in one read, or in two if they are large."""
    size = min(source.size, max(source.tail_bytes, FOOTER_SIZE))
    start = source.size - size
    data = memoryview(source.read(start, size))
    footer = Footer.parse(data, source.size)
    check_size("row group index", footer.index_size(source.size), limits)
    check_size("schema block", footer.schema_size, limits)
    if footer.schema_offset < start:
        head = source.read(footer.schema_offset, start - footer.schema_offset)
        data = memoryview(b"".join((head, data)))
        start = footer.schema_offset
    return Tail(footer, data, start)


def check_size(structure: str, size: int, limits: Limits) -> None:
    """Refuse a schema block or index that exceeds the limits."""
    if size > limits.max_index_bytes:
        raise LimitExceededError(
            f"{size} bytes exceed Limits.max_index_bytes ({limits.max_index_bytes})",
            structure=structure,
        )


def check_buckets(footer: Footer, catalog: Catalog) -> None:
    """Check that footer and schema block agree."""
    if catalog.num_buckets != footer.num_buckets:
        raise CorruptFileError(
            f"the footer says {footer.num_buckets} buckets, the schema block {catalog.num_buckets}",
            structure="footer",
            offset=16,
        )


def write_tail(
    sink: Sink,
    block: bytes,
    index: bytes,
    *,
    num_buckets: int,
    num_row_groups: int,
    compression: Compression,
) -> None:
    """Write the end of a file after its buckets: schema block, index and footer."""
    schema_offset = sink.position
    sink.write(block)
    index_offset = sink.position
    sink.write(index)
    footer = Footer(index_offset, schema_offset, num_buckets, num_row_groups, compression)
    sink.write(footer.emit())
