# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Arrow schemas on their way into a file: the catalog they make, and how their arrays are read.

In: a schema through the Arrow C data interface, so no Python object is made per column. Out: a
catalog; or an ``ArrowSource``, which tells :mod:`pymosaic.kernels.row_group_buffer` for each column
of the catalog which array to read, and how. The table of types is in :mod:`pymosaic.arrow.types`.

Memory: names and texts are copied into the catalog. An ``ArrowSource`` owns its fields. The
exported schema is released, through its capsule, when the function returns.

Safety: pyarrow exports well-formed schemas, so strings are taken to end in NUL. Types nest at most
``MAX_NESTING_DEPTH`` deep, which bounds the recursion; names are compared with the catalog's, and a
column that does not match is refused before any of its values is looked at.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, qsort, realloc, strtoll
from libc.string cimport memchr, strchr, strcmp, strlen, strncmp

from pymosaic.kernels.arrow_abi cimport ARROW_FLAG_NULLABLE, ArrowSchema
from pymosaic.kernels.catalog cimport (
    ARRAY, BIGINT, BOOLEAN, BYTES, DATE, DECIMAL, DOUBLE, FLOAT, INTEGER, MAP, SMALLINT, STRING,
    TIME, TIMESTAMP, TIMESTAMP_LTZ, TINYINT, Catalog, NameKey, Node,
    compare_bytes, compare_names, kind_of,
)
from pymosaic.kernels.primitives cimport (
    append_bytes, checked_size, compare_memory, free_vector, out_of_memory,
)

from pymosaic.arrow.types import refuse_type
from pymosaic.errors import InvalidDataError
from pymosaic.limits import MAX_NESTING_DEPTH

cdef enum:
    REFUSED = -1

# Deeper types than any table has; keeps recursion off the end of the stack.
cdef int64_t MAX_DEPTH = MAX_NESTING_DEPTH


