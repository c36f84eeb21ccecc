"""Answers Spark's requests to the source in the driver's own Python process.

Otherwise Spark would start a process for each kind of request: one that creates the source and
finds its schema, and one that plans a read. Each would have to start Python and import everything.
"""

from __future__ import annotations

import base64
import json
import struct
import threading
from collections import OrderedDict
from typing import Any

import pyarrow as pa
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.types import StructType

from pymosaic.spark.reading import MosaicReader, Split, start_worker
from pymosaic.spark.source import MosaicDataSource
from pymosaic.spark.types import spark_types

__all__ = ["DriverPlanner"]

# Scans that were counted and not yet planned; a dropped scan is planned again.
_MAX_SCANS = 32


def _packed(schema: pa.Schema) -> list[bytes]:
    """Names and types of columns in a compact form: the JVM is slow to parse a wide schema as JSON.

    The first part has, for each column, the number of its type, the length of its name, and the
    name; the others are the types.
    """
    types = spark_types(schema)
    numbers: dict[int, int] = {}
    kinds: list[bytes] = []
    columns = []
    for name, data_type in zip(schema.names, types, strict=True):
        number = numbers.get(id(data_type))
        if number is None:
            number = numbers[id(data_type)] = len(kinds)
            kinds.append(data_type.json().encode())
        encoded = name.encode()
        columns.append(struct.pack(">ii", number, len(encoded)) + encoded)
    return [b"".join(columns), *kinds]


class DriverPlanner:
    """The object that the JVM calls through py4j, as a ``java.util.function.Function``."""

    def __init__(self) -> None:
        self._pickler: Any = CloudPickleSerializer()  # type: ignore[no-untyped-call]
        self._scans: OrderedDict[str, MosaicReader] = OrderedDict()
        self._lock = threading.Lock()

    def apply(self, question: str) -> bytes:
        """Answer a request (JSON) with parts, each prefixed by its length; with none on any error.

        Spark then asks again in its own way, which shows the error to users.
        """
        try:
            parts = self._answer(json.loads(question))
        except Exception:
            parts = []
        framed = b"".join(struct.pack(">i", len(part)) + part for part in parts)
        return struct.pack(">i", len(parts)) + framed

    def _answer(self, question: dict[str, Any]) -> list[bytes]:
        kind = question["kind"]
        if kind == "create":
            source = MosaicDataSource(question["options"])
            parts = [] if "schema" in question else _packed(source.arrow_schema())
            return [self._pickler.dumps(source), *parts]
        schema = StructType.fromJson(json.loads(question["schema"]))
        if kind == "count":
            source = MosaicDataSource(question["options"])
            return [str(self._reader(source, schema).num_rows).encode()]
        source = self._pickler.loads(base64.b64decode(question["source"]))
        if source.starts_workers:
            return [self._pickler.dumps((start_worker, schema)), self._pickler.dumps(Split(()))]
        reader = self._reader(source, schema, last=True)
        command = self._pickler.dumps((reader.batches, schema))
        return [command, *(self._pickler.dumps(split) for split in reader.partitions())]

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

        implements = ("java.util.function.Function",)
