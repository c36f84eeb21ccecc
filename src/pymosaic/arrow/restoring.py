"""Columns in the Arrow types that they were written from, not those that they are stored in."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from pymosaic.errors import (
    CorruptFileError,
    LimitExceededError,
    MosaicError,
    UnsupportedFeatureError,
)

__all__ = ["can_restore", "check_width", "is_plain", "relabelled", "restored"]

# Bytes of a null with which it is tried whether a type can be restored.
_WIDEST_PROBE = 1 << 20
# struct ArrowArray of the Arrow C data interface: ten fields of eight bytes.
_ARROW_ARRAY_WORDS = 10


def relabelled(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same columns under the names, nullability and metadata of a schema of the same types.

    The schema is exported with the arrays, so that there is no Python object per column.
    """
    structure = np.zeros(_ARROW_ARRAY_WORDS, np.int64)
    batch._export_to_c(structure.ctypes.data)
    return pa.RecordBatch._import_from_c(structure.ctypes.data, schema)


@lru_cache(maxsize=1024)
def can_restore(stored: pa.DataType, target: pa.DataType) -> bool:
    """Whether this version of pyarrow converts one type to the other, whatever the values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> can_restore(pa.int16(), pa.uint8())
    True
    """
    # A null of a fixed size takes its full size, which a file may claim to be gigabytes.
    probes = (0, 1) if _null_width(target) <= _WIDEST_PROBE else (0,)
    try:
        for rows in probes:
            restored(pa.nulls(rows, stored), target)
    except MosaicError:
        return False
    return True


def _null_width(data_type: pa.DataType) -> int:
    """Bytes of a null, roughly: the product of all fixed sizes in a type."""
    if isinstance(data_type, pa.BaseExtensionType):
        return _null_width(data_type.storage_type)
    if pa.types.is_fixed_size_list(data_type):
        return int(data_type.list_size) * _null_width(data_type.value_type)
    if pa.types.is_fixed_size_binary(data_type):
        return int(data_type.byte_width)
    if pa.types.is_struct(data_type):
        return sum(_null_width(field.type) for field in data_type) + 1
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        return _null_width(data_type.value_type)
    return 16


def restored(column: pa.Array, target: pa.DataType, dictionary: pa.Array | None = None) -> pa.Array:
    """A column as an array of ``target``, with this dictionary if it is one.

    Raises
    ------
    CorruptFileError
        If a value does not fit the type.
    UnsupportedFeatureError
        If this version of pyarrow cannot convert to the type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> restored(pa.array([1, None], pa.int16()), pa.uint8()).type
    DataType(uint8)
    """
    try:
        if dictionary is not None and pa.types.is_dictionary(target):
            return _indexed(_restored(column, target.value_type), target, dictionary)
        return _restored(column, target)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise UnsupportedFeatureError(
            f"{column.type} as {target}: {error}; read it with types='mosaic'", structure="annex"
        ) from error
    except (pa.ArrowInvalid, ValueError) as error:
        raise CorruptFileError(
            f"values of {column.type} are not {target}: {error}", structure="annex"
        ) from error


def _restored(column: pa.Array, target: pa.DataType) -> pa.Array:
    if column.type == target:
        # Names, nullability and metadata of elements are no part of the comparison.
        return column if column.type.equals(target, check_metadata=True) else column.cast(target)
    if isinstance(target, pa.BaseExtensionType):
        storage = _restored(column, target.storage_type)
        return target.wrap_array(storage)
    if pa.types.is_null(target):
        if column.null_count != len(column):
            raise pa.ArrowInvalid("not all of them are null")
        return pa.nulls(len(column))
    if pa.types.is_dictionary(target):
        return _restored(column, target.value_type).dictionary_encode().cast(target)
    if pa.types.is_run_end_encoded(target):
        import pyarrow.compute as pc

        values = _restored(column, target.value_type)
        return pc.run_end_encode(values, run_end_type=target.run_end_type)
    if pa.types.is_list_view(target) or pa.types.is_large_list_view(target):
        return _list_view(column, target)
    if pa.types.is_string_view(target) or pa.types.is_binary_view(target):
        return _view(column.cast(target))
    try:
        return column.cast(target)
    except pa.ArrowNotImplementedError:
        return _rebuilt(column, target)


