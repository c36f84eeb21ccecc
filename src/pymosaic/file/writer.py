"""Writing: buffer batches into row groups, encode and compress buckets, commit at the end.

::

    Arrow stream ─► row group buffer ─► bucket encode (kernel) ─► zstd ─► sink
    close: schema block, index, footer, then the sink makes the file visible
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Unpack, cast
from zlib import crc32

import numpy as np
import pyarrow as pa

from pymosaic.arrow.input import ArrowData, batches_of, open_data
from pymosaic.arrow.structs import Flattening, check_separator
from pymosaic.arrow.types import check_durations, duration_units, refuse_type
from pymosaic.closing import Closing
from pymosaic.errors import ClosedError, InvalidDataError, InvalidOptionError
from pymosaic.file.options import (
    WRITER_OPTIONS,
    CompressionName,
    WriterKeywords,
    WriterOptions,
)
from pymosaic.file.projection import Names, resolve_columns
from pymosaic.file.schema_recorder import SchemaRecorder, check_user_metadata
from pymosaic.file.tail import GuardedData, write_tail
from pymosaic.format import bucket as bucket_format
from pymosaic.format import row_group_index, schema_block
from pymosaic.format.bucket import BucketPlace, EncodedBucket, starts_of
from pymosaic.io import SinkLike, open_sink
from pymosaic.io.missing import told_if_missing
from pymosaic.kernels import schema_content
from pymosaic.kernels.arrow_source import ArrowSource, bind, catalog_from_arrow
from pymosaic.kernels.batch_size import measure
from pymosaic.kernels.bucket_encoder import BucketEncoder
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.column_statistics import statistics
from pymosaic.kernels.row_group_buffer import RowGroupBuffer
from pymosaic.keywords import checked_keywords
from pymosaic.limits import DEFAULT_LIMITS
from pymosaic.suggestions import quote
from pymosaic.threads import num_threads, ordered_map

__all__ = ["MosaicWriter", "check_writable", "write_table"]

_U32_MAX = (1 << 32) - 1
# The compression ratio assumed at first, and the size assumed for the end of the file.
_EXPECTED_ZSTD_RATIO = 0.3
_EXPECTED_TAIL_BYTES = 1024
# Below this many values, threads cost more than they save.
_WORTH_A_THREAD = 1 << 17
# From this many serialised bytes of a row group on, memory that is free goes back to the system.
_WORTH_RETURNING = 16 << 20


class MosaicWriter(Closing):
    """Writes a Mosaic file batch by batch.

    The file appears when the writer is closed, whole or not at all: a local file is written
    beside its target and renamed. An exception inside the ``with`` block, or a batch that cannot
    be written, aborts the writer: no file appears, and an existing one stays. Types and names are
    checked when the writer is opened, values (nulls in NOT NULL columns, times finer than a
    millisecond) when their batch is written.

    Parameters
    ----------
    where : str, path-like or binary file object
        A path, a URI, or an open file (written in order and left open).
    schema : pyarrow.Schema
        Columns to write; batches are matched with it by column name.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``where``, which must then be a path.
    metadata : dict of str, optional
        Keys and values to store in the file; see :attr:`pymosaic.FileMetadata.user`.
    flatten : str, optional
        Make columns of the fields of structs; see :func:`write_table`.
    **options
        The options of :func:`write_table`.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> schema = pa.schema({"id": pa.int64(), "name": pa.string()})
    >>> with pymosaic.MosaicWriter("log.mosaic", schema) as writer:
    ...     for start in (0, 10):
    ...         ids = range(start, start + 10)
    ...         writer.write(pa.table({"name": [f"n{i}" for i in ids], "id": ids}))
    >>> pymosaic.read_table("log.mosaic").num_rows
    20
    """

    @checked_keywords(*WRITER_OPTIONS)
    def __init__(
        self,
        where: SinkLike,
        schema: pa.Schema,
        *,
        filesystem: object = None,
        metadata: Mapping[str, str] | None = None,
        flatten: str | None = None,
        **options: Unpack[WriterKeywords],
    ) -> None:
        self._closed_because: str | None = "it could not be opened"
        self._aborted_by_error = False
        self._options = WriterOptions(**cast("dict[str, Any]", options))
        user = check_user_metadata(metadata, self._options.checksum)
        if not isinstance(schema, pa.Schema):
            try:
                schema = pa.schema(schema)
            except (TypeError, pa.ArrowInvalid) as error:
                raise InvalidDataError(
                    f"schema must be a pyarrow.Schema, got {schema!r} ({error})"
                ) from error
        check_separator(flatten)
        self._given = schema
        self._flattening = None if flatten is None else Flattening(schema, flatten)
        if self._flattening is not None:
            schema = self._flattening.schema
        self._schema = schema
        _check_names(schema.names)
        num_columns = len(self._schema)
        unusual: list[int] = []
        self._catalog = catalog_from_arrow(
            self._schema, self._options.bucket_count(num_columns), unusual
        )
        # A type that is not plain may contain durations, whose unit only the annex tells.
        durations = [field for field in map(schema.field, unusual) if duration_units(field.type)]
        if durations and not self._options.checksum:
            refuse_type(durations[0].name, durations[0].type)
        self._has_durations = bool(durations)
        self._statistics = _statistics_positions(self._options, self._catalog, self._schema)
        self._compressor = self._options.codec.compressor(
            self._options.compression_level, self._options.checksum
        )
        self._bitmap_bytes_per_row = self._count_bitmap_bytes()
        self._rows = RowGroupBuffer(self._catalog)
        self._bitmap_bytes = 0
        self._index = bytearray()
        self._num_row_groups = 0
        self._data_checksum = 0
        # Without compression no other checksum covers the values.
        guards_buckets = self._options.checksum and self._options.codec.is_plain
        self._bucket_checksums = array("I") if guards_buckets else None
        self._raw_bytes = self._compressed_bytes = 0
        self._recorder = (
            SchemaRecorder(schema, self._catalog, unusual, user) if self._options.checksum else None
        )
        self._source: tuple[pa.Schema, ArrowSource] | None = None
        with told_if_missing(where):
            self._sink = open_sink(where, filesystem)
        self._start = self._sink.position
        self._closed_because = None

    def _count_bitmap_bytes(self) -> int:
        catalog = self._catalog
        if catalog.num_columns == 0:
            return 0
        starts = starts_of(catalog, np.arange(catalog.num_buckets + 1))
        return int(np.sum((np.diff(starts) + 7) // 8))

    @property
    def schema(self) -> pa.Schema:
        """The schema that batches must have."""
        return self._given

    @property
    def estimated_size(self) -> int:
        """Estimated size of the file if the writer were closed now."""
        ratio = self.compression_ratio
        if ratio is None:
            ratio = _EXPECTED_ZSTD_RATIO
        return self.written_bytes + int(self.buffered_bytes * ratio) + _EXPECTED_TAIL_BYTES

    @property
    def compression_ratio(self) -> float | None:
        """Compressed size divided by serialised size so far; None before the first row group."""
        if self._options.codec.is_plain:
            return 1.0
        return self._compressed_bytes / self._raw_bytes if self._raw_bytes else None

    @property
    def written_bytes(self) -> int:
        """Number of bytes written so far; after ``close``, the file size."""
        return self._sink.position - self._start

    @property
    def buffered_bytes(self) -> int:
        """Serialised size of the buffered rows."""
        return self._rows.serialised_bytes + self._bitmap_bytes

    def write(self, data: ArrowData) -> None:
        """Append rows.

        Parameters
        ----------
        data : pyarrow.Table, RecordBatch, RecordBatchReader, or Arrow stream or array object
            Its columns may be in any order.
        """
        self._check_open()
        with _Aborting(self):
            for batch in batches_of(open_data(data, self._given)):
                self._append(
                    batch if self._flattening is None else self._flattening.flattened(batch)
                )

    def end_row_group(self) -> None:
        """Write the buffered rows as a row group of their own."""
        self._check_open()
        with _Aborting(self):
            self._flush()

    def _append(self, batch: pa.RecordBatch) -> None:
        source = self._bind(batch.schema)
        if self._recorder is not None:
            self._recorder.add(batch)
        num_rows = batch.num_rows
        if num_rows == 0:
            return
        # The kernel trusts that an Arrow array's buffers are as long as its length implies.
        try:
            batch.validate()
        except pa.ArrowInvalid as error:
            raise InvalidDataError(f"the data is not valid Arrow: {error}") from error
        # The schema that comes with it is dropped here, so that the rows take its memory.
        capsule = batch.__arrow_c_array__()[1]
        pieces = self._options.pieces(*measure(source, capsule))
        step = num_rows
        if pieces > 1:
            self._flush()
            # Whole bytes of validity bitmaps are faster to copy.
            step = max(1, -(-num_rows // pieces // 8)) * 8
        most = self._options.row_group_rows or _U32_MAX
        start = 0
        while start < num_rows:
            count = min(step, num_rows - start, most - self._rows.num_rows)
            self._append_rows(source, capsule, start, count)
            start += count
            if start == num_rows:
                # Arrow's description of a wide batch takes memory that encoding needs.
                del capsule
            is_full = self._rows.num_rows == most
            if is_full or pieces > 1 or self.buffered_bytes >= self._options.row_group_bytes:
                self._flush()

    def _append_rows(self, source: ArrowSource, capsule: object, start: int, count: int) -> None:
        """Copy some rows of a batch into the row group, with columns distributed over threads."""
        num_columns = self._catalog.num_columns
        parts = min(4 * num_threads(), num_columns * count // _WORTH_A_THREAD)
        step = -(-num_columns // max(1, parts)) or 1

        def append(first: int) -> None:
            last = min(first + step, num_columns)
            self._rows.append(source, capsule, first, last, start, count)

        for _ in ordered_map(
            append, range(0, num_columns, step), self._options.use_threads and parts > 1
        ):
            pass
        self._rows.add_rows(count)
        self._bitmap_bytes += count * self._bitmap_bytes_per_row

    def _bind(self, schema: pa.Schema) -> ArrowSource:
        if self._source is not None and self._source[0].equals(schema):
            return self._source[1]
        source = bind(schema, self._catalog, self._schema)
        if self._has_durations or source.has_durations:
            check_durations(schema, self._schema)
        self._source = schema, source
        return source

    def _flush(self) -> None:
        """Write the buffered rows as a row group."""
        rows = self._rows
        if rows.num_rows == 0:
            return
        if self._num_row_groups == 0 and self._options.num_buckets == "auto":
            self._catalog.spread_over(
                self._options.bucket_count(self._catalog.num_columns, self.buffered_bytes)
            )
        stored_statistics = [
            # Without checksums the file equals the reference's byte for byte, even with NaN.
            (position, statistics(rows, position, not self._options.checksum))
            for position in self._statistics
        ]
        if self.buffered_bytes >= _WORTH_RETURNING:
            # What Arrow's description of a wide batch took is free now, but still the process's;
            # compression needs as much. This takes 0.3 ms.
            pa.system_memory_pool().release_unused()
        places = []
        num_buckets = self._catalog.num_buckets if self._catalog.num_columns else 0
        encoded = ordered_map(self._encode_bucket, range(num_buckets), self._options.use_threads)
        for bucket, content in enumerate(encoded):
            offset = self._sink.position
            for piece in content.pieces:
                self._sink.write(piece)
            self._guard(content)
            size = self._sink.position - offset
            _check_u32("a bucket", size)
            places.append(BucketPlace(bucket, offset, size, content.raw_size))
            self._raw_bytes += content.content_size
            self._compressed_bytes += size
        if num_buckets == 0 and self._bucket_checksums is not None:
            # A file without columns has one bucket, which is never stored.
            self._bucket_checksums.append(0)
        self._index += row_group_index.emit_row_group(rows.num_rows, places, stored_statistics)
        self._num_row_groups += 1
        self._rows = RowGroupBuffer(self._catalog)
        self._bitmap_bytes = 0

    def _guard(self, content: EncodedBucket) -> None:
        """Add a bucket that was written to the checksums of the annex."""
        if self._options.checksum:
            for piece in content.pieces:
                self._data_checksum = crc32(piece, self._data_checksum)
        if self._bucket_checksums is not None:
            # Without compression a bucket is one piece.
            [piece] = content.pieces
            self._bucket_checksums.append(crc32(piece))

    def _encode_bucket(self, bucket: int) -> EncodedBucket:
        options = self._options
        encoder = BucketEncoder(
            self._rows, bucket, options.max_dict_entries, options.max_dict_bytes
        )
        return bucket_format.emit(encoder, self._compressor, options.page_size_threshold)

    def close(self) -> None:
        """Write buffered rows and the end of the file, and make the file visible."""
        if self._closed_because == "it is closed":
            return
        self._check_open()
        with _Aborting(self):
            self._flush()
            write_tail(
                self._sink,
                schema_block.emit(schema_content.emit(self._catalog), self._compressor),
                bytes(self._index),
                num_buckets=self._catalog.num_buckets,
                num_row_groups=self._num_row_groups,
                compression=self._options.codec,
                guarded=self._guarded(),
            )
            self._sink.commit()
            self._closed_because = "it is closed"

    def _guarded(self) -> GuardedData | None:
        if not self._options.checksum:
            return None
        bodies = [] if self._recorder is None else self._recorder.bodies()
        return GuardedData(self._data_checksum, self._bucket_checksums, bodies)

    def abort(self) -> None:
        """Discard the file; an existing one stays. Safe to call at any time."""
        if self._closed_because is None:
            self._abort("it was aborted")

    def _abort(self, reason: str) -> None:
        self._closed_because = reason
        self._rows = RowGroupBuffer(self._catalog)
        self._sink.abort()

    def _check_open(self) -> None:
        if self._closed_because is not None:
            raise ClosedError(f"the writer cannot be used: {self._closed_because}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.abort()
        elif self._aborted_by_error:
            # A caller that swallowed the error must not believe that the file was written.
            self._check_open()
        elif self._closed_because is None:
            self.close()

    def __del__(self) -> None:
        # A writer dropped without close() leaves nothing behind.
        if getattr(self, "_closed_because", "") is None:
            self.abort()


class _Aborting:
    """Aborts the writer if anything is raised in the block, even a KeyboardInterrupt."""

    def __init__(self, writer: MosaicWriter) -> None:
        self._writer = writer

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None and self._writer._closed_because is None:
            self._writer._aborted_by_error = True
            self._writer._abort(f"an error aborted it: {error!r}")


@checked_keywords(*WRITER_OPTIONS)
def check_writable(schema: pa.Schema, **options: Any) -> None:
    """Check a schema and options as a writer would, without opening one."""
    parsed = WriterOptions(**options)
    _check_names(schema.names)
    catalog = catalog_from_arrow(schema, parsed.bucket_count(len(schema)))
    _statistics_positions(parsed, catalog, schema)


def _statistics_positions(options: WriterOptions, catalog: Catalog, schema: pa.Schema) -> list[int]:
    wanted = options.statistics
    if not wanted:
        return []
    if isinstance(wanted, bool):
        return [
            position for position in range(catalog.num_columns) if catalog.has_statistics(position)
        ]
    positions: list[int] = []
    for name in wanted:
        position = catalog.find(name)
        if position >= 0:
            positions.append(position)
        else:
            positions.extend(resolve_columns([name], catalog, "statistics").tolist())
    for position in positions:
        if not catalog.has_statistics(position):
            name = catalog.name(position)
            raise InvalidOptionError(
                f"statistics: column {name!r} of type {schema.field(name).type} cannot "
                "have any (nor can binary, decimals above 18 digits, lists or maps)"
            )
    return sorted(positions)


def _check_names(names: list[str]) -> None:
    """Refuse names that readers would refuse."""
    limits = DEFAULT_LIMITS
    # A character takes four bytes at most, and few names are anywhere near that long.
    if 4 * max(map(len, names), default=0) > limits.max_name_bytes:
        for name in names:
            size = len(name.encode("utf-8", "surrogatepass"))
            if size > limits.max_name_bytes:
                raise InvalidDataError(
                    f"the name of column {quote(name)} has {size} bytes; readers take "
                    f"{limits.max_name_bytes} (Limits.max_name_bytes)"
                )
    if 4 * sum(map(len, names)) > limits.max_names_bytes:
        total = sum(len(name.encode("utf-8", "surrogatepass")) for name in names)
        if total > limits.max_names_bytes:
            raise InvalidDataError(
                f"the names of all columns have {total} bytes; readers take "
                f"{limits.max_names_bytes} (Limits.max_names_bytes)"
            )


def _check_u32(what: str, size: int) -> None:
    if size > _U32_MAX:
        raise InvalidDataError(f"{what} of {size} bytes exceeds the format's maximum of 4 GiB")


@checked_keywords()
def write_table(
    table: ArrowData,
    where: SinkLike,
    *,
    compression: CompressionName | None = "zstd",
    compression_level: int = 1,
    num_buckets: int | Literal["auto"] | None = None,
    row_group_bytes: int = 256 << 20,
    row_group_rows: int | None = None,
    max_dict_entries: int = 255,
    max_dict_bytes: int = 32 << 10,
    page_size_threshold: int = 32 << 10,
    statistics: bool | Names | None = None,
    checksum: bool = True,
    use_threads: bool = True,
    split_batches: bool | None = None,
    metadata: Mapping[str, str] | None = None,
    flatten: str | None = None,
    filesystem: object = None,
) -> None:
    """Write a table as a Mosaic file.

    Parameters
    ----------
    table : pyarrow.Table, RecordBatch, RecordBatchReader, or Arrow stream or array object
        The data to write; also a Polars or pandas DataFrame, or a DuckDB relation.
    where : str, path-like or binary file object
        A path, a URI, or an open file (written in order and left open).
    compression : {"zstd", "none"}
        Compression of buckets and schema.
    compression_level : int
        zstd level, from -131072 (fastest) to 22 (smallest).
    num_buckets : int or "auto", optional
        Number of buckets that columns are spread over; 100 by default, never more than columns.
        "auto" makes one per MiB of the first row group's values, and at least 10.
    row_group_bytes : int
        A row group ends with the batch that brings its serialised values to this size; for much
        larger batches, see ``split_batches``.
    row_group_rows : int, optional
        Maximum number of rows in a row group; batches are split and joined to reach it.
    max_dict_entries, max_dict_bytes : int
        Maximum entries and size of a dictionary; the size applies to strings, binary, large
        decimals and nanosecond timestamps.
    page_size_threshold : int
        Buckets whose columns are at least this large on average are compressed column by column.
    statistics : bool or list of str, optional
        Columns (names or patterns) for which each row group stores null count, minimum and
        maximum; True for all columns that can have them.
    checksum : bool
        Add a checksum to every zstd frame, and an annex with those of all other structures, so that
        damage is detected on reading. Without, the file equals what the reference implementation
        writes byte for byte, including statistics that its way of comparing NaN makes unreliable
        (this package ignores them when reading).
    use_threads : bool
        Encode and compress buckets on several threads.
    split_batches : bool, optional
        Whether a batch of several times ``row_group_bytes`` becomes several row groups, so that
        memory stays bounded when writing and reading. By default batches of about a GiB, or with
        a column of about 256 MiB, are split; with ``checksum=False`` none are, as in the
        reference implementation.
    metadata : dict of str, optional
        Keys and values to store in the file; see :attr:`pymosaic.FileMetadata.user`.
    flatten : str, optional
        Make columns of the fields of structs, with this between the names: with ``"."`` a struct
        ``place`` of ``x`` and ``y`` becomes the columns ``place.x`` and ``place.y``.
        :func:`pymosaic.read_table` gives structs back, unless ``checksum=False``; a struct whose
        fields are all null comes back as null if the column may have nulls.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``where``, which must then be a path.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table({"city": ["Oslo", "Rome"], "temp": [3, 17]})
    >>> pymosaic.write_table(table, "cities.mosaic", compression_level=9, statistics=["temp"])
    """
    data = open_data(table)
    with MosaicWriter(
        where,
        data.schema,
        filesystem=filesystem,
        metadata=metadata,
        flatten=flatten,
        compression=compression,
        compression_level=compression_level,
        num_buckets=num_buckets,
        row_group_bytes=row_group_bytes,
        row_group_rows=row_group_rows,
        max_dict_entries=max_dict_entries,
        max_dict_bytes=max_dict_bytes,
        page_size_threshold=page_size_threshold,
        statistics=statistics,
        checksum=checksum,
        use_threads=use_threads,
        split_batches=split_batches,
    ) as writer:
        writer.write(data)