cdef class ArrowSource:
    """How the columns of one Arrow schema are read, bound to a catalog's columns."""

    def __dealloc__(self):
        free(self.fields)
        free(self.columns)
        free(self.child_index)
        free_vector(&self.text)

    cdef int32_t add_field(self, const ArrowSchema* schema, int64_t depth, bint top) except -2:
        """Describe a field and its children; REFUSED where the format cannot hold the type."""
        cdef int64_t capacity
        cdef SourceField* fields
        cdef SourceField field
        cdef int32_t index = <int32_t>self.num_fields
        cdef int32_t child
        if depth > MAX_DEPTH:
            return REFUSED
        if self.num_fields == self.fields_capacity:
            capacity = self.fields_capacity * 2 if self.fields_capacity else 64
            fields = <SourceField*>realloc(
                self.fields, <size_t>checked_size(capacity, sizeof(SourceField)))
            if fields == NULL:
                out_of_memory()
            self.fields = fields
            self.fields_capacity = capacity
        self.num_fields += 1
        field.nullable = (schema.flags & ARROW_FLAG_NULLABLE) != 0
        field.conversion = CONVERT_NONE
        field.signed_index = False
        field.parameter = 0
        field.scale = 0
        field.width = 0
        field.child = field.second = -1
        field.extra_offset = field.extra_length = 0
        field.name_offset = <uint32_t>self.text.size
        field.name_length = 0
        if not top and schema.name != NULL:
            # Names of top-level columns are taken from the Arrow schema itself.
            field.name_length = <uint32_t>strlen(schema.name)
            append_bytes(&self.text, <const uint8_t*>schema.name, field.name_length)
        if schema.dictionary != NULL:
            index_type(schema.format, &field)
            field.kind = SOURCE_DICTIONARY
            child = self.add_field(schema.dictionary, depth + 1, False)
            if child == REFUSED:
                return REFUSED
            field.child = child
            copy_type(&field, &self.fields[child])
        elif describe_scalar(schema.format, &field):
            if schema.format[0] == c't' and schema.format[1] == c'D':
                self.has_durations = True
        elif not self.describe_nested(schema, &field, depth, top):
            return REFUSED
        if field.type_id == TIMESTAMP_LTZ and schema.dictionary == NULL and field.extra_length == 0:
            # "tsX:zone"; an empty zone means none.
            field.extra_offset = <uint32_t>self.text.size
            field.extra_length = <uint32_t>strlen(schema.format + 4)
            append_bytes(&self.text, <const uint8_t*>schema.format + 4, field.extra_length)
        self.fields[index] = field
        return index

    cdef bint describe_nested(
        self, const ArrowSchema* schema, SourceField* field, int64_t depth, bint top
    ) except -1:
        cdef const char* format = schema.format
        cdef const ArrowSchema* entries
        if format[0] != c'+':
            return False
        if strcmp(format, b"+m") == 0:
            entries = schema.children[0]
            field.kind = SOURCE_MAP
            field.type_id = MAP
            field.child = self.add_field(entries.children[0], depth + 1, False)
            field.second = self.add_field(entries.children[1], depth + 1, False)
            if field.child == REFUSED or field.second == REFUSED:
                return False
            field.extra_offset = <uint32_t>self.text.size
            field.extra_length = <uint32_t>strlen(entries.name)
            append_bytes(&self.text, <const uint8_t*>entries.name, field.extra_length)
            return self.fields[field.child].type_id < ARRAY
        if strcmp(format, b"+r") == 0:
            index_type(schema.children[0].format, field)
            field.kind = SOURCE_RUN_END
            field.child = self.add_field(schema.children[1], depth + 1, False)
            if field.child == REFUSED:
                return False
            copy_type(field, &self.fields[field.child])
            return True
        if strcmp(format, b"+s") == 0:
            if (top and schema.n_children == 2
                    and strcmp(schema.children[0].name, b"millis") == 0
                    and strcmp(schema.children[0].format, b"l") == 0
                    and strcmp(schema.children[1].name, b"nanos_of_milli") == 0
                    and strcmp(schema.children[1].format, b"i") == 0):
                field.kind = SOURCE_MILLIS_STRUCT
                field.type_id = TIMESTAMP
                field.parameter = 9
                return True
            return False
        if strcmp(format, b"+l") == 0:
            field.kind = SOURCE_LIST32
        elif strcmp(format, b"+L") == 0:
            field.kind = SOURCE_LIST64
        elif strcmp(format, b"+vl") == 0:
            field.kind = SOURCE_LIST_VIEW32
        elif strcmp(format, b"+vL") == 0:
            field.kind = SOURCE_LIST_VIEW64
        elif strncmp(format, b"+w:", 3) == 0:
            field.kind = SOURCE_LIST_FIXED
            field.width = strtoll(format + 3, NULL, 10)
        else:
            return False
        field.type_id = ARRAY
        field.child = self.add_field(schema.children[0], depth + 1, False)
        return field.child != REFUSED

    cdef int add_nodes(self, Catalog catalog, int32_t index, bint nullable) except -1:
        """Append a field's type as nodes of the catalog."""
        # No field is added while this runs, so that the pointer stays; nodes may move, and are
        # found by their index again.
        cdef SourceField* field = &self.fields[index]
        cdef int64_t node_index = catalog.num_nodes
        cdef Node* node
        if field.kind == SOURCE_DICTIONARY or field.kind == SOURCE_RUN_END:
            self.add_nodes(catalog, field.child, nullable)
            self.set_name(catalog, node_index, field)
            return 0
        node = catalog.add_node()
        node.type_id = field.type_id
        node.nullable = nullable
        node.parameter = field.parameter
        node.scale = field.scale
        node.kind = <uint8_t>kind_of(field.type_id, field.parameter)
        node.extra_offset = <uint32_t>catalog.text.size
        node.extra_length = field.extra_length
        append_bytes(&catalog.text, self.text.data + field.extra_offset, field.extra_length)
        self.set_name(catalog, node_index, field)
        if field.type_id == ARRAY:
            self.add_nodes(catalog, field.child, self.fields[field.child].nullable)
        elif field.type_id == MAP:
            self.add_nodes(catalog, field.child, self.fields[field.child].nullable)
            self.add_nodes(catalog, field.second, self.fields[field.second].nullable)
        catalog.nodes[node_index].end = <uint32_t>catalog.num_nodes
        return 0

    cdef int set_name(self, Catalog catalog, int64_t node_index, SourceField* field) except -1:
        catalog.nodes[node_index].name_offset = <uint32_t>catalog.text.size
        catalog.nodes[node_index].name_length = field.name_length
        return append_bytes(
            &catalog.text, self.text.data + field.name_offset, field.name_length)

    cdef bint matches(self, Catalog catalog, int32_t index, int64_t node_index) noexcept nogil:
        """Whether the field's values are of the node's type (child names may differ)."""
        cdef SourceField* field = &self.fields[index]
        cdef Node* node = &catalog.nodes[node_index]
        if field.kind == SOURCE_NULL:
            return True
        if field.kind == SOURCE_DICTIONARY or field.kind == SOURCE_RUN_END:
            return self.matches(catalog, field.child, node_index)
        if (field.type_id != node.type_id or field.parameter != node.parameter
                or field.scale != node.scale):
            return False
        if field.type_id == TIMESTAMP_LTZ:
            return field.extra_length == node.extra_length and compare_memory(
                self.text.data + field.extra_offset, catalog.text.data + node.extra_offset,
                node.extra_length) == 0
        if field.type_id == ARRAY:
            return self.matches(catalog, field.child, node_index + 1)
        if field.type_id == MAP:
            return (self.matches(catalog, field.child, node_index + 1)
                    and self.matches(catalog, field.second, catalog.nodes[node_index + 1].end))
        return True


