"""What columns take in files, and how columns are grouped."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pymosaic.cli.names import prefixes

if TYPE_CHECKING:
    from pymosaic.file.reader import MosaicFile

__all__ = ["By", "ColumnSize", "add_column_sizes", "added", "grouped"]


class By(enum.StrEnum):
    """What sizes are summed up by."""

    COLUMN = "column"
    PREFIX = "prefix"
    TYPE = "type"
    ENCODING = "encoding"
    BUCKET = "bucket"


@dataclass(slots=True)
class ColumnSize:
    """The size of a column in one or more files, or of a group of columns.

    ``raw_bytes`` is None if a file does not tell it: Lance files do not.
    """

    name: str
    type: str = ""
    bucket: int | None = None
    num_columns: int = 1
    num_bytes: int = 0
    raw_bytes: int | None = 0
    exact: bool = True
    encodings: dict[str, int] = field(default_factory=dict)


def add_column_sizes(
    sizes: dict[str, ColumnSize], file: MosaicFile, names: list[str] | None
) -> None:
    """Add the sizes of a file's columns. Reads the buckets.

    In a paged bucket the size is exact. Other buckets are compressed as a whole: a column's size is
    then estimated from its share of the uncompressed bytes.
    """
    from pymosaic.cli.inputs import columns_by_bucket

    metadata = file.metadata
    wanted = None if names is None else set(names)
    for name, kind, bucket in zip(
        file.column_names, metadata.column_types(), metadata.column_buckets(), strict=True
    ):
        if wanted is not None and name not in wanted:
            continue
        known = sizes.setdefault(name, ColumnSize(name, kind, bucket))
        if known.bucket != bucket:
            known.bucket = None  # files of a dataset may differ
    buckets = list(columns_by_bucket(file, names))
    for row_group in metadata.row_groups():
        for number in buckets:
            bucket_metadata = row_group.bucket(number)
            described = bucket_metadata.columns()
            whole = sum(column.raw_size for column in described)
            for column in described:
                size = sizes.get(column.name)
                if size is None:
                    continue
                size.raw_bytes = added(size.raw_bytes, column.raw_size)
                stored = 0
                if column.compressed_size is not None:
                    stored = column.compressed_size
                elif whole:
                    stored = round(bucket_metadata.compressed_size * column.raw_size / whole)
                    size.exact = size.exact and bucket_metadata.num_columns == 1
                size.num_bytes += stored
                encoding = str(column.encoding)
                size.encodings[encoding] = size.encodings.get(encoding, 0) + stored


def added(size: int | None, more: int | None) -> int | None:
    """The sum of two sizes, which is unknown if one of them is."""
    return None if size is None or more is None else size + more


def grouped(sizes: Iterable[ColumnSize], by: By) -> list[ColumnSize]:
    """Columns of a prefix, type, encoding or bucket summed up."""
    columns = list(sizes)
    if by is By.COLUMN:
        return columns
    groups: dict[str, ColumnSize] = {}

    def add(key: str, num_bytes: int, raw_bytes: int | None, exact: bool) -> None:
        group = groups.setdefault(key, ColumnSize(key, num_columns=0))
        group.num_columns += 1
        group.num_bytes += num_bytes
        group.raw_bytes = added(group.raw_bytes, raw_bytes)
        group.exact = group.exact and exact

    found = prefixes([column.name for column in columns]) if by is By.PREFIX else []
    for index, column in enumerate(columns):
        if by is By.ENCODING:
            # A column may have several, one in each row group.
            for encoding, stored in column.encodings.items():
                share = stored / column.num_bytes if column.num_bytes else 1 / len(column.encodings)
                raw = None if column.raw_bytes is None else round(column.raw_bytes * share)
                add(encoding, stored, raw, column.exact)
            continue
        if by is By.PREFIX:
            key = found[index]
        elif by is By.TYPE:
            key = column.type
        else:
            key = "several" if column.bucket is None else str(column.bucket)
        add(key, column.num_bytes, column.raw_bytes, column.exact)
    return list(groups.values())
