"""Polars frames in and out."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import pymosaic
from pymosaic.interop.polars import _without_hints
from tests.datasets.building import Reads, bucket_range, write_files, write_row_groups
from tests.writing import written

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
    data = written(series.rename("a").to_frame())
    assert_frame_equal(frame(pymosaic.read_table(data)), series.rename("a").to_frame())
    found = frame(pymosaic.read_table(data, types="mosaic"))["a"]
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


def test_what_cannot_be_held_is_refused_with_advice() -> None:
    with pytest.raises(pymosaic.UnsupportedFeatureError, match=r"column 'a'.*flatten"):
        written(pl.DataFrame({"a": [{"x": 1}]}))


def test_durations_come_back() -> None:
    data = pl.DataFrame({"a": [datetime.timedelta(1), None, datetime.timedelta(microseconds=-1)]})
    assert frame(pymosaic.read_table(written(data))).equals(data)


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


class TestLazyFrames:
    """Queries over datasets: the plan of Polars decides what is read."""

    NAN = float("nan")

    @pytest.fixture
    def base(self, tmp_path: Path) -> Path:
        for year in (2023, 2024):
            write_row_groups(
                tmp_path / f"year={year}" / f"{year}.mosaic",
                [
                    {
                        "id": [year * 10 + i, year * 10 + i + 1],
                        "name": ["x", f"{i}"],
                        "score": [i / 2, self.NAN],
                        "flag": [None, i == 2],
                        "at": pa.array([i, 1000 * i + 1], pa.timestamp("ns")),
                        "unused": ["long text " * 100, "more"],
                    }
                    for i in (0, 2, 4)
                ],
                num_buckets=6,
                statistics=True,
            )
        return tmp_path

    def test_columns_and_conditions_are_pushed_down(self, base: Path, reads: Reads) -> None:
        path = base / "year=2024" / "2024.mosaic"
        expected = [bucket_range(path, "id", 2), bucket_range(path, "name", 2)]
        frame = pymosaic.scan_polars(base)
        reads.clear()
        query = frame.filter((pl.col("id") >= 20245) & (pl.col("year") == 2024)).select("name")
        assert query.collect()["name"].to_list() == ["4"]
        assert reads.ranges == expected

    def test_the_first_rows_are_read_from_the_first_file(self, base: Path, reads: Reads) -> None:
        frame = pymosaic.scan_polars(base)
        reads.clear()
        assert frame.select("id").head(2).collect()["id"].to_list() == [20230, 20231]
        assert reads.files == {"2023.mosaic"}

    @pytest.mark.parametrize(
        "predicate",
        [
            pl.col("name").is_in(["x", "2"]),
            ~pl.col("name").is_in(["x", "2"]),
            pl.col("name").is_in(["x", None]),
            pl.col("id").is_between(20231, 20240, closed="left"),
            pl.col("score") > 0.5,
            pl.col("score") < 0.5,
            pl.col("score") != 1.0,
            pl.col("score") == float("nan"),
            pl.col("score").is_nan(),
            pl.col("score").is_in([1.0, float("nan")]),
            pl.col("flag"),
            ~pl.col("flag"),
            pl.col("flag").is_null() & (pl.col("id") > 20232),
            pl.col("flag").is_not_null() | pl.col("name").str.starts_with("x"),
            (pl.lit(20232) < pl.col("id")) & (pl.col("id") != 20234),
            pl.col("at") > pl.lit(2001).cast(pl.Datetime("ns")),
            pl.col("at") == pl.lit(2001).cast(pl.Datetime("ns")),
            pl.col("id").cast(pl.String).str.ends_with("3"),
            pl.col("id") > pl.col("id").mean(),
            pl.lit(False),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("engine", ["in-memory", "streaming"])
    def test_rows_are_those_of_a_frame(self, base: Path, predicate: pl.Expr, engine: Any) -> None:
        whole = pl.DataFrame(pymosaic.dataset(base).scan().to_table())
        found = pymosaic.scan_polars(base).filter(predicate).select("id", "name", "year")
        expected = whole.filter(predicate).select("id", "name", "year")
        assert_frame_equal(found.collect(engine=engine), expected)

    def test_conditions_prune_row_groups(self, base: Path, reads: Reads) -> None:
        frame = pymosaic.scan_polars(base)
        reads.clear()
        at = pl.lit(4001).cast(pl.Datetime("ns"))
        for predicate in (
            pl.col("id").is_in([1, 2]),
            pl.col("id").is_between(1, 2),
            pl.col("name").is_null(),
            pl.col("at") > at,
            pl.col("score") < -1.0,
        ):
            assert frame.filter(predicate).select("id").collect().height == 0
        assert reads.ranges == []
        assert frame.filter(pl.col("at") >= at).select("id").collect().height == 2

    def test_a_frame_is_counted_sorted_and_joined(self, base: Path) -> None:
        frame = pymosaic.scan_polars(base)
        assert frame.select(pl.len()).collect().item() == 12
        assert frame.sort("id", descending=True).head(1).collect()["id"].item() == 20245
        assert frame.filter(pl.col("id") > 20231).head(3).collect().height == 3
        assert frame.join(frame, on="id").collect().height == 12

    def test_schema_and_options(self, base: Path) -> None:
        frame = pymosaic.scan_polars(base, partitioning=None)
        schema = frame.collect_schema()
        assert list(schema) == ["id", "name", "score", "flag", "at", "unused"]
        assert schema["at"] == pl.Datetime("ns")
        dataset = pymosaic.dataset(base)
        assert pymosaic.scan_polars(dataset).collect().shape == (12, 7)

    def test_frames_in_and_out(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"a.mosaic": pa.table(FRAME)})
        assert_frame_equal(pymosaic.scan_polars(tmp_path).collect(), FRAME)
        assert_frame_equal(pl.DataFrame(pymosaic.dataset(tmp_path).scan()), FRAME)

    def test_hints_that_cannot_be_evaluated_are_taken_out(self) -> None:
        hint = {"Display": {"inputs": [], "fmt_str": "dynamic_pred: 1"}}
        real = {"Column": "flag"}

        def both(left: Any, right: Any) -> Any:
            return {"BinaryExpr": {"left": left, "op": "And", "right": right}}

        assert _without_hints(hint) is None
        assert _without_hints(both(real, hint)) == real
        assert _without_hints(both(hint, both(real, real))) == both(real, real)
        assert _without_hints(both(real, real)) == both(real, real)
        assert _without_hints(both(both(real, hint), real)) == both(real, real)
