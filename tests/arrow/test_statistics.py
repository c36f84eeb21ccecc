from __future__ import annotations

import datetime
import math
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymosaic.arrow.statistics import ColumnStatistics, decode_value, make_statistics, order_key
from pymosaic.errors import CorruptFileError

INT64_MAX = 2**63 - 1


def big(value: int, width: int) -> bytes:
    return value.to_bytes(width, "big", signed=True)


def nanos(value: int) -> bytes:
    millis, rest = divmod(value, 1_000_000)
    return big(millis, 8) + big(rest, 4)


def statistics_of(scalar: pa.Scalar) -> ColumnStatistics:
    return ColumnStatistics(0, 1, scalar, scalar)


@pytest.mark.parametrize(
    ("data", "arrow_type", "value"),
    [
        (b"\x00", pa.bool_(), False),
        (b"\x01", pa.bool_(), True),
        (b"\x80", pa.bool_(), True),
        (b"\x80", pa.int8(), -128),
        (b"\x01\x02", pa.int16(), 258),
        (b"\xff\xff\xff\xfe", pa.int32(), -2),
        (big(-(2**63), 8), pa.int64(), -(2**63)),
        (struct.pack(">f", 1.5), pa.float32(), 1.5),
        (struct.pack(">d", -math.inf), pa.float64(), -math.inf),
        (big(19874, 4), pa.date32(), datetime.date(2024, 5, 31)),
        (big(-1, 4), pa.date32(), datetime.date(1969, 12, 31)),
        (big(86_399_999, 4), pa.time32("ms"), datetime.time(23, 59, 59, 999_000)),
        (big(-123, 8), pa.decimal128(3, 2), Decimal("-1.23")),
        (big(10**18 - 1, 8), pa.decimal128(18, -100), Decimal((0, (9,) * 18, 100))),
        (big(7, 8), pa.decimal128(18, -3), Decimal("7E+3")),
        (b"", pa.decimal128(19, 1), Decimal("0.0")),
        (b"\xff\x7f", pa.decimal128(38, 0), Decimal(-129)),
        (big(-1, 8), pa.timestamp("ms"), datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000)),
        (big(1, 8), pa.timestamp("us"), datetime.datetime(1970, 1, 1, 0, 0, 0, 1)),
        (nanos(-1000), pa.timestamp("ns"), datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)),
        ("zürich".encode(), pa.string(), "zürich"),
        (b"", pa.string(), ""),
        (b"\xff", pa.binary(), b"\xff"),
    ],
)
def test_bytes_become_typed_values(data: bytes, arrow_type: pa.DataType, value: object) -> None:
    scalar = decode_value(data, arrow_type)
    assert scalar.type == arrow_type
    statistics = make_statistics(arrow_type, 0, 5, data, data)
    for found in (statistics.min, statistics.max):
        assert found == value
        assert type(found) is type(value)


def test_the_specs_nanosecond_example() -> None:
    scalar = decode_value(bytes.fromhex("ffffffffffffffff000f423f"), pa.timestamp("ns"))
    assert scalar.value == -1


@pytest.mark.parametrize(
    ("data", "arrow_type", "reason"),
    [
        (b"", pa.bool_(), "takes 1 bytes, got 0"),
        (b"\x00\x00", pa.int8(), "takes 1 bytes, got 2"),
        (b"\x00\x00\x00", pa.int32(), "takes 4 bytes, got 3"),
        (bytes(4), pa.float64(), "takes 8 bytes, got 4"),
        (bytes(8), pa.float32(), "takes 4 bytes, got 8"),
        (bytes(8), pa.date32(), "takes 4 bytes, got 8"),
        (bytes(8), pa.timestamp("ns"), "takes 12 bytes, got 8"),
        (bytes(12), pa.timestamp("us"), "takes 8 bytes, got 12"),
        (bytes(7), pa.decimal128(18, 0), "takes 8 bytes, got 7"),
        (bytes(17), pa.decimal128(38, 0), "up to 16 bytes, got 17"),
        (big(86_400_000, 4), pa.time32("ms"), "not within a day"),
        (big(-1, 4), pa.time32("ms"), "not within a day"),
        (big(1000, 8), pa.decimal128(3, 2), "more than 3 digits"),
        (big(-1000, 8), pa.decimal128(3, 2), "more than 3 digits"),
        (big(-(2**127), 16), pa.decimal128(38, 0), "more than 38 digits"),
        (big(0, 8) + big(-1, 4), pa.timestamp("ns"), "0 to 999999, got -1"),
        (big(0, 8) + big(1_000_000, 4), pa.timestamp("ns"), "0 to 999999, got 1000000"),
        (big(INT64_MAX, 8) + big(0, 4), pa.timestamp("ns"), "beyond 64 bits"),
        (nanos(INT64_MAX + 1), pa.timestamp("ns"), "beyond 64 bits"),
        (nanos(-(2**63) - 1), pa.timestamp("ns"), "beyond 64 bits"),
        (b"ab\xff", pa.string(), "not UTF-8"),
        (b"\xed\xa0\x80", pa.string(), "not UTF-8"),
        (bytes(4), pa.list_(pa.int32()), "has a minimum or maximum"),
    ],
)
def test_what_is_no_value_of_the_type_is_corrupt(
    data: bytes, arrow_type: pa.DataType, reason: str
) -> None:
    with pytest.raises(CorruptFileError, match=reason) as caught:
        decode_value(data, arrow_type)
    assert caught.value.structure == "statistics"
    with pytest.raises(CorruptFileError, match=reason):
        make_statistics(arrow_type, 0, 5, data, data)


