# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Columns and schemas in the Arrow types that they were written from.

In: a batch of stored types that pyarrow has exported, and for some of its columns a conversion; or
fields, one of which describes each column. Out: the same batch, ready to be imported under the
other schema; or an ``arrow_schema`` capsule. No Python object is made per column.

Memory: a converted column is in the arena given, charged to its budget, and what it was made from
is released at once. The other columns stay where they are. Copies of fields own their strings, and
are released like any other schema of :mod:`pymosaic.kernels.arrow_export`.

Safety: the batch is pyarrow's, so that its arrays are valid, and whoever calls has compared the
types of columns with those that their conversions start from; the number of buffers is compared
here. Values come from a file: one that the other type does not have is refused. Columns are
compared with the number of columns, and conversions with those that exist.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport strlen

from pymosaic.kernels.arrow_abi cimport ArrowArray, ArrowSchema
from pymosaic.kernels.arrow_export cimport (
    Arena, MemoryBudget, OutputArena, allocate_children, arena_reserve, delete_schema_capsule,
    fill_column_schema, release_schema, start_array,
)
from pymosaic.kernels.catalog cimport Catalog
from pymosaic.kernels.primitives cimport (
    bit_at, checked_size, copy_bytes, corrupt, half_from_float,
)

cdef enum Conversion:
    UNSIGNED8           # of 16-bit integers
    UNSIGNED16          # of 32-bit integers
    UNSIGNED32          # of 64-bit integers
    UNSIGNED64          # of decimals of 128 bits without fraction
    HALF                # of single precision
    LARGE_BINARY        # strings or bytes with offsets of 64 bits
    LARGE_LIST
    DATE64              # milliseconds, of days
    TIME_SECONDS        # of milliseconds
    TIME_MICROS
    TIME_NANOS
    TIMESTAMP_SECONDS   # of milliseconds
    NUM_CONVERSIONS

CONVERSIONS = {
    "uint8": UNSIGNED8,
    "uint16": UNSIGNED16,
    "uint32": UNSIGNED32,
    "uint64": UNSIGNED64,
    "half": HALF,
    "large binary": LARGE_BINARY,
    "large list": LARGE_LIST,
    "date64": DATE64,
    "time in seconds": TIME_SECONDS,
    "time in microseconds": TIME_MICROS,
    "time in nanoseconds": TIME_NANOS,
    "timestamp in seconds": TIMESTAMP_SECONDS,
}

cdef enum:
    MILLIS_OF_DAY = 86_400_000


cdef bint is_valid(const ArrowArray* array, int64_t i) noexcept nogil:
    return array.buffers[0] == NULL or bit_at(<const uint8_t*>array.buffers[0], i)


cdef int misfit() except -1 nogil:
    return corrupt(b"annex", -1, b"a value does not fit the type that its column was written from")


cdef int64_t num_values(const ArrowArray* array) noexcept nogil:
    """Values in the buffers as far as the array uses them; those before its start count."""
    return array.offset + array.length


cdef int narrow(
    const ArrowArray* array, uint8_t* out, int conversion
) except -1 nogil:
    """Integers and floats to a type of half their size, which must hold each value."""
    cdef int64_t i, count = num_values(array)
    cdef const void* values = array.buffers[1]
    cdef uint64_t beyond = 0
    if conversion == UNSIGNED8:
        for i in range(count):
            out[i] = <uint8_t>(<const uint16_t*>values)[i]
            beyond |= (<const uint16_t*>values)[i] >> 8
    elif conversion == UNSIGNED16:
        for i in range(count):
            (<uint16_t*>out)[i] = <uint16_t>(<const uint32_t*>values)[i]
            beyond |= (<const uint32_t*>values)[i] >> 16
    elif conversion == UNSIGNED32:
        for i in range(count):
            (<uint32_t*>out)[i] = <uint32_t>(<const uint64_t*>values)[i]
            beyond |= (<const uint64_t*>values)[i] >> 32
    elif conversion == UNSIGNED64:
        for i in range(count):
            (<uint64_t*>out)[i] = (<const uint64_t*>values)[2 * i]
            beyond |= (<const uint64_t*>values)[2 * i + 1]
    else:
        for i in range(count):
            if not half_from_float(&(<const float*>values)[i], &(<uint16_t*>out)[i]):
                beyond = 1
    if beyond == 0:
        return 0
    # What is under nulls may be anything.
    for i in range(array.offset, count):
        if is_valid(array, i) and not fits(values, i, conversion):
            return misfit()
    return 0


