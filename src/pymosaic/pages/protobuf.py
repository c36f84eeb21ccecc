"""Protobuf wire format, as far as the messages of Lance files need it, exactly.

A message is a frozen dataclass whose fields carry their numbers; one table then serves both ways::

    @message
    class Flat:
        bits_per_value: int = uint(1)
        data: BufferCompression | None = child(2, lambda: BufferCompression)

===== ================= ========================================================
wire  read as           fields
===== ================= ========================================================
0     varint            :func:`uint`, :func:`optional_uint`, :func:`boolean`, :func:`int32`
1, 5  8 or 4 bytes      only skipped
2     length, bytes     :func:`text`, :func:`data`, :func:`child`, :func:`one_of`, repeated ones
===== ================= ========================================================

Reading checks every length against the remaining bytes, varints against 64 bits, and nesting
against a cap. An unknown field raises :class:`~pymosaic.errors.UnsupportedFeatureError` if the
message is *closed* (it describes bytes, so nothing in it may be ignored), and is skipped otherwise.
Writing emits fields in ascending order, omits defaults, and packs repeated numbers, like protobuf's
own writers.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar, dataclass_transform

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError

__all__ = [
    "boolean",
    "child",
    "children",
    "data",
    "emit",
    "emit_one_of",
    "int32",
    "message",
    "one_of",
    "optional_data",
    "optional_int32",
    "optional_uint",
    "parse",
    "parse_one_of",
    "text",
    "text_map",
    "uint",
    "uints",
]

_Message = TypeVar("_Message")
_Bytes = bytes | memoryview

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Lance's deepest trees have about six levels; Python's stack holds many more than this.
_MAX_DEPTH = 40
_SMALL_BYTES = 32
_UINT64 = (1 << 64) - 1


class _Kind(Enum):
    UINT = "uint"
    INT32 = "int32"
    BOOL = "bool"
    TEXT = "text"
    DATA = "data"
    MESSAGE = "message"
    MESSAGES = "messages"
    UINTS = "uints"
    TEXT_MAP = "map of text to data"
    ONE_OF = "one of"


_NUMBERS = (_Kind.UINT, _Kind.INT32, _Kind.BOOL)


@dataclass(frozen=True, slots=True)
class _Spec:
    number: int
    kind: _Kind
    # The class of a child, or the classes of a oneof by field number; called late, since messages
    # may hold each other.
    target: Callable[[], Any] | None = None


def _field(spec: _Spec, default: Any) -> Any:
    return dataclasses.field(default=default, metadata={"protobuf": spec})


def uint(number: int) -> Any:
    """uint32 or uint64; 0 if absent."""
    return _field(_Spec(number, _Kind.UINT), 0)


def optional_uint(number: int) -> Any:
    """A number whose absence is meaningful."""
    return _field(_Spec(number, _Kind.UINT), None)


def int32(number: int) -> Any:
    """int32 (negative ones take ten bytes); 0 if absent."""
    return _field(_Spec(number, _Kind.INT32), 0)


def optional_int32(number: int) -> Any:
    """int32 whose absence means something."""
    return _field(_Spec(number, _Kind.INT32), None)


def boolean(number: int) -> Any:
    """Bool; False where it is absent."""
    return _field(_Spec(number, _Kind.BOOL), False)


def text(number: int) -> Any:
    """String; empty where it is absent."""
    return _field(_Spec(number, _Kind.TEXT), "")


def data(number: int) -> Any:
    """Bytes; empty where they are absent."""
    return _field(_Spec(number, _Kind.DATA), b"")


def optional_data(number: int) -> Any:
    """Bytes whose absence means something."""
    return _field(_Spec(number, _Kind.DATA), None)


def child(number: int, target: Callable[[], Any]) -> Any:
    """Another message, or None."""
    return _field(_Spec(number, _Kind.MESSAGE, target), None)


def children(number: int, target: Callable[[], Any]) -> Any:
    """Repeated messages, as a tuple."""
    return _field(_Spec(number, _Kind.MESSAGES, target), ())


def uints(number: int) -> Any:
    """Repeated numbers, as a tuple; packed when written, either way when read."""
    return _field(_Spec(number, _Kind.UINTS), ())


def text_map(number: int) -> Any:
    """Map of strings to bytes, as a tuple of pairs in the order of the file."""
    return _field(_Spec(number, _Kind.TEXT_MAP), ())


def one_of(number: int, targets: Callable[[], Mapping[int, type]]) -> Any:
    """A message that is nothing but a oneof of messages: the one that is set, or None."""
    return _field(_Spec(number, _Kind.ONE_OF, targets), None)


@dataclass_transform(frozen_default=True)
def message(*, closed: bool) -> Callable[[type[_Message]], type[_Message]]:
    """Make a frozen dataclass of a class whose fields carry numbers."""

    def decorate(cls: type[_Message]) -> type[_Message]:
        made: Any = dataclass(frozen=True, slots=True)(cls)
        specs = {f.name: f.metadata["protobuf"] for f in dataclasses.fields(made)}
        made.__protobuf_fields__ = {
            spec.number: (name, spec.kind, spec.target) for name, spec in specs.items()
        }
        made.__protobuf_order__ = [
            (
                _tag(f.metadata["protobuf"]),
                f.name,
                f.metadata["protobuf"].kind,
                f.metadata["protobuf"].target,
                f.default,
            )
            for f in sorted(dataclasses.fields(made), key=lambda f: f.metadata["protobuf"].number)
        ]
        made.__protobuf_closed__ = closed
        return made  # type: ignore[no-any-return]

    return decorate


def _read_varint(view: _Bytes, position: int, structure: str) -> tuple[int, int]:
    result = shift = 0
    while position < len(view):
        byte = view[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            if result >> 64:
                break
            return result, position
        shift += 7
        if shift > 63:
            break
    raise CorruptFileError("not a varint", structure=structure, offset=position)


def _read_fields(view: memoryview, structure: str) -> Iterator[tuple[int, int, int | memoryview]]:
    """Field number, wire type, and the varint or the bytes, one after the other."""
    position, size = 0, len(view)
    while position < size:
        start = position
        tag, position = _read_varint(view, position, structure)
        number, wire = tag >> 3, tag & 7
        if number == 0 or number >> 29:
            raise CorruptFileError(f"field number {number}", structure=structure, offset=start)
        if wire == _VARINT:
            value, position = _read_varint(view, position, structure)
            yield number, wire, value
            continue
        if wire == _BYTES:
            length, position = _read_varint(view, position, structure)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise CorruptFileError(f"wire type {wire}", structure=structure, offset=start)
        if length > size - position:
            raise CorruptFileError(
                f"field {number} has {length} bytes, {size - position} are left",
                structure=structure,
                offset=start,
            )
        yield number, wire, view[position : position + length]
        position += length


def _as_text(value: memoryview, structure: str) -> str:
    try:
        return str(value, "utf-8")
    except UnicodeDecodeError as error:
        raise CorruptFileError(f"text is not UTF-8: {error.reason}", structure=structure) from error


def _as_int32(value: int, structure: str) -> int:
    if value >> 63:
        value -= 1 << 64
    if not -(1 << 31) <= value < 1 << 31:
        raise CorruptFileError(f"{value} is not an int32", structure=structure)
    return value


def _read_map_entry(value: memoryview, structure: str) -> tuple[str, bytes]:
    key, content = "", b""
    for number, wire, part in _read_fields(value, structure):
        if wire != _BYTES or isinstance(part, int):
            raise CorruptFileError(f"map entry of wire type {wire}", structure=structure)
        if number == 1:
            key = _as_text(part, structure)
        elif number == 2:
            content = bytes(part)
    return key, content


@functools.lru_cache(maxsize=1024)
def _parse_small(
    targets: Callable[[], Mapping[int, type]], content: bytes, structure: str, depth: int
) -> object:
    # The same few encodings describe most pages of most columns; messages never change.
    return _parse_one_of(targets, memoryview(content), structure, depth)


def _parse_one_of(
    targets: Callable[[], Mapping[int, type]], view: memoryview, structure: str, depth: int
) -> object:
    found: object = None
    known = targets()
    for number, wire, value in _read_fields(view, structure):
        target = known.get(number)
        if target is None:
            raise UnsupportedFeatureError(
                f"choice {number} does not exist in this version of the format", structure=structure
            )
        if wire != _BYTES or isinstance(value, int):
            raise CorruptFileError(f"choice {number} of wire type {wire}", structure=structure)
        found = _parse(target, value, depth + 1)
    return found


def _parse(cls: Any, view: memoryview, depth: int) -> Any:
    structure = cls.__name__
    if depth > _MAX_DEPTH:
        raise CorruptFileError(f"nested deeper than {_MAX_DEPTH} levels", structure=structure)
    values: dict[str, Any] = {}
    repeated: dict[str, list[Any]] = {}
    fields = cls.__protobuf_fields__
    for number, wire, value in _read_fields(view, structure):
        field = fields.get(number)
        if field is None:
            if cls.__protobuf_closed__:
                raise UnsupportedFeatureError(
                    f"field {number} does not exist in this version of the format",
                    structure=structure,
                )
            continue
        name, kind, target = field
        if isinstance(value, int):
            if kind is _Kind.UINT:
                values[name] = value
            elif kind is _Kind.BOOL:
                values[name] = value != 0
            elif kind is _Kind.INT32:
                values[name] = _as_int32(value, structure)
            elif kind is _Kind.UINTS:
                repeated.setdefault(name, []).append(value)
            else:
                raise CorruptFileError(f"{name} is a number", structure=structure)
        elif wire != _BYTES or kind in _NUMBERS:
            raise CorruptFileError(f"{name} has wire type {wire}", structure=structure)
        elif kind is _Kind.MESSAGE:
            values[name] = _parse(target(), value, depth + 1)
        elif kind is _Kind.ONE_OF:
            if len(value) <= _SMALL_BYTES:
                values[name] = _parse_small(target, bytes(value), structure, depth + 1)
            else:
                values[name] = _parse_one_of(target, value, structure, depth + 1)
        elif kind is _Kind.DATA:
            values[name] = bytes(value)
        elif kind is _Kind.TEXT:
            values[name] = _as_text(value, structure)
        elif kind is _Kind.UINTS:
            repeated.setdefault(name, []).extend(_packed(value, structure))
        elif kind is _Kind.TEXT_MAP:
            repeated.setdefault(name, []).append(_read_map_entry(value, structure))
        else:
            repeated.setdefault(name, []).append(_parse(target(), value, depth + 1))
    for name, entries in repeated.items():
        values[name] = tuple(entries)
    return cls(**values)


def _packed(view: memoryview, structure: str) -> list[int]:
    numbers, position = [], 0
    while position < len(view):
        number, position = _read_varint(view, position, structure)
        numbers.append(number)
    return numbers


def parse(cls: type[_Message], content: _Bytes) -> _Message:
    """Read one message.

    Examples
    --------
    >>> from pymosaic.pages.messages import Flat
    >>> parse(Flat, bytes([0x08, 0x20]))
    Flat(bits_per_value=32, data=None)
    """
    result: _Message = _parse(cls, memoryview(content), 0)
    return result


def parse_one_of(targets: Callable[[], Mapping[int, type]], content: _Bytes, structure: str) -> Any:
    """Read a message that is nothing but a oneof of messages: the one that is set, or None."""
    return _parse_one_of(targets, memoryview(content), structure, 0)


def _append_varint(out: bytearray, value: int) -> None:
    if value < 0x80:  # most are
        out.append(value)
        return
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _append_bytes(out: bytearray, tag: bytes, content: bytes | bytearray) -> None:
    out += tag
    _append_varint(out, len(content))
    out += content


def _tag(spec: _Spec) -> bytes:
    """What precedes a field when it is written."""
    out = bytearray()
    _append_varint(out, spec.number << 3 | (_VARINT if spec.kind in _NUMBERS else _BYTES))
    return bytes(out)


def emit_one_of(targets: Callable[[], Mapping[int, type]], value: object) -> bytes:
    """Write a message that is nothing but a oneof of messages."""
    for number, target in targets().items():
        if type(value) is target:
            out = bytearray()
            _append_bytes(out, bytes([number << 3 | _BYTES]), emit(value))
            return bytes(out)
    raise TypeError(f"{type(value).__name__} is not one of {targets()}")


def emit(instance: Any) -> bytes:
    """Write one message.

    Examples
    --------
    >>> from pymosaic.pages.messages import Flat
    >>> emit(Flat(bits_per_value=32)).hex()
    '0820'
    """
    out = bytearray()
    for tag, name, kind, target, default in type(instance).__protobuf_order__:
        value = getattr(instance, name)
        if value is None or (value == default and default is not None):
            continue
        if kind in _NUMBERS:
            out += tag
            _append_varint(out, int(value) & _UINT64)
        elif kind is _Kind.TEXT:
            _append_bytes(out, tag, value.encode())
        elif kind is _Kind.DATA:
            _append_bytes(out, tag, value)
        elif kind is _Kind.UINTS:
            packed = bytearray()
            for entry in value:
                _append_varint(packed, entry)
            _append_bytes(out, tag, packed)
        elif kind is _Kind.TEXT_MAP:
            for key, content in value:
                pair = bytearray()
                _append_bytes(pair, b"\x0a", key.encode())
                _append_bytes(pair, b"\x12", content)
                _append_bytes(out, tag, pair)
        elif kind is _Kind.MESSAGES:
            for entry in value:
                _append_bytes(out, tag, emit(entry))
        elif kind is _Kind.MESSAGE:
            _append_bytes(out, tag, emit(value))
        else:
            _append_bytes(out, tag, emit_one_of(target, value))
    return bytes(out)
