"""Checks on appended data: it must have the dataset's partition keys, and compatible types.

The columns of a dataset are those of all its files, and finding them requires reading the end of
every file. Usually that is not needed: if one file has every column of the new data, with the same
types, the dataset stays readable. The file that was committed last is checked first, then the
newest files, and only then all. Keys, and their types, are also found from the newest records: what
an append costs does not depend on how many there were before.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

import numpy as np
import pyarrow as pa

from pymosaic.arrow.types import duration_units
from pymosaic.datasets.discovery import DataFile
from pymosaic.datasets.head_store import HeadStore
from pymosaic.datasets.log import read_log
from pymosaic.datasets.partitioning import split_partition
from pymosaic.datasets.records import RECORDS_DIRECTORY, JobRecord, list_records
from pymosaic.datasets.schema_union import unite
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.datasets.splitting import check_partition_columns
from pymosaic.errors import DatasetError, InvalidDataError, InvalidOptionError
from pymosaic.file.open_file import FileHead
from pymosaic.file.row_group_reader import Selection
from pymosaic.io import Directory, Entry
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.column_union import ColumnUnion
from pymosaic.limits import DEFAULT_LIMITS
from pymosaic.suggestions import did_you_mean

__all__ = ["any_file", "check_appendable", "recorded_types"]

_NEWEST_FILES = 8
_NEWEST_RECORDS = 4
_ATTEMPTS = 5
_NEW = "the data to append"
_ADVICE = "cast it before appending, or omit the column"


def check_appendable(
    storage: Directory, schema: pa.Schema, partition_by: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Refuse data that could not be read together with the files of a dataset.

    Jobs that run at the same time do not see each other's columns.

    Parameters
    ----------
    storage : Directory
        The dataset's directory; it may be empty, or not exist.
    schema : pyarrow.Schema
        Schema of the data, including key columns.
    partition_by : sequence of str, optional
        The keys requested by the caller; None means those of the dataset.

    Returns
    -------
    tuple of str
        The keys to write with.

    Raises
    ------
    InvalidOptionError
        If the dataset's keys differ from ``partition_by``.
    InvalidDataError
        If the data does not have one of the dataset's keys.
    DatasetError
        If a column has a type that is incompatible with the dataset's files; the message names the
        column, both types, and a file.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> from pymosaic.io import open_directory
    >>> table = pa.table({"day": [1, 2], "n": [5, 6]})
    >>> files = pymosaic.write_dataset(table, "daily", partition_by="day").files
    >>> check_appendable(open_directory("daily"), table.schema)
    ('day',)
    >>> check_appendable(open_directory("daily"), pa.schema({"day": pa.int64(), "n": pa.string()}))
    Traceback (most recent call last):
    ...
    pymosaic.errors.DatasetError: column 'n' is int64 in daily/day=... and string in the data...
    """
    _check_units(storage, schema)
    latest = _committed_last(storage)
    if latest is not None:
        keys = _keys_of_dataset(storage, latest, schema, partition_by)
        new = catalog_from_arrow(check_partition_columns(schema, keys), 1)
        with suppress(FileNotFoundError):
            if any(_has_columns(catalog, new) for _, catalog in _catalogs(storage, [latest])):
                return keys
    for attempt in range(_ATTEMPTS):
        files = take_snapshot(storage).files
        if not files:
            return tuple(partition_by or ())
        keys = _keys_of_dataset(storage, files[0], schema, partition_by)
        try:
            _check_types(storage, files, check_partition_columns(schema, keys))
            break
        except FileNotFoundError:
            # Replaced since they were listed: a new listing shows their replacements.
            if attempt == _ATTEMPTS - 1:
                raise
    return keys


def _check_units(storage: Directory, schema: pa.Schema) -> None:
    """Refuse durations of other units than the dataset has; files store both as integers."""
    new = {field.name: field.type for field in schema if duration_units(field.type)}
    if not new or not take_snapshot(storage).files:
        return
    from pymosaic.datasets.dataset import Dataset

    known = Dataset(storage.base, filesystem=storage.filesystem, defer_conflicts=True).schema
    for name, data_type in new.items():
        place = known.get_field_index(name)
        units = () if place < 0 else duration_units(known.field(place).type)
        if units and units != duration_units(data_type):
            raise DatasetError(
                f"column {name!r} is {known.field(place).type} in {storage.name} and {data_type} "
                f"in {_NEW}: {_ADVICE}"
            )


