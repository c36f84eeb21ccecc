"""The rows of the row group being written: each physical column's values, serialised."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from pymosaic.kernels.arrow_abi cimport ArrowArray
from pymosaic.kernels.arrow_source cimport ArrowSource, SourceField
from pymosaic.kernels.catalog cimport Catalog
from pymosaic.kernels.primitives cimport ByteVector


cdef struct ColumnBuffer:
    ByteVector data      # non-null values back to back, as PLAIN stores them
    ByteVector nulls     # bit 1 = null; empty while there is none
    int64_t rows
    int64_t non_null
    int64_t payload      # bytes of strings without their lengths


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


cdef class RowGroupBuffer:
    cdef:
        readonly Catalog catalog
        ColumnBuffer* buffers    # one per node
        int64_t num_nodes
        readonly int64_t num_rows
        int64_t serialised       # bytes in all data vectors

    cdef int append_range(
        self, int64_t node, ArrowSource source, int64_t field_index, const ArrowArray* array,
        int64_t start, int64_t count) except -1 nogil
    cdef int64_t count_bytes(self, int64_t first, int64_t last) noexcept nogil
    cdef int refuse(self, int64_t node, const char* reason) except -1 nogil
    cdef int64_t append_validity(
        self, int64_t node, const uint8_t* validity, int64_t offset, int64_t count) except -1 nogil
    cdef int append_nulls(self, int64_t node, int64_t count) except -1 nogil
    cdef int append_fixed(
        self, int64_t node, const SourceField* field, const uint8_t* values, const uint8_t*
        validity, int64_t base, int64_t count, int64_t valid) except -1 nogil
    cdef int append_converted(
        self, int64_t node, const SourceField* field, const ArrowArray* array, const uint8_t*
        validity, int64_t base, int64_t count, int64_t valid) except -1 nogil
    cdef int convert(
        self, int64_t node, const SourceField* field, const uint8_t* values, int64_t row,
        int64_t* out) except -1 nogil
    cdef int append_millis_struct(
        self, int64_t node, const ArrowArray* array, const uint8_t* validity, int64_t base,
        int64_t count, int64_t valid) except -1 nogil
    cdef int append_binary(
        self, int64_t node, const SourceField* field, const ArrowArray* array,
        const uint8_t* validity, int64_t base, int64_t count) except -1 nogil
    cdef bint append_ascii(
        self, int64_t node, const ArrowArray* array, const uint8_t* validity, int64_t base,
        int64_t count, bint text) except -1 nogil
    cdef inline int locate_binary(
        self, int64_t node, const SourceField* field, const ArrowArray* array, int64_t row, const
        uint8_t** value, int64_t* length) except -1 nogil
    cdef int append_lists(
        self, int64_t node, ArrowSource source, const SourceField* field, const ArrowArray*
        array, const uint8_t* validity, int64_t base, int64_t count, int64_t valid) except -1 nogil
    cdef int append_elements(
        self, int64_t node, ArrowSource source, const SourceField* field, const ArrowArray*
        array, int64_t start, int64_t count) except -1 nogil
    cdef int append_dictionary(
        self, int64_t node, ArrowSource source, const SourceField* field, const ArrowArray*
        array, const uint8_t* validity, int64_t base, int64_t count) except -1 nogil
    cdef int append_runs(
        self, int64_t node, ArrowSource source, const SourceField* field, const ArrowArray*
        array, int64_t base, int64_t count) except -1 nogil
