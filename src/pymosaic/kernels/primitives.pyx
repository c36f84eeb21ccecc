# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What all kernels stand on: errors, the cursor over file bytes, vectors that grow.

In: bytes of a file behind a ``Cursor`` (data, size, position). Out: numbers, and errors that name
the structure and the offset.

Memory: a cursor owns nothing; whoever made it keeps the bytes alive. A ``ByteVector`` owns its
memory until ``free_vector``.

Safety: every read of the cursor compares its position with its size first, so that ``0 <= position
<= size`` always holds. Sizes are multiplied by ``checked_size``, which refuses what would overflow.
Functions that write without a check say in their docstring how much room they need.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc

from pymosaic.errors import CorruptFileError, LimitExceededError, UnsupportedFeatureError


cdef int raise_located(
    object error_class, const char* structure, int64_t offset, const char* reason
) except -1:
    raise error_class(reason.decode(), None, structure.decode(), offset if offset >= 0 else None)


cdef int corrupt(const char* structure, int64_t offset, const char* reason) except -1 nogil:
    """Raise CorruptFileError with its place; a negative offset means that it is not known."""
    with gil:
        return raise_located(CorruptFileError, structure, offset, reason)


cdef int limit_exceeded(const char* structure, int64_t offset, const char* reason) except -1 nogil:
    """Raise LimitExceededError with its place."""
    with gil:
        return raise_located(LimitExceededError, structure, offset, reason)


cdef int unsupported(const char* structure, int64_t offset, const char* reason) except -1 nogil:
    """Raise UnsupportedFeatureError with its place."""
    with gil:
        return raise_located(UnsupportedFeatureError, structure, offset, reason)


cdef int out_of_memory() except -1 nogil:
    with gil:
        raise MemoryError("pymosaic could not allocate memory")


cdef int read_varint_slow(Cursor* cursor, uint32_t* out) except -1 nogil:
    """Unsigned LEB128 of at most five bytes and 32 bits; padding bytes are accepted."""
    cdef uint64_t value = 0
    cdef int64_t start = cursor.position
    cdef int shift = 0
    cdef uint8_t byte
    # Each turn reads one byte, after a check that it is there, and the shift is bounded: five
    # turns.
    while True:
        if cursor.position >= cursor.size:
            return corrupt(cursor.structure, start, b"the data ends inside a varint")
        byte = cursor.data[cursor.position]
        cursor.position += 1
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            return corrupt(cursor.structure, start, b"a varint is longer than 5 bytes")
    if value >> 32:
        return corrupt(cursor.structure, start, b"a varint is larger than 32 bits")
    out[0] = <uint32_t>value
    return 0


cdef int read_zigzag(Cursor* cursor, int64_t* out) except -1 nogil:
    """64-bit zigzag LEB128 of at most ten bytes."""
    cdef uint64_t value = 0
    cdef int64_t start = cursor.position
    cdef int shift = 0
    cdef uint8_t byte
    while True:
        if cursor.position >= cursor.size:
            return corrupt(cursor.structure, start, b"the data ends inside a varint")
        byte = cursor.data[cursor.position]
        cursor.position += 1
        if shift == 63 and byte > 1:
            return corrupt(cursor.structure, start, b"a varint is larger than 64 bits")
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    out[0] = <int64_t>(value >> 1) ^ -<int64_t>(value & 1)
    return 0


cdef int grow(ByteVector* vector, int64_t extra) except -1 nogil:
    cdef int64_t wanted, capacity = vector.capacity
    cdef uint8_t* data
    if extra > (<int64_t>1 << 62) - vector.size:
        return out_of_memory()
    wanted = vector.size + extra
    if capacity == 0:
        # Often all that will ever be in it: a column of the only batch.
        capacity = wanted if wanted > 64 else 64
    while capacity < wanted:
        # doubling while small, half as much again later: the slack of large buffers counts
        capacity += capacity if capacity < (1 << 20) else capacity >> 1
    data = <uint8_t*>realloc(vector.data, <size_t>capacity)
    if data == NULL:
        return out_of_memory()
    vector.data = data
    vector.capacity = capacity
    return 0


cdef void free_vector(ByteVector* vector) noexcept nogil:
    free(vector.data)
    vector.data = NULL
    vector.size = 0
    vector.capacity = 0


cdef int append_bytes(ByteVector* vector, const uint8_t* data, int64_t size) except -1 nogil:
    reserve(vector, size)
    if size:
        copy_bytes(vector.data + vector.size, data, <size_t>size)
        vector.size += size
    return 0


cdef int append_varint(ByteVector* vector, uint32_t value) except -1 nogil:
    reserve(vector, 5)
    vector.size += store_varint(vector.data + vector.size, value)
    return 0


cdef int append_zigzag(ByteVector* vector, int64_t value) except -1 nogil:
    cdef uint64_t rest = (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)
    reserve(vector, 10)
    # 64 bits make at most the ten bytes that were reserved.
    while rest >= 0x80:
        vector.data[vector.size] = <uint8_t>(rest | 0x80)
        vector.size += 1
        rest >>= 7
    vector.data[vector.size] = <uint8_t>rest
    vector.size += 1
    return 0


cdef int64_t checked_size(int64_t count, int64_t width) except -1 nogil:
    """``count * width``, refused where it would overflow."""
    if count < 0 or width < 0 or (width and count > (<int64_t>1 << 62) // width):
        return out_of_memory()
    return count * width
