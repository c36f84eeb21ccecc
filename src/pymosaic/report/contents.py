"""The contents of a page: a file's metadata, statistics and first values.

Of a file with very many row groups, only some are shown, evenly spread, so that the page stays
small enough to open. The page says which ones it shows.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pymosaic.errors import UnsupportedFeatureError
from pymosaic.file.metadata import BucketMetadata, ColumnMetadata
from pymosaic.file.reader import MosaicFile, opened
from pymosaic.file.tail import read_from
from pymosaic.format.footer import FOOTER_SIZE
from pymosaic.format.types import Encoding
from pymosaic.io.source import (
    LOCAL_MERGE_GAP,
    LOCAL_TAIL_BYTES,
    MAX_MERGED_BYTES,
    REMOTE_MERGE_GAP,
    REMOTE_TAIL_BYTES,
)
from pymosaic.report.parquet_footer import measure_footer
from pymosaic.report.payload import Numbers
from pymosaic.report.values import Samples, merge_statistics, take_samples

__all__ = ["collect"]

_MAX_COLUMNS = 1_000_000
# Maximum of what is described: columns times row groups, and bytes of buckets.
_MAX_CELLS = 2_000_000
_MAX_DESCRIBED_BYTES = 4 << 30
_MAX_TYPE_CHARACTERS = 120
_ENCODINGS = {encoding.name: int(encoding) for encoding in Encoding}


def collect(
    file: MosaicFile, samples: int, title: str | None
) -> tuple[dict[str, Any], dict[str, Numbers]]:
    """The document and arrays of a page; see :mod:`pymosaic.report.payload`."""
    metadata = file.metadata
    head = opened(file)
    if metadata.num_columns > _MAX_COLUMNS:
        raise UnsupportedFeatureError(
            f"the file has {metadata.num_columns} columns; a page shows at most {_MAX_COLUMNS}",
            head.name,
        )
    catalog = head.catalog
    names = catalog.names()
    shown = _shown_row_groups(file)
    cells = _Cells(len(shown), len(names), metadata.num_buckets)
    for place, row_group in enumerate(shown):
        for bucket in metadata.row_group(row_group).buckets():
            cells.add(place, bucket)
    lows, highs, with_statistics = merge_statistics(file, shown, names)
    sampled = take_samples(file, shown, samples)
    type_names, types = _types(file, names)
    document = {
        "title": title if title is not None else _file_name(head.name),
        "file": {
            "size": metadata.file_size,
            "rows": metadata.num_rows,
            "columns": metadata.num_columns,
            "buckets": metadata.num_buckets,
            "rowGroups": metadata.num_row_groups,
            "compression": metadata.compression,
            "nameEncoding": metadata.name_encoding,
            "openOffset": read_from(head.footer),
            "annexOffset": metadata.annex_offset,
            "annexSize": metadata.annex_size,
            "schemaOffset": metadata.schema_offset,
            "indexOffset": metadata.index_offset,
            "footerSize": FOOTER_SIZE,
        },
        "shown": shown,
        "shownRows": [metadata.row_group(row_group).num_rows for row_group in shown],
        "names": names,
        "typeNames": type_names,
        "encodings": [encoding.name for encoding in Encoding],
        "minimum": lows,
        "maximum": highs,
        "withStatistics": with_statistics,
        "samples": sampled.texts,
        "parquet": _parquet(sampled, names),
        "access": {
            "local": [LOCAL_TAIL_BYTES, LOCAL_MERGE_GAP],
            "remote": [REMOTE_TAIL_BYTES, REMOTE_MERGE_GAP],
            "opened": "remote" if head.source.tail_bytes == REMOTE_TAIL_BYTES else "local",
            "maxMerged": MAX_MERGED_BYTES,
        },
    }
    arrays = {"types": types, "order": catalog.original_order().astype(np.uint64)}
    return document, arrays | cells.arrays()


def _file_name(source_name: str | None) -> str:
    """The last part of a path or URI: pages are shared, but directories are private."""
    if not source_name:
        return "a file in memory"
    return os.path.basename(source_name.rstrip("/")) or source_name


def _shown_row_groups(file: MosaicFile) -> list[int]:
    total = file.num_row_groups
    if total == 0:
        return []
    per_row_group = max(opened(file).catalog.num_nodes, file.num_buckets, 1)
    bytes_per_row_group = max(file.metadata.schema_offset // total, 1)
    count = max(
        1, min(total, _MAX_CELLS // per_row_group, _MAX_DESCRIBED_BYTES // bytes_per_row_group)
    )
    if count == total:
        return list(range(total))
    spread = np.unique(np.linspace(0, total - 1, count).round().astype(np.int64))
    return [int(row_group) for row_group in spread]


def _types(file: MosaicFile, names: list[str]) -> tuple[list[str], Numbers]:
    """The distinct types, and for each column the number of its type."""
    known: dict[str, int] = {}
    types = np.zeros(len(names), np.uint64)
    metadata = file.metadata
    schema = file.schema
    places = np.empty(len(names), np.int64)
    places[opened(file).catalog.original_order()] = np.arange(len(names))
    for position, name in enumerate(names):
        text = metadata.column_type(name)
        if text.startswith(("ARRAY", "MAP")):
            text = f"{text} {schema.field(int(places[position])).type}"[:_MAX_TYPE_CHARACTERS]
        types[position] = known.setdefault(text, len(known))
    return list(known), types


def _parquet(sampled: Samples, names: list[str]) -> dict[str, int]:
    footer = measure_footer(sampled.head, names)
    return {
        "schemaBytes": footer.schema_bytes,
        "rowGroupBytes": footer.row_group_bytes,
        "measuredColumns": footer.measured_columns,
    }


class _Cells:
    """Collects arrays of facts per row group and bucket, and per row group and column."""

    def __init__(self, num_shown: int, num_columns: int, num_buckets: int) -> None:
        def zeros(*shape: int) -> Numbers:
            return np.zeros(shape, np.uint64)

        self.offset = zeros(num_shown, num_buckets)
        self.size = zeros(num_shown, num_buckets)
        self.raw_size = zeros(num_shown, num_buckets)
        self.encoding = zeros(num_shown, num_columns)
        self.nulls = zeros(num_shown, num_columns)
        self.entries = zeros(num_shown, num_columns)
        self.raw = zeros(num_shown, num_columns)
        self.children = zeros(num_columns)
        # Sizes of the slots of paged buckets; in a bucket, columns come before children.
        self.slots: list[Numbers] = []

    def add(self, place: int, bucket: BucketMetadata) -> None:
        """Add one bucket of the shown row group number ``place``."""
        self.offset[place, bucket.bucket] = bucket.offset
        self.size[place, bucket.bucket] = bucket.compressed_size
        self.raw_size[place, bucket.bucket] = bucket.raw_size or 0
        columns = bucket.columns()
        primaries = columns[: bucket.num_columns]
        span = slice(bucket.first_column, bucket.first_column + bucket.num_columns)
        self.encoding[place, span] = [_ENCODINGS[column.encoding] for column in primaries]
        self.nulls[place, span] = [column.null_count for column in primaries]
        self.entries[place, span] = [column.dictionary_size for column in primaries]
        self.raw[place, span] = [column.raw_size for column in primaries]
        self.slots.append(np.array([column.compressed_size or 0 for column in columns], np.uint64))
        self._add_children(place, bucket.first_column, columns, bucket.num_columns)

    def _add_children(
        self, place: int, first_column: int, columns: list[ColumnMetadata], num_primaries: int
    ) -> None:
        """Add the children of nested columns to their column; they are in column order."""
        owner = 0
        counts = [0] * num_primaries
        for child in columns[num_primaries:]:
            while columns[owner].name != child.name:
                owner += 1
            counts[owner] += 1
            self.raw[place, first_column + owner] += np.uint64(child.raw_size)
            # The encodings of children are flags above the two bits of the column's own encoding.
            mark = np.uint64(4 << _ENCODINGS[child.encoding])
            self.encoding[place, first_column + owner] |= mark
        if len(columns) > num_primaries:
            self.children[first_column : first_column + num_primaries] = counts

    def arrays(self) -> dict[str, Numbers]:
        """All arrays, by the names that the page's script uses."""
        return {
            "bucketOffset": self.offset,
            "bucketSize": self.size,
            "bucketRawSize": self.raw_size,
            "encoding": self.encoding,
            "nulls": self.nulls,
            "entries": self.entries,
            "raw": self.raw,
            "children": self.children,
            "slots": np.concatenate(self.slots) if self.slots else np.zeros(0, np.uint64),
        }
