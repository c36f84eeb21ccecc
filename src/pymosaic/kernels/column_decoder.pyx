# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The values of one physical column -> Arrow buffers.

In: a ``PhysicalColumn``, whose parts :mod:`pymosaic.kernels.bucket_decoder` has located. Out:
buffers of a valid Arrow array: UTF-8, decimals within their precision, times within a day.

Memory: every buffer is in the arena of the calling thread, and is charged to the row group's memory
budget before it is allocated. Nothing points back into the file's bytes.

Safety: the located parts lie inside the block, and fixed-width data is as long as ``non_null``
values make it. What only the values tell (lengths of strings, dictionary indices) is checked here,
before it is used as an offset. ``non_null`` was counted from the bitmap, so that a loop over rows
meets exactly so many values.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t

from pymosaic.kernels.arrow_abi cimport ArrowArray
from pymosaic.kernels.arrow_export cimport Arena, MemoryBudget, arena_allocate, arena_reserve
from pymosaic.kernels.catalog cimport (
    CONST, DECIMAL, DICT, KIND_DECIMAL, KIND_DECIMAL8, KIND_NANOS, KIND_TIME, Node, PLAIN, TIME,
    kind_width,
)
from pymosaic.kernels.primitives cimport (
    Cursor, checked_size, clear_bytes, copy_bytes, copy_string, corrupt, decimal_from_be,
    decimal_from_i64, index_width, is_ascii, is_utf8, join_nanos, limit_exceeded, load_be32,
    load_be64, load_le64, need, read_varint, set_bit, spread1, spread16, spread2, spread4,
    spread8, swap_copy2, swap_copy4, swap_copy8,
)

cdef enum:
    DAY_MILLIS = 86_400_000
    MAX_OFFSET = 0x7FFFFFFF
    COPY_SLACK = 16      # what copy_string may write beyond a string


cdef int set_validity(
    ArrowArray* array, Arena* arena, MemoryBudget budget, const PhysicalColumn* column
) except -1 nogil:
    """Arrow's validity is the inverse of the null bitmap, with clear bits at its end."""
    cdef int64_t i, size = (column.rows + 7) // 8
    cdef uint8_t* validity
    array.null_count = column.rows - column.non_null
    if array.null_count == 0:
        return 0
    if column.non_null == 0:
        array.buffers[0] = shared_zeros(arena, size, budget)
        return 0
    validity = arena_reserve(arena, size, budget)
    # The bitmap was located with exactly this size.
    for i in range(size):
        validity[i] = ~column.bitmap[i]
    if column.rows & 7:
        validity[size - 1] &= (1 << (column.rows & 7)) - 1
    array.buffers[0] = validity
    return 0


cdef uint8_t* shared_zeros(Arena* arena, int64_t size, MemoryBudget budget) except NULL nogil:
    """A buffer of zeros: what lies under nulls is the same for all columns of a bucket."""
    if arena.zeros == NULL or size > arena.zeros_size:
        arena.zeros = arena_allocate(arena, size, budget)
        arena.zeros_size = size
    return arena.zeros


cdef void spread(
    uint8_t* values, int width, const uint8_t* bitmap, int64_t rows, int64_t non_null
) noexcept nogil:
    """Move ``non_null`` dense values to their rows and clear the others."""
    if width == 1:
        spread1(values, bitmap, rows, non_null)
    elif width == 2:
        spread2(values, bitmap, rows, non_null)
    elif width == 4:
        spread4(values, bitmap, rows, non_null)
    elif width == 8:
        spread8(values, bitmap, rows, non_null)
    else:
        spread16(values, bitmap, rows, non_null)


