"""Dictionary tracking: the distinct values of one column, and their indices."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from pymosaic.kernels.primitives cimport ByteVector
from pymosaic.kernels.row_group_buffer cimport ColumnBuffer


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


cdef int64_t track(
    Scratch* scratch, const ColumnBuffer* buffer, int width, int64_t max_entries, int64_t max_bytes
) except -1 nogil
cdef int pack_indices(
    ByteVector* out, const uint32_t* indices, int64_t count, int width
) except -1 nogil
cdef void free_scratch(Scratch* scratch) noexcept nogil
