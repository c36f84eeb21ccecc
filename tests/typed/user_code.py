"""Code as users write it: `make check` has mypy and pyright see the types that they would see.

It is never called. What is misused here on purpose must be reported: a comment that ignores
nothing is an error to both checkers.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=error

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, assert_type

import pyarrow as pa
import pyarrow.compute as pc

import pymosaic
import pymosaic.spark
from pymosaic.lance import LanceFile
from pymosaic.spark import jobs

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame, SparkSession


def read_and_write(table: pa.Table, path: Path) -> None:
    pymosaic.write_table(table, path, num_buckets="auto", statistics=["age"], checksum=True)
    pymosaic.write_table(table, path, num_buckets=300, statistics=True)
    pymosaic.write_table(table, path, flatten=".")
    assert_type(pymosaic.unflatten(table), pa.Table)
    assert_type(pymosaic.view(path, samples=0), pymosaic.Picture)
    with pymosaic.MosaicWriter(path, table.schema, compression_level=3) as writer:
        assert_type(writer, pymosaic.MosaicWriter)
        writer.write(table)
        assert_type(writer.written_bytes, int)
    with pymosaic.MosaicFile(path) as file:
        assert_type(file.num_rows, int)
        assert_type(file.column_names, list[str])
        assert_type(file.metadata, pymosaic.FileMetadata)
        assert_type(file.metadata.row_group(0).bucket(0), pymosaic.BucketMetadata)
        assert_type(file.statistics(0), dict[str, pymosaic.ColumnStatistics])
        assert_type(file.scan_contents(), int)
        assert_type(file.closed, bool)
        file.take([1, 2], columns=lambda field: field.name != "age")
    pymosaic.read_table(path, columns=["device", "sensor_*"], filters=[("age", ">", 50)])
    pymosaic.read_table([path], exclude=["age"], filters=[[("age", "is null")], [("age", ">", 50)]])
    pymosaic.read_table(path, columns=(name for name in ["age"]), filters="age > 50")
    pymosaic.read_table(path, columns={"age"}, filters=pc.field("age") > 50)
    assert_type(pymosaic.__build__, pymosaic.Build)
    for finding in pymosaic.verify(path):
        assert_type(finding, pymosaic.Finding)


def tend_a_dataset(table: pa.Table, base: str) -> None:
    written = pymosaic.write_dataset(table, base, partition_by=["day"], mode="append")
    assert_type(written, pymosaic.WrittenDataset)
    events = pymosaic.dataset(base)
    assert_type(events, pymosaic.Dataset)
    assert_type(events.files, tuple[str, ...])
    assert_type(list(events.get_fragments("day = 'mon'")), list[pymosaic.Fragment])
    scan = events.scan(columns=["device"], filters=[("day", "==", "mon")], limit=10)
    assert_type(scan, pymosaic.Scan)
    assert_type(scan.count_rows(), int)
    assert_type(scan.describe(quantiles=[0.5]), pymosaic.Profile)
    assert_type(scan.plan().pieces, tuple[pymosaic.Piece, ...])
    assert_type(pymosaic.compact(base), pymosaic.CompactionReport)
    assert_type(pymosaic.vacuum(base, older_than=3600), pymosaic.VacuumReport)


def other_engines(base: str, spark: SparkSession, frame: DataFrame) -> Iterator[DataFrame]:
    lazy: pl.LazyFrame = pymosaic.scan_polars(base)
    assert_type(lazy, "pl.LazyFrame")
    pymosaic.to_dask(base, columns=["device"], filters="day = 3", dtype_backend="numpy_nullable")
    pymosaic.to_hf(pymosaic.dataset(base), exclude=["device"], max_part_bytes=1 << 20)
    pymosaic.to_ray(base, filters=[("day", "=", 3)], override_num_blocks=4)
    assert_type(pymosaic.spark.enable(spark), pymosaic.spark.Support)
    yield pymosaic.spark.read(spark, base, columns=["device"], maxPartitionBytes="64m")
    pymosaic.spark.write(frame, base, mode="append", partition_by=["day"])
    assert_type(pymosaic.spark.vacuum(base), pymosaic.VacuumReport)
    assert_type(jobs.compact(spark, base), jobs.CompactReport)
    with LanceFile(f"{base}.lance") as file:
        assert_type(file.num_rows, int)


def errors(path: str) -> str | None:
    try:
        pymosaic.read_table(path)
    except (pymosaic.CorruptFileError, pymosaic.LimitExceededError) as error:
        assert_type(error.offset, int | None)
        return error.reason
    except pymosaic.MosaicError as error:
        return str(error)
    return None


def mistakes(table: pa.Table) -> None:
    pymosaic.write_table(table, 7)  # type: ignore[arg-type]
    pymosaic.write_table(table, "x.mosaic", num_buckets="many")  # type: ignore[arg-type]
    pymosaic.write_table(table, "x.mosaic", buckets=10)  # type: ignore[call-arg]
    pymosaic.read_tabel("x.mosaic")  # type: ignore[attr-defined]
    pymosaic.read_metadata("x.mosaic").rows  # type: ignore[attr-defined]  # noqa: B018


def misspelt_options(table: pa.Table, path: str) -> None:
    pymosaic.dataset(path).to_table(filters=[("age", ">", 50)])
    pymosaic.dataset(path).to_table(colums=["age"])  # type: ignore[call-arg]
    pymosaic.write_table(table, path, statistic=True)  # type: ignore[call-arg]
