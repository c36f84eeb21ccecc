"""Payloads of long rows: what is written is read, and damage is an error."""

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.spark.jobs.payloads import Payload, read_counts

KEYS = [pa.int64(), pa.string()]
VALUES = [pa.float64(), pa.bool_(), pa.binary(), pa.decimal128(30, 2)]


def example(entities: int = 3) -> Payload:
    return Payload(
        [pa.array(range(entities)), pa.array(["é"] * entities).slice(0)],
        pa.array(["b", "", "a"]),
        np.array([0, entities - 1, 1, 1, 0]),
        np.array([2, 0, 1, 1, 2]),
        [
            pa.array([None, 9.0, 1.5, None, -0.0, 2.0], VALUES[0]).slice(1),
            pa.array([True, False, None, True, False], VALUES[1]),
            pa.array([b"x", b"", None, b"yz", b"w"], VALUES[2]),
            pa.array([None] * 5, VALUES[3]),
        ],
    )


def test_a_column_of_nulls_ends_like_any_other():
    data = example().emit()
    found = Payload.parse(pa.py_buffer(data), KEYS, VALUES)
    assert found.values[3].null_count == 5
    assert len(data) % 8 == 0


@pytest.mark.parametrize("start", [0, 7])
def test_slices_take_their_own_bytes_only(start):
    many = pa.array([f"text {n}" for n in range(1000)])
    column = many.slice(start, 5)
    payload = Payload([column], column, np.arange(5), np.arange(5), [column])
    data = payload.emit()
    assert len(data) < 500
    assert Payload.parse(pa.py_buffer(data), [pa.string()], [pa.string()]).values == [column]


@pytest.mark.parametrize("entities", [3, 1 << 16, (1 << 16) + 1])
def test_what_is_written_is_read(entities):
    payload = example(entities)
    found = Payload.parse(pa.py_buffer(payload.emit()), KEYS, VALUES)
    assert found.keys == payload.keys
    assert found.features == payload.features
    assert found.values == payload.values
    assert found.entity.tolist() == payload.entity.tolist()
    assert found.feature.tolist() == payload.feature.tolist()
    assert found.entity.itemsize == (2 if entities <= 1 << 16 else 4)
    assert found.emit() == payload.emit()


def test_damage_never_gets_further():
    data = example().emit()
    for size in range(len(data)):
        with pytest.raises(pymosaic.MosaicError):
            Payload.parse(pa.py_buffer(data[:size]), KEYS, VALUES)
    with pytest.raises(pymosaic.MosaicError, match="8 bytes too many"):
        Payload.parse(pa.py_buffer(data + bytes(8)), KEYS, VALUES)
    for place in range(len(data)):
        for change in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[place] ^= change
            try:
                found = Payload.parse(pa.py_buffer(bytes(damaged)), KEYS, VALUES)
            except pymosaic.MosaicError:
                continue
            assert found.entity.max() < len(found.keys[0])
            assert found.feature.max() < len(found.features)
            for column in (*found.keys, *found.values):
                column.validate()


def test_counts_of_damaged_messages_are_refused():
    with pytest.raises(pymosaic.MosaicError, match="ends early"):
        read_counts(bytes(20), 1)
    # Two names of no bytes, and no numbers.
    data = np.array([0, 0, 2, 0, 12, 0, 0, 0, 0], np.int64).tobytes()
    with pytest.raises(pymosaic.MosaicError, match="bytes for 2 numbers"):
        read_counts(data, 1)
