# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""FSST: strings in which pieces of up to 8 bytes became one byte; byte 255 escapes the next one."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from pymosaic.kernels.primitives cimport corrupt

ctypedef fused Offset:
    int32_t
    int64_t

cdef enum:
    ESCAPE = 255


def expand(
    const uint8_t[::1] symbols, const uint8_t[::1] lengths, const Offset[::1] offsets,
    const uint8_t[::1] data, Offset[::1] new_offsets, uint8_t[::1] out
):
    """Replace codes by their symbols; returns the bytes written.

    ``symbols`` has 8 bytes for each of ``lengths`` (1 to 8). ``offsets`` were checked against
    ``data``; ``out`` has 8 bytes for each byte of it and 8 more.
    """
    cdef int64_t value, count = offsets.shape[0] - 1, position, end, written = 0
    cdef uint8_t code
    cdef uint8_t[256 * 8] table
    cdef uint8_t[256] steps
    memset(table, 0, sizeof(table))
    memset(steps, 0, sizeof(steps))
    memcpy(table, &symbols[0], min(symbols.shape[0], <Py_ssize_t>sizeof(table)))
    memcpy(steps, &lengths[0], min(lengths.shape[0], <Py_ssize_t>sizeof(steps)))
    with nogil:
        new_offsets[0] = 0
        for value in range(count):
            position = offsets[value]
            end = offsets[value + 1]
            while position < end:
                code = data[position]
                position += 1
                if code != ESCAPE:
                    if steps[code] == 0:
                        corrupt(b"FSST values", position - 1, b"a code without a symbol")
                    memcpy(&out[written], &table[8 * code], 8)
                    written += steps[code]
                else:
                    if position == end:
                        corrupt(b"FSST values", position - 1, b"an escape at the end of a value")
                    out[written] = data[position]
                    position += 1
                    written += 1
            new_offsets[value + 1] = <Offset>written
    return written
