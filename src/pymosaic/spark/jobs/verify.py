"""Verifying all files of a dataset in parallel, and comparing the dataset with its source."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.datasets.dataset import Dataset
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.errors import DatasetError
from pymosaic.file.reader import MosaicFile
from pymosaic.file.verify.file import Finding
from pymosaic.file.verify.file import verify as verify_file
from pymosaic.io import Directory, Entry, open_directory
from pymosaic.progress import Progress
from pymosaic.spark.jobs.fingerprints import Fingerprint
from pymosaic.spark.jobs.frames import Source, column, load
from pymosaic.spark.jobs.report import JobReport, Stopwatch
from pymosaic.spark.jobs.tasks import Watch, collect, map_items
from pymosaic.spark.storage import locate
from pymosaic.spark.types import conform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Difference", "FileFinding", "VerifyReport", "verify"]

_COLLATION = re.compile(r" collate \w+")


@dataclass(frozen=True, slots=True)
class FileFinding:
    """A fault of a file of the dataset, or something worth knowing."""

    path: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the dataset and its source.

    Parameters
    ----------
    kind : str
        ``"rows"``: their number; ``"missing"``: a column of the source is not in the dataset;
        ``"extra"``: a column of the dataset is not in the source; ``"type"``: a column's type;
        ``"nulls"``: how many of a column's values are null; ``"values"``: its values;
        ``"pairs"``: every column has the same values, but some of them are in other rows.
    column : str or None
        The column.
    source, dataset : int, str or None
        The value of each: rows, types, nulls, or the hash of a column.
    """

    kind: str
    column: str | None
    source: int | str | None
    dataset: int | str | None

    def __str__(self) -> str:
        where = "" if self.column is None else f" of column {self.column!r}"
        if self.kind == "missing":
            return f"column {self.column!r} is not in the dataset"
        if self.kind == "extra":
            return f"column {self.column!r} is not in the source"
        if self.kind == "pairs":
            return "every column has the same values, but some of them are in other rows"
        return f"{self.kind}{where}: {self.source} in the source, {self.dataset} in the dataset"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport(JobReport):
    """The result of a verification.

    Parameters
    ----------
    ok : bool
        Whether no file has errors or warnings, and nothing differs.
    findings : tuple of FileFinding
        Findings by file.
    compared : bool
        Whether there was a source, and the files could be read for the comparison.
    differences : tuple of Difference
        Differences between dataset and source.
    """

    ok: bool
    findings: tuple[FileFinding, ...]
    compared: bool
    differences: tuple[Difference, ...]


def verify(
    spark: SparkSession,
    target: str | os.PathLike[str],
    *,
    source: Source | None = None,
    format: str | None = None,
    read_options: Mapping[str, object] | None = None,
    deep: bool = True,
    progress: Progress | None = None,
    storage: Mapping[str, str] | None = None,
) -> VerifyReport:
    """Verify every file of a dataset, each in a task, and compare the dataset with its source.

    The comparison covers the number of rows; for each column, its type, the number of nulls and the
    sum of 64-bit hashes of its values; and the sum of 64-bit hashes of whole rows. It does not
    depend on the order of rows.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.
    target : str or path-like
        The dataset's directory.
    source : DataFrame, str or path-like, optional
        The source that the dataset should equal.
    format, read_options
        How to read a path, see :func:`pymosaic.spark.jobs.convert`.
    deep : bool
        Decode every value; otherwise only the metadata is checked.
    progress : callable, optional
        Called with tasks done, total tasks and ``"tasks"``.
    storage : mapping, optional
        Values of the source's ``storage.*`` options.

    Returns
    -------
    VerifyReport

    Examples
    --------
    >>> import pymosaic.spark
    >>> from pymosaic.spark import jobs
    >>> pymosaic.spark.write(spark.range(5), "five")
    >>> jobs.verify(spark, "five", source=spark.range(5)).ok
    True
    >>> [
    ...     difference.kind
    ...     for difference in jobs.verify(spark, "five", source=spark.range(6)).differences
    ... ]
    ['rows', 'values']
    """
    from pymosaic.spark.session import enable

    stopwatch = Stopwatch()
    enable(spark)
    [base], filesystem = locate([os.fspath(target)], storage or {})
    place = open_directory(base, filesystem)
    entries = sorted(take_snapshot(place).files, key=lambda entry: entry.path)
    if not entries:
        raise DatasetError(f"{place.name} has no Mosaic files")
    frame = None if source is None else load(spark, source, format, read_options)
    watch = Watch(spark, progress)
    checks = map_items(watch, spark, entries, _check(place, deep))
    findings = tuple(
        FileFinding(entry.path, finding)
        for entry, check in zip(entries, checks, strict=True)
        for finding in check.findings
    )
    readable = all(check.readable for check in checks)
    differences: tuple[Difference, ...] = ()
    if frame is not None and readable:
        dataset = Dataset(base, filesystem=filesystem, types="mosaic")
        differences = tuple(_compare(watch, spark, frame, dataset))
    watch.finish()
    size = sum(entry.size for entry in entries)
    return VerifyReport(
        job="verify",
        rows=sum(check.rows for check in checks),
        columns=max(check.columns for check in checks),
        files=len(entries),
        bytes_in=size,
        bytes_out=0,
        seconds=stopwatch.seconds,
        ok=not differences and all(x.finding.severity == "info" for x in findings),
        findings=findings,
        compared=frame is not None and readable,
        differences=differences,
    )