cdef void copy_type(SourceField* field, const SourceField* values) noexcept nogil:
    """A dictionary or run-end encoded field has the type of its values."""
    field.type_id = values.type_id
    field.parameter = values.parameter
    field.scale = values.scale
    field.extra_offset = values.extra_offset
    field.extra_length = values.extra_length


cdef void index_type(const char* format, SourceField* field) noexcept nogil:
    """Width and sign of dictionary indices and run ends."""
    cdef char letter = format[0]
    field.signed_index = letter == c'c' or letter == c's' or letter == c'i' or letter == c'l'
    if letter == c'c' or letter == c'C':
        field.width = 1
    elif letter == c's' or letter == c'S':
        field.width = 2
    elif letter == c'i' or letter == c'I':
        field.width = 4
    else:
        field.width = 8


cdef bint set_scalar(
    SourceField* field, uint8_t kind, uint8_t type_id, int64_t width, uint8_t conversion
) noexcept nogil:
    field.kind = kind
    field.type_id = type_id
    field.width = width
    field.conversion = conversion
    return True


cdef bint describe_scalar(const char* format, SourceField* field) noexcept nogil:
    """The table of scalar types, by Arrow format string; False where it is not one of them."""
    cdef char letter = format[0]
    cdef char* rest
    cdef int64_t precision, scale, bits
    if letter == c't':
        return describe_temporal(format, field)
    if letter == c'd':
        precision = strtoll(format + 2, &rest, 10)
        scale = strtoll(rest + 1, &rest, 10)
        bits = strtoll(rest + 1, NULL, 10) if rest[0] == c',' else 128
        if not 1 <= precision <= 38 or not -128 <= scale <= 127:
            return False
        field.parameter = <uint32_t>precision
        field.scale = <int32_t>scale
        return set_scalar(field, SOURCE_CONVERT if precision <= 18 else SOURCE_DECIMAL,
                          DECIMAL, bits // 8, CONVERT_DECIMAL)
    if letter == c'w':
        return set_scalar(field, SOURCE_BINARY_FIXED, BYTES, strtoll(format + 2, NULL, 10), 0)
    if strcmp(format, b"vu") == 0:
        return set_scalar(field, SOURCE_BINARY_VIEW, STRING, 16, 0)
    if strcmp(format, b"vz") == 0:
        return set_scalar(field, SOURCE_BINARY_VIEW, BYTES, 16, 0)
    if format[1] != 0:
        return False
    if letter == c'n':
        # An all-null column has no type of its own; text is what it most often turns out to be.
        return set_scalar(field, SOURCE_NULL, STRING, 0, 0)
    if letter == c'b':
        return set_scalar(field, SOURCE_BOOL, BOOLEAN, 0, 0)
    if letter == c'c':
        return set_scalar(field, SOURCE_FIXED, TINYINT, 1, 0)
    if letter == c's':
        return set_scalar(field, SOURCE_FIXED, SMALLINT, 2, 0)
    if letter == c'i':
        return set_scalar(field, SOURCE_FIXED, INTEGER, 4, 0)
    if letter == c'l':
        return set_scalar(field, SOURCE_FIXED, BIGINT, 8, 0)
    if letter == c'f':
        return set_scalar(field, SOURCE_FIXED, FLOAT, 4, 0)
    if letter == c'g':
        return set_scalar(field, SOURCE_FIXED, DOUBLE, 8, 0)
    if letter == c'e':
        return set_scalar(field, SOURCE_HALF, FLOAT, 2, 0)
    if letter == c'C':
        return set_scalar(field, SOURCE_CONVERT, SMALLINT, 1, CONVERT_UNSIGNED)
    if letter == c'S':
        return set_scalar(field, SOURCE_CONVERT, INTEGER, 2, CONVERT_UNSIGNED)
    if letter == c'I':
        return set_scalar(field, SOURCE_CONVERT, BIGINT, 4, CONVERT_UNSIGNED)
    if letter == c'L':
        field.parameter = 20
        return set_scalar(field, SOURCE_DECIMAL, DECIMAL, 8, CONVERT_UNSIGNED)
    if letter == c'u':
        return set_scalar(field, SOURCE_BINARY32, STRING, 4, 0)
    if letter == c'U':
        return set_scalar(field, SOURCE_BINARY64, STRING, 8, 0)
    if letter == c'z':
        return set_scalar(field, SOURCE_BINARY32, BYTES, 4, 0)
    if letter == c'Z':
        return set_scalar(field, SOURCE_BINARY64, BYTES, 8, 0)
    return False


cdef bint describe_temporal(const char* format, SourceField* field) noexcept nogil:
    cdef char unit
    if strcmp(format, b"tdD") == 0:
        return set_scalar(field, SOURCE_FIXED, DATE, 4, 0)
    if strcmp(format, b"tdm") == 0:
        return set_scalar(field, SOURCE_CONVERT, DATE, 8, CONVERT_DATE64)
    unit = format[2]
    if format[1] == c't':
        field.parameter = 3
        if unit == c's':
            return set_scalar(field, SOURCE_CONVERT, TIME, 4, CONVERT_TIME_SECONDS)
        if unit == c'm':
            return set_scalar(field, SOURCE_CONVERT, TIME, 4, CONVERT_TIME)
        if unit == c'u':
            return set_scalar(field, SOURCE_CONVERT, TIME, 8, CONVERT_TIME_MICROS)
        return set_scalar(field, SOURCE_CONVERT, TIME, 8, CONVERT_TIME_NANOS)
    if format[1] == c's':
        field.type_id = TIMESTAMP if format[4] == 0 else TIMESTAMP_LTZ
        field.parameter = 9 if unit == c'n' else (6 if unit == c'u' else 3)
        if unit == c'n':
            return set_scalar(field, SOURCE_NANOS, field.type_id, 8, 0)
        if unit == c's':
            return set_scalar(field, SOURCE_CONVERT, field.type_id, 8, CONVERT_SECONDS)
        return set_scalar(field, SOURCE_FIXED, field.type_id, 8, 0)
    if format[1] == c'D':
        # The unit is kept in the annex; whoever calls compares it.
        return set_scalar(field, SOURCE_FIXED, BIGINT, 8, CONVERT_NONE)
    return False


cdef ArrowSource describe(schema, const ArrowSchema* exported):
    """Describe every column of a schema; refuses types by column name."""
    cdef ArrowSource source = ArrowSource.__new__(ArrowSource)
    cdef int64_t column
    cdef int32_t index
    source.num_columns = exported.n_children
    source.columns = <int32_t*>malloc(
        <size_t>checked_size(source.num_columns + 1, sizeof(int32_t)))
    if source.columns == NULL:
        raise MemoryError
    # num_columns is the number of children, and ``columns`` has room for one more. An index that is
    # not REFUSED is that of a field which was added.
    for column in range(source.num_columns):
        index = source.add_field(exported.children[column], 0, True)
        if index == REFUSED:
            field = schema.field(column)
            refuse_type(field.name, field.type)
        if source.fields[index].type_id >= ARRAY and "\0" in str(schema.field(column).type):
            # The C interface has cut the name of a child short.
            raise InvalidDataError(
                f"column {schema.field(column).name!r}: a field name inside its type holds a NUL "
                "character")
        source.columns[column] = index
    return source


cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object unicode, Py_ssize_t* size) except NULL


