"""Options of the `mosaic` source, validated when given."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pymosaic.datasets.options import DatasetOptions
from pymosaic.errors import InvalidOptionError
from pymosaic.file.options import WriterOptions
from pymosaic.option_text import BOOLEAN, NAMES, SIZE, TEXT, TextForm, options_of
from pymosaic.suggestions import did_you_mean

__all__ = ["CASE_SENSITIVE", "KNOWN_OPTIONS", "MODE", "PUSHED", "TABLE", "SourceOptions"]

# What the optimizer rule hands to a scan; not for users.
PUSHED = "_pushed"
# What :func:`pymosaic.spark.write` asks for beyond Spark's two modes, and what marks a table.
MODE = "_mode"
TABLE = "_table"
# The session's spark.sql.caseSensitive, for a write.
CASE_SENSITIVE = "_casesensitive"
# The partitions that a write replaces, as a condition, and the columns that it is about.
REPLACE = "_replace"
PARTITION_SCHEMA = "_partitionschema"
# Internal options that are JSON, and their names in Python.
_INTERNAL = {PUSHED: "pushed", REPLACE: "replace", PARTITION_SCHEMA: "partition_schema"}
_MIB = 1 << 20


def _partitioning(text: str) -> str | None:
    if text.lower() not in ("hive", "none"):
        raise ValueError(text)
    return None if text.lower() == "none" else "hive"


def _overwrite_mode(text: str) -> str:
    if text.lower() not in ("static", "dynamic"):
        raise ValueError("not a mode")
    return text.lower()


_PATHS = TextForm("a JSON list of paths", "JSON", lambda text: tuple(map(str, json.loads(text))))
_FILTERS = TextForm('JSON, such as [["age", ">", 50]]', "JSON", json.loads)
_OVERWRITE_MODE = TextForm("static or dynamic", "NAME", _overwrite_mode)
_PARTITIONING = TextForm("hive or none", "NAME", _partitioning)
# Options as users spell them: the name in Python, and how the text is read.
_READ: dict[str, tuple[str, TextForm]] = {
    "path": ("path", TEXT),
    "paths": ("paths", _PATHS),
    "columns": ("columns", NAMES),
    "filters": ("filters", _FILTERS),
    "partitioning": ("partitioning", _PARTITIONING),
    "maxPartitionBytes": ("max_partition_bytes", SIZE),
    "maxBatchBytes": ("max_batch_bytes", SIZE),
    "ignoreCorruptFiles": ("ignore_corrupt_files", BOOLEAN),
}
_OF_WRITERS = options_of(DatasetOptions) | options_of(WriterOptions)
_WRITE: dict[str, tuple[str, TextForm]] = {
    "partitionBy": ("partition_by", NAMES),
    "partitionOverwriteMode": ("partition_overwrite_mode", _OVERWRITE_MODE),
    **{item.camel_case: (item.name, item.form) for item in _OF_WRITERS.values()},
}
_STORAGE = "storage."
KNOWN_OPTIONS = (*_READ, *_WRITE, f"{_STORAGE}*")
_BY_LOWER_CASE = {name.lower(): (name, *rest) for name, rest in (_READ | _WRITE).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The options of a read or a write, parsed; a table's options hold both.

    Parameters
    ----------
    path : str, optional
        Directory, file or glob; for a write, the directory.
    paths : tuple of str, optional
        Several of them.
    columns : tuple of str, optional
        Names and patterns of the columns of the relation.
    filters : list, optional
        Rows to keep, as in :func:`pymosaic.read_table`.
    partitioning : str or None
        ``"hive"``, or None to ignore ``key=value`` directories.
    max_partition_bytes, max_batch_bytes : int
        Maximum size for one task and one batch.
    ignore_corrupt_files : bool
        Skip files that cannot be read.
    partition_by : tuple of str, optional
        Columns that become directories.
    partition_overwrite_mode : {"static", "dynamic"}
        Whether an overwrite replaces all files, or those of the partitions that it writes to.
    writer : dict
        Options of the file writer, by their Python names.
    storage : dict
        Options of the file system.
    pushed : dict
        What the optimizer pushed down.
    mode : {"error", "ignore"}, optional
        What a write does if there are files, unless it appends or overwrites.
    is_table : bool
        Whether the path is that of a table in Spark's catalog.
    case_sensitive : bool
        Whether column names that differ only in case are different.
    replace : list, optional
        A condition for partitions that a write replaces.
    partition_schema : dict, optional
        The columns of that condition, as Spark writes a schema in JSON.
    """

    path: str | None = None
    paths: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    filters: list[Any] | None = None
    partitioning: str | None = "hive"
    max_partition_bytes: int = 128 * _MIB
    max_batch_bytes: int = 32 * _MIB
    ignore_corrupt_files: bool = False
    partition_by: tuple[str, ...] | None = None
    partition_overwrite_mode: str = "static"
    writer: dict[str, Any] = field(default_factory=dict)
    storage: dict[str, str] = field(default_factory=dict)
    pushed: dict[str, Any] = field(default_factory=dict)
    mode: str | None = None
    is_table: bool = False
    case_sensitive: bool = False
    replace: list[Any] | None = None
    partition_schema: dict[str, Any] | None = None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> SourceOptions:
        """Parse the options of a source.

        Raises
        ------
        InvalidOptionError
            For an unknown option (the message lists the known ones), and for an invalid value.

        Examples
        --------
        >>> from pymosaic.spark.options import SourceOptions
        >>> SourceOptions.parse({"columns": "id, temp_*", "maxPartitionBytes": "64m"}).columns
        ('id', 'temp_*')
        """
        found: dict[str, Any] = {"writer": {}, "storage": {}}
        for lowered, (key, text) in _own({key.lower(): (key, options[key]) for key in options}):
            if lowered == MODE:
                found["mode"] = text
            elif lowered in _INTERNAL:
                found[_INTERNAL[lowered]] = json.loads(text)
            elif lowered == TABLE:
                found["is_table"] = True
            elif lowered == CASE_SENSITIVE:
                found["case_sensitive"] = BOOLEAN.read(key, text)
            elif lowered.startswith(_STORAGE):
                found["storage"][lowered.removeprefix(_STORAGE)] = text
            elif lowered in _BY_LOWER_CASE:
                name, target, form = _BY_LOWER_CASE[lowered]
                value = form.read(name, text)
                (found["writer"] if target in _OF_WRITERS else found)[target] = value
            else:
                raise _unknown(key)
        if "caseSensitive" in found.get("pushed", ()):
            found["case_sensitive"] = found["pushed"]["caseSensitive"]
        return cls(**found)

    @property
    def locations(self) -> list[str]:
        """The paths to read."""
        if self.paths:
            return list(self.paths)
        if self.path is None:
            raise InvalidOptionError(
                "the path is missing: pass it to load(path), or as the option `path`; tables of "
                "the catalog have theirs once pymosaic.spark.enable(spark) was called"
            )
        return [self.path]

    @property
    def target(self) -> str:
        """The path to write."""
        if self.path is None:
            raise InvalidOptionError(
                "the path is missing: pass it to save(path), or as the option `path`; tables of "
                "the catalog have theirs once pymosaic.spark.enable(spark) was called"
            )
        return self.path


def _own(options: dict[str, tuple[str, str]]) -> Iterable[tuple[str, tuple[str, str]]]:
    """The options without the properties that Spark adds when it creates a table.

    Each given option is then there twice, once with the prefix ``option.``.
    """
    if "owner" not in options:
        return options.items()
    prefix = "option."
    return [
        (key, value)
        for key, value in options.items()
        if f"{prefix}{key}" in options or key == "path" or key.startswith("_")
    ]


def _unknown(key: str) -> InvalidOptionError:
    hint = did_you_mean(key, _READ | _WRITE, 1)
    return InvalidOptionError(
        f"the mosaic source has no option {key!r}{hint}; it has {', '.join(KNOWN_OPTIONS)}"
    )
