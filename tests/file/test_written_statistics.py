"""Statistics that the writer stores: which columns, what they say, and that no filter is misled."""

from __future__ import annotations

import datetime
import math
import struct
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.errors import InvalidOptionError
from tests.oracle import Statistics, decode
from tests.property.reference import open_reference, reference_write
from tests.writing import write

NAN = math.nan
NEGATIVE_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]


def stored(table: pa.Table, **options: Any) -> tuple[Statistics, ...]:
    """The statistics of the first row group, as the file has them."""
    return decode(write(table.to_batches(), table.schema, **options)).row_groups[0].statistics


def of_column(values: list[Any], of: pa.DataType, **options: Any) -> pymosaic.ColumnStatistics:
    """The statistics of one column, as a reader has them."""
    # pyarrow 19 takes no Python floats for half floats.
    half = pa.types.is_float16(of)
    table = pa.table(
        {"a": pa.array(values, pa.float32()).cast(of) if half else pa.array(values, of)}
    )
    data = write(table.to_batches(), table.schema, statistics=True, **options)
    with pymosaic.MosaicFile(data) as file:
        return file.statistics(0)["a"]


TABLE = pa.table(
    {
        "temp_b": [1.5, 2.5],
        "temp_a": [3, 4],
        "name": ["x", "y"],
        "blob": [b"x", b"y"],
        "temp*": [True, False],
    }
)


class TestWhichColumns:
    @pytest.mark.parametrize("nothing", [None, False, [], ()])
    def test_none_unless_asked(self, nothing: Any) -> None:
        assert stored(TABLE, statistics=nothing) == ()

    def test_none_by_default(self) -> None:
        assert stored(TABLE) == ()

    def test_true_means_all_that_can_have_them(self) -> None:
        names = [each.column for each in stored(TABLE, statistics=True)]
        assert names == ["name", "temp*", "temp_a", "temp_b"]

    def test_true_may_mean_none(self) -> None:
        assert stored(TABLE.select(["blob"]), statistics=True) == ()

    def test_named_ones_in_the_order_of_names(self) -> None:
        entries = stored(TABLE, statistics=["temp_b", "name"])
        assert [(each.column, each.column_index) for each in entries] == [
            ("name", 1),
            ("temp_b", 4),
        ]

    def test_patterns_and_names_of_columns_that_look_like_one(self) -> None:
        assert [each.column for each in stored(TABLE, statistics=["temp_*"])] == [
            "temp_a",
            "temp_b",
        ]
        assert [each.column for each in stored(TABLE, statistics=["temp*"])] == ["temp*"]

    def test_in_every_row_group(self) -> None:
        batches = [TABLE.slice(0, 1).to_batches()[0], TABLE.slice(1, 1).to_batches()[0]]
        data = write(batches, TABLE.schema, statistics=["temp_a"], row_group_bytes=1)
        with pymosaic.MosaicFile(data) as file:
            assert [file.statistics(i)["temp_a"].min for i in range(2)] == [3, 4]

    @pytest.mark.parametrize("names", [["name", "name"], ["temp_a", "name", "temp_a"]])
    def test_a_name_listed_twice_is_stored_twice_as_by_the_reference(
        self, names: list[str]
    ) -> None:
        options = {"statistics": names}
        batches = TABLE.to_batches()
        data = write(batches, TABLE.schema, checksum=False, **options)
        assert data == reference_write(batches, TABLE.schema, options)
        with pymosaic.MosaicFile(data) as file:
            assert list(file.statistics(0)) == sorted(set(names))
            assert file.read(filters=[("name", "==", "y")])["temp_a"].to_pylist() == [4]

    def test_of_a_file_without_rows_there_are_none(self) -> None:
        data = write([], TABLE.schema, statistics=True)
        assert decode(data).row_groups == ()


