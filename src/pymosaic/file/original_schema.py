"""The Arrow schema as it was written: what the types of the format do not say, kept in the annex.

Only columns that would read differently are kept, in groups, so that a few columns of a wide file
need a few groups. A field in the annex must be one that is stored as its column is; a file in which
it is not is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from pymosaic.arrow.restoring import can_restore
from pymosaic.arrow.stream import read_batch
from pymosaic.errors import CorruptFileError, InvalidDataError, InvalidOptionError, MosaicError
from pymosaic.file.guard import Annex
from pymosaic.file.open_file import Fetch, FileHead
from pymosaic.file.plan import ByteRange
from pymosaic.file.projection import Positions
from pymosaic.file.row_group_reader import Selection
from pymosaic.format import annex as annex_format
from pymosaic.format import annex_metadata
from pymosaic.format.annex import Body, Section, SectionType
from pymosaic.format.annex_metadata import FieldDirectory, KeyValues
from pymosaic.format.compression import ZSTD
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits

__all__ = [
    "OriginalSchema",
    "SchemaRecorder",
    "check_user_metadata",
    "emit_dictionaries",
    "parse_dictionaries",
    "united_dictionary",
]

_STRUCTURE = "annex"
# Columns whose fields are compressed, and read, together.
_GROUP = 64
# Larger dictionaries are not kept: entries are then in the order of their first value.
_MAX_DICTIONARY_BYTES = 1 << 20


class SchemaRecorder:
    """What a writer keeps of the schema that it was given, and of dictionaries.

    Parameters
    ----------
    schema : pyarrow.Schema
    catalog : Catalog
        Its columns.
    unusual : list of int
        The columns, by number in the schema, that may be read in another form than written.
    user : dict of str
        Keys and values of the user.
    """

    def __init__(
        self, schema: pa.Schema, catalog: Catalog, unusual: list[int], user: Mapping[str, str]
    ) -> None:
        self._schema = schema
        self._catalog = catalog
        self._unusual = unusual
        self._user = user
        # Dictionaries inside of other types are not kept.
        fields = map(schema.field, unusual)
        self._names = [field.name for field in fields if pa.types.is_dictionary(field.type)]
        self._dictionaries: dict[str, pa.Array | None] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the dictionaries of a batch; entries that are new come after the others."""
        for name in self._names:
            column = batch.column(name)
            entries = column.dictionary if pa.types.is_dictionary(column.type) else None
            known = self._dictionaries.get(name, entries)
            if entries is None:
                # Values of this batch may be in no dictionary.
                known = None
            elif known is not None and not known.equals(entries):
                known = united_dictionary(known, entries)
            if known is not None and known.get_total_buffer_size() > _MAX_DICTIONARY_BYTES:
                known = None
            self._dictionaries[name] = known

    def bodies(self) -> list[Body]:
        """The sections of the annex; none for a plain schema."""
        bodies = []
        arrow = tuple((self._schema.metadata or {}).items())
        if arrow or self._user:
            pairs = KeyValues(arrow, tuple(self._user.items()))
            bodies.append(Body(SectionType.KEY_VALUES, annex_metadata.emit_key_values(pairs)))
        if self._unusual:
            bodies += _field_bodies(self._schema, self._unusual, self._catalog)
        dictionaries = {
            self._catalog.find(name): entries
            for name, entries in self._dictionaries.items()
            if entries is not None
        }
        if dictionaries:
            bodies.append(Body(SectionType.DICTIONARIES, emit_dictionaries(dictionaries)))
        return bodies


def united_dictionary(known: pa.Array, entries: pa.Array) -> pa.Array | None:
    """The entries of two dictionaries, those that are new last; None if that is not possible."""
    import pyarrow.compute as pc

    if known.type != entries.type:
        return None
    if known.equals(entries):
        return known
    try:
        united = pa.concat_arrays([known, entries.filter(pc.invert(pc.is_in(entries, known)))])
    except pa.ArrowNotImplementedError:
        return None  # pyarrow does not look such values up
    return None if united.get_total_buffer_size() > _MAX_DICTIONARY_BYTES else united


def emit_dictionaries(dictionaries: Mapping[int, pa.Array]) -> bytes:
    """The body of a section of dictionaries, given by position."""
    columns = {
        str(position): pa.ListArray.from_arrays([0, len(entries)], entries)
        for position, entries in dictionaries.items()
    }
    return annex_metadata.emit_content(_stream(columns))


def parse_dictionaries(body: bytes | memoryview, limits: Limits) -> dict[int, pa.Array]:
    """The dictionaries in the body of their section, by position."""
    content = annex_metadata.parse_content(memoryview(body), limits)
    found = {}
    try:
        batch = read_batch(content)
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if not pa.types.is_list(column.type):
                raise pa.ArrowInvalid(f"entries are {column.type}, not a list")
            entries = column.flatten()
            # Nulls and values without bytes have any number.
            if len(entries) > 8 * len(content):
                raise pa.ArrowInvalid(f"{len(entries)} entries in {len(content)} bytes")
            found[int(name)] = entries
        return found
    # The code of a registered extension type parses parameters, and may raise anything.
    except Exception as error:
        raise CorruptFileError(f"dictionaries: {error}", structure=_STRUCTURE) from error


