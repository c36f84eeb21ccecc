"""Reading in one call: a file, or the files of a directory, pattern or list."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Any, cast

import pyarrow as pa

from pymosaic.datasets.path_patterns import find_wildcard
from pymosaic.file.projection import Columns
from pymosaic.file.reader import MosaicFile, Types, schema_metadata
from pymosaic.io import SourceLike
from pymosaic.keywords import checked_keywords
from pymosaic.limits import Limits

if TYPE_CHECKING:
    from pymosaic.arrow.structs import Structs
    from pymosaic.datasets.dataset import Dataset
    from pymosaic.datasets.discovery import DatasetSource
    from pymosaic.file.metadata import FileMetadata
    from pymosaic.filters.given import Filters

__all__ = ["read_metadata", "read_schema", "read_table"]


def _open(source: SourceLike | DatasetSource, **options: Any) -> MosaicFile | Dataset:
    """Open a file, or else a dataset; datasets are imported only then."""
    if _is_list(source):
        from pymosaic.datasets.dataset import dataset

        return dataset(cast("DatasetSource", source), **options)
    try:
        return MosaicFile(cast(SourceLike, source), **options)
    except OSError as error:
        # A directory, a pattern, or nothing: object stores have no directories that one could open.
        if not isinstance(source, str | os.PathLike) or not _may_be_dataset(source, error):
            raise
        from pymosaic.datasets.dataset import dataset

        return dataset(source, **options)


def _is_list(source: object) -> bool:
    return (
        isinstance(source, Iterable)
        and not isinstance(source, str | bytes | bytearray | memoryview | pa.Buffer | IO)
        and not hasattr(source, "read")
        and not isinstance(source, os.PathLike)
    )


def _may_be_dataset(source: str | os.PathLike[str], error: OSError) -> bool:
    path = os.fsdecode(source)
    if isinstance(error, IsADirectoryError) or "://" in path or find_wildcard(path) is not None:
        return True
    return os.path.isdir(os.path.expanduser(path))


@checked_keywords()
def read_table(
    source: SourceLike | DatasetSource,
    *,
    columns: Columns | None = None,
    filters: Filters | None = None,
    exclude: Columns | None = None,
    use_threads: bool = True,
    filesystem: object = None,
    limits: Limits | None = None,
    types: Types = "arrow",
    trust_statistics: bool = False,
) -> pa.Table:
    """Read a Mosaic file, or the files of a dataset, into an Arrow table.

    Parameters
    ----------
    source : str, path-like, list of those, bytes-like or binary file object
        A path, a URI, the bytes of a file, or an open file. A directory, a pattern such as
        ``"sales/*.mosaic"`` or a list of paths is read as :func:`pymosaic.dataset`, which has more
        options.
    columns : list of str or callable, optional
        Names in the wanted order, or patterns such as ``"sensor_temp_*"``. A column's own name
        always selects that column; any other entry with a ``*`` is a pattern. An empty list keeps
        the row count. A function is called with each :class:`pyarrow.Field`, and returns whether to
        read it. Of columns that were written with ``flatten="."``, ``"place"`` reads the struct and
        ``"place.x"``, a pattern or a function the column of a field.
    filters : str, list of tuples, list of lists of tuples, or pyarrow expression, optional
        Rows to keep. Text as for :func:`pymosaic.parse_filter`: ``"age > 50 and city = 'Rome'"``.
        Tuples as in :func:`pyarrow.parquet.read_table`: ``[("age", ">", 50)]``; inner lists
        are joined by AND, the outer one by OR. Operators: ``= == != < <= > >= in not in`` and
        ``("age", "is null")``, ``("age", "is not null")``. A comparison with null is never true.
        Expressions, such as ``pc.field("age") > 50``, compare the types that columns are stored in
        (``types="mosaic"``).
    exclude : list of str or callable, optional
        Columns to leave out of ``columns``, as names, patterns or a function.
    use_threads : bool
        Decode buckets on several threads.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``source``, which must then be a path.
    limits : Limits, optional
        Caps on what the file may demand.
    types : {"arrow", "mosaic"}
        "arrow": the schema as it was written, from the annex of the file, with its metadata:
        dictionaries, unsigned and half-precision numbers, large, view and fixed-size variants,
        extension types. Files without it, as those of other writers, are read in the types that are
        stored. "mosaic": the types that columns are stored in, without metadata.
    trust_statistics : bool
        Whether a filter may skip row groups by statistics that no checksum covers, as in files of
        other writers. A flipped bit in them could hide rows, so that by default the columns of the
        filter are read instead. Files with an annex, which pymosaic writes by default, need no
        trust.

    Returns
    -------
    pyarrow.Table
        One chunk per row group.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table(
    ...     {"city": ["Oslo", "Rome", None], "temp_1": [3, 17, 8], "temp_2": [4, 18, 9]}
    ... )
    >>> pymosaic.write_table(table, "weather.mosaic")
    >>> pymosaic.read_table("weather.mosaic", columns=["temp_*"], filters="city = 'Rome'")
    pyarrow.Table
    temp_1: int64
    temp_2: int64
    ----
    temp_1: [[17]]
    temp_2: [[18]]
    """
    opened = _open(
        source,
        filesystem=filesystem,
        limits=limits,
        types=types,
        trust_statistics=trust_statistics,
    )
    with opened if isinstance(opened, MosaicFile) else nullcontext():
        structs = _structs(opened)
        wanted: Iterable[object] | None = None
        if structs is not None:
            known = frozenset(opened.schema.names)
            if columns is not None and (callable(columns) or isinstance(columns, str)):
                wanted = ()
            elif columns is not None:
                wanted = columns = list(columns)
                columns = structs.expanded(columns, known)
            if exclude is not None and not callable(exclude) and not isinstance(exclude, str):
                exclude = structs.expanded(exclude, known)
        if isinstance(opened, MosaicFile):
            table = opened.read(columns, filters, use_threads, exclude=exclude)
        else:
            table = opened.scan(columns, filters, exclude=exclude).to_table(use_threads)
        return table if structs is None else structs.nested(table, wanted)


def _structs(opened: MosaicFile | Dataset) -> Structs | None:
    """The structs that columns were flattened from; None, as almost always, if there are none."""
    if isinstance(opened, MosaicFile):
        # The schema of a wide file takes longer than a few of its columns.
        metadata = schema_metadata(opened)
    else:
        metadata = opened.schema.metadata or {}
    if not metadata:
        return None
    from pymosaic.arrow.structs import Structs

    return Structs.recorded(metadata)


@checked_keywords()
def read_schema(
    source: SourceLike | DatasetSource,
    *,
    filesystem: object = None,
    limits: Limits | None = None,
    types: Types = "arrow",
) -> pa.Schema:
    """Read the Arrow schema of a file, or the one that the files of a dataset have together.

    For the arguments see :func:`pymosaic.read_table`.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"age": [31]}), "one.mosaic")
    >>> pymosaic.read_schema("one.mosaic")
    age: int64
    """
    opened = _open(source, filesystem=filesystem, limits=limits, types=types)
    with opened if isinstance(opened, MosaicFile) else nullcontext():
        schema = opened.schema
        structs = _structs(opened)
    return schema if structs is None else structs.nested(schema.empty_table()).schema


@checked_keywords()
def read_metadata(
    source: SourceLike, *, filesystem: object = None, limits: Limits | None = None
) -> FileMetadata:
    """Read the structure of a file; see :class:`pymosaic.FileMetadata`.

    The file stays open as long as the result exists: encodings are read on request.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"age": [31]}), "one.mosaic")
    >>> pymosaic.read_metadata("one.mosaic").num_rows
    1
    """
    return MosaicFile(source, filesystem=filesystem, limits=limits).metadata
