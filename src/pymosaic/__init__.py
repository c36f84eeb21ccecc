"""Mosaic v1 files for Python: tables with thousands to hundreds of thousands of columns."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pymosaic.arrow.statistics import ColumnStatistics
    from pymosaic.arrow.structs import unflatten
    from pymosaic.build import Build
    from pymosaic.datasets.compact import CompactionReport, compact
    from pymosaic.datasets.dataset import Dataset, Fragment, dataset
    from pymosaic.datasets.merge import MergeReport, merge
    from pymosaic.datasets.plan import Piece, ScanPlan
    from pymosaic.datasets.reading import read_metadata, read_schema, read_table
    from pymosaic.datasets.scan import Scan
    from pymosaic.datasets.scan_task import ScanTask
    from pymosaic.datasets.tune import Recommendation, tune
    from pymosaic.datasets.vacuum import VacuumReport, vacuum
    from pymosaic.datasets.verification import verify
    from pymosaic.datasets.write import WrittenDataset, write_dataset
    from pymosaic.errors import (
        ClosedError,
        ColumnNotFoundError,
        CommitConflictError,
        CorruptFileError,
        DatasetError,
        DatasetExistsError,
        DirectoryGivenError,
        FileMissingError,
        InvalidDataError,
        InvalidOptionError,
        InvalidTypeError,
        LimitExceededError,
        MosaicError,
        RowNotFoundError,
        UnknownOptionError,
        UnsupportedFeatureError,
    )
    from pymosaic.file.metadata import (
        BucketMetadata,
        ColumnMetadata,
        FileMetadata,
        RowGroupMetadata,
    )
    from pymosaic.file.reader import MosaicFile
    from pymosaic.file.verify.file import Finding
    from pymosaic.file.writer import MosaicWriter, write_table
    from pymosaic.filters.text import FilterSyntaxError, parse_filter
    from pymosaic.interop.dask import to_dask
    from pymosaic.interop.huggingface import to_hf
    from pymosaic.interop.pandas import read_pandas
    from pymosaic.interop.polars import scan_polars
    from pymosaic.interop.ray import to_ray
    from pymosaic.limits import Limits
    from pymosaic.notebook import summarize
    from pymosaic.picture import Picture
    from pymosaic.profiling.profile import Profile
    from pymosaic.progress_bar import ProgressBar
    from pymosaic.report import view, write_report

# The one place that names the version; pyproject.toml takes it from here.
__version__ = "0.1.0"
if TYPE_CHECKING:
    # What is loaded: libzstd, on which the bytes of files depend, and others.
    __build__: Build

__all__ = [
    "BucketMetadata",
    "Build",
    "ClosedError",
    "ColumnMetadata",
    "ColumnNotFoundError",
    "ColumnStatistics",
    "CommitConflictError",
    "CompactionReport",
    "CorruptFileError",
    "Dataset",
    "DatasetError",
    "DatasetExistsError",
    "DirectoryGivenError",
    "FileMetadata",
    "FileMissingError",
    "FilterSyntaxError",
    "Finding",
    "Fragment",
    "InvalidDataError",
    "InvalidOptionError",
    "InvalidTypeError",
    "LimitExceededError",
    "Limits",
    "MergeReport",
    "MosaicError",
    "MosaicFile",
    "MosaicWriter",
    "Picture",
    "Piece",
    "Profile",
    "ProgressBar",
    "Recommendation",
    "RowGroupMetadata",
    "RowNotFoundError",
    "Scan",
    "ScanPlan",
    "ScanTask",
    "UnknownOptionError",
    "UnsupportedFeatureError",
    "VacuumReport",
    "WrittenDataset",
    "__build__",
    "__version__",
    "compact",
    "dataset",
    "merge",
    "parse_filter",
    "read_metadata",
    "read_pandas",
    "read_schema",
    "read_table",
    "scan_polars",
    "summarize",
    "to_dask",
    "to_hf",
    "to_ray",
    "tune",
    "unflatten",
    "vacuum",
    "verify",
    "view",
    "write_dataset",
    "write_report",
    "write_table",
]

# The module of each name. A module is imported when one of its names is first used, so that code
# that needs neither pyarrow nor numpy (the command line's help) does not wait for them.
_MODULES = {
    "build": ("Build",),
    "datasets.compact": (
        "CompactionReport",
        "compact",
    ),
    "datasets.dataset": (
        "Dataset",
        "Fragment",
        "dataset",
    ),
    "datasets.merge": (
        "MergeReport",
        "merge",
    ),
    "datasets.plan": (
        "Piece",
        "ScanPlan",
    ),
    "datasets.reading": (
        "read_metadata",
        "read_schema",
        "read_table",
    ),
    "datasets.scan": ("Scan",),
    "datasets.scan_task": ("ScanTask",),
    "datasets.tune": (
        "Recommendation",
        "tune",
    ),
    "datasets.vacuum": (
        "VacuumReport",
        "vacuum",
    ),
    "datasets.verification": ("verify",),
    "datasets.write": (
        "WrittenDataset",
        "write_dataset",
    ),
    "errors": (
        "ClosedError",
        "ColumnNotFoundError",
        "CommitConflictError",
        "CorruptFileError",
        "DatasetError",
        "DatasetExistsError",
        "DirectoryGivenError",
        "FileMissingError",
        "InvalidDataError",
        "InvalidOptionError",
        "InvalidTypeError",
        "LimitExceededError",
        "MosaicError",
        "RowNotFoundError",
        "UnknownOptionError",
        "UnsupportedFeatureError",
    ),
    "filters.text": (
        "FilterSyntaxError",
        "parse_filter",
    ),
    "interop.dask": ("to_dask",),
    "interop.huggingface": ("to_hf",),
    "interop.pandas": ("read_pandas",),
    "interop.polars": ("scan_polars",),
    "interop.ray": ("to_ray",),
    "limits": ("Limits",),
    "file.metadata": (
        "BucketMetadata",
        "ColumnMetadata",
        "FileMetadata",
        "RowGroupMetadata",
    ),
    "file.reader": ("MosaicFile",),
    "profiling.profile": ("Profile",),
    "notebook": ("summarize",),
    "picture": ("Picture",),
    "progress_bar": ("ProgressBar",),
    "report": (
        "view",
        "write_report",
    ),
    "arrow.statistics": ("ColumnStatistics",),
    "arrow.structs": ("unflatten",),
    "file.verify.file": ("Finding",),
    "file.writer": (
        "MosaicWriter",
        "write_table",
    ),
}
_HOMES = {name: f"pymosaic.{module}" for module, names in _MODULES.items() for name in names}


# Type checkers know the names from above, and tell of others.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        value: object
        if name == "__build__":
            value = import_module("pymosaic.build").loaded_build(__version__)
        elif name in _HOMES:
            value = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module 'pymosaic' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
