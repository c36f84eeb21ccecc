"""Datasets: many files read as one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.datasets.arrow_dataset import ArrowDataset
from pymosaic.datasets.discovery import DataFile, DatasetSource, Discovery, discover
from pymosaic.datasets.file_columns import select_fields
from pymosaic.datasets.files import DatasetFiles, warn_skipped
from pymosaic.datasets.head_store import HeadStore
from pymosaic.datasets.original_union import OriginalUnion
from pymosaic.datasets.partitioning import Partition, typed_partition
from pymosaic.datasets.partitioning import partition_schema as infer_schema
from pymosaic.datasets.scan import Scan
from pymosaic.datasets.scan_task import ScanTask
from pymosaic.datasets.schema_union import unite
from pymosaic.errors import DatasetError, InvalidOptionError
from pymosaic.file.open_file import FileHead
from pymosaic.file.projection import Names
from pymosaic.file.reader import Types
from pymosaic.file.row_group_reader import Selection
from pymosaic.filters.given import Filters
from pymosaic.filters.row_filter import Filter
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.kernels.catalog import Catalog
from pymosaic.keywords import checked_keywords
from pymosaic.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from pymosaic.picture import Picture

__all__ = ["Dataset", "Fragment", "data_files", "dataset"]

_ATTEMPTS = 5


class Dataset(ArrowDataset):
    """Mosaic files read as one table; made by :func:`pymosaic.dataset`.

    Files are merged by column name: a column missing in a file is null there, and differing types
    are widened if nothing is lost.

    It is also a ``pyarrow.dataset.Dataset``, so that DuckDB and others can query it.

    With ``opened_before``, the same dataset as it was, the ends of files that have not changed are
    not read again. With ``defer_conflicts``, types of a column that cannot be widened to one are an
    error only for scans that select it. With ``found``, these files are read, instead of those of a
    new listing; with ``partition_schema``, values of their partition columns have these types. With
    ``skip_missing``, files that are gone are left out. With ``keeps_metadata``, the metadata of
    columns is known though types are those that are stored.
    """

    def __init__(
        self,
        source: DatasetSource,
        *,
        filesystem: object = None,
        schema: pa.Schema | None = None,
        partitioning: str | None = "hive",
        on_error: str = "raise",
        limits: Limits | None = None,
        opened_before: Dataset | None = None,
        defer_conflicts: bool = False,
        found: Discovery | None = None,
        partition_schema: pa.Schema | None = None,
        skip_missing: bool = False,
        trust_statistics: bool = False,
        types: Types = "arrow",
        keeps_metadata: bool = False,
    ) -> None:
        super().__init__()
        if partitioning not in ("hive", None):
            raise InvalidOptionError(f"partitioning must be 'hive' or None, got {partitioning!r}")
        if on_error not in ("raise", "skip"):
            raise InvalidOptionError(f"on_error must be 'raise' or 'skip', got {on_error!r}")
        if schema is not None and not isinstance(schema, pa.Schema):
            raise InvalidOptionError(f"schema must be a pyarrow.Schema, got {schema!r}")
        if limits is not None and not isinstance(limits, Limits):
            raise InvalidOptionError(f"limits must be a pymosaic.Limits, got {limits!r}")
        if types not in ("arrow", "mosaic"):
            raise InvalidOptionError(f"types must be 'arrow' or 'mosaic', got {types!r}")
        self._limits = DEFAULT_LIMITS if limits is None else limits
        self._on_error = on_error
        self._trust_statistics = bool(trust_statistics)
        # Columns whose types do not unite; with `defer_conflicts` it is an error to select them.
        self._conflicts: dict[str, DatasetError] | None = {} if defer_conflicts else None
        self._skip_missing = skip_missing
        # A schema that is given says which types are wanted.
        keeps_metadata = (keeps_metadata or types == "arrow") and schema is None
        self._originals = OriginalUnion(self._limits) if keeps_metadata else None
        if found is None:
            found, files, united = self._find(
                source, filesystem, partitioning == "hive", schema is None, opened_before
            )
        else:
            self._use_heads(found, opened_before)
            files, united = self._opened(found, schema is None)
        if not files and schema is None:
            raise DatasetError(
                f"{found.base} has no Mosaic files; pass schema= to read it as an empty table"
            )
        if partition_schema is None:
            partition_schema = infer_schema(
                {file.path: file.partition for file in files}, schema, _kept_types(files)
            )
            # Files of one partition share its values, which take a while to parse.
            typed: dict[Partition, Partition] = {}
            for place, file in enumerate(files):
                if file.partition not in typed:
                    values = typed_partition(file.partition, partition_schema, file.path)
                    typed[file.partition] = values
                files[place] = replace(file, partition=typed[file.partition])
        self._partition_schema: pa.Schema = partition_schema
        self._files = DatasetFiles(found.base, tuple(files), self._heads, on_error)
        if schema is None:
            self._schema = self._with_partitions(united)
        else:
            self._schema = self._given(schema)
        original = None if self._originals is None else self._originals.schema(self._schema)
        for name, error in () if self._originals is None else self._originals.conflicts.items():
            if self._conflicts is None:
                raise error
            self._conflicts[name] = error
        self._original = original if types == "arrow" else None
        self._described = None if original is None else original[0]
        self._user = {} if self._originals is None else self._originals.user_metadata
        self._originals = None
        self._catalog: Catalog | None = None

    def _find(
        self,
        source: DatasetSource,
        filesystem: object,
        hive: bool,
        with_schema: bool,
        opened_before: Dataset | None,
    ) -> tuple[Discovery, list[DataFile], pa.Schema | None]:
        """The files, and their merged schema if requested."""
        for attempt in range(_ATTEMPTS):
            found = discover(source, filesystem, hive)
            self._use_heads(found, opened_before)
            try:
                return found, *self._opened(found, with_schema)
            except FileNotFoundError:
                # Replaced since they were listed: a new listing shows their replacements.
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def _use_heads(self, found: Discovery, opened_before: Dataset | None) -> None:
        """Keep heads of files, beginning with those that were read before."""
        self._filesystem = found.filesystem
        if opened_before is None:
            self._heads = HeadStore(
                found.filesystem,
                self._limits,
                skip_missing=self._skip_missing,
                packs=found.packs,
                keeps_metadata=self._originals is not None,
                read_ends=found.read_ends,
            )
        else:
            heads = opened_before._files.heads
            self._heads = heads.carried_over(
                found.files,
                found.filesystem,
                skip_missing=self._skip_missing,
                packs=found.packs,
                keeps_metadata=self._originals is not None,
                read_ends=found.read_ends,
            )

    def _opened(
        self, found: Discovery, with_schema: bool
    ) -> tuple[list[DataFile], pa.Schema | None]:
        """The files that can be read, and their merged schema if requested."""
        if not with_schema and self._on_error == "raise":
            return list(found.files), None
        return self._open_all(list(found.files), with_schema)

    def _open_all(
        self, files: list[DataFile], with_schema: bool
    ) -> tuple[list[DataFile], pa.Schema | None]:
        """Open every file; returns the valid ones and their merged schema."""
        good: list[DataFile] = []
        originals = self._originals
        if originals is not None:
            originals = self._originals = OriginalUnion(self._limits)

        def heads() -> Iterator[tuple[str, Catalog]]:
            for file, head in self._heads.load(files):
                if isinstance(head, FileHead):
                    good.append(file)
                    if originals is not None:
                        originals.add(head)
                    yield file.path, head.catalog
                elif self._on_error == "raise" and not isinstance(head, FileNotFoundError):
                    raise head
                else:
                    warn_skipped(head, "a file")

        if with_schema:
            return good, unite(heads(), conflicts=self._conflicts)
        for _ in heads():
            pass
        return good, None

    def _with_partitions(self, schema: pa.Schema) -> pa.Schema:
        """The columns of files, then those of directories, which replace files' columns by name."""
        names = set(self._partition_schema.names)
        if names.intersection(schema.names):
            schema = pa.schema([item for item in schema if item.name not in names])
        for item in self._partition_schema:
            schema = schema.append(item)
        return schema

    def _given(self, schema: pa.Schema) -> pa.Schema:
        """The schema given by the user; partition columns that it does not have come last."""
        schema = schema.remove_metadata()
        for item in self._partition_schema:
            if schema.get_field_index(item.name) < 0:
                schema = schema.append(item)
        catalog_from_arrow(schema, 1)  # refuses invalid names and types
        return schema

    @property
    def files(self) -> tuple[str, ...]:
        """The files, in the order in which they are read."""
        return tuple(file.path for file in self._files.files)

    @property
    def schema(self) -> pa.Schema:
        """All columns; those of partitions come last."""
        return self._schema if self._original is None else self._original[0]

    def described(self, schema: pa.Schema) -> pa.Schema:
        """Some of the columns, with the metadata that their files agree on."""
        known = self._described
        if known is None:
            return schema
        found = {field.name: field.metadata for field in known if field.metadata}
        return pa.schema([field.with_metadata(found.get(field.name)) for field in schema])

    @property
    def user_metadata(self) -> dict[str, str]:
        """Keys and values of the user that are the same in all files; none with ``schema``."""
        return dict(self._user)

    @property
    def stored_schema(self) -> pa.Schema:
        """The same columns in the types that are stored and that filters compare."""
        return self._schema

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns that come from directories."""
        return tuple(self._partition_schema.names)

    @property
    def num_partitions(self) -> int:
        """The number of partitions that have files."""
        return len({file.partition for file in self._files.files})

    @property
    def conflicts(self) -> frozenset[str]:
        """Columns of types that do not unite, if that was not an error."""
        return frozenset(self._conflicts or ())

    @property
    def filesystem(self) -> Any:
        """The file system of the files; None for the local one."""
        return self._filesystem

    @property
    def base(self) -> str:
        """The directory, pattern or file of the dataset."""
        return self._files.base

    @property
    def known_bytes(self) -> int:
        """About how much memory is held by what is known of files."""
        return self._files.heads.num_bytes

    @property
    def num_bytes(self) -> int:
        """The total size of all files, as far as known."""
        return self._files.num_bytes

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.__dict__ | {"_catalog": None})

    def __repr__(self) -> str:
        partitions = f", by {', '.join(self.partition_columns)}" if self.partition_columns else ""
        return (
            f"<pymosaic.Dataset {self.base}: {len(self.files)} files, "
            f"{len(self._schema)} columns{partitions}>"
        )

    def _repr_html_(self) -> str:
        from pymosaic.notebook import facts_html, schema_summary

        return facts_html(
            f"Dataset of Mosaic files {self.base}",
            [
                ("files", f"{len(self.files):,}"),
                *schema_summary(self.schema.names, self.schema.types),
                ("partitions", ", ".join(self.partition_columns) or "none"),
            ],
        )

    def view(self, *, title: str | None = None) -> Picture:
        """A picture of the files and their columns, which notebooks show.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> _ = pymosaic.write_dataset(pa.table({"n": range(9)}), "numbers")
        >>> pymosaic.dataset("numbers").view().title
        'numbers'
        """
        from pymosaic.picture import picture_of

        return picture_of(self, title)

    @checked_keywords()
    def get_fragments(self, filter: Filters | None = None) -> Iterator[Fragment]:
        """The files, each as a dataset of its own.

        Parameters
        ----------
        filter : filters as in :meth:`scan`, optional
            Leave out files that partition values or statistics rule out.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> table = pa.table({"x": [1, 2, 3], "day": [1, 1, 2]})
        >>> _ = pymosaic.write_dataset(table, "days", partition_by=["day"])
        >>> for fragment in pymosaic.dataset("days").get_fragments("day > 1"):
        ...     print(fragment.partition_expression, fragment.to_table()["x"].to_pylist())
        (day == 2) [3]
        """
        files = self._files.files
        if filter is not None:
            wanted = {piece.path for piece in self.scan([], filter).plan().pieces}
            files = tuple(file for file in files if file.path in wanted)
        for file in files:
            state = self.__dict__ | {"_files": replace(self._files, files=(file,))}
            fragment = _restored(Fragment, state)
            assert isinstance(fragment, Fragment)
            yield fragment

    def _scan(
        self,
        chosen: pa.Schema,
        row_filter: Filter | None,
        filter_schema: pa.Schema,
        limit: int | None,
    ) -> Scan:
        original, changed = self._original_of(chosen)
        if self._conflicts:
            for name in (*chosen.names, *filter_schema.names):
                if name in self._conflicts:
                    raise self._conflicts[name]
        task = ScanTask(
            chosen,
            self._partition_schema,
            row_filter,
            filter_schema,
            self._filesystem,
            self._limits,
            self._on_error,
            self._trust_statistics,
            original,
            changed,
        )
        return Scan(self._files, len(self._schema), task, limit)

    def _original_of(self, chosen: pa.Schema) -> tuple[pa.Schema | None, tuple[int, ...]]:
        """The chosen columns as they were written, and which of them have other types."""
        if self._original is None:
            return None, ()
        schema, changed = self._original
        if chosen is self._schema:
            return schema, tuple(changed)
        known = set(changed)
        places = [schema.get_field_index(name) for name in chosen.names]
        fields = [schema.field(place) for place in places]
        return pa.schema(fields, schema.metadata), tuple(
            number for number, place in enumerate(places) if place in known
        )

    def _select(self, columns: Names, option: str) -> pa.Schema:
        if self._catalog is None:
            self._catalog = catalog_from_arrow(self._schema, 1)
        return select_fields(self._schema, self._catalog, columns, option)


def data_files(dataset: Dataset) -> tuple[DataFile, ...]:
    """The files of a dataset as they were found, for modules of this package."""
    return dataset._files.files


def _kept_types(files: Iterable[DataFile]) -> dict[str, str]:
    """What records say of the types of partition columns, where those of all files agree."""
    found: dict[str, set[str]] = {}
    for types in {file.partition_types for file in files}:
        for key, text in types:
            found.setdefault(key, set()).add(text)
    return {key: texts.pop() for key, texts in found.items() if len(texts) == 1}


class Fragment(Dataset):
    """One file of a dataset, with the columns of the whole: a dataset itself, and picklable.

    Made by :meth:`pymosaic.Dataset.get_fragments`, for engines that give a task each file.
    """

    def __repr__(self) -> str:
        return f"<pymosaic.Fragment {self.path}: {len(self._schema)} columns>"

    @property
    def path(self) -> str:
        """The file."""
        return self._files.files[0].path

    @property
    def physical_schema(self) -> pa.Schema:
        """The columns that the file itself has, in the types that are stored."""
        [(_, head)] = self._files.load(self._files.files, check=False)
        catalog = head.catalog
        return Selection(catalog, catalog.original_order()).import_schema()

    @property
    def partition_expression(self) -> pc.Expression:
        """What the directories of the file say of its rows."""
        known = pc.scalar(True)
        for key, value in self._files.files[0].partition:
            column = pc.field(key)
            test = column.is_null() if value is None else column == value
            known = test if known.equals(pc.scalar(True)) else known & test
        return known


def _restored(kind: type[Dataset], state: dict[str, Any]) -> Dataset:
    dataset = kind.__new__(kind)
    ArrowDataset.__init__(dataset)
    dataset.__dict__.update(state)
    return dataset


@checked_keywords()
def dataset(
    source: DatasetSource,
    *,
    filesystem: object = None,
    schema: pa.Schema | None = None,
    partitioning: str | None = "hive",
    on_error: str = "raise",
    limits: Limits | None = None,
    trust_statistics: bool = False,
    types: Types = "arrow",
) -> Dataset:
    """Read many Mosaic files as one table.

    Without ``schema``, the end of every file is read now, to merge their columns by name.

    Parameters
    ----------
    source : str, path-like, or list of those
        A directory, a pattern such as ``"sales/year=2024/*.mosaic"``, a file, a URI, or several.
        Files and directories whose names start with ``_`` or ``.`` are ignored.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``source``.
    schema : pyarrow.Schema, optional
        The columns to read, instead of all; values are cast to these types.
    partitioning : {"hive", None}
        Whether directories named ``key=value`` become columns.
    on_error : {"raise", "skip"}
        How to handle files that are damaged or not Mosaic files: raise, or skip them with a warning
        (of a damaged file, only the row groups that cannot be read).
    limits : Limits, optional
        Caps on what a file may demand.
    trust_statistics : bool
        Whether filters, counts and minima may rely on statistics that no checksum covers, as in
        files of other writers; see :func:`pymosaic.read_table`.
    types : {"arrow", "mosaic"}
        "arrow": columns have the types that they were written from, as for
        :func:`pymosaic.read_table`, if all files that have a column were written from the same one;
        metadata that is the same in all files is kept. "mosaic": the types that columns are stored
        in, without metadata.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import os, pyarrow as pa, pymosaic
    >>> for year in (2023, 2024):
    ...     os.makedirs(f"sales/year={year}")
    ...     table = pa.table({"shop": ["a", "b"], "sum": [year, 2 * year]})
    ...     pymosaic.write_table(table, f"sales/year={year}/part-0.mosaic")
    >>> sales = pymosaic.dataset("sales")
    >>> sales.count_rows()
    4
    >>> sales.scan(columns=["sum", "year"], filters=[("year", "=", 2024)]).to_table().to_pydict()
    {'sum': [2024, 4048], 'year': [2024, 2024]}
    """
    return Dataset(
        source,
        filesystem=filesystem,
        schema=schema,
        partitioning=partitioning,
        on_error=on_error,
        limits=limits,
        trust_statistics=trust_statistics,
        types=types,
    )
