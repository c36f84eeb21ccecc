"""What files tell of their Arrow schemas, merged for a file that has the rows of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from pymosaic.arrow.types import duration_units
from pymosaic.errors import InvalidDataError
from pymosaic.file.original_schema import (
    emit_dictionaries,
    parse_dictionaries,
    parse_group,
    united_dictionary,
)
from pymosaic.format import annex_metadata
from pymosaic.format.annex import METADATA_SECTIONS, Body, SectionType
from pymosaic.format.annex_metadata import KeyValues
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits

__all__ = ["check_units", "merged_metadata"]


def check_units(files: Sequence[Mapping[int, bytes]], catalog: Catalog, limits: Limits) -> None:
    """Refuse files with the same columns whose durations, stored as integers, have other units."""
    known: dict[int, tuple[str, ...]] = {}
    seen: set[bytes] = set()
    for file in files:
        fields, directory = file.get(SectionType.FIELDS), file.get(SectionType.FIELD_DIRECTORY)
        if fields is None or directory is None or fields + directory in seen:
            continue
        seen.add(fields + directory)
        for position, units in _units(fields, directory, catalog, limits):
            if known.setdefault(position, units) != units:
                raise InvalidDataError(
                    f"column {catalog.name(position)!r} is a duration of other units in one file "
                    "than in another"
                )


def _units(
    fields: bytes, directory: bytes, catalog: Catalog, limits: Limits
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The columns of a file that have durations, and the units of these."""
    listed = annex_metadata.parse_directory(directory, catalog.num_columns, len(fields), limits)
    groups = zip(
        listed.firsts.tolist(), listed.offsets.tolist(), listed.sizes.tolist(), strict=True
    )
    for first, offset, (size, content_size) in groups:
        group = parse_group(fields[offset : offset + size], content_size, limits)
        for field, position in zip(group, listed.positions[first:].tolist(), strict=False):
            units = duration_units(field.type)
            if units:
                yield position, units


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
