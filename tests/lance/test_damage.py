"""Damaged Lance files: an error of ours or valid data, never a crash, whatever bit is wrong."""

from __future__ import annotations

import io
import random
import struct
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.lance import LanceFile, write_table
from pymosaic.lance.container import FieldMessage
from pymosaic.pages.messages import (
    AllNullLayout,
    BufferCompression,
    CompressionScheme,
    FieldEncoding,
    Flat,
    FullZipLayout,
    General,
    Layer,
    MiniBlockLayout,
    VariablePackedStruct,
)
from tests.lance.forge import forge_file
from tests.lance.golden_files import NAMES, golden_bytes

# Damage may make a file claim more than it has; there is no need to allocate for it.
LIMITS = pymosaic.Limits(max_row_group_bytes=64 << 20)


def read_everything(data: bytes) -> bool:
    """Read in all ways; whether it went through."""
    try:
        with LanceFile(data, limits=LIMITS) as file:
            tables = [file.read()]
            if file.num_rows:
                tables.append(file.take([0, file.num_rows // 2, file.num_rows - 1]))
                tables.append(pa.Table.from_batches([next(file.iter_batches())]))
    except pymosaic.MosaicError:
        return False
    for table in tables:
        table.validate(full=True)
    return True


@pytest.mark.parametrize("name", NAMES)
def test_flipped_bits_are_an_error_or_give_valid_data(name: str) -> None:
    data = golden_bytes(name)
    chance = random.Random(name)
    assert read_everything(data)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 1, 2, 5])):
            # The tail holds the descriptions that steer the reader.
            start = chance.choice([0, max(0, len(data) - 600), max(0, len(data) - 40)])
            position = chance.randrange(start, len(data))
            damaged[position] ^= 1 << chance.randrange(8)
        read_everything(bytes(damaged))