cdef bint fits(const void* values, int64_t i, int conversion) noexcept nogil:
    cdef uint16_t half
    if conversion == UNSIGNED8:
        return (<const uint16_t*>values)[i] >> 8 == 0
    if conversion == UNSIGNED16:
        return (<const uint32_t*>values)[i] >> 16 == 0
    if conversion == UNSIGNED32:
        return (<const uint64_t*>values)[i] >> 32 == 0
    if conversion == UNSIGNED64:
        return (<const uint64_t*>values)[2 * i + 1] == 0
    return half_from_float(&(<const float*>values)[i], &half)


cdef int rescale(const ArrowArray* array, uint8_t* out, int conversion) except -1 nogil:
    """Times and dates to another unit."""
    cdef int64_t i, value, count = num_values(array)
    cdef const int32_t* times = <const int32_t*>array.buffers[1]
    cdef const int64_t* timestamps = <const int64_t*>array.buffers[1]
    for i in range(count):
        if conversion == DATE64:
            (<int64_t*>out)[i] = times[i] * <int64_t>MILLIS_OF_DAY
        elif conversion == TIME_MICROS:
            (<int64_t*>out)[i] = times[i] * <int64_t>1_000
        elif conversion == TIME_NANOS:
            (<int64_t*>out)[i] = times[i] * <int64_t>1_000_000
        else:
            value = times[i] if conversion == TIME_SECONDS else timestamps[i]
            if value % 1000 and i >= array.offset and is_valid(array, i):
                return misfit()
            if conversion == TIME_SECONDS:
                (<int32_t*>out)[i] = <int32_t>(value // 1000)
            else:
                (<int64_t*>out)[i] = value // 1000
    return 0


cdef void widen_offsets(const ArrowArray* array, int64_t* out) noexcept nogil:
    """Offsets of 64 bits; an empty array may have none of its own."""
    cdef int64_t i, count = num_values(array)
    cdef const int32_t* offsets = <const int32_t*>array.buffers[1]
    if count == 0:
        out[0] = 0
        return
    for i in range(count + 1):
        out[i] = offsets[i]


cdef int64_t value_width(int conversion) noexcept nogil:
    if conversion == UNSIGNED8:
        return 1
    if conversion == UNSIGNED16 or conversion == HALF:
        return 2
    if conversion == UNSIGNED32 or conversion == TIME_SECONDS:
        return 4
    return 8


cdef int convert(
    ArrowArray* array, int conversion, Arena* arena, MemoryBudget budget
) except -1 nogil:
    """Put a converted array into the place of another, which is released."""
    cdef ArrowArray made
    cdef bint done = False
    cdef int num_buffers = 3 if conversion == LARGE_BINARY else 2
    cdef int num_children = 1 if conversion == LARGE_LIST else 0
    if array.n_buffers != num_buffers or array.n_children != num_children or array.offset < 0:
        return not_as_said()
    start_array(&made, arena, array.length, num_buffers, num_children, budget)
    try:
        fill_converted(&made, array, conversion, arena, budget)
        done = True
    finally:
        if not done:
            made.release(&made)
    array.release(array)
    array[0] = made
    return 0


cdef int fill_converted(
    ArrowArray* made, ArrowArray* array, int conversion, Arena* arena, MemoryBudget budget
) except -1 nogil:
    """Buffers and children of a converted array."""
    cdef int64_t count = num_values(array), size
    cdef uint8_t* memory
    made.offset = array.offset
    if array.buffers[0] != NULL and array.null_count != 0:
        made.null_count = array.null_count
        size = (count + 7) // 8
        memory = arena_reserve(arena, size, budget)
        copy_bytes(memory, array.buffers[0], <size_t>size)
        made.buffers[0] = memory
    if conversion == LARGE_BINARY or conversion == LARGE_LIST:
        memory = arena_reserve(arena, (count + 1) * 8, budget)
        widen_offsets(array, <int64_t*>memory)
        made.buffers[1] = memory
        if conversion == LARGE_LIST:
            # The array of values is moved.
            made.children[0][0] = array.children[0][0]
            array.children[0].release = NULL
            return 0
        size = (<int64_t*>memory)[count]
        memory = arena_reserve(arena, size, budget)
        if size:
            copy_bytes(memory, array.buffers[2], <size_t>size)
        made.buffers[2] = memory
        return 0
    memory = arena_reserve(arena, count * value_width(conversion), budget)
    made.buffers[1] = memory
    if conversion <= HALF:
        return narrow(array, memory, conversion)
    return rescale(array, memory, conversion)


cdef int not_as_said() except -1 nogil:
    with gil:
        raise ValueError("a column is not of the type that its conversion starts from")


def convert_columns(
    size_t address, const int64_t[::1] columns not None, const uint8_t[::1] conversions not None,
    OutputArena output not None,
):
    """Convert columns of an exported batch, given by the address of its struct array.

    Parameters
    ----------
    address : int
        Of a ``struct ArrowArray`` that pyarrow has filled. It is released if this fails.
    columns : array of int64
        Their numbers.
    conversions : array of uint8
        For each of these, one of ``CONVERSIONS``.
    output : OutputArena
        Where the converted columns are.
    """
    cdef ArrowArray* batch = <ArrowArray*>address
    cdef int64_t i
    try:
        if columns.shape[0] != conversions.shape[0]:
            raise ValueError("lists of different length")
        for i in range(columns.shape[0]):
            if not 0 <= columns[i] < batch.n_children or conversions[i] >= NUM_CONVERSIONS:
                raise IndexError("column or conversion out of range")
        with nogil:
            for i in range(columns.shape[0]):
                convert(batch.children[columns[i]], conversions[i], output.arena, output.budget)
    except:
        batch.release(batch)
        raise


cdef int64_t metadata_size(const char* metadata) noexcept nogil:
    """Bytes of the metadata of a field: a count, then lengths and bytes of keys and values."""
    cdef int32_t count, length
    cdef int64_t i, size = 4
    copy_bytes(&count, metadata, 4)
    for i in range(2 * <int64_t>count):
        copy_bytes(&length, metadata + size, 4)
        size += 4 + length
    return size


cdef int copy_field(
    ArrowSchema* out, const ArrowSchema* field, const uint8_t* name, int64_t name_length
) except -1:
    """A deep copy under another name; ``out`` is zeroed memory, and may be released half made."""
    cdef int64_t i, format_size = <int64_t>strlen(field.format) + 1
    cdef int64_t size = 0 if field.metadata == NULL else metadata_size(field.metadata)
    cdef const char* child_name
    cdef char* text = <char*>malloc(<size_t>(name_length + 1 + format_size + size))
    if text == NULL:
        raise MemoryError
    out.private_data = text
    out.release = release_schema
    copy_bytes(text, name, <size_t>name_length)
    text[name_length] = 0
    out.name = text
    text += name_length + 1
    copy_bytes(text, field.format, <size_t>format_size)
    out.format = text
    if size:
        copy_bytes(text + format_size, field.metadata, <size_t>size)
        out.metadata = text + format_size
    out.flags = field.flags
    if field.n_children:
        allocate_children(out, field.n_children)
        for i in range(field.n_children):
            child_name = field.children[i].name
            copy_field(out.children[i], field.children[i], <const uint8_t*>child_name,
                       0 if child_name == NULL else <int64_t>strlen(child_name))
    if field.dictionary != NULL:
        out.dictionary = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
        if out.dictionary == NULL:
            raise MemoryError
        copy_field(out.dictionary, field.dictionary, b"", 0)
    return 0


cdef class Fields:
    """Fields, kept so that schemas of many columns can be made of them.

    Parameters
    ----------
    fields : list of pyarrow.Field
    """

    cdef:
        ArrowSchema* exported
        readonly int64_t num_fields

    def __cinit__(self, fields):
        cdef int64_t count = len(fields)
        self.exported = <ArrowSchema*>calloc(
            <size_t>checked_size(count + 1, sizeof(ArrowSchema)), 1)
        if self.exported == NULL:
            raise MemoryError
        for field in fields:
            field._export_to_c(<size_t>&self.exported[self.num_fields])
            self.num_fields += 1

    def __dealloc__(self):
        cdef int64_t i
        if self.exported != NULL:
            for i in range(self.num_fields):
                if self.exported[i].release != NULL:
                    self.exported[i].release(&self.exported[i])
            free(self.exported)

    def export_schema(
        self, Catalog catalog not None, const int64_t[::1] positions not None,
        const int64_t[::1] numbers not None,
    ):
        """An ``arrow_schema`` capsule: a struct of the columns at these positions.

        ``numbers`` says for each which of the fields it has, under its own name; -1 for the field
        that it is stored as.
        """
        cdef ArrowSchema* schema
        cdef int64_t i, position, start
        if numbers.shape[0] != positions.shape[0]:
            raise ValueError("lists of different length")
        for i in range(positions.shape[0]):
            if not 0 <= positions[i] < catalog.num_columns or numbers[i] >= self.num_fields:
                raise IndexError("column or field out of range")
        schema = <ArrowSchema*>calloc(1, sizeof(ArrowSchema))
        if schema == NULL:
            raise MemoryError
        schema.format = b"+s"
        schema.name = b""
        schema.release = release_schema
        capsule = PyCapsule_New(schema, b"arrow_schema", delete_schema_capsule)
        allocate_children(schema, positions.shape[0])
        for i in range(positions.shape[0]):
            position = positions[i]
            if numbers[i] < 0:
                fill_column_schema(schema.children[i], catalog, position)
                continue
            start = catalog.name_offsets[position]
            copy_field(schema.children[i], &self.exported[numbers[i]],
                       catalog.names_blob.data + start, catalog.name_offsets[position + 1] - start)
        return capsule
