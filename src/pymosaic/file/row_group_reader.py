"""Reading one row group: from stored bytes to Arrow batches.

A projection takes up to two rounds of reads: monolithic buckets and the directories of paged ones
in the first, the wanted slots of paged buckets in the second. A paged bucket whose columns are all
wanted is read whole in the first. Buckets of local files that are read whole are not read in
rounds: who decodes them reads them just before, into memory that is still in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.errors import CorruptFileError, LimitExceededError, UnsupportedFeatureError
from pymosaic.file.open_file import OpenFile
from pymosaic.file.plan import (
    BucketPlan,
    ByteRange,
    Slot,
    first_range,
    plan_row_group,
    wanted_slots,
)
from pymosaic.file.projection import Positions
from pymosaic.format.bucket import check_layout, parse_directory
from pymosaic.format.compression import Scratch
from pymosaic.format.page import open_slot, parse_slot
from pymosaic.io.ranges import merge_ranges
from pymosaic.kernels.arrow_export import BatchExport, MemoryBudget, OutputArena, export_schema
from pymosaic.kernels.bucket_decoder import BucketDecoder
from pymosaic.kernels.catalog import Catalog
from pymosaic.threads import num_threads, share_out, split_evenly

if TYPE_CHECKING:
    from pymosaic.filters.row_filter import Filter

__all__ = ["BucketLoader", "RowGroupReader", "Selection"]

# Below this many compressed bytes, threads cost more than they save.
_WORTH_A_THREAD = 128 << 10
_MAX_RUNS = 256
# What is read of neighbouring buckets at once stays in the cache until it is decompressed.
_READ_BYTES = 256 << 10


class Selection:
    """Some columns of a file, with their Arrow schema, which is made on demand unless given."""

    def __init__(
        self, catalog: Catalog, positions: Positions, schema: pa.Schema | None = None
    ) -> None:
        self.positions = positions
        self._catalog = catalog
        self._schema = schema

    def __arrow_c_schema__(self) -> object:
        return export_schema(self._catalog, self.positions)

    def import_schema(self) -> pa.Schema:
        """The Arrow schema; made once."""
        if self._schema is None:
            try:
                schema = pa.schema(self)
            except pa.ArrowInvalid as error:
                # Types that Limits allows but Arrow does not: nested too deep.
                raise UnsupportedFeatureError(str(error), structure="schema block") from error
            if self._catalog.has_nul_names:
                # The Arrow C interface ends a name at its first NUL.
                names = [self._catalog.name(int(position)) for position in self.positions]
                fields = zip(schema, names, strict=True)
                schema = pa.schema([field.with_name(name) for field, name in fields])
            self._schema = schema
        return self._schema


class BucketLoader:
    """The stored bytes of one bucket, fetched for the wanted columns and loaded into a decoder."""

    def __init__(self, file: OpenFile, row_group: int, num_rows: int, plan: BucketPlan) -> None:
        self.plan: BucketPlan = plan
        self._file = file
        self._row_group = row_group
        self._structure = f"row group {row_group}, bucket {plan.place.bucket}"
        self.decoder: BucketDecoder = BucketDecoder(file.catalog, plan.place.bucket, num_rows)
        self._whole: memoryview | None = None
        self._slots: dict[int, memoryview] = {}
        self._offsets: npt.NDArray[np.int64] | None = None
        # What is to be read just before it is loaded.
        self.postponed: ByteRange | None = None
        # Physical columns whose pages are in the decoder; None before the first load.
        self._loaded: set[int] | None = None
        check_layout(plan.place, file.compression, self._structure)

    def retarget(self, plan: BucketPlan) -> None:
        """Request other columns of the same bucket; loaded ones are kept."""
        self.plan = plan

    def first_ranges(self) -> list[ByteRange]:
        """The ranges that the first round must fetch."""
        if self._loaded is not None:
            return []
        wanted = first_range(self.plan, self._file.catalog, self.decoder)
        return [] if wanted is None else [wanted]

    def postpone(self) -> bool:
        """Leave the first round for later if it is one read of the file and the only round."""
        ranges = self.first_ranges()
        if not ranges or ranges[0][1] != self.plan.place.compressed_size:
            return False
        offset, size = ranges[0]
        if offset + size > self._file.in_memory_from or size == 0:
            return False
        self.postponed = ranges[0]
        return True

    def take_first(self, data: Sequence[memoryview]) -> list[ByteRange]:
        """Accept the bytes of the first round; returns the slots that the second must fetch."""
        place = self.plan.place
        if place.missing:
            self.decoder.load_missing()
            return []
        if data:
            self._take_start(data[0])
        return [(place.offset + start, stop - start) for _, start, stop in self._missing_slots()]

    def _take_start(self, data: memoryview) -> None:
        self._whole = data
        place = self.plan.place
        if not place.paged:
            return
        try:
            self._offsets = parse_directory(self.decoder, data, place, self._structure)
        except CorruptFileError as error:
            self._locate(error)
            raise
        if len(data) == place.compressed_size:
            for column, start, stop in self._missing_slots():
                self._slots[column] = data[start:stop]

    def take_slots(self, data: Sequence[memoryview]) -> None:
        """Accept the bytes of the second round."""
        wanted = [slot.column for slot in self._missing_slots()]
        self._slots.update(zip(wanted, data, strict=True))

    def _missing_slots(self) -> list[Slot]:
        """The wanted slots that are neither fetched nor in the decoder."""
        if self._offsets is None:
            return []
        known = self._slots.keys() if self._loaded is None else self._loaded | self._slots.keys()
        slots = wanted_slots(self.plan, self.decoder, self._offsets)
        return [slot for slot in slots if slot.column not in known]

    def slot_sizes(self) -> dict[int, int]:
        """Sizes on disk of the fetched slots, by physical column."""
        return {column: len(slot) for column, slot in self._slots.items()}

    def _has_checksum(self, block: memoryview) -> bool:
        """Whether a monolithic bucket has a checksum; one in the annex is compared."""
        annex = self._file.annex
        if annex is not None and annex.check_bucket(self._row_group, self.plan.place.bucket, block):
            return True
        return self._file.compression.has_checksum(block)

    def unprotected(self) -> int:
        """The number of fetched blocks without a checksum."""
        annex = self._file.annex
        if annex is not None and annex.has_bucket_checksums:
            return 0
        has_checksum = self._file.compression.has_checksum
        if self._whole is not None and not self.plan.place.paged:
            return int(not has_checksum(self._whole))
        blocks = [open_slot(slot, "slot")[1] for slot in self._slots.values()]
        return sum(not has_checksum(block) for block in blocks)

    def load(self, scratch: Scratch | None = None) -> None:
        """Decompress the fetched bytes and locate the columns in them.

        With ``scratch``, the bucket must be released before that is used again.
        """
        if scratch is not None:
            scratch.restart()
        try:
            self._load(scratch)
        except (CorruptFileError, LimitExceededError) as error:
            self._locate(error)
            raise

    def _load(self, scratch: Scratch | None) -> None:
        compression, limits = self._file.compression, self._file.limits
        place = self.plan.place
        if self._whole is not None and not place.paged:
            raw = compression.decompress(self._whole, place.raw_size, "bucket", limits, scratch)
            # The row count may not be covered by a checksum; data that fits it confirms it.
            self.decoder.load_monolithic(raw, self._has_checksum(self._whole))
        for column, slot in self._slots.items():
            structure = f"{self._structure}, slot {column}"
            self.decoder.load_page(
                column, *parse_slot(slot, compression, structure, limits, scratch)
            )
        self._loaded = (self._loaded or set()) | self._slots.keys()
        self._whole = None
        self._slots = {}

    def release(self) -> None:
        """Release the bytes of the bucket."""
        del self.decoder

    def decode(
        self, batch: BatchExport, output: OutputArena, slots: Positions | None = None
    ) -> None:
        """Decode the wanted columns into the batch, at the slots of the plan unless given."""
        places = self.plan.slots if slots is None else slots
        try:
            self.decoder.decode(batch, self.plan.positions, places, output)
        except (CorruptFileError, LimitExceededError) as error:
            self._locate(error)
            raise

    def _locate(self, error: CorruptFileError | LimitExceededError) -> None:
        """Add the row group and bucket to kernel errors, which know only the kind of structure."""
        if error.structure in (None, "row group", "bucket"):
            error.relocate(structure=self._structure)
        elif not error.structure.startswith(self._structure):
            error.relocate(structure=f"{self._structure}, {error.structure}")


class _Memory:
    """Memory for the stored bytes of some buckets, and for the content of one."""

    __slots__ = ("content", "stored")

    def __init__(self) -> None:
        self.stored = Scratch()
        self.content = Scratch()


# Lent to one run of buckets at a time, the last used first.
_free_memory: list[_Memory] = []


def _borrow_memory() -> _Memory:
    try:
        return _free_memory.pop()
    except IndexError:
        return _Memory()


def _return_memory(memory: _Memory) -> None:
    """For the next run; not after an error, whose traceback may hold views of it."""
    if not _free_memory or len(_free_memory) < num_threads():
        _free_memory.append(memory)


def _call(step: Callable[[], object]) -> None:
    step()


class RowGroupReader:
    """Reads columns of one row group."""

    def __init__(
        self,
        file: OpenFile,
        row_group: int,
        use_threads: bool,
        table_budget: MemoryBudget | None = None,
    ) -> None:
        self._file = file
        self._row_group = row_group
        self._use_threads = use_threads
        self.num_rows: int = file.index.row_count(row_group)
        self._budget = MemoryBudget(file.limits.max_row_group_bytes, table_budget)
        self._kept: dict[int, BucketLoader] = {}

    @property
    def file(self) -> OpenFile:
        """The file that the row group is part of."""
        return self._file

    def read(self, selection: Selection, keep_buckets: bool = False) -> pa.RecordBatch:
        """The selected columns, in the order of the selection.

        With ``keep_buckets``, a later call reuses the buckets read here.
        """
        file = self._file
        positions = selection.positions
        plans = plan_row_group(file.catalog, file.index, self._row_group, positions)
        batch = BatchExport(file.catalog, positions, self.num_rows)
        loaders = self.fetch(plans, may_postpone=not keep_buckets)
        if keep_buckets:
            self._kept = {loader.plan.place.bucket: loader for loader in loaders}

        arenas: dict[int, OutputArena] = {}

        def decode(run: Sequence[BucketLoader]) -> None:
            thread = get_ident()
            output = arenas.get(thread)
            if output is None:
                output = arenas[thread] = OutputArena(self._budget)
            memory = _borrow_memory()
            for loader in self._read_postponed(run, memory.stored):
                loader.load(None if keep_buckets else memory.content)
                loader.decode(batch, output)
                if not keep_buckets:
                    loader.release()
            _return_memory(memory)

        # Arrow takes a while for a wide schema; other threads decode in that time.
        self._spread(decode, loaders, selection.import_schema)
        return batch.import_into(pa.RecordBatch, selection.import_schema())

    def visit(self, positions: Positions, visit: Callable[[BucketPlan, BatchExport], None]) -> None:
        """Decode columns bucket by bucket, on several threads.

        ``visit`` is called with each bucket's plan and a batch of its columns, in the order of
        ``plan.positions``, which is released afterwards. Of a local file, a bucket is read just
        before it is decoded, so that memory holds a few of them.
        """
        file = self._file
        plans = plan_row_group(file.catalog, file.index, self._row_group, positions)
        loaders = self.fetch(plans, may_postpone=True)

        def decode(run: Sequence[BucketLoader]) -> None:
            memory = _borrow_memory()
            for loader in self._read_postponed(run, memory.stored):
                plan = loader.plan
                batch = BatchExport(file.catalog, plan.positions, self.num_rows)
                loader.load(memory.content)
                places = np.arange(len(plan.positions), dtype=np.int64)
                loader.decode(batch, OutputArena(self._budget), places)
                loader.release()
                visit(plan, batch)
            _return_memory(memory)

        self._spread(decode, loaders)

    def _spread(
        self,
        decode: Callable[[Sequence[BucketLoader]], None],
        loaders: Sequence[BucketLoader],
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Have runs of buckets decoded on several threads, if that pays."""
        if not self._use_threads or len(loaders) < 2:
            decode(loaders)
            return
        weights = [loader.plan.place.compressed_size + 1 for loader in loaders]
        parts_wanted = min(_MAX_RUNS, 1 + sum(weights) // _WORTH_A_THREAD)
        runs = split_evenly(loaders, weights, parts_wanted)
        steps: list[Callable[[], object]] = [partial(decode, run) for run in runs]
        if meanwhile is not None:
            steps.insert(0, meanwhile)
        share_out(_call, steps, len(runs) > 1)

    def read_matching(
        self,
        wanted: Selection,
        row_filter: Filter,
        tested: Selection,
        adapt: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
    ) -> pa.RecordBatch | None:
        """The wanted columns of the rows that match a filter, or None if no row does.

        The filter's columns are read first, and the others only if a row matches. ``adapt``
        converts the filter's columns to what the filter expects.
        """
        mask = self._mask(row_filter, tested, adapt)
        matches = mask.true_count
        if matches == 0:
            return None
        batch = self.read(wanted)
        return batch if matches == self.num_rows else batch.filter(mask)

    def matching_rows(
        self,
        row_filter: Filter,
        tested: Selection,
        adapt: Callable[[pa.RecordBatch], pa.RecordBatch] | None = None,
    ) -> npt.NDArray[np.int64] | None:
        """The numbers of the rows that match, as in :meth:`read_matching`; None if all do."""
        mask = self._mask(row_filter, tested, adapt)
        if mask.true_count == self.num_rows:
            return None
        return np.flatnonzero(mask.fill_null(False).to_numpy(zero_copy_only=False))

    def _mask(
        self,
        row_filter: Filter,
        tested: Selection,
        adapt: Callable[[pa.RecordBatch], pa.RecordBatch] | None,
    ) -> pa.BooleanArray:
        batch = self.read(tested, keep_buckets=True)
        return row_filter.mask(batch if adapt is None else adapt(batch))

    def _read_postponed(
        self, run: Sequence[BucketLoader], memory: Scratch
    ) -> Iterator[BucketLoader]:
        """All buckets of a run, with their bytes: those that were not fetched are read now.

        A bucket must be released before the next one is requested.
        """
        waiting: list[BucketLoader] = []
        ranges: list[ByteRange] = []
        for loader in run:
            if loader.postponed is None:
                yield loader
            else:
                waiting.append(loader)
                ranges.append(loader.postponed)
        source = self._file.source
        for extent in merge_ranges(ranges, source.merge_gap, _READ_BYTES):
            memory.restart()
            data = memory.take(extent.length)
            source.read_into(extent.offset, data)
            for member in extent.members:
                start = ranges[member][0] - extent.offset
                waiting[member].take_first([data[start : start + ranges[member][1]]])
                yield waiting[member]

    def fetch(self, plans: Sequence[BucketPlan], may_postpone: bool = False) -> list[BucketLoader]:
        """Read the bytes of some buckets, in at most two rounds.

        With ``may_postpone``, buckets that cost no more to read one by one are left for later.
        """
        source = self._file.source
        source.check_open()
        loaders = [self._loader(plan) for plan in plans]
        if may_postpone and source.reads_when_decoded:
            self._fetch([loader for loader in loaders if not loader.postpone()])
        else:
            self._fetch(loaders)
        return loaders

    def _fetch(self, loaders: Sequence[BucketLoader]) -> None:
        if not loaders:
            return
        first = [loader.first_ranges() for loader in loaders]
        data = iter(self._file.fetch([item for ranges in first for item in ranges]))
        second = [
            loader.take_first([next(data) for _ in ranges])
            for loader, ranges in zip(loaders, first, strict=True)
        ]
        if any(second):
            data = iter(self._file.fetch([item for ranges in second for item in ranges]))
            for loader, ranges in zip(loaders, second, strict=True):
                loader.take_slots([next(data) for _ in ranges])

    def _loader(self, plan: BucketPlan) -> BucketLoader:
        loader = self._kept.get(plan.place.bucket)
        if loader is None:
            return BucketLoader(self._file, self._row_group, self.num_rows, plan)
        loader.retarget(plan)
        return loader
