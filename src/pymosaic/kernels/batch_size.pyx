# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""About how many bytes a batch takes once it is serialised, before any of it is.

In: a batch through the Arrow C data interface, and the ``ArrowSource`` of its schema. Out: two
numbers, by which the writer decides whether to split the batch.

Memory: nothing is allocated or kept; the batch belongs to the caller.

Safety: reads offsets and lengths only, at rows that were compared with the length of the array; the
caller has had Arrow validate that buffers are as long as lengths imply. Values that offsets point
to are not looked at, so a wrong offset gives a wrong estimate and nothing worse; it is refused when
the rows are appended.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t

from pymosaic.kernels.arrow_abi cimport ArrowArray
from pymosaic.kernels.arrow_source cimport (
    SOURCE_BINARY32, SOURCE_BINARY64, SOURCE_BINARY_FIXED, SOURCE_BINARY_VIEW, SOURCE_BOOL,
    SOURCE_DICTIONARY, SOURCE_LIST32, SOURCE_LIST64, SOURCE_LIST_FIXED, SOURCE_MAP, SOURCE_NULL,
    SOURCE_RUN_END, ArrowSource, SourceField,
)

cdef enum:
    # Widths of converted values are not looked up: none is larger by more than this.
    TYPICAL_WIDTH = 8
    LENGTH_WIDTH = 4


cdef int64_t span(const ArrowArray* array, bint wide, int64_t start, int64_t count) noexcept nogil:
    """What the offsets of some rows enclose."""
    # start + count is at most the length of the array, which has one offset more than that.
    cdef int64_t first = array.offset + start
    if wide:
        return (<const int64_t*>array.buffers[1])[first + count] - (
            <const int64_t*>array.buffers[1])[first]
    return <int64_t>(<const int32_t*>array.buffers[1])[first + count] - (
        <const int32_t*>array.buffers[1])[first]


cdef int64_t estimate(
    ArrowSource source, int64_t index, const ArrowArray* array, int64_t start, int64_t count
) noexcept nogil:
    """Bytes of rows of an array, nulls counted as values. Offsets are taken at their word: a
    wrong one gives a wrong estimate, and is refused when the rows are appended."""
    cdef SourceField* field = &source.fields[index]
    cdef int64_t total, i
    cdef const ArrowArray* values
    if count <= 0 or start < 0 or count > array.length - start:
        return 0
    if field.kind == SOURCE_NULL:
        return 0
    if field.kind == SOURCE_BOOL:
        return count
    if field.kind == SOURCE_BINARY32 or field.kind == SOURCE_BINARY64:
        return count + span(array, field.kind == SOURCE_BINARY64, start, count)
    if field.kind == SOURCE_BINARY_FIXED:
        return count * (1 + field.width)
    if field.kind == SOURCE_BINARY_VIEW:
        total = count
        # start + count is at most the length, as compared above, and a view has 16 bytes: its
        # length is the first of four numbers.
        for i in range(array.offset + start, array.offset + start + count):
            total += (<const int32_t*>array.buffers[1])[4 * i]
        return total
    if field.kind == SOURCE_DICTIONARY or field.kind == SOURCE_RUN_END:
        values = array.dictionary if field.kind == SOURCE_DICTIONARY else array.children[1]
        if values.length == 0:
            return 0
        total = estimate(source, field.child, values, 0, values.length)
        return <int64_t>(<double>total / <double>values.length * <double>count)
    if field.kind == SOURCE_MAP:
        values = array.children[0]
        total = span(array, False, start, count)
        return (LENGTH_WIDTH * count
                + estimate(source, field.child, values.children[0], values.offset, total)
                + estimate(source, field.second, values.children[1], values.offset, total))
    if SOURCE_LIST32 <= field.kind <= SOURCE_LIST_FIXED:
        values = array.children[0]
        if field.kind == SOURCE_LIST_FIXED:
            return LENGTH_WIDTH * count + estimate(
                source, field.child, values, (array.offset + start) * field.width,
                count * field.width)
        if field.kind == SOURCE_LIST32 or field.kind == SOURCE_LIST64:
            i = span(array, field.kind == SOURCE_LIST64, start, count)
        else:
            i = values.length
        return LENGTH_WIDTH * count + estimate(source, field.child, values, 0, i)
    return count * TYPICAL_WIDTH


def measure(ArrowSource source not None, batch):
    """``(bytes of all columns, bytes of the largest)`` of a batch, about.

    Parameters
    ----------
    source : ArrowSource
        How the batch's columns are read.
    batch : PyCapsule
        An ``arrow_array`` capsule of the batch.
    """
    cdef const ArrowArray* array = <const ArrowArray*>PyCapsule_GetPointer(batch, b"arrow_array")
    cdef int64_t column, size, total = 0, largest = 0
    if array.n_children != source.num_columns:
        raise ValueError("the batch does not have the columns of its source")
    with nogil:
        # The batch has as many children as the source has columns, as compared above.
        for column in range(source.num_columns):
            size = estimate(source, source.columns[column], array.children[column],
                            array.offset, array.length)
            total += size
            largest = max(largest, size)
    return total, largest
