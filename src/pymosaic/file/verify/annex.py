"""Verification of the annex, and of what it says about the rest of the file."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Literal, TypeAlias
from zlib import crc32

from pymosaic.errors import CorruptFileError, LimitExceededError
from pymosaic.file.guard import (
    MISMATCH,
    Annex,
    check_absent,
    check_place,
    damaged_structures,
    read_annex,
)
from pymosaic.file.tail import Tail, tail_of
from pymosaic.file.verify.bucket import REFUSALS, Refusal
from pymosaic.format import annex as annex_format
from pymosaic.format.annex import Integrity
from pymosaic.format.footer import FOOTER_SIZE, Footer
from pymosaic.io import Source
from pymosaic.limits import Limits

__all__ = ["AnnexCheck", "DataChecksum"]

# Called with severity, structure, message and offset.
Report: TypeAlias = Callable[[Literal["error", "info"], str, str, int], None]
_READ_BYTES = 8 << 20
_STRUCTURE = "annex"


@dataclass(slots=True)
class DataChecksum:
    """The checksum of all buckets, computed while they are verified one by one."""

    start: int | None = None
    stop: int = 0
    value: int = 0
    in_order: bool = True

    def add(self, offset: int, data: memoryview) -> None:
        """Add a bucket; the checksum is lost if it does not start where the last one ended."""
        if self.start is None:
            self.start = self.stop = offset
        if offset != self.stop:
            self.in_order = False
        self.stop += len(data)
        self.value = crc32(data, self.value)


@dataclass(slots=True)
class AnnexCheck:
    """Checks the annex of a file; a file without one is reported as info."""

    source: Source
    limits: Limits
    report: Report
    annex: Annex | None = None
    _tail: Tail | None = None
    _doubt: CorruptFileError | None = None
    _refused: bool = False

    def open(self, footer: Footer) -> Tail | None:
        """Find the annex and check its parts; returns the end of the file, if it is not too large.

        Faults of the other structures are reported with them.
        """
        try:
            tail = self._tail = tail_of(self.source, footer, self.limits)
        except LimitExceededError:
            return None
        try:
            found = read_annex(tail, self.source, self.limits)
        except REFUSALS as error:
            self._refuse(error, footer.schema_offset)
            return tail
        if isinstance(found, CorruptFileError):
            self._doubt = found
        elif found is not None:
            self.annex = found
            self._check_parts(found)
        return tail

    @property
    def guards_tail(self) -> bool:
        """Whether schema block, index and footer have checksums."""
        return self.annex is not None and self.annex.integrity is not None

    def _refuse(self, error: Refusal, offset: int) -> None:
        self._refused = True
        self.report("error", _STRUCTURE, error.reason, offset)

    def _check_parts(self, annex: Annex) -> None:
        head = self.source.read(annex.start, annex_format.HEAD_SIZE)
        if head != annex_format.emit_head(annex.size):
            self.report("error", _STRUCTURE, "its head is damaged", annex.start)
        for section in annex.sections:
            try:
                annex_format.check_body(section, self.source.read(section.start, section.size))
            except CorruptFileError as error:
                self.report("error", _STRUCTURE, error.reason, section.start)

    def compare_tail(self, known: Container[str]) -> None:
        """Compare schema block, index and footer with their checksums, unless known to be bad."""
        tail, annex = self._tail, self.annex
        if tail is None or annex is None or annex.integrity is None:
            return
        offsets = {
            "schema block": tail.footer.schema_offset,
            "row group index": tail.footer.index_offset,
            "footer": self.source.size - FOOTER_SIZE,
        }
        for structure in damaged_structures(annex.integrity, tail):
            if structure not in known:
                self.report("error", structure, MISMATCH, offsets[structure])

    def finish(self, data_start: int, data_stop: int, data: DataChecksum | None) -> None:
        """Check what needs the places of buckets, and their bytes unless ``data`` is None."""
        tail, annex = self._tail, self.annex
        if tail is None or self._refused:
            return
        try:
            if annex is None:
                check_absent(self._doubt, tail, self.source, data_stop)
            else:
                check_place(annex, data_stop)
        except CorruptFileError as error:
            self._refuse(error, data_stop)
            return
        if annex is None or annex.integrity is None:
            unguarded = self.source.size - tail.footer.index_offset
            self.report(
                "info",
                "file",
                f"no checksum covers the {unguarded} bytes of index and footer: damage to row "
                "counts and statistics can go unnoticed",
                tail.footer.index_offset,
            )
        elif data is not None:
            self._compare_data(annex, annex.integrity, data_start, data)

    def _compare_data(
        self, annex: Annex, integrity: Integrity, data_start: int, data: DataChecksum
    ) -> None:
        if data.in_order and data.stop == annex.start:
            value = data.value
        else:
            value = 0
            start = data_start if data.start is not None else annex.start
            for offset in range(start, annex.start, _READ_BYTES):
                size = min(_READ_BYTES, annex.start - offset)
                value = crc32(self.source.read(offset, size), value)
        if value != integrity.data:
            message = "the buckets do not match their common checksum in the annex"
            self.report("error", "file", message, data_start)