cdef int convert_values(
    uint8_t* out, const uint8_t* source, int64_t source_size, int64_t count, const Node* node,
    const char* structure
) except -1 nogil:
    """Serialised values -> Arrow values of fixed width, dense. The source was walked before."""
    cdef int64_t i, length, position = 0
    cdef int32_t nanos
    cdef uint32_t size
    cdef Cursor cursor
    if node.kind == KIND_DECIMAL:
        cursor.data = source
        cursor.size = source_size
        cursor.position = 0
        cursor.structure = structure
        for i in range(count):
            read_varint(&cursor, &size)
            need(&cursor, size)
            if size > 16 or not decimal_from_be(
                    out + 16 * i, source + cursor.position, size, <int>node.parameter):
                return corrupt(structure, -1, b"a DECIMAL value is beyond its precision")
            cursor.position += size
    elif node.kind == KIND_DECIMAL8:
        for i in range(count):
            if not decimal_from_i64(
                    out + 16 * i, <int64_t>load_be64(source + 8 * i), <int>node.parameter):
                return corrupt(structure, -1, b"a DECIMAL value is beyond its precision")
    elif node.kind == KIND_NANOS:
        for i in range(count):
            nanos = <int32_t>load_be32(source + 12 * i + 8)
            if not 0 <= nanos < 1_000_000:
                return corrupt(structure, -1, b"nanoseconds of a millisecond not in 0..999999")
            if not join_nanos(<int64_t>load_be64(source + 12 * i), nanos, &(<int64_t*>out)[i]):
                return corrupt(structure, -1, b"a timestamp is beyond the range of nanoseconds")
    elif node.kind == KIND_TIME:
        swap_copy4(out, source, <size_t>count)
        for i in range(count):
            if (<uint32_t*>out)[i] >= DAY_MILLIS:
                return corrupt(structure, -1, b"a TIME value is not within a day")
    elif kind_width(node.kind) == 1:
        copy_bytes(out, source, <size_t>count)
    elif kind_width(node.kind) == 2:
        swap_copy2(out, source, <size_t>count)
    elif kind_width(node.kind) == 4:
        swap_copy4(out, source, <size_t>count)
    else:
        swap_copy8(out, source, <size_t>count)
    return 0


cdef inline int64_t index_at(
    const PhysicalColumn* column, int64_t i, int width, uint64_t mask
) noexcept nogil:
    """The i-th bit-packed index. Reads beyond the data, never beyond the block."""
    cdef const uint8_t* place = column.data + ((i * width) >> 3)
    cdef uint64_t bits = 0
    if column.end - place >= 8:
        bits = load_le64(place)
    else:
        copy_bytes(&bits, place, <size_t>(column.end - place))
    return <int64_t>((bits >> ((i * width) & 7)) & mask)


cdef inline uint64_t index_mask(int width) noexcept nogil:
    return (<uint64_t>1 << width) - 1


cdef int bad_index(const PhysicalColumn* column) except -1 nogil:
    return corrupt(column.structure, -1, b"a dictionary index is beyond its entries")


cdef uint8_t* decode_fixed(
    Arena* arena, MemoryBudget budget, const PhysicalColumn* column, const Node* node
) except NULL nogil:
    """The values buffer of a column whose Arrow values have a fixed width."""
    cdef int width = output_width(node.kind), bits
    cdef int64_t i, index
    cdef uint64_t mask
    cdef uint8_t* values = arena_reserve(arena, column.rows * width, budget)
    cdef uint8_t* entries
    if column.encoding == PLAIN:
        convert_values(values, column.data, column.data_size, column.non_null, node,
                       column.structure)
    elif column.encoding == CONST:
        convert_values(values, column.value, column.value_size, 1, node, column.structure)
        for i in range(1, column.non_null):
            copy_bytes(values + i * width, values, <size_t>width)
    else:
        # Entries are at most as many as bytes of the block, so this cannot be forged large.
        entries = arena_allocate(arena, column.entry_count * width, budget)
        convert_values(entries, column.value, column.value_size, column.entry_count, node,
                       column.structure)
        bits = index_width(column.entry_count)
        mask = index_mask(bits)
        # Indices were measured when the column was located, and each is compared with the number of
        # entries. There is room for a value per row, and no more values than rows.
        for i in range(column.non_null):
            index = index_at(column, i, bits, mask)
            if index >= column.entry_count:
                bad_index(column)
            if width == 1:
                values[i] = entries[index]
            elif width == 2:
                (<uint16_t*>values)[i] = (<uint16_t*>entries)[index]
            elif width == 4:
                (<uint32_t*>values)[i] = (<uint32_t*>entries)[index]
            elif width == 8:
                (<uint64_t*>values)[i] = (<uint64_t*>entries)[index]
            else:
                copy_bytes(values + 16 * i, entries + 16 * index, 16)
    if column.non_null < column.rows:
        spread(values, width, column.bitmap, column.rows, column.non_null)
    return values


