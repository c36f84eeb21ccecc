"""File formats of the command line, read and written batch by batch.

Each module has a ``read`` and a ``write`` function; the extension of a path selects the module.
All writing goes through :mod:`pymosaic.io`, so a file appears whole or not at all.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from pymosaic.errors import InvalidDataError, InvalidOptionError, MosaicError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from pymosaic.cli.formats.base import TableReader, TableWriter
    from pymosaic.progress import Progress

__all__ = ["FORMATS", "FileKind", "can_write", "kind_of", "open_reader", "open_writer"]

# Extensions and their modules.
FORMATS = {
    ".mosaic": "mosaic",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".orc": "orc",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".lance": "lance",
}
_TEXT = ("csv", "jsonl")
_CODECS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}


class FileKind(NamedTuple):
    """A format and compression, taken from a file name."""

    module: str
    extension: str
    codec: str | None = None


def kind_of(path: str) -> FileKind | None:
    """The format of a file by its extension; None if it is not known."""
    stem, extension = os.path.splitext(path.rstrip("/").lower())
    codec = _CODECS.get(extension)
    if codec is not None:
        extension = os.path.splitext(stem)[1]
    module = FORMATS.get(extension)
    if module is None or (codec is not None and module not in _TEXT):
        return None
    return FileKind(module, extension, codec)


def _known(path: str, role: str) -> FileKind:
    kind = kind_of(path)
    if kind is None:
        known = " ".join(FORMATS)
        raise InvalidOptionError(
            f"{role} {path}: unknown file extension; supported are {known}, "
            "and .csv and .jsonl with .gz .zst .bz2 .lz4"
        )
    return kind


def _module(kind: FileKind) -> Any:
    return import_module(f"pymosaic.cli.formats.{kind.module}")


def open_reader(
    path: str, progress: Progress | None = None, known: pa.Schema | None = None
) -> TableReader:
    """Open a file for reading, in the format of its extension.

    Text files are read once to infer types, except for the columns in ``known``.
    """
    kind = _known(path, "source")
    if known is not None and kind.module not in _TEXT:
        raise InvalidOptionError(
            f"--schema-from is for CSV and JSON lines: {path} stores its own types"
        )
    module = _module(kind)
    reader: TableReader
    try:
        if kind.module in _TEXT:
            reader = module.read(path, kind, progress, known)
        else:
            reader = module.read(path, kind)
    except ValueError as error:
        if isinstance(error, MosaicError):
            raise
        # Arrow's errors do not name the file.
        raise InvalidDataError(f"{path}: {error}") from error
    return reader


def can_write(path: str, schema: pa.Schema, one_file: bool) -> bool:
    """Whether the format of a file has all types of a schema, not only those of Mosaic files.

    ``one_file``: all rows are from one file, so that dictionaries do not change.
    """
    import pyarrow as pa

    kind = kind_of(path)
    module = None if kind is None else kind.module
    if module == "arrow":
        return one_file or not any(map(pa.types.is_dictionary, schema.types))
    if module == "parquet":
        import pyarrow.parquet as pq

        try:
            pq.write_table(schema.empty_table(), pa.BufferOutputStream())
        except pa.ArrowException:
            return False
    return module in ("mosaic", "parquet")


def open_writer(
    path: str, schema: pa.Schema, options: dict[str, Any], user_metadata: Mapping[str, str]
) -> TableWriter:
    """Open a file for writing, in the format of its extension.

    Keys and values of the user are kept if the format has a place for them.
    """
    from pymosaic.cli.user_metadata import with_user_metadata

    kind = _known(path, "target")
    if kind.module in ("arrow", "parquet"):
        schema = with_user_metadata(schema, user_metadata)
    elif kind.module == "mosaic" and user_metadata and options.get("checksum", True):
        options = {**options, "metadata": user_metadata}
    writer: TableWriter = _module(kind).write(path, kind, schema, options)
    return writer
