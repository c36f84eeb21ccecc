# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The bytes of a bucket or page -> Arrow arrays, for the wanted columns only.

All bytes come through a bounds-checked cursor (:mod:`pymosaic.kernels.primitives`), every array is
charged to the row group's memory budget before it is allocated, and what comes out is valid
Arrow: UTF-8, decimals within their precision, times within a day, lengths that add up.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from pymosaic.kernels.arrow_abi cimport ArrowArray
from pymosaic.kernels.arrow_export cimport (
    Arena, BatchExport, MemoryBudget, OutputArena, arena_allocate, arena_reserve, start_array,
)
from pymosaic.kernels.catalog cimport (
    ARRAY, KIND_BOOL, KIND_BYTES, KIND_DECIMAL, KIND_DECIMAL8, KIND_FIXED1, KIND_LENGTHS,
    KIND_NANOS, KIND_STRING, KIND_TIME, MAP, Catalog, Node, kind_width,
)
from pymosaic.kernels.primitives cimport (
    Cursor, checked_size, clear_bytes, copy_bytes, copy_string, corrupt, count_bits,
    decimal_from_be, decimal_from_i64, index_width, is_ascii, is_utf8, join_nanos, limit_exceeded,
    load_be32, load_be64, load_le16, load_le32, load_le64, need, read_byte, read_varint, set_bit,
    spread1, spread16, spread2, spread4, spread8, swap_copy2, swap_copy4, swap_copy8,
    walk_strings,
)

import numpy as np

cdef enum Encoding:
    PLAIN = 0
    CONST = 1
    DICT = 2
    ALL_NULL = 3

cdef enum:
    DAY_MILLIS = 86_400_000
    MAX_OFFSET = 0x7FFFFFFF
    COPY_SLACK = 16      # what copy_string may write beyond a string

cdef const char* BUCKET = b"bucket"
cdef const char* PAGE = b"page"


cdef struct PhysicalColumn:
    # Pointers go into the bucket's or page's bytes, and were checked to lie inside.
    bint present            # its bytes are here (paged: its slot was read)
    uint8_t encoding
    bint has_nulls
    int64_t rows
    int64_t non_null
    const uint8_t* bitmap
    const uint8_t* value    # CONST: the value; DICT: the entries
    int64_t value_size      # bytes of them, lengths included
    int64_t entry_count     # DICT
    const uint8_t* data     # PLAIN: values; DICT: packed indices
    int64_t data_size       # -1: strings whose end is found when they are decoded
    const uint8_t* end      # of the block
    const char* structure


cdef inline int output_width(uint8_t kind) noexcept nogil:
    """Bytes of one value in Arrow, for kinds of fixed width there."""
    if kind == KIND_DECIMAL8 or kind == KIND_DECIMAL:
        return 16
    if kind == KIND_NANOS:
        return 8
    return kind_width(kind)


cdef int skip_values(Cursor* cursor, uint8_t kind, int64_t count) except -1 nogil:
    """Step over ``count`` serialised values."""
    cdef int width = kind_width(kind)
    cdef int64_t end
    if width:
        # count is at most 2**32, so this does not overflow
        need(cursor, count * width)
        cursor.position += count * width
        return 0
    # Each value takes a byte at least: a forged count cannot make this long.
    need(cursor, count)
    end = walk_strings(cursor.data, cursor.position, cursor.size, count)
    if end < 0:
        return corrupt(cursor.structure, cursor.position,
                       b"a value's length is wrong, or the data ends too early")
    cursor.position = end
    return 0


cdef int read_constant(Cursor* cursor, PhysicalColumn* column, uint8_t kind) except -1 nogil:
    column.value = cursor.data + cursor.position
    column.value_size = cursor.position
    skip_values(cursor, kind, 1)
    column.value_size = cursor.position - column.value_size
    return 0


cdef int read_dictionary(Cursor* cursor, PhysicalColumn* column, uint8_t kind) except -1 nogil:
    cdef uint32_t count
    read_varint(cursor, &count)
    column.entry_count = count
    column.value = cursor.data + cursor.position
    column.value_size = cursor.position
    skip_values(cursor, kind, count)
    column.value_size = cursor.position - column.value_size
    return 0