def check_user_metadata(metadata: object, has_annex: bool) -> dict[str, str]:
    """The metadata of a user, which must be text and needs an annex."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidDataError(f"metadata must be a dict of str, got {type(metadata).__name__}")
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidDataError(f"metadata must be a dict of str, got {key!r}: {value!r}")
    if metadata and not has_annex:
        raise InvalidOptionError("metadata is stored in the annex, which needs checksum=True")
    return dict(metadata)


def _stream(columns: dict[str, pa.Array]) -> bytes:
    batch = pa.record_batch(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _field_bodies(schema: pa.Schema, unusual: list[int], catalog: Catalog) -> list[Body]:
    positions = catalog.original_order()[unusual]
    stored = Selection(catalog, positions).import_schema()
    given = map(schema.field, unusual)
    listed = [
        (position, field)
        for position, field, other in zip(positions.tolist(), given, stored, strict=True)
        if not field.equals(other, check_metadata=True)
    ]
    if not listed:
        return []
    listed.sort(key=lambda item: item[0])
    frames, groups = [], []
    for start in range(0, len(listed), _GROUP):
        fields = [field for _, field in listed[start : start + _GROUP]]
        named = pa.schema([field.with_name(str(i)) for i, field in enumerate(fields)])
        content = named.serialize().to_pybytes()
        frames.append(annex_metadata.compress(content))
        groups.append((len(fields), len(frames[-1]), len(content)))
    directory = annex_metadata.emit_directory([position for position, _ in listed], groups)
    return [
        Body(SectionType.FIELDS, b"".join(frames)),
        Body(SectionType.FIELD_DIRECTORY, directory),
    ]


class _Described(Protocol):
    """A file, as far as it is needed to read its schema."""

    @property
    def annex(self) -> Annex | None: ...
    @property
    def catalog(self) -> Catalog: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def fetch(self) -> Fetch: ...


@dataclass(frozen=True, slots=True)
class _DescribedHead:
    """The head of a file that keeps its metadata."""

    annex: Annex | None
    catalog: Catalog
    limits: Limits

    def fetch(self, ranges: Sequence[ByteRange], /) -> list[memoryview]:
        """Bytes of the sections that are kept."""
        return [self._bytes(start, size) for start, size in ranges]

    def _bytes(self, start: int, size: int) -> memoryview:
        annex = self.annex
        for kind, body in () if annex is None or annex.kept is None else annex.kept.bodies:
            section = annex.section(SectionType(kind)) if annex is not None else None
            if section is not None and section.start <= start and start + size <= section.stop:
                return memoryview(body)[start - section.start :][:size]
        raise AssertionError("bytes that are not kept")


class OriginalSchema:
    """The Arrow schema of an open file as it was written, read as far as it is needed."""

    def __init__(self, file: _Described) -> None:
        self._file = file
        self._key_values: KeyValues | None = None
        self._directory: FieldDirectory | None = None
        self._groups: set[int] = set()
        self._fields: dict[int, pa.Field] = {}
        self._dictionaries: dict[int, pa.Array] | None = None
        # What was asked for last; reading asks several times.
        self._described: tuple[Selection, tuple[pa.Schema, list[int]]] | None = None

    @classmethod
    def of_head(cls, head: FileHead, limits: Limits) -> OriginalSchema:
        """That of a file whose head keeps it; without dictionaries."""
        return cls(_DescribedHead(head.annex, head.catalog, limits))

    @property
    def content_of_fields(self) -> bytes | None:
        """The stored bytes of all fields: files in which they are equal have the same fields."""
        fields, directory = map(self._content, (SectionType.FIELDS, SectionType.FIELD_DIRECTORY))
        return None if fields is None or directory is None else directory + fields

    @property
    def content_of_key_values(self) -> bytes | None:
        """The stored bytes of keys and values."""
        return self._content(SectionType.KEY_VALUES)

    def _content(self, kind: SectionType) -> bytes | None:
        annex = self._file.annex
        kept = None if annex is None else annex.kept
        return None if kept is None else dict(kept.bodies).get(int(kind))

    @property
    def key_values(self) -> KeyValues:
        """Arrow's schema metadata, and the user's."""
        if self._key_values is None:
            body = self._body(SectionType.KEY_VALUES)
            self._key_values = (
                KeyValues()
                if body is None
                else annex_metadata.parse_key_values(body, self._file.limits)
            )
        return self._key_values

    def schema(self, selection: Selection) -> pa.Schema:
        """The schema of some columns as it was written, with its metadata."""
        return self.described(selection)[0]

    def described(self, selection: Selection) -> tuple[pa.Schema, list[int]]:
        """The schema of some columns, and the numbers of those whose type is not the stored one."""
        if self._described is not None and self._described[0] is selection:
            return self._described[1]
        found = self._describe(selection)
        self._described = selection, found
        return found

    def _describe(self, selection: Selection) -> tuple[pa.Schema, list[int]]:
        stored = selection.import_schema()
        metadata = dict(self.key_values.arrow) or None
        listed = self.fields(selection.positions)
        if not listed:
            return stored.with_metadata(metadata), []
        fields = list(stored)
        changed = []
        for index, field in listed.items():
            if not field.type.equals(fields[index].type, check_metadata=True):
                changed.append(index)
            fields[index] = field.with_name(fields[index].name)
        return pa.schema(fields, metadata), changed

    def fields(self, positions: Positions) -> dict[int, pa.Field]:
        """The fields of columns that have one, by their place among the positions."""
        if not self._load(positions):
            return {}
        known = self._fields
        places = enumerate(positions.tolist())
        return {place: known[position] for place, position in places if position in known}

    @property
    def is_kept(self) -> bool:
        """Whether the file has any of it."""
        kinds = (SectionType.KEY_VALUES, SectionType.FIELDS)
        return any(self._section(kind) is not None for kind in kinds)

    def dictionaries(self, positions: Positions) -> dict[int, pa.Array]:
        """The dictionaries of some columns, by their place among the positions."""
        if self._dictionaries is None:
            body = self._body(SectionType.DICTIONARIES)
            self._dictionaries = {} if body is None else parse_dictionaries(body, self._file.limits)
        found = self._dictionaries
        if not found:
            return {}
        places = enumerate(positions.tolist())
        return {place: found[position] for place, position in places if position in found}

    def _section(self, kind: SectionType) -> Section | None:
        annex = self._file.annex
        return None if annex is None else annex.section(kind)

    def _body(self, kind: SectionType) -> memoryview | None:
        section = self._section(kind)
        if section is None:
            return None
        [body] = self._file.fetch([(section.start, section.size)])
        annex_format.check_body(section, body)
        return body

    def _load(self, positions: Positions) -> bool:
        """Read the fields of some columns; whether any of them has one."""
        directory = self._load_directory()
        if directory is None:
            return False
        found = np.flatnonzero(np.isin(directory.positions, positions))
        groups = np.unique(np.searchsorted(directory.firsts, found, side="right") - 1)
        missing = [group for group in groups.tolist() if group not in self._groups]
        section = self._section(SectionType.FIELDS)
        if section is not None and missing:
            starts = (section.start + directory.offsets[missing]).tolist()
            sizes = directory.sizes[missing].tolist()
            ranges = [(start, size) for start, (size, _) in zip(starts, sizes, strict=True)]
            fetched = self._file.fetch(ranges)
            for group, (_, content_size), data in zip(missing, sizes, fetched, strict=True):
                first = int(directory.firsts[group])
                members = directory.positions[first : first + int(directory.counts[group])]
                self._fields.update(self._parse(content_size, data, members))
                self._groups.add(group)
        return len(found) > 0

    def _load_directory(self) -> FieldDirectory | None:
        if self._directory is None:
            body = self._body(SectionType.FIELD_DIRECTORY)
            section = self._section(SectionType.FIELDS)
            if body is None or section is None:
                return None
            file = self._file
            self._directory = annex_metadata.parse_directory(
                body, file.catalog.num_columns, section.size, file.limits
            )
        return self._directory

    def _parse(
        self, content_size: int, data: memoryview, members: Positions
    ) -> dict[int, pa.Field]:
        """The fields of a group by position, held against the types that are stored."""
        content = ZSTD.decompress(data, content_size, _STRUCTURE, self._file.limits)
        try:
            schema = pa.ipc.read_schema(pa.py_buffer(content))
        # The code of a registered extension type parses parameters, and may raise anything.
        except Exception as error:
            raise CorruptFileError(f"fields: {error}", structure=_STRUCTURE) from error
        if len(schema) != len(members):
            raise CorruptFileError(
                f"{len(schema)} fields for {len(members)} columns", structure=_STRUCTURE
            )
        named = pa.schema([field.with_name(f"{i:06}") for i, field in enumerate(schema)])
        try:
            catalog = catalog_from_arrow(named, 1)
        except MosaicError as error:
            raise CorruptFileError(f"fields: {error}", structure=_STRUCTURE) from error
        claimed = Selection(catalog, np.arange(len(named))).import_schema()
        stored = Selection(self._file.catalog, members).import_schema()
        for left, right in zip(claimed, stored, strict=True):
            if left.type != right.type or left.nullable != right.nullable:
                raise CorruptFileError(
                    f"column {right.name!r} is stored as {right.type}, but its field as "
                    f"{left.type}",
                    structure=_STRUCTURE,
                )
        pairs = zip(members.tolist(), schema, stored, strict=True)
        return {
            # A type that this version of pyarrow cannot make stays as it is stored.
            position: field if can_restore(kept.type, field.type) else field.with_type(kept.type)
            for position, field, kept in pairs
        }
