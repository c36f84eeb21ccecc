"""Files with forged annexes: bytes that say which sections there are, and what is in them.

::

    1 byte     which file the annex is put into
    then, for each section: type, form (a byte each), length of the content (2), the content

The form says how the content becomes the body: as it is; as a block; as the only group of fields
or dictionaries, with a directory of the first columns. So bytes behind checksums and compression
are reached.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa

import pymosaic
from pymosaic.file import grouped_items
from pymosaic.format import annex_metadata
from pymosaic.format.annex import SectionType
from pymosaic.testing.annex import with_annex, without_annex
from tests.file.test_original_schema import TABLE
from tests.writing import written

_SECTION = struct.Struct(">BBH")
AS_IT_IS, BLOCK, GROUP = range(3)
_SOURCES = (
    pa.table({"n": pa.array([1, 2, None], pa.int16())}),
    pa.table({"s": ["b", "a", None], "l": [["x"], None, []]}),
    TABLE,
)
BASES = tuple(without_annex(written(table, num_buckets=2)) for table in _SOURCES)
STORED = tuple(map(pymosaic.read_table, BASES))


def assemble_annex(recipe: bytes) -> bytes:
    """The file that a recipe describes."""
    base = BASES[recipe[0] % len(BASES)] if recipe else BASES[0]
    sections: list[tuple[int, bytes]] = []
    at = 1
    while at + _SECTION.size <= len(recipe) and len(sections) < 8:
        kind, form, size = _SECTION.unpack_from(recipe, at)
        at += _SECTION.size
        content = recipe[at : at + size]
        at += size
        if form % 3 == BLOCK:
            sections.append((kind, annex_metadata.emit_content(content)))
        elif form % 3 == GROUP:
            # The number of columns comes first.
            count = content[0] if content else 0
            frame = annex_metadata.compress(content[1:])
            groups = [(count, len(frame), max(0, len(content) - 1))]
            directory = annex_metadata.emit_directory(range(count), range(count), groups)
            of_dictionaries = kind == SectionType.DICTIONARIES
            items = grouped_items.DICTIONARIES if of_dictionaries else grouped_items.FIELDS
            sections += [(items.items, frame), (items.directory, directory)]
        else:
            sections.append((kind, content))
    return with_annex(base, *sections)


def recipe_of(base: int, sections: Sequence[tuple[int, int, bytes]]) -> bytes:
    """A recipe of sections, given as type, form and content."""
    parts = [bytes([base])]
    for kind, form, content in sections:
        parts += [_SECTION.pack(kind, form, len(content)), content]
    return b"".join(parts)


def annex_seeds() -> list[bytes]:
    """Recipes of what writers make, and of what they never do."""
    fields = [
        (pa.schema([pa.field("0", pa.uint8(), metadata={"a": "b"})]), 0),
        (pa.schema([pa.field("0", pa.dictionary(pa.int8(), pa.string()))]), 1),
        (
            pa.schema(
                [pa.field("0", pa.list_(pa.large_string())), pa.field("1", pa.string_view())]
            ),
            1,
        ),
        (pa.schema([field.with_name(str(i)) for i, field in enumerate(TABLE.schema)][:20]), 2),
        (pa.schema([pa.field("0", pa.list_(pa.int8(), 1 << 30))]), 1),
    ]
    seeds = []
    for schema, base in fields:
        content = bytes([len(schema)]) + schema.serialize().to_pybytes()
        seeds.append(recipe_of(base, [(0, GROUP, content)]))
    pairs = annex_metadata.KeyValues(((b"pandas", b'{"index_columns": []}'),), (("me", "you"),))
    key_values = annex_metadata.emit_key_values(pairs)
    seeds.append(recipe_of(0, [(SectionType.KEY_VALUES, AS_IT_IS, key_values)]))
    seeds.append(recipe_of(0, [(SectionType.KEY_VALUES, BLOCK, b"\x01\x00\x01k\x01v")]))
    entries = pa.record_batch({"": pa.array([["a", "b"]])})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, entries.schema) as writer:
        writer.write_batch(entries)
    stream = sink.getvalue().to_pybytes()
    kind = bytes([1]) + fields[1][0].serialize().to_pybytes()
    group = bytes([1]) + stream
    seeds.append(recipe_of(1, [(0, GROUP, kind), (SectionType.DICTIONARIES, GROUP, group)]))
    return [*seeds, recipe_of(0, [(77, AS_IT_IS, b"unknown")]), b""]
