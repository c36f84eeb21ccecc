"""Rows of Mosaic files that tasks of a job read themselves.

A wide row takes long through the JVM: Spark makes a row of the Arrow batch that the source returns,
and an Arrow batch of the rows that a job wants.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from pymosaic.spark.reading import BatchReader
from pymosaic.spark.source import MosaicDataSource

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FrameScan", "scan_of"]

_SCAN = "pymosaic.spark.MosaicScans$MosaicScan"


@dataclass(frozen=True, slots=True)
class FrameScan:
    """The scan that a frame consists of: what each task reads, and how.

    Parameters
    ----------
    reader : BatchReader
        Reads the rows of a task.
    splits : tuple of bytes
        The inputs of the tasks, pickled: each task gets all of them, and needs its own.
    """

    reader: BatchReader
    splits: tuple[bytes, ...]

    def tasks(self, spark: SparkSession) -> DataFrame:
        """A frame with one row for each task: its number."""
        return spark.range(0, len(self.splits), 1, len(self.splits))

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the tasks of these numbers."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self.reader.read(pickle.loads(self.splits[number]))


def scan_of(frame: DataFrame) -> FrameScan | None:
    """The scan of Mosaic files that a frame is, or None if Spark computes anything of it."""
    found: Any = getattr(frame, "_jdf", None)
    if found is None:
        return None  # Connect does not tell its plans
    query = found.queryExecution()
    if not _only_reads(query.analyzed()):
        return None  # which is told without planning it
    plan = query.sparkPlan()
    if _kind(plan) == "ProjectExec" and plan.projectList().equals(plan.child().output()):
        plan = plan.child()
    if _kind(plan) != "BatchScanExec" or plan.scan().getClass().getName() != _SCAN:
        return None
    if not plan.runtimeFilters().isEmpty():
        return None
    schema = StructType.fromJson(json.loads(plan.scan().readSchema().json()))
    reader = MosaicDataSource(json.loads(plan.scan().asked())).reader(schema)
    return FrameScan(reader.batches, tuple(map(pickle.dumps, reader.partitions())))


def _only_reads(plan: Any) -> bool:
    while _kind(plan) in ("Project", "SubqueryAlias"):
        plan = plan.child()
    return _kind(plan) == "DataSourceV2Relation"


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())
