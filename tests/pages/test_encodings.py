"""Each encoding by itself: what it writes it reads, in every form that it has."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pymosaic.errors import CorruptFileError, MosaicError, UnsupportedFeatureError
from pymosaic.pages.arrow_values import block_to_array
from pymosaic.pages.blocks import (
    Block,
    Chunks,
    DictionaryBlock,
    FixedBlock,
    Memory,
    StructBlock,
    VariableBlock,
)
from pymosaic.pages.encodings import (
    TreeDecoder,
    byte_stream_split,
    dictionary,
    flat,
    fsst,
    inline_bitpacking,
    out_of_line_bitpacking,
    run_length,
    variable,
    variable_packed_struct,
)
from pymosaic.pages.encodings.encoded import EncodedChunks
from pymosaic.pages.encodings.general import GeneralCompressor, decompress
from pymosaic.pages.flatten import array_to_block
from pymosaic.pages.messages import CompressionScheme, Constant, Dictionary, Encoding, Flat

COUNTS = (1, 2, 3, 1023, 1024, 1025, 5000)


def decoder() -> TreeDecoder:
    return TreeDecoder(Memory(1 << 30, "test"))


def fixed(values: np.ndarray) -> FixedBlock:
    return FixedBlock(8 * values.itemsize, len(values), values.view(np.uint8))


def as_chunks(encoded: EncodedChunks) -> Chunks:
    data = np.concatenate([buffer.data for buffer in encoded.buffers])
    starts, base = [], 0
    for buffer in encoded.buffers:
        starts.append(base + np.cumsum(buffer.sizes) - buffer.sizes)
        base += len(buffer.data)
    sizes = np.stack([buffer.sizes for buffer in encoded.buffers])
    return Chunks(data, np.stack(starts), sizes, encoded.counts)


def decoded(encoded: EncodedChunks) -> Block:
    return decoder().chunks(encoded.encoding, as_chunks(encoded))


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(
    "encode",
    [flat.encode_chunks, inline_bitpacking.encode_chunks, run_length.encode_chunks],
    ids=["flat", "bit-packed", "run-length"],
)
def test_numbers_survive(encode, bits: int, count: int) -> None:
    chance = np.random.default_rng(count)
    for width in (0, 1, bits // 2, bits - 1, bits):
        highest = (1 << width) - 1
        values = chance.integers(0, highest, count, np.uint64, endpoint=True)
        block = fixed(values.astype(f"u{bits // 8}"))
        result = decoded(encode(block))
        assert isinstance(result, FixedBlock)
        assert result.data.tobytes() == block.data.tobytes()


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_every_packed_width_is_that_of_the_format(bits: int) -> None:
    """Packed words of a lane stand a row apart: an element's bits can be found by the formula."""
    order = [0, 4, 2, 6, 1, 5, 3, 7]
    lanes = 1024 // bits
    for width in range(1, bits + 1):
        values = np.random.default_rng(width).integers(0, 1 << min(width, 63), 1024, np.uint64)
        block = fixed(values.astype(f"u{bits // 8}"))
        packed = out_of_line_bitpacking.encode_block(block, width).data
        words = [int(word) for word in packed.view(f"<u{bits // 8}")]
        for lane in (0, lanes - 1):
            stream = sum(words[row * lanes + lane] << (row * bits) for row in range(width))
            for row in range(bits):
                element = order[row // 8] * 16 + row % 8 * 128 + lane
                assert stream >> (row * width) & (1 << width) - 1 == int(values[element])


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("width", [1, 3, 7, 16])
def test_groups_with_a_tail_survive(count: int, width: int) -> None:
    values = np.random.default_rng(count).integers(0, 1 << width, count).astype(np.uint16)
    encoded = out_of_line_bitpacking.encode_block(fixed(values), width)
    result = decoder().blocks(encoded.encoding, Chunks.single(encoded.data, count))
    assert isinstance(result, FixedBlock)
    assert result.data.tobytes() == values.tobytes()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("count", COUNTS)
def test_byte_streams_survive_and_stand_one_behind_the_other(kind: type, count: int) -> None:
    values: np.ndarray = np.random.default_rng(count).normal(size=count).astype(kind)
    encoded = byte_stream_split.encode_chunks(fixed(values))
    result = decoded(encoded)
    assert isinstance(result, FixedBlock)
    assert result.data.tobytes() == values.tobytes()
    first = min(count, 4096 // values.itemsize)
    assert encoded.buffers[0].data[:first].tolist() == (
        values[:first].view(np.uint8).reshape(first, -1)[:, 0].tolist()
    )


def strings(count: int, large: bool) -> pa.Array:
    values = [f"https://example.org/{i % 13}/{'x' * (i % 40)}{i}" for i in range(count)]
    return pa.array(values, pa.large_string() if large else pa.string())


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_strings_survive_in_chunks_and_as_a_block(count: int, large: bool) -> None:
    array = strings(count, large)
    block = array_to_block(array)
    assert isinstance(block, VariableBlock)
    encoded = variable.encode_chunks(block)
    assert encoded is not None
    whole = variable.encode_block(block)
    for result in (
        decoded(encoded),
        decoder().blocks(whole.encoding, Chunks.single(whole.data, count)),
    ):
        memory = Memory(1 << 30, "test")
        assert block_to_array(result, array.type, count, None, 0, memory).equals(array)


def test_chunks_of_strings_hold_powers_of_two_but_for_the_last() -> None:
    block = array_to_block(strings(5000, False))
    assert isinstance(block, VariableBlock)
    encoded = variable.encode_chunks(block)
    assert encoded is not None
    counts = encoded.counts.tolist()
    assert len(counts) > 10
    assert all(count >= 2 and count & (count - 1) == 0 for count in counts[:-1])
    assert int(encoded.buffers[0].sizes.max()) <= 4096


def test_two_strings_that_are_too_long_for_a_chunk_have_no_chunks() -> None:
    block = array_to_block(pa.array(["x" * 20000, "y" * 20000, "z"]))
    assert isinstance(block, VariableBlock)
    assert variable.encode_chunks(block) is None


@pytest.mark.parametrize("count", COUNTS)
def test_fsst_survives_and_is_the_same_each_time(count: int) -> None:
    block = array_to_block(strings(count, False))
    assert isinstance(block, VariableBlock)
    table, shorter = fsst.compress_values(block)
    assert len(table) == fsst.TABLE_BYTES
    assert (table, shorter.data.tobytes()) == (
        fsst.compress_values(block)[0],
        fsst.compress_values(block)[1].data.tobytes(),
    )
    encoding, values = variable.encode_values(shorter)
    result = decoder().values(fsst.describe(table, encoding), values)
    assert isinstance(result, VariableBlock)
    assert result.data.tobytes() == block.data.tobytes()
    assert result.offsets.tolist() == block.offsets.tolist()
    if count >= 1023:
        assert len(shorter.data) < 0.6 * len(block.data)


def test_fsst_survives_bytes_that_no_symbol_covers() -> None:
    values = [bytes([i]) * (i % 5) + bytes(range(i, 256)) for i in range(256)] + [b"", b"\xff"]
    block = array_to_block(pa.array(values, pa.binary()))
    assert isinstance(block, VariableBlock)
    table, shorter = fsst.compress_values(block)
    encoding, compressed = variable.encode_values(shorter)
    result = decoder().values(fsst.describe(table, encoding), compressed)
    assert isinstance(result, VariableBlock)
    assert result.data.tobytes() == block.data.tobytes()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda table: table[:4] + b"XXXX" + table[8:], "TSSF"),
        (lambda table: table[:100], "fewer symbols"),
        (lambda table: table[:4], "no header"),
        (lambda table: table[: 8 + 8 * table[0]] + b"\x09" * 300, "wrong length"),
    ],
)
def test_a_damaged_symbol_table_is_refused(change, reason: str) -> None:
    block = array_to_block(strings(100, False))
    assert isinstance(block, VariableBlock)
    table, _ = fsst.compress_values(block)
    with pytest.raises(CorruptFileError, match=reason):
        fsst.parse_symbol_table(change(table))


