# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Numbers on their way out: decoded columns as a part of a matrix.

In: the arrays of some columns, decoded into a ``BatchExport``. Out: their values, converted, in the
rows and columns of a numpy matrix of any strides.

Memory: nothing is allocated. Rows are copied in blocks, so that the lines of a matrix in row order
are written while they are in the cache.

Safety: row numbers, matrix columns and lengths of arrays are compared with the shapes before
anything is written; types that are not numbers are refused.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from pymosaic.kernels.arrow_abi cimport ArrowArray
from pymosaic.kernels.arrow_export cimport BatchExport
from pymosaic.kernels.catalog cimport (
    BIGINT, BOOLEAN, DATE, DECIMAL, DOUBLE, FLOAT, INTEGER, SMALLINT, TINYINT, Catalog, Node,
)

cdef enum:
    BLOCK = 64

cdef double TWO_TO_64 = 18446744073709551616.0

cdef fused Number:
    float
    double
    int32_t
    int64_t

cdef fused Stored:
    int8_t
    int16_t
    int32_t
    int64_t
    float
    double


cdef void copy_values(
    Number* target, Py_ssize_t stride, const Stored* values, const int64_t* rows, int64_t start,
    int64_t count
) noexcept nogil:
    cdef int64_t i
    if rows != NULL:
        for i in range(count):
            target[i * stride] = <Number>values[rows[start + i]]
    else:
        values += start
        for i in range(count):
            target[i * stride] = <Number>values[i]


cdef void copy_bits(
    Number* target, Py_ssize_t stride, const uint8_t* bits, const int64_t* rows, int64_t start,
    int64_t count
) noexcept nogil:
    cdef int64_t i, row
    for i in range(count):
        row = start + i if rows == NULL else rows[start + i]
        target[i * stride] = <Number>((bits[row >> 3] >> (row & 7)) & 1)


cdef inline double decimal_value(const uint64_t* words) noexcept nogil:
    """An integer of 128 bits, rounded; exact as long as it fits a double."""
    cdef uint64_t low = words[0], high = words[1]
    if high == (<uint64_t>0 if low >> 63 == 0 else ~<uint64_t>0):
        return <double><int64_t>low
    if high >> 63 == 0:
        return <double>high * TWO_TO_64 + <double>low
    low = ~low + 1
    high = ~high + (1 if low == 0 else 0)
    return -(<double>high * TWO_TO_64 + <double>low)


cdef void copy_decimals(
    Number* target, Py_ssize_t stride, const uint64_t* values, double divisor, const int64_t* rows,
    int64_t start, int64_t count
) noexcept nogil:
    cdef int64_t i, row
    for i in range(count):
        row = start + i if rows == NULL else rows[start + i]
        target[i * stride] = <Number>(decimal_value(values + 2 * row) / divisor)


cdef void copy_block(
    Number* target, Py_ssize_t stride, const ArrowArray* array, const Node* node, double divisor,
    const int64_t* rows, int64_t start, int64_t count
) noexcept nogil:
    """Values of some rows of a column; under nulls, whatever is there."""
    cdef const void* values = array.buffers[1]
    if node.type_id == BOOLEAN:
        copy_bits(target, stride, <const uint8_t*>values, rows, start, count)
    elif node.type_id == TINYINT:
        copy_values(target, stride, <const int8_t*>values, rows, start, count)
    elif node.type_id == SMALLINT:
        copy_values(target, stride, <const int16_t*>values, rows, start, count)
    elif node.type_id == INTEGER or node.type_id == DATE:
        copy_values(target, stride, <const int32_t*>values, rows, start, count)
    elif node.type_id == BIGINT:
        copy_values(target, stride, <const int64_t*>values, rows, start, count)
    elif node.type_id == FLOAT:
        copy_values(target, stride, <const float*>values, rows, start, count)
    elif node.type_id == DOUBLE:
        copy_values(target, stride, <const double*>values, rows, start, count)
    else:
        copy_decimals(target, stride, <const uint64_t*>values, divisor, rows, start, count)


cdef void put_nulls(
    Number* target, Py_ssize_t stride, const uint8_t* validity, Number null, uint8_t* mask,
    Py_ssize_t mask_stride, const int64_t* rows, int64_t start, int64_t count
) noexcept nogil:
    cdef int64_t i, row
    for i in range(count):
        row = start + i if rows == NULL else rows[start + i]
        if (validity[row >> 3] >> (row & 7)) & 1 == 0:
            target[i * stride] = null
            if mask != NULL:
                mask[i * mask_stride] = 1


cdef bint has_nulls(const uint8_t* validity, const int64_t* rows, int64_t count) noexcept nogil:
    """Whether one of the rows is null."""
    cdef int64_t i, row
    for i in range(count):
        row = i if rows == NULL else rows[i]
        if (validity[row >> 3] >> (row & 7)) & 1 == 0:
            return True
    return False


cdef bint is_number(const Node* node, bint whole) noexcept nogil:
    """Whether values of a type have a place in a matrix: in one of whole numbers if ``whole``."""
    if node.type_id == FLOAT or node.type_id == DOUBLE or node.type_id == DECIMAL:
        return not whole
    return (node.type_id <= BIGINT or node.type_id == DATE)