ALLOWED: list[tuple[pa.DataType, list[Any], Any, Any]] = [
    (pa.bool_(), [True, False], False, True),
    (pa.int8(), [1, -128, 127], -128, 127),
    (pa.int16(), [1, -(2**15), 2**15 - 1], -(2**15), 2**15 - 1),
    (pa.int32(), [1, -(2**31), 2**31 - 1], -(2**31), 2**31 - 1),
    (pa.int64(), [1, -(2**63), 2**63 - 1], -(2**63), 2**63 - 1),
    (pa.uint8(), [128, 255, 0], 0, 255),
    (pa.uint32(), [2**31, 2**32 - 1, 0], 0, 2**32 - 1),
    (pa.float16(), [1.5, -2.0], -2.0, 1.5),
    (pa.float32(), [1.5, -math.inf, math.inf], -math.inf, math.inf),
    (pa.float64(), [1e-300, -1e300, 1e300], -1e300, 1e300),
    (pa.date32(), [1, -1], datetime.date(1969, 12, 31), datetime.date(1970, 1, 2)),
    (
        pa.time32("ms"),
        [86_399_999, 0],
        datetime.time(),
        datetime.time(23, 59, 59, 999_000),
    ),
    (pa.decimal128(18, 2), [Decimal("1.28"), Decimal("-1.28")], Decimal("-1.28"), Decimal("1.28")),
    (
        pa.timestamp("ms"),
        [1, -1],
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000),
        datetime.datetime(1970, 1, 1, 0, 0, 0, 1000),
    ),
    (
        pa.timestamp("ns", "UTC"),
        [1000, -1000, 999_000, -999_000],
        datetime.datetime(1969, 12, 31, 23, 59, 59, 999_001, tzinfo=datetime.UTC),
        datetime.datetime(1970, 1, 1, 0, 0, 0, 999, tzinfo=datetime.UTC),
    ),
    (pa.string(), ["b", "", "Z", "é", "\U0001f600", "\uffff"], "", "\U0001f600"),
    (pa.dictionary(pa.int8(), pa.string()), ["b", "a", "c"], "a", "c"),
]
REFUSED = [
    pa.binary(),
    pa.binary_view(),
    pa.binary(3),
    pa.decimal128(19, 2),
    pa.decimal128(38, 0),
    pa.uint64(),
    pa.list_(pa.int8()),
    pa.map_(pa.int8(), pa.int8()),
]


class TestTypes:
    @pytest.mark.parametrize(
        ("of", "values", "least", "greatest"), ALLOWED, ids=[str(case[0]) for case in ALLOWED]
    )
    def test_keep_null_count_least_and_greatest(
        self, of: pa.DataType, values: list[Any], least: Any, greatest: Any
    ) -> None:
        for order in (values, values[::-1], [None, *values, None]):
            found = of_column(order, of)
            assert (found.null_count, found.num_rows) == (order.count(None), len(order))
            assert (found.min, found.max) == (least, greatest)

    @pytest.mark.parametrize(
        ("of", "values", "least", "greatest"), ALLOWED, ids=[str(case[0]) for case in ALLOWED]
    )
    def test_of_nulls_alone_keep_only_their_count(
        self, of: pa.DataType, values: list[Any], least: Any, greatest: Any
    ) -> None:
        (entry,) = stored(pa.table({"a": pa.nulls(3, of)}), statistics=["a"])
        assert (entry.null_count, entry.min, entry.max) == (3, None, None)

    @pytest.mark.parametrize("of", REFUSED, ids=str)
    def test_that_cannot_have_any_are_refused_by_name(self, of: pa.DataType) -> None:
        schema = pa.schema([("fine", pa.int8()), ("bad", of)])
        for names in (["bad"], ["fine", "b*"]):
            with pytest.raises(InvalidOptionError, match=r"^statistics.*'bad'"):
                write([], schema, statistics=names)
        assert write([], schema, statistics=True)

    def test_strings_are_not_cut(self) -> None:
        long = "x" * 140_000
        assert of_column([long, long + "y", "w"], pa.string()).max == long + "y"

    def test_zeros_keep_the_sign_of_the_first(self) -> None:
        for first, second in ((0.0, -0.0), (-0.0, 0.0)):
            (entry,) = stored(pa.table({"a": [first, second]}), statistics=["a"])
            assert entry.min == entry.max == struct.pack(">d", first)


