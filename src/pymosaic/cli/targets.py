"""Targets of commands: overwrite checks, and files written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from pymosaic.cli.formats import open_writer
from pymosaic.cli.inputs import paimon_table
from pymosaic.errors import InvalidOptionError
from pymosaic.io import resolve_location, status_of
from pymosaic.progress import Meter

__all__ = [
    "check_target",
    "is_dataset",
    "split_target",
    "target_bytes",
    "write_batches",
    "write_to_dataset",
]


def split_target(files: list[str], target: str | None) -> tuple[list[str], str]:
    """Sources and target; the target is the last argument unless an option gives it."""
    if target is not None:
        return files, target
    if len(files) < 2:
        raise InvalidOptionError("missing target: give SOURCE... TARGET, or -o TARGET")
    return files[:-1], files[-1]


def check_target(target: str, overwrite: bool) -> None:
    """Refuse to replace an existing target without ``--overwrite``."""
    if not overwrite and status_of(resolve_location(target)) is not None:
        raise FileExistsError(17, "already exists; --overwrite replaces it", target)


def is_dataset(target: str, partition_by: str | None, append: bool) -> bool:
    """Whether the target is a directory of files."""
    if target.endswith("/") or os.path.isdir(target):
        return True
    if partition_by is not None or append:
        raise InvalidOptionError(
            f"--partition-by and --append are for datasets: end the target with /, as in {target}/"
        )
    return False


def write_to_dataset(
    target: str,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    options: dict[str, Any],
    meter: Meter,
    partition_by: str | None,
    append: bool,
    overwrite: bool,
    user_metadata: dict[str, str],
) -> tuple[int, int]:
    """Write batches as a dataset; returns the numbers of rows and bytes."""
    from pymosaic.datasets.write import write_dataset

    if append and overwrite:
        raise InvalidOptionError("--append and --overwrite cannot be combined")

    def counted() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            meter.add(batch.num_rows)

    keys = [name.strip() for name in (partition_by or "").split(",") if name.strip()]
    reader = pa.RecordBatchReader.from_batches(schema, counted())
    table = paimon_table([target])
    if table is not None:
        return _write_to_table(reader, table, options, keys, append, overwrite)
    written = write_dataset(
        reader,
        target,
        partition_by=keys or None,
        mode="append" if append else "overwrite" if overwrite else "error",
        metadata=user_metadata if options.get("checksum", True) else None,
        **options,
    )
    return written.num_rows, written.num_bytes


def _write_to_table(
    reader: pa.RecordBatchReader,
    table: str,
    options: dict[str, Any],
    keys: list[str],
    append: bool,
    overwrite: bool,
) -> tuple[int, int]:
    """Write to a Paimon table that is there; it says itself how files are written."""
    from pymosaic.paimon.write import write

    if options or keys:
        raise InvalidOptionError(f"{table} is a Paimon table, which has its own options and keys")
    if not (append or overwrite):
        raise InvalidOptionError(f"{table} is a Paimon table already: use --append or --overwrite")
    done = write(reader, table, mode="append" if append else "overwrite")
    return done.num_rows, done.num_bytes


def target_bytes(target: str) -> int:
    """The size of the file that was written."""
    status = status_of(resolve_location(target))
    return 0 if status is None else status.size


def write_batches(
    target: str,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    options: dict[str, Any],
    meter: Meter,
    user_metadata: dict[str, str] | None = None,
) -> int:
    """Write batches to a file, and return the number of rows."""
    num_rows = 0
    writer = open_writer(target, schema, options, user_metadata or {})
    try:
        for batch in batches:
            writer.write(batch)
            num_rows += batch.num_rows
            meter.add(batch.num_rows)
        writer.close()
    except BaseException:
        writer.abort()
        raise
    return num_rows
