"""Dictionaries of columns: united over batches and files, and kept in the annex."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from pymosaic.arrow.restoring import is_plain
from pymosaic.arrow.row_sizes import num_bytes
from pymosaic.arrow.stream import read_batch
from pymosaic.errors import CorruptFileError
from pymosaic.file.grouped_items import DICTIONARIES, Group, emit_items
from pymosaic.format.annex import Body
from pymosaic.format.compression import ZSTD
from pymosaic.limits import Limits

__all__ = [
    "MAX_DICTIONARY_BYTES",
    "emit_dictionaries",
    "parse_dictionaries",
    "same_entries",
    "united_dictionary",
]

# Larger dictionaries are not kept: entries are then in the order of their first value.
MAX_DICTIONARY_BYTES = 1 << 20
# Dictionaries that are compressed, and read, together; and their size, of which one may have more.
_GROUP = 64
_GROUP_BYTES = 64 << 10
# Memory of a small array that holds no values.
_SLACK = 512
_STRUCTURE = "annex"
_BITS_OF_FLOATS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def same_entries(left: pa.Array, right: pa.Array) -> bool:
    """Whether dictionaries are equal to the bit: Arrow takes 0.0 and -0.0 for equal."""
    if pa.types.is_floating(left.type) and left.type == right.type:
        bits = _BITS_OF_FLOATS[left.type.bit_width]
        left, right = left.view(bits), right.view(bits)
    return bool(left.equals(right))


def united_dictionary(known: pa.Array, entries: pa.Array) -> pa.Array | None:
    """The entries of two dictionaries, those that are new last; None if that is not possible."""
    import pyarrow.compute as pc

    if known.type != entries.type:
        return None
    if same_entries(known, entries):
        return known
    try:
        united = pa.concat_arrays([known, entries.filter(pc.invert(pc.is_in(entries, known)))])
    except pa.ArrowNotImplementedError:
        return None  # pyarrow does not look such values up
    return None if united.get_total_buffer_size() > MAX_DICTIONARY_BYTES else united


def emit_dictionaries(dictionaries: Mapping[int, pa.Array]) -> list[Body]:
    """The sections of dictionaries, given by position; those that are equal are kept once."""
    distinct: dict[tuple[object, ...], pa.Array] = {}
    keys = {}
    for position in sorted(dictionaries):
        keys[position] = key = _key(dictionaries[position])
        distinct.setdefault(key, dictionaries[position])
    # Those of one type, which is the first part of a key, come together.
    ordered = sorted(distinct.items(), key=lambda item: str(item[0][0]))
    numbers = {key: number for number, (key, _) in enumerate(ordered)}
    items = {position: numbers[key] for position, key in keys.items()}
    groups = [(len(group), _stream(group)) for group in _grouped([x for _, x in ordered])]
    return emit_items(DICTIONARIES, items, groups)


def _key(entries: pa.Array) -> tuple[object, ...]:
    """What dictionaries that are equal to the bit have in common, mostly."""
    if entries.get_total_buffer_size() > _SLACK + 2 * num_bytes(entries):
        # A slice of something larger; serialising leaves the rest out.
        content = pa.record_batch([entries], ["0"]).serialize()
        return str(entries.type), bytes(content)
    buffers = [None if buffer is None else bytes(buffer) for buffer in entries.buffers()]
    return str(entries.type), len(entries), entries.offset, *buffers


def _grouped(distinct: list[pa.Array]) -> Iterator[list[pa.Array]]:
    """Groups of dictionaries of one type."""
    group: list[pa.Array] = []
    size = 0
    for entries in distinct:
        if group and (
            len(group) == _GROUP
            or size + num_bytes(entries) > _GROUP_BYTES
            or entries.type != group[0].type
            # pyarrow does not join all of these.
            or not is_plain(entries.type)
        ):
            yield group
            group, size = [], 0
        group.append(entries)
        size += num_bytes(entries)
    yield group


def _stream(group: list[pa.Array]) -> bytes:
    ends = np.cumsum([0, *map(len, group)])
    values = group[0] if len(group) == 1 else pa.concat_arrays(group)
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)
    batch = pa.record_batch([lists], [""])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def parse_dictionaries(group: Group, limits: Limits) -> list[pa.Array]:
    """The dictionaries of a group."""
    content = memoryview(ZSTD.decompress(group.frame, group.content_size, _STRUCTURE, limits))
    try:
        batch = read_batch(content)
        [column] = batch.columns
        if not pa.types.is_list(column.type):
            raise pa.ArrowInvalid(f"entries are {column.type}, not a list")
        if len(column) != group.count or column.null_count:
            raise pa.ArrowInvalid(f"{len(column)} where there should be {group.count}")
        # Nulls and values without bytes have any number.
        if len(column.values) > 8 * len(content):
            raise pa.ArrowInvalid(f"{len(column.values)} entries in {len(content)} bytes")
        ends = column.offsets.to_pylist()
        return [column.values.slice(i, j - i) for i, j in itertools.pairwise(ends)]
    # The code of a registered extension type parses parameters, and may raise anything.
    except Exception as error:
        raise CorruptFileError(f"dictionaries: {error}", structure=_STRUCTURE) from error
