"""Arrays of plain values are those that pyarrow makes."""

from __future__ import annotations

import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymosaic.arrow.plain_arrays import plain_array, plain_scalar

INTEGERS = [
    *((pa_type, pa_type) for pa_type in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    (pa.date32(), pa.int32()),
    (pa.time32("ms"), pa.int32()),
    (pa.timestamp("us"), pa.int64()),
    (pa.timestamp("ns", "UTC"), pa.int64()),
]


def same(found: pa.Array, expected: pa.Array) -> None:
    found.validate(full=True)
    assert found.type == expected.type
    assert found.equals(expected)


@pytest.mark.parametrize(("arrow_type", "stored"), INTEGERS, ids=str)
@given(data=st.data())
def test_integers(data, arrow_type, stored) -> None:
    limit = 1 << (stored.bit_width - 1)
    values = data.draw(st.lists(st.integers(-limit, limit - 1), max_size=20))
    if pa.types.is_time32(arrow_type):
        values = [value % 86_400_000 for value in values]
    same(plain_array(values, arrow_type), pa.array(values, stored).view(arrow_type))


@given(st.lists(st.integers(0, 255), max_size=20))
def test_unsigned_integers(values) -> None:
    same(plain_array(values, pa.uint8()), pa.array(values, pa.uint8()))


@given(st.lists(st.booleans(), max_size=70))
def test_booleans(values) -> None:
    same(plain_array(values, pa.bool_()), pa.array(values, pa.bool_()))


@pytest.mark.parametrize(("arrow_type", "width"), [(pa.float32(), 32), (pa.float64(), 64)])
@given(data=st.data())
def test_floats(data, arrow_type, width) -> None:
    values = data.draw(st.lists(st.floats(width=width), max_size=20))
    found, expected = plain_array(values, arrow_type), pa.array(values, arrow_type)
    assert found.to_numpy().tobytes() == expected.to_numpy().tobytes()


@given(st.lists(st.binary(max_size=9), max_size=20))
def test_binary(values) -> None:
    same(plain_array(values, pa.binary()), pa.array(values, pa.binary()))


@given(st.lists(st.text(max_size=9), max_size=20))
def test_text(values) -> None:
    same(plain_array([x.encode() for x in values], pa.string()), pa.array(values, pa.string()))


@given(st.lists(st.integers(1 - 10**38, 10**38 - 1), max_size=20))
def test_decimals(values) -> None:
    arrow_type = pa.decimal128(38, 0)
    same(plain_array(values, arrow_type), pa.array([Decimal(x) for x in values], arrow_type))


def test_one_value() -> None:
    assert plain_scalar(True, pa.bool_()).equals(pa.scalar(True))
    assert plain_scalar(-5, pa.decimal128(3, -2)).as_py() == Decimal("-5E+2")


@pytest.mark.parametrize(("value", "arrow_type"), [(128, pa.int8()), (-1, pa.uint8())])
def test_a_value_beyond_the_range_is_refused(value, arrow_type) -> None:
    with pytest.raises(struct.error):
        plain_array([value], arrow_type)
