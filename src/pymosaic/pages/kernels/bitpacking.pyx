# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Bit packing in FastLanes order, over all chunks of a page at once.

*Inline*: each chunk starts with a word of the values' width that holds the packed width, then 1,024
packed values. *Out of line*: groups of 1,024 values of one packed width; a tail is padded and
packed where that is smaller than the plain values, else it is plain.

Outputs must start at a multiple of 8 bytes.

In: packed chunks, or values and the widths to pack them to. Out: the other of both. Memory: all
arrays belong to the caller; a group that is not full is unpacked into a spare one on the stack, and
nothing is kept. Safety: chunks are compared with the data that they lie in; before a group is
unpacked, its packed bytes are compared with the size of the chunk and its values with the room that
is left; before one is packed, its values and the room for it. Widths are compared with the bits of
the values.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from pymosaic.kernels.primitives cimport corrupt, load_le16, load_le32, load_le64
from pymosaic.pages.kernels.bounds cimport invalid_data, is_inside


cdef extern from "fastlanes.h" nogil:
    void unpack_group(void* out, const uint8_t* packed, int bits, int width)
    void pack_group(uint8_t* packed, const void* values, int bits, int width)
    int width_of(const void* values, int bits, int64_t count)

cdef enum:
    GROUP = 1024


cdef inline bint is_width(int bits) noexcept nogil:
    return bits == 8 or bits == 16 or bits == 32 or bits == 64


cdef inline int64_t load_width(const uint8_t* source, int bits) noexcept nogil:
    if bits == 8:
        return source[0]
    if bits == 16:
        return load_le16(source)
    if bits == 32:
        return load_le32(source)
    return <int64_t>(load_le64(source) & 0x7FFFFFFF)


def unpack_inline(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes,
    const int64_t[::1] counts, int bits, uint8_t[::1] out
):
    """Unpack chunks that begin with their width; ``out`` holds the sum of ``counts`` values."""
    cdef int64_t chunk, count, size, width, bytes_per_value = bits // 8, position = 0
    cdef uint64_t[GROUP] spare
    cdef const uint8_t* source
    with nogil:
        if not is_width(bits) or counts.shape[0] > min(starts.shape[0], sizes.shape[0]):
            corrupt(b"bit-packed values", 0, b"arrays of different lengths")
        # unpack_group reads 128 * width bytes and writes 1,024 values: into ``out`` where the chunk
        # has as many and there is room for them, else into ``spare``, which holds the widest.
        for chunk in range(counts.shape[0]):
            count = counts[chunk]
            size = sizes[chunk]
            if not is_inside(starts[chunk], size, data.shape[0]):
                corrupt(b"bit-packed values", chunk, b"a chunk does not lie inside the page")
            if count > GROUP or count < 0:
                corrupt(b"bit-packed values", chunk, b"a chunk has more than 1,024 values")
            if size < bytes_per_value:
                corrupt(b"bit-packed values", chunk, b"a chunk has no width")
            source = &data[starts[chunk]]
            width = load_width(source, bits)
            if width > bits:
                corrupt(b"bit-packed values", chunk, b"more bits than the values have")
            if size < bytes_per_value + width * 128:
                corrupt(b"bit-packed values", chunk, b"a chunk is too short for its width")
            if (out.shape[0] - position) // bytes_per_value < count:
                corrupt(b"bit-packed values", chunk, b"more values than announced")
            if count == GROUP:
                unpack_group(&out[position], source + bytes_per_value, bits, <int>width)
            elif count:
                unpack_group(spare, source + bytes_per_value, bits, <int>width)
                memcpy(&out[position], spare, count * bytes_per_value)
            position += count * bytes_per_value


def unpack_groups(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes,
    const int64_t[::1] counts, int bits, int width, uint8_t[::1] out
):
    """Unpack chunks of one width; ``out`` holds the sum of ``counts`` values."""
    cdef int64_t chunk, groups, tail, expected, bytes_per_value = bits // 8, position = 0
    cdef int64_t group_bytes = <int64_t>width * 128, group, available
    cdef uint64_t[GROUP] spare
    cdef const uint8_t* source
    with nogil:
        if (
            not is_width(bits) or not 0 <= width <= bits
            or counts.shape[0] > min(starts.shape[0], sizes.shape[0])
        ):
            corrupt(b"bit-packed values", 0, b"arrays of different lengths, or a wrong width")
        for chunk in range(counts.shape[0]):
            if not is_inside(starts[chunk], sizes[chunk], data.shape[0]):
                corrupt(b"bit-packed values", chunk, b"a chunk does not lie inside the page")
            if counts[chunk] < 0 or (out.shape[0] - position) // bytes_per_value < counts[chunk]:
                corrupt(b"bit-packed values", chunk, b"more values than announced")
            groups = counts[chunk] // GROUP
            tail = counts[chunk] % GROUP
            available = sizes[chunk] - groups * group_bytes
            if available < 0:
                corrupt(b"bit-packed values", chunk, b"a chunk is too short for its values")
            source = &data[starts[chunk]] if sizes[chunk] else NULL
            # The chunk has group_bytes for each whole group, and ``out`` room for all its values. A
            # chunk without bytes gets here with width 0 or without groups: nothing is read then.
            for group in range(groups):
                unpack_group(&out[position], source + group * group_bytes, bits, width)
                position += GROUP * bytes_per_value
            if tail == 0:
                continue
            expected = tail * bytes_per_value
            if group_bytes < expected and available >= group_bytes:
                unpack_group(spare, source + groups * group_bytes, bits, width)
                memcpy(&out[position], spare, expected)
            elif available >= expected:
                memcpy(&out[position], source + groups * group_bytes, expected)
            else:
                corrupt(b"bit-packed values", chunk, b"a chunk is too short for its values")
            position += expected


