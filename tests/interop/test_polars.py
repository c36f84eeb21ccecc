"""Polars frames in and out."""

from __future__ import annotations

import datetime
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import pymosaic

FRAME = pl.DataFrame(
    {
        "string": ["short", None, "long enough to be kept outside of the view"],
        "binary": [b"x", None, b"\x00" * 20],
        "int": pl.Series([1, None, -3], dtype=pl.Int32),
        "float": [0.5, None, float("inf")],
        "bool": [True, None, False],
        "date": [datetime.date(2024, 5, 31), None, datetime.date(1900, 1, 1)],
        "datetime": [datetime.datetime(2024, 5, 31, 12, 0, 0, 1), None, None],
        "zoned": pl.Series([datetime.datetime(2024, 5, 31), None, None]).dt.replace_time_zone(
            "Europe/Berlin"
        ),
        "nanos": pl.Series([1, None, -1], dtype=pl.Int64).cast(pl.Datetime("ns")),
        "decimal": pl.Series(["1.25", None, "-2.50"]).cast(pl.Decimal(10, 2)),
        "list": [[1, 2], None, []],
        "nested": [[["a"], []], None, [[None]]],
    }
)


def written(data: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    pymosaic.write_table(data, stream, **options)
    return stream.getvalue()


def test_a_frame_comes_back_as_it_was() -> None:
    with pymosaic.MosaicFile(written(FRAME)) as file:
        assert_frame_equal(pl.DataFrame(file), FRAME)


def test_a_table_read_is_a_frame_of_the_same_values() -> None:
    assert_frame_equal(frame(pymosaic.read_table(written(FRAME))), FRAME)


def test_a_writer_takes_frames(tmp_path: Path) -> None:
    path = tmp_path / "frames.mosaic"
    with pymosaic.MosaicWriter(path, pa.table(FRAME).schema) as writer:
        writer.write(FRAME)
        writer.write(FRAME.select(reversed(FRAME.columns)))
    with pymosaic.MosaicFile(path) as file:
        assert_frame_equal(pl.DataFrame(file), pl.concat([FRAME, FRAME]))


@pytest.mark.parametrize(
    "data",
    [
        pl.concat([FRAME, FRAME], rechunk=False),
        FRAME.slice(1),
        FRAME.slice(2, 1),
        FRAME.clear(),
        FRAME.select("list", "string"),
        pl.concat([FRAME.slice(1), FRAME.slice(0, 1)], rechunk=False),
    ],
    ids=["chunks", "a slice", "the end", "no rows", "some columns", "chunks of slices"],
)
def test_chunks_and_slices(data: pl.DataFrame) -> None:
    with pymosaic.MosaicFile(written(data)) as file:
        assert_frame_equal(pl.DataFrame(file), data)


@pytest.mark.parametrize(
    ("series", "widened"),
    [
        (pl.Series(["x", "y", None, "x"], dtype=pl.Categorical), pl.String),
        (pl.Series(["x", "y", None, "x"], dtype=pl.Enum(["y", "x"])), pl.String),
        (pl.Series([0, None, 255], dtype=pl.UInt8), pl.Int16),
        (pl.Series([0, None, 65535], dtype=pl.UInt16), pl.Int32),
        (pl.Series([0, None, (1 << 32) - 1], dtype=pl.UInt32), pl.Int64),
        (pl.Series([0, None, (1 << 64) - 1], dtype=pl.UInt64), pl.Decimal(20, 0)),
        (pl.Series([None, None], dtype=pl.Null), pl.String),
        (pl.Series([[1, 2], None], dtype=pl.Array(pl.Int8, 2)), pl.List(pl.Int8)),
        (pl.Series([["x"], None], dtype=pl.List(pl.Categorical)), pl.List(pl.String)),
    ],
    ids=lambda value: str(getattr(value, "dtype", value)),
)
def test_what_the_format_lacks_is_widened_without_loss(
    series: pl.Series, widened: pl.DataType
) -> None:
    table = pymosaic.read_table(written(series.rename("a").to_frame()))
    found = frame(table)["a"]
    assert found.dtype == widened
    values = [Decimal(v) if widened == pl.Decimal(20, 0) and v is not None else v for v in series]
    expected = [v.to_list() if isinstance(v, pl.Series) else v for v in values]
    assert found.to_list() == expected


def test_time_of_day_is_kept_to_the_millisecond() -> None:
    noon = pl.DataFrame({"t": [datetime.time(12, 0, 0, 1000), None]})
    assert frame(pymosaic.read_table(written(noon)))["t"].to_list() == noon["t"].to_list()
    finer = pl.DataFrame({"t": [datetime.time(12, 0, 0, 1)]})
    with pytest.raises(pymosaic.InvalidDataError, match=r"column 't'.*millisecond"):
        written(finer)


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        (pl.DataFrame({"a": [{"x": 1}]}), "flatten"),
        (pl.DataFrame({"a": [datetime.timedelta(1)]}), "int64"),
    ],
)
def test_what_cannot_be_held_is_refused_with_advice(data: pl.DataFrame, advice: str) -> None:
    with pytest.raises(pymosaic.UnsupportedFeatureError, match="column 'a'") as caught:
        written(data)
    assert advice in str(caught.value)


def test_a_series_is_no_table() -> None:
    with pytest.raises(pymosaic.InvalidDataError, match="Series"):
        written(pl.Series("a", [1, 2]))


def test_a_selection_reaches_polars() -> None:
    data = written(FRAME, statistics=["int"])
    table = pymosaic.read_table(data, columns=["s*", "int"], filters=[("int", ">", 0)])
    assert_frame_equal(frame(table), FRAME.select("string", "int").filter(pl.col("int") > 0))


def frame(table: pa.Table) -> pl.DataFrame:
    result = pl.from_arrow(table)
    assert isinstance(result, pl.DataFrame)
    return result