def test_an_inactive_symbol_table_leaves_values_as_they_are() -> None:
    block = VariableBlock(np.array([0, 3], np.int32), np.frombuffer(b"abc", np.uint8))
    table = bytes([0, 0, 0, 0]) + b"TSSF" + bytes(2304)
    encoding, values = variable.encode_values(block)
    result = decoder().values(fsst.describe(table, encoding), values)
    assert isinstance(result, VariableBlock)
    assert result.data.tobytes() == b"abc"


@pytest.mark.parametrize("scheme", [CompressionScheme.ZSTD, CompressionScheme.LZ4])
def test_general_compression_survives_in_every_form(scheme: CompressionScheme) -> None:
    compressor = GeneralCompressor(scheme)
    numbers = fixed(np.arange(5000) % 7)
    result = decoded(compressor.chunks(flat.encode_chunks(numbers)))
    assert isinstance(result, FixedBlock)
    assert result.data.tobytes() == numbers.data.tobytes()
    block = compressor.block(flat.encode_block(numbers))
    result = decoder().blocks(block.encoding, Chunks.single(block.data, 5000))
    assert isinstance(result, FixedBlock)
    assert result.data.tobytes() == numbers.data.tobytes()
    text = array_to_block(pa.array(["abc" * 200, "", "defg" * 300]))
    assert isinstance(text, VariableBlock)
    encoding, values = variable.encode_values(text)
    shorter = compressor.values(values)
    assert len(shorter.data) < len(text.data)
    back = decoder().values(compressor.describe(encoding), shorter)
    assert isinstance(back, VariableBlock)
    assert back.data.tobytes() == text.data.tobytes()


