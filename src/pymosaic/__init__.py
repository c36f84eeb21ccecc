"""Mosaic v1 files for Python: tables with thousands to hundreds of thousands of columns."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from pymosaic.expressions import FilterSyntaxError, parse_filter
    from pymosaic.limits import Limits
    from pymosaic.metadata import BucketMetadata, ColumnMetadata, FileMetadata, RowGroupMetadata
    from pymosaic.reader import MosaicFile, read_metadata, read_schema, read_table
    from pymosaic.statistics import ColumnStatistics
    from pymosaic.writer import MosaicWriter, write_table

    __version__: str

__all__ = [
    "BucketMetadata",
    "ClosedError",
    "ColumnMetadata",
    "ColumnNotFoundError",
    "ColumnStatistics",
    "CorruptFileError",
    "FileMetadata",
    "FilterSyntaxError",
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
    "parse_filter",
    "read_metadata",
    "read_schema",
    "read_table",
    "write_table",
]

# Where each name is from. A module is imported when one of its names is first asked for, so that
# what needs neither pyarrow nor numpy (the command line's help) does not wait for them.
_MODULES = {
    "errors": (
        "ClosedError",
        "ColumnNotFoundError",
        "CorruptFileError",
        "InvalidDataError",
        "InvalidOptionError",
        "LimitExceededError",
        "MosaicError",
        "UnsupportedFeatureError",
    ),
    "expressions": ("FilterSyntaxError", "parse_filter"),
    "limits": ("Limits",),
    "metadata": ("BucketMetadata", "ColumnMetadata", "FileMetadata", "RowGroupMetadata"),
    "reader": ("MosaicFile", "read_metadata", "read_schema", "read_table"),
    "statistics": ("ColumnStatistics",),
    "writer": ("MosaicWriter", "write_table"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    value: object
    if name == "__version__":
        from importlib.metadata import version

        value = version("pymosaic")
    elif name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(f"pymosaic.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'pymosaic' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
