# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The rows of the row group being written: each physical column's values, serialised.

In: Arrow arrays through the C data interface, and the ``ArrowSource`` of their schema. Out: for
each physical column its non-null values in their stored form, back to back, and a bit per row once
there is a null. Encodings are chosen later, over the whole row group
(:mod:`pymosaic.kernels.bucket_encoder`).

Memory: the buffer owns all of it, and copies batches in as they come: the caller may reuse its
memory afterwards. Threads may append different columns at the same time, since each column has
vectors of its own; the total is counted atomically.

Safety: Arrow has validated the arrays (buffers as long as the length says, the last offset inside
the data), but not each offset: those, indices, view positions and list lengths are compared with
what was validated before a value is read. Room is reserved before a loop that writes without
checks.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport (
    INT64_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.stdlib cimport calloc, free

from pymosaic.kernels.arrow_abi cimport ArrowArray
from pymosaic.kernels.arrow_source cimport (
    CONVERT_DATE64, CONVERT_DECIMAL, CONVERT_SECONDS, CONVERT_TIME_MICROS,
    CONVERT_TIME_NANOS, CONVERT_TIME_SECONDS, CONVERT_UNSIGNED,
    SOURCE_BINARY32, SOURCE_BINARY64, SOURCE_BINARY_FIXED, SOURCE_BOOL,
    SOURCE_DECIMAL, SOURCE_DICTIONARY, SOURCE_FIXED, SOURCE_HALF, SOURCE_LIST32,
    SOURCE_LIST64, SOURCE_LIST_VIEW32, SOURCE_LIST_VIEW64, SOURCE_MAP,
    SOURCE_MILLIS_STRUCT, SOURCE_NANOS, SOURCE_NULL, SOURCE_RUN_END, ArrowSource, SourceField,
)
from pymosaic.kernels.catalog cimport KIND_STRING, Catalog, Node, kind_width
from pymosaic.kernels.primitives cimport (
    atomic_add_i64, bit_at, checked_size, clear_bytes, compact1, compact2, compact4, compact8,
    copy_bytes, copy_string, count_bits, decimal_fits16, decimal_load, decimal_to_be, free_vector,
    half_to_float, is_ascii, is_utf8, join_nanos, load_le64, reserve, set_bit, store_be16,
    store_be32, store_be64, store_varint, swap_copy2, swap_copy4, swap_copy8, varint_length,
)

from pymosaic.errors import InvalidDataError

cdef enum:
    DAY_MILLIS = 86_400_000
    # Arrow readers hold a row group's strings, or list elements, behind 32-bit offsets.
    MAX_PAYLOAD = 0x7FFFFFFF
    COPY_SLACK = 16      # what copy_string may write beyond a string


cdef class RowGroupBuffer:
    """Buffers for one row group of a catalog's columns."""

    def __cinit__(self, Catalog catalog not None):
        self.catalog = catalog
        self.buffers = <ColumnBuffer*>calloc(
            <size_t>checked_size(catalog.num_nodes + 1, 1), sizeof(ColumnBuffer))
        if self.buffers == NULL:
            raise MemoryError
        self.num_nodes = catalog.num_nodes

    def __dealloc__(self):
        # Not from the catalog: the garbage collector may have taken it away.
        cdef int64_t node
        if self.buffers != NULL:
            for node in range(self.num_nodes):
                free_vector(&self.buffers[node].data)
                free_vector(&self.buffers[node].nulls)
            free(self.buffers)

    @property
    def serialised_bytes(self):
        """Bytes of all non-null values as PLAIN would store them."""
        return self.serialised

    def append(self, ArrowSource source not None, batch, int64_t first, int64_t last,
               int64_t start, int64_t count):
        """Copy in rows of the columns at positions ``first`` to ``last`` of a batch.

        Parameters
        ----------
        source : ArrowSource
            Made by :func:`pymosaic.kernels.arrow_source.bind` from the batch's schema.
        batch : PyCapsule
            An ``arrow_array`` capsule of the batch.
        first, last : int
            A half-open range of positions, so that threads can share the work.
        start, count : int
            Which rows.
        """
        cdef const ArrowArray* array = <const ArrowArray*>PyCapsule_GetPointer(
            batch, b"arrow_array")
        cdef int64_t position, child, before
        if not 0 <= first <= last <= self.catalog.num_columns:
            raise IndexError("columns out of range")
        if start < 0 or count < 0 or count > array.length - start:
            raise IndexError("rows out of range")
        if array.n_children != source.num_columns:
            raise ValueError("the batch does not have the columns of its source")
        with nogil:
            before = self.count_bytes(first, last)
            for position in range(first, last):
                child = source.child_index[position]
                self.append_range(
                    self.catalog.column_nodes[position], source, source.columns[child],
                    array.children[child], array.offset + start, count)
            atomic_add_i64(&self.serialised, self.count_bytes(first, last) - before)

    cdef int64_t count_bytes(self, int64_t first, int64_t last) noexcept nogil:
        cdef int64_t node, total = 0
        for node in range(self.catalog.column_nodes[first], self.catalog.column_nodes[last]):
            total += self.buffers[node].data.size
        return total

    def add_rows(self, int64_t count):
        """Count the rows of a batch whose columns are all in."""
        self.num_rows += count
        if self.num_rows > 0xFFFFFFFF:
            raise InvalidDataError("a row group holds at most 2**32 - 1 rows")

    cdef int refuse(self, int64_t node, const char* reason) except -1 nogil:
        """Raise InvalidDataError that names the column of a node."""
        cdef int64_t low = 0, high = self.catalog.num_columns, middle
        while high - low > 1:
            middle = (low + high) >> 1
            if self.catalog.column_nodes[middle] <= node:
                low = middle
            else:
                high = middle
        with gil:
            raise InvalidDataError(f"column {self.catalog.name(low)!r}: {reason.decode()}")

    cdef int64_t append_validity(
        self, int64_t node, const uint8_t* validity, int64_t offset, int64_t count
    ) except -1 nogil:
        """Note which of the next ``count`` rows are null; returns how many are not."""
        cdef ColumnBuffer* buffer = &self.buffers[node]
        cdef int64_t valid = count, size, row = buffer.rows
        if validity != NULL:
            valid = count_range(validity, offset, count)
        if valid < count and not self.catalog.nodes[node].nullable:
            self.refuse(node, b"a null in a column (or list element) that is declared NOT NULL")
        if valid < count or buffer.nulls.size:
            size = (row + count + 7) // 8
            reserve(&buffer.nulls, size - buffer.nulls.size)
            clear_bytes(buffer.nulls.data + buffer.nulls.size, <size_t>(size - buffer.nulls.size))
            buffer.nulls.size = size
            if valid < count:
                set_nulls(buffer.nulls.data, row, validity, offset, count)
        buffer.rows += count
        buffer.non_null += valid
        return valid

    cdef int append_nulls(self, int64_t node, int64_t count) except -1 nogil:
        """Append rows that are all null."""
        cdef ColumnBuffer* buffer = &self.buffers[node]
        cdef int64_t i, size
        if count == 0:
            return 0
        if not self.catalog.nodes[node].nullable:
            self.refuse(node, b"a null in a column (or list element) that is declared NOT NULL")
        size = (buffer.rows + count + 7) // 8
        reserve(&buffer.nulls, size - buffer.nulls.size)
        clear_bytes(buffer.nulls.data + buffer.nulls.size, <size_t>(size - buffer.nulls.size))
        buffer.nulls.size = size
        for i in range(buffer.rows, buffer.rows + count):
            set_bit(buffer.nulls.data, i)
        buffer.rows += count
        return 0

    cdef int append_range(
        self, int64_t node, ArrowSource source, int64_t field_index, const ArrowArray* array,
        int64_t start, int64_t count
    ) except -1 nogil:
        """Append rows ``start`` to ``start + count`` of an array to a node and its children."""
        cdef SourceField* field = &source.fields[field_index]
        cdef const uint8_t* validity = NULL
        cdef int64_t base = array.offset + start, valid
        if start < 0 or count < 0 or count > array.length - start:
            self.refuse(node, b"an Arrow array is shorter than its parent says")
        if field.kind == SOURCE_NULL:
            return self.append_nulls(node, count)
        if field.kind == SOURCE_RUN_END:
            return self.append_runs(node, source, field, array, base, count)
        if array.null_count != 0 and array.n_buffers > 0:
            validity = <const uint8_t*>array.buffers[0]
        if field.kind == SOURCE_DICTIONARY:
            return self.append_dictionary(node, source, field, array, validity, base, count)
        valid = self.append_validity(node, validity, base, count)
        if valid == 0:
            return 0
        if valid == count:
            validity = NULL
        if field.kind == SOURCE_FIXED:
            self.append_fixed(
                node, field, <const uint8_t*>array.buffers[1], validity, base, count, valid)
        elif SOURCE_BINARY32 <= field.kind <= SOURCE_BINARY_FIXED:
            self.append_binary(node, field, array, validity, base, count)
        elif SOURCE_LIST32 <= field.kind <= SOURCE_MAP:
            self.append_lists(node, source, field, array, validity, base, count, valid)
        else:
            self.append_converted(node, field, array, validity, base, count, valid)
        return 0

    cdef int append_fixed(
        self, int64_t node, const SourceField* field, const uint8_t* values,
        const uint8_t* validity, int64_t base, int64_t count, int64_t valid
    ) except -1 nogil:
        """Values that differ from their stored form in byte order only."""
        cdef ByteVector* data = &self.buffers[node].data
        cdef int64_t width = field.width
        cdef uint8_t* out
        reserve(data, checked_size(valid + 1, width))
        out = data.data + data.size
        values += base * width
        if validity == NULL:
            if width == 1:
                copy_bytes(out, values, <size_t>count)
            elif width == 2:
                swap_copy2(out, values, <size_t>count)
            elif width == 4:
                swap_copy4(out, values, <size_t>count)
            else:
                swap_copy8(out, values, <size_t>count)
        elif width == 1:
            compact1(out, values, validity, base, count)
        elif width == 2:
            compact2(out, values, validity, base, count)
        elif width == 4:
            compact4(out, values, validity, base, count)
        else:
            compact8(out, values, validity, base, count)
        data.size += valid * width
        return 0

    cdef int append_converted(
        self, int64_t node, const SourceField* field, const ArrowArray* array,
        const uint8_t* validity, int64_t base, int64_t count, int64_t valid
    ) except -1 nogil:
        """Values that are changed on their way, one at a time."""
        cdef ByteVector* data = &self.buffers[node].data
        cdef const uint8_t* values = NULL
        cdef const Node* target = &self.catalog.nodes[node]
        cdef int width = kind_width(target.kind), length
        cdef int64_t i, row, number = 0, millis, nanos
        cdef uint8_t decimal[16]
        cdef uint32_t bits
        cdef float real
        cdef uint8_t* out
        if field.kind == SOURCE_MILLIS_STRUCT:
            return self.append_millis_struct(node, array, validity, base, count, valid)
        values = <const uint8_t*>array.buffers[1]
        reserve(data, checked_size(valid, width if width else 17))
        # Writes ``valid`` values, for which room is reserved: of their width, or a length and 16
        # bytes for a decimal. append_range has checked that the rows are inside the array.
        for i in range(count):
            row = base + i
            if validity != NULL and not bit_at(validity, row):
                continue
            out = data.data + data.size
            if field.kind == SOURCE_BOOL:
                out[0] = bit_at(values, row)
                data.size += 1
                continue
            if field.kind == SOURCE_DECIMAL:
                if field.conversion == CONVERT_UNSIGNED:
                    clear_bytes(decimal, 16)
                    copy_bytes(decimal, values + 8 * row, 8)
                elif not decimal_load(decimal, values + field.width * row, field.width):
                    self.refuse(node, b"a decimal does not fit its precision")
                length = decimal_to_be(out + 1, decimal, <int>target.parameter)
                if length == 0:
                    self.refuse(node, b"a decimal does not fit its precision")
                out[0] = <uint8_t>length
                data.size += 1 + length
                continue
            if field.kind == SOURCE_NANOS:
                number = <int64_t>load_le64(values + 8 * row)
                nanos = number % 1_000_000
                millis = number // 1_000_000
                if nanos < 0:
                    nanos += 1_000_000
                    millis -= 1
                store_be64(out, <uint64_t>millis)
                store_be32(out + 8, <uint32_t>nanos)
                data.size += 12
                continue
            if field.kind == SOURCE_HALF:
                real = half_to_float((<const uint16_t*>values)[row])
                copy_bytes(&bits, &real, 4)
                store_be32(out, bits)
                data.size += 4
                continue
            self.convert(node, field, values, row, &number)
            if width == 2:
                store_be16(out, <uint16_t>number)
            elif width == 4:
                store_be32(out, <uint32_t>number)
            else:
                store_be64(out, <uint64_t>number)
            data.size += width
        return 0

    cdef int convert(
        self, int64_t node, const SourceField* field, const uint8_t* values, int64_t row,
        int64_t* out
    ) except -1 nogil:
        """One value as the integer that is stored; refused where that would lose something."""
        cdef int64_t value = 0, limit = DAY_MILLIS
        cdef uint8_t decimal[16]
        cdef uint8_t conversion = field.conversion
        if conversion == CONVERT_DECIMAL:
            if (not decimal_load(decimal, values + field.width * row, field.width)
                    or not decimal_fits16(decimal, <int>field.parameter)):
                self.refuse(node, b"a decimal does not fit its precision")
            copy_bytes(out, decimal, 8)
            return 0
        copy_bytes(&value, values + field.width * row, <size_t>field.width)
        if conversion == CONVERT_UNSIGNED:
            out[0] = value
            return 0
        if field.width == 4:
            value = <int32_t>value
        if conversion == CONVERT_DATE64:
            if value % DAY_MILLIS:
                self.refuse(node, b"a date64 value is not a whole day")
            out[0] = value // DAY_MILLIS
            if out[0] != <int32_t>out[0]:
                self.refuse(node, b"a date64 value is beyond the range of DATE")
            return 0
        if conversion == CONVERT_SECONDS:
            if value > INT64_MAX // 1000 or value < -(INT64_MAX // 1000):
                self.refuse(node, b"a timestamp[s] value is beyond the range of milliseconds")
            out[0] = value * 1000
            return 0
        if conversion == CONVERT_TIME_SECONDS:
            limit = DAY_MILLIS // 1000
        elif conversion == CONVERT_TIME_MICROS:
            limit = <int64_t>DAY_MILLIS * 1000
        elif conversion == CONVERT_TIME_NANOS:
            limit = <int64_t>DAY_MILLIS * 1_000_000
        if not 0 <= value < limit:
            self.refuse(node, b"a time is not within a day")
        if limit < DAY_MILLIS:
            value *= 1000
        elif value % (limit // DAY_MILLIS):
            self.refuse(node, b"a time has a part below a millisecond, which TIME cannot hold; "
                              b"round it to time32('ms'), or store it as int64")
        else:
            value //= limit // DAY_MILLIS
        out[0] = value
        return 0

    cdef int append_millis_struct(
        self, int64_t node, const ArrowArray* array, const uint8_t* validity, int64_t base,
        int64_t count, int64_t valid
    ) except -1 nogil:
        """Rows of struct<millis, nanos_of_milli> as nanosecond timestamps."""
        cdef ByteVector* data = &self.buffers[node].data
        cdef const ArrowArray* millis = array.children[0]
        cdef const ArrowArray* nanos = array.children[1]
        cdef int64_t i, row, joined
        cdef int64_t milli
        cdef int32_t nano
        if count > millis.length - base or count > nanos.length - base:
            self.refuse(node, b"an Arrow array is shorter than its parent says")
        reserve(data, checked_size(valid, 12))
        for i in range(count):
            row = base + i
            if validity != NULL and not bit_at(validity, row):
                continue
            if is_null(millis, row) or is_null(nanos, row):
                self.refuse(node, b"a timestamp struct has a null field")
            milli = (<const int64_t*>millis.buffers[1])[millis.offset + row]
            nano = (<const int32_t*>nanos.buffers[1])[nanos.offset + row]
            if not 0 <= nano < 1_000_000 or not join_nanos(milli, nano, &joined):
                self.refuse(node, b"a timestamp struct is beyond the range of timestamp[ns]")
            store_be64(data.data + data.size, <uint64_t>milli)
            store_be32(data.data + data.size + 8, <uint32_t>nano)
            data.size += 12
        return 0

    cdef int append_binary(
        self, int64_t node, const SourceField* field, const ArrowArray* array,
        const uint8_t* validity, int64_t base, int64_t count
    ) except -1 nogil:
        """Strings and bytes: a varint length and the bytes."""
        cdef ColumnBuffer* buffer = &self.buffers[node]
        cdef ByteVector* data = &buffer.data
        cdef const uint8_t* value = NULL
        cdef int64_t i, length = 0
        cdef bint text = self.catalog.nodes[node].kind == KIND_STRING
        if field.kind == SOURCE_BINARY32 and self.append_ascii(
                node, array, validity, base, count, text):
            return 0
        for i in range(count):
            if validity != NULL and not bit_at(validity, base + i):
                continue
            self.locate_binary(node, field, array, base + i, &value, &length)
            buffer.payload += length
            if buffer.payload > MAX_PAYLOAD:
                self.refuse(node, b"more than 2 GiB in one row group, which Arrow readers cannot "
                                  b"hold; write smaller batches or set a smaller row_group_bytes")
            reserve(data, length + 5)
            data.size += store_varint(data.data + data.size, <uint32_t>length)
            if length:
                copy_bytes(data.data + data.size, value, <size_t>length)
            if text and not is_ascii(value, <size_t>length) and not is_utf8(value, <size_t>length):
                self.refuse(node, b"a string is not valid UTF-8")
            data.size += length
        return 0

    cdef bint append_ascii(
        self, int64_t node, const ArrowArray* array, const uint8_t* validity, int64_t base,
        int64_t count, bint text
    ) except -1 nogil:
        """The common case in one tight loop: 32-bit offsets, and bytes that need no checking.

        False, with nothing appended, where strings have to be looked at one by one.
        """
        cdef ColumnBuffer* buffer = &self.buffers[node]
        cdef const int32_t* offsets = <const int32_t*>array.buffers[1] + base
        cdef const uint8_t* values = <const uint8_t*>array.buffers[2]
        cdef const uint8_t* end
        cdef int64_t i, length, longest = 0, total = <int64_t>offsets[count] - offsets[0]
        cdef uint8_t* out
        # The last offset of the array is what validation has compared with the buffer.
        if (total < 0 or buffer.payload + total > MAX_PAYLOAD or offsets[0] < 0
                or offsets[count] > (<const int32_t*>array.buffers[1])[array.offset + array.length]):
            return False
        for i in range(count):
            length = <int64_t>offsets[i + 1] - offsets[i]
            if length < 0:
                return False
            if length > longest:
                longest = length
        if text and not is_ascii(values + offsets[0], <size_t>total):
            return False
        reserve(&buffer.data,
                total + varint_length(<uint32_t>longest) * count + COPY_SLACK)
        out = buffer.data.data + buffer.data.size
        end = values + offsets[count]
        # The pass above has seen that no length is negative, so that all strings lie between the
        # first offset and the last. There is room for all bytes, for a varint of the longest before
        # each, and for what copy_string writes beyond a string.
        for i in range(count):
            if validity != NULL and not bit_at(validity, base + i):
                continue
            length = offsets[i + 1] - offsets[i]
            buffer.payload += length
            out += store_varint(out, <uint32_t>length)
            copy_string(out, values + offsets[i], <size_t>length, end)
            out += length
        buffer.data.size = out - buffer.data.data
        return True

    cdef inline int locate_binary(
        self, int64_t node, const SourceField* field, const ArrowArray* array, int64_t row,
        const uint8_t** value, int64_t* length
    ) except -1 nogil:
        """Where a string's bytes are."""
        cdef int64_t start, buffer_index, end
        cdef const uint8_t* view
        if field.kind == SOURCE_BINARY32 or field.kind == SOURCE_BINARY64:
            if field.kind == SOURCE_BINARY32:
                start = (<const int32_t*>array.buffers[1])[row]
                length[0] = (<const int32_t*>array.buffers[1])[row + 1] - start
                end = (<const int32_t*>array.buffers[1])[array.offset + array.length]
            else:
                start = (<const int64_t*>array.buffers[1])[row]
                length[0] = (<const int64_t*>array.buffers[1])[row + 1] - start
                end = (<const int64_t*>array.buffers[1])[array.offset + array.length]
            if start < 0 or length[0] < 0 or length[0] > end - start:
                self.refuse(node, b"an Arrow array has offsets outside its data")
            value[0] = <const uint8_t*>array.buffers[2] + start
        elif field.kind == SOURCE_BINARY_FIXED:
            length[0] = field.width
            value[0] = <const uint8_t*>array.buffers[1] + row * field.width
        else:
            view = <const uint8_t*>array.buffers[1] + 16 * row
            length[0] = (<const int32_t*>view)[0]
            value[0] = view + 4
            if length[0] > 12:
                buffer_index = (<const int32_t*>view)[2]
                start = (<const int32_t*>view)[3]
                # The last buffer holds the sizes of the data buffers.
                if (not 0 <= buffer_index < array.n_buffers - 3 or start < 0
                        or start + length[0] > (<const int64_t*>array.buffers[
                            array.n_buffers - 1])[buffer_index]):
                    self.refuse(node, b"an Arrow string view points outside its buffers")
                value[0] = <const uint8_t*>array.buffers[2 + buffer_index] + start
        if not 0 <= length[0] <= MAX_PAYLOAD:
            self.refuse(node, b"a string has a length that is negative or above 2 GiB")
        return 0

    cdef int append_lists(
        self, int64_t node, ArrowSource source, const SourceField* field, const ArrowArray* array,
        const uint8_t* validity, int64_t base, int64_t count, int64_t valid
    ) except -1 nogil:
        """Lengths of lists or maps; elements of neighbouring lists are appended in one go."""
        cdef ColumnBuffer* buffer = &self.buffers[node]
        cdef int64_t i, row, start, length, run_start = 0, run_length = 0
        reserve(&buffer.data, checked_size(valid, 4))
        # Room for ``valid`` lengths is reserved. Each list is compared with the number of elements
        # that its child has before any of them is appended.
        for i in range(count):
            row = base + i
            if validity != NULL and not bit_at(validity, row):
                continue
            if field.kind == SOURCE_LIST32 or field.kind == SOURCE_MAP:
                start = (<const int32_t*>array.buffers[1])[row]
                length = (<const int32_t*>array.buffers[1])[row + 1] - start
            elif field.kind == SOURCE_LIST64:
                start = (<const int64_t*>array.buffers[1])[row]
                length = (<const int64_t*>array.buffers[1])[row + 1] - start
            elif field.kind == SOURCE_LIST_VIEW32:
                start = (<const int32_t*>array.buffers[1])[row]
                length = (<const int32_t*>array.buffers[2])[row]
            elif field.kind == SOURCE_LIST_VIEW64:
                start = (<const int64_t*>array.buffers[1])[row]
                length = (<const int64_t*>array.buffers[2])[row]
            else:
                start = row * field.width
                length = field.width
            if length < 0 or start < 0 or length > array.children[0].length - start:
                self.refuse(node, b"an Arrow list reaches outside its elements")
            buffer.payload += length
            if buffer.payload > MAX_PAYLOAD:
                self.refuse(node, b"more than 2**31 - 1 list elements in one row group")
            store_be32(buffer.data.data + buffer.data.size, <uint32_t>length)
            buffer.data.size += 4
            if length == 0:
                continue
            if start != run_start + run_length:
                self.append_elements(node, source, field, array, run_start, run_length)
                run_start = start
                run_length = 0
            run_length += length
        return self.append_elements(node, source, field, array, run_start, run_length)

    cdef int append_elements(
        self, int64_t node, ArrowSource source, const SourceField* field, const ArrowArray* array,
        int64_t start, int64_t count
    ) except -1 nogil:
        cdef const ArrowArray* child = array.children[0]
        if count == 0:
            return 0
        if field.kind != SOURCE_MAP:
            return self.append_range(node + 1, source, field.child, child, start, count)
        if start < 0 or count > child.length - start:
            self.refuse(node, b"an Arrow array is shorter than its parent says")
        start += child.offset
        self.append_range(node + 1, source, field.child, child.children[0], start, count)
        return self.append_range(
            self.catalog.nodes[node + 1].end, source, field.second, child.children[1], start, count)

    cdef int append_dictionary(
        self, int64_t node, ArrowSource source, const SourceField* field, const ArrowArray* array,
        const uint8_t* validity, int64_t base, int64_t count
    ) except -1 nogil:
        """Rows of a dictionary array: the values that their indices mean."""
        cdef int64_t i, row, index = 0
        cdef const uint8_t* indices = <const uint8_t*>array.buffers[1]
        for i in range(count):
            row = base + i
            if validity != NULL and not bit_at(validity, row):
                self.append_nulls(node, 1)
                continue
            index = load_index(indices, row, field)
            if not 0 <= index < array.dictionary.length:
                self.refuse(node, b"a dictionary index is outside its dictionary")
            self.append_range(node, source, field.child, array.dictionary, index, 1)
        return 0

    cdef int append_runs(
        self, int64_t node, ArrowSource source, const SourceField* field, const ArrowArray* array,
        int64_t base, int64_t count
    ) except -1 nogil:
        """Rows of a run-end encoded array."""
        cdef const ArrowArray* ends = array.children[0]
        cdef const uint8_t* end_values = <const uint8_t*>ends.buffers[1]
        cdef int64_t low = 0, high = ends.length, middle, row
        while low < high:
            middle = (low + high) >> 1
            if load_index(end_values, ends.offset + middle, field) > base:
                high = middle
            else:
                low = middle + 1
        for row in range(base, base + count):
            while low < ends.length and load_index(end_values, ends.offset + low, field) <= row:
                low += 1
            if low == ends.length:
                self.refuse(node, b"an Arrow array is shorter than its parent says")
            self.append_range(node, source, field.child, array.children[1], low, 1)
        return 0


cdef int64_t load_index(const uint8_t* data, int64_t row, const SourceField* field) noexcept nogil:
    if field.width == 1:
        return (<const int8_t*>data)[row] if field.signed_index else data[row]
    if field.width == 2:
        return ((<const int16_t*>data)[row] if field.signed_index
                else (<const uint16_t*>data)[row])
    if field.width == 4:
        return ((<const int32_t*>data)[row] if field.signed_index
                else (<const uint32_t*>data)[row])
    return (<const int64_t*>data)[row]


cdef int64_t count_range(const uint8_t* bits, int64_t offset, int64_t count) noexcept nogil:
    """Set bits among ``count`` from bit ``offset`` on."""
    cdef int64_t total = count_bits(bits + (offset >> 3), (offset & 7) + count)
    return total - count_bits(bits + (offset >> 3), offset & 7)


cdef void set_nulls(
    uint8_t* nulls, int64_t row, const uint8_t* validity, int64_t offset, int64_t count
) noexcept nogil:
    """Set the bits from ``row`` on, which are clear, where those of ``validity`` are not."""
    cdef int64_t i = 0
    if (row | offset) & 7 == 0:
        for i in range(count >> 3):
            nulls[(row >> 3) + i] = ~validity[(offset >> 3) + i]
        i = count & ~<int64_t>7
    while i < count:
        if not bit_at(validity, offset + i):
            set_bit(nulls, row + i)
        i += 1


cdef bint is_null(const ArrowArray* array, int64_t row) noexcept nogil:
    if array.null_count == 0 or array.buffers[0] == NULL:
        return False
    return not bit_at(<const uint8_t*>array.buffers[0], array.offset + row)
