# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Arrow data on its way out: schemas and arrays through the Arrow C data interface.

In: a catalog and positions, and arrays that the decoders fill. Out: an ``arrow_schema`` capsule,
and one struct array per batch, which pyarrow imports as one object whatever its width.

Memory: arrays point into arenas, one for each thread that decodes. An arena counts the arrays in it
and its ``OutputArena``, and the last that is released frees it, on whichever thread. Nothing is
written to an arena after the export. A schema owns its strings and children, and its release
callback frees them, also of one that is half made; plain columns share a block for their names,
which the last of them frees.

Safety: memory is charged to the budget before it is taken, sizes are rounded up to 64 bytes, and
new chunks are at least as large as what is asked for. Bytes beyond what was asked for are zero, and
in sanitizer builds guarded.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport int64_t, uint8_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc

from pymosaic.kernels.arrow_abi cimport ARROW_FLAG_NULLABLE, ArrowArray, ArrowSchema
from pymosaic.kernels.catalog cimport (
    ARRAY, BIGINT, BINARY, BOOLEAN, BYTES, CHAR, DATE, DECIMAL, DOUBLE, FLOAT, INTEGER, MAP,
    SMALLINT, STRING, TIME, TINYINT, VARBINARY, VARCHAR, Catalog, Node,
)
from pymosaic.kernels.primitives cimport (
    STANDARD_PIECE, allocate_piece, atomic_add_i64, checked_size, clear_bytes, copy_bytes,
    free_piece, guard_bytes, limit_exceeded, new_memory_fill, out_of_memory, unguard_bytes,
)

cdef enum:
    ALIGNMENT = 64
    FIRST_CHUNK = 4096
    CHUNK_HEAD = 2 * ALIGNMENT   # the Chunk itself, and room to align behind it
    WORTH_A_PIECE = 1 << 20      # larger buffers take one; smaller ones would waste most of it


cdef class MemoryBudget:
    """Arrow memory that may still be taken: by the threads of one row group, or with them as
    children, by all row groups of a table."""

    def __cinit__(self, int64_t limit, MemoryBudget parent=None):
        self.left = limit
        self.parent = parent

    cdef int take(self, int64_t size) except -1 nogil:
        if size < 0 or atomic_add_i64(&self.left, -size) < 0:
            return limit_exceeded(
                b"row group", -1, b"decoding takes more memory than Limits.max_row_group_bytes")
        if self.parent is not None and atomic_add_i64(&self.parent.left, -size) < 0:
            return limit_exceeded(
                b"row group", -1, b"the table takes more memory than Limits.max_table_bytes")
        return 0


def fill_new_memory(int byte):
    """Let new memory of arenas hold ``byte``, as used memory might; -1 for zeros again.

    For tests: what is read must not depend on it.
    """
    global new_memory_fill
    new_memory_fill = byte


cdef class OutputArena:
    """Memory for the arrays that one thread decodes, charged to a budget."""

    def __cinit__(self, MemoryBudget budget not None):
        self.budget = budget
        self.arena = <Arena*>calloc(1, sizeof(Arena))
        if self.arena == NULL:
            raise MemoryError
        self.arena.references = 1
        self.arena.next_chunk = FIRST_CHUNK

    def __dealloc__(self):
        if self.arena != NULL:
            release_arena(self.arena)


cdef void release_arena(Arena* arena) noexcept nogil:
    cdef Chunk* chunk
    if atomic_add_i64(&arena.references, -1) == 0:
        while arena.chunks != NULL:
            chunk = arena.chunks
            arena.chunks = chunk.next
            unguard_bytes(chunk, chunk.size)
            free_piece(chunk, chunk.mapped)
        free(arena)


cdef uint8_t* take_bytes(
    Arena* arena, int64_t rounded, bint* dirty, MemoryBudget budget
) except NULL nogil:
    cdef int64_t chunk_size
    cdef size_t mapped
    cdef Chunk* chunk
    cdef uint8_t* start
    budget.take(rounded)
    if rounded > arena.free_bytes:
        chunk_size = arena.next_chunk
        if rounded > chunk_size // 4:
            chunk_size = rounded + CHUNK_HEAD
            if WORTH_A_PIECE <= chunk_size < <int64_t>STANDARD_PIECE:
                # Such pieces are kept: the next column finds its pages mapped.
                chunk_size = STANDARD_PIECE
        chunk = <Chunk*>allocate_piece(<size_t>chunk_size, &mapped, dirty)
        if chunk == NULL:
            out_of_memory()
        chunk.mapped = mapped
        chunk.size = <size_t>chunk_size
        chunk.next = arena.chunks
        arena.chunks = chunk
        start = <uint8_t*>((<size_t>chunk + sizeof(Chunk) + ALIGNMENT - 1)
                           & ~(<size_t>ALIGNMENT - 1))
        if chunk_size - CHUNK_HEAD - rounded <= arena.free_bytes:
            # More is left in the chunk before, from which later buffers are taken.
            return start
        arena.free_start = start
        arena.free_bytes = chunk_size - CHUNK_HEAD
        arena.dirty = dirty[0]
        if arena.next_chunk < <int64_t>STANDARD_PIECE:
            arena.next_chunk *= 2
    start = arena.free_start
    arena.free_start += rounded
    arena.free_bytes -= rounded
    dirty[0] = arena.dirty
    return start


