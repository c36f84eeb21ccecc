# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Byte-stream split: all first bytes of a chunk's values, then all second bytes, and so on.

In: the streams of chunks, or values. Out: the other of both. Memory: all arrays belong to the
caller; nothing is kept. Safety: nothing is checked in the loops over values. Before them, the
streams of a chunk are compared with the data and with the room that is left in ``out``; to split,
``out`` is found to be as large as ``values``.
"""

from libc.stdint cimport int64_t, uint8_t

from pymosaic.kernels.primitives cimport corrupt
from pymosaic.pages.kernels.bounds cimport invalid_data, is_inside


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
        if starts.shape[0] < counts.shape[0] or (width != 4 and width != 8):
            corrupt(b"byte streams", 0, b"arrays of different lengths")
        # ``counts * width`` bytes are compared with what is left in ``out`` and in ``data``.
        for chunk in range(counts.shape[0]):
            if counts[chunk] == 0:
                continue
            if (
                counts[chunk] < 0 or counts[chunk] > (out.shape[0] - position) // width
                or not is_inside(starts[chunk], counts[chunk] * width, data.shape[0])
            ):
                corrupt(b"byte streams", chunk, b"a chunk does not lie inside the page")
            if width == 4:
                join4(&out[position], &data[starts[chunk]], counts[chunk])
            else:
                join8(&out[position], &data[starts[chunk]], counts[chunk])
            position += counts[chunk] * width


def split_streams(
    const uint8_t[::1] values, int width, int64_t chunk_values, uint8_t[::1] out
):
    """Take the values of each chunk apart."""
    cdef int64_t total, first = 0, count, index
    cdef int byte
    with nogil:
        if width <= 0 or chunk_values <= 0 or out.shape[0] < values.shape[0]:
            invalid_data(b"byte streams", 0, b"there is no room for the streams")
        total = values.shape[0] // width
        while first < total:
            count = min(chunk_values, total - first)
            # byte < width and index < count: both indices are below (first + count) * width, which
            # is at most total * width, and ``out`` is as large as ``values``.
            for byte in range(width):
                for index in range(count):
                    out[first * width + byte * count + index] = values[(first + index) * width + byte]
            first += count
