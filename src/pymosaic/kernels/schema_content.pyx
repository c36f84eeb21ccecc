# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The content of the schema block: bytes <-> Catalog. The byte table is in
:mod:`pymosaic.format.schema_block`.

In: decompressed bytes of a file and its limits, or a catalog. Out: a catalog, or bytes.

Memory: names, texts and nodes are copied into the catalog, which owns them. The tables for
expanding names are freed when parsing ends, however it ends. The bytes are not needed afterwards.

Safety: all bytes are read through the cursor. The number of columns is compared with the bytes that
are left before it sizes an array. Lengths of names are added up, and held to the limits, before
room is made for them and anything is copied. Types nest as deep as ``Limits.max_nesting_depth``
allows, which bounds the recursion.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr

from pymosaic.kernels.catalog cimport (
    ARRAY, BINARY, CHAR, DECIMAL, MAP, TIME, TIMESTAMP, TIMESTAMP_LTZ, VARBINARY, VARCHAR,
    Catalog, Node, compare_bytes, kind_of,
)
from pymosaic.kernels.names cimport EncodedNames, encode_names
from pymosaic.kernels.primitives cimport (
    ByteVector, Cursor, append_bytes, append_varint, append_zigzag, clear_bytes, copy_bytes,
    copy_rounded, copy_string, corrupt, free_vector, is_ascii, is_utf8, limit_exceeded, need,
    out_of_memory, read_byte, read_varint, read_zigzag, reserve, unsupported,
)

cdef const char* STRUCTURE = b"schema block"
cdef enum:
    # The least a column takes: shared, suffix length, type id, nullable.
    LEAST_COLUMN_BYTES = 4
    TOKENS = 128
    SYMBOLS = 256
    # Expansions of BPE tokens up to this length are kept; longer ones are built each time.
    KEPT_EXPANSION = 1024
    COPY_SLACK = 16          # what copy_string may write beyond a string
    NOT_PLAIN = 0xFF


cdef struct Expansion:
    uint8_t start[COPY_SLACK]   # its first bytes
    int64_t length              # 0 for symbols that do not exist or whose expansion is not kept
    const uint8_t* text         # all of it; COPY_SLACK more bytes can be read


cdef struct Expander:
    const uint8_t* rules
    int64_t num_rules       # as far as tokens reach: at most 128
    int64_t lengths[SYMBOLS]
    int64_t starts[SYMBOLS] # in what is kept; -1 if it is not
    ByteVector kept         # expansions of bytes, which are themselves, and of short tokens
    ByteVector ends         # int64 each: where symbols of the name before end, expanded
    int64_t previous_start  # of the name before, in the catalog's names
    int64_t prefix          # bytes that the last name has of the one before it
    Expansion expansions[SYMBOLS]


cdef void expand_symbol(Expander* expander, uint8_t symbol, uint8_t* out) noexcept nogil:
    """Write a symbol's bytes; ``out`` has room, and rules only refer to earlier ones."""
    cdef const uint8_t* rule
    if expander.starts[symbol] >= 0:
        copy_bytes(out, expander.kept.data + expander.starts[symbol],
                   <size_t>expander.lengths[symbol])
    else:
        rule = expander.rules + 2 * (symbol - 0x80)
        expand_symbol(expander, rule[0], out)
        expand_symbol(expander, rule[1], out + expander.lengths[rule[0]])


