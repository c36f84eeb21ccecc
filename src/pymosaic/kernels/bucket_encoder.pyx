# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A bucket of the row group buffer -> its encodings, its layout and its bytes before compression.

The choices are the format's own and exact: a file is the same to the byte whoever writes it.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc

from pymosaic.kernels.catalog cimport (
    ARRAY, DOUBLE, FLOAT, KIND_BOOL, KIND_FIXED1, KIND_FIXED2, KIND_NANOS, KIND_STRING, Catalog,
    Node, has_statistics, kind_width,
)
from pymosaic.kernels.primitives cimport (
    ByteVector, append_bytes, append_varint, checked_size, clear_bytes, compare_memory,
    copy_bytes, free_vector, index_width, load_be16, load_be32, load_be64, load_le64,
    out_of_memory, reserve, store_varint, varint_length,
)
from pymosaic.kernels.row_group_buffer cimport ColumnBuffer, RowGroupBuffer

from pymosaic.errors import LimitExceededError

cdef enum Encoding:
    PLAIN = 0
    CONST = 1
    DICT = 2
    ALL_NULL = 3

cdef enum:
    MAX_PAGED_CHILDREN = 0xFFFF


cdef struct EncodedColumn:
    uint8_t encoding
    bint has_nulls
    ColumnBuffer* buffer
    int64_t value_length   # CONST: bytes of the value
    int64_t entry_count    # DICT
    ByteVector entries     # DICT: entries back to back
    ByteVector indices     # DICT: bit-packed


cdef struct Scratch:
    # Dictionary tracking of one column at a time; memory is kept from column to column.
    int32_t* slots         # 0 free, else entry + 1
    int64_t num_slots      # a power of two
    uint64_t* keys         # fixed width: the value; else its hash
    int64_t* starts        # variable width: where the entry lies in the column's data
    int64_t* lengths
    int64_t entries_capacity
    uint32_t* indices
    int64_t indices_capacity


cdef inline uint64_t mix(uint64_t value) noexcept nogil:
    value ^= value >> 32
    value *= <uint64_t>0x9E3779B97F4A7C15
    return value ^ (value >> 29)


cdef inline uint64_t hash_bytes(const uint8_t* data, int64_t length) noexcept nogil:
    cdef uint64_t result = <uint64_t>length * <uint64_t>0xD6E8FEB86659FD93, tail = 0
    cdef int64_t i = 0
    while i + 8 <= length:
        result = mix(result ^ load_le64(data + i))
        i += 8
    if i < length:
        copy_bytes(&tail, data + i, <size_t>(length - i))
        result = mix(result ^ tail)
    return result


cdef int grow_entries(Scratch* scratch) except -1 nogil:
    cdef int64_t capacity = scratch.entries_capacity * 2 if scratch.entries_capacity else 256
    cdef void* memory
    memory = realloc(scratch.keys, <size_t>checked_size(capacity, 8))
    if memory == NULL:
        return out_of_memory()
    scratch.keys = <uint64_t*>memory
    memory = realloc(scratch.starts, <size_t>checked_size(capacity, 8))
    if memory == NULL:
        return out_of_memory()
    scratch.starts = <int64_t*>memory
    memory = realloc(scratch.lengths, <size_t>checked_size(capacity, 8))
    if memory == NULL:
        return out_of_memory()
    scratch.lengths = <int64_t*>memory
    scratch.entries_capacity = capacity
    return 0


cdef int rebuild_slots(
    Scratch* scratch, int64_t count, int64_t num_slots, bint fixed
) except -1 nogil:
    """An empty table of ``num_slots``, then the first ``count`` entries put in."""
    cdef int64_t entry
    cdef uint64_t place
    if num_slots != scratch.num_slots:
        free(scratch.slots)
        scratch.num_slots = 0
        scratch.slots = <int32_t*>malloc(<size_t>checked_size(num_slots, sizeof(int32_t)))
        if scratch.slots == NULL:
            return out_of_memory()
        scratch.num_slots = num_slots
    clear_bytes(scratch.slots, <size_t>num_slots * sizeof(int32_t))
    for entry in range(count):
        place = (mix(scratch.keys[entry]) if fixed
                 else scratch.keys[entry]) & <uint64_t>(num_slots - 1)
        while scratch.slots[place]:
            place = (place + 1) & <uint64_t>(num_slots - 1)
        scratch.slots[place] = <int32_t>(entry + 1)
    return 0


