"""The wire form of messages: exact both ways, and every departure noticed."""

from __future__ import annotations

import pytest

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.lance.container import ColumnMessage, FieldMessage, Page, Schema
from pymosaic.pages.messages import (
    AllNullLayout,
    BlobLayout,
    BufferCompression,
    ByteStreamSplit,
    Constant,
    Dictionary,
    FieldEncoding,
    FixedSizeList,
    Flat,
    Fsst,
    FullZipLayout,
    General,
    InlineBitpacking,
    Layer,
    Layout,
    MiniBlockLayout,
    OutOfLineBitpacking,
    PackedStruct,
    Rle,
    Variable,
    VariablePackedStruct,
    emit_layout,
    parse_layout,
)
from pymosaic.pages.protobuf import emit, parse

FLAT = Flat(bits_per_value=64)
VARIABLE = Variable(offsets=Flat(bits_per_value=32))
LAYOUTS: list[Layout] = [
    MiniBlockLayout(value_compression=encoding, layers=(Layer.NULLABLE_ITEM,), num_items=1 << 40)
    for encoding in (
        FLAT,
        VARIABLE,
        Constant(value=b""),
        Constant(),
        OutOfLineBitpacking(uncompressed_bits_per_value=16, values=Flat(bits_per_value=3)),
        InlineBitpacking(uncompressed_bits_per_value=64),
        Fsst(symbol_table=bytes(2312), values=VARIABLE),
        Dictionary(indices=FLAT, items=VARIABLE, num_dictionary_items=7),
        Rle(values=FLAT, run_lengths=Flat(bits_per_value=8)),
        ByteStreamSplit(values=FLAT),
        General(compression=BufferCompression(scheme=2, level=-3), values=ByteStreamSplit(FLAT)),
        FixedSizeList(items_per_value=4, values=FLAT, has_validity=True),
        PackedStruct(bits_per_value=(64, 32), values=Flat(bits_per_value=96)),
        VariablePackedStruct(
            fields=(
                FieldEncoding(value=FLAT, bits_per_value=64),
                FieldEncoding(value=VARIABLE, bits_per_length=32),
            )
        ),
    )
]
LAYOUTS += [
    FullZipLayout(bits_rep=1, bits_def=2, bits_per_value=64, num_items=9, value_compression=FLAT,
                  layers=(Layer.NULLABLE_ITEM, Layer.NULL_AND_EMPTY_LIST)),
    AllNullLayout(layers=(Layer.ALL_VALID_ITEM, Layer.EMPTYABLE_LIST), inline_value=b"\7"),
    BlobLayout(inner_layout=MiniBlockLayout(value_compression=FLAT, layers=(1,)), layers=(3,)),
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: type(layout).__name__)
def test_a_layout_survives_being_written_and_read(layout: Layout) -> None:
    assert parse_layout(emit_layout(layout)) == layout


def test_bytes_are_those_of_the_lance_writer() -> None:
    # A column of two int64 as pylance 14 describes it.
    content = bytes.fromhex("0a0d1a040a020840320101380148 02".replace(" ", ""))
    layout = MiniBlockLayout(
        value_compression=FLAT, layers=(Layer.ALL_VALID_ITEM,), num_buffers=1, num_items=2
    )
    assert parse_layout(content) == layout
    assert emit_layout(layout) == content


def test_the_bytes_of_a_field_with_a_negative_parent() -> None:
    field = FieldMessage(name="a", parent_id=-1, logical_type="int64", nullable=True, encoding=1)
    content = bytes.fromhex("12016120ffffffffffffffffff012a05696e74363430013801")
    assert emit(field) == content
    assert parse(FieldMessage, content) == field


def test_repeated_numbers_are_read_packed_and_one_by_one() -> None:
    packed = Page(buffer_offsets=(1, 300))
    assert parse(Page, emit(packed)) == packed
    assert parse(Page, bytes([0x08, 1, 0x08, 0xAC, 0x02])) == packed


def test_maps_keep_their_order_and_binary_values() -> None:
    schema = Schema(fields=(), metadata=(("z", b"\xff\x00"), ("a", b"")))
    assert parse(Schema, emit(schema)) == schema


def test_a_closed_message_refuses_fields_it_does_not_know_and_an_open_one_skips_them() -> None:
    unknown = bytes([15 << 3, 1])
    with pytest.raises(UnsupportedFeatureError, match="field 15"):
        parse(Flat, emit(FLAT) + unknown)
    assert parse(ColumnMessage, unknown) == ColumnMessage()


def test_an_encoding_of_a_later_version_is_refused_by_its_number() -> None:
    later = bytes([0x0A, 5, 0x1A, 3, 99 << 3 & 0x7F | 0x82, 6, 0])
    with pytest.raises(UnsupportedFeatureError, match="choice 99"):
        parse_layout(later)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x08", "not a varint"),
        (b"\x08" + b"\xff" * 10, "not a varint"),
        (b"\x08" + b"\xff" * 9 + b"\x7f", "not a varint"),
        (b"\x00\x00", "field number 0"),
        (b"\x0b", "wire type 3"),
        (b"\x12\x05ab", "5 bytes, 2 are left"),
        (b"\x0a\x00", "wire type"),
        (b"\x10\x01", "is a number"),
        (b"\x09" + b"\0" * 8, "wire type 1"),
    ],
)
def test_malformed_messages_are_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(CorruptFileError, match=reason):
        parse(Flat, content)


def test_text_must_be_utf_8_and_int32_must_fit() -> None:
    with pytest.raises(CorruptFileError, match="UTF-8"):
        parse(FieldMessage, b"\x12\x01\xff")
    with pytest.raises(CorruptFileError, match="int32"):
        parse(FieldMessage, b"\x18\xff\xff\xff\xff\xff\x01")


def test_nesting_is_bounded() -> None:
    deep = General(values=FLAT)
    for _ in range(60):
        deep = General(values=deep)
    with pytest.raises(CorruptFileError, match="nested deeper"):
        parse(General, emit(deep))
