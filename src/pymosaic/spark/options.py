"""Options of the `mosaic` source, validated when given."""

from __future__ import annotations

import datetime
import json
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pymosaic.datasets.followers import KEEP_UNREAD_SECONDS
from pymosaic.datasets.options import DatasetOptions
from pymosaic.errors import InvalidOptionError
from pymosaic.file.options import WriterOptions
from pymosaic.option_text import BOOLEAN, NAMES, SIZE, TEXT, TextForm, options_of
from pymosaic.suggestions import did_you_mean

__all__ = [
    "CASE_SENSITIVE",
    "KNOWN_OPTIONS",
    "MODE",
    "PUSHED",
    "SCAN",
    "SESSION",
    "STATE",
    "TABLE",
    "SourceOptions",
]

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
# Settings of the session that a read depends on, as JSON.
SESSION = "_session"
# Which scan this is, and filters that became known when its query ran, as JSON.
SCAN = "_scan"
# Marks a write whose number is known when it is committed.
STREAM = "_stream"
# The name of the state that a relation had when it was loaded.
STATE = "_state"
# Internal options that are JSON, and their names in Python.
_INTERNAL = {
    PUSHED: "pushed",
    SCAN: "scan",
    SESSION: "session",
    REPLACE: "replace",
    PARTITION_SCHEMA: "partition_schema",
}
_MIB = 1 << 20


def _partitioning(text: str) -> str | None:
    if text.lower() not in ("hive", "none"):
        raise ValueError(text)
    return None if text.lower() == "none" else "hive"


def _overwrite_mode(text: str) -> str:
    if text.lower() not in ("static", "dynamic"):
        raise ValueError("not a mode")
    return text.lower()


def _partition_types(text: str) -> str:
    if text.lower() not in ("inferred", "recorded"):
        raise ValueError(text)
    return text.lower()


def _table_format(text: str) -> str:
    if text.lower() not in ("paimon", "files"):
        raise ValueError(text)
    return text.lower()


def _max_records(text: str) -> int | None:
    return int(text) if int(text) > 0 else None


def _batch(text: str) -> int:
    number = int(text)
    if not 0 <= number < 2**63:
        raise ValueError(text)
    return number


_BATCH = TextForm("a number that is at least 0", "N", _batch)


def _positive(text: str) -> int:
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def _starting_version(text: str) -> str:
    if text.lower() != "latest":
        raise ValueError(text)
    return text.lower()


def _moment(text: str) -> str:
    from pymosaic.spark.moments import parse_moment

    parse_moment("startingTimestamp", text, datetime.UTC)
    return text


def _duration(text: str) -> float:
    match = re.fullmatch(r"\s*([0-9.]{1,12})\s*(second|minute|hour|day|week)s?\s*", text.lower())
    if match is None:
        raise ValueError(text)
    return float(match[1]) * _SECONDS[match[2]]


