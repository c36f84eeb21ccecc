"""What is checked of a table before it is written: valid Arrow, and no nulls where none may be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.errors import InvalidDataError
from pymosaic.pages.nesting import is_list_like

__all__ = ["check_declared_nulls", "check_is_valid"]

_Mask = npt.NDArray[np.bool_]
# From this size on, looking for bytes that are not ASCII costs less than Arrow's check of UTF-8.
_LONG_STRINGS_BYTES = 1 << 20


def check_is_valid(table: pa.Table) -> None:
    """Raise unless all of a table is valid Arrow.

    Kernels trust offsets to rise and to stay inside their buffers, which only a full check tells.
    """
    try:
        _without_ascii(table).validate(full=True)
    except pa.ArrowInvalid as error:
        raise InvalidDataError(f"the data is not valid Arrow: {error}") from error


def _without_ascii(table: pa.Table) -> pa.Table:
    """The table with binaries for strings that are ASCII, and thus UTF-8, wherever they end."""
    # Columns of a wide table are mostly short.
    if table.get_total_buffer_size() < _LONG_STRINGS_BYTES * max(1, table.num_columns):
        return table
    columns = table.columns
    for number, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            binary = pa.binary()
        elif pa.types.is_large_string(field.type):
            binary = pa.large_binary()
        else:
            continue
        chunks = columns[number].chunks
        buffers = [chunk.buffers()[2] for chunk in chunks]
        contents = [np.frombuffer(buffer, np.int8) for buffer in buffers if buffer is not None]
        if sum(map(len, contents)) >= _LONG_STRINGS_BYTES and all(
            content.min(initial=0) >= 0 for content in contents
        ):
            columns[number] = pa.chunked_array([chunk.view(binary) for chunk in chunks], binary)
    return pa.table(columns, table.column_names)


def check_declared_nulls(table: pa.Table) -> None:
    """Raise if a field that is declared non-null has a null that no null above it hides.

    Items of fixed-size lists are not looked at: their field is not stored, so nothing says that
    they are not null.
    """
    for number, field in enumerate(table.schema):
        if not field.nullable and table.column(number).null_count:
            raise _refusal(field.name)
        if field.type.num_fields and _demands(field.type):
            for chunk in table.column(number).chunks:
                _check_below(chunk, field.name, None)


def _refusal(name: str) -> InvalidDataError:
    return InvalidDataError(f"column {name!r} is declared non-null but has nulls")


def _fields_below(data_type: pa.DataType) -> list[pa.Field]:
    """The fields that are stored; that keys of maps are not null was checked with the data."""
    if pa.types.is_struct(data_type):
        return list(data_type)
    if pa.types.is_map(data_type):
        return [data_type.key_field.with_nullable(True), data_type.item_field]
    return [data_type.value_field] if is_list_like(data_type) else []


def _demands(data_type: pa.DataType) -> bool:
    """Whether any field below is declared non-null."""
    return any(
        not field.nullable or _demands(field.type) for field in _fields_below(_stored(data_type))
    )


def _stored(data_type: pa.DataType) -> pa.DataType:
    is_extension = isinstance(data_type, pa.BaseExtensionType)
    return data_type.storage_type if is_extension else data_type


def _check_below(array: pa.Array, name: str, shown: _Mask | None) -> None:
    """Check the fields below an array; ``shown`` tells which values no null above hides."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        shown = valid if shown is None else valid & shown
    children: list[pa.Array]
    if pa.types.is_struct(array.type):
        children = [array.field(number) for number in range(array.type.num_fields)]
    else:
        offsets = array.offsets.to_numpy()
        first, last = int(offsets[0]), int(offsets[-1])
        if shown is not None:
            shown = np.repeat(shown, np.diff(offsets))
        values = [array.keys, array.items] if pa.types.is_map(array.type) else [array.values]
        children = [child.slice(first, last - first) for child in values]
    for field, child in zip(_fields_below(array.type), children, strict=True):
        place = f"{name}.{field.name}"
        if not field.nullable and child.null_count:
            missing = child.is_null().to_numpy(zero_copy_only=False)
            if shown is None or bool((missing & shown).any()):
                raise _refusal(place)
        if _demands(field.type):
            _check_below(child, place, shown)
