# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Dictionary tracking: the distinct values of one column in order of first appearance.

In: a column of the row group buffer. Out: in a ``Scratch``, where the distinct values are and the
index of each value; then those indices, bit-packed. Whether a dictionary is smaller than PLAIN is
decided exactly as the format says; tracking ends as soon as it cannot be.

Memory: the scratch belongs to the caller, who uses it for many columns and frees it with
``free_scratch``. Entries point into the column's values, which must stay where they are.

Safety: the values are our own, serialised before, so lengths are right. The hash table has a power
of two of slots and is enlarged once more than half of them are taken: a search always ends.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc

from pymosaic.kernels.catalog cimport PLAIN
from pymosaic.kernels.primitives cimport (
    ByteVector, checked_size, clear_bytes, compare_memory, copy_bytes, index_width, load_le64,
    out_of_memory, reserve, varint_length,
)
from pymosaic.kernels.row_group_buffer cimport ColumnBuffer, serialised_length

cdef inline uint64_t mix(uint64_t value) noexcept nogil:
    value ^= value >> 32
    value *= <uint64_t>0x9E3779B97F4A7C15
    return value ^ (value >> 29)


cdef inline uint64_t hash_bytes(const uint8_t* data, int64_t length) noexcept nogil:
    cdef uint64_t result = <uint64_t>length * <uint64_t>0xD6E8FEB86659FD93, tail = 0
    cdef int64_t i = 0
    while i + 8 <= length:
        result = mix(result ^ load_le64(data + i))
        i += 8
    if i < length:
        copy_bytes(&tail, data + i, <size_t>(length - i))
        result = mix(result ^ tail)
    return result


cdef int grow_entries(Scratch* scratch) except -1 nogil:
    cdef int64_t capacity = scratch.entries_capacity * 2 if scratch.entries_capacity else 256
    cdef void* memory
    memory = realloc(scratch.keys, <size_t>checked_size(capacity, 8))
    if memory == NULL:
        return out_of_memory()
    scratch.keys = <uint64_t*>memory
    memory = realloc(scratch.starts, <size_t>checked_size(capacity, 8))
    if memory == NULL:
        return out_of_memory()
    scratch.starts = <int64_t*>memory
    memory = realloc(scratch.lengths, <size_t>checked_size(capacity, 8))
    if memory == NULL:
        return out_of_memory()
    scratch.lengths = <int64_t*>memory
    scratch.entries_capacity = capacity
    return 0


cdef int rebuild_slots(
    Scratch* scratch, int64_t count, int64_t num_slots, bint fixed
) except -1 nogil:
    """An empty table of ``num_slots``, then the first ``count`` entries put in."""
    cdef int64_t entry
    cdef uint64_t place
    if num_slots != scratch.num_slots:
        free(scratch.slots)
        scratch.num_slots = 0
        scratch.slots = <int32_t*>malloc(<size_t>checked_size(num_slots, sizeof(int32_t)))
        if scratch.slots == NULL:
            return out_of_memory()
        scratch.num_slots = num_slots
    clear_bytes(scratch.slots, <size_t>num_slots * sizeof(int32_t))
    for entry in range(count):
        place = (mix(scratch.keys[entry]) if fixed
                 else scratch.keys[entry]) & <uint64_t>(num_slots - 1)
        while scratch.slots[place]:
            place = (place + 1) & <uint64_t>(num_slots - 1)
        scratch.slots[place] = <int32_t>(entry + 1)
    return 0


cdef inline bint may_win(
    int64_t count, int64_t entry_bytes, int64_t non_null, int64_t plain
) noexcept nogil:
    """Whether a dictionary of this many entries beats PLAIN; more entries only cost more."""
    return (varint_length(<uint32_t>count) + entry_bytes
            + (non_null * index_width(count) + 7) // 8) < plain


cdef int64_t track(
    Scratch* scratch, const ColumnBuffer* buffer, int width, int64_t max_entries, int64_t max_bytes
) except -1 nogil:
    """Number of dictionary entries with their indices in ``scratch``; 0 if PLAIN is chosen.

    ``width`` is 0 for values that carry their length. The byte budget holds for those and for
    12-byte values only.
    """
    cdef const uint8_t* data = buffer.data.data
    cdef const uint8_t* value
    cdef int64_t plain = buffer.data.size, position = 0, count = 0, entry_bytes = 0, i, length
    cdef bint fixed = 0 < width <= 8
    cdef uint64_t key = 0, place
    cdef int32_t slot
    cdef uint32_t* indices
    if buffer.non_null > scratch.indices_capacity:
        indices = <uint32_t*>realloc(
            scratch.indices, <size_t>checked_size(buffer.non_null, sizeof(uint32_t)))
        if indices == NULL:
            return out_of_memory()
        scratch.indices = indices
        scratch.indices_capacity = buffer.non_null
    if scratch.num_slots == 0 or scratch.num_slots > 1024:
        rebuild_slots(scratch, 0, 1024, fixed)
    else:
        rebuild_slots(scratch, 0, scratch.num_slots, fixed)
    for i in range(buffer.non_null):
        value = data + position
        if fixed:
            length = width
            key = 0
            copy_bytes(&key, value, <size_t>width)
            place = mix(key)
        else:
            length = width if width else serialised_length(value)
            key = hash_bytes(value, length)
            place = key
        position += length
        place &= <uint64_t>(scratch.num_slots - 1)
        # ``place`` is masked to the table, and at least half of the slots are empty. ``slot`` is
        # the number of an entry that exists, because slots hold nothing else.
        while True:
            slot = scratch.slots[place]
            if slot == 0:
                break
            slot -= 1
            if scratch.keys[slot] == key and (fixed or (
                    scratch.lengths[slot] == length
                    and compare_memory(data + scratch.starts[slot], value, <size_t>length) == 0)):
                break
            place = (place + 1) & <uint64_t>(scratch.num_slots - 1)
        if scratch.slots[place] == 0:
            if count >= max_entries:
                return 0
            entry_bytes += length
            if not fixed and entry_bytes > max_bytes:
                return 0
            if count == scratch.entries_capacity:
                grow_entries(scratch)
            scratch.keys[count] = key
            scratch.starts[count] = value - data
            scratch.lengths[count] = length
            slot = <int32_t>count
            count += 1
            if not may_win(count, entry_bytes, buffer.non_null, plain):
                return 0
            scratch.slots[place] = <int32_t>count
            if count * 2 > scratch.num_slots:
                rebuild_slots(scratch, count, scratch.num_slots * 4, fixed)
        scratch.indices[i] = <uint32_t>slot
    return count


cdef int pack_indices(
    ByteVector* out, const uint32_t* indices, int64_t count, int width
) except -1 nogil:
    cdef uint64_t bits = 0
    cdef int filled = 0
    cdef int64_t i
    reserve(out, (count * width + 7) // 8 + 8)
    # Fewer than 8 bits wait at the start of a turn and 32 at most are added: 64 hold them. All
    # turns together write (count * width + 7) // 8 bytes, which are reserved.
    for i in range(count):
        bits |= <uint64_t>indices[i] << filled
        filled += width
        while filled >= 8:
            out.data[out.size] = <uint8_t>bits
            out.size += 1
            bits >>= 8
            filled -= 8
    if filled:
        out.data[out.size] = <uint8_t>bits
        out.size += 1
    return 0


cdef void free_scratch(Scratch* scratch) noexcept nogil:
    free(scratch.slots)
    free(scratch.keys)
    free(scratch.starts)
    free(scratch.lengths)
    free(scratch.indices)
