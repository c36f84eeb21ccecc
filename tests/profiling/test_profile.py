"""Profiles: exact where they promise it, close where they estimate, however rows are divided."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pymosaic
from pymosaic.profiling import columns
from pymosaic.profiling.columns import ColumnProfiles
from pymosaic.profiling.distinct import DistinctCounts
from pymosaic.profiling.hashing import hash_values
from pymosaic.profiling.quantiles import Quantiles, summarize_rows
from pymosaic.testing import strategies

SHARES = [0.0, 0.05, 0.25, 0.5, 0.75, 0.99, 1.0]


def profiled(table: pa.Table, bounds: list[int], united: int) -> pa.Table:
    """The profile of a table in parts, of which the last ones are profiled elsewhere."""
    parts = [
        table.slice(start, stop - start).combine_chunks()
        for start, stop in zip([0, *bounds], [*bounds, len(table)], strict=True)
    ]
    here, there = ColumnProfiles(table.schema), ColumnProfiles(table.schema)
    for number, part in enumerate(parts):
        for batch in part.to_batches():
            (there if number >= united else here).add_batch(batch)
    here.unite(pickle.loads(pickle.dumps(there)))
    assert here.rows == len(table)
    return here.table(table.schema, SHARES)


def check_column(found: dict, values: pa.ChunkedArray) -> None:
    kind = values.type
    present = values.drop_null()
    assert found["nulls"] == values.null_count
    is_float = pa.types.is_floating(kind)
    nans = pc.sum(pc.is_nan(present)).as_py() or 0 if is_float else 0
    assert found["nans"] == nans
    if is_float:
        present = present.filter(pc.invert(pc.is_nan(present)))
    if pa.types.is_nested(kind) or not len(present):
        assert found["minimum"] is None
        assert found["maximum"] is None
        assert found["mean"] is None
        return
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        ends = pc.min_max(present)
        assert found["minimum"] == ends["min"].cast(pa.string()).as_py() or is_float
        assert found["maximum"] == ends["max"].cast(pa.string()).as_py() or is_float
    if not (pa.types.is_integer(kind) or is_float or pa.types.is_decimal(kind)):
        assert found["50%"] is None
        return
    numbers = present.cast(pa.float64(), safe=False).to_numpy()
    assert float(found["minimum"]) == pytest.approx(numbers.min(), rel=1e-6)
    assert float(found["maximum"]) == pytest.approx(numbers.max(), rel=1e-6)
    with np.errstate(all="ignore"):
        mean = numbers.mean()
        scale = np.abs(numbers).max()
    if np.isfinite(scale) and np.isfinite(numbers.sum()):
        assert found["mean"] == pytest.approx(mean, rel=1e-9, abs=scale * 1e-9)
    for share in SHARES:
        check_quantile(numbers, found[f"{100 * share:.12g}%"], share)


def check_quantile(numbers: np.ndarray, found: float, share: float, room: float = 0.02) -> None:
    """The value occurs, and its rank is about right."""
    same = np.isclose(numbers, found, rtol=1e-12, atol=0)
    assert same.any()
    assert np.mean((numbers < found) & ~same) <= share + room
    assert np.mean((numbers < found) | same) >= share - room


class TestAgainstArrow:
    @given(st.data())
    @settings(max_examples=30)
    def test_any_table_in_any_parts(self, data):
        table = data.draw(strategies.tables(max_columns=5))
        bounds = sorted(data.draw(st.lists(st.integers(0, len(table)), max_size=4)))
        united = data.draw(st.integers(0, len(bounds) + 1))
        found = profiled(table, bounds, united).to_pylist()
        assert [row["column"] for row in found] == table.column_names
        for row, column in zip(found, table.columns, strict=True):
            check_column(row, column)

    @given(st.data())
    @settings(max_examples=10)
    def test_numbers_of_many_rows(self, data):
        random = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
        rows = data.draw(st.sampled_from([700, 3_000, 6_000]))
        few = random.integers(0, data.draw(st.integers(1, 30)), rows)
        floats = random.normal(size=rows) ** 3
        floats[random.random(rows) < 0.1] = np.nan
        missing = random.random(rows) < data.draw(st.sampled_from([0.0, 0.3, 0.999]))
        table = pa.table(
            {
                "sorted": np.arange(rows, dtype=np.int32),
                "few": pa.array(few, mask=missing),
                "floats": pa.array(floats, mask=missing),
                "decimals": pa.array(few - 9).cast(pa.decimal128(30, 2)),
            }
        )
        step = data.draw(st.sampled_from([97, 1000, rows]))
        bounds = list(range(step, rows, step))
        found = profiled(table, bounds, len(bounds) // 2).to_pylist()
        for row, column in zip(found, table.columns, strict=True):
            check_column(row, column)

    def test_small_negative_decimals_keep_their_digits(self):
        table = pa.table({"d": pa.array([-3, -1, 2]).cast(pa.decimal128(38, 18))})
        [row] = profiled(table, [], 0).to_pylist()
        assert (row["50%"], row["mean"], row["0%"]) == (-1.0, -2 / 3, -3.0)


class TestDistinct:
    @pytest.mark.parametrize("distinct", [0, 1, 100, 3_000, 200_000])
    def test_distinct_values_are_estimated(self, distinct):
        one, other = DistinctCounts(2), DistinctCounts(2)
        hashes = hash_values(pa.array(np.arange(distinct))).reshape(1, -1)
        one.add(np.array([1]), hashes[:, : distinct // 2])
        other.add(np.array([1]), hashes[:, distinct // 3 :])
        one.unite(pickle.loads(pickle.dumps(other)))
        [none, found] = one.estimates().tolist()
        assert none == 0
        assert abs(found - distinct) <= 0.12 * distinct

    def test_long_values_are_hashed_in_slices_like_short_ones(self, monkeypatch):
        values = pa.array(["", "abc" * 50, None, "é" * 99, "", "x"])
        whole = hash_values(values)
        monkeypatch.setattr("pymosaic.profiling.hashing._SLICE", 7)
        np.testing.assert_array_equal(hash_values(values), whole)
        np.testing.assert_array_equal(hash_values(values.slice(1, 3)), whole[1:4])


class TestQuantiles:
    def test_many_batches_stay_close_and_small(self):
        random = np.random.default_rng(7)
        quantiles, seen = Quantiles(3), []
        for _ in range(500):
            values = random.normal(size=(3, 50))
            seen.append(values)
            quantiles.add(summarize_rows(values))
        assert len(quantiles._levels) == 8
        numbers = np.concatenate(seen, axis=1)
        for column, found in zip(numbers, quantiles.estimates(SHARES[1:-1]), strict=True):
            for share, value in zip(SHARES[1:-1], found, strict=True):
                check_quantile(column, value, share)

    def test_columns_without_values_have_none(self):
        quantiles = Quantiles(2)
        for _ in range(3):
            quantiles.add(summarize_rows(np.array([[np.nan, np.nan], [1.0, np.nan]])))
        np.testing.assert_array_equal(quantiles.estimates([0.5]), [[np.nan], [1.0]])
        assert np.isnan(Quantiles(1).estimates([0.5])).all()


class TestDescribe:
    @pytest.fixture
    def table(self) -> pa.Table:
        return pa.table(
            {
                "n": [5, None, 1, 3] * 50,
                "city": pa.array(["Rome", "Oslo"] * 100).dictionary_encode(),
                "u": pa.array(range(200), pa.uint64()),
            }
        )

    def test_files_and_datasets_agree(self, table, tmp_path):
        pymosaic.write_table(table, tmp_path / "x.mosaic", row_group_rows=60)
        with pymosaic.MosaicFile(tmp_path / "x.mosaic") as file:
            found = file.describe()
            assert file.describe(["u"], filters="u < 10")["u"]["maximum"] == "9"
            assert len(file.describe(exclude=["u"])) == 2
        again = pymosaic.dataset(tmp_path / "x.mosaic").scan().describe()
        assert again.table.equals(found.table)
        assert found.num_rows == 200
        assert found["city"]["type"].startswith("dictionary")
        assert (found["city"]["minimum"], found["city"]["approximate_distinct"]) == ("Oslo", 2)
        assert (found["n"]["nulls"], found["n"]["mean"], found["n"]["50%"]) == (50, 3.0, 3.0)
        assert pa.table(found).equals(found.table)
        assert found.to_pandas().loc["u", "maximum"] == "199"
        limited = pymosaic.dataset(tmp_path / "x.mosaic").scan(limit=70).describe(quantiles=[])
        assert limited.num_rows == 70
        assert "50%" not in limited.table.column_names

    def test_threads_give_the_same(self, monkeypatch):
        random = np.random.default_rng(3)
        floats = random.normal(size=(100, 50))
        values = {f"f{place}": pa.array(row) for place, row in enumerate(floats)}
        values |= {f"t{place}": pa.array(row.astype(str)) for place, row in enumerate(floats)}
        values |= {f"n{place}": pa.array(row, mask=row > 1) for place, row in enumerate(floats)}
        batch = pa.record_batch(values)
        monkeypatch.setattr(columns, "_RUN_VALUES", 3 * len(batch))
        alone, together = ColumnProfiles(batch.schema), ColumnProfiles(batch.schema)
        for _ in range(3):
            alone.add_batch(batch)
            together.add_batch(batch, use_threads=True)
        assert together.table(batch.schema).equals(alone.table(batch.schema))

    def test_progress_is_reported(self, table, tmp_path):
        pymosaic.write_table(table, tmp_path / "x.mosaic", row_group_rows=150)
        calls = []
        with pymosaic.MosaicFile(tmp_path / "x.mosaic") as file:
            file.describe(progress=lambda *state: calls.append(state))
        assert calls == [(n, 200, "rows") for n in (0, 150, 200, 200)]

    @pytest.mark.parametrize("quantiles", [[1.5], ["x"], [0.5, 0.5], 0.5, [float("nan")]])
    def test_wrong_quantiles_are_refused(self, quantiles, table, tmp_path):
        pymosaic.write_table(table, tmp_path / "x.mosaic")
        with (
            pymosaic.MosaicFile(tmp_path / "x.mosaic") as file,
            pytest.raises(pymosaic.InvalidOptionError, match="quantiles must be different numbers"),
        ):
            file.describe(quantiles=quantiles)

    def test_unknown_columns_and_types_are_refused(self, table, tmp_path):
        pymosaic.write_table(table, tmp_path / "x.mosaic")
        found = pymosaic.MosaicFile(tmp_path / "x.mosaic").describe()
        with pytest.raises(pymosaic.ColumnNotFoundError, match="no column 'q'"):
            found["q"]
        with pytest.raises(pymosaic.UnsupportedFeatureError, match="column 'i' of type"):
            ColumnProfiles(pa.schema([("i", pa.month_day_nano_interval())]))

    def test_ten_thousand_columns_are_shown_in_few_lines(self, tmp_path):
        values = np.arange(20.0)
        names = [f"c\x1b{number}" for number in range(10_000)]
        pymosaic.write_table(pa.table([values] * len(names), names), tmp_path / "x.mosaic")
        found = pymosaic.MosaicFile(tmp_path / "x.mosaic").describe()
        assert found.table["mean"].to_pylist() == [9.5] * 10_000
        text = repr(found)
        assert "… 9,990 more columns" in text
        assert len(text) < 2_000
        assert "\x1b" not in text

    def test_long_texts_are_cut(self, tmp_path):
        pymosaic.write_table(pa.table({"s": ["x" * 9999], "b": [b"\xff" * 9999]}), tmp_path / "x")
        found = pymosaic.MosaicFile(tmp_path / "x").describe()
        assert found["s"]["minimum"] == "x" * 200 + "…"
        assert found["b"]["maximum"] == "f" * 200 + "…"
