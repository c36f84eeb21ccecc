"""The catalog: all columns of a file in flat C arrays, in name order."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from pymosaic.kernels.primitives cimport ByteVector


cdef enum TypeId:
    BOOLEAN = 0
    TINYINT = 1
    SMALLINT = 2
    INTEGER = 3
    BIGINT = 4
    FLOAT = 5
    DOUBLE = 6
    DATE = 7
    CHAR = 8
    VARCHAR = 9
    STRING = 10
    BINARY = 11
    VARBINARY = 12
    BYTES = 13
    DECIMAL = 14
    TIME = 15
    TIMESTAMP = 16
    TIMESTAMP_LTZ = 17
    ARRAY = 18
    MAP = 19


# How a physical column is encoded in a row group.
cdef enum Encoding:
    PLAIN = 0
    CONST = 1
    DICT = 2
    ALL_NULL = 3


# How a physical column's values are stored.
cdef enum Kind:
    KIND_BOOL = 0        # 1 byte, any non-zero is true
    KIND_FIXED1 = 1
    KIND_FIXED2 = 2
    KIND_FIXED4 = 3
    KIND_FIXED8 = 4
    KIND_TIME = 5        # 4 bytes, milliseconds of a day
    KIND_DECIMAL8 = 6    # 8 bytes, precision up to 18
    KIND_NANOS = 7       # 12 bytes: milliseconds and nanoseconds of the millisecond
    KIND_LENGTHS = 8     # 4 bytes: the lengths column of an ARRAY or MAP
    KIND_STRING = 9      # varint length and UTF-8
    KIND_BYTES = 10      # varint length and bytes
    KIND_DECIMAL = 11    # varint length and two's complement


cdef struct Node:
    # One per column and per nested child, in pre-order.
    uint8_t type_id
    uint8_t nullable
    uint8_t kind
    uint32_t parameter   # precision, or length of CHAR and its like
    int32_t scale
    uint32_t end         # the node after this subtree
    uint32_t name_offset, name_length    # a child's field name, in Catalog.text
    uint32_t extra_offset, extra_length  # time zone, or name of a MAP's entries


cdef inline int kind_width(uint8_t kind) noexcept nogil:
    """Bytes of one stored value; 0 where every value tells its own length."""
    if kind <= KIND_FIXED1:
        return 1
    if kind == KIND_FIXED2:
        return 2
    if kind == KIND_FIXED8 or kind == KIND_DECIMAL8:
        return 8
    if kind == KIND_NANOS:
        return 12
    if kind >= KIND_STRING:
        return 0
    return 4


cdef struct NameKey:
    const uint8_t* data
    int64_t length
    int64_t position


# For qsort over NameKey: byte-wise by name, equal names by position.
cdef int compare_names(const void* left, const void* right) noexcept nogil
cdef int compare_bytes(
    const uint8_t* left, int64_t left_length, const uint8_t* right, int64_t right_length
) noexcept nogil
cdef int kind_of(uint8_t type_id, uint32_t parameter) noexcept nogil
cdef bint has_statistics(const Node* node) noexcept nogil


cdef class Catalog:
    cdef:
        Node* nodes
        int64_t nodes_capacity
        readonly int64_t num_nodes
        readonly int64_t num_columns
        readonly int64_t num_buckets
        readonly int name_encoding
        readonly int num_rules
        readonly bint is_sorted
        readonly bint has_nul_names
        readonly int64_t unread_bytes   # of the schema content, behind what is known
        ByteVector text
        ByteVector names_blob
        int64_t* name_offsets   # num_columns + 1
        int64_t* column_nodes   # num_columns + 1
        int64_t* order          # original position -> sorted position
        int64_t* by_name        # rank -> position; NULL where positions are in name order
        # Arrays and names of an ordinary wide catalog share one piece of memory, kept for the next.
        uint8_t* piece
        size_t piece_size

    cdef bint in_piece(self, const void* memory) noexcept nogil
    cdef int reserve_names(self, int64_t size) except -1 nogil
    cdef Node* add_node(self) except NULL nogil
    cdef int allocate_columns(self, int64_t num_columns) except -1 nogil
    cdef int index_names(self) except -1
    cdef int64_t search(self, const uint8_t* name, int64_t length, bint after_prefix) noexcept nogil
    cdef int64_t lookup(self, const uint8_t* name, int64_t length) noexcept nogil
    cdef int64_t bucket_start(self, int64_t bucket) noexcept nogil
