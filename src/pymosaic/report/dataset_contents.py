"""The contents of the page of a dataset: its files, their columns and the bytes of their buckets.

Only the ends of the files are read. Files with the same columns in the same buckets share one list
of names.
"""

from __future__ import annotations

import os
from typing import Any

from pymosaic.datasets.dataset import Dataset, data_files
from pymosaic.datasets.discovery import Discovery, discover
from pymosaic.errors import DatasetError, MosaicError, UnsupportedFeatureError
from pymosaic.file.reader import MosaicFile, opened

__all__ = ["collect_dataset"]

_MAX_FILES = 10_000
_MAX_NAMES = 2_000_000


def _sources(base: str) -> list[str]:
    """The directory; of a Paimon table, the Mosaic files of its newest snapshot."""
    if not os.path.isdir(os.path.join(base, "schema")):
        return [base]
    from pymosaic.paimon.dataset import dataset
    from pymosaic.paimon.detection import holds_table

    if not holds_table(base):
        return [base]
    return [path for path in dataset(base).files if path.endswith(".mosaic")] or [base]


def collect_dataset(base: str, title: str | None, dataset: Dataset | None = None) -> dict[str, Any]:
    """The document of a dataset's page; of an open dataset, its files are shown."""
    if dataset is None:
        found = discover(_sources(base), None, False, allow_missing=True)
    else:
        found = Discovery(data_files(dataset), dataset.filesystem, base)
    if not found.files and not found.missing:
        raise DatasetError(f"{found.base} has no Mosaic files")
    if len(found.files) > _MAX_FILES:
        raise UnsupportedFeatureError(
            f"the dataset has {len(found.files)} files; a page shows at most {_MAX_FILES}", base
        )
    schemas: dict[Any, int] = {}
    names: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []
    for data_file in found.files:
        shown: dict[str, Any] = {"path": _below(data_file.path, base)}
        files.append(shown)
        try:
            with MosaicFile(data_file.path, filesystem=found.filesystem, types="mosaic") as file:
                catalog, metadata = opened(file).catalog, file.metadata
                key = (tuple(catalog.names()), metadata.num_buckets, tuple(file.schema.types))
                number = schemas.setdefault(key, len(schemas))
                if number == len(names):
                    names.append(_schema(file))
                shown |= {
                    "schema": number,
                    "rows": metadata.num_rows,
                    "size": metadata.file_size,
                    "rowGroups": metadata.num_row_groups,
                    "overhead": metadata.file_size - metadata.schema_offset,
                    "buckets": _bucket_sizes(file),
                    "modified": data_file.modified,
                }
        except (MosaicError, OSError) as error:
            shown["error"] = str(error)
        if sum(len(schema["names"]) for schema in names) > _MAX_NAMES:
            raise UnsupportedFeatureError("the files have too many different columns", base)
    return {
        "title": title if title is not None else os.path.basename(base.rstrip("/")) or base,
        "files": files,
        "missing": [_below(path, base) for path in found.missing],
        "schemas": names,
    }


def _schema(file: MosaicFile) -> dict[str, Any]:
    catalog = opened(file).catalog
    names = catalog.names()
    starts = [catalog.bucket_range(bucket)[0] for bucket in range(file.num_buckets)]
    types = [file.metadata.column_type(name) for name in names]
    return {"names": names, "types": types, "bucketStart": [*starts, len(names)]}


def _bucket_sizes(file: MosaicFile) -> list[int]:
    """The stored bytes of each bucket, over all row groups."""
    sizes = [0] * file.num_buckets
    for row_group in file.metadata.row_groups():
        for bucket in row_group.buckets():
            sizes[bucket.bucket] += bucket.compressed_size
    return sizes


def _below(path: str, base: str) -> str:
    """The path inside the dataset: pages are shared, but directories are private."""
    start = os.path.abspath(base) if os.path.isabs(path) else base.rstrip("/")
    return path[len(start) :].lstrip("/") if path.startswith(start) else os.path.basename(path)