class TestNaN:
    """NaN is neither least nor greatest, wherever it stands."""

    @pytest.mark.parametrize("of", [pa.float16(), pa.float32(), pa.float64()], ids=str)
    @pytest.mark.parametrize(
        "values",
        [[NAN, 1.0, 2.0], [1.0, NAN, 2.0], [2.0, 1.0, NAN], [NAN, NAN, 2.0, None, 1.0, NAN]],
    )
    def test_is_left_out(self, of: pa.DataType, values: list[float | None]) -> None:
        found = of_column(values, of)
        assert (found.min, found.max) == (1.0, 2.0)
        assert found.null_count == values.count(None)

    @pytest.mark.parametrize("nan", [NAN, NEGATIVE_NAN, -NAN])
    def test_of_any_kind_is_left_out(self, nan: float) -> None:
        found = of_column([nan, -1.0, nan], pa.float64())
        assert (found.min, found.max) == (-1.0, -1.0)

    @pytest.mark.parametrize("checksum", [True, False])
    def test_alone_gives_no_least_and_no_greatest(self, checksum: bool) -> None:
        found = of_column([NAN, None, NAN], pa.float64(), checksum=checksum)
        assert (found.null_count, found.has_min_max) == (1, False)

    def test_first_spoils_nothing_for_the_reference_either(self) -> None:
        table = pa.table({"a": [NAN, 1.0, 2.0]})
        data = write(table.to_batches(), table.schema, statistics=["a"])
        with open_reference(data) as reader:
            statistics = reader.get_row_group_statistics(0)["a"]
        assert (statistics.min, statistics.max) == (struct.pack(">d", 1.0), struct.pack(">d", 2.0))

    @pytest.mark.parametrize(
        "values", [[NAN, 1.0, 2.0], [1.0, NAN, 2.0], [NAN], [None, NAN], [-0.0, NAN, 0.0]]
    )
    @pytest.mark.parametrize("of", [pa.float32(), pa.float64()], ids=str)
    def test_without_checksums_is_stored_as_by_the_reference(
        self, of: pa.DataType, values: list[float | None]
    ) -> None:
        table = pa.table({"a": pa.array(values, of)})
        options = {"statistics": ["a"]}
        batches = table.to_batches()
        data = write(batches, table.schema, checksum=False, **options)
        assert data == reference_write(batches, table.schema, options)

    def test_that_the_reference_stores_is_not_believed(self) -> None:
        found = of_column([NAN, 1.0, 2.0], pa.float64(), checksum=False)
        assert (found.null_count, found.has_min_max) == (0, False)


VALUES = [NAN, -1.0, 0.0, 1.0, None]
OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "in", "not in", "is null", "is not null"]


@pytest.fixture(scope="module", params=["left out", "as the reference stores it"])
def files(request: pytest.FixtureRequest) -> list[pymosaic.MosaicFile]:
    """A row group for every pair of values: the file without statistics and the one with."""
    schema = pa.schema([("a", pa.float64()), ("i", pa.int64())])
    batches = [
        pa.record_batch([pa.array(values, pa.float64()), pa.array([i] * 2)], schema)
        for i, values in enumerate(product(VALUES, repeat=2))
    ]
    options = {"row_group_bytes": 1, "checksum": request.param == "left out"}
    contents = [write(batches, schema, statistics=names, **options) for names in (None, ["a"])]
    opened = [pymosaic.MosaicFile(content) for content in contents]
    assert [file.num_row_groups for file in opened] == [len(batches)] * 2
    return opened


class TestFiltersAroundNaN:
    """A filter finds the same rows with statistics as without."""

    @pytest.mark.parametrize("operator", OPERATORS)
    @pytest.mark.parametrize("literal", [-1.0, 0.0, 0.5, 1.0, 2.0, NAN])
    def test_find_every_row(
        self, operator: str, literal: float, files: list[pymosaic.MosaicFile]
    ) -> None:
        condition: tuple[Any, ...] = ("a", operator, literal)
        if operator in ("in", "not in"):
            condition = ("a", operator, [literal])
        elif operator in ("is null", "is not null"):
            condition = ("a", operator)
        # As text, where a NaN is the same as another.
        without, found = (str(file.read(filters=[condition]).to_pylist()) for file in files)
        assert found == without

    def test_not_equal_finds_the_nan_beside_a_single_value(self) -> None:
        table = pa.table({"a": [5.0, NAN, 5.0]})
        data = write(table.to_batches(), table.schema, statistics=True)
        found = pymosaic.read_table(data, filters=[("a", "!=", 5.0)])
        assert found.num_rows == 1


class TestBytes:
    @pytest.mark.parametrize("compression", ["none", "zstd"])
    def test_are_those_of_the_reference_for_every_type(self, compression: str) -> None:
        stored_types = [
            case for case in ALLOWED if not str(case[0]).startswith(("u", "half", "dict"))
        ]
        columns = {
            f"c{i}": pa.array([None, *values, *values][:5], of)
            for i, (of, values, _, _) in enumerate(stored_types)
        }
        columns["nothing"] = pa.nulls(5, pa.int32())
        rows = min(len(column) for column in columns.values())
        table = pa.table({name: column.slice(0, rows) for name, column in columns.items()})
        options = {"statistics": table.column_names, "compression": compression}
        batches = table.to_batches()
        data = write(batches, table.schema, checksum=False, **options)
        assert data == reference_write(batches, table.schema, options)
