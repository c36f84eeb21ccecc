"""What files tell of their Arrow schemas, merged for a file that has the rows of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from pymosaic.file.original_schema import (
    emit_dictionaries,
    parse_dictionaries,
    united_dictionary,
)
from pymosaic.format import annex_metadata
from pymosaic.format.annex import METADATA_SECTIONS, Body, SectionType
from pymosaic.format.annex_metadata import KeyValues
from pymosaic.limits import Limits

__all__ = ["merged_metadata"]


def merged_metadata(files: Sequence[Mapping[int, bytes]], limits: Limits) -> list[Body]:
    """The sections of metadata for files with the same columns, each given by its own sections.

    Fields are kept if they are the same in all files, and keys that have the same value in all of
    them. Entries of dictionaries that are new come after the others.
    """
    first = files[0]
    if all(file == first for file in files):
        return [Body(kind, first[kind]) for kind in METADATA_SECTIONS if kind in first]
    bodies = []
    pairs = _common_pairs(files, limits)
    if pairs.arrow or pairs.user:
        bodies.append(Body(SectionType.KEY_VALUES, annex_metadata.emit_key_values(pairs)))
    kinds = (SectionType.FIELDS, SectionType.FIELD_DIRECTORY)
    if all(kind in first and file.get(kind) == first[kind] for kind in kinds for file in files):
        bodies += [Body(kind, first[kind]) for kind in kinds]
        dictionaries = _united_dictionaries(files, limits)
        if dictionaries:
            bodies.append(Body(SectionType.DICTIONARIES, emit_dictionaries(dictionaries)))
    return bodies


def _common_pairs(files: Sequence[Mapping[int, bytes]], limits: Limits) -> KeyValues:
    found = [
        KeyValues() if body is None else annex_metadata.parse_key_values(body, limits)
        for body in (file.get(SectionType.KEY_VALUES) for file in files)
    ]
    others = [(set(pairs.arrow), set(pairs.user)) for pairs in found[1:]]
    return KeyValues(
        tuple(pair for pair in found[0].arrow if all(pair in arrow for arrow, _ in others)),
        tuple(pair for pair in found[0].user if all(pair in user for _, user in others)),
    )


def _united_dictionaries(
    files: Sequence[Mapping[int, bytes]], limits: Limits
) -> dict[int, pa.Array]:
    united: dict[int, pa.Array | None] | None = None
    for file in files:
        body = file.get(SectionType.DICTIONARIES)
        own = {} if body is None else parse_dictionaries(body, limits)
        if united is None:
            united = dict(own)
            continue
        # A column of which one file has no dictionary has values that are in none.
        united = {
            position: None if known is None else united_dictionary(known, own[position])
            for position, known in united.items()
            if position in own
        }
    return {position: known for position, known in (united or {}).items() if known is not None}