cdef int prepare_rules(Expander* expander, Cursor* cursor, int64_t longest) except -1 nogil:
    """Read the BPE rules: each refers to bytes below 0x80 and to earlier rules only."""
    cdef uint32_t count
    cdef int64_t rule, length
    cdef int side
    cdef uint8_t symbol
    cdef const uint8_t* pair
    cdef ByteVector* kept = &expander.kept
    cdef uint8_t slack[COPY_SLACK]
    cdef Expansion* expansion
    reserve(kept, TOKENS)
    clear_bytes(expander.expansions, sizeof(expander.expansions))
    for symbol in range(TOKENS):
        kept.data[symbol] = symbol
        expander.starts[symbol] = symbol
        expander.lengths[symbol] = 1
    kept.size = TOKENS
    read_varint(cursor, &count)
    need(cursor, 2 * <int64_t>count)
    expander.rules = cursor.data + cursor.position
    expander.num_rules = count if count < TOKENS else TOKENS
    for rule in range(expander.num_rules):
        pair = expander.rules + 2 * rule
        length = 0
        for side in range(2):
            symbol = pair[side]
            if symbol >= 0x80 + rule:
                return corrupt(STRUCTURE, cursor.position + 2 * rule + side,
                               b"a BPE rule refers to itself or to a later rule")
            length += expander.lengths[symbol]
        # Saturate: a name this long is refused where it is used. Nothing that has such a symbol is
        # kept, because its length is not that of what expand_symbol would write.
        expander.lengths[0x80 + rule] = length if length <= longest else longest + 1
        expander.starts[0x80 + rule] = -1
        if length <= min(longest, KEPT_EXPANSION):
            reserve(kept, length)
            expand_symbol(expander, pair[0], kept.data + kept.size)
            expand_symbol(expander, pair[1], kept.data + kept.size + expander.lengths[pair[0]])
            expander.starts[0x80 + rule] = kept.size
            kept.size += length
    # So that short expansions can be copied in one step, the last one, too.
    clear_bytes(slack, COPY_SLACK)
    append_bytes(kept, slack, COPY_SLACK)
    for rule in range(TOKENS + expander.num_rules):
        if expander.starts[rule] >= 0:
            expansion = &expander.expansions[rule]
            expansion.length = expander.lengths[rule]
            expansion.text = kept.data + expander.starts[rule]
            copy_bytes(expansion.start, expansion.text, COPY_SLACK)
    cursor.position += 2 * <int64_t>count
    return <int>count


cdef bint append_kept(
    Catalog catalog, Expander* expander, const uint8_t* suffix, int64_t size, int64_t shared,
    int64_t most
) noexcept nogil:
    """What :func:`append_expanded` does, in one pass, if all expansions are kept, the name takes
    at most ``most`` bytes and there is room for it; else nothing is appended."""
    cdef ByteVector* blob = &catalog.names_blob
    cdef int64_t* ends = <int64_t*>expander.ends.data
    cdef int64_t i, prefix = ends[shared - 1] if shared else 0
    cdef int64_t length = prefix
    cdef const Expansion* expansion
    cdef uint8_t* start = blob.data + blob.size
    # Copies are rounded up, and may write COPY_SLACK bytes beyond the name.
    most = min(most, blob.capacity - blob.size - COPY_SLACK)
    if prefix > most:
        return False
    copy_rounded(start, blob.data + expander.previous_start, <size_t>prefix)
    for i in range(size):
        expansion = &expander.expansions[suffix[i]]
        # One comparison for lengths of 0, too: they wrap around.
        if <uint64_t>(expansion.length - 1) >= <uint64_t>(most - length):
            return False
        copy_bytes(start + length, expansion.start, COPY_SLACK)
        if expansion.length > COPY_SLACK:
            copy_rounded(start + length + COPY_SLACK, expansion.text + COPY_SLACK,
                         <size_t>(expansion.length - COPY_SLACK))
        length += expansion.length
        ends[shared + i] = length
    expander.previous_start = blob.size
    expander.prefix = prefix
    blob.size += length
    return True


cdef int append_expanded(
    Catalog catalog, Expander* expander, const uint8_t* suffix, int64_t size, int64_t shared,
    int64_t offset, int64_t max_name, int64_t max_names,
) except -1 nogil:
    """Append a name: the bytes that ``shared`` symbols of the name before stand for, and those of
    its own symbols. Where each symbol ends is kept for the name after it."""
    cdef ByteVector* blob = &catalog.names_blob
    cdef const uint8_t* kept = expander.kept.data
    cdef const uint8_t* kept_end = kept + expander.kept.size
    cdef const int64_t* lengths = expander.lengths
    cdef const int64_t* starts = expander.starts
    cdef int64_t* ends
    cdef int64_t i, start = blob.size, prefix, length, expanded
    cdef int64_t num_symbols = 0x80 + expander.num_rules
    cdef uint8_t symbol
    cdef uint8_t* out
    reserve(&expander.ends, (shared + size) * <int64_t>sizeof(int64_t) - expander.ends.size)
    if append_kept(catalog, expander, suffix, size, shared, min(max_name, max_names - start)):
        return 0
    ends = <int64_t*>expander.ends.data
    prefix = ends[shared - 1] if shared else 0
    length = prefix
    # ``ends`` has room for shared + size entries, and the caller knows that ``size`` bytes are
    # there and that the name before has ``shared`` symbols.
    for i in range(size):
        symbol = suffix[i]
        if symbol >= num_symbols:
            return corrupt(STRUCTURE, offset, b"a name has a BPE token without a rule")
        length += lengths[symbol]
        ends[shared + i] = length
        if length > max_name:
            return limit_exceeded(STRUCTURE, offset, b"a name is longer than Limits.max_name_bytes")
    check_names_size(start + length, offset, max_names)
    if blob.capacity - start < length + COPY_SLACK:
        catalog.reserve_names(length + COPY_SLACK)
    # The name before may move with the blob: it is found by its offset, not by a pointer.
    out = blob.data + start
    copy_bytes(out, blob.data + expander.previous_start, <size_t>prefix)
    out += prefix
    # Each symbol is written where the one before ends, and the last ends at ``length``, for which
    # there is room, and for what copy_string writes beyond it.
    for i in range(size):
        symbol = suffix[i]
        expanded = lengths[symbol]
        if starts[symbol] >= 0:
            copy_string(out, kept + starts[symbol], <size_t>expanded, kept_end)
        else:
            expand_symbol(expander, symbol, out)
        out += expanded
    blob.size = start + length
    expander.previous_start = start
    expander.prefix = prefix
    return 0


