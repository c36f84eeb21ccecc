"""The Arrow schema as it was written: what the types of the format do not say, kept in the annex.

Only columns that would read differently are kept, in groups, so that a few columns of a wide file
need a few groups. A field in the annex must be one that is stored as its column is; a file in which
it is not is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
    "parse_group",
    "united_dictionary",
]

_STRUCTURE = "annex"
# Columns whose fields are compressed, and read, together.
_GROUP = 64
# Larger dictionaries are not kept: entries are then in the order of their first value.
_MAX_DICTIONARY_BYTES = 1 << 20
# Indices that number the values of any row group.
_INDEX_BITS = 32
_BITS_OF_FLOATS = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


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
        # The dictionaries of columns, and of lists; the entries of the latter are not kept.
        self._types: dict[str, pa.DictionaryType] = {}
        self._dictionaries: dict[str, pa.Array | None] = {}
        for place in unusual:
            field = schema.field(place)
            values = _values_of(field.type)
            if pa.types.is_dictionary(values):
                self._types[field.name] = values
                if values is not field.type:
                    self._dictionaries[field.name] = None
        self._last: dict[str, pa.Array] = {}
        # The most different values that a row group may have.
        self._counts = dict.fromkeys(self._types, 0)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the dictionaries of a batch; entries that are new come after the others."""
        for name in self._types:
            values = batch.column(name)
            while _is_list(values.type):
                values = values.values
            if not pa.types.is_dictionary(values.type):
                # They may be in no dictionary.
                self._dictionaries[name] = None
                self._counts[name] += len(values)
                continue
            entries = values.dictionary
            if name in self._last and _same_entries(self._last[name], entries):
                continue
            self._last[name] = entries
            known = self._dictionaries.get(name, entries)
            known = None if known is None else united_dictionary(known, entries)
            if known is not None and known.get_total_buffer_size() > _MAX_DICTIONARY_BYTES:
                known = None
            self._dictionaries[name] = known
            self._counts[name] = self._counts[name] + len(entries) if known is None else len(known)

    def bodies(self) -> list[Body]:
        """The sections of the annex; none for a plain schema."""
        bodies = []
        arrow = tuple((self._schema.metadata or {}).items())
        if arrow or self._user:
            pairs = KeyValues(arrow, tuple(self._user.items()))
            bodies.append(Body(SectionType.KEY_VALUES, annex_metadata.emit_key_values(pairs)))
        if self._unusual:
            bodies += _field_bodies(self._fitting_schema(), self._unusual, self._catalog)
        dictionaries = {
            self._catalog.find(name): entries
            for name, entries in self._dictionaries.items()
            if entries is not None
        }
        if dictionaries:
            bodies.append(Body(SectionType.DICTIONARIES, emit_dictionaries(dictionaries)))
        return bodies

    def _fitting_schema(self) -> pa.Schema:
        """The schema, with wider indices where those that were given may not number all values."""
        crowded = {
            name for name, kind in self._types.items() if self._counts[name] - 1 > _max_index(kind)
        }
        if not crowded:
            return self._schema
        fields = [
            field.with_type(_with_wide_indices(field.type)) if field.name in crowded else field
            for field in self._schema
        ]
        return pa.schema(fields, self._schema.metadata)


_LISTS: dict[Callable[[pa.DataType], bool], Callable[[pa.Field], pa.DataType]] = {
    pa.types.is_list: pa.list_,
    pa.types.is_large_list: pa.large_list,
    pa.types.is_list_view: pa.list_view,
    pa.types.is_large_list_view: pa.large_list_view,
}


def _is_list(data_type: pa.DataType) -> bool:
    kinds = (pa.types.is_fixed_size_list, *_LISTS)
    return any(is_kind(data_type) for is_kind in kinds)


def _values_of(data_type: pa.DataType) -> pa.DataType:
    """The type of the values of lists, and of lists in lists."""
    while _is_list(data_type):
        data_type = data_type.value_type
    return data_type


def _max_index(data_type: pa.DataType) -> int:
    return int(np.iinfo(data_type.index_type.to_pandas_dtype()).max)


def _with_wide_indices(data_type: pa.DataType) -> pa.DataType:
    """A dictionary, or lists of one, whose indices number the values of any row group."""
    if pa.types.is_dictionary(data_type):
        if data_type.index_type.bit_width >= _INDEX_BITS:
            return data_type
        return pa.dictionary(pa.int32(), data_type.value_type, data_type.ordered)
    inner = data_type.value_field.with_type(_with_wide_indices(data_type.value_type))
    if pa.types.is_fixed_size_list(data_type):
        return pa.list_(inner, data_type.list_size)
    make = next(make for is_kind, make in _LISTS.items() if is_kind(data_type))
    return make(inner)


