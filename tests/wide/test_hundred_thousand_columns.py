"""A hundred thousand columns, once through everything."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

import pymosaic

NUM_COLUMNS = 100_000


def test_a_hundred_thousand_columns() -> None:
    samples = [pa.array([i, None]) for i in range(10)]
    names = [f"feature_{i % 4}_{i:06}" for i in range(NUM_COLUMNS)]
    table = pa.table([samples[i % 10] for i in range(NUM_COLUMNS)], names=names)
    stream = io.BytesIO()
    pymosaic.write_table(table, stream)

    with pymosaic.MosaicFile(stream) as file:
        assert (file.num_columns, file.num_rows, file.num_buckets) == (NUM_COLUMNS, 2, 100)
        assert file.column_names == names
        assert file.schema.equals(table.schema)
        assert file.read(columns=["feature_3_000007"]).equals(table.select(["feature_3_000007"]))
        assert file.read(columns=names[::10_000]).equals(table.select(names[::10_000]))
        quarter = file.read(columns=["feature_2_*"])
        assert quarter.equals(table.select(names[2::4]))
        assert file.read().equals(table)
        with pytest.raises(pymosaic.ColumnNotFoundError, match="'feature_3_000007'"):
            file.read(columns=["feature_3_00007"])
