"""The files that are damaged: fixtures, the same with checksums, hand-made and forged ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pyarrow as pa

import pymosaic
from pymosaic.testing import illegal_files, legal_files
from tests.conformance.fixtures import DATA, FIXTURES
from tests.corruption.fields import Field, fields_of
from tests.writing import write

# Damage may make a file claim more rows than it has; there is no need to allocate for them.
LIMITS = pymosaic.Limits(
    max_row_group_bytes=64 << 20, max_table_bytes=128 << 20, max_block_bytes=64 << 20
)
Statistics = list[dict[str, pymosaic.ColumnStatistics]]


@dataclass(frozen=True)
class Contents:
    """What a file says: its rows, its statistics, and what the user wrote beside them."""

    table: pa.Table
    statistics: Statistics
    user: dict[str, str]


@dataclass(frozen=True)
class Specimen:
    """A file to damage."""

    name: str
    data: bytes

    def contents(self) -> Contents | None:
        """What it holds; None where it is refused."""
        try:
            with pymosaic.MosaicFile(self.data, limits=LIMITS) as file:
                return contents_of(file)
        except pymosaic.MosaicError:
            return None

    def fields(self) -> list[Field]:
        """Its fields, for a file that can be read; none where it is not quite legal."""
        try:
            return fields_of(self.data)
        except AssertionError:
            return []


def contents_of(file: pymosaic.MosaicFile) -> Contents:
    """Read everything."""
    table = file.read(use_threads=False)
    statistics = [file.statistics(i) for i in range(file.num_row_groups)]
    return Contents(table, statistics, file.metadata.user)


def _described(compression: str) -> Specimen:
    """A file whose annex has all sections of metadata."""
    kinds = pa.array(["b", "a", None, "b"]).dictionary_encode()
    schema = pa.schema(
        [
            pa.field("kind", kinds.type, metadata={"unit": "none"}),
            pa.field("n", pa.uint8(), metadata={"comment": "the number"}),
            pa.field("half", pa.float16()),
            pa.field("plain", pa.int32()),
        ],
        {"origin": "survey 7"},
    )
    n = pa.array([1, 2, None, 200], pa.uint8())
    half = pa.array([0.5, None, 1.5, -2.0], pa.float16())
    table = pa.table([kinds, n, half, pa.array([1, 2, 3, 4], pa.int32())], schema=schema)
    options = {"compression": compression, "statistics": ["n", "plain"], "num_buckets": 2}
    data = write(table.to_batches(), schema, metadata={"source": "a", "é": ""}, **options)
    return Specimen(f"with metadata, {compression}", data)


@cache
def specimens() -> tuple[Specimen, ...]:
    """All of them, always in the same order."""
    found = [
        Specimen(
            f"checksummed {fixture.name}",
            write(fixture.batches, fixture.table.schema, **fixture.options),
        )
        for fixture in FIXTURES
    ]
    found += [_described(compression) for compression in ("zstd", "none")]
    found += [
        Specimen(f"malformed {path.stem}", path.read_bytes())
        for path in sorted((DATA / "malformed").glob("*.mosaic"))
    ]
    found += [Specimen(f"legal: {file.name}", file.data) for file in legal_files()]
    # The deepest of them is 300 KB of one byte sequence: the same error at every offset.
    found += [
        Specimen(f"illegal: {file.name}", file.data)
        for file in illegal_files()
        if len(file.data) < 100_000
    ]
    found += [Specimen(f"fixture {fixture.name}", fixture.data) for fixture in FIXTURES]
    return tuple(found)
