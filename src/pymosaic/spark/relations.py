"""Relations: what a load fixed, the files of a moment, opened as a dataset.

A relation is one state of its files. It is listed once, when it is loaded, and whatever is asked of
it later reads these files. Options carry the name of the state, by which the relation is opened
again.

Datasets that were opened last are kept, so that a query reads no end of a file that its load has
read.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.datasets.discovery import DataFile
from pymosaic.datasets.partitioning import Partition
from pymosaic.datasets.plan import Piece, ScanPlan
from pymosaic.errors import DatasetError, InvalidOptionError, UnsupportedFeatureError
from pymosaic.file.reader import MosaicFile, Types
from pymosaic.spark.ends import read_ends_in_tasks
from pymosaic.spark.file_metadata import file_uri
from pymosaic.spark.listing import FileListing, list_files
from pymosaic.spark.names import match_names
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.paimon_tables import is_paimon, open_paimon, table_exists
from pymosaic.spark.partition_inference import infer_type, recorded_type, spark_text, typed_value
from pymosaic.spark.states import States
from pymosaic.spark.storage import locate
from pymosaic.spark.types import spark_type

if TYPE_CHECKING:
    from pymosaic.datasets.dataset import Dataset

__all__ = [
    "Relation",
    "file_uris",
    "has_files",
    "open_relation",
    "partition_columns",
    "partition_values",
    "state_of",
    "states",
]

_ATTEMPTS = 5
# Of datasets that were opened: how many are kept, and what the known ends of their files may take.
_KEPT = 8
_KEPT_BYTES = 64 << 20


class _OpenedDatasets:
    """The datasets opened last, by what they are and by where they are."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[str, Dataset]] = OrderedDict()

    def get(self, key: str) -> Dataset | None:
        """The dataset of this key, as it was opened."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return None if found is None else found[1]

    def last_at(self, place: str) -> Dataset | None:
        """The dataset that was opened last at this place, perhaps in another state."""
        with self._lock:
            for where, dataset in reversed(self._kept.values()):
                if where == place:
                    return dataset
            return None

    def put(self, key: str, place: str, dataset: Dataset) -> None:
        """Keep a dataset, unless what is known of its files takes much memory."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = place, dataset
            while len(self._kept) > _KEPT or self._known_bytes() > _KEPT_BYTES:
                self._kept.popitem(last=False)

    def _known_bytes(self) -> int:
        return sum(dataset.known_bytes for _, dataset in self._kept.values())


_opened = _OpenedDatasets()


states: States = States()


class Relation:
    """The files of a load.

    Parameters
    ----------
    options : SourceOptions
        How they are read.
    state : str
        The name of the state that tells which they are.
    """

    def __init__(self, options: SourceOptions, state: str) -> None:
        self.options = options
        self.state = state

    @property
    def listing(self) -> FileListing:
        """Which files they are."""
        return states.get(self.state)

    @property
    def is_empty(self) -> bool:
        """Whether there are no files: only a schema that the user declares can tell the columns."""
        return not self.listing.files

    def open(
        self, schema: pa.Schema | None = None, declared: Mapping[str, pa.DataType] | None = None
    ) -> Dataset:
        """Open the files as a dataset.

        Parameters
        ----------
        schema : pyarrow.Schema, optional
            The columns to read, instead of all.
        declared : mapping of str to pyarrow.DataType, optional
            Types of partition columns that the user has declared.
        """
        # It imports pandas, through Arrow, which tasks do not need.
        from pymosaic.datasets.dataset import Dataset

        options = self.options
        place = repr((options.locations, sorted(options.storage.items())))
        key = repr((place, self.state, _reading(options), sorted((declared or {}).items())))
        if schema is None:
            kept = _opened.get(key)
            if kept is not None:
                return kept
        _, filesystem = locate(options.locations, options.storage)
        partition_schema, files = _typed(self.listing.files, options, declared or {})
        before = _opened.last_at(place)
        given = schema
        if given is None and not options.merge_schema and files:
            given = _first_schema(files, filesystem, partition_schema.names)
        dataset = Dataset(
            self.listing.base,
            schema=given,
            on_error="skip" if options.ignore_corrupt_files else "raise",
            opened_before=before,
            defer_conflicts=True,
            found=replace(
                self.listing.discovery(filesystem),
                files=files,
                read_ends=partial(
                    read_ends_in_tasks, filesystem, options.max_files_opened_by_driver
                ),
            ),
            partition_schema=partition_schema,
            skip_missing=options.ignore_missing_files,
            trust_statistics=options.trust_statistics,
            types="mosaic",
            keeps_metadata=True,
        )
        if schema is None:
            _opened.put(key, place, dataset)
        total = len(files)
        if options.ignore_corrupt_files and len(dataset.files) < total:
            warnings.warn(
                f"ignoreCorruptFiles: {total - len(dataset.files)} of {total} files are skipped",
                stacklevel=2,
            )
        return dataset

    def described(self, dataset: Dataset, schema: pa.Schema) -> pa.Schema:
        """Columns of the dataset, with what its files, or the first of them, say of these."""
        if self.options.merge_schema:
            return dataset.described(schema)
        _, filesystem = locate(self.options.locations, self.options.storage)
        first = _first_schema(self.listing.files, filesystem, dataset.partition_columns, "arrow")
        found = {field.name: field.metadata for field in first if field.metadata}
        return pa.schema([field.with_metadata(found.get(field.name)) for field in schema])

    def report(
        self, dataset: Dataset, plan: ScanPlan, pieces: Sequence[Piece], limit: int | None
    ) -> dict[str, Any]:
        """Of rows, files, row groups, bytes and partitions: what is read, and what is there."""
        row_groups = sum(len(piece.row_groups) for piece in pieces)
        return {
            "rows": sum(piece.num_rows for piece in pieces),
            "files": (len({piece.path for piece in pieces}), plan.files.total),
            "rowGroups": (row_groups, max(row_groups, plan.row_groups.total)),
            "bytes": (sum(piece.num_bytes for piece in pieces), plan.bytes.total),
            "partitions": (len({piece.partition for piece in pieces}), dataset.num_partitions),
            "keys": dataset.partition_columns,
            "limit": limit,
        }


