"""pandas frames in and out: dtypes, indexes, missing values."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pandas.testing import assert_frame_equal, assert_index_equal

import pymosaic
from pymosaic.file.reader import Types
from tests.datasets.building import Reads, bucket_range
from tests.writing import written


def through_a_file(data: Any, types: Types = "arrow") -> pa.Table:
    return pymosaic.read_table(written(data), types=types)


NUMPY = pd.DataFrame(
    {
        "int64": [1, -2, 3],
        "int8": np.array([1, -2, 3], np.int8),
        "float32": np.array([0.5, np.nan, np.inf], np.float32),
        "float64": [0.5, -0.0, np.inf],
        "bool": [True, False, True],
        "text": ["a", "ä", ""],
        "time": pd.to_datetime([1, -1, 1 << 50], unit="us"),
        "zoned": pd.to_datetime(["2024-05-31", "2024-06-01", "2024-06-02"]).tz_localize(
            "Asia/Tokyo"
        ),
    }
)

NULLABLE = pd.DataFrame(
    {
        "Int64": pd.array([1, None, -3], "Int64"),
        "UInt8": pd.array([1, None, 255], "UInt8"),
        "Float32": pd.array([0.5, None, 2.5], "Float32"),
        "boolean": pd.array([True, None, False], "boolean"),
        "string": pd.array(["a", None, ""], "string"),
    }
)

ARROW = pd.DataFrame(
    {
        "int32": pd.array([1, None, 3], pd.ArrowDtype(pa.int32())),
        "date32": pd.array([0, None, 20_000], pd.ArrowDtype(pa.int32())).astype(
            pd.ArrowDtype(pa.date32())
        ),
        "decimal": pd.array(["1.25", None, "-2.50"], pd.ArrowDtype(pa.string())).astype(
            pd.ArrowDtype(pa.decimal128(9, 2))
        ),
        "list": pd.Series([[1, 2], None, []], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
        "text": pd.array(["a", None, "b"], pd.ArrowDtype(pa.string())),
    }
)


class TestValues:
    def test_numpy_columns(self) -> None:
        back = through_a_file(NUMPY).to_pandas()
        assert_frame_equal(back, NUMPY, check_dtype=True)

    def test_nullable_columns(self) -> None:
        assert_frame_equal(through_a_file(NULLABLE).to_pandas(), NULLABLE)
        back = through_a_file(NULLABLE, "mosaic").to_pandas(
            types_mapper={
                pa.int64(): pd.Int64Dtype(),
                pa.int16(): pd.Int16Dtype(),  # uint8 is widened
                pa.float32(): pd.Float32Dtype(),
                pa.bool_(): pd.BooleanDtype(),
                pa.string(): pd.StringDtype(),
            }.get
        )
        assert_frame_equal(back, NULLABLE.astype({"UInt8": "Int16"}))

    def test_arrow_columns(self) -> None:
        assert_frame_equal(through_a_file(ARROW).to_pandas(types_mapper=pd.ArrowDtype), ARROW)

    def test_missing_values_of_every_kind_are_null(self) -> None:
        frame = pd.DataFrame(
            {
                "float": [1.0, np.nan],
                "text": ["a", None],
                "time": [pd.Timestamp("2024-05-31"), pd.NaT],
                "nullable": pd.array([1, pd.NA], "Int64"),
            }
        )
        table = through_a_file(frame)
        assert [column.null_count for column in table.columns] == [1, 1, 1, 1]

    def test_categories(self) -> None:
        frame = pd.DataFrame(
            {
                "words": pd.Categorical(["x", "y", None, "x"], categories=["y", "x", "unused"]),
                "numbers": pd.Categorical([20, 10, 20, None]),
            }
        )
        assert_frame_equal(through_a_file(frame).to_pandas(), frame)
        table = through_a_file(frame, "mosaic")
        assert table["words"].to_pylist() == ["x", "y", None, "x"]
        assert table["numbers"].to_pylist() == [20, 10, 20, None]
        assert [field.type for field in table.schema] == [pa.string(), pa.int64()]

    def test_nanoseconds_are_kept(self) -> None:
        frame = pd.DataFrame({"t": pd.Series([1, -1]).astype("datetime64[ns]")})
        table = through_a_file(frame)
        assert table.schema.field("t").type == pa.timestamp("ns")
        assert_frame_equal(table.to_pandas(), frame)

    def test_mixed_objects_are_pandas_own_error(self) -> None:
        with pytest.raises(pa.ArrowException):
            written(pd.DataFrame({"a": [1, "x"]}, dtype=object))

    def test_durations_come_back(self) -> None:
        frame = pd.DataFrame({"a": pd.to_timedelta([1, None, -2])})
        found = pymosaic.read_table(written(frame)).to_pandas()
        pd.testing.assert_frame_equal(found, frame)

    def test_a_series_is_no_table(self) -> None:
        with pytest.raises(pymosaic.InvalidDataError, match="Series"):
            written(pd.Series([1, 2], name="a"))


class TestIndexes:
    def test_a_default_index_is_not_stored(self) -> None:
        assert through_a_file(NUMPY).column_names == list(NUMPY.columns)

    def test_a_named_index(self) -> None:
        frame = NULLABLE.set_index(pd.Index([10, 20, 35], name="id"))
        table = through_a_file(frame)
        assert table.column_names == [*NULLABLE.columns, "id"]
        assert_frame_equal(table.to_pandas(), frame)
        back = through_a_file(frame, "mosaic").to_pandas().set_index("id")
        assert_index_equal(back.index, frame.index)

    def test_an_index_without_a_name_is_a_column_too(self) -> None:
        table = through_a_file(NUMPY.set_index(pd.Index(["r1", "r2", "r3"])))
        assert table["__index_level_0__"].to_pylist() == ["r1", "r2", "r3"]

    def test_levels_of_an_index(self) -> None:
        frame = NUMPY.set_index(["text", "int8"])
        assert_frame_equal(through_a_file(frame).to_pandas(), frame)
        stored = through_a_file(frame, "mosaic").to_pandas()
        assert_frame_equal(stored.set_index(["text", "int8"]), frame)

    @pytest.mark.parametrize(
        ("index", "column"),
        [
            (pd.RangeIndex(10, 13), "__index_level_0__"),
            (pd.RangeIndex(0, 6, 2), "__index_level_0__"),
            (pd.RangeIndex(0, 3, name="id"), "id"),
            (pd.RangeIndex(2, -1, -1, name="id"), "id"),
        ],
        ids=str,
    )
    def test_a_range_that_is_not_the_default_is_a_column(
        self, index: pd.Index, column: str
    ) -> None:
        table = through_a_file(NULLABLE.set_index(index))
        assert table.column_names == [*NULLABLE.columns, column]
        assert table[column].to_pylist() == list(index)

    def test_a_writer_takes_parts_of_a_frame_without_their_ranges(self) -> None:
        stream = io.BytesIO()
        schema = pa.Schema.from_pandas(NUMPY)
        with pymosaic.MosaicWriter(stream, schema) as writer:
            writer.write(NUMPY.iloc[:2])
            writer.write(NUMPY.iloc[2:])
        assert_frame_equal(pymosaic.read_table(stream).to_pandas(), NUMPY)

    def test_a_writer_keeps_a_range_that_its_schema_has(self) -> None:
        stream = io.BytesIO()
        frame = pd.DataFrame({"n": [1, 2]}, index=pd.RangeIndex(5, 7, name="id"))
        with pymosaic.MosaicWriter(
            stream, pa.schema({"id": pa.int64(), "n": pa.int64()})
        ) as writer:
            writer.write(frame)
        assert pymosaic.read_table(stream).to_pydict() == {"id": [5, 6], "n": [1, 2]}


class TestReadPandas:
    def test_numpy_columns_by_default(self, tmp_path: Path) -> None:
        pymosaic.write_table(NUMPY, tmp_path / "a.mosaic")
        assert_frame_equal(pymosaic.read_pandas(tmp_path), NUMPY)

    def test_arrow_columns_pass_through(self, tmp_path: Path) -> None:
        pymosaic.write_table(ARROW, tmp_path / "a.mosaic")
        frame = pymosaic.read_pandas(tmp_path / "a.mosaic", dtype_backend="pyarrow")
        assert_frame_equal(frame, ARROW)

    def test_nullable_columns(self, tmp_path: Path) -> None:
        pymosaic.write_table(NULLABLE, tmp_path / "a.mosaic")
        frame = pymosaic.read_pandas(tmp_path, dtype_backend="numpy_nullable")
        assert_frame_equal(frame, NULLABLE)
        frame = pymosaic.read_pandas(tmp_path, dtype_backend="numpy_nullable", types="mosaic")
        assert_frame_equal(frame, NULLABLE.astype({"UInt8": "Int16"}))

    def test_another_backend_is_refused(self, tmp_path: Path) -> None:
        pymosaic.write_table(NUMPY, tmp_path / "a.mosaic")
        with pytest.raises(pymosaic.InvalidOptionError, match="dtype_backend must be"):
            pymosaic.read_pandas(tmp_path, dtype_backend="numpy")

    @pytest.mark.parametrize(
        "index",
        [
            pd.RangeIndex(10, 13),
            pd.Index(["r1", "r2", "r3"]),
            pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")]),
        ],
        ids=["range", "text", "levels"],
    )
    def test_an_index_without_a_name_is_the_index_again(
        self, tmp_path: Path, index: pd.Index
    ) -> None:
        frame = NUMPY.set_index(index)
        pymosaic.write_table(frame, tmp_path / "a.mosaic")
        back = pymosaic.read_pandas(tmp_path)
        assert_frame_equal(back, frame, check_index_type=False)

    def test_columns_become_the_index_on_request(self, tmp_path: Path) -> None:
        frame = NUMPY.set_index(["text", "int8"])
        pymosaic.write_table(frame, tmp_path / "a.mosaic")
        assert_frame_equal(pymosaic.read_pandas(tmp_path), frame)
        back = pymosaic.read_pandas(tmp_path, index="text")
        assert_frame_equal(back, frame.reset_index("int8")[back.columns])
        for types in ("arrow", "mosaic"):
            back = pymosaic.read_pandas(tmp_path, index=["text", "int8"], types=types)
            assert_frame_equal(back, frame)
        stored = pymosaic.read_pandas(tmp_path, types="mosaic")
        assert stored.index.equals(pd.RangeIndex(3))

    def test_what_is_not_asked_for_is_not_read(self, tmp_path: Path, reads: Reads) -> None:
        path = tmp_path / "a.mosaic"
        pymosaic.write_table(NUMPY, path, num_buckets=8, statistics=True)
        expected = [bucket_range(path, name) for name in ("int64", "text")]
        dataset = pymosaic.dataset(path)
        reads.clear()
        frame = pymosaic.read_pandas(dataset, columns=["text"], filters=[("int64", ">", 1)])
        assert frame["text"].tolist() == [""]
        assert sorted(reads.ranges) == sorted(expected)
        reads.clear()
        assert pymosaic.read_pandas(dataset, filters=[("int64", ">", 9)]).empty
        assert reads.ranges == []


class TestShapes:
    def test_no_rows(self) -> None:
        table = through_a_file(NUMPY.iloc[:0])
        assert table.num_rows == 0
        assert table.column_names == list(NUMPY.columns)

    def test_a_part_of_a_frame(self) -> None:
        part = NUMPY.iloc[1:][["text", "int64"]].reset_index(drop=True)
        assert_frame_equal(through_a_file(part).to_pandas(), part)

    def test_a_file_is_a_frame_to_pandas(self) -> None:
        with pymosaic.MosaicFile(written(NUMPY)) as file:
            assert_frame_equal(pa.table(file).to_pandas(), NUMPY)

    def test_a_selection_reaches_pandas(self) -> None:
        table = pymosaic.read_table(
            written(NUMPY, statistics=True), columns=["text", "int*"], filters=[("int64", ">", 0)]
        )
        expected = NUMPY[NUMPY["int64"] > 0][["text", "int64", "int8"]].reset_index(drop=True)
        assert_frame_equal(table.to_pandas(), expected)
