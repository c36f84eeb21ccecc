"""Mosaic v1 files for Python: tables with thousands to hundreds of thousands of columns."""

from importlib import import_module
from typing import TYPE_CHECKING

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
    "write_report",
    "write_table",
]

if TYPE_CHECKING:
    from pymosaic.report import write_report

# Names that few ask for: their modules are imported when they are.
_LAZY = {"write_report": "pymosaic.report"}


def __getattr__(name: str) -> object:
    # Looking the version up takes longer than everything else here, and few ask for it.
    if name == "__version__":
        from importlib.metadata import version

        return version("pymosaic")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'pymosaic' has no attribute {name!r}")