def open_relation(options: SourceOptions, wanted: Sequence[str] = ()) -> tuple[Any, Any]:
    """What the options name, in the state that they fix, or else as it is now.

    Parameters
    ----------
    options : SourceOptions
    wanted : sequence of str
        Columns that a schema names: if the first file lacks one, all files are asked, even if
        schemas are not to be merged.

    Returns
    -------
    Relation or PaimonRelation
    Dataset, PaimonDataset or None
        None if there are no files.
    """
    if is_paimon(options):
        return open_paimon(options)
    _check_keys(options)
    for attempt in range(_ATTEMPTS):
        relation = _listed(options) if options.state is None else Relation(options, options.state)
        try:
            dataset = None if relation.is_empty else relation.open()
            if dataset is not None and not options.merge_schema:
                alike = options.pushed.get("alike", ())
                if None in match_names(wanted, dataset.schema.names, options.case_sensitive, alike):
                    relation = Relation(replace(options, merge_schema=True), relation.state)
                    dataset = relation.open()
            return relation, dataset
        except FileNotFoundError:
            # Replaced since they were listed: a new listing shows their replacements.
            if options.state is not None or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _check_keys(options: SourceOptions) -> None:
    """Refuse options that ignore directories whose keys are columns of a table."""
    if not (options.is_table and options.partition_by):
        return
    if options.recursive_file_lookup or options.partitioning is None:
        option = "recursiveFileLookup" if options.recursive_file_lookup else "partitioning"
        raise InvalidOptionError(
            f"the option {option} ignores the keys of directories, but the table is partitioned "
            f"by {', '.join(options.partition_by)}: leave it out"
        )


def _listed(options: SourceOptions) -> Relation:
    try:
        listing = list_files(options)
    except FileNotFoundError:
        if not options.is_table:
            raise
        listing = FileListing(options.locations[0], ())
    return Relation(options, states.put(listing))


def state_of(options: SourceOptions) -> str | None:
    """The files that are there now; None if there is no such path, or none is given."""
    if not (options.path or options.paths):
        return None
    if is_paimon(options):
        return open_paimon(options)[0].state if has_files(options) else None
    try:
        return states.put(list_files(options))
    except FileNotFoundError:
        return None


def has_files(options: SourceOptions) -> bool:
    """Whether there is anything to read."""
    return table_exists(options) if is_paimon(options) else bool(_files(options))


def file_uris(options: SourceOptions) -> list[str]:
    """The files, as Spark shows them."""
    if is_paimon(options):
        paths = open_paimon(options)[1].files
    else:
        paths = tuple(file.path for file in _files(options))
    return [file_uri(path, options.locations[0]) for path in paths]


def partition_columns(options: SourceOptions) -> tuple[str, ...]:
    """The columns that directories make, as the options say, or else as the files tell."""
    if options.partition_by is not None:
        return options.partition_by
    if is_paimon(options):
        return open_paimon(options)[1].partition_columns if has_files(options) else ()
    first = next(iter(_files(options)), None)
    return () if first is None else tuple(key for key, _ in first.partition)


