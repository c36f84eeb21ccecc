"""Columns of numbers as a matrix: the same values as Arrow's, in every order and type."""

from __future__ import annotations

import datetime
import decimal
import io
import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pymosaic
from pymosaic import InvalidDataError, InvalidOptionError, LimitExceededError
from pymosaic.kernels.arrow_export import BatchExport
from pymosaic.kernels.matrix import fill
from pymosaic.testing.pieces import INTEGER, ONE_TWO, entry, forge, row_group, schema
from tests.io_pattern.recording import opened

NUMBERS = [
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.date32(),
    pa.decimal128(9, 2),
    pa.decimal128(38, 10),
]
WHOLE = [*NUMBERS[:5], pa.date32()]


def values(arrow_type: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a type, and null."""
    if pa.types.is_boolean(arrow_type):
        found: st.SearchStrategy[Any] = st.booleans()
    elif pa.types.is_integer(arrow_type):
        bound = 2 ** (arrow_type.bit_width - 1)
        found = st.integers(-bound, bound - 1)
    elif pa.types.is_floating(arrow_type):
        found = st.floats(width=arrow_type.bit_width)
    elif pa.types.is_date32(arrow_type):
        found = st.dates()
    else:
        bound = 10**arrow_type.precision - 1
        found = st.integers(-bound, bound).map(
            lambda number: decimal.Decimal(number).scaleb(
                -arrow_type.scale, decimal.Context(prec=60)
            )
        )
    return st.one_of(st.none(), found)


@st.composite
def tables(draw: st.DrawFn, kinds: list[pa.DataType]) -> pa.Table:
    types = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=12))
    num_rows = draw(st.integers(0, 150))
    seeds = {
        f"c{place}": draw(st.lists(values(item), min_size=1, max_size=9))
        for place, item in enumerate(types)
    }
    columns = {
        name: pa.array([seed[row % len(seed)] for row in range(num_rows)], item)
        for (name, seed), item in zip(seeds.items(), types, strict=True)
    }
    return pa.table(columns)


def written(table: pa.Table, row_groups: int, **options: Any) -> bytes:
    target = io.BytesIO()
    step = max(1, -(-table.num_rows // row_groups))
    with pymosaic.MosaicWriter(target, table.schema, row_group_bytes=1, **options) as writer:
        for start in range(0, table.num_rows, step):
            writer.write(table.slice(start, step))
    return target.getvalue()


def expected(table: pa.Table, dtype: str, null: float) -> np.ndarray:
    """What Arrow and numpy make of it, column by column."""
    columns = []
    for column in table.columns:
        array = column.combine_chunks()
        if pa.types.is_date32(array.type):
            array = array.cast(pa.int32())
        if pa.types.is_decimal(array.type):
            numbers = [0.0 if item is None else float(item) for item in array.to_pylist()]
            column_values = np.array(numbers, "float64").astype(dtype)
        else:
            filled = pc.fill_null(array, pa.scalar(0, pa.int8()).cast(array.type))
            with np.errstate(over="ignore"):
                column_values = filled.to_numpy(zero_copy_only=False).astype(dtype)
        nulls = array.is_null().to_numpy(zero_copy_only=False)
        columns.append(np.where(nulls, np.array(null, dtype), column_values))
    shape = (table.num_rows, table.num_columns)
    return np.array(columns, dtype).T.reshape(shape) if columns else np.empty(shape, dtype)


@settings(deadline=None)
@given(
    table=tables(NUMBERS),
    dtype=st.sampled_from(["float32", "float64"]),
    order=st.sampled_from("CF"),
    row_groups=st.integers(1, 3),
    num_buckets=st.integers(1, 4),
)
def test_a_matrix_has_the_values_of_arrow(table, dtype, order, row_groups, num_buckets):
    data = written(table, row_groups, num_buckets=num_buckets)
    matrix, names = pymosaic.MosaicFile(data).to_numpy(dtype=dtype, order=order)
    assert names == table.column_names
    assert matrix.dtype == dtype
    assert matrix.flags.c_contiguous if order == "C" else matrix.flags.f_contiguous
    # Decimals of more than 53 bits are rounded twice.
    np.testing.assert_allclose(matrix, expected(table, dtype, np.nan), rtol=3e-16, atol=0)


@settings(deadline=None)
@given(
    table=tables(WHOLE),
    null=st.sampled_from([0, -1, 7]),
    mask=st.booleans(),
    rows=st.integers(1, 3),
)
def test_whole_numbers_are_exact_and_nulls_what_is_asked_for(table, null, mask, rows):
    data = written(table, rows)
    matrix, _ = pymosaic.MosaicFile(data).to_numpy(dtype="int64", nulls="mask" if mask else null)
    assert matrix.dtype == np.int64
    if mask:
        assert isinstance(matrix, np.ma.MaskedArray)
        nulls = [column.is_null().to_numpy() for column in table.columns]
        shape = (table.num_rows, table.num_columns)
        np.testing.assert_array_equal(np.ma.getmaskarray(matrix), np.array(nulls).T.reshape(shape))
        matrix = matrix.filled(null)
    np.testing.assert_array_equal(matrix, expected(table, "int64", null))


@settings(deadline=None)
@given(table=tables(NUMBERS), data=st.data(), row_groups=st.integers(1, 3))
def test_columns_and_filters_choose(table, data, row_groups):
    table = table.append_column("key", pa.array(np.arange(table.num_rows) % 5))
    chosen = data.draw(st.lists(st.sampled_from(table.column_names), unique=True))
    wanted = data.draw(st.integers(-1, 6))
    file = pymosaic.MosaicFile(written(table, row_groups, statistics=["key"]))
    matrix, names = file.to_numpy(chosen, filters=[("key", "<", wanted)], dtype="float64")
    assert names == chosen
    rows = table.filter(pc.field("key") < wanted).select(chosen)
    np.testing.assert_allclose(matrix, expected(rows, "float64", np.nan), rtol=3e-16, atol=0)


def test_paged_buckets_and_threads_give_the_same():
    random = np.random.default_rng(5)
    table = pa.table({f"c{place:04d}": random.normal(size=300) for place in range(700)})
    target = io.BytesIO()
    pymosaic.write_table(table, target, num_buckets=3, page_size_threshold=0)
    file = pymosaic.MosaicFile(target.getvalue())
    want = np.column_stack([column.to_numpy() for column in table.columns])
    for use_threads in (True, False):
        matrix, _ = file.to_numpy(dtype="float64", use_threads=use_threads)
        np.testing.assert_array_equal(matrix, want)
    part, _ = file.to_numpy(["c0699", "c0003"], dtype="float64")
    np.testing.assert_array_equal(part, want[:, [699, 3]])


class TestMemory:
    def file(self) -> pymosaic.MosaicFile:
        return pymosaic.MosaicFile(written(pa.table({"x": [1.5, None, 3.0], "y": [4, 5, 6]}), 2))

    def test_numbers_go_where_the_caller_says(self):
        memory = np.full((6, 4), -9.0)
        out = memory[::2, 1:3]
        matrix, _ = self.file().to_numpy(dtype="float64", nulls=0, out=out)
        assert matrix is out
        assert memory[::2, 1:3].tolist() == [[1.5, 4], [0, 5], [3, 6]]
        assert (memory[1::2] == -9).all()
        assert (memory[:, [0, 3]] == -9).all()

    @pytest.mark.parametrize(
        ("out", "message"),
        [
            (np.empty((2, 2), "f4"), r"out must have shape \(3, 2\) and dtype float32, got"),
            (np.empty((3, 2), "f8"), "got .* and float64"),
            (np.empty((3, 2), ">f4"), "got .* and >f4"),
            ([[1]], "out must be a numpy array, got list"),
            (np.broadcast_to(np.float32(0), (3, 2)), "out must be writeable"),
        ],
    )
    def test_memory_that_does_not_fit_is_refused(self, out, message):
        with pytest.raises(InvalidOptionError, match=message):
            self.file().to_numpy(out=out)

    def test_what_a_filter_has_read_is_not_kept(self):
        random = np.random.default_rng(3)
        table = pa.table({f"c{place}": random.integers(0, 1 << 40, 4000) for place in range(20)})
        data = written(table, 40, num_buckets=1, page_size_threshold=1 << 30)
        file = pymosaic.MosaicFile(data)
        file.to_numpy(["c0"], filters=[("c1", "=", 0)])
        peaks = []
        for _ in range(3):
            tracemalloc.start()
            try:
                matrix, _ = file.to_numpy(["c0"], filters=[("c1", "<", 1 << 36)])
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        assert 0 < len(matrix) < 1000
        # Much less than the buckets of all row groups. What else the process allocates may be in
        # one of these, such as a dictionary of its own that grows.
        assert min(peaks) < table.nbytes // 2

    def test_a_matrix_keeps_to_the_limits(self):
        data = written(pa.table({"x": range(1000)}), 1)
        file = pymosaic.MosaicFile(data, limits=pymosaic.Limits(max_table_bytes=3999))
        with pytest.raises(LimitExceededError, match=r"takes 4000 bytes, more than .*\(3999\)"):
            file.to_numpy()

    def test_a_matrix_beyond_memory_is_told(self, monkeypatch):
        class NoMemory:
            def __getattr__(self, name: str) -> object:
                return getattr(np, name)

            def empty(self, *arguments: object) -> None:
                raise MemoryError

        file = pymosaic.MosaicFile(written(pa.table({"x": range(1000)}), 1))
        monkeypatch.setattr("pymosaic.file.matrix.np", NoMemory())
        with pytest.raises(LimitExceededError, match="1000 rows and 1 columns takes 4000 bytes"):
            file.to_numpy()


class TestMistakes:
    table = pa.table(
        {
            "text": ["a"],
            "list": [[1]],
            "time": pa.array([datetime.datetime(2024, 1, 1)]),
            "big": pa.array([None], pa.int64()),
            "price": pa.array([decimal.Decimal("1.5")]),
        }
    )

    @pytest.mark.parametrize(
        ("column", "dtype", "message"),
        [
            ("text", "float32", "column 'text' of type string does not fit a matrix of float32"),
            ("list", "float32", "column 'list' of type list"),
            ("time", "float64", "column 'time' of type timestamp"),
            ("big", "int32", "column 'big' of type int64 .* choose a dtype that holds it"),
            ("price", "int64", "column 'price' of type decimal"),
        ],
    )
    def test_columns_that_are_not_numbers_are_named_before_anything_is_read(
        self, tmp_path, reads, column, dtype, message
    ):
        path = tmp_path / "x.mosaic"
        pymosaic.write_table(self.table, path)
        with pymosaic.MosaicFile(path) as file:
            reads.clear()
            with pytest.raises(InvalidDataError, match=message):
                file.to_numpy(["big", column], dtype=dtype, nulls=0)
            assert not reads.ranges

    def test_nulls_are_refused_by_name(self):
        file = pymosaic.MosaicFile(written(self.table, 1))
        with pytest.raises(InvalidDataError, match="column 'big' has nulls, which nulls='error'"):
            file.to_numpy(["price", "big"], nulls="error")
        assert file.to_numpy(["price"], nulls="error")[0].tolist() == [[1.5]]

    def test_nulls_that_are_known_of_are_refused_before_anything_is_read(self, tmp_path, reads):
        path = tmp_path / "x.mosaic"
        pymosaic.write_table(self.table, path, statistics=["big"])
        with pymosaic.MosaicFile(path) as file:
            scan = pymosaic.dataset(path).scan(["price", "big"])
            reads.clear()
            for read in (partial(file.to_numpy, ["price", "big"]), scan.to_numpy):
                with pytest.raises(InvalidDataError, match="column 'big' has nulls"):
                    read(nulls="error")
            assert not reads.ranges
            assert file.to_numpy(["price"], nulls="error")[0].tolist() == [[1.5]]
            filtered = file.to_numpy(["big"], filters="price > 2", nulls="error")[0]
            assert filtered.shape == (0, 1)

    def test_buckets_that_are_not_stored_are_refused_with_nothing_read(self):
        # Of two row groups, the second has the bytes of no bucket: all of its values are null.
        stored = row_group(2, entry(0, 0, len(ONE_TWO), len(ONE_TWO)))
        data = forge(ONE_TWO, schema(("a", INTEGER)), stored + row_group(3), num_row_groups=2)
        file, source = opened(data)
        with pytest.raises(InvalidDataError, match="column 'a' has nulls"):
            file.to_numpy(nulls="error")
        assert not source.reads
        assert file.to_numpy(nulls=7)[0].tolist() == [[1], [2], [7], [7], [7]]

    def test_statistics_without_a_checksum_do_not_refuse(self):
        target = io.BytesIO()
        table = pa.table({"n": [1, None]})
        pymosaic.write_table(table, target, statistics=True, checksum=False)
        with (
            pymosaic.MosaicFile(target) as file,
            pytest.raises(InvalidDataError, match="column 'n' has nulls"),
        ):
            file.to_numpy(nulls="error")

    def test_nulls_of_other_rows_are_not_refused(self):
        table = pa.table({"x": [1, None, 3], "key": [0, 1, 0]})
        file = pymosaic.MosaicFile(written(table, 1))
        matrix, _ = file.to_numpy(["x"], filters=[("key", "=", 0)], nulls="error")
        assert matrix.tolist() == [[1], [3]]
        with pytest.raises(InvalidDataError, match="column 'x' has nulls"):
            file.to_numpy(["x"], filters=[("key", "<", 2)], nulls="error")

    @pytest.mark.parametrize("bound", [2**63 - 1, -(2**63)])
    def test_the_bounds_of_a_type_stand_for_nulls(self, bound):
        file = pymosaic.MosaicFile(written(self.table, 1))
        nulls: list[Any] = [bound, np.int64(bound)]
        for null in nulls:
            assert file.to_numpy(["big"], dtype="int64", nulls=null)[0].tolist() == [[bound]]
        for special in (float("inf"), float("nan")):
            np.testing.assert_array_equal(file.to_numpy(["big"], nulls=special)[0], [[special]])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"dtype": "float16"}, "dtype must be one of float32, .* got 'float16'"),
            ({"dtype": "nonsense"}, "dtype: "),
            ({"dtype": ">f4"}, "dtype must be one of"),
            ({"dtype": "int32"}, "nulls='nan' needs a dtype of floats"),
            ({"dtype": "int32", "nulls": 0.5}, "nulls: int32 cannot hold 0.5"),
            ({"dtype": "int32", "nulls": 2**31}, "nulls: int32 cannot hold"),
            ({"dtype": "int64", "nulls": 2**63}, "nulls: int64 cannot hold"),
            ({"dtype": "int64", "nulls": float("nan")}, "nulls: int64 cannot hold nan"),
            ({"nulls": 1e300}, "nulls: float32 cannot hold 1e[+]300"),
            ({"dtype": "float64", "nulls": 10**400}, "nulls: float64 cannot hold"),
            ({"nulls": np.array([1, 2])}, "nulls must be"),
            ({"nulls": "drop"}, "nulls must be 'nan', 'mask', 'error' or a number, got 'drop'"),
            ({"nulls": True}, "nulls must be"),
            ({"order": "A"}, "order must be 'C'"),
            ({"dtpye": "f4"}, "did you mean 'dtype'"),
        ],
    )
    def test_wrong_options_are_told(self, options, message):
        file = pymosaic.MosaicFile(written(self.table, 1))
        with pytest.raises(InvalidOptionError, match=message):
            file.to_numpy(["big"], **options)


def test_the_kernel_checks_rows_columns_and_types():
    file = pymosaic.MosaicFile(written(pa.table({"x": [1, 2], "y": ["a", "b"]}), 1))
    catalog = file._opened.catalog
    numbers = np.array([0], np.int64)
    batch = BatchExport(catalog, numbers, 2)
    target = np.zeros((2, 1), "f4")

    def attempt(
        error, batch=batch, positions=numbers, columns=numbers, matrix=target, row=0, rows=None
    ):
        with pytest.raises(error):
            fill(batch, positions, columns, matrix, row, rows, 0, None, False)

    attempt(ValueError)  # not decoded
    attempt(IndexError, columns=np.array([1]))
    attempt(IndexError, row=1)
    attempt(IndexError, row=-1)
    attempt(IndexError, rows=np.array([2]))
    attempt(IndexError, rows=np.array([-1]))
    attempt(IndexError, positions=np.array([7]))
    attempt(ValueError, matrix=np.zeros((2, 1), "f2"))
    attempt(ValueError, matrix=np.zeros((2, 1, 1), "f4"))
