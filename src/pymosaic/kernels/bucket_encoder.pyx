# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A bucket of the row group buffer -> its encodings, its layout and its bytes before compression.

In: the columns of one bucket, complete for the row group. Out: the bytes of the monolithic layout,
or page by page. The choices are the format's own and exact: a file is the same to the byte whoever
writes it.

Memory: the encoder owns the dictionaries that it builds. Values and bitmaps stay in the row group
buffer, which it keeps alive, until ``release`` frees the part of this bucket; nothing may be asked
of it afterwards. Results are bytes objects, filled in place.

Safety: the size is computed first, and the result allocated with it; filling adds up the same terms
in the same order, so it ends exactly at the end. Sizes are held to what readers accept as a block.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint32_t, uint8_t
from libc.stdlib cimport calloc, free

from pymosaic.kernels.catalog cimport ALL_NULL, CONST, Catalog, DICT, Node, PLAIN, kind_width
from pymosaic.kernels.dictionary cimport (
    Scratch, free_scratch, pack_indices, track,
)
from pymosaic.kernels.primitives cimport (
    ByteVector, append_bytes, clear_bytes, compare_memory, copy_bytes, free_vector, index_width,
    store_varint, varint_length,
)
from pymosaic.kernels.row_group_buffer cimport ColumnBuffer, RowGroupBuffer, serialised_length

from pymosaic.errors import LimitExceededError

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
            free_scratch(&scratch)
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
        # ``out`` has the bytes that monolithic_size() counted: here two bits, then one, for each
        # column.
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
            "write smaller batches, or let them be split with split_batches=True")
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
