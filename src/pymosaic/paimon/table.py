"""A Paimon table: where it is, its schemas and snapshots.

PyPaimon does the reading of snapshots, tags and manifests. Its tables hold an object for each
field, which takes longer than reading a column of a wide table; so planning gets a *lean* table
that has the key fields only, and the whole one is made where PyPaimon reads or commits.
"""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pymosaic.errors import DatasetError, InvalidOptionError, UnsupportedFeatureError
from pymosaic.paimon.commit import reading
from pymosaic.paimon.exclusive import exclusive_storage
from pymosaic.paimon.schema import TableFields, parse_schema

__all__ = ["PaimonTable", "open_table"]

_INSTALL = "Paimon tables need PyPaimon: pip install 'pymosaic-format[paimon]'"
_SCHEMA = "schema-"


def open_table(table: Any, options: Mapping[str, str] | None = None) -> PaimonTable:
    """Open a table by its path, or one that PyPaimon's catalog gave.

    Parameters
    ----------
    table : str, path-like, or PyPaimon's table
    options : mapping, optional
        How storage is reached, such as ``{"s3.endpoint": …}``; only for a path.

    Raises
    ------
    DatasetError
        If there is no table at this path.
    """
    try:
        from pypaimon.table.file_store_table import FileStoreTable
    except ImportError as error:
        raise UnsupportedFeatureError(_INSTALL) from error
    if isinstance(table, PaimonTable):
        return table
    if isinstance(table, FileStoreTable):
        if options is not None:
            raise InvalidOptionError("options are for a path: the table has its own")
        for name in getattr(table, "_applied_dynamic_options", {}):
            if name.startswith("scan."):
                raise InvalidOptionError(
                    f"the table was copied with {name}: give snapshot, tag or timestamp instead"
                )
        return PaimonTable(table.table_path, None, table)
    if not isinstance(table, str | os.PathLike):
        raise InvalidOptionError(
            f"table must be a path or a table of PyPaimon, got {type(table).__name__}"
        )
    path = os.fspath(table)
    if "://" not in path:
        path = os.path.abspath(path)
    return PaimonTable(path.rstrip("/"), dict(options or {}))