cdef int check_names_size(int64_t size, int64_t offset, int64_t max_names) except -1 nogil:
    if size > max_names:
        return limit_exceeded(
            STRUCTURE, offset, b"the names are longer than Limits.max_names_bytes together")
    return 0


cdef int read_text(
    Catalog catalog, Cursor* cursor, uint32_t* offset, uint32_t* length
) except -1 nogil:
    """A varint length and UTF-8: a child's name, a time zone. No NUL: Arrow cannot carry it."""
    cdef const uint8_t* data
    read_varint(cursor, length)
    need(cursor, length[0])
    data = cursor.data + cursor.position
    if not is_utf8(data, length[0]):
        return corrupt(STRUCTURE, cursor.position, b"a text of a type is not UTF-8")
    if length[0] and memchr(data, 0, length[0]) != NULL:
        return corrupt(STRUCTURE, cursor.position, b"a text of a type holds a NUL character")
    if catalog.text.size + length[0] >= <int64_t>1 << 32:
        return limit_exceeded(STRUCTURE, cursor.position, b"the texts of types exceed 4 GiB")
    offset[0] = <uint32_t>catalog.text.size
    append_bytes(&catalog.text, data, length[0])
    cursor.position += length[0]
    return 0


cdef int read_type(
    Catalog catalog, Cursor* cursor, int64_t depth, int64_t max_depth, int64_t max_nodes
) except -1 nogil:
    """A type descriptor, its children included, as nodes."""
    cdef int64_t index = catalog.num_nodes
    cdef uint32_t scale = 0
    cdef Node node
    cdef uint8_t byte
    cdef int64_t start = cursor.position
    if depth > max_depth:
        return limit_exceeded(STRUCTURE, start, b"types nest deeper than Limits.max_nesting_depth")
    if index >= max_nodes:
        return limit_exceeded(STRUCTURE, start, b"there are more columns than Limits.max_columns")
    catalog.add_node()
    read_byte(cursor, &node.type_id)
    read_byte(cursor, &byte)
    node.nullable = byte != 0
    node.parameter = 0
    node.scale = 0
    node.name_offset = node.name_length = node.extra_offset = node.extra_length = 0
    if node.type_id > MAP:
        with gil:
            unsupported(STRUCTURE, start, f"unknown type id {node.type_id}".encode())
    if (node.type_id == CHAR or node.type_id == VARCHAR or node.type_id == BINARY
            or node.type_id == VARBINARY or node.type_id == TIME or node.type_id == TIMESTAMP
            or node.type_id == TIMESTAMP_LTZ or node.type_id == DECIMAL):
        read_varint(cursor, &node.parameter)
    if node.type_id == TIMESTAMP_LTZ:
        read_text(catalog, cursor, &node.extra_offset, &node.extra_length)
    elif node.type_id == DECIMAL:
        read_varint(cursor, &scale)
        node.scale = <int32_t>scale
        if not 1 <= node.parameter <= 38:
            return corrupt(STRUCTURE, start, b"a DECIMAL precision is not in 1..38")
        if not -128 <= node.scale <= 127:
            return corrupt(STRUCTURE, start, b"a DECIMAL scale is not in -128..127")
    elif node.type_id == MAP:
        read_text(catalog, cursor, &node.extra_offset, &node.extra_length)
    node.kind = <uint8_t>kind_of(node.type_id, node.parameter)
    catalog.nodes[index] = node
    if node.type_id == ARRAY:
        read_child(catalog, cursor, depth, max_depth, max_nodes)
    elif node.type_id == MAP:
        read_child(catalog, cursor, depth, max_depth, max_nodes)
        if catalog.nodes[index + 1].type_id >= ARRAY:
            return corrupt(STRUCTURE, start, b"a MAP key is an ARRAY or MAP")
        read_child(catalog, cursor, depth, max_depth, max_nodes)
    catalog.nodes[index].end = <uint32_t>catalog.num_nodes
    return 0


