# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The columns of many catalogs, united by name; only what differs is handed to Python.

In: catalogs, one after the other. Out: arrays of positions: what is new, what differs, and which
catalog describes each column of the union.

Memory: the union keeps the catalogs that describe columns, because its list of names points into
theirs. The list is its own.

Safety: names come from catalogs, whose offsets were checked when they were made. Both lists are
sorted, so that one walk over each is enough and neither index passes its end. Positions that come
from Python are compared with the number of columns.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc

from pymosaic.kernels.catalog cimport (
    BINARY, BYTES, CHAR, DECIMAL, MAP, STRING, TIMESTAMP, TIMESTAMP_LTZ, VARBINARY, VARCHAR,
    Catalog, Node, compare_bytes,
)
from pymosaic.kernels.primitives cimport checked_size, compare_memory

import numpy as np


cdef uint8_t arrow_kind(const Node* node) noexcept nogil:
    """One number for types that are the same to Arrow."""
    if node.type_id == CHAR or node.type_id == VARCHAR:
        return STRING
    if node.type_id == BINARY or node.type_id == VARBINARY:
        return BYTES
    return node.type_id


cdef uint32_t arrow_unit(const Node* node) noexcept nogil:
    return 3 if node.parameter <= 3 else (6 if node.parameter <= 6 else 9)


cdef bint same_text(
    Catalog left, uint32_t left_offset, uint32_t left_length,
    Catalog right, uint32_t right_offset, uint32_t right_length,
) noexcept nogil:
    return left_length == right_length and (left_length == 0 or compare_memory(
        left.text.data + left_offset, right.text.data + right_offset, left_length) == 0)


cdef bint same_column(
    Catalog left, int64_t left_position, Catalog right, int64_t right_position
) noexcept nogil:
    """Whether two columns have the same Arrow type and nullability."""
    cdef int64_t left_index = left.column_nodes[left_position]
    cdef int64_t right_index = right.column_nodes[right_position]
    cdef int64_t count = left.nodes[left_index].end - left_index, i
    cdef const Node* a
    cdef const Node* b
    if right.nodes[right_index].end - right_index != count:
        return False
    for i in range(count):
        a = &left.nodes[left_index + i]
        b = &right.nodes[right_index + i]
        if arrow_kind(a) != arrow_kind(b) or a.nullable != b.nullable:
            return False
        if a.type_id == DECIMAL and (a.parameter != b.parameter or a.scale != b.scale):
            return False
        if a.type_id == TIMESTAMP or a.type_id == TIMESTAMP_LTZ:
            if arrow_unit(a) != arrow_unit(b):
                return False
        if a.type_id == TIMESTAMP_LTZ or a.type_id == MAP:
            if not same_text(left, a.extra_offset, a.extra_length,
                             right, b.extra_offset, b.extra_length):
                return False
        if i and not same_text(left, a.name_offset, a.name_length,
                               right, b.name_offset, b.name_length):
            return False
    return True


def differing(
    Catalog left not None, const int64_t[::1] left_positions not None,
    Catalog right not None, const int64_t[::1] right_positions not None,
):
    """Places at which two lists of columns differ in Arrow type or nullability.

    A position below 0 stands for no column, which differs from nothing.
    """
    cdef int64_t i, count = left_positions.shape[0], a, b, found = 0
    if right_positions.shape[0] != count:
        raise ValueError("lists of different length")
    places = np.empty(count, dtype=np.int64)
    cdef int64_t[::1] out = places
    for i in range(count):
        a = left_positions[i]
        b = right_positions[i]
        if a >= left.num_columns or b >= right.num_columns:
            raise IndexError("column out of range")
        if a >= 0 and b >= 0 and not same_column(left, a, right, b):
            out[found] = i
            found += 1
    return places[:found]


cdef struct Known:
    const uint8_t* name
    int64_t length
    int64_t column


