# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The bytes of a bucket or page -> Arrow arrays, for the wanted columns only.

In: the decompressed bytes of a bucket, or of the directory and some pages. Out: arrays in a
``BatchExport``. Where the parts of each column are is found here, its values are made in
:mod:`pymosaic.kernels.column_decoder`.

Memory: a column's parts are pointers into the bytes, which the decoder keeps alive. What is decoded
is copied to the arena of the calling thread, charged to the budget first; the bytes are not needed
once the decoder is gone.

Safety: all bytes come through a bounds-checked cursor (:mod:`pymosaic.kernels.primitives`), and a
column is located as a whole before a value of it is read: its parts then lie inside the block.
Counts of rows and elements are bounded by the budget, those of dictionary entries by the bytes that
hold them.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint8_t
from libc.stdlib cimport calloc, free

from pymosaic.kernels.arrow_abi cimport ArrowArray
from pymosaic.kernels.arrow_export cimport (
    Arena, BatchExport, MemoryBudget, OutputArena, arena_allocate, start_array,
)
from pymosaic.kernels.catalog cimport (
    ALL_NULL, ARRAY, CONST, Catalog, DICT, KIND_BOOL, KIND_BYTES, KIND_LENGTHS, KIND_STRING, MAP,
    Node, PLAIN, kind_width,
)
from pymosaic.kernels.column_decoder cimport (
    PhysicalColumn, decode_binary, decode_bool, decode_fixed, output_width, set_validity,
    shared_zeros,
)
from pymosaic.kernels.primitives cimport (
    Cursor, corrupt, count_bits, index_width, limit_exceeded, load_le16, load_le32, need,
    read_byte, read_varint, walk_strings,
)

import numpy as np

cdef enum:
    MAX_OFFSET = 0x7FFFFFFF

cdef const char* BUCKET = b"bucket"
cdef const char* PAGE = b"page"


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


