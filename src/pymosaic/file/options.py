"""Writer options, validated when given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from pymosaic.errors import InvalidOptionError
from pymosaic.format.compression import BY_NAME, Compression
from pymosaic.option_text import (
    BOOLEAN,
    INTEGER,
    NAMES_OR_BOOLEAN,
    NUMBER_OR_AUTO,
    SIZE,
    TEXT,
    option,
)

if TYPE_CHECKING:
    from pymosaic.file.projection import Names

__all__ = [
    "AUTO_BUCKET_BYTES",
    "AUTO_LEAST_BUCKETS",
    "DEFAULT_NUM_BUCKETS",
    "WRITER_OPTIONS",
    "CompressionName",
    "WriterKeywords",
    "WriterOptions",
    "check_int",
]

DEFAULT_NUM_BUCKETS = 100
# num_buckets="auto", from the study in docs/guides/tuning.md: files are then close to their
# minimum size, and a bucket decompresses in about the time that a schema of 10,000 columns takes.
AUTO_BUCKET_BYTES = 1 << 20
AUTO_LEAST_BUCKETS = 10
_U32_MAX = (1 << 32) - 1
_U64_MAX = (1 << 64) - 1
# The range of libzstd 1.5; ZSTD_minCLevel() is -131072.
_MIN_LEVEL = -131072
_MAX_LEVEL = 22
# Batches above this are split by default. A column must fit in a block of 512 MiB; half of that
# leaves room, because the size of a batch is estimated.
_HUGE_COLUMN = 256 << 20
_HUGE_BATCH = 1 << 30


CompressionName: TypeAlias = Literal["zstd", "none"]


class WriterKeywords(TypedDict, total=False):
    """The options of a writer as keywords, for type checkers; see :func:`pymosaic.write_table`."""

    compression: CompressionName | None
    compression_level: int
    num_buckets: int | Literal["auto"] | None
    row_group_bytes: int
    row_group_rows: int | None
    max_dict_entries: int
    max_dict_bytes: int
    page_size_threshold: int
    statistics: bool | Names | None
    checksum: bool
    use_threads: bool
    split_batches: bool | None


def check_int(name: str, value: object, low: int, high: int) -> None:
    """Check that an option is an integer in a range."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InvalidOptionError(f"{name} must be an int, got {value!r}")
    if not low <= int(value) <= high:
        raise InvalidOptionError(f"{name} must be from {low} to {high}, got {value}")


def _check_bool(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidOptionError(f"{name} must be True or False, got {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterOptions:
    """Options of a writer; see :func:`pymosaic.write_table` for their meaning."""

    compression: str | None = option("zstd", "zstd or none", TEXT)
    compression_level: int = option(1, "zstd level; higher is smaller but slower", INTEGER)
    num_buckets: int | Literal["auto"] | None = option(
        None,
        "number of buckets; auto makes one for each MiB of the first row group, at least "
        f"{AUTO_LEAST_BUCKETS}",
        NUMBER_OR_AUTO,
        str(DEFAULT_NUM_BUCKETS),
    )
    row_group_bytes: int = option(256 << 20, "row group size before compression", SIZE)
    row_group_rows: int | None = option(None, "maximum number of rows in a row group", INTEGER)
    max_dict_entries: int = option(255, "maximum entries of a dictionary", INTEGER)
    max_dict_bytes: int = option(32 << 10, "maximum size of a dictionary", SIZE)
    page_size_threshold: int = option(
        32 << 10, "mean column size from which buckets are paged", SIZE
    )
    statistics: bool | tuple[str, ...] | None = option(
        None, "columns that get minimum and maximum per row group", NAMES_OR_BOOLEAN
    )
    checksum: bool = option(True, "write checksums", BOOLEAN)
    use_threads: bool = option(True, "encode on several threads", BOOLEAN)
    split_batches: bool | None = option(
        None, "whether a batch may be split across row groups", BOOLEAN
    )

    def __post_init__(self) -> None:
        if isinstance(self.compression, str):
            object.__setattr__(self, "compression", self.compression.lower())
        if self.compression is not None and self.compression not in tuple(BY_NAME):
            raise InvalidOptionError(
                f"compression must be 'zstd' or 'none', got {self.compression!r}"
            )
        check_int("compression_level", self.compression_level, _MIN_LEVEL, _MAX_LEVEL)
        if self.num_buckets is not None and self.num_buckets != "auto":
            if isinstance(self.num_buckets, str):
                raise InvalidOptionError(
                    f"num_buckets must be an int or 'auto', got {self.num_buckets!r}"
                )
            check_int("num_buckets", self.num_buckets, 1, _U32_MAX)
        check_int("row_group_bytes", self.row_group_bytes, 1, _U64_MAX)
        if self.row_group_rows is not None:
            check_int("row_group_rows", self.row_group_rows, 1, _U32_MAX)
        check_int("max_dict_entries", self.max_dict_entries, 0, _U32_MAX)
        check_int("max_dict_bytes", self.max_dict_bytes, 0, _U32_MAX)
        check_int("page_size_threshold", self.page_size_threshold, 0, _U32_MAX)
        _check_bool("checksum", self.checksum)
        _check_bool("use_threads", self.use_threads)
        if self.split_batches is not None:
            _check_bool("split_batches", self.split_batches)
        if self.statistics is not None and not isinstance(self.statistics, bool):
            object.__setattr__(self, "statistics", _names("statistics", self.statistics))

    @property
    def codec(self) -> Compression:
        """The compressor of blocks."""
        return BY_NAME[self.compression or "none"]

    def pieces(self, total_bytes: int, largest_column_bytes: int) -> int:
        """The minimum number of row groups for a batch of this size.

        The reference implementation never splits a batch, and neither do we, unless requested or
        unless the batch is so large that a column would not fit in a block, or that readers would
        need too much memory for one row group.
        """
        splits = self.split_batches
        if splits is None:
            huge = largest_column_bytes >= _HUGE_COLUMN or total_bytes >= _HUGE_BATCH
            splits = self.checksum and huge
        if not splits:
            return 1
        return max(total_bytes // self.row_group_bytes, -(-largest_column_bytes // _HUGE_COLUMN), 1)

    def bucket_count(self, num_columns: int, row_group_bytes: int = 0) -> int:
        """The number of buckets for this many columns: at least 1, never more than columns.

        With "auto" it depends on the serialised bytes of the first row group.
        """
        if self.num_buckets is None:
            requested = DEFAULT_NUM_BUCKETS
        elif self.num_buckets == "auto":
            requested = max(AUTO_LEAST_BUCKETS, -(-row_group_bytes // AUTO_BUCKET_BYTES))
        else:
            requested = self.num_buckets
        return max(1, min(requested, num_columns))


# The names of all options.
WRITER_OPTIONS = tuple(field.name for field in fields(WriterOptions))


def _names(option: str, value: Iterable[str] | str) -> tuple[str, ...]:
    if isinstance(value, str):
        raise InvalidOptionError(
            f"{option} must be a list of column names, got the string {value!r}: "
            f"write {option}=[{value!r}]"
        )
    try:
        names = tuple(value)
    except TypeError:
        raise InvalidOptionError(
            f"{option} must be True, False or a list of column names, got {value!r}"
        ) from None
    for name in names:
        if not isinstance(name, str):
            raise InvalidOptionError(f"{option} must contain column names, got {name!r}")
    return names