def partition_values(options: SourceOptions) -> list[tuple[str | None, ...]]:
    """The values, in Spark's text, of all partitions that have files."""
    if is_paimon(options):
        raise UnsupportedFeatureError("partitions of a Paimon table are not listed")
    files = _files(options)
    recorded = _recorded_types(files)
    return sorted(
        set(_spark_texts({file.partition for file in files}, recorded).values()),
        key=lambda value: tuple((text is not None, text or "") for text in value),
    )


def _files(options: SourceOptions) -> tuple[DataFile, ...]:
    if options.state is not None:
        return states.get(options.state).files
    if not (options.path or options.paths):
        return ()
    try:
        return list_files(options).files
    except FileNotFoundError:
        return ()


def _first_schema(
    files: Sequence[DataFile], filesystem: Any, keys: Sequence[str], types: Types = "mosaic"
) -> pa.Schema:
    """The columns of the file whose path comes first."""
    first = min(files, key=lambda file: file.path)
    with MosaicFile(first.path, filesystem=filesystem, types=types) as file:
        return pa.schema([field for field in file.schema if field.name not in keys])


def _reading(options: SourceOptions) -> tuple[object, ...]:
    """The options that decide what a dataset of these files looks like."""
    return (
        options.ignore_corrupt_files,
        options.ignore_missing_files,
        options.merge_schema,
        options.trust_statistics,
        options.partition_types,
        options.infer_partition_types,
        options.timestamp_type,
        options.time_zone,
    )


def _typed(
    files: tuple[DataFile, ...], options: SourceOptions, declared: Mapping[str, pa.DataType]
) -> tuple[pa.Schema, tuple[DataFile, ...]]:
    """The partition columns, and the files with values of their types."""
    partitions: dict[Partition, str] = {}
    for file in files:
        partitions.setdefault(file.partition, file.path)
    keys = _common_keys(partitions)
    recorded = _recorded_types(files)
    texts = _spark_texts(partitions, recorded)
    zone = options.zone
    instant = pa.timestamp("us", None if options.timestamp_type.endswith("NTZ") else "UTC")
    fields = []
    for place, key in enumerate(keys):
        values = {text for row in texts.values() if (text := row[place]) is not None}
        data_type = declared.get(key) or recorded_type(
            values, recorded.get(key), options.partition_types == "recorded", instant
        )
        if data_type is None:
            inferred = options.infer_partition_types
            data_type = pa.string() if values and not inferred else infer_type(values, instant)
            if spark_type(data_type) is None:
                data_type = pa.string()  # Spark 4.0 has no TIME
        fields.append(pa.field(key, data_type))
    typed = {
        partition: tuple(
            (
                field.name,
                None if text is None else typed_value(field.name, text, field.type, zone, path),
            )
            for field, text in zip(fields, texts[partition], strict=True)
        )
        for partition, path in partitions.items()
    }
    return pa.schema(fields), tuple(
        replace(file, partition=typed[file.partition]) for file in files
    )


def _spark_texts(
    partitions: Iterable[Partition], recorded: Mapping[str, str]
) -> dict[Partition, tuple[str | None, ...]]:
    """The values of partitions as Spark would have written them."""
    return {
        partition: tuple(
            None if text is None else spark_text(text, recorded.get(key)) for key, text in partition
        )
        for partition in partitions
    }


def _common_keys(partitions: Mapping[Partition, str]) -> tuple[str, ...]:
    """The keys that all files have."""
    first: tuple[str, tuple[str, ...]] | None = None
    for partition, path in partitions.items():
        keys = tuple(key for key, _ in partition)
        if first is None:
            first = path, keys
            if len(set(keys)) < len(keys):
                raise DatasetError(f"{path}: a partition key appears twice in {list(keys)}")
        elif keys != first[1]:
            raise DatasetError(
                f"conflicting partition keys: {first[0]} has {list(first[1])}, {path} has "
                f"{list(keys)}; set the option recursiveFileLookup to read directories without "
                "their keys"
            )
    return () if first is None else first[1]


def _recorded_types(files: tuple[DataFile, ...]) -> dict[str, str]:
    """What records say of the types of partition columns, where those of all files agree."""
    found: dict[str, set[str]] = {}
    for types in {file.partition_types for file in files}:
        for key, text in types:
            found.setdefault(key, set()).add(text)
    return {key: texts.pop() for key, texts in found.items() if len(texts) == 1}
