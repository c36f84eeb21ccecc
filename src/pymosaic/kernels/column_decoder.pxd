"""One physical column: where its parts are in a block, and its Arrow buffers."""

from libc.stdint cimport int64_t, uint8_t

from pymosaic.kernels.arrow_abi cimport ArrowArray
from pymosaic.kernels.arrow_export cimport Arena, MemoryBudget
from pymosaic.kernels.catalog cimport KIND_DECIMAL, KIND_DECIMAL8, KIND_NANOS, Node, kind_width


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


cdef int set_validity(
    ArrowArray* array, Arena* arena, MemoryBudget budget, const PhysicalColumn* column
) except -1 nogil
cdef uint8_t* shared_zeros(Arena* arena, int64_t size, MemoryBudget budget) except NULL nogil
cdef uint8_t* decode_fixed(
    Arena* arena, MemoryBudget budget, const PhysicalColumn* column, const Node* node
) except NULL nogil
cdef int decode_bool(
    ArrowArray* array, Arena* arena, MemoryBudget budget, const PhysicalColumn* column
) except -1 nogil
cdef int decode_binary(
    ArrowArray* array, Arena* arena, MemoryBudget budget, PhysicalColumn* column, bint text
) except -1 nogil