cdef uint8_t* arena_allocate(Arena* arena, int64_t size, MemoryBudget budget) except NULL nogil:
    """Zeroed memory, aligned to 64 bytes; never of size 0, so a buffer pointer is never NULL."""
    cdef int64_t rounded = (size + ALIGNMENT) & ~(<int64_t>ALIGNMENT - 1)
    cdef bint dirty
    cdef uint8_t* start = take_bytes(arena, rounded, &dirty, budget)
    if dirty:
        clear_bytes(start, <size_t>rounded)
    guard_bytes(start + size, <size_t>(rounded - size))
    return start


cdef uint8_t* arena_reserve(Arena* arena, int64_t size, MemoryBudget budget) except NULL nogil:
    """As :func:`arena_allocate`, for callers that write all ``size`` bytes: only what is behind
    them is sure to be zero."""
    cdef int64_t rounded = (size + ALIGNMENT) & ~(<int64_t>ALIGNMENT - 1)
    cdef bint dirty
    cdef uint8_t* start = take_bytes(arena, rounded, &dirty, budget)
    if dirty:
        clear_bytes(start + size, <size_t>(rounded - size))
    guard_bytes(start + size, <size_t>(rounded - size))
    return start


cdef void release_array(ArrowArray* array) noexcept nogil:
    cdef int64_t i
    # A consumer may have moved children out, which clears their release.
    for i in range(array.n_children):
        if array.children[i].release != NULL:
            array.children[i].release(array.children[i])
    array.release = NULL
    release_arena(<Arena*>array.private_data)


cdef int start_array(
    ArrowArray* array, Arena* arena, int64_t length, int num_buffers, int num_children,
    MemoryBudget budget
) except -1 nogil:
    """Fill in an array whose buffers and children are set next. It is released with its arena."""
    cdef ArrowArray* children
    cdef int i
    array.length = length
    array.null_count = 0
    array.offset = 0
    array.n_buffers = num_buffers
    array.n_children = 0
    array.children = NULL
    array.dictionary = NULL
    array.buffers = <const void**>arena_allocate(
        arena, num_buffers * <int64_t>sizeof(void*), budget)
    if num_children:
        array.children = <ArrowArray**>arena_allocate(
            arena, num_children * <int64_t>(sizeof(void*) + sizeof(ArrowArray)), budget)
        children = <ArrowArray*>(array.children + num_children)
        for i in range(num_children):
            array.children[i] = &children[i]
    array.n_children = num_children
    array.private_data = arena
    atomic_add_i64(&arena.references, 1)
    array.release = release_array
    return 0


cdef struct BatchOwner:
    ArrowArray* columns
    ArrowArray** children
    const void* buffers[1]


cdef void release_batch(ArrowArray* array) noexcept nogil:
    cdef BatchOwner* owner = <BatchOwner*>array.private_data
    cdef int64_t i
    for i in range(array.n_children):
        if owner.columns[i].release != NULL:
            owner.columns[i].release(&owner.columns[i])
    array.release = NULL
    free(owner.columns)
    free(owner.children)
    free(owner)


