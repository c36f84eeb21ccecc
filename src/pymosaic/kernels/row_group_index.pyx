# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The row group index: bytes -> flat arrays. The byte table is in
:mod:`pymosaic.format.row_group_index`.

In: the bytes of the index and the catalog. Out: a ``RowGroupIndex`` that answers for places of
buckets, sizes and statistics; or the same bytes with all buckets moved.

Memory: the index owns its arrays, and keeps a reference to the bytes, into which statistics point.
Both are in proportion to the bytes of the index, whatever counts it declares: entries are added one
at a time, as they are read.

Safety: all bytes are read through the cursor. Row groups, buckets and columns that come from Python
are compared with the counts first. Starts of row groups have one entry more than row groups.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort, realloc

from pymosaic.kernels.catalog cimport Catalog, Node, has_statistics, kind_width
from pymosaic.kernels.primitives cimport (
    Cursor, checked_size, compare_memory, corrupt, load_be64, need, out_of_memory, read_varint,
    store_be64,
)

import operator

import numpy as np

cdef const char* STRUCTURE = b"row group index"
cdef enum:
    # The least a row group takes: row count, bucket count, statistics count.
    LEAST_ROW_GROUP_BYTES = 3


cdef struct Entry:
    uint32_t bucket
    uint32_t compressed_size
    uint32_t raw_size
    int64_t offset


cdef struct Stat:
    uint32_t column
    uint32_t null_count
    int64_t minimum, minimum_length   # in the index bytes; length -1: none stored
    int64_t maximum, maximum_length


cdef int compare_buckets(const void* left, const void* right) noexcept nogil:
    cdef uint32_t a = (<const Entry*>left).bucket, b = (<const Entry*>right).bucket
    return (a > b) - (a < b)


cdef int compare_offsets(const void* left, const void* right) noexcept nogil:
    cdef int64_t a = (<const Entry*>left).offset, b = (<const Entry*>right).offset
    return (a > b) - (a < b)


cdef int compare_columns(const void* left, const void* right) noexcept nogil:
    cdef uint32_t a = (<const Stat*>left).column, b = (<const Stat*>right).column
    return (a > b) - (a < b)


cdef bint same_bytes(
    const uint8_t* data, int64_t left, int64_t left_length, int64_t right, int64_t right_length
) noexcept nogil:
    """Whether two ranges hold the same; a length of -1 is no range."""
    return left_length == right_length and (
        left_length <= 0
        or compare_memory(data + left, data + right, <size_t>left_length) == 0)


