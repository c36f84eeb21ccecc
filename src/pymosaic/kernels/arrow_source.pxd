"""What an Arrow schema offers to the writer: how each column's buffers are read."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from pymosaic.kernels.arrow_abi cimport ArrowSchema
from pymosaic.kernels.catalog cimport Catalog
from pymosaic.kernels.primitives cimport ByteVector


# How an Arrow array's values are read.
cdef enum SourceKind:
    SOURCE_NULL
    SOURCE_BOOL
    SOURCE_FIXED         # same width on disk: bytes reversed
    SOURCE_CONVERT       # through a 64-bit integer, see Conversion
    SOURCE_HALF          # float16 to FLOAT
    SOURCE_NANOS         # int64 nanoseconds to 12 bytes
    SOURCE_MILLIS_STRUCT # struct<millis: int64, nanos_of_milli: int32> to 12 bytes
    SOURCE_DECIMAL       # wide decimals of any source width, and uint64
    SOURCE_BINARY32
    SOURCE_BINARY64
    SOURCE_BINARY_VIEW
    SOURCE_BINARY_FIXED
    SOURCE_LIST32
    SOURCE_LIST64
    SOURCE_LIST_VIEW32
    SOURCE_LIST_VIEW64
    SOURCE_LIST_FIXED
    SOURCE_MAP
    SOURCE_DICTIONARY
    SOURCE_RUN_END


# What SOURCE_CONVERT does between loading an integer of `width` bytes and storing it.
cdef enum Conversion:
    CONVERT_NONE
    CONVERT_UNSIGNED
    CONVERT_TIME          # check the range of a day only
    CONVERT_TIME_SECONDS
    CONVERT_TIME_MICROS
    CONVERT_TIME_NANOS
    CONVERT_DATE64
    CONVERT_SECONDS       # timestamp[s] to milliseconds
    CONVERT_DECIMAL       # check the precision


cdef struct SourceField:
    uint8_t kind
    uint8_t conversion
    uint8_t type_id
    uint8_t nullable
    bint signed_index    # SOURCE_DICTIONARY
    int64_t width        # bytes of a source value, index or run end; size of fixed-size values
    uint32_t parameter
    int32_t scale
    int32_t child        # element, key, dictionary values, run values
    int32_t second       # MAP: value
    uint32_t name_offset, name_length
    uint32_t extra_offset, extra_length


cdef class ArrowSource:
    cdef:
        SourceField* fields
        int64_t num_fields
        int64_t fields_capacity
        ByteVector text
        readonly int64_t num_columns
        readonly bint has_durations
        int32_t* columns         # field of each Arrow column
        int32_t* child_index     # position in the catalog -> Arrow column

    cdef int32_t add_field(self, const ArrowSchema* schema, int64_t depth, bint top) except -2
    cdef bint describe_nested(
        self, const ArrowSchema* schema, SourceField* field, int64_t depth, bint top) except -1
    cdef int set_name(self, Catalog catalog, int64_t node_index, SourceField* field) except -1
    cdef int add_nodes(self, Catalog catalog, int32_t index, bint nullable) except -1
    cdef bint matches(self, Catalog catalog, int32_t index, int64_t node) noexcept nogil
