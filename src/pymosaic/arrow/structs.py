"""Struct columns as columns of their own, ``parent.child``, and back.

What was flattened is told by the key ``pymosaic:structs`` of the schema's metadata, JSON::

    {"separator": ".", "structs": [{"name": "place", "fields": [{"name": "x"}, …]}]}

A field has "nullable" if it is false, "metadata" (pairs of text, a byte for each character) if a
struct has any, and "fields" if it is a struct. The columns themselves have the types and the
metadata of what is not a struct.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from pymosaic.errors import CorruptFileError, InvalidDataError, InvalidOptionError
from pymosaic.limits import MAX_NESTING_DEPTH

__all__ = ["STRUCTS_KEY", "Flattening", "Structs", "check_separator", "unflatten"]

STRUCTS_KEY = b"pymosaic:structs"
# The format has a type for structs of these fields.
_TIMESTAMP = [("millis", pa.int64()), ("nanos_of_milli", pa.int32())]

_Tabular = TypeVar("_Tabular", pa.Table, pa.RecordBatch)


def check_separator(flatten: object) -> None:
    """Refuse what does not separate the names of structs from those of their fields."""
    if flatten is not None and (not isinstance(flatten, str) or not flatten):
        raise InvalidOptionError(f"flatten must be a text such as '.', got {flatten!r}")


class Flattening:
    """How columns of a schema become columns without structs.

    Parameters
    ----------
    schema : pyarrow.Schema
    separator : str
        What separates the name of a struct from those of its fields.

    Examples
    --------
    >>> import pyarrow as pa
    >>> place = pa.struct({"x": pa.int64(), "y": pa.int64()})
    >>> Flattening(pa.schema({"place": place}), ".").schema.names
    ['place.x', 'place.y']
    """

    def __init__(self, schema: pa.Schema, separator: str) -> None:
        self.given = schema
        self._separator = separator
        fields: list[pa.Field] = []
        records = []
        self._structs: set[int] = set()
        for number, field in enumerate(schema):
            if not _is_struct(field.type):
                fields.append(field)
                continue
            self._structs.add(number)
            records.append(self._add(fields, field, field.name, field.nullable, 1))
        self._check_names(fields)
        metadata = dict(schema.metadata or {})
        if records:
            record = {"separator": separator, "structs": records}
            metadata[STRUCTS_KEY] = json.dumps(record, separators=(",", ":")).encode()
        self.schema: pa.Schema = pa.schema(fields, metadata or None)

    def _add(
        self, fields: list[pa.Field], field: pa.Field, path: str, nullable: bool, depth: int
    ) -> dict[str, Any]:
        """Add the columns of a field; what to record of it."""
        record: dict[str, Any] = {"name": field.name}
        if not field.nullable:
            record["nullable"] = False
        if not _is_struct(field.type):
            # A struct that is null has fields that are.
            fields.append(field.with_name(path).with_nullable(nullable))
            return record
        if field.type.num_fields == 0:
            raise InvalidDataError(f"column {path!r} is a struct without fields: leave it out")
        if depth > MAX_NESTING_DEPTH:
            raise InvalidDataError(
                f"column {path.split(self._separator)[0]!r} nests deeper than "
                f"{MAX_NESTING_DEPTH} levels"
            )
        if field.metadata:
            record["metadata"] = [
                [key.decode("latin-1"), value.decode("latin-1")]
                for key, value in field.metadata.items()
            ]
        record["fields"] = [
            self._add(
                fields,
                child,
                f"{path}{self._separator}{child.name}",
                nullable or child.nullable,
                depth + 1,
            )
            for child in _fields(field.type)
        ]
        return record

    def _check_names(self, fields: list[pa.Field]) -> None:
        seen: set[str] = set()
        for field in fields if self._structs else ():
            if field.name in seen:
                raise InvalidDataError(
                    f"flatten={self._separator!r} makes two columns {field.name!r}: rename one, or "
                    "choose another separator"
                )
            seen.add(field.name)

    def flattened(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch without structs; its columns may be in another order than in the schema."""
        schema = batch.schema
        if schema.equals(self.given):
            flat = self.schema
        else:
            flat = Flattening(schema, self._separator).schema
        arrays: list[pa.Array] = []
        for array in batch.columns:
            arrays.extend(_leaves(array) if _is_struct(array.type) else [array])
        if not arrays:
            return batch
        return pa.RecordBatch.from_arrays(arrays, schema=flat)


