"""What files tell of their Arrow schemas, merged for a file that has the rows of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from pymosaic.arrow.types import duration_units
from pymosaic.errors import InvalidDataError
from pymosaic.file.dictionaries import emit_dictionaries, parse_dictionaries, united_dictionary
from pymosaic.file.grouped_items import DICTIONARIES, FIELDS, parse_items
from pymosaic.file.original_schema import parse_fields
from pymosaic.format import annex_metadata
from pymosaic.format.annex import METADATA_SECTIONS, Body, SectionType
from pymosaic.format.annex_metadata import KeyValues
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits

__all__ = ["check_units", "merged_metadata"]


def check_units(files: Sequence[Mapping[int, bytes]], catalog: Catalog, limits: Limits) -> None:
    """Refuse files with the same columns whose durations, stored as integers, have other units."""
    known: dict[int, tuple[str, ...]] = {}
    seen: set[tuple[bytes | None, ...]] = set()
    for file in files:
        content = tuple(file.get(kind) for kind in FIELDS)
        if content in seen:
            continue
        seen.add(content)
        for position, units in _units(file, catalog, limits):
            if known.setdefault(position, units) != units:
                raise InvalidDataError(
                    f"column {catalog.name(position)!r} is a duration of other units in one file "
                    "than in another"
                )


def _units(
    file: Mapping[int, bytes], catalog: Catalog, limits: Limits
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The columns of a file that have durations, and the units of these."""
    parsed = parse_items(FIELDS, file, catalog.num_columns, limits)
    if parsed is None:
        return
    directory, groups = parsed
    units = [
        duration_units(field.type) for group in groups for field in parse_fields(group, limits)
    ]
    for position, item in zip(directory.positions.tolist(), directory.items.tolist(), strict=True):
        if units[item]:
            yield position, units[item]


def merged_metadata(
    files: Sequence[Mapping[int, bytes]], num_columns: int, limits: Limits
) -> list[Body]:
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
    if all(kind in first and file.get(kind) == first[kind] for kind in FIELDS for file in files):
        bodies += [Body(kind, first[kind]) for kind in FIELDS]
        dictionaries = _united_dictionaries(files, num_columns, limits)
        if dictionaries:
            bodies += emit_dictionaries(dictionaries)
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


def _dictionaries(
    file: Mapping[int, bytes], num_columns: int, limits: Limits
) -> dict[int, pa.Array]:
    """The dictionaries of a file, by position."""
    parsed = parse_items(DICTIONARIES, file, num_columns, limits)
    if parsed is None:
        return {}
    directory, groups = parsed
    found = [entries for group in groups for entries in parse_dictionaries(group, limits)]
    listed = zip(directory.positions.tolist(), directory.items.tolist(), strict=True)
    return {position: found[item] for position, item in listed}


def _united_dictionaries(
    files: Sequence[Mapping[int, bytes]], num_columns: int, limits: Limits
) -> dict[int, pa.Array]:
    united: dict[int, pa.Array | None] | None = None
    for file in files:
        own = _dictionaries(file, num_columns, limits)
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
