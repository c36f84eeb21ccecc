"""Wrong calls that both type checkers must report: a comment that ignores nothing is an error.

It is never run.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=error

from __future__ import annotations

import pyarrow as pa

import pymosaic
from pymosaic.interop.training import WideBatches


def writes(table: pa.Table) -> None:
    pymosaic.write_table("not a table", "x.mosaic")  # type: ignore[arg-type]
    pymosaic.write_table({"a": [1]}, "x.mosaic")  # type: ignore[arg-type]
    pymosaic.write_table(table, 5)  # type: ignore[arg-type]
    pymosaic.write_table(table, "x.mosaic", num_bucket=3)  # type: ignore[call-arg]
    pymosaic.write_table(table, "x.mosaic", num_buckets="many")  # type: ignore[arg-type]
    pymosaic.write_table(table, "x.mosaic", compression="gzip")  # type: ignore[arg-type]
    pymosaic.write_table(table, "x.mosaic", statistics="age")  # type: ignore[arg-type]
    pymosaic.write_dataset(table, "d", mode="overwritte")  # type: ignore[arg-type]
    pymosaic.write_dataset("not a table", "d")  # type: ignore[arg-type]
    pymosaic.write_dataset(table, "d", num_bucket=3)  # type: ignore[call-arg]
    with pymosaic.MosaicWriter("x.mosaic", table.schema, num_bucket=3) as writer:  # type: ignore[call-arg]
        writer.write("not a table")  # type: ignore[arg-type]


def reads() -> None:
    pymosaic.read_table("x.mosaic", filters=42)  # type: ignore[arg-type]
    pymosaic.read_table("x.mosaic", columns="abc")  # type: ignore[arg-type]
    pymosaic.read_table("x.mosaic", exclude="abc")  # type: ignore[arg-type]
    pymosaic.read_table("x.mosaic", column=["abc"])  # type: ignore[call-arg]
    pymosaic.read_table("x.mosaic", types="parquet")  # type: ignore[arg-type]
    with pymosaic.MosaicFile("x.mosaic") as file:
        file.read("abc")  # type: ignore[arg-type]
        file.read(filters=42)  # type: ignore[arg-type]
        file.iter_batches(columns="abc")  # type: ignore[arg-type]
        file.to_numpy(order="rows")  # type: ignore[arg-type]
    dataset = pymosaic.dataset("d")
    dataset.scan("abc")  # type: ignore[arg-type]
    dataset.scan(filters=42)  # type: ignore[arg-type]
    dataset.scan(column=["abc"])  # type: ignore[call-arg]
    dataset.to_table(filter=42)  # type: ignore[arg-type]
    WideBatches("d", features="abc")  # type: ignore[arg-type]
    WideBatches("d", shuffle="all")  # type: ignore[arg-type]
