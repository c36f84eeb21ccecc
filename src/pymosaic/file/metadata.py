"""The structure of a file: row groups, buckets, layouts, encodings, sizes. Decodes no values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from pymosaic.arrow.statistics import decode_value
from pymosaic.errors import ColumnNotFoundError, located
from pymosaic.file.open_file import OpenFile
from pymosaic.file.original_schema import OriginalSchema
from pymosaic.file.plan import BucketPlan
from pymosaic.file.projection import Positions
from pymosaic.file.row_group_reader import BucketLoader, RowGroupReader, Selection
from pymosaic.format.bucket import BucketPlace, Layout, buckets_of
from pymosaic.format.row_group_index import bucket_place, rows_of
from pymosaic.format.types import Encoding, TypeId
from pymosaic.suggestions import did_you_mean

__all__ = ["BucketMetadata", "ColumnMetadata", "FileMetadata", "RowGroupMetadata"]

# Precision of times, length of the others.
_TYPES_WITH_PARAMETER = (
    TypeId.CHAR,
    TypeId.VARCHAR,
    TypeId.BINARY,
    TypeId.VARBINARY,
    TypeId.TIME,
    TypeId.TIMESTAMP,
    TypeId.TIMESTAMP_LTZ,
)


@dataclass(frozen=True, slots=True)
class ColumnMetadata:
    """One physical column of a bucket.

    Parameters
    ----------
    name : str
        The column; for children of ARRAY and MAP, the column they belong to.
    is_child : bool
        Whether this is a child of an ARRAY or MAP; the column itself then stores lengths.
    encoding : str
        ``"PLAIN"``, ``"CONST"``, ``"DICT"`` or ``"ALL_NULL"``.
    num_values, null_count : int
        Number of rows (for a child: elements), and of nulls among them.
    dictionary_size : int
        Number of dictionary entries; 0 if there is no dictionary.
    raw_size : int
        Bytes before compression: values, dictionary and null bitmap.
    compressed_size : int or None
        Bytes on disk in a paged bucket; None if the bucket is compressed as a whole.
    """

    name: str
    is_child: bool
    encoding: str
    num_values: int
    null_count: int
    dictionary_size: int
    raw_size: int
    compressed_size: int | None


@dataclass(frozen=True, slots=True, repr=False)
class BucketMetadata:
    """One bucket of one row group.

    Parameters
    ----------
    first_column, num_columns : int
        Its columns, as positions in name order.
    """

    first_column: int
    num_columns: int
    _place: BucketPlace
    _file: OpenFile
    _row_group: int

    def __repr__(self) -> str:
        return (
            f"BucketMetadata(bucket={self.bucket}, layout={self.layout!r}, offset={self.offset}, "
            f"compressed_size={self.compressed_size}, raw_size={self.raw_size}, "
            f"first_column={self.first_column}, num_columns={self.num_columns})"
        )

    @property
    def bucket(self) -> int:
        """The number of the bucket."""
        return self._place.bucket

    @property
    def layout(self) -> Layout:
        """``"monolithic"``, ``"paged"``, or ``"missing"`` (not stored: all null)."""
        return self._place.layout

    @property
    def offset(self) -> int:
        """Offset in the file; 0 if the bucket is missing."""
        return self._place.offset

    @property
    def compressed_size(self) -> int:
        """Size in the file, in bytes."""
        return self._place.compressed_size

    @property
    def raw_size(self) -> int | None:
        """Size before compression; None for paged buckets, whose pages state their own."""
        return self._place.raw_size or None

    @property
    def column_names(self) -> list[str]:
        """Names of the columns in this bucket."""
        return self._file.catalog.names(self.first_column, self.first_column + self.num_columns)

    def columns(self) -> list[ColumnMetadata]:
        """Encodings and sizes of the columns. Reads the bucket."""
        with located(self._file.name):
            return self._read_columns()

    def dictionary(self, column: str) -> list[tuple[ColumnMetadata, pa.Array]]:
        """The dictionaries of a column, or its constants. Reads the bucket.

        Returns
        -------
        list of (ColumnMetadata, pyarrow.Array)
            One for the column (for an ARRAY or MAP: for its lengths), then one for each child, with
            the entries in stored order. A constant is one entry, and a column with another
            encoding has no entries.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> table = pa.table({"kind": ["b", "a", "b"] * 9})
        >>> pymosaic.write_table(table, "kinds.mosaic")
        >>> bucket = pymosaic.read_metadata("kinds.mosaic").row_group(0).bucket(0)
        >>> [(column, entries)] = bucket.dictionary("kind")
        >>> column.encoding, entries.to_pylist()
        ('DICT', ['b', 'a'])
        """
        with located(self._file.name):
            position = self._file.catalog.find(column)
            if not self.first_column <= position < self.first_column + self.num_columns:
                stop = self.first_column + self.num_columns
                hint = did_you_mean(column, self._file.catalog.names(self.first_column, stop))
                raise ColumnNotFoundError(
                    f"bucket {self.bucket} has no column named {column!r}{hint}"
                )
            return self._read_dictionary(column, np.array([position], np.int64))

    def _read_dictionary(
        self, column: str, positions: Positions
    ) -> list[tuple[ColumnMetadata, pa.Array]]:
        loader = self._loader(positions)
        sizes = loader.slot_sizes()
        loader.load()
        loader.decoder.locate_all()
        primary, first_child, last_child = loader.decoder.physical_range(int(positions[0]))
        kinds = _physical_types(Selection(self._file.catalog, positions).import_schema()[0].type)
        found = []
        for index, kind in zip((primary, *range(first_child, last_child)), kinds, strict=True):
            described = self._describe(loader, index, column, index != primary, sizes.get(index, 0))
            values = [decode_value(entry, kind) for entry in loader.decoder.entries(index)]
            found.append((described, pa.array(values, kind)))
        return found

    def _loader(self, positions: Positions) -> BucketLoader:
        plan = BucketPlan(self._place, positions, positions)
        return RowGroupReader(self._file, self._row_group, False).fetch([plan])[0]

    def _read_columns(self) -> list[ColumnMetadata]:
        if self.num_columns == 0:
            return []
        positions = np.arange(self.first_column, self.first_column + self.num_columns)
        loader = self._loader(positions)
        sizes = loader.slot_sizes()
        loader.load()
        loader.decoder.locate_all()
        described = []
        children = []
        for position, name in zip(positions, self.column_names, strict=True):
            primary, first_child, last_child = loader.decoder.physical_range(int(position))
            described.append((primary, name, False))
            children += [(index, name, True) for index in range(first_child, last_child)]
        return [
            self._describe(loader, index, name, is_child, sizes.get(index, 0))
            for index, name, is_child in described + children
        ]

    def _describe(
        self, loader: BucketLoader, index: int, name: str, is_child: bool, slot_size: int
    ) -> ColumnMetadata:
        encoding, _, rows, values, entries, size = loader.decoder.describe(index)
        return ColumnMetadata(
            name,
            is_child,
            Encoding(encoding).name,
            rows,
            rows - values,
            entries,
            size,
            slot_size if self.layout == "paged" else None,
        )


def _physical_types(kind: pa.DataType) -> list[pa.DataType]:
    """Arrow types of a column's physical columns: ARRAY and MAP store lengths, then children."""
    if pa.types.is_map(kind):
        return [pa.int32(), *_physical_types(kind.key_type), *_physical_types(kind.item_type)]
    if pa.types.is_list(kind):
        return [pa.int32(), *_physical_types(kind.value_type)]
    return [kind]