cdef void delete_schema_capsule(object capsule) noexcept:
    cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointer(capsule, b"arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef class BatchExport:
    """The columns of one batch while buckets are decoded into it, then an Arrow struct array.

    Parameters
    ----------
    catalog : Catalog
    positions : numpy array of int64
        The column at each place of the batch.
    num_rows : int
    """

    def __cinit__(self, Catalog catalog not None, const int64_t[::1] positions not None,
                  int64_t num_rows):
        cdef int64_t i
        for i in range(positions.shape[0]):
            if not 0 <= positions[i] < catalog.num_columns:
                raise IndexError("column out of range")
        self.catalog = catalog
        self.num_rows = num_rows
        self.num_columns = positions.shape[0]
        self.columns = <ArrowArray*>calloc(<size_t>self.num_columns + 1, sizeof(ArrowArray))
        if self.columns == NULL:
            raise MemoryError

    def __dealloc__(self):
        cdef int64_t i
        if self.columns != NULL:
            for i in range(self.num_columns):
                if self.columns[i].release != NULL:
                    self.columns[i].release(&self.columns[i])
            free(self.columns)

    cdef ArrowArray* slot(self, int64_t index) except NULL nogil:
        """Where the array of an output column goes."""
        if self.columns == NULL or not 0 <= index < self.num_columns:
            with gil:
                raise IndexError("output column out of range")
        return &self.columns[index]

    def import_into(self, record_batch, schema):
        """Hand the arrays over to ``record_batch``, which is ``pyarrow.RecordBatch``; once.

        ``schema`` is that of the columns. Through the capsule protocol it would have to be
        exported and imported again for every batch, which for wide batches is half of the work.
        """
        cdef ArrowArray array
        cdef BatchOwner* owner
        cdef int64_t i
        if self.columns == NULL:
            raise ValueError("the batch was exported before")
        for i in range(self.num_columns):
            if self.columns[i].release == NULL:
                raise ValueError(f"output column {i} was not decoded")
        owner = <BatchOwner*>calloc(1, sizeof(BatchOwner))
        if owner == NULL:
            raise MemoryError
        owner.children = <ArrowArray**>malloc(
            <size_t>checked_size(self.num_columns + 1, sizeof(void*)))
        if owner.children == NULL:
            free(owner)
            raise MemoryError
        owner.columns = self.columns
        self.columns = NULL
        for i in range(self.num_columns):
            owner.children[i] = &owner.columns[i]
        array.length = self.num_rows
        array.null_count = 0
        array.offset = 0
        array.n_buffers = 1
        array.buffers = owner.buffers
        array.n_children = self.num_columns
        array.children = owner.children
        array.dictionary = NULL
        array.private_data = owner
        array.release = release_batch
        try:
            return record_batch._import_from_c(<size_t>&array, schema)
        finally:
            # Importing moves the array out and marks it so; a failed import may not have.
            if array.release != NULL:
                array.release(&array)


cdef void release_schema(ArrowSchema* schema) noexcept nogil:
    # A schema and its strings are one allocation, its children another each.
    cdef int64_t i
    for i in range(schema.n_children):
        if schema.children[i].release != NULL:
            schema.children[i].release(schema.children[i])
    if schema.children != NULL:
        free(schema.children[0])
        free(schema.children)
    if schema.dictionary != NULL:
        if schema.dictionary.release != NULL:
            schema.dictionary.release(schema.dictionary)
        free(schema.dictionary)
    free(schema.private_data)
    schema.release = NULL


cdef const char* plain_format(const Node* node) noexcept nogil:
    """The Arrow format of types without parameters of their own; NULL for the others."""
    cdef unsigned char type_id = node.type_id
    if type_id == BOOLEAN:
        return b"b"
    if type_id == TINYINT:
        return b"c"
    if type_id == SMALLINT:
        return b"s"
    if type_id == INTEGER:
        return b"i"
    if type_id == BIGINT:
        return b"l"
    if type_id == FLOAT:
        return b"f"
    if type_id == DOUBLE:
        return b"g"
    if type_id == DATE:
        return b"tdD"
    if type_id == CHAR or type_id == VARCHAR or type_id == STRING:
        return b"u"
    if type_id == BINARY or type_id == VARBINARY or type_id == BYTES:
        return b"z"
    if type_id == TIME:
        return b"ttm"
    if type_id == ARRAY:
        return b"+l"
    if type_id == MAP:
        return b"+m"
    return NULL


cdef int allocate_children(ArrowSchema* schema, int64_t count) except -1:
    """Children are zeroed, so that releasing a half-made schema is safe."""
    cdef int64_t i
    cdef ArrowSchema* children
    schema.children = <ArrowSchema**>malloc(<size_t>checked_size(count + 1, sizeof(void*)))
    children = <ArrowSchema*>calloc(<size_t>count + 1, sizeof(ArrowSchema))
    if schema.children == NULL or children == NULL:
        free(schema.children)
        free(children)
        schema.children = NULL
        raise MemoryError
    schema.children[0] = children
    for i in range(count):
        schema.children[i] = &children[i]
    schema.n_children = count
    return 0


cdef int fill_schema(
    ArrowSchema* schema, Catalog catalog, int64_t index, const uint8_t* name, int64_t name_length,
    bint nullable
) except -1:
    """Describe a node: ``schema`` is zeroed memory."""
    cdef Node* node = &catalog.nodes[index]
    cdef Node* key
    cdef const char* format = plain_format(node)
    cdef int64_t format_size = 0 if format != NULL else 64 + <int64_t>node.extra_length
    cdef char* text = <char*>malloc(<size_t>(name_length + 1 + format_size))
    cdef int written
    cdef ArrowSchema* entries
    if text == NULL:
        raise MemoryError
    schema.private_data = text
    schema.release = release_schema
    copy_bytes(text, name, <size_t>name_length)
    text[name_length] = 0
    schema.name = text
    schema.flags = ARROW_FLAG_NULLABLE if nullable else 0
    if format == NULL:
        text += name_length + 1
        if node.type_id == DECIMAL:
            snprintf(text, 64, b"d:%u,%d", node.parameter, node.scale)
        else:
            written = snprintf(text, 64, b"ts%c:", <int>(
                c'm' if node.parameter <= 3 else (c'u' if node.parameter <= 6 else c'n')))
            copy_bytes(text + written, catalog.text.data + node.extra_offset, node.extra_length)
            text[written + node.extra_length] = 0
        format = text
    schema.format = format
    if node.type_id == ARRAY:
        allocate_children(schema, 1)
        fill_child(schema.children[0], catalog, index + 1, catalog.nodes[index + 1].nullable)
    elif node.type_id == MAP:
        allocate_children(schema, 1)
        entries = schema.children[0]
        text = <char*>malloc(<size_t>node.extra_length + 1)
        if text == NULL:
            raise MemoryError
        entries.private_data = text
        entries.release = release_schema
        copy_bytes(text, catalog.text.data + node.extra_offset, node.extra_length)
        text[node.extra_length] = 0
        entries.name = text
        entries.format = b"+s"
        allocate_children(entries, 2)
        # Arrow has no maps with null keys; the decoder refuses them.
        fill_child(entries.children[0], catalog, index + 1, False)
        key = &catalog.nodes[index + 1]
        fill_child(entries.children[1], catalog, key.end, catalog.nodes[key.end].nullable)
    return 0


cdef int fill_child(ArrowSchema* schema, Catalog catalog, int64_t index, bint nullable) except -1:
    cdef Node* node = &catalog.nodes[index]
    return fill_schema(schema, catalog, index, catalog.text.data + node.name_offset,
                       node.name_length, nullable)


cdef int fill_column_schema(ArrowSchema* schema, Catalog catalog, int64_t position) except -1:
    """Describe a column, whose position exists."""
    cdef int64_t start = catalog.name_offsets[position]
    return fill_schema(schema, catalog, catalog.column_nodes[position],
                       catalog.names_blob.data + start, catalog.name_offsets[position + 1] - start,
                       catalog.nodes[catalog.column_nodes[position]].nullable)


cdef struct NamesBlock:
    # The names of plain columns follow. It is freed with the last column, which a consumer may
    # have moved out of the schema.
    int64_t references


cdef void drop_names(NamesBlock* block) noexcept nogil:
    if atomic_add_i64(&block.references, -1) == 0:
        free(block)


cdef void release_plain_schema(ArrowSchema* schema) noexcept nogil:
    drop_names(<NamesBlock*>schema.private_data)
    schema.release = NULL


cdef int fill_schemas(
    ArrowSchema** schemas, Catalog catalog, const int64_t* positions, int64_t count
) except -1:
    """Describe columns; those without parameters and children share one block for their names."""
    cdef int64_t i, start, length, size = sizeof(NamesBlock)
    cdef NamesBlock* block
    cdef Node* node
    cdef const char* format
    cdef char* text
    for i in range(count):
        if not 0 <= positions[i] < catalog.num_columns:
            raise IndexError("column out of range")
        size += (catalog.name_offsets[positions[i] + 1] - catalog.name_offsets[positions[i]]) + 1
    block = <NamesBlock*>malloc(<size_t>size)
    if block == NULL:
        raise MemoryError
    block.references = 1
    text = <char*>(block + 1)
    try:
        # Positions were compared above, and the block has room for all names and what ends them.
        for i in range(count):
            node = &catalog.nodes[catalog.column_nodes[positions[i]]]
            format = plain_format(node)
            if format == NULL or node.type_id >= ARRAY:
                fill_column_schema(schemas[i], catalog, positions[i])
                continue
            start = catalog.name_offsets[positions[i]]
            length = catalog.name_offsets[positions[i] + 1] - start
            copy_bytes(text, catalog.names_blob.data + start, <size_t>length)
            text[length] = 0
            schemas[i].format = format
            schemas[i].name = text
            schemas[i].flags = ARROW_FLAG_NULLABLE if node.nullable else 0
            schemas[i].private_data = block
            schemas[i].release = release_plain_schema
            block.references += 1
            text += length + 1
    finally:
        drop_names(block)
    return 0


def export_schema(Catalog catalog not None, const int64_t[::1] positions not None):
    """An ``arrow_schema`` capsule: a struct of the columns at these positions."""
    cdef ArrowSchema* schema = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
    if schema == NULL:
        raise MemoryError
    schema.format = b"+s"
    schema.name = b""
    schema.release = release_schema
    capsule = PyCapsule_New(schema, b"arrow_schema", delete_schema_capsule)
    allocate_children(schema, positions.shape[0])
    if positions.shape[0]:
        fill_schemas(schema.children, catalog, &positions[0], positions.shape[0])
    return capsule