cdef class RowGroupIndex:
    """Rows, bucket places and statistics of every row group.

    Memory is in proportion to the bytes of the index, whatever counts it declares.
    """

    cdef:
        object data                # the bytes that statistics point into
        readonly int64_t num_row_groups
        readonly int64_t num_rows
        uint32_t* row_counts
        int64_t* entry_starts      # num_row_groups + 1
        Entry* entries             # by bucket within a row group
        int64_t num_entries, entries_capacity
        int64_t* stat_starts       # num_row_groups + 1
        Stat* stats
        int64_t num_stats, stats_capacity
        bint stats_ascend          # by column, within every row group

    def __dealloc__(self):
        free(self.row_counts)
        free(self.entry_starts)
        free(self.entries)
        free(self.stat_starts)
        free(self.stats)

    cdef int64_t check(self, row_group) except -1:
        row_group = operator.index(row_group)
        if not 0 <= row_group < self.num_row_groups:
            raise IndexError(
                f"row group {row_group} is not in the file, which has {self.num_row_groups}")
        return row_group

    def row_count(self, row_group):
        """Rows of a row group."""
        return self.row_counts[self.check(row_group)]

    def compressed_size(self, row_group):
        """Bytes of a row group's buckets on disk."""
        cdef int64_t index = self.check(row_group), i, total = 0
        for i in range(self.entry_starts[index], self.entry_starts[index + 1]):
            total += self.entries[i].compressed_size
        return total

    def bucket_sizes(self, row_group, const int64_t[::1] buckets not None):
        """Compressed and raw sizes of some buckets, given in ascending order, as two arrays; both
        sizes are 0 where a bucket is not stored."""
        cdef int64_t index = self.check(row_group), i, at, stop
        compressed = np.zeros(buckets.shape[0], dtype=np.int64)
        raw = np.zeros(buckets.shape[0], dtype=np.int64)
        cdef int64_t[::1] compressed_out = compressed, raw_out = raw
        at = self.entry_starts[index]
        stop = self.entry_starts[index + 1]
        for i in range(buckets.shape[0]):
            while at < stop and self.entries[at].bucket < buckets[i]:
                at += 1
            if at < stop and self.entries[at].bucket == buckets[i]:
                compressed_out[i] = self.entries[at].compressed_size
                raw_out[i] = self.entries[at].raw_size
        return compressed, raw

    def entry(self, row_group, uint32_t bucket):
        """``(offset, compressed size, raw size)`` of a bucket; None where it is not stored."""
        cdef int64_t index = self.check(row_group), low, high, middle
        low = self.entry_starts[index]
        high = self.entry_starts[index + 1]
        # Entries are in ascending order within a row group (sorted when it was read, if need be),
        # and ``low`` may end up behind the last one, which is checked before it is read.
        while low < high:
            middle = (low + high) >> 1
            if self.entries[middle].bucket < bucket:
                low = middle + 1
            else:
                high = middle
        if low == self.entry_starts[index + 1] or self.entries[low].bucket != bucket:
            return None
        if self.entries[low].compressed_size == 0:
            return None
        return (self.entries[low].offset, self.entries[low].compressed_size,
                self.entries[low].raw_size)

    def extent(self):
        """Where the bytes of all buckets begin and end; 0, 0 where there are none."""
        cdef int64_t i, start = 0, end = 0
        cdef bint found = False
        for i in range(self.num_entries):
            if self.entries[i].compressed_size == 0:
                continue
            if not found or self.entries[i].offset < start:
                start = self.entries[i].offset
            if self.entries[i].offset + self.entries[i].compressed_size > end:
                end = self.entries[i].offset + self.entries[i].compressed_size
            found = True
        return start, end

    def shifted(self, int64_t distance):
        """The bytes of the index for a file in which all buckets are moved by ``distance``."""
        cdef const uint8_t[::1] data = self.data
        shifted = bytearray(data)
        if not shifted:
            return b""
        cdef uint8_t[::1] out = shifted
        cdef Cursor cursor
        cdef uint32_t count, number, i
        cdef int64_t index, stat, place, offset
        cursor.data = &data[0]
        cursor.size = data.shape[0]
        cursor.position = 0
        cursor.structure = STRUCTURE
        for index in range(self.num_row_groups):
            read_varint(&cursor, &number)
            read_varint(&cursor, &count)
            # The bytes were parsed before, but are read through the cursor all the same. ``place``
            # is behind ``need``, and ``out`` is as long as the data.
            for i in range(count):
                read_varint(&cursor, &number)
                need(&cursor, 8)
                place = cursor.position
                cursor.position += 8
                read_varint(&cursor, &number)
                offset = 0
                if number:
                    offset = <int64_t>load_be64(cursor.data + place) + distance
                    if offset < 0:
                        raise ValueError(f"a bucket would be moved to {offset}")
                store_be64(&out[place], <uint64_t>offset)
                read_varint(&cursor, &number)
            read_varint(&cursor, &count)
            for stat in range(self.stat_starts[index], self.stat_starts[index + 1]):
                read_varint(&cursor, &number)
                read_varint(&cursor, &number)
                if self.stats[stat].maximum_length >= 0:
                    cursor.position = self.stats[stat].maximum + self.stats[stat].maximum_length
        return bytes(shifted)

    def statistics(self, row_group):
        """A list of ``(position, null count, min bytes or None, max bytes or None)``."""
        cdef int64_t index = self.check(row_group), i
        return [self.statistic(i) for i in range(self.stat_starts[index],
                                                 self.stat_starts[index + 1])]

    def find_statistic(self, row_group, uint32_t position):
        """The entry of one column as in :meth:`statistics`, or None."""
        cdef int64_t index = self.check(row_group), i, low, high, middle
        low = self.stat_starts[index]
        high = self.stat_starts[index + 1]
        if self.stats_ascend:
            while low < high:
                middle = (low + high) >> 1
                if self.stats[middle].column < position:
                    low = middle + 1
                else:
                    high = middle
            high = self.stat_starts[index + 1]
        for i in range(low, high):
            if self.stats[i].column == position:
                return self.statistic(i)
            if self.stats_ascend:
                break
        return None

    cdef object statistic(self, int64_t i):
        cdef Stat* stat = &self.stats[i]
        if stat.minimum_length < 0:
            return stat.column, stat.null_count, None, None
        view = memoryview(self.data)
        return (stat.column, stat.null_count,
                bytes(view[stat.minimum:stat.minimum + stat.minimum_length]),
                bytes(view[stat.maximum:stat.maximum + stat.maximum_length]))

    cdef Entry* add_entry(self) except NULL nogil:
        cdef Entry* entries
        if self.num_entries == self.entries_capacity:
            self.entries_capacity = self.entries_capacity * 2 if self.entries_capacity else 128
            entries = <Entry*>realloc(
                self.entries, <size_t>checked_size(self.entries_capacity, sizeof(Entry)))
            if entries == NULL:
                out_of_memory()
            self.entries = entries
        self.num_entries += 1
        return &self.entries[self.num_entries - 1]

    cdef Stat* add_stat(self) except NULL nogil:
        cdef Stat* stats
        if self.num_stats == self.stats_capacity:
            self.stats_capacity = self.stats_capacity * 2 if self.stats_capacity else 16
            stats = <Stat*>realloc(
                self.stats, <size_t>checked_size(self.stats_capacity, sizeof(Stat)))
            if stats == NULL:
                out_of_memory()
            self.stats = stats
        self.num_stats += 1
        return &self.stats[self.num_stats - 1]

    cdef int read_row_group(
        self, Cursor* cursor, Catalog catalog, int64_t index, int64_t data_end
    ) except -1 nogil:
        cdef uint32_t count, i
        cdef Entry* entry
        cdef int64_t start
        cdef bint ascending = True
        read_varint(cursor, &self.row_counts[index])
        self.num_rows += self.row_counts[index]
        self.entry_starts[index] = self.num_entries
        start = cursor.position
        read_varint(cursor, &count)
        if count > catalog.num_buckets:
            return corrupt(STRUCTURE, start, b"a row group has more buckets than the file")
        # A forged count ends at the end of the bytes: every entry takes at least eleven.
        for i in range(count):
            entry = self.add_entry()
            start = cursor.position
            read_entry(cursor, entry, catalog.num_buckets, data_end)
            if i and entry.bucket <= self.entries[self.num_entries - 2].bucket:
                ascending = False
        if not ascending:
            qsort(&self.entries[self.entry_starts[index]], count, sizeof(Entry), compare_buckets)
            for i in range(1, count):
                if (self.entries[self.entry_starts[index] + i].bucket
                        == self.entries[self.entry_starts[index] + i - 1].bucket):
                    return corrupt(STRUCTURE, start, b"a row group lists a bucket twice")
        self.stat_starts[index] = self.num_stats
        read_varint(cursor, &count)
        ascending = True
        for i in range(count):
            # A column can be listed twice (the reference writes that), so only bytes bound this.
            read_stat(cursor, self.add_stat(), catalog, self.row_counts[index])
            if i and (self.stats[self.num_stats - 1].column
                      <= self.stats[self.num_stats - 2].column):
                ascending = False
                if (self.stats[self.num_stats - 1].column
                        < self.stats[self.num_stats - 2].column):
                    self.stats_ascend = False
        if not ascending:
            self.check_repeated(cursor.data, self.stat_starts[index], count)
        return 0

    cdef int check_repeated(
        self, const uint8_t* data, int64_t first, int64_t count
    ) except -1 nogil:
        """Statistics of one column twice must be the same: else one of them is not its own."""
        cdef int64_t i
        cdef Stat* stats = <Stat*>malloc(<size_t>checked_size(count, sizeof(Stat)))
        cdef bint same = True
        if stats == NULL:
            return out_of_memory()
        for i in range(count):
            stats[i] = self.stats[first + i]
        qsort(stats, <size_t>count, sizeof(Stat), compare_columns)
        for i in range(1, count):
            if stats[i].column == stats[i - 1].column and not (
                    stats[i].null_count == stats[i - 1].null_count
                    and same_bytes(data, stats[i].minimum, stats[i].minimum_length,
                                   stats[i - 1].minimum, stats[i - 1].minimum_length)
                    and same_bytes(data, stats[i].maximum, stats[i].maximum_length,
                                   stats[i - 1].maximum, stats[i - 1].maximum_length)):
                same = False
        free(stats)
        if not same:
            return corrupt(STRUCTURE, -1, b"a column has two different statistics")
        return 0

    cdef int check_overlap(self) except -1:
        """No two buckets may share bytes."""
        cdef int64_t i, end = 0
        cdef bint ascending = True
        cdef Entry* entries
        for i in range(self.num_entries):
            if self.entries[i].compressed_size == 0:
                continue
            if self.entries[i].offset < end:
                ascending = False
                break
            end = self.entries[i].offset + self.entries[i].compressed_size
        if ascending:
            return 0
        entries = <Entry*>malloc(<size_t>checked_size(self.num_entries, sizeof(Entry)))
        if entries == NULL:
            raise MemoryError
        end = 0
        for i in range(self.num_entries):
            entries[i] = self.entries[i]
        qsort(entries, <size_t>self.num_entries, sizeof(Entry), compare_offsets)
        ascending = True
        for i in range(self.num_entries):
            if entries[i].compressed_size == 0:
                continue
            if entries[i].offset < end:
                ascending = False
            end = entries[i].offset + entries[i].compressed_size
        free(entries)
        if not ascending:
            corrupt(STRUCTURE, -1, b"two buckets overlap")
        return 0


