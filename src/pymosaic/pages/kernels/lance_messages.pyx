# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The messages of which a wide Lance file has thousands: fields of its schema, pages of a column.

What :mod:`pymosaic.pages.protobuf` reads of any message, this reads of these, and refuses what that
refuses: wire types, lengths, varints above 64 bits, int32s above 32, text that is not UTF-8. What
it writes for columns of one page, this writes too.

In: the bytes of a message, or arrays that describe pages. Out: numbers in arrays of the caller;
names, types, metadata and pages as Python objects; or the bytes of messages.

Memory: the bytes and the arrays belong to the caller; texts and descriptions are copied, and
nothing points into the message after a function returns.

Safety: bytes are read by ``read_varint`` and ``read_part`` alone, which never move the position
past the end that they are given, and by what is given a ``Part`` of bytes that ``read_part`` has
found inside its message. A message in a message ends where its part does. Bytes are written behind
``reserve`` only.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memset

from pymosaic.errors import CorruptFileError
from pymosaic.kernels.primitives cimport (
    ByteVector, append_bytes, corrupt, free_vector, reserve,
)
from pymosaic.pages.kernels.bounds cimport invalid_data

cdef enum:
    WIRE_VARINT = 0
    WIRE_FIXED64 = 1
    WIRE_BYTES = 2
    WIRE_FIXED32 = 5

cdef enum:
    FLAG_PACKED = 1
    FLAG_PACKED_OLD = 2
    FLAG_BLOB = 4
    FLAG_METADATA = 8
    FLAG_STRUCT = 16
    FLAG_NULLABLE = 32


cdef struct Part:
    # One field of a message: a number, or bytes from start to end.
    uint64_t number
    int wire
    uint64_t value
    int64_t start
    int64_t end


cdef int read_varint(
    const uint8_t* data, int64_t* position, int64_t end, const char* structure, uint64_t* value
) except -1 nogil:
    cdef int shift = 0
    cdef uint8_t byte
    value[0] = 0
    # A byte is read only before ``end``, and the tenth is the last; ``shift`` stays below 64.
    while position[0] < end and shift <= 63:
        byte = data[position[0]]
        position[0] += 1
        if shift == 63 and byte > 1:
            break
        value[0] |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            return 0
        shift += 7
    return corrupt(structure, position[0], b"not a varint")


cdef int read_part(
    const uint8_t* data, int64_t* position, int64_t end, const char* structure, Part* part
) except -1 nogil:
    cdef uint64_t tag, length
    cdef int64_t start = position[0]
    read_varint(data, position, end, structure, &tag)
    part.number = tag >> 3
    part.wire = <int>(tag & 7)
    if part.number == 0 or part.number >> 29:
        return corrupt(structure, start, b"not a field number")
    if part.wire == WIRE_VARINT:
        return read_varint(data, position, end, structure, &part.value)
    if part.wire == WIRE_BYTES:
        read_varint(data, position, end, structure, &length)
    elif part.wire == WIRE_FIXED64:
        length = 8
    elif part.wire == WIRE_FIXED32:
        length = 4
    else:
        return corrupt(structure, start, b"not a wire type")
    # The position is not past ``end``, so that the difference is not negative; from here on the
    # part lies inside the message, and so does the new position.
    if length > <uint64_t>(end - position[0]):
        return corrupt(structure, start, b"a field is longer than what is left")
    part.start = position[0]
    position[0] += <int64_t>length
    part.end = position[0]
    return 0


cdef inline int expect(const Part* part, int wire, const char* structure) except -1 nogil:
    if part.wire != wire:
        return corrupt(structure, -1, b"a field has another wire type")
    return 0


cdef int read_int32(const Part* part, const char* structure, int32_t* out) except -1 nogil:
    cdef int64_t value
    expect(part, WIRE_VARINT, structure)
    value = <int64_t>part.value
    if not -(<int64_t>1 << 31) <= value < <int64_t>1 << 31:
        return corrupt(structure, -1, b"a number is not of 32 bits")
    out[0] = <int32_t>value
    return 0


cdef str text(const uint8_t* data, const Part* part, str structure):
    try:
        return PyUnicode_DecodeUTF8(<const char*>data + part.start, part.end - part.start, NULL)
    except UnicodeDecodeError as error:
        raise CorruptFileError(f"text is not UTF-8: {error.reason}", structure=structure) from error


cdef int check_text(const uint8_t* data, const Part* part, str structure) except -1:
    cdef int64_t place
    # read_part has found these bytes inside the message.
    for place in range(part.start, part.end):
        if data[place] >= 0x80:
            text(data, part, structure)
            return 0
    return 0


