"""Scans: columns, rows, order, plans, pieces, and tasks that read them elsewhere."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.file_columns import FileColumns
from pymosaic.filters.row_filter import Filter
from tests.datasets.building import Reads, bucket_range, write_files, write_row_groups


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Two partitions of two files, each with three row groups of two rows."""
    for day in (1, 2):
        for part in (0, 1):
            start = 100 * day + 10 * part
            write_row_groups(
                tmp_path / f"day={day}" / f"{day}{part}.mosaic",
                [
                    {"id": [start + 2 * i, start + 2 * i + 1], "text": ["x", f"{i}"], "z": [1, 2]}
                    for i in range(3)
                ],
                statistics=["id"],
                num_buckets=3,
            )
    return tmp_path


IDS = [100 * day + 10 * part + i for day in (1, 2) for part in (0, 1) for i in range(6)]


class TestRowsAndColumns:
    def test_everything(self, base: Path) -> None:
        table = pymosaic.dataset(base).scan().to_table()
        assert table.column_names == ["id", "text", "z", "day"]
        assert table["id"].to_pylist() == IDS
        assert table["day"].to_pylist() == [1] * 12 + [2] * 12

    def test_columns_by_name_and_pattern_in_the_order_wanted(self, base: Path) -> None:
        scan = pymosaic.dataset(base).scan(["day", "t*", "id"])
        assert scan.schema.names == ["day", "text", "id"]
        assert scan.to_table().column_names == ["day", "text", "id"]

    def test_no_columns_keep_the_number_of_rows(self, base: Path) -> None:
        dataset = pymosaic.dataset(base)
        assert dataset.scan([]).to_table().shape == (24, 0)
        assert dataset.scan([], [("id", "<", 103)]).to_table().shape == (3, 0)

    def test_an_unknown_column_is_named_with_what_is_close(self, base: Path) -> None:
        dataset = pymosaic.dataset(base)
        with pytest.raises(pymosaic.ColumnNotFoundError, match=r"'texd' \(did you mean 'text'"):
            dataset.scan(["texd"])
        with pytest.raises(pymosaic.ColumnNotFoundError, match="dai"):
            dataset.scan(filters=[("dai", "=", 1)])

    @pytest.mark.parametrize(
        ("filters", "ids"),
        [
            ([("id", ">=", 213)], [213, 214, 215]),
            ([("id", "in", [101, 215, 999])], [101, 215]),
            ([("text", "=", "x"), ("day", "=", 2)], [200, 202, 204, 210, 212, 214]),
            ([[("text", "=", "2"), ("z", "=", 2)], [("id", "=", 100)]], [100, 105, 115, 205, 215]),
            ([("id", ">", 1000)], []),
        ],
    )
    def test_filters_keep_just_the_rows_that_pass(
        self, base: Path, filters: Any, ids: list[int]
    ) -> None:
        dataset = pymosaic.dataset(base)
        assert dataset.scan(["id"], filters).to_table()["id"].to_pylist() == ids
        assert dataset.count_rows(filters) == len(ids)
        assert dataset.scan(["z"], filters).count_rows() == len(ids)

    def test_wrong_filters_are_refused_before_anything_is_read(self, base: Path) -> None:
        dataset = pymosaic.dataset(base)
        with pytest.raises(pymosaic.InvalidOptionError, match="'id'"):
            dataset.scan(filters=[("id", ">", "many")])
        with pytest.raises(pymosaic.InvalidOptionError, match="exact column names"):
            dataset.scan(filters=[("i*", ">", 1)])

    @pytest.mark.parametrize("limit", [0, 1, 2, 5, 24, 100])
    def test_a_limit_cuts_the_first_rows(self, base: Path, limit: int) -> None:
        dataset = pymosaic.dataset(base)
        assert dataset.scan(["id"], limit=limit).to_table()["id"].to_pylist() == IDS[:limit]
        filters = [("text", "=", "x")]
        matching = [i for i in IDS if i % 2 == 0][:limit]
        assert dataset.scan(["id"], filters, limit).to_table()["id"].to_pylist() == matching
        assert dataset.scan(["id"], limit=limit).count_rows() == min(limit, 24)

    @pytest.mark.parametrize("limit", [-1, 1.5, True, "2"])
    def test_what_is_no_limit(self, base: Path, limit: Any) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match="limit must be"):
            pymosaic.dataset(base).scan(limit=limit)

    @pytest.mark.parametrize("size", [0, -1, 1.5, None, True])
    def test_what_is_no_size(self, base: Path, size: Any) -> None:
        scan = pymosaic.dataset(base).scan()
        with pytest.raises(pymosaic.InvalidOptionError, match="batch_size must be"):
            scan.to_batches(batch_size=size)
        with pytest.raises(pymosaic.InvalidOptionError, match="max_piece_bytes must be"):
            scan.plan(max_piece_bytes=size)


