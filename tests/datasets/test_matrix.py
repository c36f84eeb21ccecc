"""Matrices of datasets: files that differ, partitions, filters, limits and damage."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pymosaic
from pymosaic import DatasetError, InvalidDataError, InvalidOptionError, LimitExceededError
from pymosaic.testing import pieces


@pytest.fixture
def base(tmp_path):
    """Files of two days: one with a column more, one with a narrower type."""
    first = pa.table({"a": pa.array([1, 2, None], pa.int32()), "b": [0.5, 1.5, 2.5]})
    second = pa.table({"b": [3.5, None], "a": pa.array([4, 5], pa.int64()), "c": [True, False]})
    for name, table in (("day=1", first), ("day=2", second)):
        (tmp_path / name).mkdir()
        pymosaic.write_table(table, tmp_path / name / "x.mosaic", statistics=["a"])
    return tmp_path


NAN = float("nan")
ALL = [
    [1, 0.5, NAN, 1],
    [2, 1.5, NAN, 1],
    [NAN, 2.5, NAN, 1],
    [4, 3.5, 1, 2],
    [5, NAN, 0, 2],
]


def test_files_that_differ_make_one_matrix(base):
    matrix, names = pymosaic.dataset(base).scan().to_numpy()
    assert names == ["a", "b", "c", "day"]
    np.testing.assert_array_equal(matrix, np.array(ALL, "f4"))


def test_filters_limits_and_columns(base):
    scan = pymosaic.dataset(base).scan(filters=[("a", ">", 1)])
    matrix, names = scan.to_numpy(["day", "b"], dtype="float64", order="F")
    assert names == ["day", "b"]
    np.testing.assert_array_equal(matrix, [[1, 1.5], [2, 3.5], [2, NAN]])
    matrix, _ = pymosaic.dataset(base).scan(columns=["a"], limit=4).to_numpy(nulls=-1)
    assert matrix.tolist() == [[1], [2], [-1], [4]]
    matrix, _ = pymosaic.dataset(base).scan(filters=[("day", "=", 2)], limit=1).to_numpy(["c"])
    assert matrix.tolist() == [[1]]
    matrix, _ = pymosaic.dataset(base).scan(filters=[("a", ">", 99)]).to_numpy()
    assert matrix.shape == (0, 4)


def test_nulls_of_missing_columns_are_masked_or_refused(base):
    matrix, _ = (
        pymosaic.dataset(base).scan(columns=["a", "c"]).to_numpy(dtype="int64", nulls="mask")
    )
    assert np.ma.getmaskarray(matrix).tolist() == [
        [False, True],
        [False, True],
        [True, True],
        [False, False],
        [False, False],
    ]
    with pytest.raises(InvalidDataError, match="column 'c' has nulls"):
        pymosaic.dataset(base).scan(columns=["c"]).to_numpy(nulls="error")


def test_a_schema_of_the_users_is_kept_to(base, tmp_path):
    schema = pa.schema([pa.field("b", pa.float64()), pa.field("a", pa.int8())])
    matrix, names = pymosaic.dataset(base, schema=schema).scan(columns=["b", "a"]).to_numpy(nulls=0)
    assert names == ["b", "a"]
    assert matrix.tolist() == [[0.5, 1], [1.5, 2], [2.5, 0], [3.5, 4], [0, 5]]
    too_narrow = pa.schema([pa.field("b", pa.int8())])
    with pytest.raises(DatasetError, match="column 'b' does not fit int8"):
        pymosaic.dataset(base, schema=too_narrow).scan(columns=["b"]).to_numpy()


def test_large_numbers_are_rounded_however_they_are_converted(tmp_path):
    table = pa.table({"a": [2**53 + 1], "b": [1], "c": [1e300]})
    pymosaic.write_table(table, tmp_path / "x.mosaic")
    kinds = {"a": pa.int64(), "b": pa.int8(), "c": pa.float64()}
    scan = pymosaic.dataset(tmp_path, schema=pa.schema(kinds)).scan()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matrix, _ = scan.to_numpy()
        assert matrix.tolist() == [[2.0**53, 1, float("inf")]]
        assert scan.to_numpy(dtype="float64")[0].tolist() == [[2.0**53, 1, 1e300]]
    assert scan.to_numpy(["a"], dtype="int64", nulls=0)[0].tolist() == [[2**53 + 1]]


@pytest.mark.parametrize("columns", [["late"], ["day"]])
def test_rows_that_a_file_only_claims_do_not_fill_memory(columns, tmp_path):
    (tmp_path / "day=1").mkdir()
    index = pieces.row_group(1 << 22)
    content = pieces.forge(b"", pieces.schema(("a", pieces.INTEGER)), index)
    (tmp_path / "day=1" / "claims.mosaic").write_bytes(content)
    pymosaic.write_table(pa.table({"late": [1]}), tmp_path / "day=1" / "x.mosaic")
    limits = pymosaic.Limits(max_row_group_bytes=1 << 20)
    scan = pymosaic.dataset(tmp_path, limits=limits).scan(columns=columns)
    with pytest.raises(LimitExceededError, match=r"claims\.mosaic.*columns that the file lacks"):
        scan.to_numpy()


def test_row_groups_of_which_nothing_is_read_are_chosen_by_their_directory(base):
    with pymosaic.MosaicWriter(
        base / "day=1" / "y.mosaic", pa.schema({"b": pa.float64()}), row_group_bytes=1
    ) as writer:
        for number in range(3):
            writer.write(pa.table({"b": [number / 2]}))
    scan = pymosaic.dataset(base).scan(columns=["c", "day"], filters=[("day", "=", 1)])
    np.testing.assert_array_equal(scan.to_numpy()[0], [[NAN, 1]] * 6)


def test_dates_in_directories_are_days(tmp_path):
    table = pa.table({"x": [1], "day": [datetime.date(1970, 1, 11)]})
    pymosaic.write_dataset(table, tmp_path / "d", partition_by=["day"])
    matrix, names = pymosaic.dataset(tmp_path / "d").scan().to_numpy()
    assert dict(zip(names, matrix[0].tolist(), strict=True)) == {"x": 1, "day": 10}


def test_columns_that_are_not_numbers_are_named(tmp_path):
    pymosaic.write_dataset(
        pa.table({"x": [1], "city": ["Rome"]}), tmp_path / "d", partition_by=["city"]
    )
    with pytest.raises(InvalidDataError, match="column 'city' of type string"):
        pymosaic.dataset(tmp_path / "d").scan().to_numpy()


def test_damaged_row_groups_are_left_out_on_request(base):
    path = base / "day=1" / "x.mosaic"
    damaged = bytearray(path.read_bytes())
    damaged[2] ^= 0xFF
    path.write_bytes(damaged)
    scan = pymosaic.dataset(base, on_error="skip").scan()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        matrix, _ = scan.to_numpy()
    np.testing.assert_array_equal(matrix, np.array(ALL[3:], "f4"))
    assert any("skipped a row group" in str(item.message) for item in told)
    with pytest.raises(InvalidOptionError, match="out cannot be given with on_error='skip'"):
        scan.to_numpy(out=np.empty((5, 4), "f4"))


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    bound=st.integers(0, 100),
    limit=st.one_of(st.none(), st.integers(0, 120)),
    use_threads=st.booleans(),
)
def test_the_matrix_is_that_of_the_table(tmp_path_factory, sizes, bound, limit, use_threads):
    base = tmp_path_factory.mktemp("files")
    start = 0
    for number, size in enumerate(sizes):
        rows = np.arange(start, start + size)
        start += size
        table = pa.table({"n": rows, "half": rows / 2, "even": rows % 2 == 0})
        pymosaic.write_table(table.select(range(3 - number % 2)), base / f"{number}.mosaic")
    scan = pymosaic.dataset(base).scan(filters=[("n", "<", bound)], limit=limit)
    matrix, names = scan.to_numpy(dtype="float64", use_threads=use_threads)
    want = scan.to_table()
    assert names == want.column_names
    for place, column in enumerate(want.columns):
        values = column.cast(pa.float64()).to_numpy()
        np.testing.assert_array_equal(matrix[:, place], values)
