# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""How column names are written: front coding, with byte pair encoding where that is smaller.

In: the names of a catalog, sorted. Out: ``EncodedNames``, from which
:mod:`pymosaic.kernels.schema_content` writes the names: their symbols, and how many of them each
shares with the name before. Training is exact (the same names always give the same rules, those of
the reference), but counts pairs once: a merge then changes the counts around the places that it
replaced.

Memory: ``EncodedNames`` owns its arrays, among them a copy of the names in which pairs are
replaced. Without byte pairs it points into the catalog, which it keeps alive.

Safety: the names are the catalog's own, of which every length is known. A merge makes a name
shorter and never longer, so that it is done in place. There is a count for each of the 65,536 pairs
that two bytes can make.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr

from pymosaic.kernels.primitives cimport (
    checked_size, copy_bytes, is_ascii, out_of_memory, varint_length,
)

cdef enum:
    MAX_RULES = 128
    FIRST_TOKEN = 0x80


cdef class EncodedNames:
    def __cinit__(self):
        self.num_rules = 0

    def __dealloc__(self):
        free(self.work)
        free(self.offsets)
        free(self.lengths)
        free(self.shared)


cdef int64_t front_code(EncodedNames names, const uint8_t* blob) noexcept nogil:
    """Fill ``shared`` for the names in ``blob``; returns the bytes that they take."""
    cdef int64_t column, common, longest, length, total = 0
    cdef const uint8_t* name
    cdef const uint8_t* previous = NULL
    cdef int64_t previous_length = 0
    for column in range(names.catalog.num_columns):
        name = blob + names.offsets[column]
        length = names.lengths[column]
        longest = length if length < previous_length else previous_length
        common = 0
        # ``longest`` is the length of the shorter name. That of the first is 0: ``previous`` is not
        # read.
        while common < longest and name[common] == previous[common]:
            common += 1
        names.shared[column] = common
        total += (varint_length(<uint32_t>common) + varint_length(<uint32_t>(length - common))
                  + length - common)
        previous = name
        previous_length = length
    return total


cdef inline uint32_t pair_of(uint8_t left, uint8_t right) noexcept nogil:
    return (<uint32_t>left << 8) | right


cdef void count_pairs(uint32_t* counts, const uint8_t* name, int64_t length) noexcept nogil:
    """Count every adjacent pair, overlapping ones too."""
    cdef int64_t i
    for i in range(length - 1):
        counts[pair_of(name[i], name[i + 1])] += 1


cdef int64_t merge_pair(
    uint32_t* counts, uint8_t* name, int64_t length, uint8_t left, uint8_t right, uint8_t token,
    int64_t first
) noexcept nogil:
    """Replace the pair left to right, from its first place on; returns the new length.

    Counts change where a pair touches a replaced place: those gone are taken off, those with the
    token added. Two neighbouring places share the pair between them, so each adds its left one.
    """
    cdef int64_t source = first, target = first, last_end = -1
    # target <= source throughout, so nothing is overwritten before it is read. Reads at source + 2
    # and source + 3 are behind checks against the length.
    while source < length:
        if source + 1 == length or name[source] != left or name[source + 1] != right:
            name[target] = name[source]
            target += 1
            source += 1
            continue
        counts[pair_of(left, right)] -= 1
        if target:
            counts[pair_of(name[target - 1], token)] += 1
            if last_end != source:
                counts[pair_of(name[target - 1], left)] -= 1
        if source + 2 < length:
            counts[pair_of(right, name[source + 2])] -= 1
            if not (source + 3 < length and name[source + 2] == left
                    and name[source + 3] == right):
                counts[pair_of(token, name[source + 2])] += 1
        name[target] = token
        target += 1
        source += 2
        last_end = source
    return target


cdef inline int64_t find_pair(
    const uint8_t* name, int64_t length, uint8_t left, uint8_t right
) noexcept nogil:
    cdef const uint8_t* place = name
    cdef const uint8_t* last = name + length - 1
    # ``last`` is the last symbol, and the search ends before it: place[1] is always inside the
    # name.
    while place < last:
        place = <const uint8_t*>memchr(place, left, <size_t>(last - place))
        if place == NULL:
            return -1
        if place[1] == right:
            return place - name
        place += 1
    return -1


cdef int train(EncodedNames names) except -1 nogil:
    """Learn up to 128 rules, turning the names in ``work`` into symbols."""
    cdef int64_t column, first, pair, best
    cdef uint8_t* name
    cdef uint8_t left, right
    cdef uint32_t* counts = <uint32_t*>calloc(1 << 16, sizeof(uint32_t))
    if counts == NULL:
        return out_of_memory()
    for column in range(names.catalog.num_columns):
        count_pairs(counts, names.work + names.offsets[column], names.lengths[column])
    while names.num_rules < MAX_RULES:
        best = (1 << 16) - 1
        # From the top, so that ties go to the larger left symbol, then the larger right one.
        for pair in range((1 << 16) - 2, -1, -1):
            if counts[pair] > counts[best]:
                best = pair
        if counts[best] < 2:
            break
        left = <uint8_t>(best >> 8)
        right = <uint8_t>(best & 0xFF)
        names.rules[2 * names.num_rules] = left
        names.rules[2 * names.num_rules + 1] = right
        for column in range(names.catalog.num_columns):
            name = names.work + names.offsets[column]
            first = find_pair(name, names.lengths[column], left, right)
            if first >= 0:
                names.lengths[column] = merge_pair(
                    counts, name, names.lengths[column], left, right,
                    <uint8_t>(FIRST_TOKEN + names.num_rules), first)
        names.num_rules += 1
    free(counts)
    return 0


cdef EncodedNames encode_names(Catalog catalog):
    """Encode the names of a catalog the smaller way."""
    cdef EncodedNames names = EncodedNames.__new__(EncodedNames)
    cdef int64_t column, raw_size, encoded_size
    cdef size_t array_size = <size_t>checked_size(catalog.num_columns + 1, sizeof(int64_t))
    cdef size_t size = <size_t>catalog.names_blob.size
    names.catalog = catalog
    names.blob = catalog.names_blob.data
    names.offsets = <int64_t*>malloc(array_size)
    names.lengths = <int64_t*>malloc(array_size)
    names.shared = <int64_t*>malloc(array_size)
    if names.offsets == NULL or names.lengths == NULL or names.shared == NULL:
        raise MemoryError
    for column in range(catalog.num_columns):
        names.offsets[column] = catalog.name_offsets[column]
        names.lengths[column] = catalog.name_offsets[column + 1] - catalog.name_offsets[column]
    with nogil:
        raw_size = front_code(names, names.blob)
        if size and is_ascii(names.blob, size):
            names.work = <uint8_t*>malloc(size)
            if names.work == NULL:
                out_of_memory()
            copy_bytes(names.work, names.blob, size)
            train(names)
            encoded_size = front_code(names, names.work)
            if names.num_rules and 1 + 2 * names.num_rules + encoded_size < raw_size:
                names.blob = names.work
            else:
                names.num_rules = 0
                for column in range(catalog.num_columns):
                    names.lengths[column] = (
                        catalog.name_offsets[column + 1] - catalog.name_offsets[column])
                front_code(names, names.blob)
    return names