cdef int read_bitmap(Cursor* cursor, PhysicalColumn* column) except -1 nogil:
    """Find the bitmap and with it the number of values."""
    cdef int64_t size = (column.rows + 7) // 8
    column.non_null = column.rows
    if column.encoding == ALL_NULL:
        column.non_null = 0
    elif column.has_nulls:
        need(cursor, size)
        column.bitmap = cursor.data + cursor.position
        column.non_null -= count_bits(column.bitmap, column.rows)
        cursor.position += size
    return 0


cdef int read_data(Cursor* cursor, PhysicalColumn* column, uint8_t kind) except -1 nogil:
    cdef int64_t start = cursor.position
    column.data = cursor.data + start
    if column.encoding == PLAIN:
        skip_values(cursor, kind, column.non_null)
    elif column.encoding == DICT:
        if column.entry_count == 0 and column.non_null:
            return corrupt(cursor.structure, start, b"a dictionary is empty but has values")
        # non_null and the width are both below 2**32
        need(cursor, (column.non_null * index_width(column.entry_count) + 7) // 8)
        cursor.position += (column.non_null * index_width(column.entry_count) + 7) // 8
    column.data_size = cursor.position - start
    return 0


cdef class BucketDecoder:
    """One bucket of a row group: locates its physical columns, then fills a batch.

    Parameters
    ----------
    catalog : Catalog
    bucket : int
    num_rows : int
        Rows of the row group.
    """

    cdef:
        Catalog catalog
        PhysicalColumn* columns
        object keep                # buffers that the columns point into
        int64_t first, last, first_node
        int64_t num_physical, num_primary, num_children, num_rows
        bint nested
        Cursor data_cursor         # monolithic: data of the columns from next_data on
        int64_t next_data

    def __cinit__(self, Catalog catalog not None, int64_t bucket, int64_t num_rows):
        if not 0 <= bucket < catalog.num_buckets:
            raise IndexError("bucket out of range")
        self.catalog = catalog
        self.keep = []
        self.num_rows = num_rows
        self.first = catalog.bucket_start(bucket)
        self.last = catalog.bucket_start(bucket + 1)
        self.first_node = catalog.column_nodes[self.first]
        self.num_primary = self.last - self.first
        self.num_physical = catalog.column_nodes[self.last] - self.first_node
        self.num_children = self.num_physical - self.num_primary
        self.nested = self.num_children > 0
        self.columns = <PhysicalColumn*>calloc(
            <size_t>self.num_physical + 1, sizeof(PhysicalColumn))
        if self.columns == NULL:
            raise MemoryError
        cdef int64_t i
        for i in range(self.num_primary):
            self.columns[i].rows = num_rows

    def __dealloc__(self):
        free(self.columns)

    cdef int64_t physical_index(self, int64_t position, int64_t node) noexcept nogil:
        """The physical column of a node of the column at ``position``: primaries come first."""
        if node == self.catalog.column_nodes[position]:
            return position - self.first
        return self.num_primary + (node - self.first_node) - (position - self.first) - 1

    cdef const Node* physical_node(self, int64_t index, int64_t* column) noexcept nogil:
        """The node of physical column ``index``; for children ``column`` walks along."""
        cdef int64_t node
        if index < self.num_primary:
            return &self.catalog.nodes[self.catalog.column_nodes[self.first + index]]
        # The inverse of physical_index: skip one primary node per column passed.
        while True:
            node = self.first_node + (index - self.num_primary) + (column[0] - self.first) + 1
            if node < self.catalog.column_nodes[column[0] + 1]:
                return &self.catalog.nodes[node]
            column[0] += 1

    def load_missing(self):
        """The bucket is not in the file: every value is null."""
        cdef int64_t i
        for i in range(self.num_physical):
            self.columns[i].present = True
            self.columns[i].encoding = ALL_NULL
            self.columns[i].non_null = 0
            self.columns[i].structure = BUCKET

    def load_monolithic(self, const uint8_t[::1] raw not None):
        """Locate the columns of a decompressed monolithic bucket, all but their data.

        Data is walked when a column is decoded, up to that column and not beyond.
        """
        self.keep.append(raw)
        self.data_cursor.data = &raw[0] if raw.shape[0] else NULL
        self.data_cursor.size = raw.shape[0]
        self.data_cursor.position = 0
        self.data_cursor.structure = BUCKET
        with nogil:
            self.locate_monolithic(&self.data_cursor)

    def locate_all(self):
        """Walk the data of all columns of a monolithic bucket."""
        with nogil:
            self.reach(self.num_physical)

    cdef int reach(self, int64_t stop) except -1 nogil:
        """Walk the data of the physical columns before ``stop``."""
        cdef int64_t i, column = self.first
        if self.data_cursor.structure == NULL:
            return 0
        for i in range(self.next_data, stop):
            read_data(&self.data_cursor, &self.columns[i], self.physical_node(i, &column).kind)
            self.next_data = i + 1
        return 0

    cdef int locate_monolithic(self, Cursor* cursor) except -1 nogil:
        cdef uint32_t primaries, children, elements
        cdef int64_t i, column = self.first, flags_size
        cdef const uint8_t* encodings
        cdef const uint8_t* null_flags
        if self.nested:
            read_varint(cursor, &primaries)
            read_varint(cursor, &children)
            if primaries != self.num_primary or children != self.num_children:
                return corrupt(
                    BUCKET, 0, b"the counts of columns and children are not those of the schema")
            for i in range(self.num_primary, self.num_physical):
                read_varint(cursor, &elements)
                self.columns[i].rows = elements
        flags_size = (2 * self.num_physical + 7) // 8
        need(cursor, flags_size + (self.num_physical + 7) // 8)
        encodings = cursor.data + cursor.position
        null_flags = encodings + flags_size
        cursor.position += flags_size + (self.num_physical + 7) // 8
        for i in range(self.num_physical):
            self.columns[i].present = True
            self.columns[i].structure = BUCKET
            self.columns[i].end = cursor.data + cursor.size
            self.columns[i].encoding = (encodings[i // 4] >> (2 * (i % 4))) & 3
            self.columns[i].has_nulls = (null_flags[i // 8] >> (i % 8)) & 1
        for i in range(self.num_physical):
            if self.columns[i].encoding == CONST:
                read_constant(cursor, &self.columns[i], self.physical_node(i, &column).kind)
        column = self.first
        for i in range(self.num_physical):
            if self.columns[i].encoding == DICT:
                read_dictionary(cursor, &self.columns[i], self.physical_node(i, &column).kind)
        for i in range(self.num_physical):
            read_bitmap(cursor, &self.columns[i])
        return 0

    def directory_size(self):
        """Bytes at the start of a paged bucket that tell where its slots are."""
        return (2 + 4 * self.num_children if self.nested else 0) + 4 * self.num_physical

    def load_directory(self, const uint8_t[::1] raw not None, int64_t total_size):
        """Read a paged bucket's directory.

        Returns
        -------
        numpy array of int64
            Offsets of the slots in the bucket, and the end: one more than physical columns.
        """
        cdef int64_t size = self.directory_size(), i, position = 0, end
        cdef const uint8_t* data
        if raw.shape[0] < size:
            raise ValueError("the directory is shorter than directory_size()")
        offsets = np.empty(self.num_physical + 1, dtype=np.int64)
        cdef int64_t[::1] out = offsets
        data = &raw[0] if size else NULL
        if size > total_size:
            corrupt(b"page directory", 0, b"the directory is longer than the bucket")
        if self.nested:
            if load_le16(data) != self.num_children:
                corrupt(b"page directory", 0, b"the number of children is not that of the schema")
            for i in range(self.num_children):
                self.columns[self.num_primary + i].rows = load_le32(data + 2 + 4 * i)
            position = 2 + 4 * self.num_children
        end = size
        out[0] = end
        for i in range(self.num_physical):
            end += load_le32(data + position + 4 * i)
            out[i + 1] = end
            if end == out[i]:
                self.columns[i].present = True
                self.columns[i].encoding = ALL_NULL
                self.columns[i].non_null = 0
                self.columns[i].structure = PAGE
        if end != total_size:
            corrupt(b"page directory", position,
                    b"the directory and its slots are not as long as the bucket")
        return offsets

    def physical_range(self, int64_t position):
        """Physical columns of a column: its primary, and the half-open range of its children."""
        cdef int64_t node
        if not self.first <= position < self.last:
            raise IndexError("column is not in this bucket")
        node = self.catalog.column_nodes[position]
        cdef int64_t children = self.physical_index(position, node + 1)
        return (position - self.first, children,
                children + self.catalog.column_nodes[position + 1] - node - 1)

    def load_page(self, int64_t index, const uint8_t[::1] page not None):
        """Locate the parts of a decompressed page."""
        cdef Cursor cursor
        cdef PhysicalColumn* column
        cdef const Node* node
        cdef int64_t walk = self.first
        if not 0 <= index < self.num_physical:
            raise IndexError("physical column out of range")
        self.keep.append(page)
        cursor.data = &page[0] if page.shape[0] else NULL
        cursor.size = page.shape[0]
        cursor.position = 0
        cursor.structure = PAGE
        column = &self.columns[index]
        node = self.physical_node(index, &walk)
        with nogil:
            locate_page(&cursor, column, node.kind)

    def describe(self, int64_t index):
        """A located column: ``(encoding, has nulls, rows, values, dictionary entries, bytes)``."""
        cdef PhysicalColumn* column
        if not 0 <= index < self.num_physical or not self.columns[index].present:
            raise IndexError("physical column out of range")
        column = &self.columns[index]
        return (column.encoding, bool(column.has_nulls and column.encoding != ALL_NULL),
                column.rows, column.non_null, column.entry_count if column.encoding == DICT else 0,
                (column.value_size if column.encoding in (CONST, DICT) else 0)
                + (column.data_size if column.encoding in (PLAIN, DICT) else 0)
                + ((column.rows + 7) // 8 if column.bitmap != NULL else 0))

    def decode(self, BatchExport batch not None, const int64_t[::1] positions not None,
               const int64_t[::1] slots not None, OutputArena output not None):
        """Decode the columns at ``positions``, which ascend, into the output columns ``slots``."""
        cdef int64_t i, position
        cdef MemoryBudget budget = output.budget
        if positions.shape[0] != slots.shape[0]:
            raise ValueError("positions and slots differ in length")
        with nogil:
            for i in range(positions.shape[0]):
                position = positions[i]
                if not self.first <= position < self.last:
                    with gil:
                        raise IndexError("column is not in this bucket")
                # Children lie behind all primaries, so with those everything is walked.
                self.reach(self.num_physical if self.nested else position - self.first)
                self.decode_node(batch.slot(slots[i]), output.arena, budget, position,
                                 self.catalog.column_nodes[position], False)

    cdef int decode_node(
        self, ArrowArray* array, Arena* arena, MemoryBudget budget, int64_t position,
        int64_t node_index, bint is_key
    ) except -1 nogil:
        """Decode a column or child; a failed array is released by its owner."""
        cdef PhysicalColumn* column = &self.columns[self.physical_index(position, node_index)]
        cdef Node* node = &self.catalog.nodes[node_index]
        if not column.present:
            with gil:
                raise ValueError("the column's page was not loaded")
        if self.data_cursor.structure != NULL and position - self.first == self.next_data:
            if column.encoding == PLAIN and node.kind >= KIND_STRING and node.kind <= KIND_BYTES:
                column.data = self.data_cursor.data + self.data_cursor.position
                column.data_size = -1
            else:
                self.reach(self.next_data + 1)
        if column.non_null < column.rows and (not node.nullable or is_key):
            with gil:
                name = self.catalog.name(position)
                corrupt(column.structure, -1,
                        f"column {name!r} is declared NOT NULL but has nulls".encode())
        if node.kind == KIND_LENGTHS:
            return self.decode_list(array, arena, budget, position, node_index, column)
        if node.kind == KIND_STRING or node.kind == KIND_BYTES:
            start_array(array, arena, column.rows, 3, 0, budget)
            set_validity(array, arena, budget, column)
            decode_binary(array, arena, budget, column, node.kind == KIND_STRING)
            if self.data_cursor.structure != NULL and position - self.first == self.next_data:
                self.data_cursor.position += column.data_size
                self.next_data += 1
            return 0
        start_array(array, arena, column.rows, 2, 0, budget)
        set_validity(array, arena, budget, column)
        if column.encoding == ALL_NULL or column.non_null == 0:
            array.buffers[1] = shared_zeros(
                arena, column.rows * output_width(node.kind), budget)
            return 0
        if node.kind == KIND_BOOL:
            return decode_bool(array, arena, budget, column)
        array.buffers[1] = decode_fixed(arena, budget, column, node)
        return 0

    cdef int decode_list(
        self, ArrowArray* array, Arena* arena, MemoryBudget budget, int64_t position,
        int64_t node_index, PhysicalColumn* column
    ) except -1 nogil:
        """A lengths column and its children: list offsets, then the elements."""
        cdef Node* node = &self.catalog.nodes[node_index]
        cdef int32_t* offsets
        cdef int64_t i, total = 0, second
        cdef const uint8_t* lengths
        cdef ArrowArray* entries
        start_array(array, arena, column.rows, 2, 1, budget)
        set_validity(array, arena, budget, column)
        offsets = <int32_t*>arena_allocate(arena, (column.rows + 1) * 4, budget)
        array.buffers[1] = offsets
        if column.non_null:
            lengths = decode_fixed(arena, budget, column, node)
            for i in range(column.rows):
                total += (<const int32_t*>lengths)[i]
                if (<const int32_t*>lengths)[i] < 0:
                    return corrupt(column.structure, -1, b"a list has a negative length")
                if total > MAX_OFFSET:
                    return limit_exceeded(
                        column.structure, -1, b"a row group has more than 2**31 - 1 list elements")
                offsets[i + 1] = <int32_t>total
        second = self.catalog.nodes[node_index + 1].end
        if (self.columns[self.physical_index(position, node_index + 1)].rows != total
                or (node.type_id == MAP
                    and self.columns[self.physical_index(position, second)].rows != total)):
            return corrupt(column.structure, -1, b"list lengths do not add up to the elements")
        if node.type_id == ARRAY:
            return self.decode_node(
                array.children[0], arena, budget, position, node_index + 1, False)
        entries = array.children[0]
        start_array(entries, arena, total, 1, 2, budget)
        self.decode_node(entries.children[0], arena, budget, position, node_index + 1, True)
        return self.decode_node(entries.children[1], arena, budget, position, second, False)


cdef int locate_page(Cursor* cursor, PhysicalColumn* column, uint8_t kind) except -1 nogil:
    cdef uint8_t flags
    column.structure = PAGE
    column.end = cursor.data + cursor.size
    read_byte(cursor, &column.encoding)
    read_byte(cursor, &flags)
    column.has_nulls = flags & 1
    if column.encoding > ALL_NULL:
        return corrupt(PAGE, 0, b"unknown encoding")
    if column.encoding == CONST:
        read_constant(cursor, column, kind)
    elif column.encoding == DICT:
        read_dictionary(cursor, column, kind)
    read_bitmap(cursor, column)
    read_data(cursor, column, kind)
    column.present = True
    return 0


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
    # The first pass finds offsets and checks every index, the second copies.
    for row in range(column.rows):
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
    source = 0
    for row in range(column.rows):
        if not is_null(column, row):
            if width:
                index = index_at(column, source, width, mask)
            copy_string(out + offsets[row], column.value + entries[index].start,
                        <size_t>entries[index].length, column.end)
            source += 1
    clear_bytes(out + total, COPY_SLACK)
    return 0
