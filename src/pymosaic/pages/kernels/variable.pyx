# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Values of variable width in chunks: offsets from the chunk's start, then bytes.

In: bytes of a file and where its chunks are, or offsets and values to write. Out: the same in the
other form. Memory: all arrays belong to the caller; nothing is kept. Safety: the offsets of a chunk
are compared with its size, and offsets that go down are refused; so all others lie between the
first and the last, and the bytes of a chunk are copied at once. Chunks are compared with the array
that they lie in, and outputs with what is written to them.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from pymosaic.kernels.primitives cimport corrupt, limit_exceeded
from pymosaic.pages.kernels.bounds cimport invalid_data, is_inside

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
        if (
            starts.shape[0] < counts.shape[0] or sizes.shape[0] < counts.shape[0]
            or (width != 4 and width != 8)
        ):
            corrupt(b"strings", 0, b"arrays of different lengths")
        for chunk in range(counts.shape[0]):
            count = counts[chunk]
            if not is_inside(starts[chunk], sizes[chunk], data.shape[0]):
                corrupt(b"strings", chunk, b"a chunk does not lie inside the page")
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
        if (
            starts.shape[0] < counts.shape[0] or offsets.shape[0] == 0
            or (width != 4 and width != 8)
        ):
            corrupt(b"strings", 0, b"arrays of different lengths")
        if Offset is int32_t:
            if out.shape[0] > INT32_MAX:
                limit_exceeded(b"strings", 0, b"more bytes than 32-bit offsets can say")
        offsets[0] = 0
        for chunk in range(counts.shape[0]):
            count = counts[chunk]
            if count < 0 or count >= offsets.shape[0] - value:
                corrupt(b"strings", chunk, b"more values than announced")
            if not is_inside(starts[chunk], (count + 1) * width, data.shape[0]):
                corrupt(b"strings", chunk, b"a chunk is too short for its offsets")
            source = &data[starts[chunk]]
            first = previous = load_offset(source, 0, width)
            if first < 0:
                corrupt(b"strings", chunk, b"offsets do not lie inside their chunk")
            # ``data`` has count + 1 offsets here, and ``offsets`` room for them behind ``value``.
            # Only the first and last of a chunk are used as positions.
            for index in range(1, count + 1):
                offset = load_offset(source, index, width)
                if offset < previous:
                    corrupt(b"strings", chunk, b"offsets go down")
                previous = offset
                value += 1
                offsets[value] = <Offset>(position + offset - first)
            # Offsets do not go down from a first one of 0 or more, so that the last is the largest.
            if (
                previous > data.shape[0] - starts[chunk]
                or previous - first > out.shape[0] - position
            ):
                corrupt(b"strings", chunk, b"offsets do not lie inside their chunk")
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
        if (
            starts.shape[0] < counts.shape[0] or sizes.shape[0] < counts.shape[0]
            or (width != 4 and width != 8)
        ):
            invalid_data(b"strings", 0, b"arrays of different lengths")
        for chunk in range(counts.shape[0]):
            count = counts[chunk]
            if count < 0 or count >= offsets.shape[0] - first:
                invalid_data(b"strings", chunk, b"more values than offsets")
            base = (count + 1) * width
            size = <int64_t>offsets[first + count] - <int64_t>offsets[first]
            if not is_inside(offsets[first], size, values.shape[0]):
                invalid_data(b"strings", chunk, b"offsets do not lie inside their data")
            if (
                not is_inside(starts[chunk], sizes[chunk], out.shape[0])
                or base > sizes[chunk] or size > sizes[chunk] - base
            ):
                invalid_data(b"strings", chunk, b"a chunk does not fit its place")
            target = &out[starts[chunk]]
            # The place of the chunk, found inside ``out``, has room for count + 1 offsets, the
            # bytes behind them and the padding, and ``offsets`` has count + 1 from ``first`` on.
            # Offsets within a chunk are written, but not followed.
            for index in range(count + 1):
                offset = base + offsets[first + index] - offsets[first]
                if width == 4:
                    narrow = <uint32_t>offset
                    memcpy(target + 4 * index, &narrow, 4)
                else:
                    memcpy(target + 8 * index, &offset, 8)
            if size:
                memcpy(target + base, &values[offsets[first]], size)
            if sizes[chunk] > base + size:
                memset(target + base + size, PADDING, sizes[chunk] - base - size)
            first += count


def split_counts(
    const Offset[::1] offsets, int width, int64_t target, int64_t most, int64_t[::1] counts
):
    """Choose how many values each chunk has; returns the number of chunks.

    A chunk has a power of two of values, at least two and at most ``most``, in about ``target``
    bytes; the last one has the rest. ``counts`` has room for half as many chunks as values, and one
    more.
    """
    cdef int64_t first = 0, total = offsets.shape[0] - 1, count = 2, left, taken, chunk = 0
    with nogil:
        # first + count and first + left are at most ``total``, the index of the last offset.
        while first < total:
            left = total - first
            if left <= most and (
                (left + 1) * width + <int64_t>offsets[total] - <int64_t>offsets[first] <= target
            ):
                taken = left
            else:
                # Neighbouring chunks are similar, so this takes one or two steps.
                while count > 2 and (
                    count > left or (count + 1) * width
                    + <int64_t>offsets[first + count] - <int64_t>offsets[first] > target
                ):
                    count //= 2
                while 2 * count <= min(left, most) and (
                    (2 * count + 1) * width
                    + <int64_t>offsets[first + 2 * count] - <int64_t>offsets[first] <= target
                ):
                    count *= 2
                taken = min(count, left)
            if chunk >= counts.shape[0]:
                invalid_data(b"strings", chunk, b"there is no room for the chunk")
            counts[chunk] = taken
            chunk += 1
            first += taken
    return chunk
