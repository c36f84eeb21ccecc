"""Files with an annex: whatever single bit flips, the data is right or the file is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.format.footer import FOOTER_SIZE
from pymosaic.testing.annex import with_annex, without_annex
from pymosaic.testing.pieces import INTEGER, entry, forge, numbers, row_group, schema
from tests.corruption.corpus import LIMITS
from tests.corruption.mutations import flip
from tests.property.reference import reference_table
from tests.writing import written

TABLE = pa.table({"age": [31, 52, 7, None], "name": ["Ann", "Bo", None, "Cy"]})
FILTERS = [[("age", ">", 50)], [("age", "<", 10)], [("name", "==", "Cy")], [("age", "is null")]]


def answers(data: bytes) -> Iterator[object]:
    """Everything that a file can be asked; stops at the first error."""
    with pymosaic.MosaicFile(data, limits=LIMITS) as file:
        yield file.num_rows
        yield repr([file.statistics(i) for i in range(file.num_row_groups)])
        yield file.schema
        yield file.schema.to_string(truncate_metadata=False, show_field_metadata=True)
        yield file.metadata.user
        questions: list[dict[str, Any]] = [{}, *({"filters": x} for x in FILTERS)]
        questions += [{"columns": [name]} for name in file.column_names]
    for question in questions:
        # Each alone: a projection may be wrong where reading everything fails.
        yield lambda question=question: pymosaic.read_table(data, limits=LIMITS, **question)


def outcomes(data: bytes) -> list[object]:
    found: list[object] = []
    try:
        found += answers(data)
    except pymosaic.MosaicError:
        return ["refused"]
    results: list[object] = []
    for answer in found:
        try:
            results.append(answer() if callable(answer) else answer)
        except pymosaic.MosaicError:
            results.append("refused")
    return results


FILES: dict[str, dict[str, Any]] = {
    "monolithic": {"num_buckets": 2, "statistics": True},
    "paged": {"num_buckets": 2, "statistics": True, "page_size_threshold": 0},
    "uncompressed": {"num_buckets": 2, "statistics": True, "compression": "none"},
    "one bucket": {"num_buckets": 1, "statistics": True, "compression": "none"},
}


@pytest.mark.parametrize("rows", [4, 0], ids=["rows", "no rows"])
@pytest.mark.parametrize("name", FILES)
def test_no_flipped_bit_changes_an_answer(name: str, rows: int) -> None:
    data = written(TABLE.slice(0, rows), **FILES[name])
    expected = outcomes(data)
    assert "refused" not in expected
    assert pymosaic.verify(data) == []
    unnoticed = 0
    for position in range(8 * len(data)):
        damaged = flip(data, position).data
        found = outcomes(damaged)
        if found != ["refused"]:
            for answer, right in zip(found, expected, strict=True):
                assert answer in ("refused", right), f"bit {position}"
            unnoticed += found == expected
        errors = [x for x in pymosaic.verify(damaged, limits=LIMITS) if x.severity == "error"]
        assert errors, f"bit {position} is not noticed by verify"
    # The head, which only says where a lost annex was, and bits of zstd that mean nothing.
    assert unnoticed <= 64 + 8


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_no_flipped_bit_changes_metadata_or_types(compression: str) -> None:
    kinds = pa.array(["b", "a", None]).dictionary_encode()
    fields = [pa.field("age", pa.uint8(), metadata={"unit": "year"}), pa.field("name", kinds.type)]
    schema = pa.schema(fields, {"origin": "here"})
    table = pa.table([pa.array([31, None, 52], pa.uint8()), kinds], schema)
    data = written(table, compression=compression, metadata={"by": "me"}, statistics=True)
    expected = outcomes(data)
    assert table in expected
    assert {"by": "me"} in expected
    for byte in range(len(data)):
        # The other bits of a checksummed byte are as good as this one.
        found = outcomes(flip(data, 8 * byte + byte % 8).data)
        if found != ["refused"]:
            for answer, right in zip(found, expected, strict=True):
                assert answer in ("refused", right), f"byte {byte}"


class TestWithoutAnnex:
    """No checksum covers statistics: no row may depend on them, unless they are trusted."""

    DATA = without_annex(written(TABLE, **FILES["monolithic"]))

    def wrong(self, ask: Callable[[bytes], object]) -> int:
        """How many flipped bits give another answer."""
        expected = ask(self.DATA)
        count = 0
        start = pymosaic.read_metadata(self.DATA).index_offset
        for position in range(8 * start, 8 * (len(self.DATA) - FOOTER_SIZE)):
            data = flip(self.DATA, position).data
            with suppress(pymosaic.MosaicError):
                count += ask(data) != expected
        return count

    @pytest.mark.parametrize("filters", FILTERS)
    def test_statistics_do_not_choose_rows(self, filters: Any) -> None:
        assert not self.wrong(lambda x: pymosaic.read_table(x, filters=filters, limits=LIMITS))

    def test_statistics_that_are_trusted_may_lie(self) -> None:
        filters = [("age", ">", 50)]
        options: dict[str, Any] = {"trust_statistics": True, "limits": LIMITS}
        assert self.wrong(lambda x: pymosaic.read_table(x, filters=filters, **options))

    @pytest.mark.parametrize("trusted", [False, True])
    def test_of_a_dataset(self, trusted: bool, tmp_path: Path) -> None:
        path = tmp_path / "a.mosaic"

        def ask(data: bytes) -> object:
            path.write_bytes(data)
            files = pymosaic.dataset(path, limits=LIMITS, trust_statistics=trusted)
            scan = files.scan(["name"], filters=[("age", ">", 50)])
            return scan.to_table(), scan.count_rows()

        assert bool(self.wrong(ask)) == trusted

    def test_tell_no_minimum(self, tmp_path: Path) -> None:
        path = tmp_path / "a.mosaic"
        path.write_bytes(self.DATA)
        for trusted, known in ((False, None), (True, 52)):
            summary = pymosaic.dataset(path, trust_statistics=trusted).scan(["age"]).summary()
            assert summary is not None
            age = summary.columns["age"]
            found = None if age is None or age.max_scalar is None else age.max_scalar.as_py()
            assert found == known


@pytest.mark.parametrize("bucket_size", [56, 40])
def test_a_bucket_cannot_be_moved_over_the_annex(bucket_size: int) -> None:
    """A flipped offset that makes a bucket of just the annex, and so leaves no gap for one."""
    values = bytes([0, 0]) + numbers(*range((64 - 2) // 4 - 1)) + bytes(2)
    raw = values[:bucket_size]
    content = schema(("a", INTEGER))
    rows = (bucket_size - 2) // 4
    filler = bytes(64 - bucket_size)
    index = row_group(rows, entry(0, 0, len(raw), len(raw)))
    data = with_annex(forge(raw + filler, content, index))
    assert pymosaic.read_table(data).num_rows == rows
    index_offset = int.from_bytes(data[-32:-24], "big")
    for position in range(8 * index_offset, 8 * (index_offset + len(index))):
        with pytest.raises(pymosaic.MosaicError):
            pymosaic.read_table(flip(data, position).data, limits=LIMITS)


@pytest.mark.parametrize("distance", [-13, -1, 1, 13])
def test_an_annex_that_was_moved_is_noticed(distance: int) -> None:
    data = written(TABLE, compression="none", num_buckets=1)
    stop = int.from_bytes(data[-24:-16], "big")
    start = stop - pymosaic.read_metadata(data).annex_size
    moved = bytearray(data)
    moved[start + distance : stop + distance] = data[start:stop]
    with pytest.raises(pymosaic.CorruptFileError):
        pymosaic.read_table(bytes(moved))


def test_an_annex_that_is_damaged_at_both_ends_is_noticed() -> None:
    data = written(TABLE, compression="none", num_buckets=1)
    stop = int.from_bytes(data[-24:-16], "big")
    start = stop - pymosaic.read_metadata(data).annex_size
    for damaged in ([0, -1], [1, 2, 5, 7, -2, -4, -6, -8, -20], [*range(8), *range(-20, -3)]):
        changed = bytearray(data)
        for place in damaged:
            changed[place + (stop if place < 0 else start)] ^= 0x15
        changed[8] ^= 1
        with pytest.raises(pymosaic.CorruptFileError, match="look like an annex"):
            pymosaic.read_table(bytes(changed))
        assert any("annex" in str(finding) for finding in pymosaic.verify(bytes(changed)))


def test_bytes_of_others_before_the_schema_block_are_skipped() -> None:
    rows = row_group(1, entry(0, 0, 6, 6))
    for unknown in (bytes(1), bytes(8), b"x" * 76, b"Anne", bytes(range(256)) * 4):
        data = forge(bytes([0, 0]) + numbers(7) + unknown, schema(("a", INTEGER)), rows)
        assert pymosaic.read_table(data).to_pydict() == {"a": [7]}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("rows", [4, 0], ids=["rows", "no rows"])
def test_the_reference_reads_it(name: str, rows: int) -> None:
    table = TABLE.slice(0, rows)
    data = written(table, **FILES[name])
    assert pymosaic.read_metadata(data).annex_size > 0
    assert reference_table(data).equals(table)


def test_the_reference_reads_files_without_columns() -> None:
    for compression in ("zstd", "none"):
        data = written(pa.table({}), compression=compression)
        assert pymosaic.read_metadata(data).guarded
        assert reference_table(data).num_columns == 0


class TestSeveralRowGroups:
    TABLE = pa.table({f"c{i}": range(i, i + 40) for i in range(7)})

    def file(self, compression: str) -> bytes:
        batches = self.TABLE.to_batches(max_chunksize=10)
        options: dict[str, Any] = {"row_group_bytes": 1, "num_buckets": 3}
        return written(pa.Table.from_batches(batches), compression=compression, **options)

    @pytest.mark.parametrize("compression", ["zstd", "none"])
    def test_are_read_by_both(self, compression: str) -> None:
        data = self.file(compression)
        assert pymosaic.read_metadata(data).num_row_groups == 4
        assert pymosaic.verify(data) == []
        assert pymosaic.read_table(data).equals(self.TABLE)
        assert reference_table(data).equals(self.TABLE)

    def test_uncompressed_buckets_cannot_be_exchanged(self) -> None:
        data = self.file("none")
        metadata = pymosaic.read_metadata(data)
        one, other = (metadata.row_group(i).bucket(1) for i in (0, 2))
        assert one.compressed_size == other.compressed_size
        swapped = bytearray(data)
        size = one.compressed_size
        swapped[one.offset : one.offset + size] = data[other.offset : other.offset + size]
        with pytest.raises(pymosaic.CorruptFileError, match="row group 0, bucket 1: does not"):
            pymosaic.read_table(bytes(swapped))

    def test_verify_notices_exchanged_frames(self) -> None:
        data = self.file("zstd")
        metadata = pymosaic.read_metadata(data)
        one, other = (metadata.row_group(i).bucket(1) for i in (1, 2))
        assert one.compressed_size == other.compressed_size
        swapped = bytearray(data)
        size = one.compressed_size
        swapped[one.offset : one.offset + size] = data[other.offset : other.offset + size]
        (finding,) = pymosaic.verify(bytes(swapped))
        assert "common checksum" in finding.message
