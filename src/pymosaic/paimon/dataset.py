"""Paimon tables as datasets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from pymosaic.datasets.arrow_dataset import ArrowDataset
from pymosaic.errors import InvalidOptionError
from pymosaic.file.projection import Names, resolve_columns
from pymosaic.filters.row_filter import Filter
from pymosaic.keywords import checked_keywords
from pymosaic.limits import DEFAULT_LIMITS, Limits
from pymosaic.paimon.row_ranges import MergedRows, Rows, plan_rows
from pymosaic.paimon.scan import PaimonScan
from pymosaic.paimon.table import PaimonTable, open_table
from pymosaic.paimon.task import PaimonTask

__all__ = ["PaimonDataset", "TableState", "dataset"]


class TableState(NamedTuple):
    """A table as it is read: the schema, the snapshot (None: there was none), and the tag."""

    schema_id: int
    snapshot_id: int | None
    tag: str | None


class PaimonDataset(ArrowDataset):
    """A snapshot of a Paimon table; made by :func:`pymosaic.paimon.dataset`.

    Has the methods of :class:`pymosaic.Dataset`, and is a ``pyarrow.dataset.Dataset`` too.
    """

    def __init__(
        self,
        table: PaimonTable,
        snapshot: int | None,
        tag: str | None,
        timestamp: datetime | int | None,
        limits: Limits | None,
        state: TableState | None = None,
    ) -> None:
        super().__init__()
        if limits is not None and not isinstance(limits, Limits):
            raise InvalidOptionError(f"limits must be a pymosaic.Limits, got {limits!r}")
        self._limits = DEFAULT_LIMITS if limits is None else limits
        self._table = table
        travels = any(item is not None for item in (snapshot, tag, timestamp))
        found = None
        if state is None:
            found = table.snapshot(snapshot, tag, timestamp)
            # A table that is read as it was has the columns that it had.
            schema_id = found.schema_id if travels and found is not None else None
            self._fields = table.fields(schema_id)
        else:
            if state.snapshot_id is not None:
                snapshot, tag = (None, state.tag) if state.tag else (state.snapshot_id, None)
                found = table.snapshot(snapshot, tag)
            self._fields = table.fields(state.schema_id)
        self.snapshot_id: int | None = None if found is None else found.id
        self._tag = tag
        self._rows: tuple[Rows, ...] = tuple(plan_rows(table, self._fields, found))

    @property
    def state(self) -> TableState:
        """What is read, to read the same again."""
        return TableState(self._fields.schema_id, self.snapshot_id, self._tag)

    @property
    def schema(self) -> pa.Schema:
        """All columns, in the order of the table."""
        return self._fields.arrow

    @property
    def files(self) -> tuple[str, ...]:
        """The data files, in the order in which they are read."""
        return tuple(
            path
            for rows in self._rows
            for path in (
                [file.file_path for file in rows.split.files]
                if isinstance(rows, MergedRows)
                else [file.path for file in rows.files]
            )
        )

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The partition keys of the table."""
        return self._fields.partition_keys

    @property
    def num_partitions(self) -> int:
        """The number of partitions that have rows."""
        return len({rows.partition for rows in self._rows})

    @property
    def conflicts(self) -> frozenset[str]:
        """Columns of types that do not unite: a table has none."""
        return frozenset()

    @property
    def filesystem(self) -> Any:
        """The file system of the files; None for the local one."""
        return self._table.filesystem

    @property
    def base(self) -> str:
        """The path of the table."""
        return self._table.path

    @property
    def num_bytes(self) -> int:
        """The total size of all files."""
        return sum(rows.size for rows in self._rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.__dict__,)

    def __repr__(self) -> str:
        partitions = f", by {', '.join(self.partition_columns)}" if self.partition_columns else ""
        return (
            f"<pymosaic.paimon.PaimonDataset {self.base}: snapshot {self.snapshot_id}, "
            f"{len(self.files)} files, {len(self._fields.names)} columns{partitions}>"
        )

    def _scan(
        self,
        chosen: pa.Schema,
        row_filter: Filter | None,
        filter_schema: pa.Schema,
        limit: int | None,
    ) -> PaimonScan:
        task = PaimonTask(
            self._table,
            self._fields.schema_id,
            chosen,
            row_filter,
            filter_schema,
            self._limits,
        )
        return PaimonScan(self.base, self._rows, len(self._fields.names), task, limit)

    def _select(self, columns: Names, option: str) -> pa.Schema:
        fields = self._fields
        positions = resolve_columns(columns, fields.catalog, option)
        return pa.schema([fields.field(place) for place in fields.catalog.places(positions)])


def _restored(state: dict[str, Any]) -> PaimonDataset:
    dataset = PaimonDataset.__new__(PaimonDataset)
    ArrowDataset.__init__(dataset)
    dataset.__dict__.update(state)
    return dataset


@checked_keywords()
def dataset(
    table: object,
    *,
    snapshot: int | None = None,
    tag: str | None = None,
    timestamp: datetime | int | None = None,
    options: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> PaimonDataset:
    """Read a Paimon table.

    Rows are those of one snapshot, whatever is committed afterwards. Columns are found by their
    field ids, so that a renamed column keeps its data.

    Parameters
    ----------
    table : str, path-like, or table of PyPaimon
        The directory of the table, or what ``catalog.get_table`` returns.
    snapshot : int, optional
        The snapshot to read; without it, the newest.
    tag : str, optional
        The tag whose snapshot is read.
    timestamp : datetime, or int, optional
        The newest snapshot that is not younger (an int: milliseconds since 1970) is read.
    options : mapping of str to str, optional
        Options of PyPaimon's storage for a path, such as ``{"s3.endpoint": "…"}``.
    limits : Limits, optional
        Caps on what a file may demand.

    Returns
    -------
    PaimonDataset

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> table = pa.table({"id": [1, 2], "price": [0.5, 1.5]})
    >>> pymosaic.paimon.write(table, "shop.db/sales", create=True).snapshot_id
    1
    >>> sales = pymosaic.paimon.dataset("shop.db/sales")
    >>> sales.scan(columns=["price"], filters=[("id", ">", 1)]).to_table().to_pydict()
    {'price': [1.5]}
    """
    return PaimonDataset(open_table(table, options), snapshot, tag, timestamp, limits)
