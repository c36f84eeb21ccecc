"""Rows by number, the first rows, several row groups, and row groups of a number of rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pymosaic
from pymosaic import InvalidOptionError, RowNotFoundError
from pymosaic.file.taking import find_rows
from tests.writing import write

TABLE = pa.table({"n": range(10), "text": [f"row {number}" for number in range(10)]})


@pytest.fixture
def path(tmp_path):
    pymosaic.write_table(TABLE, tmp_path / "ten.mosaic", row_group_rows=3)
    return tmp_path / "ten.mosaic"


class TestRowGroupRows:
    @pytest.mark.parametrize("most", [1, 3, 7, 10, 11])
    @pytest.mark.parametrize("batch_rows", [1, 2, 4, 10])
    def test_row_groups_have_that_many_rows_however_batches_come(self, tmp_path, most, batch_rows):
        path = tmp_path / "rows.mosaic"
        with pymosaic.MosaicWriter(path, TABLE.schema, row_group_rows=most) as writer:
            for batch in TABLE.to_batches(batch_rows):
                writer.write(batch)
        with pymosaic.MosaicFile(path) as file:
            counts = [group.num_rows for group in file.metadata.row_groups()]
            assert file.read() == TABLE
        assert counts == [most] * (10 // most) + [10 % most] * (10 % most > 0)

    def test_bytes_end_a_row_group_too(self, tmp_path):
        batches = pa.Table.from_batches(TABLE.to_batches(2))
        pymosaic.write_table(batches, tmp_path / "x", row_group_rows=5, row_group_bytes=1)
        counts = [group.num_rows for group in pymosaic.read_metadata(tmp_path / "x").row_groups()]
        assert counts == [2] * 5

    @pytest.mark.parametrize("wrong", [0, -1, 1.5, "3", True, 2**32])
    def test_other_numbers_are_refused(self, wrong):
        with pytest.raises(InvalidOptionError, match="row_group_rows must be"):
            pymosaic.write_table(TABLE, "never", row_group_rows=wrong)

    def test_the_name_of_parquet_leads_to_it(self):
        with pytest.raises(pymosaic.UnknownOptionError, match="row_group_rows"):
            pymosaic.write_table(TABLE, "never", row_group_size=3)  # type: ignore[call-arg]


class TestTake:
    @pytest.mark.parametrize(
        "indices",
        [[], [9], [0, 9, 5], [3, 3, 0, 3], range(10), np.array([2, 8], np.uint8), (4, 1)],
    )
    def test_rows_come_in_the_order_given(self, path, indices):
        expected = TABLE.take(pa.array(list(indices), pa.int64()))
        dataset = pymosaic.dataset(path)
        with pymosaic.MosaicFile(path) as file:
            assert file.take(indices).to_pydict() == expected.to_pydict()
            assert file.take(pa.array(list(indices), pa.int32())).to_pydict() == (
                expected.to_pydict()
            )
            assert file.take(indices, ["text"]).to_pydict() == (
                expected.select(["text"]).to_pydict()
            )
        assert dataset.take(indices).to_pydict() == expected.to_pydict()
        assert dataset.scan(["n"]).take(indices).to_pydict() == expected.select(["n"]).to_pydict()

    def test_a_filter_counts_rows_that_it_keeps(self, path):
        dataset = pymosaic.dataset(path)
        assert dataset.take([4, 0], filter=[("n", ">", 4)])["n"].to_pylist() == [9, 5]
        assert dataset.scan(filters="n > 4", limit=3).take([2])["n"].to_pylist() == [7]
        with pytest.raises(RowNotFoundError, match="from 0 to 2"):
            dataset.scan(filters="n > 4", limit=3).take([3])

    @pytest.mark.parametrize("wrong", [[10], [-1], [0, 99], np.array([2**63], np.uint64)])
    def test_rows_that_do_not_exist_are_told(self, path, wrong):
        for source in (pymosaic.MosaicFile(path), pymosaic.dataset(path)):
            with pytest.raises(RowNotFoundError, match="there is no row"):
                source.take(wrong)
        assert issubclass(RowNotFoundError, IndexError)

    @pytest.mark.parametrize(
        "wrong", [["a"], [1.5], [None], 3, [[1]], pa.array([1, None]), [True], [2**70]]
    )
    def test_what_is_not_a_list_of_numbers_is_refused(self, path, wrong):
        with pymosaic.MosaicFile(path) as file, pytest.raises(InvalidOptionError, match="indices"):
            file.take(wrong)

    def test_a_file_without_rows_has_none(self):
        with pymosaic.MosaicFile(write([], TABLE.schema)) as file:
            assert file.take([]).schema == TABLE.schema
            with pytest.raises(RowNotFoundError, match="there are no rows"):
                file.take([0])

    def test_a_scan_that_skips_broken_row_groups_cannot_count(self, path):
        with pytest.raises(InvalidOptionError, match="on_error"):
            pymosaic.dataset(path, on_error="skip").take([0])

    @given(st.lists(st.integers(0, 6), min_size=1), st.data())
    def test_places_lead_to_the_rows(self, counts, data):
        total = sum(counts)
        indices = data.draw(st.lists(st.integers(0, total - 1))) if total else []
        groups, first = [], 0
        for count in counts:
            groups.append(list(range(first, first + count)))
            first += count
        places = find_rows(indices, counts)
        found = [groups[group][row] for group, rows in places.groups for row in rows]
        assert [found[place] for place in places.order] == indices
        assert all(len(rows) for _, rows in places.groups)


class TestHead:
    @pytest.mark.parametrize("count", [0, 1, 3, 4, 10, 99])
    def test_the_first_rows(self, path, count):
        with pymosaic.MosaicFile(path) as file:
            assert file.head(count).to_pydict() == TABLE.slice(0, count).to_pydict()
            assert file.head(count, ["n"], "n > 2")["n"].to_pylist() == (list(range(3, 10))[:count])
            assert file.head().num_rows == 5

    @pytest.mark.parametrize("wrong", [-1, "3", 1.5, True])
    def test_other_numbers_are_refused(self, path, wrong):
        with pymosaic.MosaicFile(path) as file, pytest.raises(InvalidOptionError, match="num_rows"):
            file.head(wrong)


def test_several_row_groups_are_read_in_the_order_given(path):
    with pymosaic.MosaicFile(path) as file:
        assert file.read_row_groups([3, 0, 3], ["n"])["n"].to_pylist() == [9, 0, 1, 2, 9]
        assert file.read_row_groups([]).num_rows == 0
        assert file.read_row_groups([1], filters="n = 4")["n"].to_pylist() == [4]
        with pytest.raises(IndexError, match="row group 4"):
            file.read_row_groups([4])


def test_a_file_tells_whether_it_is_closed(path):
    with pymosaic.MosaicFile(path) as file:
        assert not file.closed
    assert file.closed


def test_scan_contents_counts_what_it_reads(path):
    with pymosaic.MosaicFile(path) as file:
        assert file.scan_contents() == 10
        assert file.scan_contents(["n"], batch_size=2) == 10
