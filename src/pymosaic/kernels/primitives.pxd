"""Byte order, varints and the bounds-checked cursor that every kernel reads file bytes through."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "primitives.h" nogil:
    uint16_t load_be16(const uint8_t* p)
    uint32_t load_be32(const uint8_t* p)
    uint64_t load_be64(const uint8_t* p)
    uint16_t load_le16(const uint8_t* p)
    uint32_t load_le32(const uint8_t* p)
    uint64_t load_le64(const uint8_t* p)
    void store_be16(uint8_t* p, uint16_t v)
    void store_be32(uint8_t* p, uint32_t v)
    void store_be64(uint8_t* p, uint64_t v)
    size_t STANDARD_PIECE
    int new_memory_fill
    void* allocate_piece(size_t size, size_t* mapped, bint* dirty)
    void free_piece(void* memory, size_t mapped)
    void guard_bytes(void* start, size_t size)
    void unguard_bytes(void* start, size_t size)
    void copy_bytes(void* out, const void* source, size_t n)
    void clear_bytes(void* out, size_t n)
    int compare_memory(const void* left, const void* right, size_t n)
    void copy_rounded(uint8_t* out, const uint8_t* source, size_t n)
    void copy_string(uint8_t* out, const uint8_t* source, size_t n, const uint8_t* source_end)
    int64_t walk_strings(const uint8_t* data, int64_t position, int64_t size, int64_t count)
    void swap_copy2(uint8_t* out, const uint8_t* source, size_t count)
    void swap_copy4(uint8_t* out, const uint8_t* source, size_t count)
    void swap_copy8(uint8_t* out, const uint8_t* source, size_t count)
    void compact1(uint8_t* out, const uint8_t* source, const uint8_t* validity, int64_t offset,
                  int64_t count)
    void compact2(uint8_t* out, const uint8_t* source, const uint8_t* validity, int64_t offset,
                  int64_t count)
    void compact4(uint8_t* out, const uint8_t* source, const uint8_t* validity, int64_t offset,
                  int64_t count)
    void compact8(uint8_t* out, const uint8_t* source, const uint8_t* validity, int64_t offset,
                  int64_t count)
    void spread1(void* values, const uint8_t* nulls, int64_t rows, int64_t dense)
    void spread2(void* values, const uint8_t* nulls, int64_t rows, int64_t dense)
    void spread4(void* values, const uint8_t* nulls, int64_t rows, int64_t dense)
    void spread8(void* values, const uint8_t* nulls, int64_t rows, int64_t dense)
    void spread16(void* values, const uint8_t* nulls, int64_t rows, int64_t dense)
    int64_t count_bits(const uint8_t* p, int64_t bits)
    bint bit_at(const uint8_t* p, int64_t i)
    void set_bit(uint8_t* p, int64_t i)
    int64_t atomic_add_i64(int64_t* p, int64_t v)
    bint is_ascii(const uint8_t* p, size_t n)
    bint is_utf8(const uint8_t* p, size_t n)
    bint decimal_from_be(uint8_t* out, const uint8_t* source, size_t n, int precision)
    bint decimal_from_i64(uint8_t* out, int64_t value, int precision)
    bint decimal_load(uint8_t* out, const uint8_t* source, int64_t width)
    bint decimal_fits16(const uint8_t* source, int precision)
    int decimal_to_be(uint8_t* out, const uint8_t* source, int precision)
    bint join_nanos(int64_t millis, int32_t nanos, int64_t* out)
    float half_to_float(uint16_t h)
    bint half_from_float(const float* p, uint16_t* out)


cdef struct Cursor:
    # Invariant: 0 <= position <= size. All reads go through the functions below, which check it.
    const uint8_t* data
    int64_t size
    int64_t position
    const char* structure


cdef int corrupt(const char* structure, int64_t offset, const char* reason) except -1 nogil
cdef int limit_exceeded(const char* structure, int64_t offset, const char* reason) except -1 nogil
cdef int unsupported(const char* structure, int64_t offset, const char* reason) except -1 nogil
cdef int out_of_memory() except -1 nogil
cdef int read_varint_slow(Cursor* cursor, uint32_t* out) except -1 nogil
cdef int read_zigzag(Cursor* cursor, int64_t* out) except -1 nogil


cdef inline int read_varint(Cursor* cursor, uint32_t* out) except -1 nogil:
    if cursor.position < cursor.size and cursor.data[cursor.position] < 0x80:
        out[0] = cursor.data[cursor.position]
        cursor.position += 1
        return 0
    return read_varint_slow(cursor, out)


cdef inline int need(Cursor* cursor, int64_t count) except -1 nogil:
    """Raise unless ``count`` more bytes are there."""
    if count < 0 or count > cursor.size - cursor.position:
        return corrupt(cursor.structure, cursor.position, b"the data ends too early")
    return 0


cdef inline int read_byte(Cursor* cursor, uint8_t* out) except -1 nogil:
    need(cursor, 1)
    out[0] = cursor.data[cursor.position]
    cursor.position += 1
    return 0


cdef inline int varint_length(uint32_t value) noexcept nogil:
    if value < (1 << 7):
        return 1
    if value < (1 << 14):
        return 2
    if value < (1 << 21):
        return 3
    if value < (1 << 28):
        return 4
    return 5


cdef inline int index_width(int64_t entries) noexcept nogil:
    """Bits of a dictionary index: those of the largest one."""
    cdef int width = 0
    if entries > 1:
        while (entries - 1) >> width:
            width += 1
    return width


cdef inline int store_varint(uint8_t* out, uint32_t value) noexcept nogil:
    """Write the shortest form; ``out`` has room for five bytes."""
    cdef int length = 0
    while value >= 0x80:
        out[length] = <uint8_t>(value | 0x80)
        value >>= 7
        length += 1
    out[length] = <uint8_t>value
    return length + 1


cdef struct ByteVector:
    uint8_t* data
    int64_t size
    int64_t capacity


cdef int grow(ByteVector* vector, int64_t extra) except -1 nogil
cdef void free_vector(ByteVector* vector) noexcept nogil


cdef inline int reserve(ByteVector* vector, int64_t extra) except -1 nogil:
    """Make room for ``extra`` bytes after ``size``."""
    if extra > vector.capacity - vector.size:
        return grow(vector, extra)
    return 0


cdef int append_bytes(ByteVector* vector, const uint8_t* data, int64_t size) except -1 nogil
cdef int append_varint(ByteVector* vector, uint32_t value) except -1 nogil
cdef int append_zigzag(ByteVector* vector, int64_t value) except -1 nogil
cdef int64_t checked_size(int64_t count, int64_t width) except -1 nogil
