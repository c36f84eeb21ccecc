# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The catalog: all columns of a file in flat C arrays, and the search for names in them.

In: columns, one by one, from :mod:`pymosaic.kernels.schema_content` or
:mod:`pymosaic.kernels.arrow_source`. Out: positions of names, names and types of positions, and the
range of columns that a bucket has.

Memory: the catalog owns its arrays and frees them when it is collected. Those of an ordinary wide
catalog lie in one piece, which goes back to a pool. Other kernels point into the arrays and hold a
reference to the catalog while they do; once it is made, nothing is moved. Only ``num_buckets`` may
change later, before the first row group is written.

Safety: what comes from Python is compared with the number of columns before it becomes an index.
``name_offsets`` and ``column_nodes`` have one entry more than there are columns, and ascend, so
that the end of the last column needs no case of its own.
"""

from cpython.list cimport PyList_GET_ITEM, PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, qsort, realloc

from pymosaic.kernels.primitives cimport (
    STANDARD_PIECE, ByteVector, allocate_piece, append_bytes, checked_size, compare_memory,
    copy_bytes, free_piece, free_vector, out_of_memory, reserve,
)

import operator

import numpy as np

from pymosaic.errors import CorruptFileError

cdef enum:
    # Below this, memory from malloc is not returned to the system and asked for again each time.
    WORTH_A_PIECE = 128 << 10

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object unicode, Py_ssize_t* size) except NULL


cdef int kind_of(uint8_t type_id, uint32_t parameter) noexcept nogil:
    """How values of a type are stored (``parameter``: precision)."""
    if type_id == BOOLEAN:
        return KIND_BOOL
    if type_id == TINYINT:
        return KIND_FIXED1
    if type_id == SMALLINT:
        return KIND_FIXED2
    if type_id == INTEGER or type_id == FLOAT or type_id == DATE:
        return KIND_FIXED4
    if type_id == BIGINT or type_id == DOUBLE:
        return KIND_FIXED8
    if type_id == CHAR or type_id == VARCHAR or type_id == STRING:
        return KIND_STRING
    if type_id == BINARY or type_id == VARBINARY or type_id == BYTES:
        return KIND_BYTES
    if type_id == DECIMAL:
        return KIND_DECIMAL8 if parameter <= 18 else KIND_DECIMAL
    if type_id == TIME:
        return KIND_TIME
    if type_id == TIMESTAMP or type_id == TIMESTAMP_LTZ:
        return KIND_NANOS if parameter > 6 else KIND_FIXED8
    return KIND_LENGTHS


cdef bint has_statistics(const Node* node) noexcept nogil:
    """Whether the format keeps min and max for this type."""
    return node.kind != KIND_BYTES and node.kind != KIND_DECIMAL and node.kind != KIND_LENGTHS


cdef int compare_bytes(
    const uint8_t* left, int64_t left_length, const uint8_t* right, int64_t right_length
) noexcept nogil:
    cdef int64_t common = left_length if left_length < right_length else right_length
    cdef int result = compare_memory(left, right, <size_t>common)
    if result:
        return result
    return (left_length > right_length) - (left_length < right_length)


cdef int compare_names(const void* left, const void* right) noexcept nogil:
    cdef const NameKey* a = <const NameKey*>left
    cdef const NameKey* b = <const NameKey*>right
    cdef int result = compare_bytes(a.data, a.length, b.data, b.length)
    return result if result else (a.position > b.position) - (a.position < b.position)


cdef class Catalog:
    """All columns of a file, in the order of the schema block (sorted by name in honest files).

    A *position* is a column's place in that order. Made by
    :func:`pymosaic.kernels.schema_content.parse` or from an Arrow schema by
    :func:`pymosaic.kernels.arrow_source.catalog_from_arrow`.
    """

    def __cinit__(self):
        self.is_sorted = True

    def __dealloc__(self):
        free(self.by_name)
        free_vector(&self.text)
        if not self.in_piece(self.nodes):
            free(self.nodes)
        if not self.in_piece(self.names_blob.data):
            free_vector(&self.names_blob)
        if self.piece != NULL:
            free_piece(self.piece, self.piece_size)
        else:
            free(self.name_offsets)
            free(self.column_nodes)
            free(self.order)

    cdef bint in_piece(self, const void* memory) noexcept nogil:
        return (self.piece != NULL and <const uint8_t*>memory >= self.piece
                and <const uint8_t*>memory < self.piece + self.piece_size)

    cdef int reserve_names(self, int64_t size) except -1 nogil:
        """Room for ``size`` more bytes of names, outside the piece once it is full."""
        cdef ByteVector moved = ByteVector(NULL, 0, 0)
        cdef ByteVector* names = &self.names_blob
        if not self.in_piece(names.data):
            return reserve(names, size)
        if names.capacity - names.size >= size:
            return 0
        reserve(&moved, names.size + size)
        append_bytes(&moved, names.data, names.size)
        names[0] = moved
        return 0

    cdef Node* add_node(self) except NULL nogil:
        cdef int64_t capacity
        cdef Node* nodes
        cdef bint moves
        if self.num_nodes == self.nodes_capacity:
            capacity = self.nodes_capacity * 2 if self.nodes_capacity else 64
            moves = self.in_piece(self.nodes)
            nodes = <Node*>realloc(
                NULL if moves else self.nodes, <size_t>checked_size(capacity, sizeof(Node)))
            if nodes == NULL:
                out_of_memory()
            if moves:
                copy_bytes(<uint8_t*>nodes, <const uint8_t*>self.nodes,
                           <size_t>self.num_nodes * sizeof(Node))
            self.nodes = nodes
            self.nodes_capacity = capacity
        self.num_nodes += 1
        return &self.nodes[self.num_nodes - 1]

    cdef int allocate_columns(self, int64_t num_columns) except -1 nogil:
        """Arrays for ``num_columns``; the caller has checked the count against its input."""
        cdef size_t size = <size_t>checked_size(num_columns + 1, sizeof(int64_t))
        cdef size_t nodes_size = <size_t>checked_size(num_columns + 1, sizeof(Node))
        cdef size_t arrays_size = 3 * size + nodes_size
        cdef bint dirty
        self.num_columns = num_columns
        self.nodes_capacity = num_columns + 1
        if WORTH_A_PIECE <= arrays_size <= STANDARD_PIECE // 2:
            self.piece = <uint8_t*>allocate_piece(STANDARD_PIECE, &self.piece_size, &dirty)
            if self.piece == NULL:
                return out_of_memory()
            self.name_offsets = <int64_t*>self.piece
            self.column_nodes = <int64_t*>(self.piece + size)
            self.order = <int64_t*>(self.piece + 2 * size)
            self.nodes = <Node*>(self.piece + 3 * size)
            self.names_blob = ByteVector(
                self.piece + arrays_size, 0, <int64_t>(STANDARD_PIECE - arrays_size))
        else:
            self.name_offsets = <int64_t*>malloc(size)
            self.column_nodes = <int64_t*>malloc(size)
            self.order = <int64_t*>malloc(size)
            self.nodes = <Node*>malloc(nodes_size)
            if (self.name_offsets == NULL or self.column_nodes == NULL or self.order == NULL
                    or self.nodes == NULL):
                return out_of_memory()
        self.name_offsets[0] = 0
        self.column_nodes[0] = 0
        return 0

    cdef int index_names(self) except -1:
        """Find out whether names are sorted; where not, rank them. Refuses duplicates."""
        cdef int64_t i, duplicate = -1
        cdef int result = 0
        cdef NameKey* keys
        with nogil:
            # Reads name_offsets[i + 1] for the last i as well: there is one offset more than
            # columns.
            for i in range(1, self.num_columns):
                result = compare_bytes(
                    self.names_blob.data + self.name_offsets[i - 1],
                    self.name_offsets[i] - self.name_offsets[i - 1],
                    self.names_blob.data + self.name_offsets[i],
                    self.name_offsets[i + 1] - self.name_offsets[i],
                )
                if result >= 0:
                    break
            self.is_sorted = result < 0 or self.num_columns < 2
            if not self.is_sorted:
                keys = <NameKey*>malloc(<size_t>checked_size(self.num_columns, sizeof(NameKey)))
                self.by_name = <int64_t*>malloc(
                    <size_t>checked_size(self.num_columns, sizeof(int64_t)))
                if keys == NULL or self.by_name == NULL:
                    free(keys)
                    out_of_memory()
                for i in range(self.num_columns):
                    keys[i].data = self.names_blob.data + self.name_offsets[i]
                    keys[i].length = self.name_offsets[i + 1] - self.name_offsets[i]
                    keys[i].position = i
                qsort(keys, <size_t>self.num_columns, sizeof(NameKey), compare_names)
                for i in range(self.num_columns):
                    self.by_name[i] = keys[i].position
                    if i and compare_bytes(keys[i - 1].data, keys[i - 1].length,
                                           keys[i].data, keys[i].length) == 0:
                        duplicate = keys[i].position
                free(keys)
        if duplicate >= 0:
            raise CorruptFileError(
                f"column name {self.name(duplicate)!r} appears twice", None, "schema block", None)
        return 0

    cdef int64_t search(
        self, const uint8_t* name, int64_t length, bint after_prefix
    ) noexcept nogil:
        """The first rank whose name is >= ``name``, or with ``after_prefix`` the first one
        behind all that start with ``name``."""
        cdef int64_t low = 0, high = self.num_columns, middle, position, size
        cdef int result
        # Binary search: 0 <= low <= middle < high <= num_columns, so that every rank that is looked
        # at exists. ``by_name`` is a permutation of the positions.
        while low < high:
            middle = (low + high) >> 1
            position = self.by_name[middle] if self.by_name != NULL else middle
            size = self.name_offsets[position + 1] - self.name_offsets[position]
            if after_prefix and size > length:
                size = length
            result = compare_bytes(
                self.names_blob.data + self.name_offsets[position], size, name, length)
            if result < 0 or (after_prefix and result == 0):
                low = middle + 1
            else:
                high = middle
        return low

    cdef int64_t lookup(self, const uint8_t* name, int64_t length) noexcept nogil:
        """The position of a name, or -1."""
        cdef int64_t rank = self.search(name, length, False), position
        if rank == self.num_columns:
            return -1
        position = self.by_name[rank] if self.by_name != NULL else rank
        if compare_bytes(self.names_blob.data + self.name_offsets[position],
                         self.name_offsets[position + 1] - self.name_offsets[position],
                         name, length):
            return -1
        return position

    cdef int64_t bucket_start(self, int64_t bucket) noexcept nogil:
        """The first position in a bucket: the least p with p * buckets // columns >= bucket."""
        # 128-bit arithmetic is not needed: both counts are below 2**32.
        return (bucket * self.num_columns + self.num_buckets - 1) // self.num_buckets

    def spread_over(self, num_buckets):
        """Spread the columns over another number of buckets; for a file not yet begun."""
        cdef int64_t count = num_buckets
        if not 1 <= count < <int64_t>1 << 32:
            raise ValueError(f"{num_buckets} buckets are not in 1..2**32 - 1")
        self.num_buckets = count

    def bucket_range(self, bucket):
        """Positions ``(first, last + 1)`` of a bucket's columns."""
        bucket = operator.index(bucket)
        if not 0 <= bucket < self.num_buckets:
            raise IndexError(f"bucket {bucket} is not in 0..{self.num_buckets - 1}")
        cdef int64_t index = bucket
        return self.bucket_start(index), self.bucket_start(index + 1)

    def find(self, str name):
        """The position of a column, or -1."""
        cdef Py_ssize_t size
        cdef const char* data
        try:
            data = PyUnicode_AsUTF8AndSize(name, &size)
        except UnicodeEncodeError:
            return -1
        return self.lookup(<const uint8_t*>data, size)

    def find_many(self, list names):
        """Positions of many columns in one call, -1 for those that are not there."""
        cdef Py_ssize_t count = len(names), i
        positions = np.empty(count, dtype=np.int64)
        cdef int64_t[::1] out = positions
        for i in range(count):
            out[i] = self.find(<str?><object>PyList_GET_ITEM(names, i))
        return positions

    def name(self, position):
        """The name of a column."""
        cdef int64_t index = position
        if not 0 <= index < self.num_columns:
            raise IndexError(f"column {position} is not in 0..{self.num_columns - 1}")
        return PyUnicode_DecodeUTF8(
            <const char*>self.names_blob.data + self.name_offsets[index],
            self.name_offsets[index + 1] - self.name_offsets[index], NULL)

    def names(self, start=0, stop=None):
        """Names of the columns at positions ``start`` to ``stop``."""
        cdef int64_t first = start, last = self.num_columns if stop is None else stop, i
        if not 0 <= first <= last <= self.num_columns:
            raise IndexError(f"columns {first}..{last} are not in 0..{self.num_columns}")
        cdef list result = PyList_New(last - first)
        for i in range(first, last):
            name = PyUnicode_DecodeUTF8(
                <const char*>self.names_blob.data + self.name_offsets[i],
                self.name_offsets[i + 1] - self.name_offsets[i], NULL)
            Py_INCREF(name)
            PyList_SET_ITEM(result, i - first, name)
        return result

    def prefix_range(self, str prefix):
        """Positions ``(first, last + 1)`` of names that start so; None where names are unsorted."""
        cdef bytes data
        cdef const uint8_t* text
        if self.by_name != NULL:
            return None
        try:
            data = prefix.encode()
        except UnicodeEncodeError:
            return 0, 0
        text = <const uint8_t*><const char*>data
        return self.search(text, len(data), False), self.search(text, len(data), True)

    @property
    def nbytes(self):
        """Bytes of memory that the columns take."""
        cdef int64_t arrays = 4 if self.by_name != NULL else 3
        return (arrays * self.num_columns * <int64_t>sizeof(int64_t)
                + self.num_nodes * <int64_t>sizeof(Node) + self.text.size + self.names_blob.size)

    def original_order(self):
        """For each column in the user's order, its position."""
        result = np.empty(self.num_columns, dtype=np.int64)
        cdef int64_t[::1] out = result
        cdef int64_t i
        for i in range(self.num_columns):
            out[i] = self.order[i]
        return result

    def type_of(self, position):
        """``(type id, nullable, parameter, scale)`` of a column."""
        cdef int64_t index = position
        if not 0 <= index < self.num_columns:
            raise IndexError(f"column {position} is not in 0..{self.num_columns - 1}")
        cdef Node* node = &self.nodes[self.column_nodes[index]]
        return node.type_id, bool(node.nullable), node.parameter, node.scale

    def has_statistics(self, position):
        """Whether the format keeps min and max for a column's type."""
        cdef int64_t index = position
        if not 0 <= index < self.num_columns:
            raise IndexError(f"column {position} is not in 0..{self.num_columns - 1}")
        return bool(has_statistics(&self.nodes[self.column_nodes[index]]))