cdef int read_child(
    Catalog catalog, Cursor* cursor, int64_t depth, int64_t max_depth, int64_t max_nodes
) except -1 nogil:
    cdef uint32_t offset, length
    cdef int64_t index = catalog.num_nodes
    read_text(catalog, cursor, &offset, &length)
    read_type(catalog, cursor, depth + 1, max_depth, max_nodes)
    catalog.nodes[index].name_offset = offset
    catalog.nodes[index].name_length = length
    return 0


cdef int read_columns(
    Catalog catalog, Cursor* cursor, Expander* expander,
    int64_t max_columns, int64_t max_depth, int64_t max_name, int64_t max_names,
) except -1 nogil:
    cdef ByteVector* blob = &catalog.names_blob
    cdef int64_t column, start, length, previous_start = 0, previous_length = 0, prefix
    cdef uint32_t shared, suffix
    cdef Node plain[MAP + 1]
    fill_plain(plain)
    for column in range(catalog.num_columns):
        start = cursor.position
        read_varint(cursor, &shared)
        read_varint(cursor, &suffix)
        need(cursor, suffix)
        if shared > previous_length:
            return corrupt(STRUCTURE, start, b"a name shares more bytes than the one before has")
        length = <int64_t>shared + suffix
        if length > max_name:
            return limit_exceeded(STRUCTURE, start, b"a name is longer than Limits.max_name_bytes")
        if expander != NULL:
            append_expanded(catalog, expander, cursor.data + cursor.position, suffix, shared,
                            start, max_name, max_names)
            prefix = expander.prefix
        else:
            check_names_size(blob.size + length, start, max_names)
            prefix = shared
            if blob.capacity - blob.size < length:
                catalog.reserve_names(length)
            copy_bytes(blob.data + blob.size, blob.data + previous_start, shared)
            copy_bytes(blob.data + blob.size + shared, cursor.data + cursor.position, suffix)
            previous_start = blob.size
            blob.size += length
        previous_length = length
        cursor.position += suffix
        if length == 0:
            return corrupt(STRUCTURE, start, b"a column name is empty")
        catalog.name_offsets[column + 1] = blob.size
        if column and catalog.is_sorted:
            catalog.is_sorted = follows(catalog, column, prefix)
        if not (max_depth >= 0 and read_plain_type(catalog, cursor, plain, max_columns)):
            read_type(catalog, cursor, 0, max_depth, max_columns)
        catalog.column_nodes[column + 1] = catalog.num_nodes
    return check_names(catalog, expander != NULL)


cdef bint follows(Catalog catalog, int64_t column, int64_t prefix) noexcept nogil:
    """Whether a name is behind the one before it, of which it has the first ``prefix`` bytes."""
    cdef const uint8_t* names = catalog.names_blob.data
    # There are columns + 1 offsets, and ``prefix`` is at most the length of either name.
    cdef int64_t before = catalog.name_offsets[column - 1] + prefix
    cdef int64_t start = catalog.name_offsets[column]
    cdef int64_t before_length = start - before
    cdef int64_t length = catalog.name_offsets[column + 1] - start - prefix
    start += prefix
    if before_length > 0 and length > 0 and names[before] != names[start]:
        return names[before] < names[start]
    return compare_bytes(names + before, before_length, names + start, length) < 0


cdef void fill_plain(Node* plain) noexcept nogil:
    """The nodes of types that a type id tells alone; for the others, NOT_PLAIN as their kind."""
    cdef uint8_t type_id
    clear_bytes(plain, (MAP + 1) * sizeof(Node))
    for type_id in range(MAP + 1):
        plain[type_id].type_id = type_id
        if (type_id == CHAR or type_id == VARCHAR or type_id == BINARY or type_id == VARBINARY
                or type_id == TIME or type_id == TIMESTAMP or type_id == TIMESTAMP_LTZ
                or type_id == DECIMAL or type_id >= ARRAY):
            plain[type_id].kind = NOT_PLAIN
        else:
            plain[type_id].kind = <uint8_t>kind_of(type_id, 0)


