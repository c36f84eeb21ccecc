"""One row group on its way from bytes to Arrow batches.

Rounds of reading for a projection: monolithic buckets and the directories of paged ones in the
first, the wanted slots of paged buckets in the second. A paged bucket of which every column is
wanted is read whole in the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.errors import CorruptFileError, LimitExceededError, UnsupportedFeatureError
from pymosaic.file.plan import BucketPlan, plan_row_group
from pymosaic.file.projection import Positions
from pymosaic.format.block import decompress, has_checksum
from pymosaic.format.varint import decode_varint
from pymosaic.kernels.arrow_export import BatchExport, MemoryBudget, OutputArena, export_schema
from pymosaic.kernels.bucket_decoder import BucketDecoder
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.row_group_index import RowGroupIndex
from pymosaic.limits import Limits
from pymosaic.threads import num_threads, ordered_map, split_evenly

__all__ = ["BucketLoader", "FileParts", "RowGroupReader", "Selection"]

Fetch: TypeAlias = Callable[[Sequence[tuple[int, int]]], list[memoryview]]

# Below this many compressed bytes, handing work to threads costs more than it saves.
_WORTH_A_THREAD = 128 << 10


class Selection:
    """Some columns of a file, and their Arrow schema once it is wanted, unless it is known."""

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
                # Types that Limits allow but Arrow cannot take: nested too deep.
                raise UnsupportedFeatureError(str(error), structure="schema block") from error
            if self._catalog.has_nul_names:
                # The Arrow C interface ends a name at its first NUL.
                names = [self._catalog.name(int(position)) for position in self.positions]
                fields = zip(schema, names, strict=True)
                schema = pa.schema([field.with_name(name) for field, name in fields])
            self._schema = schema
        return self._schema


@dataclass(frozen=True, slots=True)
class FileParts:
    """What is known of an open file: how to decode it and where to get its bytes."""

    catalog: Catalog
    index: RowGroupIndex
    compressed: bool
    limits: Limits
    fetch: Fetch


class BucketLoader:
    """The stored bytes of one bucket, fetched for the wanted columns and located in a decoder."""

    def __init__(self, parts: FileParts, row_group: int, num_rows: int, plan: BucketPlan) -> None:
        self.plan = plan
        self._parts = parts
        self._row_group = row_group
        self.decoder = BucketDecoder(parts.catalog, plan.bucket, num_rows)
        self._whole: memoryview | None = None
        self._slots: dict[int, memoryview] = {}
        self._offsets: npt.NDArray[np.int64] | None = None
        # Physical columns whose pages are in the decoder; None until a first load.
        self._loaded: set[int] | None = None
        if plan.paged and not parts.compressed:
            raise CorruptFileError(
                "a paged bucket in a file without compression", structure=self._structure
            )

    @property
    def _structure(self) -> str:
        return f"row group {self._row_group}, bucket {self.plan.bucket}"

    def retarget(self, plan: BucketPlan) -> None:
        """Ask for other columns of the same bucket; what was loaded before stays."""
        self.plan = plan

    def first_ranges(self) -> list[tuple[int, int]]:
        """What the first round must fetch: the bucket, or the directory of a paged one."""
        plan = self.plan
        if plan.missing or self._loaded is not None:
            return []
        first, last = self._parts.catalog.bucket_range(plan.bucket)
        if not plan.paged or len(plan.positions) == last - first:
            return [(plan.offset, plan.compressed_size)]
        return [(plan.offset, min(self.decoder.directory_size(), plan.compressed_size))]

    def take_first(self, data: Sequence[memoryview]) -> list[tuple[int, int]]:
        """Take the first round's bytes; returns the slots that the second must fetch."""
        if self.plan.missing:
            self.decoder.load_missing()
            return []
        if data:
            self._take_start(data[0])
        return [
            (self.plan.offset + start, stop - start)
            for index, start, stop in self._wanted_slots()
            if index not in self._slots
        ]

    def _take_start(self, data: memoryview) -> None:
        self._whole = data
        if not self.plan.paged:
            return
        size = self.decoder.directory_size()
        if size > self.plan.compressed_size:
            raise CorruptFileError(
                f"a paged bucket of {self.plan.compressed_size} bytes is shorter than its "
                f"directory of {size}",
                structure=self._structure,
            )
        try:
            self._offsets = self.decoder.load_directory(data[:size], self.plan.compressed_size)
        except CorruptFileError as error:
            self._locate(error)
            raise
        if len(data) == self.plan.compressed_size:
            for index, start, stop in self._wanted_slots():
                self._slots[index] = data[start:stop]

    def take_slots(self, data: Sequence[memoryview]) -> None:
        """Take the second round's bytes."""
        wanted = [index for index, _, _ in self._wanted_slots() if index not in self._slots]
        self._slots.update(zip(wanted, data, strict=True))

    def _wanted_slots(self) -> list[tuple[int, int, int]]:
        """``(physical column, start, stop)`` of each slot still to be loaded."""
        slots: list[tuple[int, int, int]] = []
        if self._offsets is None:
            return slots
        for position in self.plan.positions:
            primary, first_child, last_child = self.decoder.physical_range(position)
            for index in (primary, *range(first_child, last_child)):
                start, stop = int(self._offsets[index]), int(self._offsets[index + 1])
                if stop > start and (self._loaded is None or index not in self._loaded):
                    slots.append((index, start, stop))
        return slots

    def slot_sizes(self) -> dict[int, int]:
        """Bytes on disk of the slots that were fetched, by physical column."""
        return {index: len(slot) for index, slot in self._slots.items()}

    def unprotected(self) -> int:
        """How many of the blocks that were fetched have no checksum."""
        if not self._parts.compressed:
            return 1
        if self._whole is not None and not self.plan.paged:
            return int(not has_checksum(self._whole))
        starts = {index: decode_varint(slot, "slot")[1] for index, slot in self._slots.items()}
        return sum(not has_checksum(self._slots[index][start:]) for index, start in starts.items())

    def load(self) -> None:
        """Decompress what was fetched and locate the columns in it."""
        try:
            self._load()
        except (CorruptFileError, LimitExceededError) as error:
            self._locate(error)
            raise

    def _load(self) -> None:
        if self._whole is not None and not self.plan.paged:
            raw = self._decompress_bucket()
            # The row count is not under the checksum; that the data fits it vouches for it.
            exact = self._parts.compressed and has_checksum(self._whole)
            self.decoder.load_monolithic(raw, exact)
        for index, slot in self._slots.items():
            self._load_slot(index, slot)
        self._loaded = (self._loaded or set()) | self._slots.keys()
        self._whole = None
        self._slots = {}

    def _decompress_bucket(self) -> bytes | memoryview:
        assert self._whole is not None
        if self._parts.compressed:
            return decompress(self._whole, self.plan.raw_size, "bucket", self._parts.limits)
        if len(self._whole) != self.plan.raw_size:
            raise CorruptFileError(
                f"an uncompressed bucket of {len(self._whole)} bytes declares a size of "
                f"{self.plan.raw_size}",
                structure=self._structure,
            )
        return self._whole

    def _load_slot(self, index: int, slot: memoryview) -> None:
        structure = f"{self._structure}, slot {index}"
        declared_size, start = decode_varint(slot, structure)
        page = decompress(slot[start:], declared_size, structure, self._parts.limits)
        self.decoder.load_page(index, page, has_checksum(slot[start:]))

    def release(self) -> None:
        """Let go of the bucket's bytes."""
        del self.decoder

    def decode(self, batch: BatchExport, output: OutputArena) -> None:
        """Decode the wanted columns into the batch."""
        try:
            self.decoder.decode(batch, self.plan.positions, self.plan.slots, output)
        except (CorruptFileError, LimitExceededError) as error:
            self._locate(error)
            raise

    def _locate(self, error: CorruptFileError | LimitExceededError) -> None:
        """Errors of the kernel know the page or bucket they are in, not which one that is."""
        if error.structure in (None, "row group", "bucket"):
            error.relocate(structure=self._structure)
        elif not error.structure.startswith(self._structure):
            error.relocate(structure=f"{self._structure}, {error.structure}")


