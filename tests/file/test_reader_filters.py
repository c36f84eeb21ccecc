"""Filters on whole files: exactly the rows for which they are true, with SQL's nulls.

The same rows come back whether or not the file has statistics to prune row groups with.
"""

from __future__ import annotations

import datetime
import io
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pymosaic
from pymosaic.testing.pieces import INTEGER, ONE_TWO, monolithic, schema
from tests.equality import assert_identical
from tests.writing import write

D = datetime.date
TABLE = pa.table(
    {
        "id": pa.array(range(8), pa.int64()),
        "n": pa.array([1, None, 3, 4, None, None, 7, -8], pa.int16()),
        "f": [1.0, math.nan, None, -0.0, math.inf, 0.5, math.nan, 2.0],
        "s": ["a", None, "b", "ä", "", None, "b", "zz"],
        "b": [True, False, None, True, True, True, None, None],
        "d": pa.array([D(2024, 1, 1), None, D(1960, 2, 29), *[D(2024, 5, 31)] * 5], pa.date32()),
        "m": pa.array([Decimal("1.50"), Decimal("-2.25"), *[None] * 6], pa.decimal128(9, 2)),
        "big": pa.array([Decimal(10) ** 30, None, *[Decimal(1)] * 6], pa.decimal128(38, 0)),
        "raw": [b"x", b"", None, b"\xff", b"x", None, b"y", b"z"],
        "l": pa.array([[1], None, [], [2], None, [3], [4], [None]], pa.list_(pa.int8())),
    }
)
WITH_STATISTICS = ["id", "n", "f", "s", "b", "d", "m"]


def in_row_groups(rows: int, **options: Any) -> bytes:
    return write(TABLE.to_batches(max_chunksize=rows), TABLE.schema, row_group_bytes=1, **options)


FILES = {
    "one row group": in_row_groups(8),
    "one row group with statistics": in_row_groups(8, statistics=WITH_STATISTICS),
    "row groups": in_row_groups(3),
    "row groups with statistics": in_row_groups(3, statistics=WITH_STATISTICS),
    "rows alone with statistics": in_row_groups(1, statistics=WITH_STATISTICS),
    "statistics of the reference": in_row_groups(2, statistics=WITH_STATISTICS, checksum=False),
    "paged": in_row_groups(4, page_size_threshold=0, num_buckets=2),
    "uncompressed": in_row_groups(4, compression="none", num_buckets=1, statistics=["n"]),
}
every_file = pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())


