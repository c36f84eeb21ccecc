"""The annex of a file: found and checked when the file is opened, and written.

Damage to a single structure never makes an annex disappear. Its trailer is found through the
footer, its head through the index; a file in which only one of them is there is refused. A trailer
whose own checksum is right counts whatever else the file says. What looks like a trailer, but has a
wrong checksum, may be the last bytes of a bucket; the index tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakValueDictionary
from zlib import crc32

from pymosaic.errors import CorruptFileError, LimitExceededError, UnsupportedFeatureError
from pymosaic.file.tail import Tail, check_size
from pymosaic.format import annex as annex_format
from pymosaic.format.annex import Integrity, Section, SectionType, Trailer
from pymosaic.format.footer import FOOTER_SIZE
from pymosaic.io import Source
from pymosaic.limits import Limits

__all__ = [
    "MISMATCH",
    "Annex",
    "KeptMetadata",
    "check_absent",
    "check_place",
    "check_tail",
    "damaged_structures",
    "read_annex",
]

MISMATCH = "does not match its checksum in the annex"
_STRUCTURE = "annex"
_CHECKSUM_SIZE = 4
# How much is searched for what is left of an annex, from either end.
_SEARCHED_BYTES = 64 << 10


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class KeptMetadata:
    """Sections of metadata in memory: bodies by type. Files with equal ones share an object."""

    bodies: tuple[tuple[int, bytes], ...]

    @property
    def num_bytes(self) -> int:
        """Size of the bodies."""
        return sum(len(body) for _, body in self.bodies)


_kept_metadata: WeakValueDictionary[tuple[tuple[int, bytes], ...], KeptMetadata] = (
    WeakValueDictionary()
)
_SCHEMA_SECTIONS = (SectionType.KEY_VALUES, SectionType.FIELDS)
_KEPT = (SectionType.KEY_VALUES, SectionType.FIELDS, SectionType.FIELD_DIRECTORY)


class Annex(NamedTuple):
    """The annex of an open file.

    Parameters
    ----------
    start, stop : int
        Its place in the file; it ends where the schema block starts.
    sections : tuple of Section
    integrity : Integrity or None
        Checksums of the other structures.
    kept : KeptMetadata or None
        What the file tells of its Arrow schema, except dictionaries, if it was to be kept.
    bucket_checksums : memoryview or None
        Those of all buckets, as they are stored.
    num_buckets : int
        Number of buckets of a row group.
    """

    start: int
    stop: int
    sections: tuple[Section, ...]
    integrity: Integrity | None
    kept: KeptMetadata | None
    bucket_checksums: memoryview | None
    num_buckets: int

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.stop - self.start

    @property
    def has_bucket_checksums(self) -> bool:
        """Whether each bucket has a checksum here, as in files without compression."""
        return self.bucket_checksums is not None

    def bucket_checksum(self, row_group: int, bucket: int) -> int | None:
        """The checksum of a bucket, if it has one here."""
        if self.bucket_checksums is None:
            return None
        at = (row_group * self.num_buckets + bucket) * _CHECKSUM_SIZE
        return int.from_bytes(self.bucket_checksums[at : at + _CHECKSUM_SIZE], "big")

    def check_bucket(self, row_group: int, bucket: int, data: memoryview) -> bool:
        """Compare the bytes of a bucket with its checksum; whether it has one."""
        expected = self.bucket_checksum(row_group, bucket)
        if expected is None:
            return False
        if crc32(data) != expected:
            raise CorruptFileError(MISMATCH, structure="bucket")
        return True

    def section(self, kind: SectionType) -> Section | None:
        """The section of a type, or None."""
        return _find(self.sections, kind)

    @property
    def describes_schema(self) -> bool:
        """Whether it has anything of the Arrow schema as it was written."""
        for section in self.sections:  # noqa: SIM110  (one generator less for each file)
            if section.kind in _SCHEMA_SECTIONS:
                return True
        return False


def read_annex(
    tail: Tail, source: Source, limits: Limits, *, keeps_metadata: bool = False
) -> Annex | CorruptFileError | None:
    """The annex that ends before the schema block, parsed but for sections of metadata.

    With ``keeps_metadata``, the bytes of these sections are kept.

    Returns
    -------
    Annex, CorruptFileError or None
        An error if there seems to be a trailer but its checksum is wrong: the bytes may belong to a
        bucket. None if there is no trailer.
    """
    footer = tail.footer
    trailer = Trailer.parse(tail.before_schema)
    if trailer is None:
        return None
    stop = footer.schema_offset
    if trailer.closing_size > stop:
        return CorruptFileError("its table does not fit in the file", structure=_STRUCTURE)
    closing = _bytes(tail, source, stop - trailer.closing_size, stop)
    try:
        sections = annex_format.parse_table(trailer, closing, stop)
    except CorruptFileError as error:
        return error
    for section in sections:
        if section.required and section.kind not in SectionType.__members__.values():
            raise UnsupportedFeatureError(
                f"a required section of unknown type {section.kind}", structure=_STRUCTURE
            )
    checksums = _bucket_checksums(tail, source, sections, limits)
    found = _find(sections, SectionType.INTEGRITY)
    integrity = None if found is None else Integrity.parse(_body(tail, source, found))
    start = stop - trailer.length
    kept = _kept(tail, source, sections, limits) if keeps_metadata else None
    return Annex(start, stop, sections, integrity, kept, checksums, footer.num_buckets)


def _kept(
    tail: Tail, source: Source, sections: tuple[Section, ...], limits: Limits
) -> KeptMetadata | None:
    bodies = []
    for kind in _KEPT:
        section = _find(sections, kind)
        if section is not None:
            check_size(_STRUCTURE, section.size, limits)
            bodies.append((int(kind), bytes(_body(tail, source, section))))
    if not bodies:
        return None
    made = KeptMetadata(tuple(bodies))
    return _kept_metadata.setdefault(made.bodies, made)


def _find(sections: tuple[Section, ...], kind: SectionType) -> Section | None:
    found = [section for section in sections if section.kind == kind]
    if len(found) > 1:
        raise CorruptFileError(f"two sections of type {kind.value}", structure=_STRUCTURE)
    return found[0] if found else None


def _bucket_checksums(
    tail: Tail, source: Source, sections: tuple[Section, ...], limits: Limits
) -> memoryview | None:
    section = _find(sections, SectionType.BUCKET_CHECKSUMS)
    if section is None:
        return None
    footer = tail.footer
    expected = footer.num_row_groups * footer.num_buckets * _CHECKSUM_SIZE
    if section.size != expected:
        raise CorruptFileError(
            f"{section.size} bytes of bucket checksums; {footer.num_row_groups} row groups of "
            f"{footer.num_buckets} buckets need {expected}",
            structure=_STRUCTURE,
        )
    if section.size > limits.max_index_bytes:
        raise LimitExceededError(
            f"{section.size} bytes exceed Limits.max_index_bytes ({limits.max_index_bytes})",
            structure=_STRUCTURE,
        )
    # Kept apart from the tail, which may be dropped.
    return memoryview(bytes(_body(tail, source, section)))


def _body(tail: Tail, source: Source, section: Section) -> memoryview:
    body = _bytes(tail, source, section.start, section.stop)
    annex_format.check_body(section, body)
    return body


def _bytes(tail: Tail, source: Source, start: int, stop: int) -> memoryview:
    """Bytes before the schema block, from memory if they are there."""
    if start >= tail.start:
        return tail.data[start - tail.start : stop - tail.start]
    return memoryview(source.read(start, stop - start))


def damaged_structures(integrity: Integrity, tail: Tail) -> list[str]:
    """Which of schema block, index and footer do not match their checksums."""
    compared = (
        ("footer", tail.data[-FOOTER_SIZE:], integrity.footer),
        ("row group index", tail.row_group_index, integrity.row_group_index),
        ("schema block", tail.schema_block, integrity.schema_block),
    )
    return [structure for structure, data, expected in compared if crc32(data) != expected]


def check_tail(annex: Annex, tail: Tail) -> None:
    """Compare schema block, index and footer with their checksums, if there are any."""
    if annex.integrity is not None:
        for structure in damaged_structures(annex.integrity, tail):
            raise CorruptFileError(MISMATCH, structure=structure)


def check_place(annex: Annex, data_stop: int) -> None:
    """Check that the annex starts after the last bucket, which ends at ``data_stop``."""
    if annex.start < data_stop:
        raise CorruptFileError(
            f"starts at byte {annex.start}, before the last bucket ends at {data_stop}",
            structure=_STRUCTURE,
        )


def check_absent(
    doubt: CorruptFileError | None, tail: Tail, source: Source, data_stop: int
) -> None:
    """Refuse a file that has lost its annex; ``data_stop`` is the end of the last bucket.

    ``doubt`` is the error of what may be a damaged trailer.
    """
    schema_offset = tail.footer.schema_offset
    if data_stop >= schema_offset:
        return
    if doubt is not None:
        raise doubt
    # No known writer leaves bytes here. What is left of an annex may have been moved, or may have
    # both ends damaged.
    for start, stop in (
        (data_stop, min(data_stop + _SEARCHED_BYTES, schema_offset)),
        (max(data_stop, schema_offset - _SEARCHED_BYTES), schema_offset),
    ):
        unknown = bytes(_bytes(tail, source, start, stop))
        if annex_format.HEAD_MAGIC in unknown or annex_format.TRAILER_MAGIC in unknown:
            raise CorruptFileError(
                f"parts of an annex lie after byte {data_stop}, but none ends before the schema "
                "block",
                structure=_STRUCTURE,
            )
    first_stop = min(data_stop + annex_format.HEAD_SIZE, schema_offset)
    last_start = max(data_stop, schema_offset - annex_format.TRAILER_SIZE)
    first = bytes(_bytes(tail, source, data_stop, first_stop))
    last = bytes(_bytes(tail, source, last_start, schema_offset))
    if annex_format.resembles(first, last, schema_offset - data_stop):
        raise CorruptFileError(
            f"the bytes from {data_stop} on look like an annex that is damaged",
            structure=_STRUCTURE,
        )