class RowGroupReader:
    """Reads columns of one row group."""

    def __init__(
        self,
        parts: FileParts,
        row_group: int,
        use_threads: bool,
        table_budget: MemoryBudget | None = None,
    ) -> None:
        self._parts = parts
        self._row_group = row_group
        self._use_threads = use_threads
        self.num_rows: int = parts.index.row_count(row_group)
        self._budget = MemoryBudget(parts.limits.max_row_group_bytes, table_budget)
        self._kept: dict[int, BucketLoader] = {}

    def read(self, selection: Selection, keep_buckets: bool = False) -> pa.RecordBatch:
        """The selected columns, in the order of the selection.

        With ``keep_buckets`` a later call takes what it can from the buckets read here.
        """
        parts = self._parts
        positions = selection.positions
        plans = plan_row_group(parts.catalog, parts.index, self._row_group, positions)
        batch = BatchExport(parts.catalog, positions, self.num_rows)
        loaders = self.fetch(plans)
        if keep_buckets:
            self._kept = {loader.plan.bucket: loader for loader in loaders}

        arenas: dict[int, OutputArena] = {}

        def decode(run: Sequence[BucketLoader] | None) -> None:
            if run is None:
                # A wide schema takes Arrow a while: time to decode in, on other threads.
                selection.import_schema()
                return
            thread = get_ident()
            output = arenas.get(thread)
            if output is None:
                output = arenas[thread] = OutputArena(self._budget)
            for loader in run:
                loader.load()
                loader.decode(batch, output)
                if not keep_buckets:
                    loader.release()

        weights = [plan.compressed_size + 1 for plan in plans]
        parts_wanted = min(8 * num_threads(), 1 + sum(weights) // _WORTH_A_THREAD)
        runs = split_evenly(loaders, weights, parts_wanted)
        use_threads = self._use_threads and len(runs) > 1
        for _ in ordered_map(decode, [None, *runs], use_threads):
            pass
        return batch.import_into(pa.RecordBatch, selection.import_schema())

    def fetch(self, plans: Sequence[BucketPlan]) -> list[BucketLoader]:
        """Read the bytes of some buckets, in two rounds at most."""
        loaders = [self._loader(plan) for plan in plans]
        first = [loader.first_ranges() for loader in loaders]
        data = iter(self._parts.fetch([item for ranges in first for item in ranges]))
        second = [
            loader.take_first([next(data) for _ in ranges])
            for loader, ranges in zip(loaders, first, strict=True)
        ]
        if any(second):
            data = iter(self._parts.fetch([item for ranges in second for item in ranges]))
            for loader, ranges in zip(loaders, second, strict=True):
                loader.take_slots([next(data) for _ in ranges])
        return loaders

    def _loader(self, plan: BucketPlan) -> BucketLoader:
        loader = self._kept.get(plan.bucket)
        if loader is None:
            return BucketLoader(self._parts, self._row_group, self.num_rows, plan)
        loader.retarget(plan)
        return loader
