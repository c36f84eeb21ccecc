"""A driver whose tasks are tried again: prints, as JSON, what a write and its failure left."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import pymosaic
from pymosaic.spark.jobs.session import open_session
from pymosaic.spark.jobs.tasks import Watch
from pymosaic.spark.jobs.writing import Transformation, Written, open_writer, write_by_tasks


def main(directory: str) -> None:
    """Write 40 rows by 4 tasks, one of which fails in its first attempt with rows written."""
    settings = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    spark = open_session("local[2,3]", settings)
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.range(0, 40, 1, 4)
    base = f"{directory}/out"

    def failing_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, 3)
            if 20 in batch.column(0).to_pylist():
                try:
                    os.close(os.open(f"{directory}/failed", os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    raise RuntimeError("a task fails")
            yield batch.slice(3)

    def failing_always(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        raise RuntimeError("every task fails")

    def write(transformation: Transformation, mode: str) -> Written:
        options = {"rowGroupBytes": 1}
        writer = open_writer(base, frame.schema, mode=mode, partition_by=None, options=options)
        return write_by_tasks(Watch(spark, None), frame, writer, transformation)

    written = write(failing_once, "error")
    after = sorted(path.name for path in Path(base).rglob("*") if path.is_file())
    try:
        write(failing_always, "overwrite")
    except Exception as error:
        message = str(error)
    ids = pymosaic.dataset(base).scan().to_table()["id"].to_pylist()
    left = sorted(path.name for path in Path(base).rglob("*") if path.is_file())
    spark.stop()
    found = {
        "failed": Path(directory, "failed").exists(),
        "rows": written.rows,
        "files": written.files,
        "ids": sorted(ids),
        "files_after": [name for name in after if name.endswith(".mosaic")],
        "unchanged": left == after,
        "told": "every task fails" in message,
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
