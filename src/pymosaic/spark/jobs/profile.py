"""Profile of a dataset by column: nulls, range, distinct values, sizes, encodings."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.datasets.dataset import Dataset
from pymosaic.errors import InvalidOptionError
from pymosaic.file.reader import MosaicFile
from pymosaic.file.writer import write_table
from pymosaic.io import open_sink
from pymosaic.profiling.columns import ColumnProfiles, profile_schema
from pymosaic.progress import Progress
from pymosaic.spark.jobs.report import JobReport, Stopwatch
from pymosaic.spark.jobs.tasks import Watch, deal_out, map_items
from pymosaic.spark.storage import locate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pymosaic.datasets.plan import Piece
    from pymosaic.datasets.scan_task import ScanTask

__all__ = ["PROFILE_SCHEMA", "ProfileReport", "profile"]

PROFILE_SCHEMA = pa.schema(
    [
        *profile_schema(),
        pa.field("raw_bytes", pa.int64()),
        pa.field("stored_bytes", pa.int64()),
        pa.field("encodings", pa.string()),
    ]
)
_FORMATS = ("mosaic", "parquet", "json")
_TASKS_PER_CORE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReport(JobReport):
    """The profile; ``table`` has a row for each column, with the schema ``PROFILE_SCHEMA``."""

    output: str | None
    table: pa.Table = field(repr=False)

    def facts(self) -> dict[str, Any]:
        """The report as plain values for JSON, with the table as a list."""
        facts = {name: getattr(self, name) for name in JobReport.__slots__}
        return {**facts, "output": self.output, "profile": self.table.to_pylist()}


def profile(
    spark: SparkSession,
    target: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    columns: Sequence[str] | None = None,
    progress: Progress | None = None,
    storage: Mapping[str, str] | None = None,
) -> ProfileReport:
    """Describe each column of a dataset.

    Nulls, ranges, means, quantiles and distinct values are those of
    :meth:`pymosaic.MosaicFile.describe`, each part of the dataset in a task. ``raw_bytes``
    is before compression; if columns are compressed together in a bucket, ``stored_bytes`` is
    their share by raw size. ``encodings`` counts the row groups with each encoding.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.
    target : str or path-like
        The dataset's directory.
    output : str or path-like, optional
        Path or URI for the table, ending in .mosaic, .parquet or .json.
    columns : list of str, optional
        Names and patterns of columns.
    progress : callable, optional
        Called with tasks done, total tasks and ``"tasks"``.
    storage : mapping, optional
        Values of the source's ``storage.*`` options.

    Returns
    -------
    ProfileReport

    Examples
    --------
    >>> import pymosaic.spark
    >>> from pymosaic.spark import jobs
    >>> pymosaic.spark.write(spark.range(5), "numbered")
    >>> report = jobs.profile(spark, "numbered")
    >>> report.table.select(["column", "nulls", "minimum", "maximum"]).to_pylist()
    [{'column': 'id', 'nulls': 0, 'minimum': '0', 'maximum': '4'}]
    """
    stopwatch = Stopwatch()
    place = None if output is None else os.fspath(output)
    if place is not None and place.rpartition(".")[2] not in _FORMATS:
        raise InvalidOptionError(f"output must end in .{', .'.join(_FORMATS)}, got {place!r}")
    [base], filesystem = locate([os.fspath(target)], storage or {})
    dataset = Dataset(base, filesystem=filesystem, types="mosaic")
    scan = dataset.scan(columns)
    plan = scan.plan()
    watch = Watch(spark, progress)
    groups = deal_out(plan.pieces, _TASKS_PER_CORE * _parallelism(spark))
    total = _Profile.empty(scan.schema)
    for part in map_items(watch, spark, groups, _work(scan.task(), dataset.filesystem)):
        total.unite(part)
    table = total.table(scan.schema)
    written = 0 if place is None else _write(table, place)
    watch.finish()
    return ProfileReport(
        job="profile",
        rows=total.columns.rows,
        columns=len(scan.schema),
        files=len(dataset.files),
        bytes_in=plan.bytes.to_read,
        bytes_out=written,
        seconds=stopwatch.seconds,
        output=place,
        table=table,
    )


def _parallelism(spark: SparkSession) -> int:
    return spark.sparkContext.defaultParallelism if hasattr(spark, "_jsparkSession") else 8


@dataclass(slots=True)
class _Profile:
    """Of some rows: what columns hold, and how they are stored."""

    columns: ColumnProfiles
    raw_bytes: npt.NDArray[np.int64]
    stored_bytes: npt.NDArray[np.float64]
    encodings: list[Counter[str]]

    @classmethod
    def empty(cls, schema: pa.Schema) -> _Profile:
        return cls(
            ColumnProfiles(schema),
            np.zeros(len(schema), np.int64),
            np.zeros(len(schema), np.float64),
            [Counter() for _ in schema],
        )

    def unite(self, other: _Profile) -> None:
        self.columns.unite(other.columns)
        self.raw_bytes += other.raw_bytes
        self.stored_bytes += other.stored_bytes
        for mine, others in zip(self.encodings, other.encodings, strict=True):
            mine.update(others)

    def add_storage(self, file: MosaicFile, row_group: int, places: dict[str, int]) -> None:
        """Sizes and encodings in one row group."""
        for bucket in file.metadata.row_group(row_group).buckets():
            if not places.keys() & set(bucket.column_names):
                continue
            if bucket.layout == "missing":
                for name in places.keys() & set(bucket.column_names):
                    self.encodings[places[name]]["ALL_NULL"] += 1
                continue
            described = bucket.columns()
            raw = sum(column.raw_size for column in described)
            for column in described:
                place = places.get(column.name)
                if place is None:
                    continue
                share = bucket.compressed_size * column.raw_size / max(1, raw)
                self.raw_bytes[place] += column.raw_size
                self.stored_bytes[place] += (
                    share if column.compressed_size is None else column.compressed_size
                )
                if not column.is_child:
                    self.encodings[place][column.encoding] += 1

    def table(self, schema: pa.Schema) -> pa.Table:
        encodings = [", ".join(f"{k} {n}" for k, n in sorted(x.items())) for x in self.encodings]
        return pa.table(
            [
                *self.columns.table(schema).columns,
                pa.array(self.raw_bytes),
                pa.array(np.rint(self.stored_bytes).astype(np.int64)),
                pa.array(encodings, pa.string()),
            ],
            schema=PROFILE_SCHEMA,
        )


def _work(task: ScanTask, filesystem: Any) -> Callable[[list[Piece], str], _Profile]:
    def work(pieces: list[Piece], name: str) -> _Profile:
        found = _Profile.empty(task.schema)
        places = {name: place for place, name in enumerate(task.schema.names)}
        for batch in task.read(pieces):
            found.columns.add_batch(batch)
        for piece in pieces:
            # Keys of directories are not stored in the file.
            stored = {x: y for x, y in places.items() if x not in dict(piece.partition)}
            with MosaicFile(
                piece.path, filesystem=filesystem, limits=task.limits, types="mosaic"
            ) as file:
                for row_group in piece.row_groups:
                    found.add_storage(file, row_group, stored)
        return found

    return work


def _write(table: pa.Table, output: str) -> int:
    """Write the table, and return its size."""
    buffer = io.BytesIO()
    if output.endswith(".mosaic"):
        write_table(table, buffer)
    elif output.endswith(".parquet"):
        import pyarrow.parquet as pq

        pq.write_table(table, buffer)
    else:
        buffer.write(json.dumps(table.to_pylist(), ensure_ascii=False, indent=1).encode())
    sink = open_sink(output, None)
    try:
        sink.write(buffer.getvalue())
        sink.commit()
    except BaseException:
        sink.abort()
        raise
    return len(buffer.getvalue())
