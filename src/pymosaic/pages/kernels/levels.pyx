# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Repetition and definition levels to Arrow validity and offsets, and back.

Layers are given from the outermost to the innermost, which holds the values. A definition level
names the layer at which an item ends (null, or for lists empty); a repetition level names the layer
at which it starts. Bitmaps are Arrow's: least significant bit first, set where valid.

In: levels of a page, or the layers of an Arrow array to write. Out: the other of both. Memory: all
arrays belong to the caller; ``assemble`` frees what it allocates. Safety of reading: counters rise
by at most one per level, and before the loops every bitmap is found to have room for as many
entries as there are levels, and every list of offsets for one more. Levels are compared with the
highest that a layer has: while they are read, or, in the loops without branches, at their end,
where a level is not used as an index. Safety of writing: a slot is compared with the offsets and
the bitmap of its layer before it is looked up, and the items of a list with the room that is left.
"""

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint16_t
from libc.stdlib cimport calloc, free

from pymosaic.kernels.primitives cimport bit_at, corrupt, limit_exceeded, out_of_memory, set_bit
from pymosaic.pages.kernels.bounds cimport invalid_data, is_inside

ctypedef fused Offset:
    int32_t
    int64_t


cdef inline bint has_bits(int64_t count, int64_t num_bytes) noexcept nogil:
    return count <= 8 * num_bytes


def levels_to_validity(
    const uint16_t[::1] definition, int first_null, int max_def, uint8_t[::1] bitmap
):
    """Set a bit for each level below ``first_null``; returns how many are not.

    ``bitmap`` is written as a whole. Raises where a level is above ``max_def``.
    """
    cdef int64_t index = 0, count = definition.shape[0], byte, valid = 0
    cdef uint16_t highest = 0
    cdef int bit
    cdef unsigned int bits
    with nogil:
        if not has_bits(count, bitmap.shape[0]):
            corrupt(b"definition levels", 0, b"more levels than announced")
        for index in range(count):
            highest = max(highest, definition[index])
        if highest > max_def:
            corrupt(b"definition levels", 0, b"a level that no layer has")
        # 8 * byte + 7 < count, and ``bitmap`` was found to have a bit for each level.
        for byte in range(count >> 3):
            bits = 0
            for bit in range(8):
                bits |= <unsigned int>(definition[8 * byte + bit] < first_null) << bit
            bitmap[byte] = <uint8_t>bits
        if count & 7:
            bitmap[count >> 3] = 0
            for index in range(count & ~<int64_t>7, count):
                if definition[index] < first_null:
                    set_bit(&bitmap[0], index)
        for index in range(count):
            valid += definition[index] < first_null
    return count - valid


def assemble_lists(
    const uint16_t[::1] rep, const uint16_t[::1] definition, int max_visible_def, int max_def,
    int first_empty, uint8_t[::1] list_validity, int32_t[::1] offsets, uint8_t[::1] item_validity
):
    """Do what :func:`assemble` does for one layer of lists over one of items, without branches.

    Definition levels from ``first_empty`` on are empty lists, those between ``max_visible_def`` and
    it null ones. Bitmaps are clear, or have no bytes where their layer has no nulls. Returns lists,
    items, null lists and null items.
    """
    cdef int64_t index, num_items = rep.shape[0], lists = 0, items = 0
    cdef int64_t null_lists = 0, null_items = 0
    cdef unsigned int begins, visible, was_open = 0, broken = 0, highest_rep = 0, highest_def = 0
    cdef unsigned int level, is_null
    cdef const uint16_t* reps = NULL
    cdef const uint16_t* definitions = NULL
    cdef int32_t* starts = NULL
    cdef bint has_def = definition.shape[0] > 0
    cdef bint mark_lists = list_validity.shape[0] > 0, mark_items = item_validity.shape[0] > 0
    with nogil:
        if (
            (has_def and definition.shape[0] < num_items) or offsets.shape[0] <= num_items
            or (mark_lists and not has_bits(num_items, list_validity.shape[0]))
            or (mark_items and not has_bits(num_items, item_validity.shape[0]))
        ):
            corrupt(b"repetition levels", 0, b"more levels than announced")
        if num_items > INT32_MAX:
            limit_exceeded(b"repetition levels", 0, b"more items than 32-bit offsets can say")
        # ``definition`` is as long as ``rep``, or empty. Neither ``lists`` nor ``items`` is above
        # ``index``: they rise by 0 or 1, whatever a level is. So bitmaps of num_items bits have
        # room for both, and ``offsets`` with one entry more also for the last one, behind the loop.
        if num_items > 0:
            reps = &rep[0]
            starts = &offsets[0]
        if has_def and num_items > 0:
            definitions = &definition[0]
        if not mark_lists and not mark_items and has_def:
            # The common case in a loop of its own, which is half as long.
            for index in range(num_items):
                begins = reps[index]
                level = definitions[index]
                highest_rep |= begins
                highest_def = max(highest_def, level)
                visible = level <= <unsigned int>max_visible_def
                broken |= (begins ^ 1) & ((visible & was_open) ^ 1)
                starts[lists] = <int32_t>items
                lists += begins & 1
                items += visible
                was_open = visible
        else:
            for index in range(num_items):
                begins = reps[index]
                level = definitions[index] if has_def else 0
                highest_rep |= begins
                highest_def = max(highest_def, level)
                visible = level <= <unsigned int>max_visible_def
                # What continues a list must be a value, and come after one.
                broken |= (begins ^ 1) & ((visible & was_open) ^ 1)
                # Where the list goes on this is the start of the next one, for now.
                starts[lists] = <int32_t>items
                if mark_lists:
                    is_null = (visible ^ 1) & (level < <unsigned int>first_empty)
                    list_validity[lists >> 3] |= <uint8_t>((begins & (is_null ^ 1)) << (lists & 7))
                    null_lists += begins & is_null
                if mark_items:
                    item_validity[items >> 3] |= <uint8_t>((level == 0) << (items & 7))
                    null_items += visible & (level != 0)
                lists += begins & 1
                items += visible
                was_open = visible
        if highest_rep > 1:
            corrupt(b"repetition levels", 0, b"a level that no layer has")
        if highest_def > <unsigned int>max_def:
            corrupt(b"definition levels", 0, b"a level that no layer has")
        if broken:
            corrupt(b"repetition levels", 0, b"a list goes on that was not begun")
        offsets[lists] = <int32_t>items
    return lists, items, null_lists, null_items


cdef struct LayerState:
    bint is_list
    uint8_t* validity
    int32_t* offsets
    int64_t count
    int64_t nulls


def assemble(
    const uint16_t[::1] rep, const uint16_t[::1] definition, const uint8_t[::1] is_list,
    const int32_t[::1] start_of_rep, const int32_t[::1] end_of_def, const uint8_t[::1] is_null,
    uint8_t[:, ::1] validity, int32_t[:, ::1] offsets, int64_t[::1] counts, int64_t[::1] nulls
):
    """Turn levels into validity (a row a layer) and, for lists, offsets.

    Parameters
    ----------
    rep, definition : arrays of uint16
        Levels; ``definition`` may be empty, then all are 0.
    is_list : array of uint8
        For each layer, outermost first, whether it is one of lists.
    start_of_rep, end_of_def : arrays of int32
        The layer at which an item with this level starts or ends; the number of layers where it
        does not end.
    is_null : array of uint8
        For each definition level, whether it means null (else an empty list).
    validity, offsets : arrays
        A row a layer with room for all levels (one more for offsets); ``validity`` is clear.
    counts, nulls : arrays of int64
        Entries and nulls of each layer, filled in.
    """
    cdef int64_t num_items = rep.shape[0], item, entry
    cdef int num_layers = <int>is_list.shape[0], layer, start, end, reach = -1
    cdef int level, highest_rep = <int>start_of_rep.shape[0], highest_def = <int>end_of_def.shape[0]
    cdef bint has_def = definition.shape[0] > 0, inherited
    cdef LayerState* states
    cdef LayerState* state
    states = <LayerState*>calloc(num_layers, sizeof(LayerState))
    if states == NULL:
        out_of_memory()
    try:
        if (
            num_layers == 0 or is_list[num_layers - 1] or (has_def and definition.shape[0] < num_items)
            or is_null.shape[0] < highest_def or validity.shape[0] < num_layers
            or not has_bits(num_items, validity.shape[1]) or offsets.shape[0] < num_layers
            or offsets.shape[1] <= num_items or counts.shape[0] < num_layers
            or nulls.shape[0] < num_layers
        ):
            corrupt(b"repetition levels", 0, b"more levels than announced")
        if num_items > INT32_MAX:
            limit_exceeded(b"repetition levels", 0, b"more items than 32-bit offsets can say")
        for level in range(highest_rep):
            if not 0 <= start_of_rep[level] <= num_layers:
                corrupt(b"repetition levels", level, b"a level that no layer has")
        for layer in range(num_layers):
            states[layer].is_list = is_list[layer]
            states[layer].validity = &validity[layer, 0]
            states[layer].offsets = &offsets[layer, 0]
        with nogil:
            # ``definition`` is as long as ``rep``, or empty. Both levels are compared with the
            # sizes of the tables that they are looked up in (``is_null`` is as long as
            # ``end_of_def``), and layers to start at are 0 to num_layers.
            for item in range(num_items):
                if rep[item] >= highest_rep:
                    corrupt(b"repetition levels", item, b"a level that no layer has")
                level = definition[item] if has_def else 0
                if level >= highest_def:
                    corrupt(b"definition levels", item, b"a level that no layer has")
                start = start_of_rep[rep[item]]
                end = end_of_def[level]
                # What continues a list must find it open: the item before reached below it.
                if start > 0 and reach < start:
                    corrupt(b"repetition levels", item, b"a list goes on that was not begun")
                if end < start:
                    corrupt(b"definition levels", item, b"a null above what the item begins")
                inherited = False
                layer = start
                # An item counts once in a layer at most, so that ``entry`` is not above ``item``: a
                # row has room for it. The innermost layer is never one of lists, so that a list
                # always has a layer + 1.
                while layer < num_layers:
                    state = &states[layer]
                    entry = state.count
                    state.count = entry + 1
                    if state.is_list:
                        state.offsets[entry] = <int32_t>states[layer + 1].count
                        if layer == end or inherited:
                            if inherited or is_null[level]:
                                state.nulls += 1
                            else:
                                set_bit(state.validity, entry)
                            break
                        set_bit(state.validity, entry)
                    else:
                        if layer == end:
                            inherited = True
                        if inherited:
                            state.nulls += 1
                        else:
                            set_bit(state.validity, entry)
                    layer += 1
                reach = layer
            # A count is at most num_items, and a row of offsets has one entry more than that.
            for layer in range(num_layers):
                if states[layer].is_list:
                    states[layer].offsets[states[layer].count] = <int32_t>states[layer + 1].count
        for layer in range(num_layers):
            counts[layer] = states[layer].count
            nulls[layer] = states[layer].nulls
    finally:
        free(states)


def mark_nulls(
    uint16_t[::1] definition, const int64_t[::1] slots, const uint8_t[::1] validity,
    int64_t first_bit, int level
):
    """Give items whose slot is null a level, unless a layer around them has given one."""
    cdef int64_t item, bit, num_bits = 8 * validity.shape[0]
    with nogil:
        if slots.shape[0] < definition.shape[0] or not 0 <= first_bit <= num_bits:
            invalid_data(b"validity", 0, b"arrays of different lengths")
        # There is a slot for each level. A slot is compared with the bits behind ``first_bit``
        # before its own is looked at.
        for item in range(definition.shape[0]):
            if definition[item] == 0 and slots[item] >= 0:
                if slots[item] >= num_bits - first_bit:
                    invalid_data(b"validity", item, b"a slot without a bit")
                bit = first_bit + slots[item]
                if not bit_at(&validity[0], bit):
                    definition[item] = <uint16_t>level


cdef inline int check_slots(
    int64_t num_items, int64_t num_levels, int64_t num_offsets, bint has_nulls, int64_t num_bits,
    int64_t first_bit
) except -1 nogil:
    """Raise unless there are levels for all items, and a bit for every list that has offsets.

    A slot that is below the number of lists then is one of both.
    """
    if num_levels < num_items:
        return invalid_data(b"lists", 0, b"arrays of different lengths")
    if has_nulls and not is_inside(first_bit, max(num_offsets - 1, 0), num_bits):
        return invalid_data(b"lists", 0, b"a list without a bit")
    return 0


def count_expanded(
    const uint16_t[::1] definition, const int64_t[::1] slots, const Offset[::1] offsets,
    const uint8_t[::1] validity, int64_t first_bit
):
    """Items after the lists in ``slots`` are expanded; null and empty ones stay one item."""
    cdef int64_t item, slot, length, total = 0
    cdef bint has_nulls = validity.shape[0] > 0
    with nogil:
        check_slots(slots.shape[0], definition.shape[0], offsets.shape[0], has_nulls,
                    8 * validity.shape[0], first_bit)
        # A slot is compared with the number of lists, which have a bit each if there are nulls,
        # and two offsets, of which the second is not below the first.
        for item in range(slots.shape[0]):
            slot = slots[item]
            if slot >= offsets.shape[0] - 1:
                invalid_data(b"lists", item, b"a slot without offsets")
            if (
                slot < 0 or definition[item] != 0
                or (has_nulls and not bit_at(&validity[0], first_bit + slot))
            ):
                total += 1
            else:
                if offsets[slot] < 0 or offsets[slot + 1] < offsets[slot]:
                    invalid_data(b"lists", item, b"offsets go down")
                length = max(<int64_t>1, <int64_t>offsets[slot + 1] - <int64_t>offsets[slot])
                if length > INT64_MAX - total:
                    invalid_data(b"lists", item, b"more items than can be counted")
                total += length
    return total


def expand_lists(
    const uint16_t[::1] rep, const uint16_t[::1] definition, const int64_t[::1] slots,
    const Offset[::1] offsets, const uint8_t[::1] validity, int64_t first_bit, int continue_level,
    int null_level, int empty_level, uint16_t[::1] new_rep, uint16_t[::1] new_def,
    int64_t[::1] new_slots
):
    """Replace lists by their items; what has none gets a level and the slot -1."""
    cdef int64_t item, slot, value, first, end, position = 0
    cdef bint has_nulls = validity.shape[0] > 0
    cdef uint16_t level
    with nogil:
        check_slots(slots.shape[0], min(definition.shape[0], rep.shape[0]), offsets.shape[0],
                    has_nulls, 8 * validity.shape[0], first_bit)
        if min(new_def.shape[0], new_slots.shape[0]) < new_rep.shape[0]:
            invalid_data(b"lists", 0, b"arrays of different lengths")
        # Slots as in count_expanded. What an item becomes, one item or those of its list, is
        # compared with the room behind ``position`` in ``new_rep``; the others have as much.
        for item in range(slots.shape[0]):
            slot = slots[item]
            if slot >= offsets.shape[0] - 1:
                invalid_data(b"lists", item, b"a slot without offsets")
            if position >= new_rep.shape[0]:
                invalid_data(b"lists", item, b"there is no room for the items")
            level = definition[item]
            new_rep[position] = rep[item]
            first = end = 0
            if slot >= 0 and level == 0:
                if has_nulls and not bit_at(&validity[0], first_bit + slot):
                    level = <uint16_t>null_level
                else:
                    first = offsets[slot]
                    end = offsets[slot + 1]
                    if first < 0 or end < first:
                        invalid_data(b"lists", item, b"offsets go down")
                    if end - first > new_rep.shape[0] - position:
                        invalid_data(b"lists", item, b"there is no room for the items")
                    if end == first:
                        level = <uint16_t>empty_level
            if end == first:
                new_def[position] = level
                new_slots[position] = -1
                position += 1
                continue
            for value in range(first, end):
                if value > first:
                    new_rep[position] = <uint16_t>continue_level
                new_def[position] = 0
                new_slots[position] = value
                position += 1