cdef bint read_plain_type(
    Catalog catalog, Cursor* cursor, const Node* plain, int64_t max_nodes
) noexcept nogil:
    """What :func:`read_type` does, for a type of two bytes; nothing is read if it is another."""
    cdef int64_t index = catalog.num_nodes
    cdef Node* node
    cdef uint8_t type_id
    if (cursor.size - cursor.position < 2 or index >= max_nodes
            or index >= catalog.nodes_capacity):
        return False
    type_id = cursor.data[cursor.position]
    if type_id > MAP or plain[type_id].kind == NOT_PLAIN:
        return False
    node = &catalog.nodes[index]
    node[0] = plain[type_id]
    node.nullable = cursor.data[cursor.position + 1] != 0
    node.end = <uint32_t>(index + 1)
    catalog.num_nodes = index + 1
    cursor.position += 2
    return True


cdef int check_names(Catalog catalog, bint expanded) except -1 nogil:
    """All names at once where they are ASCII, else one by one."""
    cdef ByteVector* blob = &catalog.names_blob
    cdef int64_t column, start
    if blob.size == 0:
        return 0
    catalog.has_nul_names = memchr(blob.data, 0, <size_t>blob.size) != NULL
    # Symbols are bytes below 0x80 or tokens, and the rules of tokens end in bytes below 0x80.
    if expanded or is_ascii(blob.data, <size_t>blob.size):
        return 0
    for column in range(catalog.num_columns):
        start = catalog.name_offsets[column]
        if not is_utf8(blob.data + start, <size_t>(catalog.name_offsets[column + 1] - start)):
            return corrupt(STRUCTURE, -1, b"a column name is not UTF-8")
    return 0


cdef int read_order(Catalog catalog, Cursor* cursor) except -1 nogil:
    """The original order; files from before it was kept have sorted order."""
    cdef int64_t column, delta, position = 0, count = catalog.num_columns
    cdef uint8_t* seen
    cdef int64_t start = cursor.position, size = cursor.size, place = start
    cdef const uint8_t* data = cursor.data
    cdef int64_t* order = catalog.order
    if cursor.position == cursor.size:
        for column in range(count):
            catalog.order[column] = column
        return 0
    seen = <uint8_t*>calloc(<size_t>count + 1, 1)
    if seen == NULL:
        return out_of_memory()
    try:
        # ``position`` stays in 0..count - 1, and ``seen`` makes sure that each occurs once: what
        # comes out is a permutation, which other kernels rely on.
        for column in range(count):
            # One or two bytes without a call. ``place`` is where the cursor would be.
            if size - place > 1 and data[place] < 0x80:
                delta = (data[place] >> 1) ^ -<int64_t>(data[place] & 1)
                place += 1
            elif size - place > 1 and data[place + 1] < 0x80:
                delta = (((data[place] & 0x7F) >> 1 | <int64_t>data[place + 1] << 6)
                         ^ -<int64_t>(data[place] & 1))
                place += 2
            else:
                cursor.position = place
                read_zigzag(cursor, &delta)
                place = cursor.position
            # Sums wrap around: whatever ``delta`` is, only the right ones end below ``count``.
            position = <int64_t>(<uint64_t>position + <uint64_t>delta)
            if <uint64_t>position >= <uint64_t>count or seen[position]:
                return corrupt(STRUCTURE, start, b"the original order is not a permutation")
            seen[position] = 1
            order[column] = position
        cursor.position = place
    finally:
        free(seen)
    return 0


