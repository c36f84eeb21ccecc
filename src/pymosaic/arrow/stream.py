"""Arrow IPC streams in files: one batch, whose buffers are as large as the stream says.

Arrow can compress the buffers of a message by itself. A few bytes then become gigabytes, past every
limit, so that such streams are refused before Arrow sees them. What tells is in the metadata of a
message, a flatbuffer, of which pyarrow shows nothing:

    Message:          version, header type, header, body length
    RecordBatch:      length, nodes, buffers, compression
    DictionaryBatch:  id, data (a RecordBatch)

A table begins with the distance back to its vtable: 2 bytes size, 2 bytes size of the table, then
for each field 2 bytes, its place in the table, 0 if it is absent. A field that is a table holds the
distance to it.
"""

from __future__ import annotations

import struct

import pyarrow as pa

__all__ = ["read_batch"]

_HEADER, _DICTIONARY_DATA, _COMPRESSION = 2, 1, 3


def read_batch(content: memoryview) -> pa.RecordBatch:
    """The first batch of a stream, validated.

    Raises
    ------
    pyarrow.ArrowInvalid
        If it is not a valid stream, or its buffers are compressed. Extension types may raise
        anything.
    """
    data = pa.py_buffer(content)
    messages = pa.ipc.MessageReader.open_stream(data)
    while True:
        try:
            message = messages.read_next_message()
        except StopIteration:
            break
        if message.type != "schema" and _is_compressed(message):
            raise pa.ArrowInvalid("the stream has compressed buffers")
    with pa.ipc.open_stream(data) as reader:
        batch = reader.read_next_batch()
    batch.validate(full=True)
    return batch


def _is_compressed(message: pa.ipc.Message) -> bool:
    metadata = memoryview(message.metadata)
    batch = _table(metadata, _number(metadata, "<I", 0), _HEADER)
    if message.type == "dictionary":
        batch = _table(metadata, batch, _DICTIONARY_DATA)
    return _place(metadata, batch, _COMPRESSION) is not None


def _table(metadata: memoryview, table: int, field: int) -> int:
    """Where the table in a field of a table begins."""
    place = _place(metadata, table, field)
    if place is None:
        raise pa.ArrowInvalid("a message without content")
    return place + _number(metadata, "<I", place)


def _place(metadata: memoryview, table: int, field: int) -> int | None:
    """Where a field of a table is; None if it is absent."""
    vtable = table - _number(metadata, "<i", table)
    entry = 4 + 2 * field
    if entry + 2 > _number(metadata, "<H", vtable):
        return None
    distance = _number(metadata, "<H", vtable + entry)
    return table + distance if distance else None


def _number(metadata: memoryview, form: str, place: int) -> int:
    if not 0 <= place <= len(metadata) - struct.calcsize(form):
        raise pa.ArrowInvalid("a message is cut off")
    (number,) = struct.unpack_from(form, metadata, place)
    return int(number)