def any_file(storage: Directory) -> Entry | None:
    """A file of a dataset, preferably a new one; None if it has none.

    Its directories tell the keys of the dataset. It may have been replaced just now.
    """
    latest = _committed_last(storage)
    if latest is not None:
        return latest
    files = take_snapshot(storage).files
    return max(files, key=lambda file: (file.modified or 0.0, file.path), default=None)


def recorded_types(storage: Directory) -> Mapping[str, str]:
    """The types of partition columns in the records of a dataset.

    A job records the types that it knew, united with those of its own rows, so that the newest
    records suffice. What jobs recorded at the same time is united by readers.
    """
    for record in _newest_records(storage):
        if record.partition_types:
            return record.partition_types
    return read_log(storage).state.partition_types


def _newest_records(storage: Directory) -> Iterator[JobRecord]:
    """The records of the jobs that published last, newest first."""
    newest = heapq.nlargest(_NEWEST_RECORDS, list_records(storage).sequences.values())
    for _, name in newest:
        path = f"{RECORDS_DIRECTORY}/{name}"
        with suppress(FileNotFoundError):
            yield JobRecord.parse(storage.read(path), path)


def _committed_last(storage: Directory) -> Entry | None:
    """A file of the job that published last, if its record exists and adds files.

    A job that removed such a file would have published later.
    """
    for record in _newest_records(storage):
        if record.adds and record.adds[-1].size is not None:
            return Entry(record.adds[-1].path, record.adds[-1].size, None)
        if record.removes:
            break
    return None


def _keys_of_dataset(
    storage: Directory, file: Entry, schema: pa.Schema, wanted: Sequence[str] | None
) -> tuple[str, ...]:
    """The keys of the dataset, taken from any of its files."""
    present = tuple(key for key, _ in split_partition(file.path.split("/")[:-1]))
    if wanted is not None and tuple(wanted) != present:
        raise InvalidOptionError(
            f"partition_by is {list(wanted)}, but {storage.name} is partitioned by {list(present)}"
        )
    if missing := [key for key in present if schema.get_field_index(key) < 0]:
        raise InvalidDataError(
            f"{storage.name} is partitioned by {list(present)}, but the data has no column "
            f"{missing[0]!r}{did_you_mean(missing[0], schema.names)}"
        )
    return present


def _check_types(storage: Directory, files: Sequence[Entry], schema: pa.Schema) -> None:
    new = catalog_from_arrow(schema, 1)
    newest_first = sorted(files, key=lambda file: (file.modified or 0.0, file.path), reverse=True)
    catalogs = _catalogs(storage, newest_first)
    looked_at: list[tuple[str, Catalog]] = []
    for path, catalog in islice(catalogs, _NEWEST_FILES):
        if _has_columns(catalog, new):
            return
        looked_at.append((path, catalog))

    def everything() -> Iterator[tuple[str, Catalog]]:
        yield from looked_at
        yield from catalogs
        yield _NEW, new

    unite(everything(), _ADVICE)


def _catalogs(storage: Directory, files: Sequence[Entry]) -> Iterator[tuple[str, Catalog]]:
    store = HeadStore(storage.filesystem, DEFAULT_LIMITS, max_bytes=0)
    wanted = (DataFile(storage.full_path(file.path), file.size, ()) for file in files)
    for file, head in store.load(wanted):
        if not isinstance(head, FileHead):
            raise head
        yield file.path, head.catalog


def _has_columns(catalog: Catalog, new: Catalog) -> bool:
    """Whether a file has all of some columns, with the same types."""
    union = ColumnUnion()
    union.extend(catalog)
    if len(union.find_new(new)):
        return False
    _, positions = union.compare(new)
    # They may differ in nullability, which is always compatible.
    fields = Selection(new, positions).import_schema()
    known = Selection(catalog, np.asarray(catalog.find_many(fields.names))).import_schema()
    return bool(fields.types == known.types)