def first_unfit(Catalog catalog not None, const int64_t[::1] positions not None, int width,
                bint whole):
    """The index of the first column that does not fit a matrix, or -1.

    Parameters
    ----------
    catalog : Catalog
    positions : numpy array of int64
        The columns.
    width : int
        Bytes of a number of the matrix.
    whole : bool
        Whether the matrix is of whole numbers, which must hold every value of a column's type.
    """
    cdef int64_t i
    cdef Node* node
    for i in range(positions.shape[0]):
        if not 0 <= positions[i] < catalog.num_columns:
            raise IndexError("column out of range")
        node = &catalog.nodes[catalog.column_nodes[positions[i]]]
        if not is_number(node, whole) or (whole and node.type_id == BIGINT and width < 8):
            return i
    return -1


cdef int64_t fill_columns(
    BatchExport batch, const int64_t[::1] positions, const int64_t[::1] columns,
    Number[:, :] matrix, int64_t first_row, const int64_t* rows, int64_t num_rows, Number null,
    uint8_t[:, :] mask, bint refuse
) except -2:
    cdef Catalog catalog = batch.catalog
    cdef int64_t num_columns = positions.shape[0]
    cdef int64_t i, start, count, block
    cdef Py_ssize_t stride = matrix.strides[0] // <Py_ssize_t>sizeof(Number)
    cdef Py_ssize_t mask_stride = 0
    cdef uint8_t* mask_target = NULL
    cdef Node* node
    cdef ArrowArray* array
    cdef double[::1] divisors = np.ones(num_columns)
    if matrix.strides[0] % <Py_ssize_t>sizeof(Number):
        raise ValueError("the matrix is not aligned")
    if (columns.shape[0] != num_columns or first_row < 0
            or first_row > matrix.shape[0] - num_rows):
        raise IndexError("rows or columns out of range")
    if mask is not None:
        if mask.shape[0] != matrix.shape[0] or mask.shape[1] != matrix.shape[1]:
            raise ValueError("mask and matrix differ in shape")
        mask_stride = mask.strides[0]
    if rows != NULL:
        for i in range(num_rows):
            if not 0 <= rows[i] < batch.num_rows:
                raise IndexError("row out of range")
    elif num_rows > batch.num_rows:
        raise IndexError("row out of range")
    for i in range(num_columns):
        if not (0 <= columns[i] < matrix.shape[1] and 0 <= positions[i] < catalog.num_columns):
            raise IndexError("column out of range")
        array = batch.slot(i)
        node = &catalog.nodes[catalog.column_nodes[positions[i]]]
        if (array.release == NULL or array.length != batch.num_rows
                or not is_number(node, Number is int32_t or Number is int64_t)):
            raise ValueError("the column was not decoded, or is not of numbers")
        if node.type_id == DECIMAL:
            divisors[i] = 10.0 ** <double>node.scale
        if refuse and array.buffers[0] != NULL and has_nulls(
                <const uint8_t*>array.buffers[0], rows, num_rows):
            return i
    # Where numbers of a column lie side by side, there is nothing to gain from blocks.
    block = num_rows if stride == 1 else BLOCK
    with nogil:
        start = 0
        while start < num_rows:
            count = min(block, num_rows - start)
            for i in range(num_columns):
                array = &batch.columns[i]
                node = &catalog.nodes[catalog.column_nodes[positions[i]]]
                copy_block(&matrix[first_row + start, columns[i]], stride, array, node,
                           divisors[i], rows, start, count)
                if array.buffers[0] != NULL:
                    if mask is not None:
                        mask_target = &mask[first_row + start, columns[i]]
                    put_nulls(&matrix[first_row + start, columns[i]], stride,
                              <const uint8_t*>array.buffers[0], null, mask_target, mask_stride,
                              rows, start, count)
            start += count
    return -1


def fill(BatchExport batch not None, const int64_t[::1] positions not None,
         const int64_t[::1] columns not None, matrix not None, int64_t first_row,
         const int64_t[::1] rows, null, uint8_t[:, :] mask, bint refuse):
    """Copy the columns of a batch into a matrix.

    Parameters
    ----------
    batch : BatchExport
        The decoded columns, in the order of ``positions``.
    positions : numpy array of int64
        Which columns they are.
    columns : numpy array of int64
        The column of the matrix for each.
    matrix : numpy array
        Of two dimensions, of float32, float64, int32 or int64.
    first_row : int
        The row of the matrix for the first row that is copied.
    rows : numpy array of int64 or None
        The rows to copy; None for all.
    null : int or float
        What stands for a null.
    mask : numpy array of uint8, or None
        Of the shape of the matrix; 1 is set where a null is.
    refuse : bool
        Copy nothing if a column has nulls in these rows.

    Returns
    -------
    int
        The index of the first column that has nulls, if they are refused, else -1.
    """
    cdef const int64_t* chosen = NULL
    cdef int64_t num_rows = batch.num_rows
    if batch.columns == NULL:
        raise ValueError("the batch was exported before")
    if rows is not None:
        num_rows = rows.shape[0]
        if num_rows == 0:
            return -1
        chosen = &rows[0]
    if num_rows == 0:
        return -1
    if matrix.dtype == np.float32:
        return fill_columns[float](
            batch, positions, columns, matrix, first_row, chosen, num_rows, null, mask, refuse)
    if matrix.dtype == np.float64:
        return fill_columns[double](
            batch, positions, columns, matrix, first_row, chosen, num_rows, null, mask, refuse)
    if matrix.dtype == np.int32:
        return fill_columns[int32_t](
            batch, positions, columns, matrix, first_row, chosen, num_rows, null, mask, refuse)
    if matrix.dtype == np.int64:
        return fill_columns[int64_t](
            batch, positions, columns, matrix, first_row, chosen, num_rows, null, mask, refuse)
    raise ValueError("the matrix must be of float32, float64, int32 or int64")
