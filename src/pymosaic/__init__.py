"""Mosaic v1 files for Python: tables with thousands to hundreds of thousands of columns."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pymosaic.errors import (
    ClosedError,
    ColumnNotFoundError,
    CommitConflictError,
    CorruptFileError,
    DatasetError,
    DatasetExistsError,
    InvalidDataError,
    InvalidOptionError,
    LimitExceededError,
    MosaicError,
    UnsupportedFeatureError,
)
from pymosaic.limits import Limits
from pymosaic.metadata import BucketMetadata, ColumnMetadata, FileMetadata, RowGroupMetadata
from pymosaic.reader import MosaicFile, read_metadata, read_schema, read_table
from pymosaic.statistics import ColumnStatistics
from pymosaic.writer import MosaicWriter, write_table

__all__ = [
    "BucketMetadata",
    "ClosedError",
    "ColumnMetadata",
    "ColumnNotFoundError",
    "ColumnStatistics",
    "CommitConflictError",
    "CorruptFileError",
    "Dataset",
    "DatasetError",
    "DatasetExistsError",
    "FileMetadata",
    "InvalidDataError",
    "InvalidOptionError",
    "LimitExceededError",
    "Limits",
    "MosaicError",
    "MosaicFile",
    "MosaicWriter",
    "Piece",
    "RowGroupMetadata",
    "Scan",
    "ScanPlan",
    "ScanTask",
    "UnsupportedFeatureError",
    "__version__",
    "dataset",
    "read_metadata",
    "read_schema",
    "read_table",
    "write_table",
]


if TYPE_CHECKING:
    from pymosaic.dataset.dataset import Dataset, dataset
    from pymosaic.dataset.plan import Piece, ScanPlan
    from pymosaic.dataset.scan import Scan
    from pymosaic.dataset.scan_task import ScanTask

# Imported when first asked for: who reads one file needs none of it.
_LATE = {
    "Dataset": "pymosaic.dataset.dataset",
    "Piece": "pymosaic.dataset.plan",
    "Scan": "pymosaic.dataset.scan",
    "ScanPlan": "pymosaic.dataset.plan",
    "ScanTask": "pymosaic.dataset.scan_task",
}


def __getattr__(name: str) -> Any:
    # Looking the version up takes longer than everything else here, and few ask for it.
    if name == "__version__":
        from importlib.metadata import version

        return version("pymosaic")
    if name == "dataset":
        return import_module("pymosaic.dataset")
    if name in _LATE:
        value = globals()[name] = getattr(import_module(_LATE[name]), name)
        return value
    raise AttributeError(f"module 'pymosaic' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