class TestWaysOut:
    def test_batches_have_as_many_rows_as_wanted_at_most(self, base: Path) -> None:
        batches = list(pymosaic.dataset(base).scan(["id"]).to_batches(batch_size=1))
        assert [batch.num_rows for batch in batches] == [1] * 24
        assert pa.Table.from_batches(batches)["id"].to_pylist() == IDS

    def test_a_reader_and_an_arrow_stream(self, base: Path) -> None:
        scan = pymosaic.dataset(base).scan(["id", "day"])
        expected = scan.to_table()
        assert scan.to_reader().read_all().combine_chunks() == expected.combine_chunks()
        assert pa.table(scan).combine_chunks() == expected.combine_chunks()

    def test_pandas(self, base: Path) -> None:
        frame = pymosaic.dataset(base).scan(["id"], [("day", "=", 1)]).to_pandas()
        assert frame["id"].tolist() == IDS[:12]

    @pytest.mark.parametrize("use_threads", [True, False])
    def test_order_does_not_depend_on_threads(self, tmp_path: Path, use_threads: bool) -> None:
        # Files of very different weight.
        tables = {f"{i:02}.mosaic": {"n": [i] * (1 if i % 3 else 20_000)} for i in range(30)}
        dataset = pymosaic.dataset(write_files(tmp_path, tables))
        numbers = dataset.scan().to_table(use_threads=use_threads)["n"].unique().to_pylist()
        assert numbers == list(range(30))

    def test_leaving_early_is_fine(self, base: Path) -> None:
        batches = pymosaic.dataset(base).scan().to_batches()
        assert next(batches)["id"].to_pylist() == IDS[:2]
        batches.close()  # type: ignore[attr-defined]

    def test_a_table_beyond_the_limit_is_refused(self, base: Path) -> None:
        dataset = pymosaic.dataset(base, limits=pymosaic.Limits(max_table_bytes=1000))
        with pytest.raises(pymosaic.LimitExceededError, match="max_table_bytes"):
            dataset.scan().to_table()


