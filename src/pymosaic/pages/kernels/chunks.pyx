# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The chunks of a mini-block page: where their buffers are, and their bytes in one piece.

In: bytes of a file and where its chunks are, or pieces to write. Out: places of buffers, or bytes.
Memory: all arrays belong to the caller; nothing is kept. Safety: every range is compared with the
array that it lies in before it is read or written, whatever the caller has checked before.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from pymosaic.kernels.primitives cimport bit_at, corrupt, load_le16, load_le32, set_bit
from pymosaic.pages.kernels.bounds cimport invalid_data, is_inside


cdef inline int64_t padded(int64_t size) noexcept nogil:
    return (size + 7) & ~<int64_t>7


def locate_buffers(
    const uint8_t[::1] data, const int64_t[::1] chunk_starts, const int64_t[::1] chunk_sizes,
    int num_level_buffers, int num_value_buffers, bint large, int64_t[::1] num_levels,
    int64_t[:, ::1] starts, int64_t[:, ::1] sizes
):
    """Read the headers of chunks.

    Row b of ``starts`` and ``sizes`` takes buffer b of each chunk, levels first. The chunks lie
    inside ``data``, and their buffers inside the chunks, or this raises.
    """
    cdef int64_t chunk, position, end, size
    cdef int buffer, num_buffers = num_level_buffers + num_value_buffers
    cdef int64_t header = 2 + 2 * num_level_buffers + (4 if large else 2) * num_value_buffers
    cdef const uint8_t* fields
    cdef int64_t num_chunks = chunk_starts.shape[0]
    with nogil:
        if (
            num_level_buffers < 0 or num_value_buffers < 0 or chunk_sizes.shape[0] < num_chunks
            or num_levels.shape[0] < num_chunks or starts.shape[0] < num_buffers
            or starts.shape[1] < num_chunks or sizes.shape[0] < num_buffers
            or sizes.shape[1] < num_chunks
        ):
            corrupt(b"chunk", 0, b"arrays of different lengths")
        for chunk in range(num_chunks):
            if not is_inside(chunk_starts[chunk], chunk_sizes[chunk], data.shape[0]):
                corrupt(b"chunk", chunk, b"it does not lie inside the page")
            end = chunk_starts[chunk] + chunk_sizes[chunk]
            if chunk_sizes[chunk] < header:
                corrupt(b"chunk", chunk, b"it is shorter than its header")
            fields = &data[chunk_starts[chunk]]
            num_levels[chunk] = load_le16(fields)
            fields += 2
            position = chunk_starts[chunk] + padded(header)
            # The chunk lies inside ``data`` and has the whole header, which has a field for each
            # buffer. ``starts`` and ``sizes`` were found to have a row for each buffer, too, and a
            # column for each chunk.
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
        if sizes.shape[0] < starts.shape[0]:
            corrupt(b"chunk", 0, b"arrays of different lengths")
        # Both ends of each copy are compared with their arrays first.
        for chunk in range(starts.shape[0]):
            if sizes[chunk]:
                if (
                    not is_inside(starts[chunk], sizes[chunk], data.shape[0])
                    or sizes[chunk] > out.shape[0] - position
                ):
                    corrupt(b"chunk", chunk, b"a range does not lie inside its data")
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
        if counts.shape[0] < starts.shape[0]:
            corrupt(b"chunk", 0, b"arrays of different lengths")
        for chunk in range(starts.shape[0]):
            count = counts[chunk]
            if count == 0:
                continue
            if (
                count < 0 or count > 8 * out.shape[0] - position
                or not is_inside(starts[chunk], (count >> 3) + ((count & 7) != 0), data.shape[0])
            ):
                corrupt(b"chunk", chunk, b"bits do not lie inside their data")
            source = &data[starts[chunk]]
            index = 0
            if position % 8 == 0:
                memcpy(&out[position >> 3], source, count >> 3)
                index = count & ~<int64_t>7
            # index < count: there are bytes for so many bits at the start, and ``out`` has bits for
            # ``count`` more than ``position``, both by the comparison above.
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
        if starts.shape[0] < sizes.shape[0]:
            invalid_data(b"pieces of a page", 0, b"arrays of different lengths")
        # Both ends of each copy are compared with their arrays first. Pieces that overlap would
        # overwrite each other, but nothing else.
        for piece in range(sizes.shape[0]):
            if sizes[piece]:
                if (
                    not is_inside(position, sizes[piece], data.shape[0])
                    or not is_inside(starts[piece], sizes[piece], out.shape[0])
                ):
                    invalid_data(b"pieces of a page", piece, b"a piece does not fit its place")
                memcpy(&out[starts[piece]], &data[position], sizes[piece])
                position += sizes[piece]
