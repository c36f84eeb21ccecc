"""Fields and dictionaries in the annex: which columns have one, and in which group it is.

Columns that are alike share an item, and a group of items is compressed together, so that a few
columns of a wide file need a few groups.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from pymosaic.file.guard import Annex
from pymosaic.file.open_file import Fetch
from pymosaic.file.plan import ByteRange
from pymosaic.file.projection import Positions
from pymosaic.format import annex as annex_format
from pymosaic.format import annex_metadata
from pymosaic.format.annex import Body, SectionType
from pymosaic.format.annex_metadata import ItemDirectory
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits

__all__ = [
    "DICTIONARIES",
    "FIELDS",
    "Described",
    "Group",
    "GroupedItems",
    "ItemKind",
    "emit_items",
    "parse_items",
]


_Item = TypeVar("_Item")


class ItemKind(NamedTuple):
    """The sections of a kind of items."""

    items: SectionType
    directory: SectionType


FIELDS = ItemKind(SectionType.FIELDS, SectionType.FIELD_DIRECTORY)
DICTIONARIES = ItemKind(SectionType.DICTIONARIES, SectionType.DICTIONARY_DIRECTORY)


class Described(Protocol):
    """A file, as far as it is needed to read what its annex tells of columns."""

    @property
    def annex(self) -> Annex | None:
        """Its annex."""
        ...

    @property
    def catalog(self) -> Catalog:
        """Its columns."""
        ...

    @property
    def limits(self) -> Limits:
        """Caps on what it may demand."""
        ...

    @property
    def fetch(self) -> Fetch:
        """Reads byte ranges."""
        ...


@dataclass(frozen=True, slots=True)
class Group:
    """A group of items as it is stored; ``first`` is the number of its first item."""

    first: int
    count: int
    frame: bytes
    content_size: int


def emit_items(
    kind: ItemKind, items: Mapping[int, int], groups: Sequence[tuple[int, bytes]]
) -> list[Body]:
    """The sections of items, given by position, whose groups have a count and a content each."""
    frames = [annex_metadata.compress(content) for _, content in groups]
    positions = sorted(items)
    directory = annex_metadata.emit_directory(
        positions,
        [items[position] for position in positions],
        [
            (count, len(frame), len(content))
            for (count, content), frame in zip(groups, frames, strict=True)
        ],
    )
    return [Body(kind.items, b"".join(frames)), Body(kind.directory, directory)]


def parse_items(
    kind: ItemKind, bodies: Mapping[int, bytes], num_columns: int, limits: Limits
) -> tuple[ItemDirectory, list[Group]] | None:
    """The items of one kind in sections that were read, given by type."""
    body, directory_body = bodies.get(kind.items), bodies.get(kind.directory)
    if body is None or directory_body is None:
        return None
    directory = annex_metadata.parse_directory(directory_body, num_columns, len(body), limits)
    columns = (directory.firsts, directory.counts, directory.offsets)
    numbers = zip(*(column.tolist() for column in columns), directory.sizes.tolist(), strict=True)
    return directory, [
        Group(first, count, body[offset : offset + size], content_size)
        for first, count, offset, (size, content_size) in numbers
    ]


class GroupedItems:
    """The items of one kind in the annex of a file, read as far as they are needed."""

    def __init__(self, file: Described, kind: ItemKind) -> None:
        self._file = file
        self._kind = kind
        self._directory: ItemDirectory | None = None
        self._groups: dict[int, Group] = {}

    def find(self, positions: Positions) -> tuple[Positions, Positions]:
        """Those of the positions, by their place, that have an item; and the number of it."""
        directory = self._load_directory()
        if directory is None or not len(directory.positions):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        found = np.searchsorted(directory.positions, positions)
        found[found == len(directory.positions)] = 0
        places = np.flatnonzero(directory.positions[found] == positions)
        return places, directory.items[found[places]]

    def parsed(self, items: Positions, parse: Callable[[Group], Sequence[_Item]]) -> list[_Item]:
        """The items with these numbers; ``parse`` gives all of a group, once for each."""
        groups = self._groups_of(items)
        found = {
            first: parse(group) for first, group in {group.first: group for group in groups}.items()
        }
        return [
            found[group.first][item - group.first]
            for item, group in zip(items.tolist(), groups, strict=True)
        ]

    def _groups_of(self, items: Positions) -> list[Group]:
        """For each item, its group; all of them are read in one go."""
        directory = self._load_directory()
        if directory is None:
            return []
        numbers = (np.searchsorted(directory.firsts, items, side="right") - 1).tolist()
        self._load(directory, sorted(set(numbers) - self._groups.keys()))
        return [self._groups[number] for number in numbers]

    def _load(self, directory: ItemDirectory, groups: list[int]) -> None:
        section = None if self._file.annex is None else self._file.annex.section(self._kind.items)
        if section is None or not groups:
            return
        starts = (section.start + directory.offsets[groups]).tolist()
        sizes = directory.sizes[groups].tolist()
        ranges: list[ByteRange] = [
            (start, size) for start, (size, _) in zip(starts, sizes, strict=True)
        ]
        fetched = self._file.fetch(ranges)
        for group, (_, content_size), data in zip(groups, sizes, fetched, strict=True):
            first, count = int(directory.firsts[group]), int(directory.counts[group])
            self._groups[group] = Group(first, count, bytes(data), content_size)

    def _load_directory(self) -> ItemDirectory | None:
        annex = self._file.annex
        if self._directory is None and annex is not None:
            items, place = annex.section(self._kind.items), annex.section(self._kind.directory)
            if items is None or place is None:
                return None
            [body] = self._file.fetch([(place.start, place.size)])
            annex_format.check_body(place, body)
            file = self._file
            self._directory = annex_metadata.parse_directory(
                body, file.catalog.num_columns, items.size, file.limits
            )
        return self._directory
