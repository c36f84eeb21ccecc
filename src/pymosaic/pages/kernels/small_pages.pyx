# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Pages of many columns at once: numbers, booleans and strings, without forced choices.

A wide table has thousands of small pages. What :func:`pymosaic.pages.write.write_page` does for any
page in a hundred calls, this does for the common ones in a loop over columns: it makes the same
choices, and the same bytes, which a test compares.

In: a record batch through the Arrow C data interface, which the caller has validated. Out: the
buffers of all pages, each padded to 64 bytes, with their sizes and encodings; columns that are left
to the caller are marked.

Memory: the scratch memory of a call, as large as its largest column, is freed when it ends; the
bytes are returned as a copy. The batch is only read, and belongs to its capsule.

Safety: a column is looked at only if it has as many rows as the batch and the buffers of its type.
Offsets of strings are compared again: each must not be smaller than the one before. Every byte is
written behind ``reserve``; arrays of the scratch memory have room for all rows, and what is made
for one chunk is bounded by the values that a chunk has.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset, strcmp

from pymosaic.kernels.arrow_abi cimport ArrowArray, ArrowSchema
from pymosaic.kernels.primitives cimport (
    ByteVector, append_bytes, bit_at, checked_size, free_vector, out_of_memory, reserve,
)
from pymosaic.pages.kernels.bounds cimport invalid_data


cdef extern from "fastlanes.h" nogil:
    void pack_group(uint8_t* packed, const void* values, int bits, int width)
    int width_of(const void* values, int bits, int64_t count)

# Encodings of values; pymosaic.pages.small_pages has the same numbers.
cdef enum:
    LEFT = 0
    ALL_NULL = 1
    PLAIN = 2
    BIT_PACKED = 3
    RUNS = 4
    STRINGS = 5
    CONSTANT = 6

cdef enum:
    NO_DICTIONARY = 0
    NUMBERS_DICTIONARY = 1
    STRINGS_DICTIONARY = 2

cdef enum:
    GROUP = 1024
    LONGEST_RUN = 255
    RUN_CHUNK = 2048
    CHUNK_VALUES = 4096
    CHUNK_BYTES = 8186
    STRING_CHUNK_BYTES = 4096
    PADDING = 0xFE
    STRING_PADDING = 72
    BUFFER_PADDING = 0x48
    ALIGNMENT = 64
    # Values of this size are kept whole, and strings that are worth it are compressed: both elsewhere.
    LONG_VALUE = 256
    FSST_BYTES = 32 << 10
    FSST_LONGEST = 5
    DICTIONARY_VALUES = 100
    DICTIONARY_ITEMS = 100000
    SAMPLE_VALUES = 4096
    MAX_ROWS = 1 << 16
    VARIABLE = -1
    UNKNOWN = 0
    # The most that a chunk's values take: those of strings, of which two have less than 256 bytes each.
    SPARE_BYTES = 40 << 10

cdef double DICTIONARY_SAVES = 0.8


cdef struct Scratch:
    # Arrays for all rows of one column at a time.
    uint8_t* values         # 8 bytes for each, zero under nulls
    uint16_t* levels        # 1 for nulls
    int32_t* offsets        # of strings without what nulls hide
    int64_t* counts         # values of each chunk
    uint32_t* indices       # into the items of a dictionary
    int32_t* slots          # 0 free, else item + 1
    int32_t* items          # the row of each item
    int64_t num_slots
    uint8_t* spare          # values of one chunk
    ByteVector text         # bytes of strings
    ByteVector words
    ByteVector chunks


cdef struct Form:
    # How a page is written.
    int64_t encoding
    int64_t bits
    bint has_nulls
    int64_t dictionary
    int64_t num_items       # of a dictionary; of a page of one value its bits


cdef void* allocated(int64_t count, int64_t width) except NULL nogil:
    cdef void* memory = malloc(<size_t>checked_size(count, width))
    if memory == NULL:
        out_of_memory()
    return memory