cdef bint is_plain(const ArrowSchema* field) noexcept nogil:
    """Whether a column is surely read as it was written: a scalar of the format, no metadata."""
    cdef const char* format = field.format
    cdef const char* letter
    if field.dictionary != NULL or field.metadata != NULL:
        return False
    if format[0] == c't':
        # No byte is read behind the one that ends the text.
        return (strcmp(format, b"tdD") == 0 or strcmp(format, b"ttm") == 0
                or strncmp(format, b"tsm:", 4) == 0 or strncmp(format, b"tsu:", 4) == 0
                or strncmp(format, b"tsn:", 4) == 0)
    if format[0] == c'd':
        letter = strchr(format, c',')
        return letter != NULL and strchr(letter + 1, c',') == NULL
    return format[0] != 0 and format[1] == 0 and strchr(b"bcsilfguz", format[0]) != NULL


def catalog_from_arrow(schema not None, int64_t num_buckets, list unusual=None):
    """The catalog that a table of this Arrow schema is written with.

    Parameters
    ----------
    schema : pyarrow.Schema
    num_buckets : int
        Already clamped to the number of columns.
    unusual : list, optional
        Gets the numbers of the columns that may be read in another form than they were written in.
    """
    cdef object capsule = schema.__arrow_c_schema__()
    cdef const ArrowSchema* exported = <const ArrowSchema*>PyCapsule_GetPointer(
        capsule, b"arrow_schema")
    cdef ArrowSource source = describe(schema, exported)
    cdef list names = schema.names
    cdef int64_t count = source.num_columns, i
    cdef Py_ssize_t size
    cdef const char* text
    cdef Catalog catalog = Catalog.__new__(Catalog)
    cdef NameKey* keys = <NameKey*>malloc(<size_t>checked_size(count + 1, sizeof(NameKey)))
    if keys == NULL:
        raise MemoryError
    if unusual is not None:
        # As many as the exported schema has children.
        for i in range(count):
            if not is_plain(exported.children[i]):
                unusual.append(i)
    try:
        # A schema has as many names as children, and ``keys`` has room for one more. The texts
        # belong to the names, which the list keeps until the end.
        for i in range(count):
            text = PyUnicode_AsUTF8AndSize(names[i], &size)
            if size == 0:
                raise InvalidDataError(f"column {i} has an empty name; every column needs a name")
            if memchr(text, 0, size) != NULL:
                raise InvalidDataError(f"column name {names[i]!r} holds a NUL character")
            keys[i].data = <const uint8_t*>text
            keys[i].length = size
            keys[i].position = i
        qsort(keys, <size_t>count, sizeof(NameKey), compare_names)
        catalog.allocate_columns(count)
        catalog.num_buckets = num_buckets
        # The arrays of the catalog have count + 1 entries. Positions were those of the keys before
        # they were sorted: each of 0 to count - 1, once.
        for i in range(count):
            if i and compare_bytes(keys[i - 1].data, keys[i - 1].length,
                                   keys[i].data, keys[i].length) == 0:
                raise InvalidDataError(f"column name {names[keys[i].position]!r} appears twice")
            catalog.reserve_names(keys[i].length)
            append_bytes(&catalog.names_blob, keys[i].data, keys[i].length)
            catalog.name_offsets[i + 1] = catalog.names_blob.size
            catalog.order[keys[i].position] = i
            source.add_nodes(
                catalog, source.columns[keys[i].position],
                source.fields[source.columns[keys[i].position]].nullable)
            catalog.column_nodes[i + 1] = catalog.num_nodes
    finally:
        free(keys)
    return catalog


