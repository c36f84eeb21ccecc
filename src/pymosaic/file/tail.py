"""The end of a file: annex, schema block, row group index and footer, read and written together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

from pymosaic.errors import CorruptFileError, LimitExceededError
from pymosaic.format import annex, schema_block
from pymosaic.format.annex import Body, Integrity, SectionType
from pymosaic.format.compression import Compression
from pymosaic.format.footer import FOOTER_SIZE, Footer
from pymosaic.io import Sink, Source
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits

__all__ = [
    "GuardedData",
    "Tail",
    "check_buckets",
    "check_size",
    "read_from",
    "read_tail",
    "tail_of",
    "write_tail",
]

# How much is read before the schema block: an annex that has only checksums.
_ANNEX_BYTES = annex.size_of([annex.INTEGRITY_SIZE])


class Tail(NamedTuple):
    """The end of a file as read, from ``start`` on; only the footer is parsed."""

    footer: Footer
    data: memoryview
    start: int

    @property
    def before_schema(self) -> memoryview:
        """The bytes before the schema block, as far as they were read."""
        return self.data[: self.footer.schema_offset - self.start]

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
    """Read the end of a file, in one read, or in two if it is large.

    It also has the last bytes before the schema block, where the annex ends.
    """
    size = min(source.size, max(source.tail_bytes, FOOTER_SIZE))
    data = memoryview(source.read(source.size - size, size))
    footer = Footer.parse(data, source.size)
    return tail_of(source, footer, limits, data)


def tail_of(
    source: Source, footer: Footer, limits: Limits, known: memoryview | None = None
) -> Tail:
    """Read the end of a file whose footer, or more of its end, is known."""
    check_size("row group index", footer.index_size(source.size), limits)
    check_size("schema block", footer.schema_size, limits)
    data = memoryview(b"") if known is None else known
    start = source.size - len(data)
    wanted = read_from(footer)
    if wanted < start:
        head = source.read(wanted, start - wanted)
        data = memoryview(b"".join((head, data)))
        start = wanted
    return Tail(footer, data, start)


def read_from(footer: Footer) -> int:
    """Where the part of a file begins that is read when it is opened."""
    return max(0, footer.schema_offset - _ANNEX_BYTES)


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


class GuardedData(NamedTuple):
    """What the annex says about the buckets that were written, and metadata.

    Parameters
    ----------
    checksum : int
        CRC-32 of all bytes from the first bucket to the annex.
    bucket_checksums : sequence of int or None
        CRC-32 of each bucket of each row group, in files without compression.
    metadata : sequence of Body
        Sections with metadata.
    """

    checksum: int
    bucket_checksums: Sequence[int] | None
    metadata: Sequence[Body] = ()


def write_tail(
    sink: Sink,
    block: bytes,
    index: bytes,
    *,
    num_buckets: int,
    num_row_groups: int,
    compression: Compression,
    guarded: GuardedData | None,
) -> None:
    """Write the end of a file after its buckets: annex, schema block, index and footer.

    Without ``guarded`` there is no annex.
    """
    bodies: list[Body] = []
    annex_size = 0
    if guarded is not None:
        bodies += guarded.metadata
        if guarded.bucket_checksums:
            body = annex.emit_bucket_checksums(guarded.bucket_checksums)
            bodies.append(Body(SectionType.BUCKET_CHECKSUMS, body))
        sizes = [len(body.data) for body in bodies]
        annex_size = annex.size_of([*sizes, annex.INTEGRITY_SIZE])
    schema_offset = sink.position + annex_size
    index_offset = schema_offset + len(block)
    footer = Footer(index_offset, schema_offset, num_buckets, num_row_groups, compression).emit()
    if guarded is not None:
        # Last, so that it is near the end of the file.
        integrity = Integrity(guarded.checksum, crc32(block), crc32(index), crc32(footer))
        bodies.append(Body(SectionType.INTEGRITY, integrity.emit()))
        sink.write(annex.emit(bodies))
    sink.write(block)
    sink.write(index)
    sink.write(footer)
