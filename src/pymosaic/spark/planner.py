"""Answers Spark's requests to the source in the driver's own Python process.

Otherwise Spark would start a process for each kind of request: one that creates the source and
finds its schema, and one that plans a read. Each would have to start Python and import everything.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import CharType, StringType, StructType, VarcharType

from pymosaic.errors import DatasetExistsError, FileMissingError, MosaicError
from pymosaic.spark.aggregates import aggregate
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.partitions import remove_partitions
from pymosaic.spark.reading import MosaicReader, Split, start_worker
from pymosaic.spark.relations import (
    file_uris,
    has_files,
    open_relation,
    partition_columns,
    partition_values,
    state_of,
    states,
)
from pymosaic.spark.source import MosaicDataSource, NoColumnsError
from pymosaic.spark.streams import Streams
from pymosaic.spark.types import spark_field, spark_types
from pymosaic.spark.writing import TaskWriter, is_written

__all__ = ["DriverPlanner"]

# Scans that were counted and not yet planned; a dropped scan is planned again.
_MAX_SCANS = 32


def _packed(schema: pa.Schema) -> list[bytes]:
    """Columns in a compact form: the JVM is slow to parse a wide schema as JSON.

    The parts have the number of each column's kind, the lengths of names, and the names; then come
    the kinds: schemas of one column, with its type and metadata.
    """
    fields = list(schema)
    numbers: dict[object, int] = {}
    kinds: list[bytes] = []
    columns = array("i")
    for field, data_type in zip(fields, spark_types(fields), strict=True):
        metadata = field.metadata
        kind = (id(data_type), tuple(metadata.items())) if metadata else id(data_type)
        number = numbers.get(kind)
        if number is None:
            number = numbers[kind] = len(kinds)
            one = spark_field(field.with_name("column"), data_type)
            kinds.append(StructType([one]).json().encode())
        columns.append(number)
    names = [name.encode() for name in schema.names]
    return [_integers(columns), _integers(array("i", map(len, names))), b"".join(names), *kinds]


def _integers(values: array[int]) -> bytes:
    """Integers of 4 bytes, as the JVM has them."""
    if sys.byteorder == "little":
        values.byteswap()
    return values.tobytes()


def _texts(texts: Iterable[str | None]) -> bytes:
    """Texts, each after its length in bytes; -1 stands for none."""
    encoded = [None if text is None else text.encode() for text in texts]
    return b"".join(
        struct.pack(">i", -1) if text is None else struct.pack(">i", len(text)) + text
        for text in encoded
    )


def _struct(text: str) -> StructType:
    """A schema; CHAR and VARCHAR, which Spark keeps on request, are strings here."""
    schema = StructType.fromJson(json.loads(text))
    for field in schema.fields:
        if isinstance(field.dataType, CharType | VarcharType):
            field.dataType = StringType()
    return schema


def _told(error: Exception) -> list[str]:
    """An error in one line; then, if Spark has a class for it, its name and its one parameter."""
    text = " ".join(str(error).split())
    if isinstance(error, DatasetExistsError):
        return [text, "PATH_ALREADY_EXISTS", "outputPath", text.partition(" already ")[0]]
    if isinstance(error, NoColumnsError):
        return [text, "UNABLE_TO_INFER_SCHEMA", "format", "mosaic"]
    if isinstance(error, FileNotFoundError):
        path = error.filename or text
        told = f"No such file or directory: {path}" if error.filename else text
        if isinstance(error, FileMissingError):  # which may say what to do
            advice = str(error.strerror).removeprefix("No such file or directory")
            told = f"{told}{advice}" if advice != error.strerror else f"{path}: {advice}"
        return [told, "PATH_NOT_FOUND", "path", str(path)]
    if isinstance(error, MosaicError) and text:
        return [text]
    return [f"{type(error).__name__}: {text}"]


class DriverPlanner:
    """The object that the JVM calls through py4j, as a ``java.util.function.Function``.

    A request is JSON; the parts of an answer each come after their length.
    """

    def __init__(self) -> None:
        self._pickler: Any = CloudPickleSerializer()  # type: ignore[no-untyped-call]
        self._scans: OrderedDict[str, MosaicReader] = OrderedDict()
        self._lock = threading.Lock()
        self._streams = Streams()
        self._answers: dict[str, Callable[[dict[str, Any]], list[bytes]]] = {
            "schema": self._schema,
            "keys": self._keys,
            "exists": self._exists,
            "partitions": self._partitions,
            "create": self._create,
            "report": self._report,
            "state": self._state,
            "aggregate": self._aggregate,
            "files": self._files,
            "plan": self._plan,
            "written": self._written,
            "write": self._write,
            "commit": self._commit,
            "remove": self._remove,
            "stream": self._stream,
        }

    def apply(self, question: str) -> bytes:
        """Answer a request; an error is answered by what users are told, with a negative count."""
        try:
            asked = json.loads(question)
            parts = self._answers[asked["kind"]](asked)
            count = len(parts)
        except Exception as error:
            parts = [text.encode() for text in _told(error)]
            count = -len(parts)
        framed = b"".join(struct.pack(">i", len(part)) + part for part in parts)
        return struct.pack(">i", count) + framed

    def _schema(self, question: dict[str, Any]) -> list[bytes]:
        """The columns of the files at a path, and which of them directories make."""
        source = MosaicDataSource(question["options"])
        schema, keys = source.columns()
        return [_texts([source.state, *keys]), *_packed(schema)]

    def _state(self, question: dict[str, Any]) -> list[bytes]:
        """The files that are there now."""
        relation, _ = open_relation(SourceOptions.parse(question["options"]))
        return [relation.state.encode()]

    def _keys(self, question: dict[str, Any]) -> list[bytes]:
        """The columns that directories make, after the files that are there."""
        options = SourceOptions.parse(question["options"])
        state = state_of(options)
        return [_texts([state, *partition_columns(replace(options, state=state))])]

    def _exists(self, question: dict[str, Any]) -> list[bytes]:
        return [str(has_files(SourceOptions.parse(question["options"]))).lower().encode()]

    def _partitions(self, question: dict[str, Any]) -> list[bytes]:
        values = partition_values(SourceOptions.parse(question["options"]))
        return [_texts(text for value in values for text in value)]

    def _create(self, question: dict[str, Any]) -> list[bytes]:
        return [self._pickler.dumps(MosaicDataSource(question["options"]))]

    def _report(self, question: dict[str, Any]) -> list[bytes]:
        source = MosaicDataSource(question["options"])
        return [json.dumps(self._reader(source, _struct(question["schema"])).report()).encode()]

    def _files(self, question: dict[str, Any]) -> list[bytes]:
        return [_texts(file_uris(SourceOptions.parse(question["options"])))]

    def _aggregate(self, question: dict[str, Any]) -> list[bytes]:
        """Whether metadata tells the results of functions, and which these are."""
        options = SourceOptions.parse(question["options"])
        results = aggregate(options, _struct(question["schema"]), question["functions"])
        return [b"no"] if results is None else [b"yes", _texts(results)]

    def _plan(self, question: dict[str, Any]) -> list[bytes]:
        schema = _struct(question["schema"])
        source = self._pickler.loads(base64.b64decode(question["source"]))
        if source.starts_workers:
            return [self._pickler.dumps((start_worker, schema)), self._pickler.dumps(Split(()))]
        reader = self._reader(source, schema, last=True)
        command = self._pickler.dumps((reader.batches, schema))
        return [command, *(self._pickler.dumps(split) for split in reader.partitions())]

    def _written(self, question: dict[str, Any]) -> list[bytes]:
        """Whether a write that options identify was done before."""
        return [str(is_written(SourceOptions.parse(question["options"]))).lower().encode()]

    def _write(self, question: dict[str, Any]) -> list[bytes]:
        source = MosaicDataSource(question["options"])
        writer = source.writer(_struct(question["schema"]), question["overwrite"])
        message = _struct(question["message"])
        task = TaskWriter(writer, message.names[0])
        return [self._pickler.dumps((task, message)), self._pickler.dumps(writer)]

    def _commit(self, question: dict[str, Any]) -> list[bytes]:
        writer = self._pickler.loads(base64.b64decode(question["writer"]))
        messages = [
            None if text is None else self._pickler.loads(base64.b64decode(text))
            for text in question["messages"]
        ]
        if question.get("batch") is not None:
            writer.number(question["batch"])
        (writer.abort if question["abort"] else writer.commit)(messages)
        return [b""]

    def _remove(self, question: dict[str, Any]) -> list[bytes]:
        options = SourceOptions.parse(question["options"])
        schema = _struct(question["schema"])
        remove_partitions(options, json.loads(question["condition"]), schema)
        return [b""]

    def _stream(self, question: dict[str, Any]) -> list[bytes]:
        """What a stream asks: to fix its end, the next position, or the files up to one."""
        options = SourceOptions.parse(question["options"])
        stream = self._streams.get(question["stream"], question["checkpoint"], options)
        start = question["start"]
        match question["asked"]:
            case "prepare":
                stream.fix_end()
                return [b""]
            case "next":
                return [str(stream.next_position(start, everything=question["all"])).encode()]
            case "files":
                listing = stream.listing(start, question["end"])
                return [states.put(listing).encode() if listing.files else b""]
            case _:
                stream.forget_before(question["end"])
                return [b""]

    def _reader(
        self, source: MosaicDataSource, schema: StructType, last: bool = False
    ) -> MosaicReader:
        """The plan of a scan; a plan made for its statistics is reused for the read."""
        scan = source.scan_id
        with self._lock:
            found = self._scans.pop(scan, None) if scan else None
        reader = source.reader(schema) if found is None else found
        if scan and not last:
            with self._lock:
                self._scans[scan] = reader
                while len(self._scans) > _MAX_SCANS:
                    self._scans.popitem(last=False)
        return reader

    class Java:
        """The Java interface, for py4j."""

        implements: tuple[str, ...] = ("java.util.function.Function",)