cdef inline bint may_win(
    int64_t count, int64_t entry_bytes, int64_t non_null, int64_t plain
) noexcept nogil:
    """Whether a dictionary of this many entries beats PLAIN; more entries only cost more."""
    return (varint_length(<uint32_t>count) + entry_bytes
            + (non_null * index_width(count) + 7) // 8) < plain


cdef int64_t track(
    Scratch* scratch, const ColumnBuffer* buffer, int width, int64_t max_entries, int64_t max_bytes
) except -1 nogil:
    """Number of dictionary entries with their indices in ``scratch``; 0 if PLAIN is chosen.

    ``width`` is 0 for values that carry their length. The byte budget holds for those and for
    12-byte values only.
    """
    cdef const uint8_t* data = buffer.data.data
    cdef const uint8_t* value
    cdef int64_t plain = buffer.data.size, position = 0, count = 0, entry_bytes = 0, i, length
    cdef bint fixed = 0 < width <= 8
    cdef uint64_t key = 0, place
    cdef int32_t slot
    cdef uint32_t* indices
    if buffer.non_null > scratch.indices_capacity:
        indices = <uint32_t*>realloc(
            scratch.indices, <size_t>checked_size(buffer.non_null, sizeof(uint32_t)))
        if indices == NULL:
            return out_of_memory()
        scratch.indices = indices
        scratch.indices_capacity = buffer.non_null
    if scratch.num_slots == 0 or scratch.num_slots > 1024:
        rebuild_slots(scratch, 0, 1024, fixed)
    else:
        rebuild_slots(scratch, 0, scratch.num_slots, fixed)
    for i in range(buffer.non_null):
        value = data + position
        if fixed:
            length = width
            key = 0
            copy_bytes(&key, value, <size_t>width)
            place = mix(key)
        else:
            length = width if width else serialised_length(value)
            key = hash_bytes(value, length)
            place = key
        position += length
        place &= <uint64_t>(scratch.num_slots - 1)
        while True:
            slot = scratch.slots[place]
            if slot == 0:
                break
            slot -= 1
            if scratch.keys[slot] == key and (fixed or (
                    scratch.lengths[slot] == length
                    and compare_memory(data + scratch.starts[slot], value, <size_t>length) == 0)):
                break
            place = (place + 1) & <uint64_t>(scratch.num_slots - 1)
        if scratch.slots[place] == 0:
            if count >= max_entries:
                return 0
            entry_bytes += length
            if not fixed and entry_bytes > max_bytes:
                return 0
            if count == scratch.entries_capacity:
                grow_entries(scratch)
            scratch.keys[count] = key
            scratch.starts[count] = value - data
            scratch.lengths[count] = length
            slot = <int32_t>count
            count += 1
            if not may_win(count, entry_bytes, buffer.non_null, plain):
                return 0
            scratch.slots[place] = <int32_t>count
            if count * 2 > scratch.num_slots:
                rebuild_slots(scratch, count, scratch.num_slots * 4, fixed)
        scratch.indices[i] = <uint32_t>slot
    return count


cdef inline int64_t serialised_length(const uint8_t* value) noexcept nogil:
    """Bytes of a value with its varint length, in data that we serialised ourselves."""
    cdef uint32_t length = 0
    cdef int shift = 0, i = 0
    while value[i] >= 0x80:
        length |= <uint32_t>(value[i] & 0x7F) << shift
        shift += 7
        i += 1
    length |= <uint32_t>value[i] << shift
    return <int64_t>length + i + 1


cdef int pack_indices(
    ByteVector* out, const uint32_t* indices, int64_t count, int width
) except -1 nogil:
    cdef uint64_t bits = 0
    cdef int filled = 0
    cdef int64_t i
    reserve(out, (count * width + 7) // 8 + 8)
    for i in range(count):
        bits |= <uint64_t>indices[i] << filled
        filled += width
        while filled >= 8:
            out.data[out.size] = <uint8_t>bits
            out.size += 1
            bits >>= 8
            filled -= 8
    if filled:
        out.data[out.size] = <uint8_t>bits
        out.size += 1
    return 0


cdef int choose(
    EncodedColumn* column, const Node* node, Scratch* scratch, int64_t max_entries,
    int64_t max_bytes
) except -1 nogil:
    """Choose a column's encoding and build its dictionary."""
    cdef ColumnBuffer* buffer = column.buffer
    cdef int64_t size = buffer.data.size, length, entry
    cdef int width = kind_width(node.kind)
    if buffer.non_null == 0:
        column.encoding = ALL_NULL
        return 0
    column.has_nulls = buffer.non_null < buffer.rows
    length = width if width else serialised_length(buffer.data.data)
    # All values are the same exactly if the data repeats its first value throughout.
    if size == buffer.non_null * length and compare_memory(
            buffer.data.data, buffer.data.data + length, <size_t>(size - length)) == 0:
        column.encoding = CONST
        column.value_length = length
        return 0
    column.encoding = PLAIN
    column.entry_count = track(scratch, buffer, width, max_entries, max_bytes)
    if column.entry_count:
        column.encoding = DICT
        for entry in range(column.entry_count):
            append_bytes(&column.entries, buffer.data.data + scratch.starts[entry],
                         scratch.lengths[entry])
        pack_indices(&column.indices, scratch.indices, buffer.non_null,
                     index_width(column.entry_count))
    return 0


cdef class BucketEncoder:
    """One bucket of a row group: choose encodings, then ask for the bytes.

    Parameters
    ----------
    rows : RowGroupBuffer
    bucket : int
    max_dict_entries, max_dict_bytes : int
    """

    cdef:
        RowGroupBuffer rows
        EncodedColumn* columns
        int64_t num_physical, num_primary, num_children, first_node, last_node
        int64_t first, last
        bint nested

    def __cinit__(self, RowGroupBuffer rows not None, int64_t bucket, int64_t max_dict_entries,
                  int64_t max_dict_bytes):
        cdef Catalog catalog = rows.catalog
        self.rows = rows
        if not 0 <= bucket < catalog.num_buckets:
            raise IndexError("bucket out of range")
        self.first = catalog.bucket_start(bucket)
        self.last = catalog.bucket_start(bucket + 1)
        self.first_node = catalog.column_nodes[self.first]
        self.last_node = catalog.column_nodes[self.last]
        self.num_primary = self.last - self.first
        self.num_physical = self.last_node - self.first_node
        self.num_children = self.num_physical - self.num_primary
        self.nested = self.num_children > 0
        self.columns = <EncodedColumn*>calloc(<size_t>self.num_physical + 1, sizeof(EncodedColumn))
        if self.columns == NULL:
            raise MemoryError
        with nogil:
            self.encode(catalog, max_dict_entries, max_dict_bytes)

    def __dealloc__(self):
        cdef int64_t i
        if self.columns != NULL:
            for i in range(self.num_physical):
                free_vector(&self.columns[i].entries)
                free_vector(&self.columns[i].indices)
            free(self.columns)

    cdef int encode(self, Catalog catalog, int64_t max_entries, int64_t max_bytes) except -1 nogil:
        """Lay out the physical columns, primaries first, and choose their encodings."""
        cdef Scratch scratch
        cdef int64_t position, node, primary = 0, child = self.num_primary
        clear_bytes(&scratch, sizeof(Scratch))
        try:
            for position in range(self.first, self.last):
                node = catalog.column_nodes[position]
                self.columns[primary].buffer = &self.rows.buffers[node]
                choose(&self.columns[primary], &catalog.nodes[node], &scratch,
                       max_entries, max_bytes)
                primary += 1
                for node in range(node + 1, catalog.column_nodes[position + 1]):
                    self.columns[child].buffer = &self.rows.buffers[node]
                    choose(&self.columns[child], &catalog.nodes[node], &scratch,
                           max_entries, max_bytes)
                    child += 1
        finally:
            free(scratch.slots)
            free(scratch.keys)
            free(scratch.starts)
            free(scratch.lengths)
            free(scratch.indices)
        return 0

    cdef int64_t body_size(self, const EncodedColumn* column) noexcept nogil:
        """Bytes of a column's dictionary or value, bitmap and data."""
        cdef int64_t size = 0
        if column.encoding == ALL_NULL:
            return 0
        if column.has_nulls:
            size += (column.buffer.rows + 7) // 8
        if column.encoding == PLAIN:
            size += column.buffer.data.size
        elif column.encoding == CONST:
            size += column.value_length
        else:
            size += (varint_length(<uint32_t>column.entry_count) + column.entries.size
                     + column.indices.size)
        return size

    cdef int64_t monolithic_size(self) noexcept nogil:
        cdef int64_t i, size = (2 * self.num_physical + 7) // 8 + (self.num_physical + 7) // 8
        if self.nested:
            size += (varint_length(<uint32_t>self.num_primary)
                     + varint_length(<uint32_t>self.num_children))
            for i in range(self.num_primary, self.num_physical):
                size += varint_length(<uint32_t>self.columns[i].buffer.rows)
        for i in range(self.num_physical):
            size += self.body_size(&self.columns[i])
        return size

    cdef int64_t add_pages(self, int64_t* pages) noexcept nogil:
        """Bytes of the pages that count for the layout, and how many they are."""
        cdef int64_t i, total = 0
        cdef EncodedColumn* column
        pages[0] = 0
        for i in range(self.num_physical):
            column = &self.columns[i]
            if column.encoding == PLAIN or column.encoding == DICT:
                total += self.body_size(column)
                pages[0] += 1
            elif column.encoding == CONST and column.has_nulls:
                # Only the bitmap counts here, as in the reference.
                total += (column.buffer.rows + 7) // 8
                pages[0] += 1
        return total

    def page_bytes(self):
        """Bytes of the pages that count for the layout; the size estimate goes by them."""
        cdef int64_t pages
        return self.add_pages(&pages)

    def is_paged(self, int64_t threshold):
        """Whether pages of this bucket are large enough to be compressed one by one."""
        cdef int64_t pages
        cdef int64_t total = self.add_pages(&pages)
        if pages == 0 or self.num_children > MAX_PAGED_CHILDREN:
            return False
        return self.monolithic_size() >= threshold and total // pages >= threshold

    def monolithic(self, int64_t max_block_bytes):
        """The bytes of the monolithic layout."""
        cdef int64_t size = self.monolithic_size()
        check_block(size, max_block_bytes)
        cdef bytes result = PyBytes_FromStringAndSize(NULL, size)
        cdef uint8_t* out = <uint8_t*>PyBytes_AS_STRING(result)
        with nogil:
            self.fill_monolithic(out)
        return result

    cdef void fill_monolithic(self, uint8_t* out) noexcept nogil:
        cdef int64_t i, size
        cdef EncodedColumn* column
        cdef uint8_t* flags
        if self.nested:
            out += store_varint(out, <uint32_t>self.num_primary)
            out += store_varint(out, <uint32_t>self.num_children)
            for i in range(self.num_primary, self.num_physical):
                out += store_varint(out, <uint32_t>self.columns[i].buffer.rows)
        size = (2 * self.num_physical + 7) // 8
        clear_bytes(out, <size_t>(size + (self.num_physical + 7) // 8))
        flags = out + size
        for i in range(self.num_physical):
            column = &self.columns[i]
            out[i // 4] |= column.encoding << (2 * (i % 4))
            if column.has_nulls:
                flags[i // 8] |= 1 << (i % 8)
        out = flags + (self.num_physical + 7) // 8
        for i in range(self.num_physical):
            if self.columns[i].encoding == CONST:
                out = put_value(out, &self.columns[i])
        for i in range(self.num_physical):
            if self.columns[i].encoding == DICT:
                out = put_dictionary(out, &self.columns[i])
        for i in range(self.num_physical):
            out = put_bitmap(out, &self.columns[i])
        for i in range(self.num_physical):
            out = put_data(out, &self.columns[i])

    def page_header(self):
        """What stands before the directory: element counts of the children, if there are any."""
        cdef int64_t i
        if not self.nested:
            return b""
        parts = [self.num_children.to_bytes(2, "little")]
        for i in range(self.num_primary, self.num_physical):
            parts.append(self.columns[i].buffer.rows.to_bytes(4, "little"))
        return b"".join(parts)

    def num_pages(self):
        """Number of physical columns: entries of the page directory."""
        return self.num_physical

    def page(self, int64_t index, int64_t max_block_bytes):
        """The page of a physical column, None for ALL_NULL."""
        cdef EncodedColumn* column
        if not 0 <= index < self.num_physical:
            raise IndexError("page out of range")
        column = &self.columns[index]
        if column.encoding == ALL_NULL:
            return None
        cdef int64_t size = 2 + self.body_size(column)
        check_block(size, max_block_bytes)
        cdef bytes result = PyBytes_FromStringAndSize(NULL, size)
        cdef uint8_t* out = <uint8_t*>PyBytes_AS_STRING(result)
        with nogil:
            out[0] = column.encoding
            out[1] = column.has_nulls
            out += 2
            if column.encoding == CONST:
                out = put_value(out, column)
            elif column.encoding == DICT:
                out = put_dictionary(out, column)
            out = put_bitmap(out, column)
            put_data(out, column)
        return result

    def release(self):
        """Free the row group's memory for this bucket."""
        cdef int64_t node
        for node in range(self.first_node, self.last_node):
            free_vector(&self.rows.buffers[node].data)
            free_vector(&self.rows.buffers[node].nulls)


cdef int check_block(int64_t size, int64_t max_block_bytes) except -1:
    """Refuse a block that no reader would take."""
    if size > max_block_bytes:
        raise LimitExceededError(
            f"a block of {size} bytes is above the {max_block_bytes} that readers accept; "
            "write smaller batches, set a smaller row_group_bytes or more buckets")
    return 0


cdef uint8_t* put_value(uint8_t* out, const EncodedColumn* column) noexcept nogil:
    copy_bytes(out, column.buffer.data.data, <size_t>column.value_length)
    return out + column.value_length


cdef uint8_t* put_dictionary(uint8_t* out, const EncodedColumn* column) noexcept nogil:
    out += store_varint(out, <uint32_t>column.entry_count)
    copy_bytes(out, column.entries.data, <size_t>column.entries.size)
    return out + column.entries.size


cdef uint8_t* put_bitmap(uint8_t* out, const EncodedColumn* column) noexcept nogil:
    cdef int64_t size = (column.buffer.rows + 7) // 8
    if not column.has_nulls:
        return out
    copy_bytes(out, column.buffer.nulls.data, <size_t>size)
    return out + size


cdef uint8_t* put_data(uint8_t* out, const EncodedColumn* column) noexcept nogil:
    if column.encoding == PLAIN:
        copy_bytes(out, column.buffer.data.data, <size_t>column.buffer.data.size)
        return out + column.buffer.data.size
    if column.encoding == DICT:
        copy_bytes(out, column.indices.data, <size_t>column.indices.size)
        return out + column.indices.size
    return out


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
