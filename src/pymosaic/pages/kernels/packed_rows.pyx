# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Rows of structs whose fields have any width: one field at a time.

In and out: arrays of the caller, who owns all memory. Safety of reading: every field, and the
length of one of variable width, is compared with the end of its row before it is read;
``split_field`` relies on ``measure_rows`` for the latter. Offsets of rows were checked to rise and
to end inside the data.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from pymosaic.kernels.primitives cimport corrupt


cdef inline int check_room(
    int64_t position, int64_t end, uint64_t size, int64_t row
) except -1 nogil:
    if position > end or size > <uint64_t>(end - position):
        return corrupt(b"packed row", row, b"a field does not lie inside it")
    return 0


def measure_rows(
    const uint8_t[::1] data, const int64_t[::1] positions, const int64_t[::1] offsets,
    int length_width
):
    """Bytes of the fields of variable width that begin at ``positions``."""
    cdef int64_t row, total = 0
    cdef uint64_t length
    with nogil:
        # ``offsets`` has one entry more than there are rows, and none is past the end of ``data``,
        # so that what check_room finds inside its row is inside ``data``.
        for row in range(positions.shape[0]):
            check_room(positions[row], offsets[row + 1], length_width, row)
            length = 0
            memcpy(&length, &data[positions[row]], length_width)
            check_room(positions[row] + length_width, offsets[row + 1], length, row)
            total += <int64_t>length
    return total


def split_field(
    const uint8_t[::1] data, int64_t[::1] positions, const int64_t[::1] offsets, int64_t width,
    int length_width, int64_t[::1] new_offsets, uint8_t[::1] out
):
    """Copy one field of all rows out and move ``positions`` behind it.

    It has ``width`` bytes, or where ``length_width`` is not 0 a length of so many bytes; those rows
    were measured.
    """
    cdef int64_t row, written = 0
    cdef uint64_t length
    with nogil:
        if length_width:
            new_offsets[0] = 0
        # Fields of variable width were found inside their rows by measure_rows, from these
        # positions; ``out`` has the bytes that it returned, and ``new_offsets`` one entry more than
        # there are rows. Others are compared here, and ``out`` has ``width`` bytes for each row.
        for row in range(positions.shape[0]):
            length = width
            if length_width:
                length = 0
                memcpy(&length, &data[positions[row]], length_width)
                positions[row] += length_width
            else:
                check_room(positions[row], offsets[row + 1], length, row)
            if length:
                memcpy(&out[written], &data[positions[row]], length)
            positions[row] += length
            written += length
            if length_width:
                new_offsets[row + 1] = written


def join_rows(
    const uint8_t[::1] values, const int64_t[::1] value_offsets, int length_width,
    int64_t[::1] positions, uint8_t[::1] out
):
    """Write one field of all rows at ``positions``, behind its length if that has bytes."""
    cdef int64_t row, length
    with nogil:
        for row in range(positions.shape[0]):
            length = value_offsets[row + 1] - value_offsets[row]
            if length_width:
                memcpy(&out[positions[row]], &length, length_width)
                positions[row] += length_width
            if length:
                memcpy(&out[positions[row]], &values[value_offsets[row]], length)
            positions[row] += length