cdef inline bint same(const uint8_t* data, const Part* part, const char* other, int64_t size):
    return part.end - part.start == size and memcmp(data + part.start, other, <size_t>size) == 0


cdef bint is_true(const uint8_t* data, const Part* part):
    """Whether bytes are "true" in any case."""
    return (part.end - part.start == 4 and (data[part.start] | 0x20) == c't'
            and (data[part.start + 1] | 0x20) == c'r' and (data[part.start + 2] | 0x20) == c'u'
            and (data[part.start + 3] | 0x20) == c'e')


cdef int read_entry(const uint8_t* data, const Part* entry, uint8_t* flags) except -1:
    """An entry of a field's metadata."""
    cdef Part part, key, value
    cdef int64_t position = entry.start
    cdef uint8_t flag = 0
    key.start = key.end = value.start = value.end = entry.start
    # read_part stops at the end of the entry, and key and value are parts of bytes or empty.
    while position < entry.end:
        read_part(data, &position, entry.end, b"Field", &part)
        expect(&part, WIRE_BYTES, b"Field")
        if part.number == 1:
            key = part
            check_text(data, &key, "Field")
        elif part.number == 2:
            value = part
    flags[0] |= FLAG_METADATA
    if same(data, &key, b"lance-encoding:packed", 21):
        flag = FLAG_PACKED
    elif same(data, &key, b"packed", 6):
        flag = FLAG_PACKED_OLD
    elif same(data, &key, b"lance-encoding:blob", 19):
        flag = FLAG_BLOB
    if is_true(data, &value):
        flags[0] |= flag
    else:
        # The last entry of a key counts.
        flags[0] &= <uint8_t>~flag
    return 0


cdef int read_field(
    const uint8_t* data, const Part* field, int32_t* ids, uint8_t* flags, list names, list types
) except -1:
    """One field of a schema; ``ids`` takes its own and that of its parent."""
    cdef Part part
    cdef int64_t position = field.start
    cdef str name = "", logical_type = ""
    ids[0] = ids[1] = 0
    flags[0] = 0
    # read_part stops at the end of the field; bytes of a part are used once it is known to be of
    # bytes. Numbers 3 and 4 are the two entries of ``ids``.
    while position < field.end:
        read_part(data, &position, field.end, b"Field", &part)
        if part.number == 2:
            expect(&part, WIRE_BYTES, b"Field")
            name = text(data, &part, "Field")
        elif part.number == 3 or part.number == 4:
            read_int32(&part, b"Field", &ids[part.number - 3])
        elif part.number == 5:
            expect(&part, WIRE_BYTES, b"Field")
            logical_type = text(data, &part, "Field")
            flags[0] &= <uint8_t>~FLAG_STRUCT
            if same(data, &part, b"struct", 6) or same(data, &part, b"struct.struct", 13):
                flags[0] |= FLAG_STRUCT
        elif part.number == 6:
            expect(&part, WIRE_VARINT, b"Field")
            flags[0] &= <uint8_t>~FLAG_NULLABLE
            if part.value:
                flags[0] |= FLAG_NULLABLE
        elif part.number == 1 or part.number == 7:
            expect(&part, WIRE_VARINT, b"Field")
        elif part.number == 9:
            expect(&part, WIRE_BYTES, b"Field")
            check_text(data, &part, "Field")
        elif part.number == 10:
            expect(&part, WIRE_BYTES, b"Field")
            read_entry(data, &part, flags)
    names.append(name)
    types.append(logical_type)
    return 0


cdef tuple read_pair(const uint8_t* data, const Part* entry):
    """An entry of the schema's metadata."""
    cdef Part part
    cdef int64_t position = entry.start
    cdef str key = ""
    cdef bytes value = b""
    # read_part stops at the end of the entry, and its parts are of bytes.
    while position < entry.end:
        read_part(data, &position, entry.end, b"Schema", &part)
        expect(&part, WIRE_BYTES, b"Schema")
        if part.number == 1:
            key = text(data, &part, "Schema")
        elif part.number == 2:
            value = PyBytes_FromStringAndSize(
                <const char*>data + part.start, part.end - part.start)
    return key, value


def count_parts(const uint8_t[::1] content, int64_t number):
    """How often a message has a field of bytes."""
    cdef const uint8_t* data = &content[0] if content.shape[0] else NULL
    cdef int64_t position = 0, count = 0
    cdef Part part
    with nogil:
        # read_part stops at the end of the content, and moves on by a byte at least.
        while position < content.shape[0]:
            read_part(data, &position, content.shape[0], b"message", &part)
            count += part.number == <uint64_t>number and part.wire == WIRE_BYTES
    return count