def _rebuilt(column: pa.Array, target: pa.DataType) -> pa.Array:
    """A list or map made anew, whose elements pyarrow's own cast does not convert."""
    kinds = pa.types
    mask = column.is_null() if column.null_count else None
    if kinds.is_map(column.type) and kinds.is_map(target):
        parts = (
            _restored(column.keys, target.key_type),
            _restored(column.items, target.item_type),
        )
        # Null slots have no elements here: they are made so that offsets need not be null.
        return pa.MapArray.from_arrays(column.offsets, *parts, type=target, mask=mask)
    if kinds.is_list(column.type) and (kinds.is_list(target) or kinds.is_large_list(target)):
        values = _restored(column.values, target.value_type)
        large = kinds.is_large_list(target)
        make = pa.LargeListArray if large else pa.ListArray
        offsets = column.offsets.cast(pa.int64() if large else pa.int32())
        return make.from_arrays(offsets, values, type=target, mask=mask)
    if kinds.is_list(column.type) and kinds.is_fixed_size_list(target):
        plain = column.cast(pa.list_(column.type.value_field, target.list_size))
        start = plain.offset * target.list_size
        values = plain.values.slice(start, len(plain) * target.list_size)
        return pa.FixedSizeListArray.from_arrays(
            _restored(values, target.value_type), type=target, mask=mask
        )
    raise pa.ArrowNotImplementedError(f"no conversion from {column.type}")


def _view(values: pa.Array) -> pa.Array:
    """The same without absent data buffers: pyarrow 19 crashes when it exports them."""
    validity, views, *data = values.buffers()
    if any(buffer is not None for buffer in data):
        return values
    return pa.Array.from_buffers(
        values.type, len(values), [validity, views], values.null_count, values.offset
    )


def _indexed(values: pa.Array, target: pa.DataType, dictionary: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    kind = target.value_type
    own = dictionary.type
    # IPC has no dictionaries of dictionaries: the field of such a column has the values inside.
    if own != kind and not (pa.types.is_dictionary(own) and own.value_type == kind):
        raise pa.ArrowInvalid(f"the dictionary has entries of {own}")
    if len(dictionary) - 1 > np.iinfo(target.index_type.to_pandas_dtype()).max:
        # United from several files, each of whose row groups has fewer.
        return values.dictionary_encode().cast(target)
    entries = _restored(dictionary, kind)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        # pyarrow looks neither views nor half-precision numbers up.
        plain = pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()
        values, sought = values.cast(plain), entries.cast(plain)
    elif pa.types.is_float16(kind):
        values, sought = values.view(pa.int16()), entries.view(pa.int16())
    else:
        sought = entries
    # A null among the entries is not what nulls of the column stand for.
    indices = pc.index_in(values, sought, skip_nulls=True)
    if indices.null_count != values.null_count:
        raise pa.ArrowInvalid("a value is not in the dictionary")
    return pa.DictionaryArray.from_arrays(
        indices.cast(target.index_type), entries, ordered=target.ordered
    )


def _list_view(column: pa.ListArray, target: pa.DataType) -> pa.Array:
    large = pa.types.is_large_list_view(target)
    values = _restored(column.values, target.value_type)
    width = pa.int64() if large else pa.int32()
    offsets = column.offsets.cast(width)
    sizes = column.value_lengths().fill_null(0).cast(width)
    kind = pa.LargeListViewArray if large else pa.ListViewArray
    mask = column.is_null() if column.null_count else None
    return kind.from_arrays(offsets[:-1], sizes, values, type=target, mask=mask)


def _width(kind: pa.DataType) -> int:
    """How many bytes a value takes at least, even if it is null."""
    if isinstance(kind, pa.BaseExtensionType):
        return _width(kind.storage_type)
    if pa.types.is_fixed_size_binary(kind):
        return max(1, int(kind.byte_width))
    if pa.types.is_fixed_size_list(kind):
        return max(1, int(kind.list_size)) * _width(kind.value_type)
    if pa.types.is_dictionary(kind) or pa.types.is_nested(kind):
        children = [kind.field(i).type for i in range(kind.num_fields)]
        return max(map(_width, children), default=1)
    return 1


def check_width(column: pa.Array, target: pa.DataType, max_bytes: int) -> None:
    """Refuse a type of fixed size whose nulls would take more memory than is allowed."""
    values = column
    count = len(column)
    while pa.types.is_list(values.type) or pa.types.is_map(values.type):
        values = values.items if pa.types.is_map(values.type) else values.values
        count = max(count, len(values))
    if (size := count * _width(target)) > max_bytes:
        raise LimitExceededError(
            f"{count} values of {target} take {size} bytes, more than Limits.max_row_group_bytes "
            f"({max_bytes})",
            structure="annex",
        )


@lru_cache(maxsize=1024)
def is_plain(kind: pa.DataType) -> bool:
    """Whether arrays of a type may be put together: values of no other type inside."""
    kinds = pa.types
    nested = kinds.is_nested(kind) or kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind)
    return not nested and not isinstance(kind, pa.BaseExtensionType)