cdef int wrong_size(const char* structure) except -1 nogil:
    return corrupt(
        structure, -1, b"its data is not as long as the number of rows in the index makes it")


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
        int64_t page_slack         # paged: bytes behind the data of the pages
        bint exact                 # nothing may stand behind the data

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

    cdef const Node* physical_node(self, int64_t index) noexcept nogil:
        """The node of physical column ``index``: the inverse of :meth:`physical_index`."""
        cdef int64_t low = self.first, high = self.last, middle
        cdef int64_t child = index - self.num_primary
        if child < 0:
            return &self.catalog.nodes[self.catalog.column_nodes[self.first + index]]
        # The last column with no more children before it than that.
        while high - low > 1:
            middle = (low + high) >> 1
            if self.catalog.column_nodes[middle] - self.first_node - (middle - self.first) <= child:
                low = middle
            else:
                high = middle
        return &self.catalog.nodes[self.first_node + child + (low - self.first) + 1]

    def load_missing(self):
        """The bucket is not in the file: every value is null."""
        cdef int64_t i
        for i in range(self.num_physical):
            self.columns[i].present = True
            self.columns[i].encoding = ALL_NULL
            self.columns[i].non_null = 0
            self.columns[i].structure = BUCKET

    def load_monolithic(self, const uint8_t[::1] raw not None, bint exact=False):
        """Locate the columns of a decompressed monolithic bucket, all but their data.

        Data is walked when a column is decoded, up to that column and not beyond. With ``exact``
        the data must end where the bucket ends: known at once where no value tells its own
        length, else when all columns were walked. This is how a wrong row count shows.
        """
        self.keep.append(raw)
        self.exact = exact
        self.data_cursor.data = &raw[0] if raw.shape[0] else NULL
        self.data_cursor.size = raw.shape[0]
        self.data_cursor.position = 0
        self.data_cursor.structure = BUCKET
        with nogil:
            self.locate_monolithic(&self.data_cursor)
            if exact:
                self.check_fixed_sizes()

    def locate_all(self):
        """Walk the data of all columns of a monolithic bucket."""
        with nogil:
            self.reach(self.num_physical)
            self.check_end()

    def unread_bytes(self):
        """Bytes behind the data, once all columns are located."""
        return self.data_cursor.size - self.data_cursor.position + self.page_slack

    cdef int check_fixed_sizes(self) except -1 nogil:
        """The bytes that the data takes, without looking at it, against those there are."""
        cdef int64_t i, size = 0, left = self.data_cursor.size - self.data_cursor.position
        cdef PhysicalColumn* column
        cdef bint known = True
        cdef int width
        for i in range(self.num_physical):
            column = &self.columns[i]
            if column.encoding == PLAIN:
                width = kind_width(self.physical_node(i).kind)
                # A value that tells its length takes a byte at least.
                size += column.non_null * (width if width else 1)
                known = known and width != 0
            elif column.encoding == DICT:
                size += (column.non_null * index_width(column.entry_count) + 7) // 8
            if size > left:
                break
        if size > left or (known and size != left):
            return wrong_size(BUCKET)
        return 0

    cdef int check_end(self) except -1 nogil:
        if (self.exact and self.next_data == self.num_physical
                and self.data_cursor.position != self.data_cursor.size):
            return wrong_size(BUCKET)
        return 0

    cdef int reach(self, int64_t stop) except -1 nogil:
        """Walk the data of the physical columns before ``stop``."""
        cdef int64_t i
        if self.data_cursor.structure == NULL:
            return 0
        # ``stop`` is at most the number of physical columns. A column's data starts where that of
        # the one before ends, so they are walked in order, each once.
        for i in range(self.next_data, stop):
            read_data(&self.data_cursor, &self.columns[i], self.physical_node(i).kind)
            self.next_data = i + 1
        return 0

    cdef int locate_monolithic(self, Cursor* cursor) except -1 nogil:
        cdef uint32_t primaries, children, elements
        cdef int64_t i, flags_size
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
        # Both sets of flags were measured with need() before.
        for i in range(self.num_physical):
            self.columns[i].present = True
            self.columns[i].structure = BUCKET
            self.columns[i].end = cursor.data + cursor.size
            self.columns[i].encoding = (encodings[i // 4] >> (2 * (i % 4))) & 3
            self.columns[i].has_nulls = (null_flags[i // 8] >> (i % 8)) & 1
        for i in range(self.num_physical):
            if self.columns[i].encoding == CONST:
                read_constant(cursor, &self.columns[i], self.physical_node(i).kind)
        for i in range(self.num_physical):
            if self.columns[i].encoding == DICT:
                read_dictionary(cursor, &self.columns[i], self.physical_node(i).kind)
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
        # The directory has 4 bytes for each physical column, which the caller's bytes were compared
        # with. Slots follow each other, so that offsets ascend and the last must be the size of the
        # bucket.
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

    def load_page(self, int64_t index, const uint8_t[::1] page not None, bint exact=False):
        """Locate the parts of a decompressed page; with ``exact`` nothing may stand behind."""
        cdef Cursor cursor
        cdef PhysicalColumn* column
        cdef const Node* node
        if not 0 <= index < self.num_physical:
            raise IndexError("physical column out of range")
        self.keep.append(page)
        cursor.data = &page[0] if page.shape[0] else NULL
        cursor.size = page.shape[0]
        cursor.position = 0
        cursor.structure = PAGE
        column = &self.columns[index]
        node = self.physical_node(index)
        with nogil:
            locate_page(&cursor, column, node.kind)
            if exact and cursor.position != cursor.size:
                wrong_size(PAGE)
        self.page_slack += cursor.size - cursor.position

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

    def entries(self, int64_t index):
        """The stored bytes of a located column's dictionary, or of its constant; else none."""
        cdef PhysicalColumn* column
        cdef Cursor cursor
        cdef int width
        cdef int64_t i, count = 0
        cdef uint32_t length
        if not 0 <= index < self.num_physical or not self.columns[index].present:
            raise IndexError("physical column out of range")
        column = &self.columns[index]
        if column.encoding == DICT:
            count = column.entry_count
        elif column.encoding == CONST:
            count = 1
        width = kind_width(self.physical_node(index).kind)
        cursor.data = column.value
        cursor.size = column.value_size
        cursor.position = 0
        cursor.structure = column.structure
        values = []
        for i in range(count):
            length = <uint32_t>width
            if width == 0:
                read_varint(&cursor, &length)
            need(&cursor, length)
            values.append((<const char*>cursor.data)[cursor.position:cursor.position + length])
            cursor.position += length
        return values

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
            self.check_end()

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
            return self.refuse_nulls(column, position)
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

    cdef int refuse_nulls(self, PhysicalColumn* column, int64_t position) except -1 nogil:
        # Apart: a function with Python variables acquires the GIL whenever it returns.
        with gil:
            name = self.catalog.name(position)
            return corrupt(column.structure, -1,
                           f"column {name!r} is declared NOT NULL but has nulls".encode())

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
