"""The parser of schema contents takes short cuts for plain types and sorted names."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pymosaic
from pymosaic.kernels import schema_content
from pymosaic.kernels.arrow_export import export_schema
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.limits import Limits
from pymosaic.testing.pieces import schema, text, varint

# The bytes of a type, and what the catalog tells of it: id, nullable, parameter, scale.
TYPES = [
    (bytes([type_id, nullable]), (type_id, bool(nullable), 0, 0))
    for type_id in (0, 1, 2, 3, 4, 5, 6, 7, 10, 13)
    for nullable in (0, 1, 7)
] + [
    (b"\x08\x01\x05", (8, True, 5, 0)),
    (b"\x0f\x00\x03", (15, False, 3, 0)),
    (b"\x10\x01\x09", (16, True, 9, 0)),
]
NAMES = st.one_of(
    st.text(st.sampled_from("ab"), min_size=1, max_size=4),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
)


def _shared(left: bytes, right: bytes) -> int:
    return next(
        (place for place, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]),
        min(len(left), len(right)),
    )


@given(st.lists(st.tuples(NAMES, st.sampled_from(TYPES)), max_size=12), st.data())
def test_names_types_and_order_come_out_as_they_went_in(
    columns: list[tuple[str, tuple[bytes, tuple[int, bool, int, int]]]], data: st.DataObject
) -> None:
    encoded = [name.encode() for name, _ in columns]
    content = varint(len(columns)) + varint(1) + b"\x00"
    for place, (name, (descriptor, _)) in enumerate(zip(encoded, (kind for _, kind in columns))):  # noqa: B905
        most = _shared(encoded[place - 1], name) if place else 0
        # Writers may share fewer bytes than they could.
        shared = data.draw(st.integers(0, most))
        content += varint(shared) + text(name[shared:]) + descriptor
    content += b"".join(varint(delta) for delta in [0, *[2] * (len(columns) - 1)][: len(columns)])
    if len(set(encoded)) < len(encoded):
        with pytest.raises(pymosaic.CorruptFileError, match="appears twice"):
            schema_content.parse(content, Limits())
        return
    catalog = schema_content.parse(content, Limits())
    assert catalog.names() == [name for name, _ in columns]
    assert [catalog.type_of(place) for place in range(len(columns))] == [
        told for _, (_, told) in columns
    ]
    assert catalog.is_sorted == all(left < right for left, right in pairwise(encoded))
    assert [catalog.find(name) for name, _ in columns] == list(range(len(columns)))
    assert catalog.original_order().tolist() == list(range(len(columns)))
    assert catalog.unread_bytes == 0


@given(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4).map("_value_".join),
    st.integers(1, 300),
)
def test_compressed_names_are_as_their_writer_had_them(stem: str, count: int) -> None:
    names = sorted(f"{stem}_sensor_{number:04}_last_value" for number in range(count))
    catalog = catalog_from_arrow(pa.schema({name: pa.int32() for name in names}), 1)
    parsed = schema_content.parse(schema_content.emit(catalog), Limits())
    assert parsed.names() == names
    assert parsed.is_sorted


def _expansions(rules: list[tuple[int, int]]) -> list[bytes]:
    """What each symbol stands for: bytes below 128 for themselves, tokens for two others."""
    known = [bytes([symbol]) for symbol in range(128)]
    for left, right in rules:
        known.append(known[left] + known[right])
    return known


@given(st.data(), st.integers(0, 14))
def test_tokens_stand_for_what_their_rules_say(data: st.DataObject, num_rules: int) -> None:
    rules: list[tuple[int, int]] = []
    for rule in range(num_rules):
        # Rules of long tokens: longer than one copy, and longer than what is kept.
        symbol = st.integers(97, 99) | st.just(max(97, 127 + rule)) | st.integers(128, 127 + rule)
        if rule == 0:
            symbol = st.integers(97, 99)
        rules.append((data.draw(symbol), data.draw(symbol)))
    known = _expansions(rules)
    symbols = st.integers(97, 99)
    if rules:
        symbols |= st.integers(128, 127 + num_rules)
    names = data.draw(
        st.lists(
            st.lists(symbols, min_size=1, max_size=6).map(bytes),
            max_size=8,
            unique_by=lambda name: b"".join(known[symbol] for symbol in name),
        )
    )
    content = varint(len(names)) + varint(1) + b"\x01" + varint(num_rules)
    content += b"".join(bytes(pair) for pair in rules)
    before = b""
    for name in names:
        shared = data.draw(st.integers(0, _shared(before, name)))
        content += varint(shared) + text(name[shared:]) + b"\x03\x01"
        before = name
    catalog = schema_content.parse(content, Limits())
    expanded = [b"".join(known[symbol] for symbol in name) for name in names]
    assert [name.encode() for name in catalog.names()] == expanded
    assert catalog.is_sorted == all(left < right for left, right in pairwise(expanded))


def test_tokens_longer_than_a_name_may_be_are_not_expanded() -> None:
    rules = [(97, 97), *((128 + rule, 128 + rule) for rule in range(30))]
    # A token that seems to be short, because the length of its long part is cut off at the limit.
    rules.append((127 + len(rules), 97))
    content = varint(1) + varint(1) + b"\x01" + varint(len(rules)) + b"".join(map(bytes, rules))
    for symbol, expanded in ((97, "a"), (128 + 8, 512 * "a")):
        named = content + varint(0) + text(bytes([symbol])) + b"\x03\x01"
        assert schema_content.parse(named, Limits(max_name_bytes=600)).names() == [expanded]
    for symbol in (128 + 9, 127 + len(rules)):
        named = content + varint(0) + text(bytes([symbol])) + b"\x03\x01"
        with pytest.raises(pymosaic.LimitExceededError, match="max_name_bytes"):
            schema_content.parse(named, Limits(max_name_bytes=600))


def test_a_token_without_a_rule_is_refused() -> None:
    for symbol in (0x81, 0xFF):
        column = (bytes([0x80, symbol]), b"\x03\x01")
        content = schema(column, names=b"\x01" + varint(1) + b"ab")
        with pytest.raises(pymosaic.CorruptFileError, match="without a rule"):
            schema_content.parse(content, Limits())


@given(st.permutations(range(200)), st.integers(0, 2))
def test_the_original_order_may_jump_and_have_padding(order: list[int], padding: int) -> None:
    content = schema(*((f"c{place:03}", b"\x03\x01") for place in range(len(order))), order=[])
    before = 0
    for position in order:
        delta = position - before
        content += varint(delta * 2 if delta >= 0 else -delta * 2 - 1, padding)
        before = position
    assert schema_content.parse(content, Limits()).original_order().tolist() == order


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_type_that_is_cut_off_is_refused(cut: int) -> None:
    content = schema(("a", b"\x03\x01"), ("b", b"\x03\x01"), order=[])
    with pytest.raises(pymosaic.CorruptFileError):
        schema_content.parse(content[:-cut], Limits())


def test_the_limit_of_columns_counts_plain_ones() -> None:
    columns = [(f"c{number}", b"\x03\x01") for number in range(5)]
    with pytest.raises(pymosaic.LimitExceededError, match="max_columns"):
        schema_content.parse(schema(*columns), Limits(max_columns=4))


class TestExportedSchemas:
    SCHEMA = pa.schema(
        [
            pa.field("a", pa.int32()),
            pa.field("b", pa.list_(pa.string())),
            pa.field("c", pa.string(), nullable=False),
            pa.field("d", pa.decimal128(9, 2)),
            pa.field("e", pa.timestamp("ms", "UTC")),
            pa.field("grün", pa.float64()),
        ]
    )

    def test_every_selection_of_columns_has_its_schema(self) -> None:
        catalog = catalog_from_arrow(self.SCHEMA, 3)
        for chosen in ([], [0], [5, 0], [1, 3, 4], [2, 2], list(range(6))):
            capsule = export_schema(catalog, np.array(chosen, np.int64))
            found = pa.Schema._import_from_c_capsule(capsule)
            assert found.equals(pa.schema([self.SCHEMA.field(place) for place in chosen]))

    def test_a_schema_that_nobody_imports_is_freed(self) -> None:
        catalog = catalog_from_arrow(self.SCHEMA, 3)
        for _ in range(100):
            export_schema(catalog, np.arange(6, dtype=np.int64))

    def test_positions_are_compared_with_the_columns(self) -> None:
        catalog = catalog_from_arrow(self.SCHEMA, 3)
        for wrong in (-1, 6):
            with pytest.raises(IndexError, match="out of range"):
                export_schema(catalog, np.array([0, wrong], np.int64))