def test_runs_and_general_compression_survive_together() -> None:
    numbers = fixed(np.repeat(np.arange(300), 20))
    encoded = GeneralCompressor(CompressionScheme.ZSTD).chunks(run_length.encode_chunks(numbers))
    assert len(encoded.buffers) == 2
    result = decoded(encoded)
    assert isinstance(result, FixedBlock)
    assert result.data.tobytes() == numbers.data.tobytes()


def test_the_dictionary_message_survives_as_a_block() -> None:
    """No version of Lance decodes it, but the codec does."""
    items = array_to_block(pa.array(["red", "green", "blue"]))
    assert isinstance(items, VariableBlock)
    indices = np.array([2, 0, 1, 1], np.uint32)
    encoded = dictionary.encode_block(
        flat.encode_block(fixed(indices)), variable.encode_block(items), 3
    )
    assert isinstance(encoded.encoding, Dictionary)
    result = decoder().blocks(encoded.encoding, Chunks.single(encoded.data, 4))
    assert isinstance(result, DictionaryBlock)
    array = block_to_array(result, pa.string(), 4, None, 0, Memory(1 << 20, "test"))
    assert array.to_pylist() == ["blue", "red", "green", "green"]
    wrong = encoded.data.copy()
    wrong[8] = 3
    with pytest.raises(CorruptFileError, match="index 3 into 3 items"):
        decoder().blocks(encoded.encoding, Chunks.single(wrong, 4))
    with pytest.raises(UnsupportedFeatureError, match="Dictionary"):
        decoder().chunks(encoded.encoding, Chunks.single(encoded.data, 4))


def test_a_variable_packed_struct_survives() -> None:
    array = pa.array(
        [{"a": 1, "b": "x", "c": "longer"}, {"a": -2, "b": "", "c": "y"}],
        pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", pa.large_string())]),
    )
    block = array_to_block(array)
    assert isinstance(block, StructBlock)
    encoding, rows = variable_packed_struct.encode_values(block)
    result = decoder().values(encoding, rows)
    assert block_to_array(result, array.type, 2, None, 0, Memory(1 << 20, "test")).equals(array)
    for end in range(len(rows.data)):
        cut = VariableBlock(np.array([0, int(rows.offsets[1]), end]), rows.data[:end])
        # A row without any bytes is a null one; whether it may be is the layout's to know.
        if end <= int(rows.offsets[1]):
            continue
        with pytest.raises(MosaicError):
            decoder().values(encoding, cut)


def test_a_constant_is_repeated() -> None:
    chunks = Chunks(
        np.empty(0, np.uint8), np.empty((0, 1), np.int64), np.empty((0, 1), np.int64), np.array([3])
    )
    result = decoder().chunks(Constant(value=b"\1\2"), chunks)
    assert isinstance(result, FixedBlock)
    assert (result.bits, result.data.tobytes()) == (16, b"\1\2" * 3)


@pytest.mark.parametrize(
    "encode",
    [
        flat.encode_chunks,
        inline_bitpacking.encode_chunks,
        run_length.encode_chunks,
        byte_stream_split.encode_chunks,
    ],
)
def test_chunks_that_are_too_short_are_refused(encode) -> None:
    encoded = encode(fixed(np.arange(3000)))
    chunks = as_chunks(encoded)
    sizes = chunks.sizes.copy()
    sizes[0, 1] = 3
    with pytest.raises(CorruptFileError):
        decoder().chunks(encoded.encoding, Chunks(chunks.data, chunks.starts, sizes, chunks.counts))


def test_an_encoding_that_is_missing_is_refused() -> None:
    missing: Encoding | None = None
    with pytest.raises(CorruptFileError, match="missing"):
        decoder().chunks(missing, Chunks.single(np.empty(0, np.uint8), 0))


@pytest.mark.parametrize("size", [1, 2, 100, 5000])
def test_a_block_of_lz4_has_all_the_bytes_that_it_claims(size: int) -> None:
    """What is missing would be memory as it was left by others."""
    compressor = GeneralCompressor(CompressionScheme.LZ4)
    encoding = compressor.describe(Flat(bits_per_value=8))
    content = bytes(index % 7 for index in range(size))
    block = compressor.compress(content)
    memory = Memory(1 << 20, "test")
    assert decompress(encoding, memoryview(block), memory).tobytes() == content
    for claimed in (size + 1, size + 9):
        lie = claimed.to_bytes(4, "little") + block[4:]
        with pytest.raises(CorruptFileError, match="General"):
            decompress(encoding, memoryview(lie), memory)
