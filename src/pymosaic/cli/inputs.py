"""The Mosaic files that the arguments name, and the columns and row groups to use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from pymosaic.errors import DatasetError, InvalidOptionError
from pymosaic.file.reader import MosaicFile

__all__ = [
    "InputFile",
    "check_directory",
    "check_distinct",
    "check_row_groups",
    "chosen_row_groups",
    "columns_by_bucket",
    "data_files",
    "mosaic_files",
    "paimon_table",
    "select_names",
    "split_formats",
]


class InputFile:
    """A Mosaic file named by the arguments."""

    def __init__(self, path: str, filesystem: Any) -> None:
        self.path = path
        self.filesystem = filesystem

    @contextmanager
    def open(self) -> Iterator[MosaicFile]:
        """Open the file."""
        with MosaicFile(self.path, filesystem=self.filesystem, types="mosaic") as file:
            yield file


def mosaic_files(sources: list[str], missing: list[str] | None = None) -> list[InputFile]:
    """The Mosaic files named by the arguments, in the order of their rows.

    Files that a dataset's records list and that are not there are an error, unless there is a list
    that takes them.
    """
    _refuse_other_formats(sources)
    if len(sources) == 1 and os.path.isfile(sources[0]):
        return [InputFile(sources[0], None)]
    from pymosaic.datasets.discovery import discover

    table = paimon_table(sources)
    if table is not None:
        return _table_files(table, missing)
    check_distinct(sources)
    found = discover(list(sources), None, False, allow_missing=missing is not None)
    if missing is not None:
        missing += found.missing
    if not found.files and not found.missing:
        raise DatasetError(f"{found.base} has no Mosaic files")
    return [InputFile(file.path, found.filesystem) for file in found.files]


def paimon_table(sources: list[str]) -> str | None:
    """The Paimon table that the arguments name, if they do."""
    if len(sources) != 1 or not os.path.isdir(os.path.join(sources[0], "schema")):
        return None
    from pymosaic.paimon.detection import holds_table

    return sources[0] if holds_table(sources[0]) else None


def _table_files(table: str, missing: list[str] | None) -> list[InputFile]:
    """The Mosaic files of the newest snapshot of a Paimon table."""
    from pymosaic.paimon.dataset import dataset

    opened = dataset(table)
    paths = [path for path in opened.files if path.endswith(".mosaic")]
    if missing is not None:
        missing += [path for path in opened.files if not os.path.exists(path)]
        paths = [path for path in paths if os.path.exists(path)]
    return [InputFile(path, opened.filesystem) for path in paths]


def check_distinct(sources: list[str]) -> None:
    """Refuse arguments that name a file twice: it is not clear whether it should count twice."""
    if len(sources) < 2:
        return
    from pymosaic.datasets.discovery import discover

    seen: set[str] = set()
    for source in sources:
        if os.path.isfile(source) or source.rstrip("/").endswith(".lance"):
            paths = [os.path.abspath(source)]
        else:
            paths = [
                file.path for file in discover([source], None, False, allow_missing=True).files
            ]
        for path in paths:
            if path in seen:
                raise InvalidOptionError(f"{path} is named twice by the arguments")
            seen.add(path)


def split_formats(sources: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Lance files, including those of Lance datasets, Parquet files, and all others."""
    from pymosaic.cli.formats import kind_of

    kinds = [kind_of(source) for source in sources]
    if any(kind is not None and kind.module != "mosaic" for kind in kinds):
        check_distinct(sources)
    lance: list[str] = []
    parquet: list[str] = []
    others: list[str] = []
    for source, kind in zip(sources, kinds, strict=True):
        if kind is not None and kind.module == "lance":
            lance += data_files(source) if os.path.isdir(source) else [source]
        elif kind is not None and kind.module == "parquet" and os.path.isfile(source):
            parquet.append(source)
        else:
            others.append(source)
    return lance, parquet, others


def check_directory(base: str) -> None:
    """Refuse a file where a dataset is expected."""
    if os.path.isfile(base):
        raise InvalidOptionError(f"{base} is a file; this command is for a dataset, a directory")


def _refuse_other_formats(sources: list[str]) -> None:
    from pymosaic.cli.formats import kind_of

    for source in sources:
        kind = kind_of(source)
        if kind is not None and kind.module != "mosaic" and os.path.exists(source):
            raise InvalidOptionError(
                f"{source}: this command is for Mosaic files; `pymosaic convert` converts it"
            )


def data_files(dataset: str) -> list[str]:
    """The data files of a Lance dataset, sorted by name."""
    directory = os.path.join(dataset, "data")
    names = sorted(os.listdir(directory)) if os.path.isdir(directory) else []
    files = [os.path.join(directory, name) for name in names if name.endswith(".lance")]
    if not files:
        raise DatasetError(f"{dataset} is a directory, but not a Lance dataset with data files")
    return files


def select_names(entries: Iterable[str] | None, names: list[str]) -> list[str] | None:
    """The columns that ``-c`` names: exact names or patterns, separated by commas."""
    if not entries:
        return None
    from pymosaic.file.projection import resolve_columns
    from pymosaic.kernels.arrow_source import catalog_from_arrow

    # Names are looked up by the catalog, which needs types; any type will do.
    catalog = catalog_from_arrow(pa.schema([(name, pa.int8()) for name in names]), 1)
    wanted: list[str] = []
    for entry in entries:
        if catalog.find(entry) >= 0:
            wanted.append(entry)
        else:
            wanted += [part for part in (part.strip() for part in entry.split(",")) if part]
    positions = resolve_columns(wanted, catalog, "--columns")
    return [catalog.name(int(position)) for position in positions]


def chosen_row_groups(wanted: list[int] | None, file: MosaicFile) -> list[int]:
    """The row groups given by ``--row-group``, or all."""
    return check_row_groups(wanted, file.num_row_groups)


def check_row_groups(wanted: list[int] | None, num_row_groups: int) -> list[int]:
    """These row groups, which must exist, or all."""
    if not wanted:
        return list(range(num_row_groups))
    for number in wanted:
        if number >= num_row_groups:
            raise InvalidOptionError(
                f"--row-group {number}: the file has {num_row_groups} row groups, numbered from 0"
            )
    return wanted


def columns_by_bucket(
    file: MosaicFile, names: list[str] | None
) -> dict[int, frozenset[str] | None]:
    """The buckets that hold these columns, each with its wanted columns; None for all."""
    if names is None:
        return dict.fromkeys(range(file.num_buckets))
    metadata = file.metadata
    wanted: dict[int, set[str]] = {}
    for name in names:
        wanted.setdefault(metadata.column_bucket(name), set()).add(name)
    return {bucket: frozenset(wanted[bucket]) for bucket in sorted(wanted)}
