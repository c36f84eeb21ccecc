"""Cells of wide rows: fixed widths are copied as others are taken."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from pymosaic.spark.jobs.cells import feature_numbers, in_cells

DAY = datetime.date(2024, 5, 1)
VALUES = {
    pa.int8(): [1, -2, 3, 4],
    pa.int16(): [1, -2, 3, 4],
    pa.float32(): [0.5, -0.0, 1.0, 2.0],
    pa.float64(): [0.5, -0.0, 1.0, 2.0],
    pa.date32(): [DAY] * 4,
    pa.timestamp("us", "UTC"): [0, 1, -1, 2**40],
    pa.decimal128(30, 2): [Decimal("1.25"), Decimal("-7.50"), Decimal(0), Decimal(10**20)],
    pa.bool_(): [True, False, True, True],
    pa.string(): ["", "é", "abc", "d"],
    pa.list_(pa.int32()): [[], [1, None], [2], [3, 4]],
}


@pytest.mark.parametrize("data_type", VALUES, ids=str)
def test_values_are_in_their_cells_and_others_are_null(data_type):
    values = pa.array(VALUES[data_type], data_type)
    cells = [np.array([4, 0]), np.array([], np.int64), np.array([2])]
    found = in_cells(data_type, [values.slice(1, 2), values.slice(0, 0), values.slice(3)], cells, 6)
    found.validate(full=True)
    assert found.type == data_type
    assert (
        found.to_pylist()
        == pa.concat_arrays(
            [
                values.slice(2, 1),
                pa.nulls(1, data_type),
                values.slice(3),
                pa.nulls(1, data_type),
                values.slice(1, 1),
                pa.nulls(1, data_type),
            ]
        ).to_pylist()
    )
    full = in_cells(data_type, [values], [np.arange(4)], 4)
    assert full.equals(values)
    assert in_cells(data_type, [], [], 2).null_count == 2


def test_features_have_their_place_among_all():
    assert feature_numbers(pa.array(["b", "x", "a"]), pa.array(["a", "b"])).tolist() == [1, -1, 0]