cdef int decode_bool(
    ArrowArray* array, Arena* arena, MemoryBudget budget, const PhysicalColumn* column
) except -1 nogil:
    """One byte per value to one bit; any byte but 0 is true."""
    cdef int64_t row, index, source = 0
    cdef uint8_t* bits = arena_allocate(arena, (column.rows + 7) // 8, budget)
    cdef const uint8_t* values = column.data if column.encoding == PLAIN else column.value
    cdef int width = index_width(column.entry_count)
    cdef uint64_t mask = index_mask(width)
    array.buffers[1] = bits
    # PLAIN data has a byte for each value that is not null; ``source`` counts those.
    for row in range(column.rows):
        if is_null(column, row):
            continue
        index = source
        if column.encoding == CONST:
            index = 0
        elif column.encoding == DICT:
            index = index_at(column, source, width, mask)
            if index >= column.entry_count:
                bad_index(column)
        if values[index]:
            set_bit(bits, row)
        source += 1
    return 0


cdef inline bint is_null(const PhysicalColumn* column, int64_t row) noexcept nogil:
    return column.bitmap != NULL and (column.bitmap[row >> 3] >> (row & 7)) & 1


cdef struct Slice:
    int64_t start
    int64_t length


cdef int decode_binary(
    ArrowArray* array, Arena* arena, MemoryBudget budget, PhysicalColumn* column, bint text
) except -1 nogil:
    """Strings and bytes: 32-bit offsets and the bytes back to back."""
    cdef int32_t* offsets
    if column.non_null == 0:
        array.buffers[1] = shared_zeros(arena, (column.rows + 1) * 4, budget)
        array.buffers[2] = array.buffers[1]
        column.data_size = 0
        return 0
    offsets = <int32_t*>arena_reserve(arena, (column.rows + 1) * 4, budget)
    offsets[0] = 0
    array.buffers[1] = offsets
    if column.encoding == PLAIN:
        decode_plain_binary(array, arena, budget, column, offsets, text)
    else:
        decode_dictionary_binary(array, arena, budget, column, offsets, text)
    return 0


cdef int64_t measure_strings(
    const PhysicalColumn* column, int64_t size, int32_t* offsets
) noexcept nogil:
    """Offsets of a PLAIN column without nulls whose lengths are all one byte.

    Returns the bytes it takes, or -1 (offsets then mean nothing) where that is not so or the
    data ends early.
    """
    cdef const uint8_t* data = column.data
    cdef int64_t position = 0, row, rows = column.rows
    cdef int32_t total = 0
    # Each length is read only if it is inside the data; that the last string is too is checked at
    # the end. The total cannot overflow: it is at most the size, which the caller holds to 31 bits.
    for row in range(rows):
        if position >= size or data[position] >= 0x80:
            return -1
        total += data[position]
        position += 1 + data[position]
        offsets[row + 1] = total
    return position if position <= size else -1


cdef void copy_strings(
    uint8_t* out, const PhysicalColumn* column, const int32_t* offsets
) noexcept nogil:
    """The bytes of strings that :func:`measure_strings` has measured."""
    cdef const uint8_t* source = column.data
    cdef const uint8_t* end = column.end
    cdef int64_t row, rows = column.rows
    # Offsets are those just measured. copy_string copies a short string as 16 bytes where as many
    # are left before ``end``; the next string overwrites the excess, or it falls into the slack.
    for row in range(rows):
        copy_string(out + offsets[row], source + offsets[row] + row + 1,
                    <size_t>(offsets[row + 1] - offsets[row]), end)


cdef int64_t measure_any_strings(const PhysicalColumn* column, int32_t* offsets) except -1 nogil:
    """Offsets of any PLAIN column; returns the bytes it takes."""
    cdef Cursor cursor
    cdef int64_t row, total = 0
    cdef uint32_t length
    cursor.data = column.data
    cursor.size = column.end - column.data
    cursor.position = 0
    cursor.structure = column.structure
    for row in range(column.rows):
        if not is_null(column, row):
            read_varint(&cursor, &length)
            need(&cursor, length)
            cursor.position += length
            total += length
            if total > MAX_OFFSET:
                return too_large(column)
        offsets[row + 1] = <int32_t>total
    return cursor.position


cdef void copy_any_strings(
    uint8_t* out, const PhysicalColumn* column, const int32_t* offsets
) noexcept nogil:
    """The bytes of strings that :func:`measure_any_strings` has measured."""
    cdef const uint8_t* source = column.data
    cdef int64_t row, length
    for row in range(column.rows):
        if not is_null(column, row):
            length = offsets[row + 1] - offsets[row]
            # A padded varint is longer than its value needs.
            while source[0] >= 0x80:
                source += 1
            source += 1
            copy_string(out + offsets[row], source, <size_t>length, column.end)
            source += length


cdef int decode_plain_binary(
    ArrowArray* array, Arena* arena, MemoryBudget budget, PhysicalColumn* column,
    int32_t* offsets, bint text
) except -1 nogil:
    """Lengths first, which gives the offsets, then the bytes. Sets ``data_size``."""
    cdef int64_t row, total, size = -1
    cdef uint8_t* out
    cdef bint short_lengths
    if column.bitmap == NULL and column.end - column.data <= MAX_OFFSET:
        size = measure_strings(column, column.end - column.data, offsets)
    short_lengths = size >= 0
    if not short_lengths:
        size = measure_any_strings(column, offsets)
    column.data_size = size
    total = offsets[column.rows]
    out = arena_reserve(arena, total + COPY_SLACK, budget)
    array.buffers[2] = out
    if short_lengths:
        copy_strings(out, column, offsets)
    else:
        copy_any_strings(out, column, offsets)
    clear_bytes(out + total, COPY_SLACK)
    if text and not is_ascii(out, <size_t>total):
        for row in range(column.rows):
            if not is_utf8(out + offsets[row], <size_t>(offsets[row + 1] - offsets[row])):
                return corrupt(column.structure, -1, b"a string is not valid UTF-8")
    return 0


cdef int too_large(const PhysicalColumn* column) except -1 nogil:
    return limit_exceeded(
        column.structure, -1,
        b"a column has more than 2 GiB of strings in one row group, which Arrow cannot hold")


cdef int decode_dictionary_binary(
    ArrowArray* array, Arena* arena, MemoryBudget budget, const PhysicalColumn* column,
    int32_t* offsets, bint text
) except -1 nogil:
    """CONST and DICT: a few values, each copied to many rows."""
    cdef int64_t count = 1 if column.encoding == CONST else column.entry_count
    cdef Slice* entries = <Slice*>arena_allocate(
        arena, checked_size(count, sizeof(Slice)), budget)
    find_entries(entries, count, column, text)
    return copy_entries(array, arena, budget, column, offsets, entries)


cdef int find_entries(
    Slice* entries, int64_t count, const PhysicalColumn* column, bint text
) except -1 nogil:
    cdef Cursor cursor
    cdef int64_t i
    cdef uint32_t length
    cursor.data = column.value
    cursor.size = column.value_size
    cursor.position = 0
    cursor.structure = column.structure
    for i in range(count):
        read_varint(&cursor, &length)
        need(&cursor, length)
        entries[i].start = cursor.position
        entries[i].length = length
        if text and not is_utf8(cursor.data + cursor.position, length):
            return corrupt(column.structure, -1, b"a string is not valid UTF-8")
        cursor.position += length
    return 0


cdef int copy_entries(
    ArrowArray* array, Arena* arena, MemoryBudget budget, const PhysicalColumn* column,
    int32_t* offsets, const Slice* entries
) except -1 nogil:
    cdef int64_t row, source = 0, total = 0, index = 0
    cdef int width = index_width(column.entry_count) if column.encoding == DICT else 0
    cdef uint64_t mask = index_mask(width)
    cdef uint8_t* out
    cdef int64_t fast = short_rows(column, entries, width)
    # The first pass finds offsets and checks every index, the second copies.
    total = measure_short(column, entries, width, fast, offsets)
    source = fast
    for row in range(fast, column.rows):
        if not is_null(column, row):
            if width:
                index = index_at(column, source, width, mask)
                if index >= column.entry_count:
                    bad_index(column)
            total += entries[index].length
            if total > MAX_OFFSET:
                return too_large(column)
            source += 1
        offsets[row + 1] = <int32_t>total
    out = arena_reserve(arena, total + COPY_SLACK, budget)
    array.buffers[2] = out
    copy_short(out, column, entries, width, fast)
    source = fast
    for row in range(fast, column.rows):
        if not is_null(column, row):
            if width:
                index = index_at(column, source, width, mask)
            copy_string(out + offsets[row], column.value + entries[index].start,
                        <size_t>entries[index].length, column.end)
            source += 1
    clear_bytes(out + total, COPY_SLACK)
    return 0


cdef int64_t short_rows(
    const PhysicalColumn* column, const Slice* entries, int width
) noexcept nogil:
    """How many rows, from the first on, need no check of where they are.

    Those of a dictionary without nulls whose entries can all be copied as COPY_SLACK bytes, and
    whose indices can be read as eight. Their strings together are not too large.
    """
    cdef int64_t index
    if (width == 0 or column.bitmap != NULL or column.rows > MAX_OFFSET // COPY_SLACK
            or column.end - column.value - column.value_size < COPY_SLACK):
        return 0
    for index in range(column.entry_count):
        if entries[index].length > COPY_SLACK:
            return 0
    index = column.end - column.data - 8
    return 0 if index < 0 else min(column.rows, 8 * index // width)


cdef inline int64_t short_index(
    const uint8_t* data, int64_t row, int width, uint64_t mask
) noexcept nogil:
    """As :func:`index_at`, for rows that :func:`short_rows` counted."""
    return <int64_t>((load_le64(data + ((row * width) >> 3)) >> ((row * width) & 7)) & mask)


cdef int64_t measure_short(
    const PhysicalColumn* column, const Slice* entries, int width, int64_t rows, int32_t* offsets
) except -1 nogil:
    """The offsets of the first rows, whose indices are compared with the number of entries."""
    cdef const uint8_t* data = column.data
    cdef int64_t row, index, total = 0, count = column.entry_count
    cdef uint64_t mask = index_mask(width)
    for row in range(rows):
        index = short_index(data, row, width, mask)
        if index >= count:
            bad_index(column)
        total += entries[index].length
        offsets[row + 1] = <int32_t>total
    return total


cdef void copy_short(
    uint8_t* out, const PhysicalColumn* column, const Slice* entries, int width, int64_t rows
) noexcept nogil:
    """The strings of the first rows, whose indices were compared."""
    cdef const uint8_t* data = column.data
    cdef const uint8_t* text = column.value
    cdef int64_t row
    cdef uint64_t mask = index_mask(width)
    cdef const Slice* entry
    # Each copy is followed by the next string, or by the slack.
    for row in range(rows):
        entry = &entries[short_index(data, row, width, mask)]
        copy_bytes(out, text + entry.start, COPY_SLACK)
        out += entry.length
