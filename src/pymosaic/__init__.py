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
    "CompactionReport",
    "CorruptFileError",
    "Dataset",
    "DatasetError",
    "DatasetExistsError",
    "FileMetadata",
    "InvalidDataError",
    "InvalidOptionError",
    "LimitExceededError",
    "Limits",
    "MergeReport",
    "MosaicError",
    "MosaicFile",
    "MosaicWriter",
    "Piece",
    "Recommendation",
    "RowGroupMetadata",
    "Scan",
    "ScanPlan",
    "ScanTask",
    "UnsupportedFeatureError",
    "VacuumReport",
    "WrittenDataset",
    "__version__",
    "compact",
    "dataset",
    "merge",
    "read_metadata",
    "read_pandas",
    "read_schema",
    "read_table",
    "scan_polars",
    "tune",
    "vacuum",
    "write_dataset",
    "write_table",
]


if TYPE_CHECKING:
    from pymosaic.dataset.compact import CompactionReport, compact
    from pymosaic.dataset.dataset import Dataset, dataset
    from pymosaic.dataset.merge import MergeReport, merge
    from pymosaic.dataset.plan import Piece, ScanPlan
    from pymosaic.dataset.scan import Scan
    from pymosaic.dataset.scan_task import ScanTask
    from pymosaic.dataset.tune import Recommendation, tune
    from pymosaic.dataset.vacuum import VacuumReport, vacuum
    from pymosaic.dataset.write import WrittenDataset, write_dataset
    from pymosaic.interop.pandas import read_pandas
    from pymosaic.interop.polars import scan_polars

# Imported when first asked for: who reads one file needs none of it.
_LATE = {
    "CompactionReport": "pymosaic.dataset.compact",
    "Dataset": "pymosaic.dataset.dataset",
    "MergeReport": "pymosaic.dataset.merge",
    "Piece": "pymosaic.dataset.plan",
    "Recommendation": "pymosaic.dataset.tune",
    "Scan": "pymosaic.dataset.scan",
    "ScanPlan": "pymosaic.dataset.plan",
    "ScanTask": "pymosaic.dataset.scan_task",
    "read_pandas": "pymosaic.interop.pandas",
    "scan_polars": "pymosaic.interop.polars",
    "VacuumReport": "pymosaic.dataset.vacuum",
    "WrittenDataset": "pymosaic.dataset.write",
    "compact": "pymosaic.dataset.compact",
    "merge": "pymosaic.dataset.merge",
    "tune": "pymosaic.dataset.tune",
    "vacuum": "pymosaic.dataset.vacuum",
    "write_dataset": "pymosaic.dataset.write",
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
