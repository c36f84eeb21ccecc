# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Values of variable width in chunks: offsets from the chunk's start, then bytes.

In and out: arrays of the caller, who owns all memory. Safety of reading: ``measure_values``
compares the first and the last offset of a chunk with its size, and ``join_values`` refuses offsets
that go down: all others lie between those two, and the bytes of a chunk are copied at once.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from pymosaic.kernels.primitives cimport corrupt

ctypedef fused Offset:
    int32_t
    int64_t

cdef enum:
    PADDING = 72


cdef inline int64_t load_offset(const uint8_t* source, int64_t index, int width) noexcept nogil:
    cdef uint32_t narrow
    cdef int64_t wide
    if width == 4:
        memcpy(&narrow, source + 4 * index, 4)
        return narrow
    memcpy(&wide, source + 8 * index, 8)
    return wide


def measure_values(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes,
    const int64_t[::1] counts, int width
):
    """Bytes of all values; checks that the offsets of each chunk lie inside it."""
    cdef int64_t chunk, count, total = 0, first, last
    cdef const uint8_t* source
    with nogil:
        for chunk in range(counts.shape[0]):
            count = counts[chunk]
            if count < 0 or sizes[chunk] // width <= count:
                corrupt(b"strings", chunk, b"a chunk is too short for its offsets")
            # The chunk lies inside ``data``, and its size was found to hold offsets 0 to count.
            source = &data[starts[chunk]]
            first = load_offset(source, 0, width)
            last = load_offset(source, count, width)
            if first < (count + 1) * width or last < first or last > sizes[chunk]:
                corrupt(b"strings", chunk, b"offsets do not lie inside their chunk")
            total += last - first
    return total


def join_values(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] counts, int width,
    Offset[::1] offsets, uint8_t[::1] out
):
    """Put the values of measured chunks one behind the other, with offsets from their start."""
    cdef int64_t chunk, index, count, position = 0, value = 0, first, offset, previous
    cdef const uint8_t* source
    with nogil:
        offsets[0] = 0
        for chunk in range(counts.shape[0]):
            count = counts[chunk]
            source = &data[starts[chunk]]
            first = previous = load_offset(source, 0, width)
            # measure_values has found count + 1 offsets here. ``offsets`` has one for each value of
            # all chunks, and one more. Only the first and last of a chunk are used as positions.
            for index in range(1, count + 1):
                offset = load_offset(source, index, width)
                if offset < previous:
                    corrupt(b"strings", chunk, b"offsets go down")
                previous = offset
                value += 1
                offsets[value] = <Offset>(position + offset - first)
            # Both were compared with the size of the chunk; ``out`` has the sum of these ranges.
            if previous > first:
                memcpy(&out[position], source + first, previous - first)
            position += previous - first


def check_offsets(const Offset[::1] offsets, int64_t size):
    """Raise unless offsets rise from 0 at least and end within ``size``."""
    cdef int64_t index, count = offsets.shape[0]
    cdef bint falls = False
    with nogil:
        if count == 0 or offsets[0] < 0 or <int64_t>offsets[count - 1] > size:
            corrupt(b"strings", 0, b"offsets do not lie inside their data")
        # 1 <= index < count, which is the number of offsets.
        for index in range(1, count):
            falls |= offsets[index] < offsets[index - 1]
        if falls:
            corrupt(b"strings", 0, b"offsets go down")


def split_values(
    const Offset[::1] offsets, const uint8_t[::1] values, const int64_t[::1] counts, int width,
    const int64_t[::1] starts, const int64_t[::1] sizes, uint8_t[::1] out
):
    """Write chunks of ``counts`` values at ``starts``, padded to ``sizes`` bytes."""
    cdef int64_t chunk, index, count, first = 0, base, size, offset
    cdef uint32_t narrow
    cdef uint8_t* target
    with nogil:
        for chunk in range(counts.shape[0]):
            count = counts[chunk]
            target = &out[starts[chunk]]
            base = (count + 1) * width
            for index in range(count + 1):
                offset = base + offsets[first + index] - offsets[first]
                if width == 4:
                    narrow = <uint32_t>offset
                    memcpy(target + 4 * index, &narrow, 4)
                else:
                    memcpy(target + 8 * index, &offset, 8)
            size = offsets[first + count] - offsets[first]
            if size:
                memcpy(target + base, &values[offsets[first]], size)
            if sizes[chunk] > base + size:
                memset(target + base + size, PADDING, sizes[chunk] - base - size)
            first += count
