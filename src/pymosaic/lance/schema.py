"""Conversion of the schema of a Lance file to Arrow and back.

A Lance schema is a flat list of fields in depth-first order, each with the id of its parent and a
logical type as text: ``int32``, ``timestamp:us:UTC``, ``decimal:128:10:2``,
``fixed_size_list:float:4``, ``dict:string:int8:false``. Structs, lists and maps have children; only
leaves own columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa

from pymosaic.arrow.types import fixed_bits
from pymosaic.errors import CorruptFileError, InvalidDataError, UnsupportedFeatureError
from pymosaic.lance.container import FieldMessage, Schema
from pymosaic.pages.protobuf import emit

__all__ = ["BLOB_KEY", "PACKED_KEY", "emit_schema", "is_single_column", "scalar_type"]

_Key = TypeVar("_Key", str, bytes)

_SIMPLE: dict[str, pa.DataType] = {
    "null": pa.null(),
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "uint8": pa.uint8(),
    "int16": pa.int16(),
    "uint16": pa.uint16(),
    "int32": pa.int32(),
    "uint32": pa.uint32(),
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "halffloat": pa.float16(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "large_string": pa.large_string(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "date32:day": pa.date32(),
    "date64:ms": pa.date64(),
    "time32:s": pa.time32("s"),
    "time32:ms": pa.time32("ms"),
    "time64:us": pa.time64("us"),
    "time64:ns": pa.time64("ns"),
    "duration:s": pa.duration("s"),
    "duration:ms": pa.duration("ms"),
    "duration:us": pa.duration("us"),
    "duration:ns": pa.duration("ns"),
}
_NAMES = {data_type: name for name, data_type in _SIMPLE.items()}
# Types that their number tells; others have parameters.
_SIMPLE_IDS = frozenset(
    data_type.id
    for name, data_type in _SIMPLE.items()
    if ":" not in name and not pa.types.is_null(data_type)
)
_UNITS = ("s", "ms", "us", "ns")
PACKED_KEY = b"lance-encoding:packed"
BLOB_KEY = b"lance-encoding:blob"
_PACKED_KEYS = (PACKED_KEY, b"packed")
# Arrow counts the bits of a value in 32 bits, of which one is the sign.
_MAX_VALUE_BITS = (1 << 31) - 1
# Encoding hints in the schema; no reader uses them, but every writer sets them.
_PLAIN, _VARIABLE, _DICTIONARY = 1, 2, 3


def is_single_column(field: pa.Field) -> bool:
    """Whether a struct is packed, and thus stored as one column."""
    metadata = field.metadata or {}
    return pa.types.is_struct(field.type) and any(_is_set(metadata, key) for key in _PACKED_KEYS)


def _is_set(metadata: Mapping[_Key, bytes], key: _Key) -> bool:
    return metadata.get(key, b"").lower() == b"true"


def _number(text: str, logical_type: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise CorruptFileError(f"logical type {logical_type!r}", structure="schema")
    return int(text)


def _value_bits(data_type: pa.DataType) -> int:
    """Bits of one value; values without a width, or of variable width, count as one bit."""
    if pa.types.is_fixed_size_list(data_type):
        return int(data_type.list_size) * _value_bits(data_type.value_type)
    return fixed_bits(data_type) or 1


def _checked_width(data_type: pa.DataType, column: str | None = None) -> pa.DataType:
    """The type, unless its values are so wide that Arrow miscounts."""
    if _value_bits(data_type) > _MAX_VALUE_BITS:
        reason = f"values of {data_type} are wider than {_MAX_VALUE_BITS // 8} bytes"
        if column is not None:
            raise UnsupportedFeatureError(f"column {column!r}: {reason}")
        raise UnsupportedFeatureError(reason, structure="schema")
    return data_type


def scalar_type(logical_type: str, depth: int = 0) -> pa.DataType:
    """The Arrow type of a leaf."""
    simple = _SIMPLE.get(logical_type)
    if simple is not None:
        return simple
    kind, _, rest = logical_type.partition(":")
    try:
        if kind == "timestamp":
            unit, _, zone = rest.partition(":")
            if unit in _UNITS:
                return pa.timestamp(unit, None if zone in ("", "-") else zone)
        elif kind == "decimal":
            bits, precision, scale = rest.split(":")
            make = {"128": pa.decimal128, "256": pa.decimal256}[bits]
            negative = scale.startswith("-")
            digits = _number(scale.removeprefix("-"), logical_type)
            return make(_number(precision, logical_type), -digits if negative else digits)
        elif kind == "fixed_size_binary":
            return _checked_width(pa.binary(_number(rest, logical_type)))
        elif kind == "fixed_size_list" and depth < 16:
            inner, _, size = rest.rpartition(":")
            item_type = scalar_type(inner, depth + 1)
            return _checked_width(pa.list_(item_type, _number(size, logical_type)))
        elif kind == "dict" and depth < 16:
            value, index, ordered = rest.rsplit(":", 2)
            value_type = scalar_type(value, depth + 1)
            if (
                pa.types.is_null(value_type)
                or pa.types.is_nested(value_type)
                or (pa.types.is_dictionary(value_type))
            ):
                raise UnsupportedFeatureError(f"a dictionary of {value_type}", structure="schema")
            return pa.dictionary(scalar_type(index, depth + 1), value_type, ordered == "true")
    except (KeyError, ValueError, TypeError) as error:
        if isinstance(error, CorruptFileError):
            raise
        raise CorruptFileError(f"logical type {logical_type!r}", structure="schema") from error
    raise UnsupportedFeatureError(
        f"logical type {logical_type[:100]!r} is not known", structure="schema"
    )


def _logical_type(name: str, data_type: pa.DataType, version: str = "2.1") -> str:
    simple = _NAMES.get(data_type)
    types = pa.types
    if simple is not None:
        return simple
    if types.is_timestamp(data_type):
        return f"timestamp:{data_type.unit}:{data_type.tz or '-'}"
    if types.is_decimal128(data_type) or types.is_decimal256(data_type):
        return f"decimal:{data_type.bit_width}:{data_type.precision}:{data_type.scale}"
    if types.is_fixed_size_binary(data_type) and data_type.byte_width > 0:
        return f"fixed_size_binary:{_checked_width(data_type, name).byte_width}"
    if types.is_fixed_size_list(data_type) and data_type.list_size > 0:
        inner = data_type.value_type
        if types.is_nested(inner) and not types.is_fixed_size_list(inner):
            raise _no_type(name, data_type)
        _checked_width(data_type, name)
        return f"fixed_size_list:{_logical_type(name, inner)}:{data_type.list_size}"
    if types.is_dictionary(data_type):
        if ":" in _logical_type(name, data_type.value_type):
            raise UnsupportedFeatureError(
                f"column {name!r}: Lance has no dictionaries of {data_type.value_type}; cast it to "
                f"{data_type.value_type}"
            )
        value = _logical_type(name, data_type.value_type)
        index = _logical_type(name, data_type.index_type)
        return f"dict:{value}:{index}:{'true' if data_type.ordered else 'false'}"
    if types.is_struct(data_type):
        return "struct"
    if types.is_list(data_type) or types.is_large_list(data_type):
        kind = "list" if types.is_list(data_type) else "large_list"
        return f"{kind}.struct" if types.is_struct(data_type.value_type) else kind
    if types.is_map(data_type):
        if version == "2.2":
            return "map"
        raise UnsupportedFeatureError(
            f"column {name!r}: version 2.1 has no maps; pymosaic.lance.from_mosaic makes lists of "
            "structs of them, and version 2.2 has them"
        )
    raise _no_type(name, data_type)


def _no_type(name: str, data_type: pa.DataType) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(f"column {name!r}: Lance has no type for {data_type}")


def emit_schema(schema: pa.Schema, version: str = "2.1") -> bytes:
    """Write the message of the Lance schema.

    A wide table has thousands of fields of a few types: of these, all but the name and the number
    is written once.
    """
    parts: list[bytes] = []
    rests: dict[tuple[int, bool], bytes] = {}
    own = 0
    for field in schema:
        key = field.type.id, field.nullable
        rest = rests.get(key)
        if rest is None or field.metadata is not None:
            fields: list[FieldMessage] = []
            _append(fields, field, -1, version, own)
            if field.type.id in _SIMPLE_IDS and field.metadata is None:
                rests[key] = emit(replace(fields[0], name="", id=0))
            parts += [_part(emit(message)) for message in fields]
            own += len(fields)
        else:
            name = field.name.encode()
            start = b"\x12" + _varint(len(name)) + name if name else b""
            parts.append(_part(start + (b"\x18" + _varint(own) if own else b"") + rest))
            own += 1
    parts.append(emit(Schema(metadata=_pairs(schema.metadata))))
    return b"".join(parts)


def _varint(number: int) -> bytes:
    return (
        bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80]) + _varint(number >> 7)
    )


def _part(message: bytes) -> bytes:
    """A field as part of the schema."""
    return b"\x0a" + _varint(len(message)) + message


def _pairs(metadata: dict[bytes, bytes] | None) -> tuple[tuple[str, bytes], ...]:
    try:
        return tuple((key.decode(), value) for key, value in (metadata or {}).items())
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"a key of the metadata is not UTF-8: {error}") from error


def _append(
    fields: list[FieldMessage], field: pa.Field, parent: int, version: str, first: int
) -> None:
    """Append the messages of a field and of what is in it; those before have ``first`` ids."""
    data_type = field.type
    logical_type = _logical_type(field.name, data_type, version)
    own = first + len(fields)
    types = pa.types
    if types.is_struct(data_type) or types.is_null(data_type):
        hint = 0
    elif logical_type.split(":")[0] in ("string", "large_string", "binary", "large_binary"):
        hint = _VARIABLE
    else:
        hint = _DICTIONARY if types.is_dictionary(data_type) else _PLAIN
    fields.append(
        FieldMessage(
            name=field.name,
            id=own,
            parent_id=parent,
            logical_type=logical_type,
            nullable=field.nullable,
            encoding=hint,
            metadata=_pairs(field.metadata),
        )
    )
    if types.is_struct(data_type):
        for child in data_type:
            _append(fields, child, own, version, first)
    elif types.is_map(data_type):
        entries = pa.struct([data_type.key_field, data_type.item_field])
        _append(fields, pa.field("entries", entries, nullable=False), own, version, first)
    elif types.is_list(data_type) or types.is_large_list(data_type):
        _append(fields, data_type.value_field, own, version, first)