cdef int check_groups(int bits, int64_t size, int64_t num_groups) except -1 nogil:
    """Raise unless ``size`` bytes are values of these bits, some for each group."""
    if not is_width(bits):
        return invalid_data(b"values to pack", 0, b"a wrong width")
    if num_groups > (size // (bits // 8) + GROUP - 1) // GROUP:
        return invalid_data(b"values to pack", 0, b"more groups than values for them")
    return 0


def measure_groups(const uint8_t[::1] values, int bits, int64_t[::1] widths):
    """Find the packed width of each group of 1,024 values."""
    cdef int64_t group, bytes_per_value = bits // 8, count, total
    with nogil:
        check_groups(bits, values.shape[0], widths.shape[0])
        total = values.shape[0] // bytes_per_value
        # No group goes past ``total``, of which each has a value at least.
        for group in range(widths.shape[0]):
            count = min(<int64_t>GROUP, total - group * GROUP)
            widths[group] = width_of(&values[group * GROUP * bytes_per_value], bits, count)


def pack_inline(
    const uint8_t[::1] values, int bits, const int64_t[::1] widths, uint8_t[::1] out
):
    """Pack groups of 1,024 values, each behind its width; ``out`` has exactly the room."""
    cdef int64_t group, bytes_per_value = bits // 8, count, total, position = 0, width
    cdef uint64_t[GROUP] spare
    with nogil:
        check_groups(bits, values.shape[0], widths.shape[0])
        total = values.shape[0] // bytes_per_value
        # ``out`` is found to have a width and 128 * width bytes for the group, which is what
        # pack_group writes. Every group has values: ``count`` of them, at most 1,024, are left in
        # ``values`` and fit in ``spare``.
        for group in range(widths.shape[0]):
            width = widths[group]
            if not 0 <= width <= bits:
                invalid_data(b"values to pack", group, b"a wrong width")
            if bytes_per_value + 128 * width > out.shape[0] - position:
                invalid_data(b"values to pack", group, b"there is no room for the group")
            memset(&out[position], 0, bytes_per_value)
            out[position] = <uint8_t>width
            position += bytes_per_value
            if width == 0:
                continue
            count = min(<int64_t>GROUP, total - group * GROUP)
            memset(spare, 0, sizeof(spare))
            memcpy(spare, &values[group * GROUP * bytes_per_value], count * bytes_per_value)
            pack_group(&out[position], spare, bits, <int>width)
            position += width * 128


def pack_chunks(
    const uint8_t[::1] values, int bits, int width, const int64_t[::1] counts,
    int64_t[::1] sizes, uint8_t[::1] out
):
    """Pack chunks of any number of values to one width; a short tail is plain.

    ``sizes`` gets the bytes of each chunk; returns those of all. ``out`` has room for as many bytes
    as the values have, and as a group takes.
    """
    cdef int64_t chunk, bytes_per_value = bits // 8, position = 0, written = 0, left, taken, size
    cdef int64_t group_bytes = <int64_t>width * 128, start
    cdef uint64_t[GROUP] spare
    with nogil:
        if not is_width(bits) or not 0 <= width <= bits or sizes.shape[0] < counts.shape[0]:
            invalid_data(b"values to pack", 0, b"arrays of different lengths, or a wrong width")
        for chunk in range(counts.shape[0]):
            left = counts[chunk]
            if left < 0 or left > (values.shape[0] - position) // bytes_per_value:
                invalid_data(b"values to pack", chunk, b"more values than there are")
            start = written
            while left > 0:
                taken = min(left, <int64_t>GROUP)
                # ``taken`` values are left behind ``position``, and fit in ``spare``.
                size = taken * bytes_per_value
                if taken == GROUP or 0 < group_bytes < size:
                    if group_bytes > out.shape[0] - written:
                        invalid_data(b"values to pack", chunk, b"there is no room for the group")
                    if group_bytes:
                        memset(<uint8_t*>spare + size, 0, GROUP * bytes_per_value - size)
                        memcpy(spare, &values[position], size)
                        pack_group(&out[written], spare, bits, width)
                    written += group_bytes
                else:
                    if size > out.shape[0] - written:
                        invalid_data(b"values to pack", chunk, b"there is no room for the rest")
                    memcpy(&out[written], &values[position], size)
                    written += size
                position += size
                left -= taken
            sizes[chunk] = written - start
    return written
