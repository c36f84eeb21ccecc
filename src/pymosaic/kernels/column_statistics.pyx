# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Statistics of a column in the row group being written: null count, minimum and maximum.

In: a column of the row group buffer. Out: the bytes of its statistics, as the index stores them.

Memory: the values belong to the buffer and are pointed to while the function runs; the result is a
bytes object.

Safety: the values are those that :mod:`pymosaic.kernels.row_group_buffer` has serialised, exactly
``non_null`` of them, each of a known width or behind a well-formed length. Walking that many never
leaves the buffer.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from pymosaic.kernels.catalog cimport (
    Catalog, DOUBLE, FLOAT, KIND_BOOL, KIND_FIXED1, KIND_FIXED2, KIND_NANOS, Node, has_statistics,
    kind_width,
)
from pymosaic.kernels.primitives cimport (
    ByteVector, append_bytes, append_varint, compare_memory, copy_bytes, free_vector, load_be16,
    load_be32, load_be64,
)
from pymosaic.kernels.row_group_buffer cimport ColumnBuffer, RowGroupBuffer, serialised_length

cdef inline int compare_values(
    const Node* node, const uint8_t* left, const uint8_t* right
) noexcept nogil:
    """-1, 0 or 1 for two serialised fixed-width values; 0 where either is NaN."""
    cdef float f, g
    cdef double d, e
    cdef uint32_t narrow
    cdef uint64_t wide
    cdef int64_t a, b
    if node.type_id == FLOAT:
        narrow = load_be32(left)
        copy_bytes(&f, &narrow, 4)
        narrow = load_be32(right)
        copy_bytes(&g, &narrow, 4)
        return (f > g) - (f < g)
    if node.type_id == DOUBLE:
        wide = load_be64(left)
        copy_bytes(&d, &wide, 8)
        wide = load_be64(right)
        copy_bytes(&e, &wide, 8)
        return (d > e) - (d < e)
    if node.kind == KIND_BOOL or node.kind == KIND_FIXED1:
        a = <signed char>left[0]
        b = <signed char>right[0]
    elif node.kind == KIND_FIXED2:
        a = <short>load_be16(left)
        b = <short>load_be16(right)
    elif kind_width(node.kind) == 4:
        a = <int32_t>load_be32(left)
        b = <int32_t>load_be32(right)
    else:
        a = <int64_t>load_be64(left)
        b = <int64_t>load_be64(right)
        if a == b and node.kind == KIND_NANOS:
            a = load_be32(left + 8)
            b = load_be32(right + 8)
    return (a > b) - (a < b)


cdef inline bint is_nan(const Node* node, const uint8_t* value) noexcept nogil:
    if node.type_id == FLOAT:
        return (load_be32(value) & 0x7FFFFFFF) > 0x7F800000
    if node.type_id == DOUBLE:
        return (load_be64(value) & <uint64_t>0x7FFFFFFFFFFFFFFF) > <uint64_t>0x7FF0000000000000
    return False


def statistics(RowGroupBuffer rows not None, int64_t position, bint nan_first):
    """A column's statistics entry: null count, and min and max if a value is there.

    ``nan_first`` repeats the reference, where a NaN that comes first stays min and max. Otherwise
    NaN is left out, and stands only where there is nothing else.
    """
    cdef Catalog catalog = rows.catalog
    if not 0 <= position < catalog.num_columns:
        raise IndexError("column out of range")
    cdef Node* node = &catalog.nodes[catalog.column_nodes[position]]
    cdef ColumnBuffer* buffer = &rows.buffers[catalog.column_nodes[position]]
    cdef const uint8_t* value = buffer.data.data
    cdef const uint8_t* least = value
    cdef const uint8_t* greatest = value
    cdef int64_t i, length, least_length = 0, greatest_length = 0, offset
    cdef int width = kind_width(node.kind), order
    cdef bint replace
    cdef ByteVector out = ByteVector(NULL, 0, 0)
    if not has_statistics(node):
        raise ValueError("the format keeps no statistics for this type")
    with nogil:
        # ``value`` walks over exactly the values that were serialised; it is not read after the
        # last.
        for i in range(buffer.non_null):
            length = width if width else serialised_length(value)
            if i == 0:
                least_length = greatest_length = length
            elif width:
                if not nan_first and is_nan(node, least) and not is_nan(node, value):
                    least = greatest = value
                else:
                    if compare_values(node, value, least) < 0:
                        least = value
                    if compare_values(node, value, greatest) > 0:
                        greatest = value
            else:
                if compare_strings(value, length, least, least_length) < 0:
                    least = value
                    least_length = length
                if compare_strings(value, length, greatest, greatest_length) > 0:
                    greatest = value
                    greatest_length = length
            value += length
        append_varint(&out, <uint32_t>(buffer.rows - buffer.non_null))
        if buffer.non_null:
            append_bytes(&out, least, least_length)
            append_bytes(&out, greatest, greatest_length)
    try:
        return <bytes>out.data[:out.size]
    finally:
        free_vector(&out)


cdef int compare_strings(
    const uint8_t* left, int64_t left_length, const uint8_t* right, int64_t right_length
) noexcept nogil:
    """Compare two serialised strings by their bytes, without the varint lengths."""
    cdef int64_t common
    cdef int result
    while left[0] >= 0x80:
        left += 1
        left_length -= 1
    while right[0] >= 0x80:
        right += 1
        right_length -= 1
    left_length -= 1
    right_length -= 1
    common = left_length if left_length < right_length else right_length
    result = compare_memory(left + 1, right + 1, <size_t>common)
    if result:
        return result
    return (left_length > right_length) - (left_length < right_length)
