"""Many columns: small pages are read together, and are checked as if they were read alone."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.lance import LanceFile, write_table
from pymosaic.pages.blocks import FixedBlock
from pymosaic.pages.encodings import out_of_line_bitpacking
from pymosaic.pages.layouts import mini_block, page_groups
from tests.lance.test_reader import RecordingSource

ROWS = 300


def column(number: int) -> pa.Array:
    chance = np.random.default_rng(number)
    numbers = chance.integers(0, 1 << 20, ROWS)
    nulls = chance.random(ROWS) < 0.2
    kinds = [
        lambda: pa.array(numbers),
        lambda: pa.array(numbers.astype(np.int32), mask=nulls),
        lambda: pa.array(chance.standard_normal(ROWS), mask=nulls),
        lambda: pa.array([f"value {n % (3 + number)}" for n in numbers.tolist()], mask=nulls),
        lambda: pa.array([str(n) for n in numbers.tolist()], pa.large_string()),
        lambda: pa.array(nulls),
        lambda: pa.array(numbers, pa.timestamp("us", "UTC")),
        lambda: pa.array([Decimal(n).scaleb(-2) for n in numbers.tolist()], pa.decimal128(12, 2)),
        lambda: pa.array(numbers % (5 + number)).cast(pa.string()).dictionary_encode(),
        lambda: pa.StructArray.from_arrays(
            [pa.array(numbers), pa.array(nulls)], ["x", "y"], mask=pa.array(nulls)
        ),
        lambda: pa.array([[n] * (n % 3) for n in numbers.tolist()]),
        lambda: pa.nulls(ROWS, pa.int64()),
        lambda: pa.array([7] * ROWS),
    ]
    return kinds[number % len(kinds)]()


def wide_table(columns: int) -> pa.Table:
    return pa.table({f"c{number}": column(number) for number in range(columns)})


def written(table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    write_table(table, buffer, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("page_bytes", [1000, 8 << 20])
def test_columns_that_are_read_together_are_what_they_are_alone(page_bytes: int) -> None:
    table = wide_table(130)
    file = LanceFile(written(table, page_bytes=page_bytes))
    read = file.read()
    read.validate(full=True)
    assert read.equals(table)
    for name in table.column_names:
        assert file.read([name]).equals(table.select([name]))


def test_pages_that_are_alike_are_decoded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table(
        {f"n{number}": np.arange(ROWS) % (7 + number % 2) for number in range(100)}
        | {f"s{number}": [f"{i % (5 + number)}" for i in range(ROWS)] for number in range(20)}
    )
    data = written(table)
    groups = []

    def counted(layouts: Any, *arguments: Any) -> Any:
        groups.append(len(layouts))
        return read(layouts, *arguments)

    read = page_groups.read
    monkeypatch.setattr(page_groups, "read", counted)
    monkeypatch.setattr(mini_block, "read", None)
    assert LanceFile(data).read().equals(table)
    # Dictionaries of different sizes do not keep pages apart.
    assert sorted(groups) == [20, 100]


def test_levels_that_one_page_lacks_and_another_has_too_many_of_are_refused() -> None:
    values = pa.array([None, 1] * (ROWS // 2), pa.int32())
    data = bytearray(written(pa.table({"a": values, "b": values})))
    file = LanceFile(bytes(data))
    for name, levels in (("a", ROWS - 1), ("b", ROWS + 1)):
        chunk = file.pages(name)[0].buffer_offsets[1]
        assert int.from_bytes(data[chunk : chunk + 2], "little") == ROWS
        data[chunk : chunk + 2] = levels.to_bytes(2, "little")
    with pytest.raises(pymosaic.CorruptFileError):
        LanceFile(bytes(data)).read()


def test_an_index_into_the_dictionary_of_the_next_column_is_refused() -> None:
    values = pa.array([f"item {i % 3}" for i in range(ROWS)])
    table = pa.table({"a": values, "b": values})
    data = bytearray(written(table, encodings={"a": "dictionary", "b": "dictionary"}))
    page = LanceFile(bytes(data)).pages("a")[0]
    assert page.layout.num_dictionary_items == 3  # type: ignore[union-attr]
    # A header of 8 bytes, a width of 4, then indices of two bits each: all become 3.
    packed = page.buffer_offsets[1] + 8 + 4
    data[packed : packed + 256] = b"\xff" * 256
    for columns in (["a"], ["a", "b"]):
        with pytest.raises(pymosaic.CorruptFileError):
            LanceFile(bytes(data)).read(columns)
    assert LanceFile(bytes(data)).read(["b"]).equals(table.select(["b"]))


def test_pages_that_are_read_together_are_charged_to_the_table() -> None:
    table = wide_table(100)
    data = written(table)
    with pytest.raises(pymosaic.LimitExceededError, match="max_table_bytes"):
        LanceFile(data, limits=pymosaic.Limits(max_table_bytes=table.nbytes // 2)).read()
    # The cap on a page holds for each of them, not for all together.
    limits = pymosaic.Limits(max_row_group_bytes=64 << 10)
    assert LanceFile(data, limits=limits).read().equals(table)


def test_metadata_of_many_columns_is_read_at_once() -> None:
    table = pa.table({f"n{number}": range(10) for number in range(500)})
    source = RecordingSource(written(table))
    file = LanceFile(source)
    source.reads.clear()
    source.merge_gap = 1 << 20
    assert file.read().equals(table)
    assert len(source.reads) == 2


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_give_the_same_columns(threads: int) -> None:
    numbers = np.random.default_rng(1).integers(0, 1 << 40, 200_000)
    table = pa.table({"n": numbers, "s": pa.array(numbers % 1000).cast(pa.string()), "m": -numbers})
    data = written(table, page_bytes=400_000)
    before = pa.cpu_count()
    pa.set_cpu_count(threads)
    try:
        assert LanceFile(data).read().equals(table)
    finally:
        pa.set_cpu_count(before)


def lists_in_pages() -> tuple[pa.Table, bytes]:
    """Lists of one or no item, in two pages that are read together."""
    table = pa.table({"l": [[i] if i % 4 else [] for i in range(2 * ROWS)]})
    data = written(table, page_bytes=-(-table.nbytes // 2), encodings={"l": "plain"})
    first, second = LanceFile(data).pages("l")
    assert first.kind == second.kind != 0
    return table, data


def test_pages_of_lists_are_decoded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table, data = lists_in_pages()
    monkeypatch.setattr(mini_block, "read", None)
    read = LanceFile(data).read()
    assert read.equals(table)
    assert read["l"].num_chunks == 2


# Items whose level is flipped in each page, of repetition (0) or definition (1).
DAMAGE = {
    "a row of the second page began in the first": (0, [], [0]),
    "the second page lacks a row": (0, [], [5]),
    "values": (1, [5], [4]),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_pages_of_lists_that_are_read_together_are_checked_one_by_one(case: str) -> None:
    _, content = lists_in_pages()
    data = bytearray(content)
    kind, *flips = DAMAGE[case]
    for page, items in zip(LanceFile(content).pages("l"), flips, strict=True):
        chunk = page.buffer_offsets[1]
        num_levels, size = np.frombuffer(content, "<u2", 2, chunk).tolist()
        start = chunk + 8 + kind * (-(-size // 8) * 8)
        rows = page.first_row + np.arange(num_levels)
        levels = np.ones(num_levels, np.uint16) if kind == 0 else (rows % 4 == 0).astype("<u2")
        assert data[start : start + size] == packed(levels)
        levels[items] ^= 1
        data[start : start + size] = packed(levels)
    with pytest.raises(pymosaic.CorruptFileError):
        LanceFile(bytes(data)).read()


def test_a_row_more_in_one_page_of_lists_and_less_in_the_other_is_refused() -> None:
    _, data = lists_in_pages()
    length, less, more = (b"\x18" + varint(ROWS + n) for n in (0, -1, 1))
    assert data.count(length) == 2
    data = data.replace(length, less, 1).replace(length, more, 1)
    assert LanceFile(data).num_rows == 2 * ROWS
    with pytest.raises(pymosaic.CorruptFileError, match=f"{ROWS} rows, not {ROWS - 1}"):
        LanceFile(data).read()


def varint(number: int) -> bytes:
    return bytes([number & 0x7F | 0x80, number >> 7])


def packed(levels: np.ndarray) -> bytes:
    block = FixedBlock(16, len(levels), levels.view(np.uint8))
    counts = np.array([len(levels)])
    return out_of_line_bitpacking.encode_chunks(block, counts, 1).buffers[0].data.tobytes()
