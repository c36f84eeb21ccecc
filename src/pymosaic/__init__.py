"""Mosaic v1 files for Python: tables with thousands to hundreds of thousands of columns."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pymosaic.errors import (
    ClosedError,
    ColumnNotFoundError,
    CorruptFileError,
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
    "CorruptFileError",
    "FileMetadata",
    "Finding",
    "InvalidDataError",
    "InvalidOptionError",
    "LimitExceededError",
    "Limits",
    "MosaicError",
    "MosaicFile",
    "MosaicWriter",
    "RowGroupMetadata",
    "UnsupportedFeatureError",
    "__version__",
    "read_metadata",
    "read_schema",
    "read_table",
    "verify",
    "write_table",
]


if TYPE_CHECKING:
    from pymosaic.verification import Finding, verify

# Imported when first asked for: who reads one file needs none of it.
_LATE = {
    "Finding": "pymosaic.verification",
    "verify": "pymosaic.verification",
}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        value = getattr(import_module(_LATE[name]), name)
        globals()[name] = value
        return value
    # Looking the version up takes longer than everything else here, and few ask for it.
    if name == "__version__":
        from importlib.metadata import version

        return version("pymosaic")
    raise AttributeError(f"module 'pymosaic' has no attribute {name!r}")
