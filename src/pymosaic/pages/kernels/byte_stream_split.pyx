# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Byte-stream split: all first bytes of a chunk's values, then all second bytes, and so on.

In and out: arrays of the caller, who owns all memory. Safety: nothing is checked in the loops. To
join, the caller has compared the size of each chunk with its number of values times their width,
and has made ``out`` as large as all of them; to split, ``out`` is as large as ``values``.
"""

from libc.stdint cimport int64_t, uint8_t


cdef void join4(uint8_t* out, const uint8_t* source, int64_t count) noexcept nogil:
    cdef int64_t index
    # index < count: reads end before 4 * count, and so do writes; both sides have those bytes.
    for index in range(count):
        out[4 * index] = source[index]
        out[4 * index + 1] = source[count + index]
        out[4 * index + 2] = source[2 * count + index]
        out[4 * index + 3] = source[3 * count + index]


cdef void join8(uint8_t* out, const uint8_t* source, int64_t count) noexcept nogil:
    cdef int64_t index
    cdef int byte
    # index < count and byte < 8: reads and writes end before 8 * count, and both sides have those.
    for index in range(count):
        for byte in range(8):
            out[8 * index + byte] = source[byte * count + index]


def join_streams(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] counts, int width,
    uint8_t[::1] out
):
    """Put the values of each chunk together; ``width`` bytes of ``counts`` values are there."""
    cdef int64_t chunk, position = 0
    with nogil:
        # ``position`` is the sum of the chunks before, and ``out`` has the sum of all; the caller
        # has found at least ``counts * width`` bytes at each start.
        for chunk in range(counts.shape[0]):
            if counts[chunk] == 0:
                continue
            if width == 4:
                join4(&out[position], &data[starts[chunk]], counts[chunk])
            else:
                join8(&out[position], &data[starts[chunk]], counts[chunk])
            position += counts[chunk] * width


def split_streams(
    const uint8_t[::1] values, int width, int64_t chunk_values, uint8_t[::1] out
):
    """Take the values of each chunk apart."""
    cdef int64_t total = values.shape[0] // width, first, count, index
    cdef int byte
    with nogil:
        first = 0
        while first < total:
            count = min(chunk_values, total - first)
            # byte < width and index < count: both indices are below (first + count) * width, which
            # is at most total * width, and ``out`` is as large as ``values``.
            for byte in range(width):
                for index in range(count):
                    out[first * width + byte * count + index] = values[(first + index) * width + byte]
            first += count
