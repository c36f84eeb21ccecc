# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Runs: values of fixed width, and a byte for the length of each.

In: values and lengths of runs, or values in which to find them. Out: the other of both. Memory: all
arrays belong to the caller; nothing is kept. Safety: the count of a chunk is compared with the room
that is left, and runs are cut to the count, so that no run leaves ``out``; the runs of a chunk are
compared with the values and lengths that are there. Runs are counted before they are written, by
the same rule, so that the caller makes exactly the room that they take; that it is there is checked
for each.
"""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from pymosaic.kernels.primitives cimport corrupt
from pymosaic.pages.kernels.bounds cimport invalid_data, is_inside

ctypedef fused Word:
    uint16_t
    uint32_t
    uint64_t

ctypedef fused Number:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef enum:
    LONGEST_RUN = 255


cdef void repeat(Word* out, const uint8_t* value, int64_t count) noexcept nogil:
    cdef Word word
    cdef int64_t index
    memcpy(&word, value, sizeof(Word))
    # ``count`` is the length of a run that was cut to the room in ``out``.
    for index in range(count):
        out[index] = word


cdef void fill(uint8_t* out, const uint8_t* value, int64_t width, int64_t count) noexcept nogil:
    cdef int64_t index
    if width == 1:
        memset(out, value[0], count)
    elif width == 2:
        repeat(<uint16_t*>out, value, count)
    elif width == 4:
        repeat(<uint32_t*>out, value, count)
    elif width == 8:
        repeat(<uint64_t*>out, value, count)
    else:
        # As above: there is room for ``count`` values of ``width`` bytes.
        for index in range(count):
            memcpy(out + index * width, value, width)


def expand_runs(
    const uint8_t[::1] values, const int64_t[::1] value_starts, const uint8_t[::1] lengths,
    const int64_t[::1] length_starts, const int64_t[::1] num_runs, const int64_t[::1] counts,
    int64_t width, uint8_t[::1] out
):
    """Expand the runs of each chunk to ``counts`` values.

    Runs past the count are cut, since older writers let the last ones overrun; runs that fall short
    of it are an error. ``out`` starts at a multiple of the width.
    """
    cdef int64_t chunk, run, length, left, position = 0
    cdef const uint8_t* value
    with nogil:
        if width <= 0 or counts.shape[0] > min(
            min(value_starts.shape[0], length_starts.shape[0]), num_runs.shape[0]
        ):
            corrupt(b"runs", 0, b"arrays of different lengths")
        for chunk in range(counts.shape[0]):
            left = counts[chunk]
            if (
                not is_inside(length_starts[chunk], num_runs[chunk], lengths.shape[0])
                or not is_inside(value_starts[chunk], 0, values.shape[0])
                or num_runs[chunk] > (values.shape[0] - value_starts[chunk]) // width
            ):
                corrupt(b"runs", chunk, b"they do not lie inside the page")
            if left < 0 or left > (out.shape[0] - position) // width:
                corrupt(b"runs", chunk, b"more values than announced")
            # ``left`` values fit behind ``position``, and runs are cut to what is left of them.
            # run < num_runs: that many lengths and values are there, by the comparison above.
            for run in range(num_runs[chunk]):
                if left == 0:
                    break
                length = min(<int64_t>lengths[length_starts[chunk] + run], left)
                if length == 0:
                    continue
                value = &values[value_starts[chunk] + run * width]
                fill(&out[position], value, width, length)
                position += length * width
                left -= length
            if left:
                corrupt(b"runs", chunk, b"they end before the values do")


cdef int check_widths(int64_t width, int64_t chunk_values) except -1 nogil:
    """Raise unless one can divide by both."""
    if width <= 0 or chunk_values <= 0:
        return invalid_data(b"runs", 0, b"values or chunks without a size")
    return 0


cdef int64_t count_words(
    Number* kind, const uint8_t* values, int64_t total, int64_t chunk_values
) noexcept nogil:
    """The runs of values that a processor compares at once; ``kind`` only tells the width."""
    cdef int64_t first = 0, end, index, length, runs = 0
    cdef Number before, value
    # Each value from first to end is read once; ``end`` is at most ``total``.
    while first < total:
        end = first + min(total - first, chunk_values)
        memcpy(&before, values + first * sizeof(Number), sizeof(Number))
        runs += 1
        length = 1
        for index in range(first + 1, end):
            memcpy(&value, values + index * sizeof(Number), sizeof(Number))
            if value != before or length == LONGEST_RUN:
                runs += 1
                length = 0
            length += 1
            before = value
        first = end
    return runs


def count_runs(const uint8_t[::1] values, int64_t width, int64_t chunk_values):
    """Runs of at most 255 values, where every ``chunk_values`` values begin a new one."""
    cdef int64_t total, index, length = 0, runs = 0
    with nogil:
        check_widths(width, chunk_values)
        total = values.shape[0] // width
        if total == 0:
            runs = 0
        elif width == 8:
            runs = count_words(<uint64_t*>NULL, &values[0], total, chunk_values)
        elif width == 4:
            runs = count_words(<uint32_t*>NULL, &values[0], total, chunk_values)
        elif width == 2:
            runs = count_words(<uint16_t*>NULL, &values[0], total, chunk_values)
        elif width == 1:
            runs = count_words(<uint8_t*>NULL, &values[0], total, chunk_values)
        else:
            # (index + 1) * width is at most the size of ``values``. Value index - 1 is not looked
            # at where index is 0, since length is 0 there and nowhere else.
            for index in range(total):
                if (
                    length == 0 or length == LONGEST_RUN or index % chunk_values == 0
                    or memcmp(&values[index * width], &values[(index - 1) * width], width) != 0
                ):
                    runs += 1
                    length = 0
                length += 1
    return runs


def find_runs(
    const uint8_t[::1] values, int64_t width, int64_t chunk_values, uint8_t[::1] run_values,
    uint8_t[::1] run_lengths, int64_t[::1] runs_per_chunk
):
    """Write the runs that :func:`count_runs` counted."""
    cdef int64_t total, index, length = 0, run = -1
    with nogil:
        check_widths(width, chunk_values)
        total = values.shape[0] // width
        # Reads as in count_runs, whose condition this repeats. The room for a run is compared where
        # it begins. The first value begins a run, so that ``run`` is not negative where it is an
        # index.
        for index in range(total):
            if (
                length == 0 or length == LONGEST_RUN or index % chunk_values == 0
                or memcmp(&values[index * width], &values[(index - 1) * width], width) != 0
            ):
                run += 1
                if (
                    run >= run_lengths.shape[0] or run >= run_values.shape[0] // width
                    or index // chunk_values >= runs_per_chunk.shape[0]
                ):
                    invalid_data(b"runs", run, b"there is no room for the run")
                memcpy(&run_values[run * width], &values[index * width], width)
                runs_per_chunk[index // chunk_values] += 1
                length = 0
            length += 1
            run_lengths[run] = <uint8_t>length