cdef int read_entry(
    Cursor* cursor, Entry* entry, int64_t num_buckets, int64_t data_end
) except -1 nogil:
    cdef int64_t start = cursor.position
    cdef uint64_t offset
    read_varint(cursor, &entry.bucket)
    if entry.bucket >= num_buckets:
        return corrupt(STRUCTURE, start, b"a bucket id is beyond the number of buckets")
    need(cursor, 8)
    offset = load_be64(cursor.data + cursor.position)
    cursor.position += 8
    read_varint(cursor, &entry.compressed_size)
    read_varint(cursor, &entry.raw_size)
    if entry.compressed_size == 0:
        if entry.raw_size:
            return corrupt(STRUCTURE, start, b"a bucket of 0 bytes claims to have content")
        entry.offset = 0
        return 0
    if offset > <uint64_t>data_end or entry.compressed_size > data_end - <int64_t>offset:
        return corrupt(STRUCTURE, start, b"a bucket does not lie before the schema block")
    entry.offset = <int64_t>offset
    return 0


cdef int read_stat_value(
    Cursor* cursor, int width, int64_t* start, int64_t* length
) except -1 nogil:
    cdef uint32_t size = <uint32_t>width
    if width == 0:
        read_varint(cursor, &size)
    need(cursor, size)
    start[0] = cursor.position
    length[0] = size
    cursor.position += size
    return 0