@every_file
@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        # A comparison with null is not true, nor is its contrary.
        ([("n", "==", 3)], [2]),
        ([("n", "!=", 3)], [0, 3, 6, 7]),
        ([("n", "=", 7)], [6]),
        ([("n", "<", 4)], [0, 2, 7]),
        ([("n", "<=", 4)], [0, 2, 3, 7]),
        ([("n", ">", 4)], [6]),
        ([("n", ">=", 4)], [3, 6]),
        ([("n", "in", [1, 4, 99])], [0, 3]),
        ([("n", "in", [1, None])], [0]),
        ([("n", "not in", [1, 4])], [2, 6, 7]),
        ([("n", "not in", [1, None])], []),
        ([("n", "in", [])], []),
        ([("n", "not in", [])], [0, 1, 2, 3, 4, 5, 6, 7]),
        ([("n", "is null")], [1, 4, 5]),
        ([("n", "is not null")], [0, 2, 3, 6, 7]),
        # Literals that the column cannot hold.
        ([("n", "<", 2.5)], [0, 7]),
        ([("n", ">", 100_000)], []),
        ([("n", "<", 100_000)], [0, 2, 3, 6, 7]),
        ([("n", "!=", 2.5)], [0, 2, 3, 6, 7]),
        # Floats: NaN equals nothing, not even itself, and is above and below nothing.
        ([("f", ">", 0)], [0, 4, 5, 7]),
        ([("f", "==", 0.0)], [3]),
        ([("f", "!=", 1.0)], [1, 3, 4, 5, 6, 7]),
        ([("f", "<=", math.inf)], [0, 3, 4, 5, 7]),
        ([("f", "is null")], [2]),
        # Strings by their bytes, dates, decimals, booleans, binary, lists.
        ([("s", ">", "b")], [3, 7]),
        ([("s", "<", "a")], [4]),
        ([("s", "in", ["b", "zz"])], [2, 6, 7]),
        ([("b", "==", True)], [0, 3, 4, 5]),
        ([("b", "!=", True)], [1]),
        ([("d", "<", D(2024, 1, 1))], [2]),
        ([("m", "<=", Decimal("1.5"))], [0, 1]),
        ([("big", ">", 1)], [0]),
        ([("raw", "==", b"x")], [0, 4]),
        ([("l", "is null")], [1, 4]),
        ([("l", "is not null"), ("n", "is null")], [5]),
        # AND inside, OR outside.
        ([("n", ">", 0), ("s", "==", "b")], [2, 6]),
        ([("n", ">", 0), ("n", "<", 0)], []),
        ([[("n", ">", 6)], [("s", "==", "a")]], [0, 6]),
        ([[("n", "is null"), ("b", "==", True)], [("id", "==", 2)]], [2, 4, 5]),
        # Unknown OR true is true; unknown AND false is false.
        ([[("n", ">", 0)], [("id", "in", [1, 2])]], [0, 1, 2, 3, 6]),
    ],
)
def test_the_rows_for_which_the_filter_is_true(data: bytes, filters: Any, ids: list[int]) -> None:
    with pymosaic.MosaicFile(data) as file:
        table = file.read(filters=filters)
        assert table["id"].to_pylist() == ids
        assert_identical(table, TABLE.take(pa.array(ids, pa.int64())))
        assert file.read(columns=[], filters=filters).shape == (len(ids), 0)
        assert file.read(columns=["s"], filters=filters)["s"].to_pylist() == [
            TABLE["s"][i].as_py() for i in ids
        ]
        batches = list(file.iter_batches(1, columns=["id"], filters=filters))
        assert [batch["id"].to_pylist() for batch in batches] == [[i] for i in ids]
    assert pymosaic.read_table(data, columns=["id"], filters=filters)["id"].to_pylist() == ids


LITERALS: dict[str, list[Any]] = {
    "n": [-8, 0, 3, 4.5],
    "f": [-0.0, 0.5, 2],
    "s": ["", "b", "y"],
    "d": [D(2024, 1, 1)],
}
predicates = st.sampled_from(sorted(LITERALS)).flatmap(
    lambda name: st.tuples(
        st.just(name),
        st.sampled_from(["=", "==", "!=", "<", "<=", ">", ">="]),
        st.sampled_from(LITERALS[name]),
    )
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(predicates, min_size=1, max_size=3), min_size=1, max_size=3))
def test_rows_are_those_of_pyarrow_parquet(filters: list[list[tuple[str, str, Any]]]) -> None:
    expected = pq.read_table(io.BytesIO(PARQUET), filters=filters)["id"].to_pylist()
    for name, data in FILES.items():
        found = pymosaic.read_table(data, columns=["id"], filters=filters)["id"].to_pylist()
        assert found == expected, name


def as_parquet() -> bytes:
    stream = io.BytesIO()
    # Without statistics, which for columns with NaN would be doubtful.
    pq.write_table(TABLE, stream, write_statistics=False)
    return stream.getvalue()


PARQUET = as_parquet()