cdef int open_scratch(Scratch* scratch, int64_t rows) except -1 nogil:
    memset(scratch, 0, sizeof(Scratch))
    scratch.num_slots = 16
    while scratch.num_slots < 2 * rows:
        scratch.num_slots *= 2
    scratch.values = <uint8_t*>allocated(rows + 8, 8)
    scratch.levels = <uint16_t*>allocated(rows + 1, sizeof(uint16_t))
    scratch.offsets = <int32_t*>allocated(rows + 1, sizeof(int32_t))
    scratch.counts = <int64_t*>allocated(rows + 1, sizeof(int64_t))
    scratch.indices = <uint32_t*>allocated(rows + 1, sizeof(uint32_t))
    scratch.items = <int32_t*>allocated(rows + 1, sizeof(int32_t))
    scratch.slots = <int32_t*>allocated(scratch.num_slots, sizeof(int32_t))
    scratch.spare = <uint8_t*>allocated(SPARE_BYTES, 1)
    # Strings without bytes have a place, too.
    reserve(&scratch.text, 8)
    return 0


cdef void close_scratch(Scratch* scratch) noexcept nogil:
    free(scratch.values)
    free(scratch.levels)
    free(scratch.offsets)
    free(scratch.counts)
    free(scratch.indices)
    free(scratch.items)
    free(scratch.slots)
    free(scratch.spare)
    free_vector(&scratch.text)
    free_vector(&scratch.words)
    free_vector(&scratch.chunks)


cdef int bits_of(const ArrowSchema* schema) noexcept nogil:
    """Bits of a value by Arrow's format string; VARIABLE for strings, UNKNOWN for all others."""
    cdef const char* format = schema.format
    if schema.dictionary != NULL or schema.n_children != 0 or format[0] == 0:
        return UNKNOWN
    if format[1] == 0:
        if format[0] == c'b':
            return 1
        if format[0] == c'c' or format[0] == c'C':
            return 8
        if format[0] == c's' or format[0] == c'S' or format[0] == c'e':
            return 16
        if format[0] == c'i' or format[0] == c'I' or format[0] == c'f':
            return 32
        if format[0] == c'l' or format[0] == c'L' or format[0] == c'g':
            return 64
        if format[0] == c'u' or format[0] == c'z':
            return VARIABLE
        return UNKNOWN
    if format[0] != c't':
        return UNKNOWN
    if strcmp(format, b"tdD") == 0 or strcmp(format, b"tts") == 0 or strcmp(format, b"ttm") == 0:
        return 32
    if (
        strcmp(format, b"tdm") == 0 or strcmp(format, b"ttu") == 0 or strcmp(format, b"ttn") == 0
        or format[1] == c's' or format[1] == c'D'
    ):
        return 64
    return UNKNOWN


cdef int64_t mark_nulls(Scratch* scratch, const ArrowArray* array) noexcept nogil:
    """Set the level of each row, and count nulls."""
    cdef const uint8_t* validity = <const uint8_t*>array.buffers[0]
    cdef int64_t row, nulls = 0
    if validity == NULL or array.null_count == 0:
        return 0
    # ``levels`` has room for all rows, and the bitmap has a bit for each.
    for row in range(array.length):
        scratch.levels[row] = not bit_at(validity, array.offset + row)
        nulls += scratch.levels[row]
    return nulls


cdef void copy_numbers(
    Scratch* scratch, const ArrowArray* array, int64_t width, bint has_nulls
) noexcept nogil:
    """Values, with zeros where nulls may hide something."""
    cdef int64_t row
    cdef const uint8_t* source = <const uint8_t*>array.buffers[1]
    memcpy(scratch.values, source + array.offset * width, array.length * width)
    if not has_nulls:
        return
    # ``values`` has 8 bytes for each row, and ``width`` is at most 8.
    for row in range(array.length):
        if scratch.levels[row]:
            memset(scratch.values + row * width, 0, width)


