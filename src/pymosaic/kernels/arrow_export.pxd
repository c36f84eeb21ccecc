"""Arrow data on its way out: schemas and arrays through the Arrow C data interface."""

from libc.stdint cimport int64_t, uint8_t

from pymosaic.kernels.arrow_abi cimport ArrowArray, ArrowSchema
from pymosaic.kernels.catalog cimport Catalog


cdef struct Chunk:
    Chunk* next
    size_t size
    size_t mapped         # bytes mapped for it; 0 where it is from malloc


cdef struct Arena:
    # Memory of the arrays of some buckets; each exported array holds a reference.
    int64_t references
    Chunk* chunks
    uint8_t* free_start
    int64_t free_bytes
    bint dirty            # the free bytes were used before
    int64_t next_chunk
    uint8_t* zeros        # shared by columns that are all null
    int64_t zeros_size


cdef class MemoryBudget:
    cdef:
        int64_t left
        MemoryBudget parent

    cdef int take(self, int64_t size) except -1 nogil


cdef void release_arena(Arena* arena) noexcept nogil
cdef uint8_t* arena_reserve(Arena* arena, int64_t size, MemoryBudget budget) except NULL nogil
cdef uint8_t* arena_allocate(Arena* arena, int64_t size, MemoryBudget budget) except NULL nogil
cdef int start_array(
    ArrowArray* array, Arena* arena, int64_t length, int num_buffers, int num_children,
    MemoryBudget budget) except -1 nogil

cdef void release_schema(ArrowSchema* schema) noexcept nogil
cdef void delete_schema_capsule(object capsule) noexcept
cdef int allocate_children(ArrowSchema* schema, int64_t count) except -1
cdef int fill_column_schema(ArrowSchema* schema, Catalog catalog, int64_t position) except -1


cdef class OutputArena:
    cdef:
        Arena* arena
        MemoryBudget budget


cdef class BatchExport:
    cdef:
        readonly Catalog catalog
        readonly int64_t num_rows
        int64_t num_columns
        ArrowArray* columns        # one per output column; NULL once exported

    cdef ArrowArray* slot(self, int64_t index) except NULL nogil