class PaimonTable:
    """One table.

    Attributes
    ----------
    path : str
    file_io : object
        PyPaimon's access to its storage.
    filesystem : object
        The same for pymosaic; None for local files.
    """

    def __init__(self, path: str, options: dict[str, str] | None, given: Any = None) -> None:
        from pypaimon.common.file_io import FileIO
        from pypaimon.common.options import Options

        self.path = path
        self._options = options
        self._given = given
        self.file_io: Any = exclusive_storage(
            FileIO.get(path, Options(options or {})) if given is None else given.file_io
        )
        self.filesystem: Any = self._arrow_filesystem()
        self._schemas: dict[int, TableFields] = {}
        self._lock = threading.Lock()
        self._dynamic: dict[str, str] = {}
        if given is not None:
            self._dynamic = dict(getattr(given, "_applied_dynamic_options", {}))

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "options": self._options, "given": self._given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"], state["options"], state["given"])  # type: ignore[misc]

    def _arrow_filesystem(self) -> Any:
        from pypaimon.filesystem.local_file_io import LocalFileIO
        from pypaimon.filesystem.pyarrow_file_io import PyArrowFileIO

        if isinstance(self.file_io, LocalFileIO):
            return None
        if isinstance(self.file_io, PyArrowFileIO):
            return self.file_io.filesystem
        raise UnsupportedFeatureError(
            f"{self.path}: tables on {type(self.file_io).__name__} are not supported; use a local "
            "path, or storage that pyarrow reaches"
        )

    def local_path(self, path: str) -> str:
        """The path of a file as :attr:`filesystem` wants it."""
        if self.filesystem is None:
            return str(self.file_io._to_file(path))
        return str(self.file_io.to_filesystem_path(path))

    @property
    def _branch(self) -> str:
        branch = "main" if self._given is None else self._given.current_branch()
        return self.path if branch == "main" else f"{self.path}/branch/branch-{branch}"

    def schema_ids(self) -> list[int]:
        """The ids of all schemas, in ascending order."""
        directory = f"{self._branch}/schema"
        try:
            found = self.file_io.list_status(directory) if self.file_io.exists(directory) else []
        except NotADirectoryError:
            found = []
        names = (str(status.path).rsplit("/", 1)[-1] for status in found)
        ids = (name[len(_SCHEMA) :] for name in names if name.startswith(_SCHEMA))
        return sorted(int(text) for text in ids if text.isascii() and text.isdigit())

    def fields(self, schema_id: int | None = None) -> TableFields:
        """The fields of a schema; without an id, of the newest."""
        if schema_id is None:
            ids = self.schema_ids()
            if not ids:
                raise DatasetError(f"{self.path} is not a Paimon table: it has no schema")
            schema_id = ids[-1]
        with self._lock:
            known = self._schemas.get(schema_id)
        if known is None:
            path = f"{self._branch}/schema/{_SCHEMA}{schema_id}"
            try:
                text = self.file_io.read_file_utf8(path)
            except FileNotFoundError as error:
                raise DatasetError(f"{path} is missing: files of the table need it") from error
            known = parse_schema(text, path)
            with self._lock:
                self._schemas[schema_id] = known
        return known

    def schema_manager(self) -> Any:
        """PyPaimon's manager of schemas."""
        from pypaimon.schema.schema_manager import SchemaManager

        branch = () if self._given is None else (self._given.current_branch(),)
        return SchemaManager(self.file_io, self.path, *branch)

    def whole(self, schema: Any = None) -> Any:
        """PyPaimon's table, with all fields: as it is now, or with a schema of PyPaimon."""
        from pypaimon.common.identifier import Identifier
        from pypaimon.table.file_store_table import FileStoreTable

        given = self._given
        if schema is None:
            if given is not None and given.table_schema.id == self.fields().schema_id:
                return given
            schema = self.schema_manager().latest()
        if given is None:
            return FileStoreTable(self.file_io, Identifier("default", "table"), self.path, schema)
        return FileStoreTable(
            self.file_io, given.identifier, self.path, schema, given.catalog_environment
        )

    def lean(self, fields: TableFields) -> Any:
        """PyPaimon's table with the key fields only: enough to plan."""
        from pypaimon.common.identifier import Identifier
        from pypaimon.schema.data_types import DataField
        from pypaimon.schema.table_schema import TableSchema
        from pypaimon.table.file_store_table import FileStoreTable

        document = fields.document
        version = document.get("version", 1)
        options = fields.options | self._dynamic
        if version <= 1:
            options.setdefault("bucket", "1")
        if version <= 2:
            options.setdefault("file.format", "orc")
        keys = {*fields.partition_keys, *fields.primary_keys}
        keys.update(key.strip() for key in options.get("bucket-key", "").split(","))
        places = [fields.place_of[key] for key in keys if key in fields.place_of]
        schema = TableSchema(
            version,
            fields.schema_id,
            [DataField.from_dict(document["fields"][place]) for place in sorted(places)],
            document["highestFieldId"],
            list(fields.partition_keys),
            list(fields.primary_keys),
            options,
        )
        if self._given is None:
            table = FileStoreTable(self.file_io, Identifier("default", "table"), self.path, schema)
        else:
            table = FileStoreTable(
                self.file_io,
                self._given.identifier,
                self.path,
                schema,
                self._given.catalog_environment,
            )
        table.schema_manager = _OneSchema(schema)
        return table

    def snapshot(
        self,
        snapshot: int | None = None,
        tag: str | None = None,
        timestamp: datetime | int | None = None,
    ) -> Any:
        """A snapshot: the newest (None if there is none), or the one asked for.

        Raises
        ------
        DatasetError
            If there is no such snapshot or tag.
        """
        if sum(item is not None for item in (snapshot, tag, timestamp)) > 1:
            raise InvalidOptionError("give one of snapshot, tag and timestamp")
        with reading(self.path):
            return self._snapshot(snapshot, tag, timestamp)

    def _snapshot(
        self, snapshot: int | None, tag: str | None, timestamp: datetime | int | None
    ) -> Any:
        lean = self.lean(self.fields())
        manager = lean.snapshot_manager()
        if tag is not None:
            found = lean.tag_manager().get(tag)
            if found is None:
                raise DatasetError(f"{self.path} has no tag {tag!r}{self._known_tags(lean)}")
            return found.trim_to_snapshot()
        if snapshot is not None:
            if isinstance(snapshot, bool) or not isinstance(snapshot, int):
                raise InvalidOptionError(f"snapshot must be an int, got {snapshot!r}")
            found = manager.get_snapshot_by_id(snapshot)
            if found is None:
                raise DatasetError(f"{self.path} has no snapshot {snapshot}{_range(manager)}")
            return found
        if timestamp is not None:
            found = manager.earlier_or_equal_time_mills(_milliseconds(timestamp))
            if found is None:
                raise DatasetError(f"{self.path} has no snapshot as old as {timestamp}")
            return found
        return manager.get_latest_snapshot()

    def snapshots(self) -> list[Any]:
        """All snapshots that are kept, the oldest first."""
        manager = self.lean(self.fields()).snapshot_manager()
        newest, oldest = manager.get_latest_snapshot(), manager.try_get_earliest_snapshot()
        if newest is None or oldest is None:
            return []
        found = (manager.get_snapshot_by_id(number) for number in range(oldest.id, newest.id + 1))
        return [snapshot for snapshot in found if snapshot is not None]

    def tags(self) -> dict[str, int]:
        """The snapshot of each tag."""
        manager = self.lean(self.fields()).tag_manager()
        found = {str(name): manager.get(str(name)) for name in manager.list_tags()}
        return {name: tag.trim_to_snapshot().id for name, tag in found.items() if tag is not None}

    def _known_tags(self, lean: Any) -> str:
        names = sorted(str(item) for item in lean.tag_manager().list_tags())
        return f"; it has {', '.join(names[:10])}" if names else ""


class _OneSchema:
    """PyPaimon's manager of schemas, for a lean table: planning reads no fields from it."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema

    def get_schema(self, schema_id: int) -> Any:
        """The lean schema, whatever the id."""
        return self._schema


def _range(manager: Any) -> str:
    latest = manager.get_latest_snapshot()
    if latest is None:
        return "; it has none yet"
    earliest = manager.try_get_earliest_snapshot()
    return f"; it has {earliest.id if earliest else '?'} to {latest.id}"


def _milliseconds(timestamp: datetime | int) -> int:
    if isinstance(timestamp, datetime):
        return int(timestamp.timestamp() * 1000)
    if isinstance(timestamp, bool) or not isinstance(timestamp, int):
        raise InvalidOptionError(
            f"timestamp must be a datetime or milliseconds since 1970, got {timestamp!r}"
        )
    return timestamp
