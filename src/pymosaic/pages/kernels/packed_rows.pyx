# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Rows of structs whose fields have any width: one field at a time.

In: bytes of rows and where each field begins, or the values of a field to write. Out: the values of
a field, or rows with one field more; ``positions`` is moved behind the field. Memory: all arrays
belong to the caller; nothing is kept. Safety: every field, and the length of one of variable width,
is compared with the end of its row before it is read, the end of the row with the data, and what is
written with the room for it.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from pymosaic.kernels.primitives cimport corrupt
from pymosaic.pages.kernels.bounds cimport invalid_data, is_inside


cdef inline int check_room(
    int64_t position, int64_t end, uint64_t size, int64_t row
) except -1 nogil:
    if position < 0 or position > end or size > <uint64_t>(end - position):
        return corrupt(b"packed row", row, b"a field does not lie inside it")
    return 0


cdef inline int check_arrays(int64_t num_rows, int64_t num_offsets, int length_width) except -1 nogil:
    if num_offsets <= num_rows or not (
        length_width == 0 or length_width == 4 or length_width == 8
    ):
        return corrupt(b"packed row", 0, b"fewer offsets than rows, or lengths of another width")
    return 0


def measure_rows(
    const uint8_t[::1] data, const int64_t[::1] positions, const int64_t[::1] offsets,
    int length_width
):
    """Bytes of the fields of variable width that begin at ``positions``."""
    cdef int64_t row, total = 0
    cdef uint64_t length
    with nogil:
        check_arrays(positions.shape[0], offsets.shape[0], length_width)
        # The end of a row is compared with ``data``, and what is read with the end of the row.
        for row in range(positions.shape[0]):
            if offsets[row + 1] > data.shape[0]:
                corrupt(b"packed row", row, b"it does not lie inside its data")
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

    It has ``width`` bytes, or where ``length_width`` is not 0 a length of so many bytes.
    """
    cdef int64_t row, written = 0, num_offsets = 0 if new_offsets is None else new_offsets.shape[0]
    cdef uint64_t length
    with nogil:
        check_arrays(positions.shape[0], offsets.shape[0], length_width)
        if width < 0 or (length_width and num_offsets <= positions.shape[0]):
            corrupt(b"packed row", 0, b"there is no room for the field")
        if length_width:
            new_offsets[0] = 0
        # The end of a row is compared with ``data``, what is read with the end of the row, and what
        # is written with ``out``; ``new_offsets`` has one entry more than there are rows.
        for row in range(positions.shape[0]):
            length = width
            if offsets[row + 1] > data.shape[0]:
                corrupt(b"packed row", row, b"it does not lie inside its data")
            if length_width:
                check_room(positions[row], offsets[row + 1], length_width, row)
                length = 0
                memcpy(&length, &data[positions[row]], length_width)
                positions[row] += length_width
            check_room(positions[row], offsets[row + 1], length, row)
            if length > <uint64_t>(out.shape[0] - written):
                corrupt(b"packed row", row, b"there is no room for the field")
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
        if value_offsets.shape[0] <= positions.shape[0] or not (
            length_width == 0 or length_width == 4 or length_width == 8
        ):
            invalid_data(b"packed row", 0, b"fewer values than rows")
        # Two offsets are compared with ``values``, and the length and bytes with the room in
        # ``out``, before they are copied. Rows that overlap would overwrite each other, but nothing
        # else.
        for row in range(positions.shape[0]):
            length = value_offsets[row + 1] - value_offsets[row]
            if not is_inside(value_offsets[row], length, values.shape[0]):
                invalid_data(b"packed row", row, b"offsets do not lie inside their data")
            if (
                not is_inside(positions[row], length_width, out.shape[0])
                or length > out.shape[0] - positions[row] - length_width
            ):
                invalid_data(b"packed row", row, b"there is no room for the field")
            if length_width:
                memcpy(&out[positions[row]], &length, length_width)
                positions[row] += length_width
            if length:
                memcpy(&out[positions[row]], &values[value_offsets[row]], length)
            positions[row] += length
