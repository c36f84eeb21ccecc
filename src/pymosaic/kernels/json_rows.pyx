# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Rows of a batch as lines of JSON.

In: a batch, through the Arrow C data interface, the text before each value, and the texts of
columns whose types are not written here. Out: one line for each row. No Python object is made for a
column or value, except for strings that need more than quotes.

Memory: the capsules are kept, and with them the arrays of the batch. A line is built in a buffer
that is used again for the next.

Safety: the batch is pyarrow's, so that its arrays are valid. The number of columns, the length of
each and its number of buffers are compared with what is read from them, and rows with the length of
the batch. Each append makes room for what it writes.
"""

from cpython.mem cimport PyMem_Free
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport isfinite, isnan
from libc.stdint cimport (
    int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.stdlib cimport calloc, free
from libc.string cimport strlen

from pymosaic.kernels.arrow_abi cimport ArrowArray, ArrowSchema
from pymosaic.kernels.primitives cimport (
    ByteVector, append_bytes, bit_at, checked_size, copy_bytes, free_vector, reserve,
)

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object unicode, Py_ssize_t* size) except NULL
    char* PyOS_double_to_string(
        double value, char format, int precision, int flags, int* kind) except NULL
    int Py_DTSF_ADD_DOT_0

cdef enum:
    OTHER = 0               # the kinds of columns are the letters of Arrow's formats
    LONGEST_INTEGER = 20    # digits of 2**64, or of -2**63 with its sign


cdef class JsonRows:
    """The rows of a batch as lines of JSON.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
    encode : callable
        Gives the JSON of a string that has more than printable ASCII in it.
    """

    cdef object schema_capsule, array_capsule, encode
    cdef ArrowArray* batch
    cdef uint8_t* kinds
    cdef ByteVector line_buffer

    def __cinit__(self, batch, encode):
        cdef ArrowSchema* schema
        cdef int64_t column
        self.line_buffer = ByteVector(NULL, 0, 0)
        self.encode = encode
        self.schema_capsule, self.array_capsule = batch.__arrow_c_array__()
        schema = <ArrowSchema*>PyCapsule_GetPointer(self.schema_capsule, b"arrow_schema")
        self.batch = <ArrowArray*>PyCapsule_GetPointer(self.array_capsule, b"arrow_array")
        if schema.n_children != self.batch.n_children:
            raise ValueError("the batch does not have the columns of its schema")
        self.kinds = <uint8_t*>calloc(
            <size_t>checked_size(self.batch.n_children + 1, 1), sizeof(uint8_t))
        if self.kinds == NULL:
            raise MemoryError
        for column in range(self.batch.n_children):
            self.kinds[column] = kind_of(schema.children[column])
            check_column(self.batch.children[column], self.kinds[column],
                         self.batch.offset + self.batch.length)

    def __dealloc__(self):
        free(self.kinds)
        free_vector(&self.line_buffer)

    @property
    def others(self):
        """The numbers of the columns whose texts must be given."""
        cdef int64_t column
        return [column for column in range(self.batch.n_children) if self.kinds[column] == OTHER]

    def line(self, int64_t row, list heads not None, dict texts not None):
        """A row as a line of JSON.

        Parameters
        ----------
        row : int
        heads : list of str
            What stands before the value of each column.
        texts : dict of int to list of str
            For each of the other columns, the JSON of its values.
        """
        cdef ByteVector* line = &self.line_buffer
        cdef int64_t column
        cdef list values
        if not 0 <= row < self.batch.length:
            raise IndexError("row out of range")
        if len(heads) != self.batch.n_children:
            raise ValueError("there must be a head for each column")
        line.size = 0
        for column in range(self.batch.n_children):
            append_text(line, heads[column])
            if self.kinds[column] == OTHER:
                values = texts[column]
                if len(values) != self.batch.length:
                    raise ValueError("there must be a text for each row")
                append_text(line, values[row])
            else:
                self.append_value(line, self.batch.children[column], self.kinds[column],
                                  row + self.batch.offset)
        append_bytes(line, b"}\n", 2)
        return PyUnicode_DecodeUTF8(<const char*>line.data, line.size, NULL)

    cdef int append_value(
        self, ByteVector* line, const ArrowArray* array, uint8_t kind, int64_t row
    ) except -1:
        """Append a value; the row is inside the array, which has the buffers of its kind."""
        cdef int64_t place = row + array.offset
        cdef const uint8_t* validity = <const uint8_t*>array.buffers[0]
        cdef const void* values = array.buffers[1]
        if validity != NULL and not bit_at(validity, place):
            return append_bytes(line, b"null", 4)
        if kind == c'g':
            return append_double(line, (<const double*>values)[place])
        if kind == c'u':
            return self.append_string(line, array, place)
        if kind == c'b':
            if bit_at(<const uint8_t*>values, place):
                return append_bytes(line, b"true", 4)
            return append_bytes(line, b"false", 5)
        if kind == c'L':
            return append_integer(line, (<const uint64_t*>values)[place], False)
        return append_signed(line, load_integer(values, kind, place))

    cdef int append_string(
        self, ByteVector* line, const ArrowArray* array, int64_t place
    ) except -1:
        cdef const int32_t* offsets = <const int32_t*>array.buffers[1]
        cdef int64_t start = offsets[place], length = offsets[place + 1] - start
        cdef const uint8_t* data = <const uint8_t*>array.buffers[2] + start
        if not is_plain(data, length):
            text = PyUnicode_DecodeUTF8(<const char*>data, length, NULL)
            return append_text(line, self.encode(text))
        reserve(line, length + 2)
        line.data[line.size] = c'"'
        copy_bytes(line.data + line.size + 1, data, <size_t>length)
        line.data[line.size + length + 1] = c'"'
        line.size += length + 2
        return 0


cdef uint8_t kind_of(const ArrowSchema* field) noexcept:
    """The letter of a type that is written here; OTHER for all else."""
    cdef char letter = field.format[0]
    if strlen(field.format) != 1 or field.dictionary != NULL:
        return OTHER
    if letter in (c'b', c'c', c'C', c's', c'S', c'i', c'I', c'l', c'L', c'g', c'u'):
        return <uint8_t>letter
    return OTHER


cdef int check_column(const ArrowArray* array, uint8_t kind, int64_t rows) except -1:
    if kind == OTHER:
        return 0
    if array.length < rows or array.n_buffers != (3 if kind == c'u' else 2):
        raise ValueError("a column is not as its type and the batch say")
    return 0


cdef int append_text(ByteVector* line, object text) except -1:
    cdef Py_ssize_t size
    cdef const char* data = PyUnicode_AsUTF8AndSize(text, &size)
    return append_bytes(line, <const uint8_t*>data, size)


cdef bint is_plain(const uint8_t* data, int64_t length) noexcept:
    """Whether a string needs nothing but quotes."""
    cdef int64_t i
    for i in range(length):
        if data[i] < 0x20 or data[i] >= 0x7F or data[i] == c'"' or data[i] == c'\\':
            return False
    return True


cdef int append_double(ByteVector* line, double value) except -1:
    """A number as Python writes it, which is the shortest text that denotes it."""
    cdef char* text
    if not isfinite(value):
        if isnan(value):
            return append_bytes(line, b'"NaN"', 5)
        if value > 0:
            return append_bytes(line, b'"Infinity"', 10)
        return append_bytes(line, b'"-Infinity"', 11)
    text = PyOS_double_to_string(value, c'r', 0, Py_DTSF_ADD_DOT_0, NULL)
    try:
        return append_bytes(line, <const uint8_t*>text, <int64_t>strlen(text))
    finally:
        PyMem_Free(text)


cdef int64_t load_integer(const void* values, uint8_t kind, int64_t place) noexcept:
    if kind == c'c':
        return (<const int8_t*>values)[place]
    if kind == c'C':
        return (<const uint8_t*>values)[place]
    if kind == c's':
        return (<const int16_t*>values)[place]
    if kind == c'S':
        return (<const uint16_t*>values)[place]
    if kind == c'i':
        return (<const int32_t*>values)[place]
    if kind == c'I':
        return (<const uint32_t*>values)[place]
    return (<const int64_t*>values)[place]


cdef int append_signed(ByteVector* line, int64_t value) except -1:
    # Of the least number there is no positive one: the sign is taken off the unsigned bits.
    if value < 0:
        return append_integer(line, 0 - <uint64_t>value, True)
    return append_integer(line, <uint64_t>value, False)


cdef int append_integer(ByteVector* line, uint64_t value, bint negative) except -1:
    cdef uint8_t digits[LONGEST_INTEGER]
    cdef int64_t start = LONGEST_INTEGER
    while True:
        start -= 1
        digits[start] = <uint8_t>(c'0' + value % 10)
        value //= 10
        if value == 0:
            break
    # 2**63 has 19 digits, so that there is room for its sign.
    if negative:
        start -= 1
        digits[start] = c'-'
    return append_bytes(line, digits + start, LONGEST_INTEGER - start)