def read_fields(
    const uint8_t[::1] content, int64_t[:, ::1] places, int32_t[:, ::1] ids, uint8_t[::1] flags
):
    """Read the fields of a ``Schema`` message, of which there are as many as rows in ``places``.

    A row of ``places`` takes where a field starts and ends, one of ``ids`` its id and that of its
    parent. Gives names, logical types, and the metadata of the schema.
    """
    cdef const uint8_t* data = &content[0] if content.shape[0] else NULL
    cdef int64_t position = 0, row = 0
    cdef Part part
    cdef list names = [], types = [], metadata = []
    # read_part stops at the end of the content. ``row`` is compared with the rows of ``places``;
    # the caller made ``ids`` and ``flags`` for as many.
    while position < content.shape[0]:
        read_part(data, &position, content.shape[0], b"Schema", &part)
        if part.number == 5:
            expect(&part, WIRE_BYTES, b"Schema")
            metadata.append(read_pair(data, &part))
        if part.number != 1:
            continue
        expect(&part, WIRE_BYTES, b"Schema")
        if row >= places.shape[0]:
            raise ValueError("there are more fields than were counted")
        places[row, 0] = part.start
        places[row, 1] = part.end
        read_field(data, &part, &ids[row, 0], &flags[row], names, types)
        row += 1
    return names, types, metadata


def count_leaves(const int64_t[::1] parents, const uint8_t[::1] flags, int64_t[::1] leaves):
    """Columns that each field owns; ``parents`` are places before a field's own, or -1."""
    cdef int64_t row
    cdef uint8_t packed = FLAG_PACKED | FLAG_PACKED_OLD
    with nogil:
        for row in range(parents.shape[0]):
            leaves[row] = 0
        # All three have an entry for each field. A parent is -1 or before its child: the caller has
        # refused others.
        for row in range(parents.shape[0] - 1, -1, -1):
            if leaves[row] == 0 or (flags[row] & FLAG_STRUCT and flags[row] & packed):
                leaves[row] = 1
            if parents[row] >= 0:
                leaves[parents[row]] += leaves[row]


cdef int append_numbers(const uint8_t* data, const Part* part, list out) except -1:
    """A repeated number, packed or not."""
    cdef int64_t position
    cdef uint64_t value
    if part.wire == WIRE_VARINT:
        out.append(part.value)
        return 0
    expect(part, WIRE_BYTES, b"Page")
    position = part.start
    # read_varint stops at the end of the part, which read_part found inside the message.
    while position < part.end:
        read_varint(data, &position, part.end, b"Page", &value)
        out.append(value)
    return 0


cdef object read_encoding(const uint8_t* data, const Part* encoding, bint* is_indirect):
    """The description that stands in an ``Encoding``, or None."""
    cdef Part part, inner
    cdef int64_t position = encoding.start, inside
    cdef object found = None
    is_indirect[0] = False
    # read_part stops at the end it is given: that of the encoding, and inside, of a part of bytes.
    while position < encoding.end:
        read_part(data, &position, encoding.end, b"Encoding", &part)
        if part.number != 1 and part.number != 2:
            continue
        expect(&part, WIRE_BYTES, b"Encoding")
        inside = part.start
        if part.number == 2:
            found = b""
        else:
            is_indirect[0] = True
        while inside < part.end:
            read_part(data, &inside, part.end, b"Encoding", &inner)
            if part.number == 2 and inner.number == 1:
                expect(&inner, WIRE_BYTES, b"Encoding")
                found = PyBytes_FromStringAndSize(
                    <const char*>data + inner.start, inner.end - inner.start)
            elif part.number == 1 and inner.number <= 2:
                expect(&inner, WIRE_VARINT, b"Encoding")
    return found