cdef class ColumnUnion:
    """Columns of many catalogs, numbered in the order of their first appearance.

    Names are compared along both sorted lists, so that a catalog takes time in proportion to its
    columns and those known, whatever the names are. Only catalogs that describe columns are kept.
    """

    cdef:
        list catalogs
        Known* known                # by name
        readonly int64_t num_columns
        readonly int64_t num_compared
        object origins              # column -> catalog that describes it
        object places               # column -> its position there
        object counts               # column -> how many of the compared catalogs have it

    def __cinit__(self):
        self.catalogs = []
        self.origins = np.empty(0, np.int64)
        self.places = np.empty(0, np.int64)
        self.counts = np.empty(0, np.int64)

    def __dealloc__(self):
        free(self.known)

    cdef object look_up(self, Catalog catalog):
        """For each position of a catalog the column of that name, or -1."""
        cdef int64_t rank, position, i = 0, length
        cdef const uint8_t* name
        cdef int order
        columns = np.empty(catalog.num_columns, dtype=np.int64)
        cdef int64_t[::1] column_of = columns
        for rank in range(catalog.num_columns):
            position = rank if catalog.by_name == NULL else catalog.by_name[rank]
            name = catalog.names_blob.data + catalog.name_offsets[position]
            length = catalog.name_offsets[position + 1] - catalog.name_offsets[position]
            order = 1
            # ``i`` never goes back: names of the catalog come in rank order. known[i] is read below
            # only if the loop has ended at a name that is equal.
            while i < self.num_columns:
                order = compare_bytes(self.known[i].name, self.known[i].length, name, length)
                if order >= 0:
                    break
                i += 1
            column_of[position] = self.known[i].column if order == 0 else -1
        return columns

    def find_new(self, Catalog catalog not None):
        """Positions of a catalog's columns that are not known yet, in their original order."""
        columns = self.look_up(catalog)
        order = catalog.original_order()
        return order[columns[order] < 0]

    def extend(self, Catalog catalog not None):
        """Take over the columns of a catalog that are not known yet; it is kept."""
        columns = self.look_up(catalog)
        order = catalog.original_order()
        new = order[columns[order] < 0]
        cdef int64_t num_new = len(new), first = self.num_columns
        if num_new == 0:
            return
        columns[new] = np.arange(first, first + num_new)
        self.merge_names(catalog, columns, num_new)
        self.catalogs.append(catalog)
        self.origins = np.concatenate(
            [self.origins, np.full(num_new, len(self.catalogs) - 1, np.int64)])
        self.places = np.concatenate([self.places, new])
        self.counts = np.concatenate([self.counts, np.zeros(num_new, np.int64)])

    cdef int merge_names(
        self, Catalog catalog, const int64_t[::1] column_of, int64_t num_new
    ) except -1:
        cdef int64_t i = 0, rank, position, out = 0
        cdef Known entry
        cdef Known* merged = <Known*>malloc(
            <size_t>checked_size(self.num_columns + num_new, sizeof(Known)))
        if merged == NULL:
            raise MemoryError
        for rank in range(catalog.num_columns):
            position = rank if catalog.by_name == NULL else catalog.by_name[rank]
            if column_of[position] < self.num_columns:
                continue
            entry.name = catalog.names_blob.data + catalog.name_offsets[position]
            entry.length = catalog.name_offsets[position + 1] - catalog.name_offsets[position]
            entry.column = column_of[position]
            while i < self.num_columns and compare_bytes(
                    self.known[i].name, self.known[i].length, entry.name, entry.length) < 0:
                merged[out] = self.known[i]
                out += 1
                i += 1
            merged[out] = entry
            out += 1
        while i < self.num_columns:
            merged[out] = self.known[i]
            out += 1
            i += 1
        free(self.known)
        self.known = merged
        self.num_columns += num_new
        return 0

    def compare(self, Catalog catalog not None):
        """Count a catalog's columns, and find those that differ in Arrow type or nullability.

        Returns
        -------
        (columns, positions) : arrays of int64
            Numbers in the union, and positions in the catalog.
        """
        cdef int64_t position, column, origin, found = 0, other_number = -1
        cdef Catalog other = None
        columns = self.look_up(catalog)
        if (columns < 0).any():
            raise ValueError("the catalog has columns that are not known")
        cdef const int64_t[::1] column_of = columns, origins = self.origins, places = self.places
        cdef int64_t[::1] counts = self.counts
        differing_columns = np.empty(catalog.num_columns, dtype=np.int64)
        differing_positions = np.empty(catalog.num_columns, dtype=np.int64)
        cdef int64_t[::1] out_columns = differing_columns, out_positions = differing_positions
        self.num_compared += 1
        for position in range(catalog.num_columns):
            column = column_of[position]
            counts[column] += 1
            origin = origins[column]
            if origin != other_number:
                other = <Catalog>self.catalogs[origin]
                other_number = origin
            if other is not catalog and not same_column(other, places[column], catalog, position):
                out_columns[found] = column
                out_positions[found] = position
                found += 1
        return differing_columns[:found], differing_positions[:found]

    def describe(self, columns, Catalog catalog not None, positions):
        """Let columns of a catalog, which is kept, stand for columns of the union."""
        if len(columns) != len(positions):
            raise ValueError("lists of different length")
        for column, position in zip(columns, positions):
            if not (0 <= column < self.num_columns and 0 <= position < catalog.num_columns):
                raise IndexError("column out of range")
        self.catalogs.append(catalog)
        self.origins[columns] = len(self.catalogs) - 1
        self.places[columns] = positions

    def origin(self, column):
        """The catalog that describes a column."""
        return self.catalogs[self.origins[column]]

    def result(self):
        """The catalogs, and for each column: which of them describes it, where, and how many of
        the compared catalogs have it."""
        return list(self.catalogs), self.origins, self.places, self.counts