_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
_POSITIVE = TextForm("a number that is at least 1", "N", _positive)
_DURATION = TextForm("a duration, such as 12 hours or 30 days", "DURATION", _duration)
_MOMENT = TextForm("a moment such as 2024-05-31T10:30:00", "TIME", _moment)
_STARTING_VERSION = TextForm("latest", "NAME", _starting_version)
_MAX_RECORDS = TextForm("a number of rows", "N", _max_records)
_PATHS = TextForm("a JSON list of paths", "JSON", lambda text: tuple(map(str, json.loads(text))))
_FILTERS = TextForm('JSON, such as [["age", ">", 50]]', "JSON", json.loads)
_OVERWRITE_MODE = TextForm("static or dynamic", "NAME", _overwrite_mode)
_PARTITIONING = TextForm("hive or none", "NAME", _partitioning)
_PARTITION_TYPES = TextForm("inferred or recorded", "NAME", _partition_types)
_TABLE_FORMAT = TextForm("paimon or files", "NAME", _table_format)
_NUMBER = TextForm("a whole number", "N", int)
# Options as users spell them: the name in Python, and how the text is read.
_READ: dict[str, tuple[str, TextForm]] = {
    "path": ("path", TEXT),
    "paths": ("paths", _PATHS),
    "columns": ("columns", NAMES),
    "filters": ("filters", _FILTERS),
    "partitioning": ("partitioning", _PARTITIONING),
    "maxPartitionBytes": ("max_partition_bytes", SIZE),
    "maxBatchBytes": ("max_batch_bytes", SIZE),
    "maxFilesOpenedByDriver": ("max_files_opened_by_driver", _BATCH),
    "ignoreCorruptFiles": ("ignore_corrupt_files", BOOLEAN),
    "ignoreMissingFiles": ("ignore_missing_files", BOOLEAN),
    "mergeSchema": ("merge_schema", BOOLEAN),
    "basePath": ("base_path", TEXT),
    "recursiveFileLookup": ("recursive_file_lookup", BOOLEAN),
    "pathGlobFilter": ("path_glob_filter", TEXT),
    "modifiedBefore": ("modified_before", TEXT),
    "modifiedAfter": ("modified_after", TEXT),
    "timeZone": ("time_zone", TEXT),
    "trustStatistics": ("trust_statistics", BOOLEAN),
    "partitionTypes": ("partition_types", _PARTITION_TYPES),
    "maxFilesPerTrigger": ("max_files_per_trigger", _POSITIVE),
    "maxBytesPerTrigger": ("max_bytes_per_trigger", SIZE),
    "startingTimestamp": ("starting_timestamp", _MOMENT),
    "startingVersion": ("starting_version", _STARTING_VERSION),
    "ignoreChanges": ("ignore_changes", BOOLEAN),
    "skipChangeCommits": ("skip_change_commits", BOOLEAN),
    "keepUnreadFiles": ("keep_unread_files", _DURATION),
    "table": ("table_format", _TABLE_FORMAT),
    "snapshot": ("snapshot", _NUMBER),
    "tag": ("tag", TEXT),
    "timestamp": ("timestamp", TEXT),
}
# Spark adds it to paths of tables; and what Spark itself needs to run a stream.
_OF_SPARK = ("__globpaths__", "checkpointlocation")
# Options of Spark's own file sources, which people copy along with the rest of a line.
_OF_OTHERS = (
    " header inferschema sep delimiter quote escape charset encoding comment enforceschema"
    " multiline locale linesep nullvalue nanvalue emptyvalue positiveinf negativeinf dateformat"
    " timestampformat timestampntzformat timeformat ignoreleadingwhitespace"
    " ignoretrailingwhitespace maxcolumns maxcharspercolumn columnnameofcorruptrecord"
    " samplingratio mode unescapedquotehandling preferdate primitivesasstring prefersdecimal"
    " allowcomments allowunquotedfieldnames allowsinglequotes allownumericleadingzeros"
    " allowbackslashescapinganycharacter allowunquotedcontrolchars allownonnumericnumbers"
    " dropfieldifallnull wholetext rowtag datetimerebasemode int96rebasemode quoteall escapequotes"
    " ignorenullfields inputbuffersize charstoescapequoteescaping columnpruning maxnestingdepth"
    " maxstringlen singlevariantcolumn pretty writenonasciicharacterascodepoint avroschema"
    " recordname recordnamespace ignoreextension extension roottag declaration attributeprefix"
    " valuetag arrayelementname excludeattribute ignorenamespace ignoresurroundingspaces"
    " wildcardcolname rowvalidationxsdpath treatemptyvaluesasnulls validatename"
    " "
)
# Of Hadoop, for these formats.
_PREFIXES_OF_OTHERS = ("parquet.", "orc.", "avro.")
# Codecs of Spark's other sources.
_OTHER_CODECS = frozenset(
    ("snappy", "gzip", "deflate", "lzo", "lz4", "lz4_raw", "lz4raw", "brotli", "bzip2", "xz")
)
# Settings of the session, and the options that they are defaults of.
_SESSION_DEFAULTS = {
    "spark.sql.files.ignoreCorruptFiles": "ignore_corrupt_files",
    "spark.sql.files.ignoreMissingFiles": "ignore_missing_files",
    "spark.sql.files.maxPartitionBytes": "max_partition_bytes",
    "spark.sql.session.timeZone": "time_zone",
    "spark.sql.caseSensitive": "case_sensitive",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "infer_partition_types",
    "spark.sql.timestampType": "timestamp_type",
}
_OF_WRITERS = options_of(DatasetOptions) | options_of(WriterOptions)
_WRITE: dict[str, tuple[str, TextForm]] = {
    "partitionBy": ("partition_by", NAMES),
    "partitionOverwriteMode": ("partition_overwrite_mode", _OVERWRITE_MODE),
    "maxRecordsPerFile": ("max_records_per_file", _MAX_RECORDS),
    "txnAppId": ("application", TEXT),
    "txnVersion": ("batch", _BATCH),
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
    max_files_opened_by_driver : int
        If there are more files that no pack has the ends of, tasks read these.
    ignore_corrupt_files : bool
        Skip files that cannot be read.
    ignore_missing_files : bool
        Skip files that are gone when they are read.
    merge_schema : bool
        Unite the columns of all files, instead of taking those of the first.
    base_path : str, optional
        The directory below which ``key=value`` directories are columns, instead of each path.
    recursive_file_lookup : bool
        Read files at any depth, and ignore ``key=value`` directories.
    path_glob_filter : str, optional
        A pattern of the names of files to read.
    modified_before, modified_after : str, optional
        Read only files that were changed before or after a moment.
    time_zone : str
        The zone of moments without one.
    partition_types : {"inferred", "recorded"}
        Whether partition columns have the types that Spark infers, or those they were written with.
    trust_statistics : bool
        Rely on statistics that no checksum covers.
    table_format : {"paimon", "files"}, optional
        Whether the path is a Paimon table; found out, unless given.
    snapshot : int, optional
        The snapshot of a Paimon table to read; the newest, unless given.
    tag : str, optional
        The tag whose snapshot is read.
    timestamp : str, optional
        The moment whose snapshot is read, or milliseconds since 1970.
    infer_partition_types : bool
        Whether Spark infers types; otherwise values are text.
    timestamp_type : str
        What a timestamp is in this session.
    max_files_per_trigger, max_bytes_per_trigger : int, optional
        The most that a batch of a stream reads; at least one file.
    starting_timestamp : str, optional
        A stream begins with the commits at or after this moment.
    starting_version : {"latest"}, optional
        A stream begins with the commits after its start.
    ignore_changes : bool
        A stream reads what commits that removed rows have added.
    skip_change_commits : bool
        A stream skips commits that removed rows.
    keep_unread_files : float
        How many seconds replaced files that a stream has not read stay after it was stopped.
    state : str, optional
        The name of the files to read, see :mod:`pymosaic.spark.states`.
    partition_by : tuple of str, optional
        Columns that become directories.
    partition_overwrite_mode : {"static", "dynamic"}
        Whether an overwrite replaces all files, or those of the partitions that it writes to.
    max_records_per_file : int, optional
        The most rows that a file gets.
    application : str, optional
        Who writes, for writes that are done once however often they are tried.
    batch : int, optional
        The number that this application gives to this write.
    writer : dict
        Options of the file writer, by their Python names.
    storage : dict
        Options of the file system.
    pushed : dict
        What the optimizer pushed down.
    mode : {"error", "ignore"}, optional
        What a write does if there are files, unless it appends or overwrites.
    is_stream : bool
        Whether the number of a write is known only when it is committed.
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
    max_files_opened_by_driver: int = 5000
    ignore_corrupt_files: bool = False
    ignore_missing_files: bool = False
    merge_schema: bool = True
    base_path: str | None = None
    recursive_file_lookup: bool = False
    path_glob_filter: str | None = None
    modified_before: str | None = None
    modified_after: str | None = None
    time_zone: str = "UTC"
    partition_types: str = "inferred"
    trust_statistics: bool = False
    table_format: str | None = None
    snapshot: int | None = None
    tag: str | None = None
    timestamp: str | None = None
    infer_partition_types: bool = True
    timestamp_type: str = "TIMESTAMP_LTZ"
    max_files_per_trigger: int | None = None
    max_bytes_per_trigger: int | None = None
    starting_timestamp: str | None = None
    starting_version: str | None = None
    ignore_changes: bool = False
    skip_change_commits: bool = False
    keep_unread_files: float = KEEP_UNREAD_SECONDS
    state: str | None = None
    partition_by: tuple[str, ...] | None = None
    partition_overwrite_mode: str = "static"
    max_records_per_file: int | None = None
    application: str | None = None
    batch: int | None = None
    writer: dict[str, Any] = field(default_factory=dict)
    storage: dict[str, str] = field(default_factory=dict)
    pushed: dict[str, Any] = field(default_factory=dict)
    mode: str | None = None
    is_stream: bool = False
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
            elif lowered == STREAM:
                found["is_stream"] = True
            elif lowered == STATE:
                found["state"] = text
            elif lowered == CASE_SENSITIVE:
                found["case_sensitive"] = BOOLEAN.read(key, text)
            elif lowered.startswith(_STORAGE):
                found["storage"][lowered.removeprefix(_STORAGE)] = text
            elif lowered in _BY_LOWER_CASE:
                name, target, form = _BY_LOWER_CASE[lowered]
                value = form.read(name, _codec(text) if name == "compression" else text)
                (found["writer"] if target in _OF_WRITERS else found)[target] = value
            elif f" {lowered} " in _OF_OTHERS or lowered.startswith(_PREFIXES_OF_OTHERS):
                warnings.warn(f"the mosaic source ignores the option {key!r}", stacklevel=2)
            elif lowered not in _OF_SPARK:
                raise _unknown(key)
        session = found.pop("session", {})
        scan = found.pop("scan", None)
        if scan is not None:
            pushed = found.setdefault("pushed", {})
            pushed["scan"] = scan["scan"]
            pushed["filters"] = [*pushed.get("filters", ()), *scan["filters"]]
        for setting, target in _SESSION_DEFAULTS.items():
            if setting in session:
                form = _FORMS.get(type(getattr(_DEFAULTS, target)), TEXT)
                found.setdefault(target, form.read(setting, session[setting]))
        if "caseSensitive" in found.get("pushed", ()):
            found["case_sensitive"] = found["pushed"]["caseSensitive"]
        return cls(**found)

    @property
    def zone(self) -> datetime.tzinfo:
        """The zone of moments without one."""
        from pymosaic.spark.moments import zone_of

        return zone_of(self.time_zone)

    @property
    def locations(self) -> list[str]:
        """The paths to read."""
        if self.paths:
            return list(self.paths)
        if not self.path:
            raise InvalidOptionError(
                "the path is missing: pass it to load(path), or as the option `path`; a new table "
                "needs columns or LOCATION, and others pymosaic.spark.enable(spark)"
            )
        return [self.path]

    @property
    def transaction(self) -> tuple[str, int] | None:
        """What identifies a write that is done once however often it is tried."""
        if self.application is None and self.batch is None:
            return None
        if self.application is None or self.batch is None:
            raise InvalidOptionError(
                "the options txnAppId and txnVersion go together: the one says who writes, "
                "the other is the number of the write, such as the batch id of foreachBatch"
            )
        return self.application, self.batch

    @property
    def target(self) -> str:
        """The path to write."""
        if self.path is None:
            raise InvalidOptionError(
                "the path is missing: pass it to save(path), or as the option `path`; tables of "
                "the catalog have theirs once pymosaic.spark.enable(spark) was called"
            )
        return self.path


# The text form of a setting is that of its type.
_FORMS = {bool: BOOLEAN, int: SIZE}
_DEFAULTS = SourceOptions()


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


def _codec(text: str) -> str:
    """A codec by Spark's name; files have zstd or none."""
    name = text.lower()
    if name in _OTHER_CODECS:
        warnings.warn(f"compression {text!r}: mosaic files are compressed with zstd", stacklevel=2)
        return "zstd"
    return "none" if name == "uncompressed" else text


def _unknown(key: str) -> InvalidOptionError:
    if key.lower() == "replacewhere":
        return InvalidOptionError(
            "the mosaic source has no option 'replaceWhere': use df.writeTo(table)"
            ".overwrite(condition), or set partitionOverwriteMode to dynamic, which replaces the "
            "partitions that rows are for"
        )
    hint = did_you_mean(key, _READ | _WRITE, 1)
    return InvalidOptionError(
        f"the mosaic source has no option {key!r}{hint}; it has {', '.join(KNOWN_OPTIONS)}"
    )