def read_pages(const uint8_t[::1] content):
    """Read the pages of a ``ColumnMetadata`` message.

    Gives for each page ``(offsets, sizes, rows, description, whether it stands elsewhere)``.
    """
    cdef const uint8_t* data = &content[0] if content.shape[0] else NULL
    cdef int64_t position = 0, inside
    cdef Part part, inner
    cdef list pages = [], offsets, sizes, unused = []
    cdef object description
    cdef uint64_t rows
    cdef bint is_indirect
    # read_part stops at the end it is given: that of the content, and inside, of a page.
    while position < content.shape[0]:
        read_part(data, &position, content.shape[0], b"ColumnMetadata", &part)
        if part.number == 1:
            expect(&part, WIRE_BYTES, b"ColumnMetadata")
            read_encoding(data, &part, &is_indirect)
        elif part.number == 3 or part.number == 4:
            append_numbers(data, &part, unused)
        if part.number != 2:
            continue
        expect(&part, WIRE_BYTES, b"ColumnMetadata")
        inside = part.start
        offsets, sizes, description, rows, is_indirect = [], [], None, 0, False
        while inside < part.end:
            read_part(data, &inside, part.end, b"Page", &inner)
            if inner.number == 1:
                append_numbers(data, &inner, offsets)
            elif inner.number == 2:
                append_numbers(data, &inner, sizes)
            elif inner.number == 3:
                expect(&inner, WIRE_VARINT, b"Page")
                rows = inner.value
            elif inner.number == 4:
                expect(&inner, WIRE_BYTES, b"Page")
                description = read_encoding(data, &inner, &is_indirect)
            elif inner.number == 5:
                expect(&inner, WIRE_VARINT, b"Page")
        pages.append((tuple(offsets), tuple(sizes), rows, description, is_indirect))
    return pages


cdef inline int64_t varint_size(uint64_t value) noexcept nogil:
    cdef int64_t size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


cdef int append_number(ByteVector* out, uint64_t value) except -1 nogil:
    """A varint, which has at most ten bytes."""
    reserve(out, 10)
    while value >= 0x80:
        out.data[out.size] = <uint8_t>(value | 0x80)
        out.size += 1
        value >>= 7
    out.data[out.size] = <uint8_t>value
    out.size += 1
    return 0


cdef int append_packed(ByteVector* out, uint64_t tag, const int64_t[::1] numbers) except -1 nogil:
    """Packed numbers up to the first negative one; nothing where there are none."""
    cdef int64_t index, count = 0, size = 0
    while count < numbers.shape[0] and numbers[count] >= 0:
        size += varint_size(<uint64_t>numbers[count])
        count += 1
    if count == 0:
        return 0
    append_number(out, tag)
    append_number(out, <uint64_t>size)
    for index in range(count):
        append_number(out, <uint64_t>numbers[index])
    return 0


def write_columns(
    const uint8_t[::1] prefix, const int64_t[:, ::1] offsets, const int64_t[:, ::1] sizes,
    int64_t num_rows, list descriptions, const int64_t[::1] numbers, int64_t[::1] message_sizes
):
    """Write the metadata of columns that have one page each, with all rows.

    Parameters
    ----------
    prefix : array of uint8
        The message as it begins for each column.
    offsets, sizes : array of int64, columns x buffers
        Buffers of each page, up to the first one that is negative.
    num_rows : int
        Rows of each page.
    descriptions : list of bytes
        Encoded descriptions of pages.
    numbers : array of int64
        The description of each page.
    message_sizes : array of int64
        Gets the size of each message.

    Returns
    -------
    bytes
        The messages one behind the other.
    """
    cdef ByteVector out, page
    cdef int64_t column, start
    cdef bytes description
    memset(&out, 0, sizeof(ByteVector))
    memset(&page, 0, sizeof(ByteVector))
    if not (
        offsets.shape[0] == sizes.shape[0] == numbers.shape[0] == message_sizes.shape[0]
        and offsets.shape[1] == sizes.shape[1] and num_rows >= 0
    ):
        invalid_data(b"column metadata", 0, b"arrays of different lengths")
    try:
        for column in range(numbers.shape[0]):
            # A list checks its index, also below 0.
            if numbers[column] < 0:
                invalid_data(b"column metadata", column, b"a description that does not exist")
            description = descriptions[numbers[column]]
            page.size = 0
            append_packed(&page, 0x0A, offsets[column])
            append_packed(&page, 0x12, sizes[column])
            if num_rows:
                append_number(&page, 0x18)
                append_number(&page, <uint64_t>num_rows)
            append_number(&page, 0x22)
            append_number(&page, <uint64_t>len(description))
            append_bytes(&page, <const uint8_t*><const char*>description, len(description))
            start = out.size
            if prefix.shape[0]:
                append_bytes(&out, &prefix[0], prefix.shape[0])
            append_number(&out, 0x12)
            append_number(&out, <uint64_t>page.size)
            append_bytes(&out, page.data, page.size)
            message_sizes[column] = out.size - start
        return PyBytes_FromStringAndSize(<const char*>out.data, out.size)
    finally:
        free_vector(&out)
        free_vector(&page)