@dataclass(frozen=True, slots=True)
class _Check:
    findings: tuple[Finding, ...]
    rows: int = 0
    columns: int = 0

    @property
    def readable(self) -> bool:
        return all(finding.severity != "error" for finding in self.findings)


def _check(storage: Directory, deep: bool) -> Callable[[Entry, str], _Check]:
    def check(entry: Entry, name: str) -> _Check:
        path = storage.full_path(entry.path)
        found = _Check(tuple(verify_file(path, deep, filesystem=storage.filesystem)))
        if not found.readable:
            return found
        with MosaicFile(path, filesystem=storage.filesystem, types="mosaic") as file:
            return _Check(found.findings, file.num_rows, file.num_columns)

    return check


def _compare(
    watch: Watch, spark: SparkSession, frame: DataFrame, dataset: Dataset
) -> Iterator[Difference]:
    from pyspark.sql.types import StructType

    from pymosaic.spark.types import arrow_schema, check_storable, spark_types

    check_storable(frame.schema, keeps_collations=True)
    given = {field.name: field for field in frame.schema.fields}
    stored = dict(zip(dataset.schema.names, spark_types(dataset.schema), strict=True))
    for name in sorted(given.keys() - stored.keys()):
        yield Difference("missing", name, given[name].dataType.simpleString(), None)
    for name in sorted(stored.keys() - given.keys()):
        yield Difference("extra", name, None, stored[name].simpleString())
    common = []
    for name in (name for name in given if name in stored):
        # A collation says how values compare, not which they are.
        text = _COLLATION.sub("", given[name].dataType.simpleString())
        texts = text, stored[name].simpleString()
        # What is in the names of directories has the type that it looks like there.
        if texts[0] == texts[1] or name in dataset.partition_columns:
            common.append(name)
        else:
            yield Difference("type", name, *texts)
    schema = arrow_schema(StructType([given[name] for name in common]))
    if len(common) < len(given):
        frame = frame.select(*map(column, common))
    ours = _fingerprint_dataset(watch, spark, dataset, schema)
    theirs = _fingerprint_frame(watch, frame, schema)
    if ours.rows != theirs.rows:
        yield Difference("rows", None, theirs.rows, ours.rows)
    same = ours.rows == theirs.rows
    for place, name in enumerate(common):
        if ours.nulls[place] != theirs.nulls[place]:
            yield Difference("nulls", name, int(theirs.nulls[place]), int(ours.nulls[place]))
        if ours.hashes[place] != theirs.hashes[place]:
            hashes = f"{theirs.hashes[place]:016x}", f"{ours.hashes[place]:016x}"
            yield Difference("values", name, *hashes)
            same = False
    if same and ours.whole_rows != theirs.whole_rows:
        yield Difference("pairs", None, *(f"{x.whole_rows[0]:016x}" for x in (theirs, ours)))


def _fingerprint_dataset(
    watch: Watch, spark: SparkSession, dataset: Dataset, schema: pa.Schema
) -> Fingerprint:
    scan = dataset.scan(schema.names)
    task = scan.task()

    def work(piece: Any, name: str) -> Fingerprint:
        return _fingerprint(task.read([piece]), schema)

    return _total(map_items(watch, spark, scan.plan().pieces, work), schema)


def _fingerprint_frame(watch: Watch, frame: DataFrame, schema: pa.Schema) -> Fingerprint:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[Fingerprint]:
        yield _fingerprint(batches, schema)

    return _total(collect(watch, frame, work), schema)


def _fingerprint(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Fingerprint:
    found = Fingerprint.empty(len(schema))
    for batch in batches:
        found.add_batch(conform(batch, schema))
    return found


def _total(parts: list[Fingerprint], schema: pa.Schema) -> Fingerprint:
    total = Fingerprint.empty(len(schema))
    for part in parts:
        total.add(part)
    return total
