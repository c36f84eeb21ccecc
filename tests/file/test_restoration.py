"""Batches in the types that they were written from: the kernel does what pyarrow would do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pymosaic
from pymosaic.arrow.restoring import restored
from pymosaic.file.restoration import BY_ARROW, SAME, Restoration, conversion_between
from tests.writing import written

LIMIT = 1 << 30
# Stored types, and those that the kernel makes of them.
PAIRS = [
    (pa.int16(), pa.uint8()),
    (pa.int32(), pa.uint16()),
    (pa.int64(), pa.uint32()),
    (pa.decimal128(20, 0), pa.uint64()),
    (pa.float32(), pa.float16()),
    (pa.string(), pa.large_string()),
    (pa.binary(), pa.large_binary()),
    (pa.list_(pa.int32()), pa.large_list(pa.int32())),
    (pa.list_(pa.string()), pa.large_list(pa.string())),
    (pa.date32(), pa.date64()),
    (pa.time32("ms"), pa.time32("s")),
    (pa.time32("ms"), pa.time64("us")),
    (pa.time32("ms"), pa.time64("ns")),
    (pa.timestamp("ms"), pa.timestamp("s")),
    (pa.timestamp("ms", "UTC"), pa.timestamp("s", "UTC")),
]
EXAMPLES: dict[pa.DataType, list[Any]] = {
    pa.uint8(): [0, 255, None, 7],
    pa.uint16(): [0, 65535, None, 7],
    pa.uint32(): [0, (1 << 32) - 1, None, 7],
    pa.uint64(): [0, (1 << 64) - 1, None, 7],
    pa.float16(): [np.float16(0), np.float16(-1.5), None, np.float16(6e-8)],
    pa.large_string(): ["", "é", None, "abc"],
    pa.large_binary(): [b"", b"\xff", None, b"abc"],
    pa.large_list(pa.int32()): [[], [1, None], None, [2]],
    pa.large_list(pa.string()): [[], ["a", None], None, ["bc"]],
    pa.date64(): [0, 86_400_000 * 20_000, None, -86_400_000],
    pa.time32("s"): [0, 86_399, None, 7],
    pa.time64("us"): [0, 86_399_999_000, None, 7000],
    pa.time64("ns"): [0, 86_399_999_000_000, None, 7_000_000],
    pa.timestamp("s"): [0, -1, None, 1 << 33],
    pa.timestamp("s", "UTC"): [0, -1, None, 1 << 33],
}


def by_kernel(column: pa.Array, target: pa.DataType) -> pa.Array:
    stored = pa.record_batch([column, column], ["a", "b"])
    schema = pa.schema([("a", target), ("b", column.type)])
    batch = Restoration.between(stored.schema, schema, [0]).restored(stored, {}, LIMIT)
    batch.validate(full=True)
    assert batch.schema.equals(schema)
    assert batch["b"].equals(column)
    return batch["a"]


@pytest.mark.parametrize(("stored", "target"), PAIRS, ids=lambda kind: str(kind))
class TestKernel:
    def test_it_is_the_kernel_that_converts(self, stored: pa.DataType, target: pa.DataType) -> None:
        assert conversion_between(stored, target) >= 0

    def test_values_are_those_that_were_written(
        self, stored: pa.DataType, target: pa.DataType
    ) -> None:
        values = pa.array(EXAMPLES[target], target)
        table = pa.table({"a": values, "b": values.drop_null().slice(1)[:1].take([0, 0, 0, 0])})
        data = written(table)
        assert pymosaic.read_schema(data, types="mosaic").field("a").type == stored
        assert pymosaic.read_table(data).equals(table)

    @pytest.mark.parametrize("length", [0, 1, 9])
    @pytest.mark.parametrize("offset", [0, 3])
    def test_slices_and_empty_ones(
        self, stored: pa.DataType, target: pa.DataType, offset: int, length: int
    ) -> None:
        values = pa.array(EXAMPLES[target] * 4, target)
        kept = pymosaic.read_table(written(pa.table({"a": values})), types="mosaic")
        column = kept["a"].chunk(0).slice(offset, length)
        assert by_kernel(column, target).equals(values.slice(offset, length))
        assert by_kernel(pa.array([], stored), target).equals(pa.array([], target))


@given(data=st.data())
def test_the_kernel_and_arrow_agree(data: st.DataObject) -> None:
    stored, target = data.draw(st.sampled_from(PAIRS))
    values = data.draw(st.lists(st.sampled_from(EXAMPLES[target]), max_size=70))
    column = pa.array(values, target).cast(stored)
    start = data.draw(st.integers(0, len(values)))
    column = column.slice(start, data.draw(st.integers(0, len(values))))
    assert by_kernel(column, target).equals(restored(column, target))


@pytest.mark.parametrize(
    ("value", "stored", "target"),
    [
        (-1, pa.int16(), pa.uint8()),
        (256, pa.int16(), pa.uint8()),
        (1 << 16, pa.int32(), pa.uint16()),
        (1 << 32, pa.int64(), pa.uint32()),
        (1 << 64, pa.decimal128(20, 0), pa.uint64()),
        (-1, pa.decimal128(20, 0), pa.uint64()),
        (1.1, pa.float32(), pa.float16()),
        (65536.0, pa.float32(), pa.float16()),
        (1e-10, pa.float32(), pa.float16()),
        (1, pa.time32("ms"), pa.time32("s")),
        (-1, pa.timestamp("ms"), pa.timestamp("s")),
    ],
)
def test_a_value_that_the_type_does_not_have(
    value: object, stored: pa.DataType, target: pa.DataType
) -> None:
    column = pa.array([None, value], stored)
    with pytest.raises(pymosaic.CorruptFileError, match="does not fit the type"):
        by_kernel(column, target)
    # Under a null there may be anything.
    validity = pa.array([True, False])
    hidden = pa.Array.from_buffers(stored, 2, [validity.buffers()[1], column.buffers()[1]])
    assert by_kernel(hidden, target).is_valid().to_pylist() == [True, False]


def test_every_half_comes_back_to_the_bit() -> None:
    halves = pa.array(np.arange(1 << 16, dtype=np.uint16).view(np.float16))
    found = pymosaic.read_table(written(pa.table({"a": halves})))["a"].chunk(0)
    assert found.buffers()[1].to_pybytes()[: 2 << 16] == halves.buffers()[1].to_pybytes()


def test_memory_is_charged() -> None:
    column = pa.array(["a" * 1000] * 1000)
    stored = pa.record_batch([column], ["a"])
    schema = pa.schema([("a", pa.large_string())])
    with pytest.raises(pymosaic.LimitExceededError):
        Restoration.between(stored.schema, schema, [0]).restored(stored, {}, 1 << 16)
    assert stored["a"].equals(column)


def test_a_batch_of_other_types_is_refused() -> None:
    stored, schema = pa.schema([("a", pa.int64())]), pa.schema([("a", pa.uint32())])
    restoration = Restoration.between(stored, schema, [0])
    with pytest.raises(ValueError, match="not of the schema"):
        restoration.restored(pa.record_batch({"a": pa.array([1], pa.int32())}), {}, LIMIT)


def test_what_only_changes_its_name() -> None:
    assert conversion_between(pa.int64(), pa.duration("ns")) == SAME
    named = pa.list_(pa.field("element", pa.int8(), nullable=False))
    assert conversion_between(pa.list_(pa.int8()), named) in (SAME, BY_ARROW)
    assert conversion_between(pa.string(), pa.dictionary(pa.int8(), pa.string())) == BY_ARROW
