# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Full-zip pages: each item is a control word, for variable width a length, and its bytes.

The control word is ``repetition << bits_def | definition`` in 0, 1, 2 or 4 bytes.

In and out: arrays of the caller, who owns all memory. Safety of reading: each part of an item is
compared with the bytes that are left before it is read, and the number of items with the room for
levels. Values are never larger than the data that they come from, which is how large the caller
made their array.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from pymosaic.kernels.primitives cimport corrupt


cdef inline uint64_t load_word(const uint8_t* source, int width) noexcept nogil:
    cdef uint64_t word = 0
    memcpy(&word, source, width)
    return word


cdef struct Control:
    int width
    int bits_def
    uint64_t def_mask
    uint64_t max_rep
    uint64_t max_def


cdef Control control_of(int width, int bits_def, int max_rep, int max_def) noexcept nogil:
    cdef Control control
    control.width = width
    control.bits_def = bits_def
    control.def_mask = (<uint64_t>1 << bits_def) - 1
    control.max_rep = max_rep
    control.max_def = max_def
    return control


cdef inline int read_control(
    Control* control, const uint8_t* source, int64_t item, uint16_t* rep, uint16_t* definition
) except -1 nogil:
    cdef uint64_t word = load_word(source, control.width)
    if word >> control.bits_def > control.max_rep or (word & control.def_mask) > control.max_def:
        return corrupt(b"full-zip page", item, b"a level that no layer has")
    rep[0] = <uint16_t>(word >> control.bits_def)
    definition[0] = <uint16_t>(word & control.def_mask)
    return 0


def unzip_fixed(
    const uint8_t[::1] data, int control_width, int bits_def, int max_rep, int max_def,
    int max_visible_def, int64_t value_width, uint16_t[::1] rep, uint16_t[::1] definition,
    uint8_t[::1] values
):
    """Take items of fixed width apart, until the data ends.

    An item above ``max_visible_def`` is a control word only. There is room for all levels, and for
    as many values as the data can hold. Returns the numbers of items and of values.
    """
    cdef int64_t position = 0, item = 0, value = 0, size = data.shape[0]
    cdef Control control = control_of(control_width, bits_def, max_rep, max_def)
    with nogil:
        # A control word has a byte at least, so that this ends. Each part is compared with what is
        # left before it is read, and ``item`` with the room in ``rep``; ``definition`` has the
        # same. Values do not overlap in ``data``, and ``values`` is as large.
        while position < size:
            if size - position < control_width:
                corrupt(b"full-zip page", item, b"an item is cut off")
            if item >= rep.shape[0]:
                corrupt(b"full-zip page", item, b"more items than announced")
            read_control(&control, &data[position], item, &rep[item], &definition[item])
            position += control_width
            if definition[item] <= max_visible_def:
                if size - position < value_width:
                    corrupt(b"full-zip page", item, b"an item is cut off")
                if value_width:
                    memcpy(&values[value * value_width], &data[position], value_width)
                position += value_width
                value += 1
            item += 1
    return item, value


def unzip_variable(
    const uint8_t[::1] data, int control_width, int bits_def, int max_rep, int max_def,
    int max_visible_def, int length_width, uint16_t[::1] rep, uint16_t[::1] definition,
    int64_t[::1] offsets, uint8_t[::1] values
):
    """Take items of variable width apart, until the data ends.

    Only valid items have a length and bytes; other visible ones become empty values. Returns the
    numbers of items, of values and of their bytes.
    """
    cdef int64_t position = 0, item = 0, value = 0, end = 0, size = data.shape[0]
    cdef uint64_t length
    cdef Control control = control_of(control_width, bits_def, max_rep, max_def)
    with nogil:
        offsets[0] = 0
        # Where control words have no bytes all levels are 0, and the length moves ``position`` on.
        # Each part is compared with what is left before it is read, and ``item`` with the room in
        # ``rep``; ``definition`` has the same, and ``offsets`` one more, since there are never more
        # values than items. Their bytes do not overlap in ``data``, and ``values`` is as large.
        while position < size:
            if size - position < control_width:
                corrupt(b"full-zip page", item, b"an item is cut off")
            if item >= rep.shape[0]:
                corrupt(b"full-zip page", item, b"more items than announced")
            read_control(&control, &data[position], item, &rep[item], &definition[item])
            position += control_width
            if definition[item] == 0:
                if size - position < length_width:
                    corrupt(b"full-zip page", item, b"an item is cut off")
                length = load_word(&data[position], length_width)
                position += length_width
                if length > <uint64_t>(size - position):
                    corrupt(b"full-zip page", item, b"a value is longer than the data")
                if length:
                    memcpy(&values[end], &data[position], length)
                position += length
                end += length
            if definition[item] <= max_visible_def:
                value += 1
                offsets[value] = end
            item += 1
    return item, value, end


cdef inline void store_word(uint8_t* out, uint64_t word, int width) noexcept nogil:
    memcpy(out, &word, width)


def zip_fixed(
    const uint16_t[::1] rep, const uint16_t[::1] definition, int control_width, int bits_def,
    int max_visible_def, const uint8_t[::1] values, int64_t value_width, int64_t[::1] item_starts,
    uint8_t[::1] out
):
    """Zip levels (of which there may be none) and values; fills where each item starts."""
    cdef int64_t item, position = 0, value = 0, num_items = item_starts.shape[0] - 1
    cdef uint64_t word
    cdef bint has_rep = rep.shape[0] > 0, has_def = definition.shape[0] > 0
    with nogil:
        for item in range(num_items):
            item_starts[item] = position
            word = definition[item] if has_def else 0
            if has_rep:
                word |= <uint64_t>rep[item] << bits_def
            store_word(&out[position], word, control_width)
            position += control_width
            if not has_def or definition[item] <= max_visible_def:
                memcpy(&out[position], &values[value * value_width], value_width)
                position += value_width
                value += 1
        item_starts[num_items] = position
    return position


def zip_variable(
    const uint16_t[::1] rep, const uint16_t[::1] definition, int control_width, int bits_def,
    int max_visible_def, const int64_t[::1] offsets, const uint8_t[::1] values, int length_width,
    int64_t[::1] item_starts, uint8_t[::1] out
):
    """Zip levels (of which there may be none), lengths and values."""
    cdef int64_t item, position = 0, value = 0, length, num_items = item_starts.shape[0] - 1
    cdef uint64_t word
    cdef bint has_rep = rep.shape[0] > 0, has_def = definition.shape[0] > 0
    with nogil:
        for item in range(num_items):
            item_starts[item] = position
            word = definition[item] if has_def else 0
            if has_rep:
                word |= <uint64_t>rep[item] << bits_def
            store_word(&out[position], word, control_width)
            position += control_width
            if not has_def or definition[item] == 0:
                length = offsets[value + 1] - offsets[value]
                store_word(&out[position], <uint64_t>length, length_width)
                position += length_width
                if length:
                    memcpy(&out[position], &values[offsets[value]], length)
                position += length
            if not has_def or definition[item] <= max_visible_def:
                value += 1
        item_starts[num_items] = position
    return position