cdef int read_stat(Cursor* cursor, Stat* stat, Catalog catalog, uint32_t num_rows) except -1 nogil:
    cdef int64_t start = cursor.position
    cdef Node* node
    read_varint(cursor, &stat.column)
    if stat.column >= catalog.num_columns:
        return corrupt(STRUCTURE, start, b"statistics of a column that is not there")
    node = &catalog.nodes[catalog.column_nodes[stat.column]]
    if not has_statistics(node):
        return corrupt(STRUCTURE, start, b"statistics of a column whose type has none")
    read_varint(cursor, &stat.null_count)
    if stat.null_count > num_rows:
        return corrupt(STRUCTURE, start, b"statistics count more nulls than rows")
    stat.minimum = stat.maximum = 0
    stat.minimum_length = stat.maximum_length = -1
    if stat.null_count < num_rows:
        read_stat_value(cursor, kind_width(node.kind), &stat.minimum, &stat.minimum_length)
        read_stat_value(cursor, kind_width(node.kind), &stat.maximum, &stat.maximum_length)
    return 0


def parse(const uint8_t[::1] data not None, Catalog catalog not None, int64_t num_row_groups,
          int64_t data_end):
    """Read the row group index.

    Parameters
    ----------
    data : bytes
        All of the index; it must be consumed exactly.
    catalog : Catalog
    num_row_groups : int
        As the footer has it.
    data_end : int
        Where the schema block starts: buckets lie before it.
    """
    cdef RowGroupIndex index = RowGroupIndex.__new__(RowGroupIndex)
    cdef Cursor cursor
    cdef int64_t i
    index.data = data
    index.stats_ascend = True
    cursor.data = &data[0] if data.shape[0] else NULL
    cursor.size = data.shape[0]
    cursor.position = 0
    cursor.structure = STRUCTURE
    if num_row_groups < 0 or num_row_groups > cursor.size // LEAST_ROW_GROUP_BYTES:
        corrupt(STRUCTURE, 0, b"there are fewer bytes than row groups need")
    index.row_counts = <uint32_t*>malloc(<size_t>(num_row_groups + 1) * sizeof(uint32_t))
    index.entry_starts = <int64_t*>malloc(<size_t>(num_row_groups + 1) * sizeof(int64_t))
    index.stat_starts = <int64_t*>malloc(<size_t>(num_row_groups + 1) * sizeof(int64_t))
    if index.row_counts == NULL or index.entry_starts == NULL or index.stat_starts == NULL:
        raise MemoryError
    with nogil:
        for i in range(num_row_groups):
            index.read_row_group(&cursor, catalog, i, data_end)
        index.entry_starts[num_row_groups] = index.num_entries
        index.stat_starts[num_row_groups] = index.num_stats
        if cursor.position != cursor.size:
            corrupt(STRUCTURE, cursor.position, b"there are bytes after the last row group")
    index.num_row_groups = num_row_groups
    index.check_overlap()
    return index