def bind(schema not None, Catalog catalog not None, writer_schema not None):
    """Match an Arrow schema's columns with a catalog's, by name.

    ``writer_schema`` is the Arrow schema of the catalog, for messages.

    Returns
    -------
    ArrowSource
        Raises InvalidDataError where a column is missing, unknown, doubled or of another type.
    """
    cdef object capsule = schema.__arrow_c_schema__()
    cdef const ArrowSchema* exported = <const ArrowSchema*>PyCapsule_GetPointer(
        capsule, b"arrow_schema")
    cdef ArrowSource source = describe(schema, exported)
    cdef list names = schema.names
    cdef int64_t position, column
    cdef Py_ssize_t size
    cdef const char* text
    source.child_index = <int32_t*>malloc(
        <size_t>checked_size(catalog.num_columns + 1, sizeof(int32_t)))
    if source.child_index == NULL:
        raise MemoryError
    # ``child_index`` has room for one column more than the catalog has, and a position that lookup
    # finds is that of one of them. A schema has as many names as children.
    for position in range(catalog.num_columns):
        source.child_index[position] = -1
    for column in range(source.num_columns):
        text = PyUnicode_AsUTF8AndSize(names[column], &size)
        position = catalog.lookup(<const uint8_t*>text, size)
        if position < 0:
            raise InvalidDataError(
                f"the data has a column {names[column]!r} that the writer's schema does not have")
        if source.child_index[position] >= 0:
            raise InvalidDataError(f"the data has two columns named {names[column]!r}")
        if not source.matches(catalog, source.columns[column], catalog.column_nodes[position]):
            wanted = writer_schema.field(names[column]).type
            raise InvalidDataError(
                f"column {names[column]!r} is {schema.field(column).type} in the data, but "
                f"{wanted} in the writer's schema; cast it first")
        source.child_index[position] = <int32_t>column
    for position in range(catalog.num_columns):
        if source.child_index[position] < 0:
            raise InvalidDataError(
                f"the data lacks the column {catalog.name(position)!r} of the writer's schema")
    return source