def _same_entries(left: pa.Array, right: pa.Array) -> bool:
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
    if _same_entries(known, entries):
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
        # Frames of groups that were read, and what each different frame says of its columns.
        self._frames: dict[int, bytes] = {}
        self._groups: dict[bytes, pa.Schema] = {}
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
        directory = self._load_directory()
        if directory is None:
            return stored.with_metadata(metadata), []
        fields = list(stored)
        listed, changed = self._listed(directory, selection.positions, fields)
        if not listed:
            return stored.with_metadata(metadata), []
        for place, field in listed.items():
            fields[place] = field.with_name(fields[place].name)
        return pa.schema(fields, metadata), changed

    def fields(self, positions: Positions) -> dict[int, pa.Field]:
        """The fields of columns that have one, by their place among the positions."""
        directory = self._load_directory()
        if directory is None:
            return {}
        stored = Selection(self._file.catalog, positions).import_schema()
        return self._listed(directory, positions, list(stored))[0]

    def _listed(
        self, directory: FieldDirectory, positions: Positions, stored: list[pa.Field]
    ) -> tuple[dict[int, pa.Field], list[int]]:
        """The same, held against the stored ones, and which of them have other types.

        Many columns have the same few fields: each of these is looked at once.
        """
        if not len(directory.positions):
            return {}, []
        found = np.searchsorted(directory.positions, positions)
        found[found == len(directory.positions)] = 0
        places = np.flatnonzero(directory.positions[found] == positions)
        found = found[places]
        groups = np.searchsorted(directory.firsts, found, side="right") - 1
        self._load(directory, np.unique(groups).tolist())
        known: dict[tuple[bytes, int], _KnownField] = {}
        listed: dict[int, pa.Field] = {}
        changed = []
        offsets = (found - directory.firsts[groups]).tolist()
        for place, group, offset in zip(places.tolist(), groups.tolist(), offsets, strict=True):
            key = self._frames[group], offset
            given = known.get(key)
            if given is None:
                given = known[key] = _known_field(self._groups[key[0]].field(offset))
            kept = stored[place]
            if given.stored_type != kept.type or given.nullable != kept.nullable:
                raise CorruptFileError(
                    f"column {kept.name!r} is stored as {kept.type}, but its field as "
                    f"{given.stored_type}",
                    structure=_STRUCTURE,
                )
            listed[place] = given.field
            if given.changes_type:
                changed.append(place)
        return listed, changed

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

    def _load(self, directory: FieldDirectory, groups: list[int]) -> None:
        """Read groups of fields."""
        missing = [group for group in groups if group not in self._frames]
        section = self._section(SectionType.FIELDS)
        if section is None or not missing:
            return
        starts = (section.start + directory.offsets[missing]).tolist()
        sizes = directory.sizes[missing].tolist()
        counts = directory.counts[missing].tolist()
        ranges = [(start, size) for start, (size, _) in zip(starts, sizes, strict=True)]
        fetched = self._file.fetch(ranges)
        for group, count, (_, content_size), data in zip(
            missing, counts, sizes, fetched, strict=True
        ):
            frame = bytes(data)
            known = self._groups.get(frame)
            if known is None:
                known = self._groups[frame] = parse_group(frame, content_size, self._file.limits)
            if len(known) != count:
                raise CorruptFileError(
                    f"{len(known)} fields for {count} columns", structure=_STRUCTURE
                )
            self._frames[group] = frame

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


def parse_group(frame: bytes, content_size: int, limits: Limits) -> pa.Schema:
    """The fields of a group."""
    content = ZSTD.decompress(frame, content_size, _STRUCTURE, limits)
    try:
        return pa.ipc.read_schema(pa.py_buffer(content))
    # The code of a registered extension type parses parameters, and may raise anything.
    except Exception as error:
        raise CorruptFileError(f"fields: {error}", structure=_STRUCTURE) from error


@dataclass(frozen=True, slots=True)
class _KnownField:
    """A field, and how it is stored; another type than the stored one is one that can be made."""

    field: pa.Field
    stored_type: pa.DataType
    nullable: bool
    changes_type: bool


def _known_field(field: pa.Field) -> _KnownField:
    data_type = field.type
    plain = data_type.num_fields == 0 and not isinstance(
        data_type, pa.DictionaryType | pa.BaseExtensionType
    )
    kept = (_plain_form if plain else _stored_form)(data_type, field.nullable)
    changes_type = not data_type.equals(kept.type, check_metadata=True)
    if changes_type and not can_restore(kept.type, data_type):
        # A type that this version of pyarrow cannot make stays as it is stored.
        return _KnownField(field.with_type(kept.type), kept.type, kept.nullable, False)
    return _KnownField(field, kept.type, kept.nullable, changes_type)


def _stored_form(data_type: pa.DataType, nullable: bool) -> pa.Field:
    """The field that a column of a type is read as."""
    try:
        catalog = catalog_from_arrow(pa.schema([pa.field("0", data_type, nullable)]), 1)
    except MosaicError as error:
        raise CorruptFileError(f"fields: {error}", structure=_STRUCTURE) from error
    return Selection(catalog, np.zeros(1, np.int64)).import_schema().field(0)


# Types with others inside count as equal whatever these are called.
_plain_form = lru_cache(maxsize=1024)(_stored_form)
