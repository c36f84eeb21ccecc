# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The chunks of a mini-block page: where their buffers are, and their bytes in one piece.

In and out: arrays of the caller, who owns all memory. Safety: ``locate_buffers`` compares the
header of a chunk, and each buffer, with the bytes of the chunk. ``gather`` and ``gather_bits`` copy
ranges that were found so, or that lie between checked offsets, into an ``out`` that the caller made
as large as their sum.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from pymosaic.kernels.primitives cimport bit_at, corrupt, load_le16, load_le32, set_bit


cdef inline int64_t padded(int64_t size) noexcept nogil:
    return (size + 7) & ~<int64_t>7


def locate_buffers(
    const uint8_t[::1] data, const int64_t[::1] chunk_starts, const int64_t[::1] chunk_sizes,
    int num_level_buffers, int num_value_buffers, bint large, int64_t[::1] num_levels,
    int64_t[:, ::1] starts, int64_t[:, ::1] sizes
):
    """Read the headers of chunks.

    Row b of ``starts`` and ``sizes`` takes buffer b of each chunk, levels first. The chunks lie
    inside ``data``; that their buffers lie inside the chunks is checked here.
    """
    cdef int64_t chunk, position, end, size
    cdef int buffer, num_buffers = num_level_buffers + num_value_buffers
    cdef int64_t header = 2 + 2 * num_level_buffers + (4 if large else 2) * num_value_buffers
    cdef const uint8_t* fields
    with nogil:
        for chunk in range(chunk_starts.shape[0]):
            end = chunk_starts[chunk] + chunk_sizes[chunk]
            if chunk_sizes[chunk] < header:
                corrupt(b"chunk", chunk, b"it is shorter than its header")
            fields = &data[chunk_starts[chunk]]
            num_levels[chunk] = load_le16(fields)
            fields += 2
            position = chunk_starts[chunk] + padded(header)
            # The chunk has the whole header, which has a field for each buffer. ``starts`` and
            # ``sizes`` have a row for each buffer, too, and a column for each chunk.
            for buffer in range(num_buffers):
                if large and buffer >= num_level_buffers:
                    size = load_le32(fields)
                    fields += 4
                else:
                    size = load_le16(fields)
                    fields += 2
                if position > end or size > end - position:
                    corrupt(b"chunk", chunk, b"a buffer does not lie inside it")
                starts[buffer, chunk] = position
                sizes[buffer, chunk] = size
                position += padded(size)


def gather(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes, uint8_t[::1] out
):
    """Copy the first ``sizes`` bytes from each start, one behind the other."""
    cdef int64_t chunk, position = 0
    with nogil:
        # Each range lies inside ``data``, and ``out`` has the sum of all sizes; none is negative.
        for chunk in range(starts.shape[0]):
            if sizes[chunk]:
                memcpy(&out[position], &data[starts[chunk]], sizes[chunk])
                position += sizes[chunk]


def gather_bits(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] counts,
    uint8_t[::1] out
):
    """Append the first ``counts`` bits from each start; ``out`` is clear."""
    cdef int64_t chunk, position = 0, count, index
    cdef const uint8_t* source
    with nogil:
        for chunk in range(starts.shape[0]):
            count = counts[chunk]
            if count == 0:
                continue
            source = &data[starts[chunk]]
            index = 0
            if position % 8 == 0:
                memcpy(&out[position >> 3], source, count >> 3)
                index = count & ~<int64_t>7
            # index < count: the caller has found the bytes for so many bits at each start, and
            # position + index is below the sum of all counts, for which ``out`` has the bits.
            while index < count:
                if bit_at(source, index):
                    set_bit(&out[0], position + index)
                index += 1
            position += count


def scatter(
    const uint8_t[::1] data, const int64_t[::1] sizes, const int64_t[::1] starts, uint8_t[::1] out
):
    """Put pieces of ``sizes`` bytes, which lie one behind the other, at their starts."""
    cdef int64_t piece, position = 0
    with nogil:
        for piece in range(sizes.shape[0]):
            if sizes[piece]:
                memcpy(&out[starts[piece]], &data[position], sizes[piece])
                position += sizes[piece]