class TestPlans:
    def test_what_is_read_and_what_is_pruned(self, base: Path) -> None:
        dataset = pymosaic.dataset(base)
        plan = dataset.scan(["text"], [("day", "=", 2), ("id", ">", 212)]).plan()
        sizes = sum(Path(path).stat().st_size for path in dataset.files)
        wanted = [
            bucket_range(base / "day=2/21.mosaic", column, row_group)[2]
            for column in ("id", "text")
            for row_group in (1, 2)
        ]
        assert (plan.files.to_read, plan.files.total, plan.files.pruned) == (1, 4, 3)
        assert (plan.row_groups.to_read, plan.row_groups.total) == (2, 6)
        assert (plan.buckets.to_read, plan.buckets.total) == (4, 18)
        assert (plan.bytes.to_read, plan.bytes.total) == (sum(wanted), sizes)
        path = base / "day=2/21.mosaic"
        found = (path.stat().st_size, path.stat().st_mtime_ns)
        assert plan.pieces == (
            pymosaic.Piece(str(path), (1, 2), 4, sum(wanted), (("day", 2),), found),
        )
        assert plan.num_rows == 4

    def test_pieces_weigh_what_is_projected(self, base: Path) -> None:
        dataset = pymosaic.dataset(base)
        narrow = dataset.scan(["z"]).plan()
        assert narrow.bytes.to_read < dataset.scan().plan().bytes.to_read < narrow.bytes.total
        assert dataset.scan([]).plan().bytes.to_read == 0

    def test_a_paged_bucket_counts_by_the_share_of_its_columns(self, tmp_path: Path) -> None:
        path = tmp_path / "paged.mosaic"
        table = pa.table({f"c{i}": range(1000) for i in range(4)})
        pymosaic.write_table(table, path, num_buckets=1, page_size_threshold=0)
        bucket = pymosaic.read_metadata(path).row_group(0).bucket(0)
        assert bucket.layout == "paged"
        plan = pymosaic.dataset(path).scan(["c1"]).plan()
        assert plan.bytes.to_read == -(-bucket.compressed_size // 4)

    def test_large_files_are_cut_at_row_groups(self, base: Path) -> None:
        dataset = pymosaic.dataset(base)
        whole = dataset.scan().plan()
        assert [piece.row_groups for piece in whole.pieces] == [(0, 1, 2)] * 4
        cut = dataset.scan().plan(max_piece_bytes=1)
        assert [piece.row_groups for piece in cut.pieces] == [(0,), (1,), (2,)] * 4
        assert cut.bytes == whole.bytes
        assert cut.num_rows == whole.num_rows == 24

    def test_a_limit_without_filter_plans_no_more_than_it_needs(self, base: Path) -> None:
        plan = pymosaic.dataset(base).scan(limit=7).plan()
        assert [piece.row_groups for piece in plan.pieces] == [(0, 1, 2), (0,)]
        assert plan.row_groups.total == 12

    def test_explain_tells_it_in_words(self, base: Path) -> None:
        text = pymosaic.dataset(base).scan(["text"], [("day", "=", 2)], limit=5).explain()
        assert "1 of 4 columns" in text
        assert "filter: day == 2" in text
        assert "limit: 5 rows" in text
        assert "(2 pruned)" in text.splitlines()[3]
        assert [line.split()[0] for line in text.splitlines()[3:7]] == [
            "files",
            "row",
            "buckets",
            "bytes",
        ]

    def test_representations(self, base: Path) -> None:
        dataset = pymosaic.dataset(base)
        assert repr(dataset) == f"<pymosaic.Dataset {base}: 4 files, 4 columns, by day>"
        assert repr(dataset.scan(["id"], [("id", ">", 1)], 3)) == (
            f"<pymosaic.Scan of 1 columns in {base}, filtered, at most 3 rows>"
        )


class TestTasks:
    def test_pieces_are_read_by_a_task_that_was_sent(self, base: Path) -> None:
        scan = pymosaic.dataset(base).scan(["day", "id"], [("id", "not in", [101, 215])])
        task, pieces = pickle.loads(pickle.dumps((scan.task(), scan.plan(1).pieces)))
        tables = [pa.Table.from_batches(task.read([piece]), task.schema) for piece in pieces]
        assert len(tables) == 12
        assert pa.concat_tables(tables).combine_chunks() == scan.to_table().combine_chunks()
        together = pa.Table.from_batches(task.read(pieces), task.schema)
        assert together.combine_chunks() == scan.to_table().combine_chunks()

    def test_a_dataset_can_be_sent(self, base: Path) -> None:
        dataset = pickle.loads(pickle.dumps(pymosaic.dataset(base)))
        assert dataset.count_rows() == 24
        assert dataset.scan(["id"]).to_table()["id"].to_pylist() == IDS

    def test_a_file_that_changed_since_it_was_planned_is_named(self, base: Path) -> None:
        dataset = pymosaic.dataset(base)
        scan = dataset.scan()
        pieces = scan.plan().pieces
        write_files(base, {"day=1/10.mosaic": {"other": ["content"]}})
        with pytest.raises(pymosaic.DatasetError, match=r"10\.mosaic has changed"):
            list(scan.task().read(pieces))
        with pytest.raises(
            pymosaic.DatasetError, match=r"10\.mosaic was replaced by a file with o"
        ):
            scan.to_table()


class TestWhatIsRead:
    def test_the_end_of_every_file_once(self, base: Path, reads: Reads) -> None:
        dataset = pymosaic.dataset(base)
        assert sorted(name for name, _, _ in reads.ranges) == [
            "10.mosaic",
            "11.mosaic",
            "20.mosaic",
            "21.mosaic",
        ]
        reads.clear()
        dataset.scan().plan()
        dataset.scan(["z"], [("id", ">", 101), ("day", "=", 1)]).plan()
        assert dataset.count_rows() == 24
        assert dataset.count_rows([("day", "=", 1)]) == 12
        assert reads.ranges == []

    def test_of_data_what_the_plan_says(self, base: Path, reads: Reads) -> None:
        path = base / "day=1/11.mosaic"
        expected = [bucket_range(path, "id", 1), bucket_range(path, "z", 1)]
        scan = pymosaic.dataset(base).scan(["z"], [("day", "=", 1), ("id", "=", 113)])
        reads.clear()
        assert scan.to_table()["z"].to_pylist() == [2]
        assert reads.ranges == expected
        assert reads.num_bytes == scan.plan().bytes.to_read

    def test_rows_are_counted_by_statistics_where_these_decide(
        self, base: Path, reads: Reads
    ) -> None:
        expected = [bucket_range(base / "day=1/11.mosaic", "id", 1)]
        dataset = pymosaic.dataset(base)
        reads.clear()
        assert dataset.count_rows([("id", ">=", 112)]) == 16
        assert reads.ranges == []
        assert dataset.count_rows([("id", ">", 112)]) == 15
        assert reads.ranges == expected

    def test_with_a_schema_files_of_other_partitions_are_not_opened(
        self, base: Path, reads: Reads
    ) -> None:
        schema = pa.schema({"z": pa.int64()})
        dataset = pymosaic.dataset(base, schema=schema)
        assert reads.ranges == []
        assert dataset.scan(["z"], [("day", "=", 2)]).to_table().num_rows == 12
        assert reads.files == {"20.mosaic", "21.mosaic"}

    def test_columns_that_a_file_lacks_cost_nothing(self, tmp_path: Path, reads: Reads) -> None:
        write_files(tmp_path, {"1.mosaic": {"a": [1]}, "2.mosaic": {"b": [2]}})
        dataset = pymosaic.dataset(tmp_path)
        reads.clear()
        assert dataset.scan(["b"], [("b", "is not null")]).to_table()["b"].to_pylist() == [2]
        assert reads.files == {"2.mosaic"}
        assert dataset.count_rows([("a", "is null"), ("b", "is null")]) == 0


def test_columns_are_bound_once_and_each_row_group_is_ruled_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        batches = [{"n": [start, start + 1], "x": [0, 0]} for start in (0, 10, 20)]
        write_row_groups(tmp_path / f"{name}.mosaic", batches, statistics=True)
    bound: list[object] = []
    asked: list[object] = []
    bind, excludes = FileColumns.__init__, Filter.excludes

    def binding(columns: FileColumns, *given: Any) -> None:
        bound.append(given)
        bind(columns, *given)

    def excluding(row_filter: Filter, *given: Any) -> bool:
        asked.append(given)
        return excludes(row_filter, *given)

    monkeypatch.setattr(FileColumns, "__init__", binding)
    monkeypatch.setattr(Filter, "excludes", excluding)
    scan = pymosaic.dataset(str(tmp_path)).scan(columns=["x"], filters=[("n", ">", 15)])
    assert scan.to_table().num_rows == 4
    # Both files have one schema: the wanted columns and those of the filter.
    assert len(bound) == 2
    assert len(asked) == 6


def test_a_task_tests_every_row_of_pieces_that_another_plan_made(tmp_path: Path) -> None:
    write_row_groups(tmp_path / "k=1" / "a.mosaic", [{"n": [1, 2]}, {"n": [30]}], statistics=True)
    write_row_groups(tmp_path / "k=2" / "a.mosaic", [{"n": [40]}])
    dataset = pymosaic.dataset(str(tmp_path))
    everything = dataset.scan().plan().pieces
    for filters, rows in (([("n", ">", 1), ("k", "=", 1)], [2, 30]), ([("k", "=", 3)], [])):
        task = dataset.scan(columns=["n"], filters=filters).task()
        assert [row for batch in task.read(everything) for row in batch["n"].to_pylist()] == rows
