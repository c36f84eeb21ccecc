"""Verification of one bucket of one row group: decodes all columns, and reports all faults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from pymosaic.arrow.statistics import make_statistics, order_key
from pymosaic.errors import CorruptFileError, LimitExceededError, UnsupportedFeatureError
from pymosaic.file.open_file import OpenFile
from pymosaic.file.plan import BucketPlan
from pymosaic.file.projection import Positions
from pymosaic.file.row_group_reader import BucketLoader, Selection
from pymosaic.file.verify.index import Statistic
from pymosaic.format.bucket import BucketPlace
from pymosaic.kernels.arrow_export import BatchExport, MemoryBudget, OutputArena

__all__ = ["REFUSALS", "BucketCheck", "BucketReport", "Note", "Refusal"]

# The reader's errors for faults in the file.
Refusal: TypeAlias = CorruptFileError | LimitExceededError | UnsupportedFeatureError
REFUSALS = (CorruptFileError, LimitExceededError, UnsupportedFeatureError)


@dataclass(frozen=True, slots=True)
class Note:
    """A fault in a bucket."""

    severity: Literal["error", "warning"]
    structure: str
    message: str
    column: str | None = None


@dataclass(slots=True)
class BucketReport:
    """The findings about a bucket."""

    row_group: int
    place: BucketPlace
    blocks: int = 0
    unprotected: int = 0
    notes: list[Note] = field(default_factory=list)

    @property
    def structure(self) -> str:
        """The name of the bucket in messages."""
        return f"row group {self.row_group}, bucket {self.place.bucket}"

    def refuse(self, error: Refusal, column: str | None = None) -> None:
        """Record an error of the reader."""
        message = error.reason
        if error.offset is not None:
            message += f" (at byte {error.offset} of its content)"
        structure = error.structure or self.structure
        if not structure.startswith(self.structure):
            structure = self.structure
        # After the point where a bucket breaks off, every column fails at that point.
        known = {(note.structure, note.message) for note in self.notes}
        if error.offset is None or (structure, message) not in known:
            self.notes.append(Note("error", structure, message, column))


class BucketCheck:
    """Checks buckets of one file; may be shared by several threads."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    def run(
        self,
        row_group: int,
        num_rows: int,
        place: BucketPlace,
        data: memoryview,
        statistics: list[Statistic],
    ) -> BucketReport:
        """Decode all columns of a bucket, and compare them with their statistics."""
        report = BucketReport(row_group, place)
        first, last = self._file.catalog.bucket_range(place.bucket)
        positions = np.arange(first, last)
        try:
            batch = self._decode(report, num_rows, positions, data)
        except REFUSALS as error:
            # Not all columns need be damaged: find out which.
            if place.layout == "monolithic":
                self._try_monolithic(report, num_rows, positions, data)
            else:
                self._try_slots(report, num_rows, positions, data)
            if not report.notes:
                report.refuse(error)
            return report
        for statistic in statistics:
            self._compare(report, num_rows, statistic, batch.column(statistic.position - first))
        return report

    def _decode(
        self, report: BucketReport, num_rows: int, positions: Positions, data: memoryview
    ) -> pa.RecordBatch:
        loader = self._loader(report, num_rows, positions, data)
        if not loader.plan.place.missing:
            report.unprotected = loader.unprotected()
            report.blocks = max(1, len(loader.slot_sizes()))
        loader.load()
        batch = self._batch(loader, num_rows, positions)
        if not loader.plan.place.missing and loader.decoder.unread_bytes():
            message = f"{loader.decoder.unread_bytes()} bytes after the data"
            report.notes.append(Note("warning", report.structure, message))
        return batch

    def _loader(
        self, report: BucketReport, num_rows: int, positions: Positions, data: memoryview
    ) -> BucketLoader:
        plan = _plan(report.place, positions)
        loader = BucketLoader(self._file, report.row_group, num_rows, plan)
        loader.take_first([] if plan.place.missing else [data])
        return loader

    def _batch(self, loader: BucketLoader, num_rows: int, positions: Positions) -> pa.RecordBatch:
        catalog = self._file.catalog
        batch = BatchExport(catalog, positions, num_rows)
        budget = MemoryBudget(self._file.limits.max_row_group_bytes)
        loader.decode(batch, OutputArena(budget))
        return batch.import_into(pa.RecordBatch, Selection(catalog, positions).import_schema())

    def _try_monolithic(
        self, report: BucketReport, num_rows: int, positions: Positions, data: memoryview
    ) -> None:
        """Decompress once, then decode column by column."""
        try:
            loader = self._loader(report, num_rows, positions, data)
            loader.load()
        except REFUSALS as error:
            report.refuse(error)
            return
        for position in positions:
            alone = np.array([position])
            loader.retarget(_plan(report.place, alone))
            try:
                self._batch(loader, num_rows, alone)
            except REFUSALS as error:
                report.refuse(error, self._file.catalog.name(int(position)))

    def _try_slots(
        self, report: BucketReport, num_rows: int, positions: Positions, data: memoryview
    ) -> None:
        """Load and decode column by column."""
        for position in positions:
            alone = np.array([position])
            name = None
            try:
                loader = self._loader(report, num_rows, alone, data)
                # Up to here the fault is in the bucket itself.
                name = self._file.catalog.name(int(position))
                loader.load()
                self._batch(loader, num_rows, alone)
            except REFUSALS as error:
                report.refuse(error, name)
                if name is None:
                    return

    def _compare(
        self, report: BucketReport, num_rows: int, statistic: Statistic, column: pa.Array
    ) -> None:
        """Compare a statistic with the values."""

        def note(severity: Literal["error", "warning"], message: str) -> None:
            name = self._file.catalog.name(statistic.position)
            report.notes.append(Note(severity, report.structure, message, name))

        if column.null_count != statistic.null_count:
            note(
                "error",
                f"statistics say {statistic.null_count} nulls, the data has {column.null_count}",
            )
            return
        try:
            stored = make_statistics(
                column.type, statistic.null_count, num_rows, statistic.minimum, statistic.maximum
            )
        except CorruptFileError:
            # Already reported with the index.
            return
        if stored.min_scalar is None or stored.max_scalar is None:
            return
        low, high = _extremes(column)
        stored_low, stored_high = order_key(stored.min_scalar), order_key(stored.max_scalar)
        if low is None or high is None:
            note("warning", "statistics have bounds, but the column has no values to bound")
        elif low < stored_low or high > stored_high:  # type: ignore[operator]
            note("error", "a value is outside the bounds of the statistics: filters would miss it")
        elif low != stored_low or high != stored_high:
            note("warning", "the bounds of the statistics are wider than the values")


def _extremes(
    column: pa.Array,
) -> tuple[int | float | bytes | None, int | float | bytes | None]:
    """Smallest and largest value as sort keys; None if there is none, or for NaN."""
    # Not imported with the package, because it is slow to import.
    import pyarrow.compute as pc

    if pa.types.is_temporal(column.type):
        # An unknown time zone does not affect the order.
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    found = pc.min_max(column)
    if not found["min"].is_valid:
        return None, None
    low, high = order_key(found["min"]), order_key(found["max"])
    return (None, None) if low != low or high != high else (low, high)


def _plan(place: BucketPlace, positions: Positions) -> BucketPlan:
    return BucketPlan(place, positions, np.arange(len(positions)))
