"""Options of writing datasets, checked when they are given; those of files are the writer's."""

from __future__ import annotations

from dataclasses import dataclass, fields

from pymosaic.file.options import check_int
from pymosaic.option_text import INTEGER, SIZE, option

__all__ = [
    "DATASET_OPTIONS",
    "MAX_OPEN_FILES",
    "MIN_ROW_GROUP_BYTES",
    "TARGET_FILE_BYTES",
    "CompactionOptions",
    "DatasetOptions",
]

TARGET_FILE_BYTES = 512 << 20
MAX_OPEN_FILES = 64
MIN_ROW_GROUP_BYTES = 8 << 20
_MAX_BYTES = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetOptions:
    """How rows become files; see :func:`pymosaic.write_dataset` for what each option does."""

    target_file_bytes: int = option(TARGET_FILE_BYTES, "target size of files", SIZE)
    max_open_files: int = option(
        MAX_OPEN_FILES, "maximum number of partitions written to at once", INTEGER
    )

    def __post_init__(self) -> None:
        check_int("target_file_bytes", self.target_file_bytes, 1, _MAX_BYTES)
        check_int("max_open_files", self.max_open_files, 1, 1 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOptions:
    """What is compacted; see :func:`pymosaic.compact` for what each option does."""

    target_file_bytes: int = option(TARGET_FILE_BYTES, "target size of files", SIZE)
    min_row_group_bytes: int = option(
        MIN_ROW_GROUP_BYTES, "row groups below this size are rewritten", SIZE
    )

    def __post_init__(self) -> None:
        check_int("target_file_bytes", self.target_file_bytes, 1, _MAX_BYTES)
        check_int("min_row_group_bytes", self.min_row_group_bytes, 0, _MAX_BYTES)


# The names of the options of writing a dataset.
DATASET_OPTIONS = tuple(item.name for item in fields(DatasetOptions))