def test_utf8_error_tells_the_byte() -> None:
    with pytest.raises(CorruptFileError) as caught:
        decode_value(b"ab\xff", pa.string())
    assert caught.value.offset == 2


@pytest.mark.parametrize("value", [-(2**63), INT64_MAX, -1, 0, 999_999, -999_999, -1_000_000])
def test_nanosecond_timestamps_to_the_ends(value: int) -> None:
    assert decode_value(nanos(value), pa.timestamp("ns", "UTC")).value == value


NAN, ONE, TWO = (struct.pack(">d", value) for value in (math.nan, 1.0, 2.0))


@pytest.mark.parametrize(
    ("arrow_type", "low", "high"),
    [
        (pa.float64(), NAN, NAN),
        (pa.float64(), NAN, ONE),
        (pa.float64(), ONE, NAN),
        (pa.float64(), TWO, ONE),
        (pa.int8(), b"\x00", b"\xff"),
        (pa.bool_(), b"\x01", b"\x00"),
        (pa.string(), b"b", b"a"),
        (pa.decimal128(5, 2), big(1, 8), big(-1, 8)),
        (pa.timestamp("ns"), nanos(0), nanos(-1)),
        (pa.int8(), None, b"\x00"),
        (pa.int8(), b"\x00", None),
        (pa.int8(), None, None),
    ],
)
def test_doubtful_or_absent_values_are_left_out(
    arrow_type: pa.DataType, low: bytes | None, high: bytes | None
) -> None:
    statistics = make_statistics(arrow_type, 3, 5, low, high)
    assert statistics == ColumnStatistics(3, 5, None, None)
    assert not statistics.has_min_max
    assert (statistics.min, statistics.max) == (None, None)


def test_zeros_of_either_sign_are_not_doubtful() -> None:
    low, high = struct.pack(">d", 0.0), struct.pack(">d", -0.0)
    assert make_statistics(pa.float64(), 0, 2, low, high).has_min_max


@pytest.mark.parametrize(
    ("scalar", "expected"),
    [
        (pa.scalar(2**31 - 1, pa.date32()), np.datetime64(2**31 - 1, "D")),
        (pa.scalar(-(2**31), pa.date32()), np.datetime64(-(2**31), "D")),
        (pa.scalar(2**62, pa.timestamp("ms")), np.datetime64(2**62, "ms")),
        (pa.scalar(-(2**62), pa.timestamp("us", "UTC")), np.datetime64(-(2**62), "us")),
        (pa.scalar(1001, pa.timestamp("ns")), np.datetime64(1001, "ns")),
        (pa.scalar(1, pa.timestamp("ns", "Asia/Tokyo")), np.datetime64(1, "ns")),
        (pa.scalar(-(2**63), pa.timestamp("us")), -(2**63)),
    ],
)
def test_values_beyond_python_become_numpys(scalar: pa.Scalar, expected: object) -> None:
    statistics = statistics_of(scalar)
    assert statistics.min == statistics.max == expected
    assert type(statistics.min) is type(expected)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "+05:30", "No/Such_Zone", "nonsense"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_timestamps_with_a_zone_are_aware(unit: str, zone: str) -> None:
    value = statistics_of(pa.scalar(0, pa.timestamp(unit, zone))).min
    assert isinstance(value, datetime.datetime)
    assert type(value) is datetime.datetime
    assert value == datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def test_a_zone_that_leads_out_of_pythons_years_stays_utc() -> None:
    last = datetime.datetime(9999, 12, 31, 23, 59, tzinfo=datetime.UTC)
    millis = int(last.timestamp()) * 1000
    assert statistics_of(pa.scalar(millis, pa.timestamp("ms", "Asia/Tokyo"))).min == last


def scalars(arrow_type: pa.DataType, low: int, high: int) -> st.SearchStrategy[tuple[int, Any]]:
    return st.integers(low, high).map(lambda raw: (raw, pa.scalar(raw, arrow_type)))


@given(
    st.one_of(
        scalars(pa.date32(), -(2**31), 2**31 - 1),
        scalars(pa.time32("ms"), 0, 86_399_999),
        scalars(pa.timestamp("ms", "Europe/Oslo"), -(2**63), INT64_MAX),
        scalars(pa.timestamp("us"), -(2**63), INT64_MAX),
        scalars(pa.timestamp("ns", "Europe/Oslo"), -(2**63), INT64_MAX),
    )
)
def test_no_temporal_value_raises(pair: tuple[int, Any]) -> None:
    raw, scalar = pair
    assert order_key(scalar) == raw
    assert statistics_of(scalar).min is not None


@given(st.text(), st.text())
def test_strings_are_ordered_by_bytes(left: str, right: str) -> None:
    keys = [order_key(pa.scalar(text)) for text in (left, right)]
    assert keys == [left.encode(), right.encode()]