def _is_struct(data_type: pa.DataType) -> bool:
    if not pa.types.is_struct(data_type):
        return False
    return [(field.name, field.type) for field in _fields(data_type)] != _TIMESTAMP


def _fields(data_type: pa.DataType) -> Iterator[pa.Field]:
    return (data_type.field(number) for number in range(data_type.num_fields))


def _leaves(array: pa.StructArray) -> Iterator[pa.Array]:
    for child in array.flatten():
        if _is_struct(child.type):
            yield from _leaves(child)
        else:
            yield child


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a struct, or a struct column; ``path`` is its column if it is not a struct."""

    name: str
    path: str
    nullable: bool
    metadata: dict[bytes, bytes] | None
    fields: tuple[_Field, ...]

    def leaves(self) -> Iterator[str]:
        """The names of its columns."""
        if not self.fields:
            yield self.path
        for field in self.fields:
            yield from field.leaves()

    def arrow(self, types: dict[str, pa.Field]) -> pa.Field:
        """The Arrow field, given those of its columns."""
        if not self.fields:
            return types[self.path].with_name(self.name).with_nullable(self.nullable)
        kind = pa.struct([field.arrow(types) for field in self.fields])
        return pa.field(self.name, kind, self.nullable, self.metadata)

    def array(
        self, columns: dict[str, pa.Array], field: pa.Field, around: pa.BooleanArray | None = None
    ) -> pa.Array:
        """The values, given those of its columns; a struct is null if all its columns are.

        ``around`` tells where the innermost struct around it that may be null is.
        """
        import pyarrow.compute as pc

        if not self.fields:
            values = columns[self.path]
            if not self.nullable and values.null_count:
                absent = values.is_null()
                if around is None or pc.any(pc.and_not(absent, around)).as_py():
                    raise CorruptFileError(
                        f"column {self.path!r} has a null, but was written as not nullable"
                    )
            return values
        mask = None
        if self.nullable:
            first, *others = self.leaves()
            mask = columns[first].is_null()
            for path in others:
                mask = pc.and_(mask, columns[path].is_null())
            around = mask
        inner = list(_fields(field.type))
        children = [
            item.array(columns, child, around)
            for item, child in zip(self.fields, inner, strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=inner, mask=mask)


class Structs:
    """The structs that columns were flattened from.

    Checked: the form of the record, and that no two fields have the same column.
    """

    def __init__(self, record: bytes) -> None:
        self._structs = _parse(record)
        self._names = {struct.name: struct for struct in self._structs}

    @classmethod
    def recorded(cls, metadata: Mapping[bytes, bytes]) -> Structs | None:
        """Those that the metadata of a schema tells of."""
        record = metadata.get(STRUCTS_KEY)
        return None if record is None else cls(record)

    def expanded(self, names: Iterable[Any], known: Container[str]) -> list[Any]:
        """Names of columns; that of a struct stands for its columns, unless a column has it."""
        found: list[Any] = []
        for name in names:
            struct = None if not isinstance(name, str) or name in known else self._names.get(name)
            found.extend([name] if struct is None else struct.leaves())
        return found

    def nested(self, table: _Tabular, wanted: Iterable[Any] | None = None) -> _Tabular:
        """Columns as structs, where all columns of one are there.

        ``wanted`` are the names of structs to put together; all by default.
        """
        names = table.schema.names
        there = set(names)
        chosen = None if wanted is None else {name for name in wanted if isinstance(name, str)}
        structs = {}
        for struct in self._structs:
            leaves = list(struct.leaves())
            is_wanted = chosen is None or struct.name in chosen
            if is_wanted and struct.name not in there and there.issuperset(leaves):
                structs[leaves[0]] = struct, leaves
        schema = self._schema(table.schema, structs)
        if isinstance(table, pa.RecordBatch):
            return self._batch(table, structs, schema)
        batches = [self._batch(batch, structs, schema) for batch in table.to_batches()]
        return pa.Table.from_batches(batches, schema)

    def _schema(self, flat: pa.Schema, structs: dict[str, tuple[_Field, list[str]]]) -> pa.Schema:
        types = {field.name: field for field in flat}
        inside = {leaf for _, leaves in structs.values() for leaf in leaves}
        fields = []
        for field in flat:
            if field.name in structs:
                fields.append(structs[field.name][0].arrow(types))
            elif field.name not in inside:
                fields.append(field)
        metadata = dict(flat.metadata or {})
        flat_leaves = types.keys() - inside
        if not any(leaf in flat_leaves for struct in self._structs for leaf in struct.leaves()):
            metadata.pop(STRUCTS_KEY, None)
        return pa.schema(fields, metadata or None)

    def _batch(
        self,
        batch: pa.RecordBatch,
        structs: dict[str, tuple[_Field, list[str]]],
        schema: pa.Schema,
    ) -> pa.RecordBatch:
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        by_name = {struct.name: struct for struct, _ in structs.values()}
        arrays = [
            by_name[field.name].array(columns, field)
            if field.name in by_name
            else columns[field.name]
            for field in schema
        ]
        if not arrays:
            return batch.replace_schema_metadata(schema.metadata)
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def unflatten(table: _Tabular) -> _Tabular:
    """Columns that were written with ``flatten=`` as the structs that they were.

    :func:`pymosaic.read_table` does so by itself. Batches and tables from elsewhere, such as
    :meth:`pymosaic.MosaicFile.iter_batches`, have a column for each field of a struct, and tell in
    the metadata of their schema what these were. A struct of which a column is missing stays flat.

    Parameters
    ----------
    table : pyarrow.Table or pyarrow.RecordBatch

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table({"place": [{"x": 1, "y": 2}]})
    >>> pymosaic.write_table(table, "places.mosaic", flatten=".")
    >>> [batch] = pymosaic.MosaicFile("places.mosaic").iter_batches()
    >>> batch.schema.names
    ['place.x', 'place.y']
    >>> pymosaic.unflatten(batch).to_pylist()
    [{'place': {'x': 1, 'y': 2}}]
    """
    if not isinstance(table, pa.Table | pa.RecordBatch):
        raise InvalidDataError(
            f"unflatten takes a pyarrow Table or RecordBatch, got {type(table).__name__}"
        )
    structs = Structs.recorded(table.schema.metadata or {})
    return table if structs is None else structs.nested(table)


def _parse(record: bytes) -> tuple[_Field, ...]:
    """The structs in a record, which is as hostile as any bytes of a file."""
    try:
        content = json.loads(record)
        separator = _text(content["separator"])
        if not separator:
            raise ValueError("the separator is empty")
        structs = tuple(
            _parsed_field(item, _text(item["name"]), separator, 0)
            for item in _list(content["structs"])
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptFileError(
            f"the metadata {STRUCTS_KEY.decode()!r} of the schema is not valid ({error}); "
            'types="mosaic" reads without it'
        ) from error
    leaves = [leaf for struct in structs for leaf in struct.leaves()]
    names = [struct.name for struct in structs]
    if len(set(leaves)) < len(leaves) or len(set(names)) < len(names):
        raise CorruptFileError(
            f"the metadata {STRUCTS_KEY.decode()!r} of the schema names a column twice; "
            'types="mosaic" reads without it'
        )
    return structs


def _parsed_field(item: dict[str, Any], path: str, separator: str, depth: int) -> _Field:
    if depth > MAX_NESTING_DEPTH:
        raise ValueError(f"structs nest deeper than {MAX_NESTING_DEPTH} levels")
    fields = tuple(
        _parsed_field(child, f"{path}{separator}{_text(child['name'])}", separator, depth + 1)
        for child in _list(item.get("fields", []))
    )
    if not fields and (depth == 0 or "fields" in item):
        raise ValueError(f"struct {path!r} has no fields")
    metadata = {
        _text(key).encode("latin-1"): _text(value).encode("latin-1")
        for key, value in _list(item.get("metadata", []))
    }
    nullable = item.get("nullable", True) is not False
    return _Field(_text(item["name"]), path, nullable, metadata or None, fields)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is not a list")
    return value