def parse(const uint8_t[::1] content not None, limits):
    """Read the content of a schema block.

    Every count is checked against the bytes that are left before it sizes anything. Bytes after
    the original order are not looked at: that list itself was once such an addition.
    """
    cdef Cursor cursor
    cdef Catalog catalog = Catalog.__new__(Catalog)
    cdef uint32_t num_columns = 0, num_buckets = 0
    cdef uint8_t name_encoding = 0
    cdef Expander expander
    cdef int64_t max_columns = limits.max_columns, max_depth = limits.max_nesting_depth
    cdef int64_t max_name = limits.max_name_bytes, max_names = limits.max_names_bytes
    cursor.data = &content[0] if content.shape[0] else NULL
    cursor.size = content.shape[0]
    cursor.position = 0
    cursor.structure = STRUCTURE
    expander.kept = ByteVector(NULL, 0, 0)
    expander.ends = ByteVector(NULL, 0, 0)
    expander.previous_start = expander.prefix = 0
    # Node indices are 32 bits wide.
    max_columns = min(max_columns, (<int64_t>1 << 31) - 1)
    try:
        with nogil:
            read_varint(&cursor, &num_columns)
            read_varint(&cursor, &num_buckets)
            read_byte(&cursor, &name_encoding)
            if num_buckets == 0:
                corrupt(STRUCTURE, cursor.position, b"the number of buckets is 0")
            if num_columns > max_columns:
                limit_exceeded(STRUCTURE, cursor.position,
                               b"there are more columns than Limits.max_columns")
            if <int64_t>num_columns * LEAST_COLUMN_BYTES > cursor.size - cursor.position:
                corrupt(STRUCTURE, cursor.position, b"there are fewer bytes than columns need")
            catalog.num_buckets = num_buckets
            catalog.name_encoding = 1 if name_encoding == 1 else 0
            if catalog.name_encoding:
                catalog.num_rules = prepare_rules(&expander, &cursor, max_name)
            catalog.allocate_columns(num_columns)
            read_columns(catalog, &cursor, &expander if catalog.name_encoding else NULL,
                         max_columns, max_depth, max_name, max_names)
            read_order(catalog, &cursor)
            catalog.unread_bytes = cursor.size - cursor.position
    finally:
        free_vector(&expander.kept)
        free_vector(&expander.ends)
    if not catalog.is_sorted:
        catalog.index_names()
    return catalog


cdef int append_type(ByteVector* out, Catalog catalog, int64_t index) except -1 nogil:
    cdef Node* node = &catalog.nodes[index]
    cdef uint8_t head[2]
    head[0] = node.type_id
    head[1] = node.nullable
    append_bytes(out, head, 2)
    if node.type_id == DECIMAL:
        append_varint(out, node.parameter)
        append_varint(out, <uint32_t>node.scale)
    elif node.type_id == TIME or node.type_id == TIMESTAMP:
        append_varint(out, node.parameter)
    elif node.type_id == TIMESTAMP_LTZ:
        append_varint(out, node.parameter)
        append_text(out, catalog, node.extra_offset, node.extra_length)
    elif node.type_id == ARRAY:
        append_child(out, catalog, index + 1)
    elif node.type_id == MAP:
        append_text(out, catalog, node.extra_offset, node.extra_length)
        append_child(out, catalog, index + 1)
        append_child(out, catalog, catalog.nodes[index + 1].end)
    return 0


cdef int append_text(
    ByteVector* out, Catalog catalog, uint32_t offset, uint32_t length
) except -1 nogil:
    append_varint(out, length)
    return append_bytes(out, catalog.text.data + offset, length)


cdef int append_child(ByteVector* out, Catalog catalog, int64_t index) except -1 nogil:
    append_text(out, catalog, catalog.nodes[index].name_offset, catalog.nodes[index].name_length)
    return append_type(out, catalog, index)


def emit(Catalog catalog not None):
    """The content of the schema block for a catalog whose columns are sorted by name."""
    cdef ByteVector out = ByteVector(NULL, 0, 0)
    cdef EncodedNames names
    cdef int64_t column, start, length, shared, previous = 0
    cdef uint8_t encoding
    names = encode_names(catalog)
    try:
        with nogil:
            append_varint(&out, <uint32_t>catalog.num_columns)
            append_varint(&out, <uint32_t>catalog.num_buckets)
            encoding = 1 if names.num_rules else 0
            append_bytes(&out, &encoding, 1)
            if names.num_rules:
                append_varint(&out, <uint32_t>names.num_rules)
                append_bytes(&out, names.rules, 2 * names.num_rules)
            for column in range(catalog.num_columns):
                start = names.offsets[column]
                length = names.lengths[column]
                shared = names.shared[column]
                append_varint(&out, <uint32_t>shared)
                append_varint(&out, <uint32_t>(length - shared))
                append_bytes(&out, names.blob + start + shared, length - shared)
                append_type(&out, catalog, catalog.column_nodes[column])
            for column in range(catalog.num_columns):
                append_zigzag(&out, catalog.order[column] - previous)
                previous = catalog.order[column]
        return <bytes>out.data[:out.size]
    finally:
        free_vector(&out)
