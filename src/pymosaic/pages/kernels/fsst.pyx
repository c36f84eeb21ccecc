# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""FSST: strings in which pieces of up to 8 bytes became one byte; byte 255 escapes the next one.

In: strings, as offsets and bytes, and symbols. Out: the same strings with pieces replaced by codes
or codes by pieces; or symbols for a sample. Memory: all arrays belong to the caller; the tables of
``train`` and ``compress`` are freed when these end. Safety: offsets are found to rise and to end
inside the data. A code makes at most 8 bytes, all of which are written at once, so that ``out`` with
8 bytes for each byte of the data, and 8 more, is never left. A byte becomes at most two when it is
compressed, for which there is room. Of training: codes are below 511 in tables of 512, and loads of
8 bytes are shortened at the end of a string.
"""

from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, qsort
from libc.string cimport memcpy, memset

from pymosaic.kernels.primitives cimport corrupt, limit_exceeded, out_of_memory
from pymosaic.pages.kernels.bounds cimport invalid_data

ctypedef fused Offset:
    int32_t
    int64_t

cdef enum:
    ESCAPE = 255
    # In the list of codes: the escape, one byte long, and the mark of a byte without a code.
    NO_CODE = 0x81FF
    MAX_SYMBOLS = 255
    # Codes while training: a byte for itself, then the symbols.
    FIRST_SYMBOL = 256
    CODES = 512
    HASH_SLOTS = 2048
    CANDIDATE_SLOTS = 1 << 16
    ROUNDS = 5


cdef int check_strings(
    const Offset[::1] offsets, int64_t size, int64_t num_new_offsets
) except -1 nogil:
    """Raise unless offsets rise, end inside the data, and there are as many new ones."""
    cdef int64_t value
    cdef bint falls = False
    if offsets.shape[0] == 0 or num_new_offsets < offsets.shape[0]:
        return corrupt(b"FSST values", 0, b"arrays of different lengths")
    for value in range(1, offsets.shape[0]):
        falls |= offsets[value] < offsets[value - 1]
    if falls or offsets[0] < 0 or <int64_t>offsets[offsets.shape[0] - 1] > size:
        return corrupt(b"FSST values", 0, b"offsets do not lie inside their data")
    return 0


cdef int check_symbols(
    const uint8_t[::1] symbols, const uint8_t[::1] lengths
) except -1 nogil:
    """Raise unless each symbol has 8 bytes, of which 1 to 8 count, and none is the escape."""
    cdef int64_t number
    if lengths.shape[0] > MAX_SYMBOLS or symbols.shape[0] < 8 * lengths.shape[0]:
        return corrupt(b"FSST symbols", 0, b"too many, or without their bytes")
    for number in range(lengths.shape[0]):
        if not 1 <= lengths[number] <= 8:
            return corrupt(b"FSST symbols", number, b"a wrong length")
    return 0


def expand(
    const uint8_t[::1] symbols, const uint8_t[::1] lengths, const Offset[::1] offsets,
    const uint8_t[::1] data, Offset[::1] new_offsets, uint8_t[::1] out
):
    """Replace codes by their symbols; returns the bytes written.

    ``symbols`` has 8 bytes for each of ``lengths`` (1 to 8). ``out`` has 8 bytes for each byte of
    ``data`` and 8 more.
    """
    cdef int64_t value, count = offsets.shape[0] - 1, position, end, written = 0
    cdef uint8_t code
    cdef uint8_t[256 * 8] table
    cdef uint8_t[256] steps
    memset(table, 0, sizeof(table))
    memset(steps, 0, sizeof(steps))
    check_strings(offsets, data.shape[0], new_offsets.shape[0])
    check_symbols(symbols, lengths)
    if out.shape[0] < 8 or data.shape[0] > (out.shape[0] - 8) // 8:
        corrupt(b"FSST values", 0, b"there is no room for the strings")
    memcpy(table, &symbols[0], 8 * lengths.shape[0])
    memcpy(steps, &lengths[0], lengths.shape[0])
    with nogil:
        new_offsets[0] = 0
        # Offsets rise and end inside ``data``, so that each of its bytes is read once at most. A
        # code adds at most 8 to ``written``, which is thus at most 8 for each byte read before; the
        # 8 bytes of a symbol end at most where ``out`` does. ``table`` has 8 bytes for every value
        # of a byte.
        for value in range(count):
            position = offsets[value]
            end = offsets[value + 1]
            while position < end:
                code = data[position]
                position += 1
                if code != ESCAPE:
                    if steps[code] == 0:
                        corrupt(b"FSST values", position - 1, b"a code without a symbol")
                    memcpy(&out[written], &table[8 * code], 8)
                    written += steps[code]
                else:
                    if position == end:
                        corrupt(b"FSST values", position - 1, b"an escape at the end of a value")
                    out[written] = data[position]
                    position += 1
                    written += 1
            new_offsets[value + 1] = <Offset>written
        # Offsets of 32 bits may have wrapped, if this is so; they were stored, but not followed.
        if Offset is int32_t:
            if written > INT32_MAX:
                limit_exceeded(b"FSST values", 0, b"more bytes than 32-bit offsets can say")
    return written


cdef struct Symbol:
    uint64_t value
    int length


cdef struct Table:
    Symbol[MAX_SYMBOLS] symbols
    int count
    # Symbol numbers, less one where there is none: of one byte, of two, and of three or more by the
    # hash of their first three bytes.
    int16_t[256] single
    int16_t[65536] double
    int16_t[HASH_SLOTS] long


cdef struct LongCode:
    # A word begins with the symbol if the bits of the mask are these; without a symbol none does.
    uint64_t value
    uint64_t mask
    uint32_t code
    uint32_t length


cdef struct Codes:
    # What a table says of a word of which all 8 bytes belong to the string, looked up without
    # branches: symbols of three bytes or more by their hash, and for the first two bytes the code,
    # the length (shifted by 8) and whether the byte has no code.
    LongCode[HASH_SLOTS] long
    uint16_t[65536] short


cdef struct Candidate:
    uint64_t value
    int64_t gain
    int length


cdef inline uint64_t mask_of(int length) noexcept nogil:
    return <uint64_t>-1 if length == 8 else (<uint64_t>1 << (8 * length)) - 1


cdef inline uint32_t hash_of(uint64_t value) noexcept nogil:
    return <uint32_t>(((value & 0xFFFFFF) * 0x9E3779B97F4A7C15u) >> 53) & (HASH_SLOTS - 1)


cdef inline uint64_t load_up_to_8(const uint8_t* source, int64_t left) noexcept nogil:
    cdef uint64_t value = 0
    memcpy(&value, source, 8 if left >= 8 else left)
    return value


cdef inline int longest_match(const Table* table, uint64_t value, int64_t left) noexcept nogil:
    """The number of the longest symbol that the bytes begin with, or -1."""
    cdef int number
    if left >= 3:
        number = table.long[hash_of(value)]
        if (
            number >= 0 and table.symbols[number].length <= left
            and table.symbols[number].value == (value & mask_of(table.symbols[number].length))
        ):
            return number
    if left >= 2:
        number = table.double[value & 0xFFFF]
        if number >= 0:
            return number
    return table.single[value & 0xFF]


cdef void clear_table(Table* table) noexcept nogil:
    memset(table, 0, sizeof(Table))
    memset(table.single, 0xFF, sizeof(table.single))
    memset(table.double, 0xFF, sizeof(table.double))
    memset(table.long, 0xFF, sizeof(table.long))


cdef bint add_symbol(Table* table, uint64_t value, int length) noexcept nogil:
    """Add a symbol, unless the table is full or another has its place."""
    cdef int16_t* place
    if table.count == MAX_SYMBOLS:
        return False
    if length == 1:
        place = &table.single[value]
    elif length == 2:
        place = &table.double[value]
    else:
        place = &table.long[hash_of(value)]
    if place[0] >= 0:
        return False
    place[0] = <int16_t>table.count
    table.symbols[table.count].value = value
    table.symbols[table.count].length = length
    table.count += 1
    return True


cdef void list_codes(const Table* table, Codes* codes) noexcept nogil:
    cdef int first_bytes, number, slot
    cdef int length
    for slot in range(HASH_SLOTS):
        number = table.long[slot]
        codes.long[slot].value = 1
        codes.long[slot].mask = 0
        if number >= 0:
            codes.long[slot].value = table.symbols[number].value
            codes.long[slot].mask = mask_of(table.symbols[number].length)
            codes.long[slot].code = <uint32_t>number
            codes.long[slot].length = <uint32_t>table.symbols[number].length
    for first_bytes in range(65536):
        number = table.double[first_bytes]
        length = 2
        if number < 0:
            number = table.single[first_bytes & 0xFF]
            length = 1
        codes.short[first_bytes] = <uint16_t>(number | length << 8 if number >= 0 else NO_CODE)


cdef int by_falling_gain(const void* left, const void* right) noexcept nogil:
    cdef const Candidate* a = <const Candidate*>left
    cdef const Candidate* b = <const Candidate*>right
    if a.gain != b.gain:
        return 1 if a.gain < b.gain else -1
    # The same strings always give the same table.
    if a.value != b.value:
        return 1 if a.value > b.value else -1
    return a.length - b.length


cdef void propose(
    Candidate* candidates, uint64_t value, int length, int64_t gain
) noexcept nogil:
    cdef uint64_t slot = (value * 0x9E3779B97F4A7C15u + <uint64_t>length) >> 48
    cdef int tries
    # The hash has 16 bits, as many as number the slots, and steps wrap around.
    for tries in range(64):
        if candidates[slot].length == 0:
            candidates[slot].value = value
            candidates[slot].length = length
        if candidates[slot].value == value and candidates[slot].length == length:
            candidates[slot].gain += gain
            return
        slot = (slot + 1) & (CANDIDATE_SLOTS - 1)


cdef inline void piece_of(
    const Table* table, int code, uint64_t* value, int* length
) noexcept nogil:
    if code < FIRST_SYMBOL:
        value[0] = code
        length[0] = 1
    else:
        value[0] = table.symbols[code - FIRST_SYMBOL].value
        length[0] = table.symbols[code - FIRST_SYMBOL].length


cdef void count_codes(
    const Table* table, const uint8_t* text, const int64_t* ends, int64_t num_pieces,
    uint32_t* singles, uint16_t* pairs
) noexcept nogil:
    """How often each code, and each pair of codes, is used on the sample."""
    cdef int64_t piece, position = 0, end
    cdef uint64_t value
    cdef int number, code, previous
    for piece in range(num_pieces):
        end = ends[piece]
        previous = -1
        # ``ends`` rise and the last is the end of the text; loads stop at ``end``, and a match is
        # not longer than what is left. With 255 symbols at most, a code is below 511 < CODES.
        while position < end:
            value = load_up_to_8(text + position, end - position)
            number = longest_match(table, value, end - position)
            if number >= 0:
                code = FIRST_SYMBOL + number
                position += table.symbols[number].length
            else:
                code = <int>(value & 0xFF)
                position += 1
            singles[code] += 1
            if previous >= 0 and pairs[previous * CODES + code] < 0xFFFF:
                pairs[previous * CODES + code] += 1
            previous = code


cdef void improve(
    Table* table, const uint32_t* singles, const uint16_t* pairs, Candidate* candidates
) noexcept nogil:
    """Choose the symbols anew: those in use, and pairs of them, by the bytes that they cover."""
    cdef int left, right, left_length, right_length, length
    cdef uint64_t left_value, right_value
    cdef int64_t index, count = 0
    memset(candidates, 0, CANDIDATE_SLOTS * sizeof(Candidate))
    # piece_of is given only codes that count_codes has seen: bytes, and symbols of the table.
    for left in range(CODES):
        if singles[left] == 0:
            continue
        piece_of(table, left, &left_value, &left_length)
        # A single byte without a code takes two: it counts for more than it covers.
        propose(candidates, left_value, left_length,
                <int64_t>singles[left] * (8 if left_length == 1 else left_length))
        if left_length == 8:
            continue
        for right in range(CODES):
            if pairs[left * CODES + right] < 2 or singles[right] == 0:
                continue
            piece_of(table, right, &right_value, &right_length)
            length = min(8, left_length + right_length)
            propose(candidates, (left_value | right_value << (8 * left_length)) & mask_of(length),
                    length, <int64_t>pairs[left * CODES + right] * length)
    # ``count`` is never above ``index``: candidates move down in place.
    for index in range(CANDIDATE_SLOTS):
        if candidates[index].length:
            candidates[count] = candidates[index]
            count += 1
    qsort(candidates, count, sizeof(Candidate), by_falling_gain)
    clear_table(table)
    # Values are masked to their length, so that one or two bytes are an index of their table.
    for index in range(count):
        if table.count == MAX_SYMBOLS:
            break
        add_symbol(table, candidates[index].value, candidates[index].length)


def train(const uint8_t[::1] sample, const int64_t[::1] ends, uint8_t[::1] symbols,
          uint8_t[::1] lengths):
    """Find symbols for strings like those in the sample; returns their number.

    ``ends`` tells where each string of the sample ends; there is room for 255 symbols.
    """
    cdef Table* table = <Table*>calloc(1, sizeof(Table))
    cdef uint32_t* singles = <uint32_t*>calloc(CODES, sizeof(uint32_t))
    cdef uint16_t* pairs = <uint16_t*>calloc(CODES * CODES, sizeof(uint16_t))
    cdef Candidate* candidates = <Candidate*>calloc(CANDIDATE_SLOTS, sizeof(Candidate))
    cdef int number, turn
    cdef int64_t piece, previous = 0
    try:
        for piece in range(ends.shape[0]):
            if ends[piece] < previous or ends[piece] > sample.shape[0]:
                invalid_data(b"FSST sample", piece, b"a string does not lie inside it")
            previous = ends[piece]
        if symbols.shape[0] < 8 * MAX_SYMBOLS or lengths.shape[0] < MAX_SYMBOLS:
            invalid_data(b"FSST symbols", 0, b"there is no room for 255")
        if table == NULL or singles == NULL or pairs == NULL or candidates == NULL:
            out_of_memory()
        with nogil:
            clear_table(table)
            for turn in range(ROUNDS):
                memset(singles, 0, CODES * sizeof(uint32_t))
                memset(pairs, 0, CODES * CODES * sizeof(uint16_t))
                if sample.shape[0] and ends.shape[0]:
                    count_codes(table, &sample[0], &ends[0], ends.shape[0], singles, pairs)
                improve(table, singles, pairs, candidates)
            # add_symbol stops at 255 symbols, for which both outputs have room.
            for number in range(table.count):
                memcpy(&symbols[8 * number], &table.symbols[number].value, 8)
                lengths[number] = <uint8_t>table.symbols[number].length
        return table.count
    finally:
        free(table)
        free(singles)
        free(pairs)
        free(candidates)


def compress(
    const uint8_t[::1] symbols, const uint8_t[::1] lengths, const Offset[::1] offsets,
    const uint8_t[::1] data, Offset[::1] new_offsets, uint8_t[::1] out
):
    """Replace pieces by their codes; returns the bytes written.

    ``out`` has two bytes for each byte of the data.
    """
    cdef Table* table = <Table*>calloc(1, sizeof(Table))
    cdef Codes* codes = <Codes*>calloc(1, sizeof(Codes))
    cdef const LongCode* long_code
    cdef const uint8_t* text = NULL
    cdef uint8_t* target = NULL
    cdef bint is_long
    cdef uint32_t short_code
    cdef int64_t value_number, position, end, written = 0, count = offsets.shape[0] - 1
    cdef int64_t last_word = data.shape[0] - 8
    cdef int number
    cdef uint64_t value
    try:
        if table == NULL or codes == NULL:
            out_of_memory()
        check_strings(offsets, data.shape[0], new_offsets.shape[0])
        check_symbols(symbols, lengths)
        if data.shape[0] > out.shape[0] // 2:
            invalid_data(b"FSST values", 0, b"there is no room for the strings")
        with nogil:
            clear_table(table)
            # A symbol keeps its number only if each one before it found a place. Its value is cut to
            # its length, so that one or two bytes are an index of their table.
            for number in range(lengths.shape[0]):
                memcpy(&value, &symbols[8 * number], 8)
                if not add_symbol(table, value & mask_of(lengths[number]), lengths[number]):
                    invalid_data(b"FSST symbols", number, b"two in one place")
            list_codes(table, codes)
            if data.shape[0]:
                text = &data[0]
                target = &out[0]
            new_offsets[0] = 0
            # Offsets rise and end inside ``data``: each of its bytes is read once. Loads stop at
            # ``end``, and a match is not longer than what is left. A byte adds at most two to
            # ``written``, and ``out`` has two for each byte of the data; so the second one, which is
            # stored in any case and counts only after ESCAPE, has a place too.
            for value_number in range(count):
                position = offsets[value_number]
                end = offsets[value_number + 1]
                while end - position >= 8:
                    memcpy(&value, text + position, 8)
                    long_code = &codes.long[hash_of(value)]
                    short_code = codes.short[value & 0xFFFF]
                    is_long = long_code.value == (value & long_code.mask)
                    target[written] = <uint8_t>(long_code.code if is_long else short_code)
                    target[written + 1] = <uint8_t>value
                    written += 1 + (0 if is_long else short_code >> 15)
                    position += long_code.length if is_long else (short_code >> 8) & 3
                while position < end:
                    if position <= last_word:
                        # All 8 bytes are in ``data``; those of the next string are cleared.
                        memcpy(&value, &data[position], 8)
                        if end - position < 8:
                            value &= mask_of(<int>(end - position))
                    else:
                        value = load_up_to_8(&data[position], end - position)
                    number = longest_match(table, value, end - position)
                    if number >= 0:
                        out[written] = <uint8_t>number
                        written += 1
                        position += table.symbols[number].length
                    else:
                        out[written] = ESCAPE
                        out[written + 1] = data[position]
                        written += 2
                        position += 1
                new_offsets[value_number + 1] = <Offset>written
            if Offset is int32_t:
                if written > INT32_MAX:
                    limit_exceeded(b"FSST values", 0, b"more bytes than 32-bit offsets can say")
        return written
    finally:
        free(table)
        free(codes)
