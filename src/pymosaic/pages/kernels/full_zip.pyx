# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Full-zip pages: each item is a control word, for variable width a length, and its bytes.

The control word is ``repetition << bits_def | definition`` in 0, 1, 2 or 4 bytes.

In: bytes of a page, or levels and values to write. Out: the same in the other form. Memory: all
arrays belong to the caller; nothing is kept. Safety: each part of an item is compared with the
bytes that are left before it is read, and with the room that is left before it is written; widths
of words and the lengths of all arrays are compared before the loops.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from pymosaic.kernels.primitives cimport corrupt
from pymosaic.pages.kernels.bounds cimport invalid_data, is_inside


cdef inline uint64_t load_word(const uint8_t* source, int width) noexcept nogil:
    cdef uint64_t word = 0
    memcpy(&word, source, width)
    return word


cdef inline bint fits_a_word(int control_width, int bits_def) noexcept nogil:
    """Whether a control word of this width can be read and written as one of 64 bits."""
    return 0 <= control_width <= 4 and 0 <= bits_def <= 16


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
    # Bits that do not fit a word are refused by the caller, once it may raise.
    control.def_mask = (<uint64_t>1 << (bits_def & 63)) - 1
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
        if (
            not fits_a_word(control_width, bits_def) or control_width == 0 or value_width < 0
            or definition.shape[0] < rep.shape[0]
        ):
            corrupt(b"full-zip page", 0, b"widths or arrays that do not fit together")
        # A control word has a byte at least, so that this ends. Each part is compared with what is
        # left before it is read, and with the room that is left before it is written; ``definition``
        # has room for as many levels as ``rep``.
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
                if value_width > values.shape[0] - value * value_width:
                    corrupt(b"full-zip page", item, b"more values than announced")
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
        if (
            not fits_a_word(control_width, bits_def) or (length_width != 4 and length_width != 8)
            or definition.shape[0] < rep.shape[0] or offsets.shape[0] <= rep.shape[0]
        ):
            corrupt(b"full-zip page", 0, b"widths or arrays that do not fit together")
        offsets[0] = 0
        # Where control words have no bytes all levels are 0, and the length moves ``position`` on.
        # Each part is compared with what is left before it is read, and with the room that is left
        # before it is written; ``definition`` has room for as many levels as ``rep``, and
        # ``offsets`` for one more, since there are never more values than items.
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
                if length > <uint64_t>(values.shape[0] - end):
                    corrupt(b"full-zip page", item, b"more values than announced")
                if length:
                    memcpy(&values[end], &data[position], length)
                position += length
                end += length
            if definition[item] <= max_visible_def:
                value += 1
                offsets[value] = end
            item += 1
    return item, value, end


cdef int check_arrays(
    int64_t num_items, int64_t num_rep, int64_t num_def, int control_width, int bits_def
) except -1 nogil:
    """Raise unless levels are there for all items, or for none, and fit in a control word."""
    if (
        num_items < 0 or (num_rep and num_rep < num_items) or (num_def and num_def < num_items)
        or not fits_a_word(control_width, bits_def)
    ):
        return invalid_data(b"full-zip page", 0, b"levels that do not fit the items")
    return 0


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
        check_arrays(num_items, rep.shape[0], definition.shape[0], control_width, bits_def)
        if value_width < 0:
            invalid_data(b"full-zip page", 0, b"a negative width")
        # Levels are there for each item, or there are none. The control word and the value are
        # compared with the room in ``out``, and the value with what is left of ``values``, first.
        for item in range(num_items):
            item_starts[item] = position
            word = definition[item] if has_def else 0
            if has_rep:
                word |= <uint64_t>rep[item] << bits_def
            if control_width > out.shape[0] - position:
                invalid_data(b"full-zip page", item, b"there is no room for the item")
            store_word(&out[position], word, control_width)
            position += control_width
            if not has_def or definition[item] <= max_visible_def:
                if value_width > values.shape[0] - value * value_width:
                    invalid_data(b"full-zip page", item, b"fewer values than items")
                if value_width > out.shape[0] - position:
                    invalid_data(b"full-zip page", item, b"there is no room for the item")
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
        check_arrays(num_items, rep.shape[0], definition.shape[0], control_width, bits_def)
        if length_width != 4 and length_width != 8:
            invalid_data(b"full-zip page", 0, b"lengths of neither 4 nor 8 bytes")
        # As above; two offsets are compared with the values before their bytes are copied.
        for item in range(num_items):
            item_starts[item] = position
            word = definition[item] if has_def else 0
            if has_rep:
                word |= <uint64_t>rep[item] << bits_def
            if control_width > out.shape[0] - position:
                invalid_data(b"full-zip page", item, b"there is no room for the item")
            store_word(&out[position], word, control_width)
            position += control_width
            if not has_def or definition[item] == 0:
                if value >= offsets.shape[0] - 1:
                    invalid_data(b"full-zip page", item, b"fewer values than items")
                length = offsets[value + 1] - offsets[value]
                if not is_inside(offsets[value], length, values.shape[0]):
                    invalid_data(b"full-zip page", item, b"offsets do not lie inside their data")
                if not is_inside(position + length_width, length, out.shape[0]):
                    invalid_data(b"full-zip page", item, b"there is no room for the item")
                store_word(&out[position], <uint64_t>length, length_width)
                position += length_width
                if length:
                    memcpy(&out[position], &values[offsets[value]], length)
                position += length
            if not has_def or definition[item] <= max_visible_def:
                value += 1
        item_starts[num_items] = position
    return position
