"""The ends of very many files, read in Spark's tasks.

Planning needs the end of each file. Packs have those of files that jobs of pymosaic wrote. The
driver reads all others, which takes long if there are very many: above a number of files
(``maxFilesOpenedByDriver``) tasks do it, and send what they read, equal parts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from pymosaic.datasets.discovery import DataFile
from pymosaic.datasets.stored_heads import StoredHead, read_end

__all__ = ["read_ends_in_tasks"]

_FILES_PER_TASK = 500
# What the driver keeps of all files together; the ends of larger files are left to it.
_MAX_BYTES = 256 << 20


def read_ends_in_tasks(
    filesystem: Any, threshold: int, files: list[DataFile]
) -> dict[str, StoredHead]:
    """The ends of files by path, if there are more than a threshold of them.

    Files that cannot be read are left out: reading them tells why.
    """
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if len(files) <= threshold or context is None:
        return {}
    groups = max(context.defaultParallelism, -(-len(files) // _FILES_PER_TASK))
    named = [(file.path, file.modified) for file in files]
    read = partial(_read_group, filesystem, _MAX_BYTES // len(files))
    found: dict[str, StoredHead] = {}
    blocks: dict[bytes, bytes] = {}
    for heads in context.parallelize(named, groups).mapPartitions(read).toLocalIterator(True):
        found.update((head.path, _sharing(head, blocks)) for head in heads)
    return found


def _read_group(
    filesystem: Any, max_bytes: int, files: Iterable[tuple[str, float | None]]
) -> Iterator[list[StoredHead]]:
    """The ends of some files, without large ones; runs in a task."""
    blocks: dict[bytes, bytes] = {}
    found = (read_end(path, path, filesystem, modified) for path, modified in files)
    yield [
        _sharing(head, blocks) for head in found if head is not None and head.num_bytes <= max_bytes
    ]


def _sharing(head: StoredHead, blocks: dict[bytes, bytes]) -> StoredHead:
    """The same head, whose schema block is one object for all files that have it."""
    block = bytes(head.schema_block)
    return replace(head, schema_block=blocks.setdefault(block, block))