cdef void copy_bits(Scratch* scratch, const ArrowArray* array, bint has_nulls) noexcept nogil:
    """Booleans as bits from the first on."""
    cdef int64_t row
    cdef const uint8_t* source = <const uint8_t*>array.buffers[1]
    memset(scratch.values, 0, (array.length + 7) // 8)
    for row in range(array.length):
        if bit_at(source, array.offset + row) and not (has_nulls and scratch.levels[row]):
            scratch.values[row >> 3] |= <uint8_t>(1 << (row & 7))


cdef int64_t copy_strings(
    Scratch* scratch, const ArrowArray* array, bint has_nulls
) except -1 nogil:
    """Offsets and bytes without what nulls hide; returns the longest value."""
    cdef const int32_t* offsets = <const int32_t*>array.buffers[1] + array.offset
    cdef const uint8_t* data = <const uint8_t*>array.buffers[2]
    cdef int64_t row, length, longest = 0, total = 0
    scratch.text.size = 0
    scratch.offsets[0] = 0
    # There are length + 1 offsets, and room for as many. They rise, so that the last one bounds
    # what is read, which validation has compared with the size of the bytes.
    for row in range(array.length):
        length = <int64_t>offsets[row + 1] - offsets[row]
        if length < 0 or offsets[row] < 0:
            invalid_data(b"strings", row, b"offsets fall")
        if has_nulls and scratch.levels[row]:
            length = 0
        longest = max(longest, length)
        total += length
        scratch.offsets[row + 1] = <int32_t>total
    if not has_nulls:
        if total:
            append_bytes(&scratch.text, data + offsets[0], total)
        return longest
    reserve(&scratch.text, total)
    for row in range(array.length):
        length = scratch.offsets[row + 1] - scratch.offsets[row]
        if length:
            memcpy(scratch.text.data + scratch.offsets[row], data + offsets[row], length)
    scratch.text.size = total
    return longest


cdef int64_t packed_size(const uint8_t* values, int64_t rows, int64_t bits) noexcept nogil:
    cdef int64_t first = 0, size = 0, width = bits // 8
    # A group does not go past ``rows``.
    while first < rows:
        size += 128 * width_of(
            values + first * width, <int>bits, min(<int64_t>GROUP, rows - first)) + width
        first += GROUP
    return size


cdef int64_t runs_of(const uint8_t* values, int64_t first, int64_t count, int64_t width) noexcept nogil:
    """The number of runs of at most 255 values, from ``first`` on."""
    cdef int64_t row, length = 0, runs = 0
    for row in range(first, first + count):
        # Value row - 1 is not looked at where ``length`` is 0, which is so for the first.
        if (
            length == 0 or length == LONGEST_RUN
            or memcmp(values + row * width, values + (row - 1) * width, width) != 0
        ):
            runs += 1
            length = 0
        length += 1
    return runs


cdef int64_t run_size(const uint8_t* values, int64_t rows, int64_t width) noexcept nogil:
    cdef int64_t first = 0, runs = 0
    while first < rows:
        runs += runs_of(values, first, min(<int64_t>RUN_CHUNK, rows - first), width)
        first += RUN_CHUNK
    return runs * (width + 1)


cdef int64_t choose(const uint8_t* values, int64_t rows, Form* form) noexcept nogil:
    """The smallest encoding of numbers, the first one on equal sizes; returns its size."""
    cdef int64_t width = form.bits // 8, size, best = rows * width
    form.encoding = PLAIN
    size = packed_size(values, rows, form.bits)
    if size < best:
        best = size
        form.encoding = BIT_PACKED
    size = run_size(values, rows, width)
    if size < best:
        best = size
        form.encoding = RUNS
    return best


cdef inline int64_t string_chunk(const int32_t* offsets, int64_t first, int64_t count) noexcept nogil:
    """Bytes of the offsets and values of a chunk, without padding."""
    return (count + 1) * 4 + offsets[first + count] - offsets[first]


cdef int64_t split_strings(Scratch* scratch, int64_t rows) noexcept nogil:
    """Find the values of each chunk: a power of two, about 4 KiB; returns the size of all."""
    cdef int64_t first = 0, left, count = 2, taken, chunk = 0, size = 0
    cdef const int32_t* offsets = scratch.offsets
    # A chunk has a value at least, so that ``counts``, with room for all rows, is not left.
    while first < rows:
        left = rows - first
        if left <= CHUNK_VALUES and string_chunk(offsets, first, left) <= STRING_CHUNK_BYTES:
            taken = left
        else:
            while count > 2 and (
                count > left or string_chunk(offsets, first, count) > STRING_CHUNK_BYTES
            ):
                count //= 2
            while (
                2 * count <= min(left, <int64_t>CHUNK_VALUES)
                and string_chunk(offsets, first, 2 * count) <= STRING_CHUNK_BYTES
            ):
                count *= 2
            taken = min(count, left)
        scratch.counts[chunk] = taken
        chunk += 1
        size += (string_chunk(offsets, first, taken) + 3) // 4 * 4
        first += taken
    return size


cdef inline uint64_t mixed(uint64_t number) noexcept nogil:
    number = (number ^ (number >> 32)) * <uint64_t>0x9E3779B97F4A7C15
    return number ^ (number >> 29)


cdef uint64_t hash_bytes(const uint8_t* data, int64_t size) noexcept nogil:
    cdef uint64_t word, state = mixed(<uint64_t>size + 1)
    while size >= 8:
        memcpy(&word, data, 8)
        state = mixed(state ^ word)
        data += 8
        size -= 8
    word = 0
    memcpy(&word, data, size)
    return mixed(state ^ word)


cdef int64_t find_items(Scratch* scratch, int64_t rows, bint is_text) noexcept nogil:
    """Number distinct values by their first rows; 0 where a sample says that it does not pay."""
    cdef int64_t row, length, item, num_items = 0, sample = min(rows, <int64_t>SAMPLE_VALUES)
    cdef uint64_t slot, mask = <uint64_t>scratch.num_slots - 1
    cdef const uint8_t* text = scratch.text.data
    cdef const int32_t* offsets = scratch.offsets
    cdef const uint64_t* numbers = <const uint64_t*>scratch.values
    cdef int32_t other
    memset(scratch.slots, 0, scratch.num_slots * sizeof(int32_t))
    # There are twice as many slots as rows, so that each search ends at a free one.
    for row in range(rows):
        if is_text:
            length = offsets[row + 1] - offsets[row]
            slot = hash_bytes(text + offsets[row], length) & mask
        else:
            length = 8
            slot = mixed(numbers[row]) & mask
        while True:
            item = scratch.slots[slot] - 1
            if item < 0:
                if row < sample and num_items >= sample // 2:
                    return 0
                scratch.slots[slot] = <int32_t>num_items + 1
                scratch.items[num_items] = <int32_t>row
                item = num_items
                num_items += 1
                break
            other = scratch.items[item]
            if is_text:
                if (
                    offsets[other + 1] - offsets[other] == length
                    and memcmp(text + offsets[other], text + offsets[row], length) == 0
                ):
                    break
            elif numbers[other] == numbers[row]:
                break
            slot = (slot + 1) & mask
        scratch.indices[row] = <uint32_t>item
    return num_items


cdef int append_padding(ByteVector* out, int64_t multiple, uint8_t byte) except -1 nogil:
    cdef int64_t missing = (-out.size) & (multiple - 1)
    reserve(out, missing)
    # Memory that was reserved; nothing to clear where nothing was ever written.
    if missing:
        memset(out.data + out.size, byte, missing)
        out.size += missing
    return 0


cdef int append_number(ByteVector* out, uint64_t number, int64_t width) except -1 nogil:
    """A number of this many bytes, little-endian."""
    cdef int64_t byte
    reserve(out, width)
    for byte in range(width):
        out.data[out.size] = <uint8_t>(number >> (8 * byte))
        out.size += 1
    return 0


cdef int append_levels(ByteVector* out, const uint16_t* levels, int64_t count) except -1 nogil:
    """Levels of a bit each, in groups of 1,024; a short rest is plain."""
    cdef int64_t first = 0, left
    cdef uint16_t[GROUP] spare
    while first < count:
        left = min(<int64_t>GROUP, count - first)
        if left < GROUP and 128 >= 2 * left:
            append_bytes(out, <const uint8_t*>(levels + first), 2 * left)
        else:
            memset(spare, 0, sizeof(spare))
            memcpy(spare, levels + first, 2 * left)
            reserve(out, 128)
            pack_group(out.data + out.size, spare, 16, 1)
            out.size += 128
        first += left
    return 0


cdef int64_t level_size(int64_t count) noexcept nogil:
    cdef int64_t rest = count % GROUP
    return count // GROUP * 128 + (128 if 128 < 2 * rest else 2 * rest)


cdef int64_t pack_chunk(
    uint8_t* spare, const uint8_t* values, int64_t count, int64_t bits
) noexcept nogil:
    """Write the width and a packed group; returns their size, 8 + 8 KiB at most."""
    cdef int64_t width = bits // 8
    cdef int packed = width_of(values, <int>bits, count)
    cdef uint64_t[GROUP] group
    memset(spare, 0, width)
    spare[0] = <uint8_t>packed
    if packed:
        memset(group, 0, sizeof(group))
        memcpy(group, values, count * width)
        pack_group(spare + width, group, <int>bits, packed)
    return width + 128 * packed


cdef int64_t run_chunk(
    uint8_t* spare, const uint8_t* values, int64_t count, int64_t width
) noexcept nogil:
    """Write the values of runs and then their lengths; returns the number of runs."""
    cdef int64_t row, run = -1, length = 0, num_runs = runs_of(values, 0, count, width)
    # At most 2,048 runs of 9 bytes.
    for row in range(count):
        if (
            length == 0 or length == LONGEST_RUN
            or memcmp(values + row * width, values + (row - 1) * width, width) != 0
        ):
            run += 1
            memcpy(spare + run * width, values + row * width, width)
            length = 0
        length += 1
        spare[num_runs * width + run] = <uint8_t>length
    return num_runs


cdef int64_t string_chunk_into(
    uint8_t* spare, const Scratch* scratch, int64_t first, int64_t count
) noexcept nogil:
    """Write offsets and bytes of strings; returns their size with padding."""
    cdef int64_t index, base = (count + 1) * 4
    cdef int64_t size = string_chunk(scratch.offsets, first, count), padded = (size + 3) // 4 * 4
    cdef uint32_t offset
    for index in range(count + 1):
        offset = <uint32_t>(base + scratch.offsets[first + index] - scratch.offsets[first])
        memcpy(spare + 4 * index, &offset, 4)
    if size > base:
        memcpy(spare + base, scratch.text.data + scratch.offsets[first], size - base)
    memset(spare + size, STRING_PADDING, padded - size)
    return padded


cdef int64_t fitting_count(int64_t bits) noexcept nogil:
    cdef int64_t count = CHUNK_VALUES
    while count > 1 and (count * bits + 7) // 8 > CHUNK_BYTES:
        count //= 2
    return count


cdef int append_chunks(
    Scratch* scratch, const uint8_t* values, int64_t rows, const Form* form, bint large
) except -1 nogil:
    """Write the words and chunks of a page."""
    cdef int64_t first = 0, count, chunk = 0, start, size, second, parts, log, step
    cdef int64_t size_width = 4 if large else 2
    cdef const uint8_t* content
    cdef ByteVector* out = &scratch.chunks
    scratch.words.size = out.size = 0
    if form.encoding == PLAIN:
        step = fitting_count(form.bits)
    elif form.encoding == BIT_PACKED:
        step = GROUP
    else:
        step = RUN_CHUNK
    while first < rows:
        count = min(step, rows - first)
        parts = 1
        second = 0
        content = scratch.spare
        # ``spare`` has room for what each of these writes: see SPARE_BYTES.
        if form.encoding == PLAIN:
            # Chunks that are followed by others have a multiple of 8 values.
            content = values + first * form.bits // 8
            size = (count * form.bits + 7) // 8
        elif form.encoding == BIT_PACKED:
            size = pack_chunk(scratch.spare, values + first * form.bits // 8, count, form.bits)
        elif form.encoding == RUNS:
            parts = 2
            second = run_chunk(
                scratch.spare, values + first * form.bits // 8, count, form.bits // 8)
            size = second * (form.bits // 8)
        else:
            count = scratch.counts[chunk]
            size = string_chunk_into(scratch.spare, scratch, first, count)
        start = out.size
        append_number(out, count if form.has_nulls else 0, 2)
        if form.has_nulls:
            append_number(out, level_size(count), 2)
        append_number(out, size, size_width)
        if parts == 2:
            append_number(out, second, size_width)
        append_padding(out, 8, PADDING)
        if form.has_nulls:
            append_levels(out, scratch.levels + first, count)
            append_padding(out, 8, PADDING)
        append_bytes(out, content, size)
        append_padding(out, 8, PADDING)
        if parts == 2:
            append_bytes(out, scratch.spare + size, second)
            append_padding(out, 8, PADDING)
        first += count
        log = 0
        while first < rows and (2 << log) <= count:
            log += 1
        append_number(&scratch.words, ((out.size - start) // 8 - 1) << 4 | log, size_width)
        chunk += 1
    return 0


cdef int append_items(ByteVector* out, const Scratch* scratch, const Form* form) except -1 nogil:
    """Write the items of a dictionary."""
    cdef int64_t item, row, length, end = 0
    if form.dictionary == NUMBERS_DICTIONARY:
        for item in range(form.num_items):
            append_bytes(out, scratch.values + 8 * <int64_t>scratch.items[item], 8)
        return 0
    append_number(out, 32, 4)
    append_number(out, (form.num_items + 3) * 4, 4)
    append_number(out, 0, 4)
    for item in range(form.num_items):
        row = scratch.items[item]
        end += scratch.offsets[row + 1] - scratch.offsets[row]
        append_number(out, end, 4)
    for item in range(form.num_items):
        row = scratch.items[item]
        length = scratch.offsets[row + 1] - scratch.offsets[row]
        append_bytes(out, scratch.text.data + scratch.offsets[row], length)
    return 0


cdef bint is_one_value(
    const Scratch* scratch, const ArrowArray* array, int bits, bint has_nulls
) noexcept nogil:
    """Whether all rows that are not null have the same value."""
    cdef int64_t row, known = -1, width = bits // 8
    for row in range(array.length):
        if has_nulls and scratch.levels[row]:
            continue
        if known < 0:
            known = row
        elif bits == VARIABLE:
            if (
                scratch.offsets[row + 1] - scratch.offsets[row]
                != scratch.offsets[known + 1] - scratch.offsets[known]
                or memcmp(
                    scratch.text.data + scratch.offsets[row],
                    scratch.text.data + scratch.offsets[known],
                    scratch.offsets[row + 1] - scratch.offsets[row]) != 0
            ):
                return False
        elif bits == 1:
            if bit_at(scratch.values, row) != bit_at(scratch.values, known):
                return False
        elif memcmp(scratch.values + row * width, scratch.values + known * width, width) != 0:
            return False
    return True


cdef int hold_value(Scratch* scratch, int64_t rows, int bits, Form* form) except -1 nogil:
    """The page of a value that all rows have that are not null: levels are its only bytes."""
    cdef int64_t row = 0
    # Not all rows are null, so that the search ends.
    while form.has_nulls and scratch.levels[row]:
        row += 1
    form.encoding = CONSTANT
    if bits == 1:
        form.bits = 8
        form.num_items = bit_at(scratch.values, row)
    else:
        memcpy(&form.num_items, scratch.values + row * (bits // 8), bits // 8)
    scratch.words.size = scratch.chunks.size = 0
    if form.has_nulls:
        append_bytes(&scratch.chunks, <const uint8_t*>scratch.levels, 2 * rows)
    return 0


cdef int encode_column(
    Scratch* scratch, const ArrowArray* array, int bits, bint large, Form* form
) except -1 nogil:
    """Choose how a column is written, and write its words and chunks; LEFT if others have to."""
    cdef int64_t rows = array.length, nulls, size, longest, saved
    cdef const uint8_t* values = scratch.values
    cdef Form indices
    form.encoding = LEFT
    form.bits = bits
    form.dictionary = NO_DICTIONARY
    form.num_items = 0
    nulls = mark_nulls(scratch, array)
    form.has_nulls = nulls > 0
    if nulls == rows:
        form.encoding = ALL_NULL
        return 0
    if bits == VARIABLE:
        longest = copy_strings(scratch, array, form.has_nulls)
        if longest >= LONG_VALUE or (
            scratch.text.size >= FSST_BYTES and longest >= FSST_LONGEST
        ):
            return 0
    elif bits == 1:
        copy_bits(scratch, array, form.has_nulls)
    else:
        copy_numbers(scratch, array, bits // 8, form.has_nulls)
    # Version 2.2 has pages of one value.
    if large and is_one_value(scratch, array, bits, form.has_nulls):
        if bits != VARIABLE:
            hold_value(scratch, rows, bits, form)
        return 0
    if bits == VARIABLE:
        form.bits = 32
        form.encoding = STRINGS
        size = split_strings(scratch, rows)
    elif bits == 1:
        form.encoding = PLAIN
        size = 0
    else:
        size = choose(values, rows, form)
    if (bits == VARIABLE or bits == 64) and rows >= DICTIONARY_VALUES:
        form.num_items = find_items(scratch, rows, bits == VARIABLE)
        if 0 < form.num_items <= DICTIONARY_ITEMS:
            longest = 1
            while form.num_items - 1 >> longest:
                longest += 1
            saved = rows * longest // 8
            if bits == VARIABLE:
                for longest in range(form.num_items):
                    saved += (
                        scratch.offsets[scratch.items[longest] + 1]
                        - scratch.offsets[scratch.items[longest]])
                saved += (form.num_items + 1) * 4
            else:
                saved += form.num_items * 8
            if <double>saved < DICTIONARY_SAVES * <double>size:
                if bits == 64 and form.num_items > GROUP:
                    # Such items may be packed themselves.
                    form.encoding = LEFT
                    return 0
                form.dictionary = (
                    STRINGS_DICTIONARY if bits == VARIABLE else NUMBERS_DICTIONARY)
                form.bits = 32
                values = <const uint8_t*>scratch.indices
                choose(values, rows, form)
        if form.dictionary == NO_DICTIONARY:
            form.num_items = 0
    append_chunks(scratch, values, rows, form, large)
    return 0


cdef int append_page(
    ByteVector* out, Scratch* scratch, const Form* form, int64_t* sizes
) except -1 nogil:
    """Append the buffers of a page, each padded to 64 bytes; sizes of those that it lacks are -1."""
    cdef int64_t start
    sizes[0] = sizes[1] = sizes[2] = -1
    if form.encoding == LEFT or form.encoding == ALL_NULL or (
        form.encoding == CONSTANT and not form.has_nulls
    ):
        return 0
    sizes[0] = scratch.words.size
    append_bytes(out, scratch.words.data, scratch.words.size)
    append_padding(out, ALIGNMENT, BUFFER_PADDING)
    sizes[1] = scratch.chunks.size
    append_bytes(out, scratch.chunks.data, scratch.chunks.size)
    append_padding(out, ALIGNMENT, BUFFER_PADDING)
    if form.dictionary != NO_DICTIONARY:
        start = out.size
        append_items(out, scratch, form)
        sizes[2] = out.size - start
        append_padding(out, ALIGNMENT, BUFFER_PADDING)
    return 0


cdef bint is_taken(const ArrowArray* column, int bits, int64_t rows, int64_t page_bytes) noexcept nogil:
    """Whether a column is one page of a type that is handled here."""
    cdef int64_t size
    cdef const int32_t* offsets
    if bits == UNKNOWN or column.length != rows or column.n_buffers != (3 if bits == VARIABLE else 2):
        return False
    if column.buffers[1] == NULL:
        return False
    if bits == VARIABLE:
        offsets = <const int32_t*>column.buffers[1] + column.offset
        size = <int64_t>offsets[rows] - offsets[0] + 4 * (rows + 1)
        if column.buffers[2] == NULL and offsets[rows] != offsets[0]:
            return False
    else:
        size = (rows * bits + 7) // 8
    # With the bitmap of nulls, which may or may not be counted.
    return size + rows // 8 + 16 <= page_bytes


def encode_pages(
    object schema, object batch, bint large, int64_t page_bytes, int64_t[:, ::1] sizes,
    int64_t[:, ::1] forms
):
    """Write a page for each column of a batch that this kernel handles.

    Parameters
    ----------
    schema, batch : PyCapsule
        The batch, as ``__arrow_c_array__`` exports it.
    large : bool
        Whether chunks are those of version 2.2.
    page_bytes : int
        Columns of about this size or more are left to the caller.
    sizes : array of int64, columns x 3
        Gets the sizes of the buffers of each page: words, chunks, dictionary; -1 for none. A page
        of one value has an empty buffer and levels, if there are nulls.
    forms : array of int64, columns x 5
        Gets the encoding (0 for columns left to the caller), the bits of a value, whether there
        are nulls, the kind of the dictionary and its number of items, or the only value.

    Returns
    -------
    bytes
        The buffers one behind the other, each padded to 64 bytes.
    """
    cdef const ArrowSchema* fields = <const ArrowSchema*>PyCapsule_GetPointer(
        schema, b"arrow_schema")
    cdef const ArrowArray* array = <const ArrowArray*>PyCapsule_GetPointer(batch, b"arrow_array")
    cdef int64_t column, rows = array.length
    cdef int bits
    cdef Scratch scratch
    cdef ByteVector out
    cdef Form form
    memset(&out, 0, sizeof(ByteVector))
    memset(&scratch, 0, sizeof(Scratch))
    if (
        array.n_children != fields.n_children or array.offset != 0
        or sizes.shape[0] != array.n_children or forms.shape[0] != array.n_children
        or sizes.shape[1] != 3 or forms.shape[1] != 5
    ):
        invalid_data(b"a batch", 0, b"arrays of different lengths")
    forms[:, :] = 0
    sizes[:, :] = -1
    if rows < 1 or rows > MAX_ROWS:
        return b""
    try:
        with nogil:
            open_scratch(&scratch, rows)
            for column in range(array.n_children):
                bits = bits_of(fields.children[column])
                if not is_taken(array.children[column], bits, rows, page_bytes):
                    continue
                encode_column(&scratch, array.children[column], bits, large, &form)
                append_page(&out, &scratch, &form, &sizes[column, 0])
                forms[column, 0] = form.encoding
                forms[column, 1] = form.bits
                forms[column, 2] = form.has_nulls
                forms[column, 3] = form.dictionary
                forms[column, 4] = form.num_items
        return PyBytes_FromStringAndSize(<const char*>out.data, out.size)
    finally:
        close_scratch(&scratch)
        free_vector(&out)