@dataclass(frozen=True, slots=True)
class RowGroupMetadata:
    """One row group; see :meth:`bucket`."""

    num_rows: int
    num_buckets: int
    _file: OpenFile = field(repr=False)
    _row_group: int = field(repr=False)

    def bucket(self, bucket: int) -> BucketMetadata:
        """A bucket by number, stored or not."""
        first, last = self._file.catalog.bucket_range(bucket)
        place = bucket_place(self._file.index, self._row_group, bucket)
        return BucketMetadata(first, last - first, place, self._file, self._row_group)

    def buckets(self) -> Iterator[BucketMetadata]:
        """All buckets, ordered by number."""
        return (self.bucket(bucket) for bucket in range(self.num_buckets))

    @property
    def compressed_size(self) -> int:
        """Total size of all buckets on disk."""
        return self._file.index.compressed_size(self._row_group)

    @property
    def num_statistics(self) -> int:
        """Number of columns that have statistics."""
        return len(self._file.index.statistics(self._row_group))


class FileMetadata:
    """The structure of a file.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table({"id": range(100), "kind": ["a", "b"] * 50, "note": [None] * 100})
    >>> pymosaic.write_table(table, "small.mosaic", num_buckets=1)
    >>> metadata = pymosaic.read_metadata("small.mosaic")
    >>> bucket = metadata.row_group(0).bucket(0)
    >>> bucket.layout
    'monolithic'
    >>> [(column.name, column.encoding) for column in bucket.columns()]
    [('id', 'PLAIN'), ('kind', 'DICT'), ('note', 'ALL_NULL')]
    """

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    def __repr__(self) -> str:
        return (
            f"<pymosaic.FileMetadata: {self.num_rows} rows, {self.num_columns} columns, "
            f"{self.num_row_groups} row groups, {self.num_buckets} buckets, "
            f"{self.compression}, {self.file_size} bytes>"
        )

    def _repr_html_(self) -> str:
        from pymosaic.notebook import facts_html

        return facts_html(
            f"Metadata of {self._file.name or 'a file in memory'}",
            [
                ("rows", f"{self.num_rows:,}"),
                ("columns", f"{self.num_columns:,}"),
                ("row groups", f"{self.num_row_groups:,} of {self.num_buckets:,} buckets"),
                ("size", f"{self.file_size:,} bytes, {self.compression}"),
                *((f"user metadata, {key}", value[:200]) for key, value in self.user.items()),
            ],
        )

    @property
    def num_rows(self) -> int:
        """Number of rows in all row groups."""
        return self._file.index.num_rows

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return self._file.catalog.num_columns

    @property
    def num_row_groups(self) -> int:
        """Number of row groups."""
        return self._file.index.num_row_groups

    @property
    def num_buckets(self) -> int:
        """Number of buckets."""
        return self._file.catalog.num_buckets

    @property
    def compression(self) -> str:
        """``"zstd"`` or ``"none"``."""
        return self._file.compression.name

    @property
    def name_encoding(self) -> str:
        """``"bpe"`` (byte pairs and front coding) or ``"front"`` (front coding)."""
        return "bpe" if self._file.catalog.name_encoding else "front"

    @property
    def file_size(self) -> int:
        """Size of the file in bytes."""
        return self._file.size

    @property
    def schema_block_size(self) -> int:
        """Size of the schema block on disk."""
        return self._file.footer.schema_size

    @property
    def schema_offset(self) -> int:
        """Offset of the schema block, after the last bucket."""
        return self._file.footer.schema_offset

    @property
    def annex_offset(self) -> int | None:
        """Offset of the annex, before the schema block; None if there is none."""
        annex = self._file.annex
        return None if annex is None else annex.start

    @property
    def annex_size(self) -> int:
        """Size of the annex in bytes; 0 if there is none."""
        annex = self._file.annex
        return 0 if annex is None else annex.size

    @property
    def guarded(self) -> bool:
        """Whether checksums cover schema block, index and footer, which were compared at opening.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"age": [31]}), "one.mosaic")
        >>> pymosaic.read_metadata("one.mosaic").guarded
        True
        """
        return self._file.guarded

    @property
    def user(self) -> dict[str, str]:
        """The keys and values that were given to the writer.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"age": [31]}), "one.mosaic", metadata={"source": "a"})
        >>> pymosaic.read_metadata("one.mosaic").user
        {'source': 'a'}
        """
        with located(self._file.name):
            return dict(OriginalSchema(self._file).key_values.user)

    @property
    def index_offset(self) -> int:
        """Offset of the row group index, after the schema block."""
        return self._file.footer.index_offset

    @property
    def index_size(self) -> int:
        """Size of the row group index in bytes."""
        return self._file.index_bytes

    def column_bucket(self, name: str) -> int:
        """The number of the bucket that contains a column."""
        return int(buckets_of(self._file.catalog, np.array([self._position(name)]))[0])

    def _position(self, name: str) -> int:
        position = self._file.catalog.find(name)
        if position < 0:
            hint = did_you_mean(name, self._file.catalog.names())
            raise ColumnNotFoundError(f"no column is named {name!r}{hint}")
        return position

    def column_type(self, name: str) -> str:
        """The declared type of a column, such as ``"DECIMAL(20, 0) NOT NULL"``."""
        return _type_text(*self._file.catalog.type_of(self._position(name)))

    def column_types(self) -> list[str]:
        """The declared types of all columns, in the order in which they were written.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"b": [31], "a": ["x"]}), "two.mosaic")
        >>> pymosaic.read_metadata("two.mosaic").column_types()
        ['BIGINT', 'STRING']
        """
        catalog = self._file.catalog
        texts: dict[tuple[int, bool, int, int], str] = {}
        found = []
        for position in catalog.original_order().tolist():
            kind = catalog.type_of(position)
            text = texts.get(kind)
            if text is None:
                text = texts[kind] = _type_text(*kind)
            found.append(text)
        return found

    def column_buckets(self) -> list[int]:
        """The bucket numbers of all columns, in the order in which they were written.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"b": [31], "a": ["x"]}), "two.mosaic", num_buckets=2)
        >>> pymosaic.read_metadata("two.mosaic").column_buckets()
        [1, 0]
        """
        catalog = self._file.catalog
        buckets: list[int] = buckets_of(catalog, catalog.original_order()).tolist()
        return buckets

    def row_group(self, row_group: int) -> RowGroupMetadata:
        """A row group by number."""
        return RowGroupMetadata(
            rows_of(self._file.index, row_group), self.num_buckets, self._file, row_group
        )

    def row_groups(self) -> Iterator[RowGroupMetadata]:
        """All row groups."""
        return (self.row_group(index) for index in range(self.num_row_groups))


def _type_text(type_id: int, nullable: bool, parameter: int, scale: int) -> str:
    """A type as it is declared: ``"DECIMAL(20, 0) NOT NULL"``."""
    text = TypeId(type_id).name
    if type_id == TypeId.DECIMAL:
        text += f"({parameter}, {scale})"
    elif type_id in _TYPES_WITH_PARAMETER:
        text += f"({parameter})"
    return text if nullable else f"{text} NOT NULL"