class TestWhatIsRefused:
    @pytest.fixture
    def file(self) -> pymosaic.MosaicFile:
        return pymosaic.MosaicFile(FILES["row groups with statistics"])

    def test_an_unknown_column_is_told_with_the_closest(self, file: pymosaic.MosaicFile) -> None:
        with pytest.raises(pymosaic.ColumnNotFoundError) as caught:
            file.read(filters=[("iid", ">", 1)])
        message = str(caught.value)
        assert "'iid'" in message
        assert "'id'" in message
        # The caller gave no columns: the message must lead to the filter.
        assert message.startswith("filters: ")

    def test_a_pattern_is_no_column(self, file: pymosaic.MosaicFile) -> None:
        with pytest.raises(pymosaic.MosaicError, match="filters: "):
            file.read(filters=[("i*", ">", 1)])

    @pytest.mark.parametrize(
        ("filters", "told"),
        [
            ([("n", ">", "3")], "column 'n' has type int16"),
            ([("s", "==", 3)], "column 's' has type string"),
            ([("l", "==", 3)], "column 'l' has type list"),
            ([("n", "==", None)], "is null"),
            ([("n", "like", "x")], "'like' is not an operator"),
            ([("n", "in", 3)], "takes a list"),
            ([], "empty list"),
            (("n", ">", 3), "must be in a list"),
            ("n > '3'", "column 'n' has type"),
            (42, "got 42"),
            (pc.field("n") + 1, "filters: "),
            (pc.starts_with(pc.field("n"), "x"), "filters: "),
        ],
    )
    def test_a_bad_filter_is_refused_before_anything_is_read(
        self, file: pymosaic.MosaicFile, filters: Any, told: str
    ) -> None:
        for read in (
            lambda: file.read(filters=filters),
            lambda: file.iter_batches(filters=filters),
        ):
            with pytest.raises(pymosaic.InvalidOptionError, match="filters: ") as caught:
                read()
            assert told in str(caught.value)

    def test_a_bad_filter_is_refused_without_row_groups_too(self) -> None:
        with pymosaic.MosaicFile(write([], TABLE.schema)) as file:
            assert file.read(filters=[("n", ">", 3)]).num_rows == 0
            with pytest.raises(pymosaic.InvalidOptionError):
                file.read(filters=[("n", ">", "3")])
            with pytest.raises(pymosaic.ColumnNotFoundError):
                file.read(filters=[("no", ">", 3)])


class TestDoubtfulStatistics:
    """Statistics that cannot be right never cost a row."""

    @pytest.mark.parametrize("checksum", [True, False])
    @pytest.mark.parametrize("values", [[math.nan, 1.0, 2.0], [1.0, math.nan, 2.0], [math.nan] * 3])
    def test_nan_anywhere(self, values: list[float], checksum: bool) -> None:
        batch = pa.record_batch({"f": values})
        data = write([batch], batch.schema, statistics=["f"], checksum=checksum)
        for limit in (0.0, 1.0, 2.0, 3.0):
            expected = [value for value in values if value >= limit]
            table = pymosaic.read_table(data, filters=[("f", ">=", limit)])
            assert table["f"].to_pylist() == expected
        different = pymosaic.read_table(data, filters=[("f", "!=", 1.0)])
        assert different.num_rows == sum(value != 1.0 for value in values)

    def test_minimum_above_maximum(self) -> None:
        upside_down = b"\x01" + b"\x00\x00" + (2).to_bytes(4, "big") + (1).to_bytes(4, "big")
        data = monolithic(ONE_TWO, schema(("a", INTEGER)), statistics=upside_down)
        assert pymosaic.read_table(data, filters=[("a", ">", 1)])["a"].to_pylist() == [2]

    @pytest.mark.parametrize("literal", [0.0, -0.0])
    def test_zeros_of_both_signs(self, literal: float) -> None:
        batch = pa.record_batch({"f": [0.0, -0.0]})
        data = write([batch], batch.schema, statistics=["f"])
        assert pymosaic.read_table(data, filters=[("f", "==", literal)]).num_rows == 2
        assert pymosaic.read_table(data, filters=[("f", ">=", literal)]).num_rows == 2
        assert pymosaic.read_table(data, filters=[("f", "<", literal)]).num_rows == 0