@pytest.mark.parametrize("name", NAMES)
def test_overwritten_bytes_are_an_error_or_give_valid_data(name: str) -> None:
    data = golden_bytes(name)
    chance = random.Random(f"bytes {name}")
    for _ in range(40):
        damaged = bytearray(data)
        start = chance.choice([0, max(0, len(data) - 600)])
        position = chance.randrange(start, len(data))
        length = chance.choice([1, 2, 4, 8])
        damaged[position : position + length] = (
            bytes([chance.choice([0, 0x7F, 0x80, 0xFF])]) * length
        )
        read_everything(bytes(damaged))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_cut_off_anywhere_is_refused(name: str) -> None:
    data = golden_bytes(name)
    for length in range(0, len(data), max(1, len(data) // 25)):
        with pytest.raises(pymosaic.MosaicError):
            LanceFile(data[:length], limits=LIMITS)


@pytest.mark.parametrize("name", ["blobs", "list_of_struct_0_1500", "long_text", "no_rows"])
def test_every_bit_of_the_footer_matters_or_does_no_harm(name: str) -> None:
    data = golden_bytes(name)
    for bit in range(8 * 40):
        damaged = bytearray(data)
        damaged[len(data) - 40 + bit // 8] ^= 1 << bit % 8
        read_everything(bytes(damaged))


def small_file(table: pa.Table, **options: str) -> bytes:
    buffer = io.BytesIO()
    write_table(table, buffer, encodings=options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("major", "minor", "named"), [(0, 3, "2.0"), (2, 0, "2.0"), (2, 3, "2.3"), (7, 1, "7.1")]
)
def test_other_versions_are_refused_by_name(major: int, minor: int, named: str) -> None:
    data = small_file(pa.table({"n": [1]}))
    changed = data[:-8] + struct.pack("<HH", major, minor) + data[-4:]
    with pytest.raises(pymosaic.UnsupportedFeatureError, match=f"version {named}"):
        LanceFile(changed)


def test_something_else_is_no_lance_file() -> None:
    with pytest.raises(pymosaic.CorruptFileError, match="not a Lance file"):
        LanceFile(b"PAR1" * 20)
    with pytest.raises(pymosaic.CorruptFileError, match="too short"):
        LanceFile(b"LANC")


def test_runs_that_overrun_their_count_are_cut() -> None:
    """Older writers let the last run of a chunk go on past its end."""
    table = pa.table({"n": pa.array([5] * 100 + [6] * 100)})
    data = bytearray(small_file(table, n="run-length"))
    assert data.count(bytes([100, 100])) == 1
    place = data.index(bytes([100, 100]))
    data[place + 1] = 250
    assert LanceFile(bytes(data)).read().equals(table)
    data[place + 1] = 99
    with pytest.raises(pymosaic.CorruptFileError, match="end before"):
        LanceFile(bytes(data)).read()


def test_a_page_above_the_limit_is_refused_before_it_is_decoded() -> None:
    data = small_file(pa.table({"n": pa.array([7] * 1_000_000)}), n="run-length")
    limits = pymosaic.Limits(max_row_group_bytes=1 << 20)
    with pytest.raises(pymosaic.LimitExceededError, match="max_row_group_bytes"):
        LanceFile(data, limits=limits).read()
    limits = pymosaic.Limits(max_table_bytes=1 << 20)
    with pytest.raises(pymosaic.LimitExceededError, match="max_table_bytes"):
        LanceFile(data, limits=limits).read()


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.lance"
    data = bytearray(small_file(pa.table({"n": list(range(5000))})))
    data[64] = 0xFF
    data[64 + 8 : 64 + 16] = b"\xff" * 8
    path.write_bytes(bytes(data))
    with pytest.raises(pymosaic.CorruptFileError, match=r"broken\.lance"):
        LanceFile(path).read()


@pytest.mark.parametrize(
    "logical_type",
    [
        "fixed_size_binary:268435456",
        "fixed_size_binary:999999999",
        "fixed_size_list:fixed_size_binary:65536:65536",
        "fixed_size_list:fixed_size_list:double:999999999:999999999",
    ],
)
def test_a_type_too_wide_for_arrow_is_refused_when_it_is_parsed(logical_type: str) -> None:
    data = forge_file(logical_type, 4, AllNullLayout(layers=(Layer.NULLABLE_ITEM,)))
    refused_by_all(data, pymosaic.UnsupportedFeatureError, "wider than 268435455 bytes")
    with pytest.raises(pymosaic.UnsupportedFeatureError, match="wider than 268435455 bytes"):
        assert LanceFile(data).schema


def test_bytes_that_are_no_booleans_are_refused() -> None:
    layout = FullZipLayout(
        bits_per_value=8, num_items=3, value_compression=Flat(bits_per_value=8), layers=(1,)
    )
    good = LanceFile(forge_file("bool", 3, layout, [b"\1\0\1"]))
    assert good.read()["c"].to_pylist() == [True, False, True]
    with pytest.raises(pymosaic.CorruptFileError, match="a boolean is neither 0 nor 1"):
        LanceFile(forge_file("bool", 3, layout, [b"\1\2\1"])).read()


def test_a_packed_row_without_bytes_must_be_null() -> None:
    field = FieldEncoding(value=Flat(bits_per_value=8), bits_per_value=8)
    layout = FullZipLayout(
        bits_def=1,
        bits_per_offset=32,
        num_items=2,
        num_visible_items=2,
        value_compression=VariablePackedStruct(fields=(field,)),
        layers=(Layer.NULLABLE_ITEM,),
    )
    fields = [
        FieldMessage(
            name="c",
            parent_id=-1,
            logical_type="struct",
            nullable=True,
            metadata=(("packed", b"true"),),
        ),
        FieldMessage(name="a", id=1, logical_type="int8", nullable=True),
    ]
    row = b"\0\1\0\0\0\7"
    good = LanceFile(forge_file(fields, 2, layout, [row + b"\1", bytes([0, 6, 7])], "2.2"))
    assert good.read()["c"].to_pylist() == [{"a": 7}, None]
    bad = LanceFile(forge_file(fields, 2, layout, [row + b"\0\0\0\0\0", bytes([0, 6, 11])], "2.2"))
    with pytest.raises(pymosaic.CorruptFileError, match="a row has no bytes"):
        bad.read()


@pytest.mark.parametrize(
    "logical_type", ["fixed_size_binary:268435455", "fixed_size_list:float:67108863"]
)
def test_wide_nulls_are_charged_with_all_their_bytes(logical_type: str) -> None:
    data = forge_file(logical_type, 4, AllNullLayout(layers=(Layer.NULLABLE_ITEM,)))
    with LanceFile(data, limits=pymosaic.Limits(max_table_bytes=1 << 20)) as file:
        with pytest.raises(pymosaic.LimitExceededError, match="max_table_bytes"):
            file.read()
        with pytest.raises(pymosaic.LimitExceededError, match="max_table_bytes"):
            file.take([0, 3])


def one_chunk(*buffers: bytes) -> list[bytes]:
    """Words and chunks of a page of one chunk without levels."""
    header = struct.pack(f"<{1 + len(buffers)}H", 0, *(len(buffer) for buffer in buffers))
    parts = [part + bytes(-len(part) % 8) for part in (header, *buffers)]
    chunk = b"".join(parts)
    return [struct.pack("<H", (len(chunk) // 8 - 1) << 4), chunk]


def refused_by_all(data: bytes, error: type[Exception], match: str) -> None:
    with LanceFile(data, limits=LIMITS) as file:
        for read in (file.read, lambda: file.take([0]), lambda: list(file.iter_batches())):
            with pytest.raises(error, match=match):
                read()


@pytest.mark.parametrize("count", [1 << 62, 1 << 63, (1 << 64) - 1])
def test_a_dictionary_of_more_items_than_can_be_counted_is_refused(count: int) -> None:
    layout = MiniBlockLayout(
        value_compression=Flat(bits_per_value=32),
        dictionary=Flat(bits_per_value=64),
        num_dictionary_items=count,
        layers=(Layer.ALL_VALID_ITEM,),
        num_buffers=1,
        num_items=2,
    )
    data = forge_file("int64", 2, layout, [*one_chunk(bytes(8)), bytes(16)])
    refused_by_all(data, pymosaic.CorruptFileError, f"{count} values")


def test_compressed_values_without_an_encoding_are_called_so() -> None:
    layout = MiniBlockLayout(
        value_compression=General(compression=BufferCompression(scheme=CompressionScheme.ZSTD)),
        layers=(Layer.ALL_VALID_ITEM,),
        num_buffers=1,
        num_items=2,
    )
    # As a size, these bytes would be far above the limits.
    data = forge_file("int64", 2, layout, one_chunk(b"\xff" * 16))
    refused_by_all(data, pymosaic.CorruptFileError, "an encoding is missing")


@pytest.mark.parametrize(("milliseconds", "is_day"), [(86_400_000, True), (86_400_001, False)])
def test_dates_of_64_bits_are_whole_days(milliseconds: int, is_day: bool) -> None:
    layout = MiniBlockLayout(
        value_compression=Flat(bits_per_value=64),
        layers=(Layer.ALL_VALID_ITEM,),
        num_buffers=1,
        num_items=2,
    )
    buffers = one_chunk(struct.pack("<qq", milliseconds, 0))
    data = forge_file("date64:ms", 2, layout, buffers)
    if is_day:
        assert read_everything(data)
    else:
        refused_by_all(data, pymosaic.CorruptFileError, "date64")


@pytest.mark.parametrize("inner", ["fixed_size_binary:0", "fixed_size_list:int8:0", "null"])
def test_nulls_without_width_are_charged_with_their_bitmaps(inner: str) -> None:
    logical_type = f"fixed_size_list:{inner}:999999999"
    data = forge_file(logical_type, 1, AllNullLayout(layers=(Layer.NULLABLE_ITEM,)))
    refused_by_all(data, pymosaic.LimitExceededError, "max_row_group_bytes")


def full_zip_numbers(num_items: int) -> FullZipLayout:
    return FullZipLayout(
        bits_per_value=64,
        num_items=num_items,
        num_visible_items=num_items,
        value_compression=Flat(bits_per_value=64),
        layers=(Layer.ALL_VALID_ITEM,),
    )


@pytest.mark.parametrize(
    ("num_items", "num_rows", "num_values"), [(9, 8, 8), (7, 8, 8), (9, 9, 8), (8, 8, 9)]
)
def test_items_rows_and_bytes_of_a_full_zip_page_agree(
    num_items: int, num_rows: int, num_values: int
) -> None:
    good = forge_file("int64", 8, full_zip_numbers(8), [bytes(64)])
    assert read_everything(good)
    layout = full_zip_numbers(num_items)
    data = forge_file("int64", num_rows, layout, [bytes(8 * num_values)])
    # One row is taken by its range, most of them by reading the page.
    refused_by_all(data, pymosaic.CorruptFileError, "items|rows")
    with pytest.raises(pymosaic.CorruptFileError, match=r"items|rows"):
        LanceFile(data).take([0, 1, 2, 3])


@pytest.mark.parametrize("depth", [0, 2])
def test_a_repetition_index_of_another_depth_is_refused_however_it_is_read(depth: int) -> None:
    table = pa.table({"c": [[1, 2], [3]]})
    with LanceFile(small_file(table)) as file:
        page = file.pages("c")[0]
        buffers = file._source.read_ranges(
            list(zip(page.buffer_offsets, page.buffer_sizes, strict=True))
        )
    assert isinstance(page.layout, MiniBlockLayout)
    fields = [
        FieldMessage(name="c", parent_id=-1, logical_type="list", nullable=True),
        FieldMessage(name="item", id=1, logical_type="int64", nullable=True),
    ]
    contents = [bytes(buffer) for buffer in buffers]
    assert LanceFile(forge_file(fields, 2, page.layout, contents)).read().equals(table)
    layout = replace(page.layout, repetition_index_depth=depth)
    data = forge_file(fields, 2, layout, contents)
    refused_by_all(data, pymosaic.UnsupportedFeatureError, f"index of depth {depth}")


def test_rows_of_a_constant_page_are_counted_also_when_some_are_taken() -> None:
    layout = AllNullLayout(layers=(Layer.NULLABLE_ITEM, Layer.NULLABLE_LIST))
    fields = [
        FieldMessage(name="c", parent_id=-1, logical_type="list", nullable=True),
        FieldMessage(name="item", id=1, logical_type="int64", nullable=True),
    ]
    levels = [struct.pack("<2H", 1, 1), struct.pack("<2H", 2, 2)]
    assert LanceFile(forge_file(fields, 2, layout, levels)).take([1])["c"].to_pylist() == [None]
    refused_by_all(
        forge_file(fields, 3, layout, levels), pymosaic.CorruptFileError, "2 rows, not 3"
    )


@pytest.mark.parametrize("num_buffers", [0, 1])
def test_pages_of_chunks_without_their_buffers(num_buffers: int) -> None:
    sink = io.BytesIO()
    write_table(pa.table({"c": pa.array(range(100), pa.int64())}), sink)
    [page] = LanceFile(sink.getvalue()).pages("c")
    assert isinstance(page.layout, MiniBlockLayout)
    data = forge_file("int64", 100, page.layout, [bytes(8)] * num_buffers)
    for read in (LanceFile.read, lambda file: file.take([0, 50])):
        with pytest.raises(pymosaic.CorruptFileError, match="is needed, but the page has"):
            read(LanceFile(data))


def test_full_zip_pages_without_their_buffer() -> None:
    layout = FullZipLayout(
        bits_per_value=64,
        num_items=4,
        num_visible_items=4,
        value_compression=Flat(bits_per_value=64),
        layers=(Layer.ALL_VALID_ITEM,),
    )
    for read in (LanceFile.read, lambda file: file.take([0, 2])):
        with pytest.raises(pymosaic.CorruptFileError, match="is needed, but the page has 0"):
            read(LanceFile(forge_file("int64", 4, layout)))
