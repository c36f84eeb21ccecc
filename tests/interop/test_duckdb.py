"""DuckDB relations in, files as DuckDB tables out."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pytest

import pymosaic
from tests.datasets.building import Reads, bucket_range, write_files, write_row_groups
from tests.writing import written

VALUES = """
    SELECT * FROM (VALUES
        (1::INTEGER, 'x', 1.50::DECIMAL(5, 2), DATE '2024-05-31',
         TIMESTAMP '2024-05-31 12:00:00.000001', [1, NULL, 3], MAP {'k': 1}, 'a'::ENUM('a', 'b'),
         5::UTINYINT, true, 0.5::FLOAT, 'raw'::BLOB, TIME '01:02:03', 7::HUGEINT),
        (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        (-2, '', -2.25, DATE '1900-01-01', TIMESTAMP '1900-01-01 00:00:00', [], MAP {}, 'b', 0,
         false, 'inf', '', TIME '23:59:59.999', -7)
    ) AS t(i, s, d, day, moment, list, map, e, u, b, f, raw, t, h)
"""


@pytest.fixture
def connection() -> Iterator[Any]:
    with duckdb.connect() as opened:
        yield opened


def test_a_relation_is_written_and_its_values_come_back(connection: Any) -> None:
    relation = connection.sql(VALUES)
    table = pymosaic.read_table(written(relation))
    assert table.column_names == relation.columns
    assert table.to_pylist()[0] == {
        "i": 1,
        "s": "x",
        "d": Decimal("1.50"),
        "day": datetime.date(2024, 5, 31),
        "moment": datetime.datetime(2024, 5, 31, 12, 0, 0, 1),
        "list": [1, None, 3],
        "map": [("k", 1)],
        "e": "a",
        "u": 5,
        "b": True,
        "f": 0.5,
        "raw": b"raw",
        "t": datetime.time(1, 2, 3),
        "h": Decimal(7),
    }
    assert set(table.to_pylist()[1].values()) == {None}
    assert table.num_rows == 3


def test_a_file_is_a_table_to_duckdb(connection: Any) -> None:
    source = connection.sql(VALUES).select("i, s, d, day, moment, list, b, f, raw")
    expected = source.fetchall()
    with pymosaic.MosaicFile(written(source)) as file:
        assert connection.from_arrow(file).fetchall() == expected


def test_a_file_is_queried_by_the_name_of_its_variable(connection: Any) -> None:
    batches = [pa.record_batch({"k": ["a", "b"], "n": [i, i * 10]}) for i in range(1, 4)]
    stream = io.BytesIO()
    with pymosaic.MosaicWriter(stream, batches[0].schema, row_group_bytes=1) as writer:
        for batch in batches:
            writer.write(batch)
    with pymosaic.MosaicFile(stream) as people:
        assert people.num_row_groups == 3
        query = "SELECT k, sum(n)::INT AS total FROM people GROUP BY k ORDER BY k"
        assert connection.sql(query).fetchall() == [("a", 6), ("b", 60)]
        # A second query reads the file again.
        assert connection.sql("SELECT count(*) FROM people").fetchall() == [(6,)]


def test_an_arrow_stream_of_duckdb_is_written_batch_by_batch(connection: Any) -> None:
    relation = connection.sql("SELECT range AS n, 'row ' || range AS s FROM range(10000)")
    table = pymosaic.read_table(written(pa.RecordBatchReader.from_stream(relation)))
    assert table["n"].to_pylist() == list(range(10_000))
    assert table["s"][9_999].as_py() == "row 9999"


def test_a_writer_takes_relations(connection: Any) -> None:
    stream = io.BytesIO()
    relation = connection.sql("SELECT 1 AS a, 'x' AS b")
    with pymosaic.MosaicWriter(stream, relation.to_arrow_table().schema) as writer:
        writer.write(relation)
        writer.write(connection.sql("SELECT 'y' AS b, 2 AS a"))
    table = pymosaic.read_table(stream)
    assert table.to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


def test_a_query_over_pruned_rows(connection: Any) -> None:
    data = written(connection.sql("SELECT range AS n FROM range(100)"), statistics=True)
    rows = pymosaic.read_table(data, filters=[("n", ">=", 98)])
    assert rows.num_rows == 2
    assert connection.sql("SELECT max(n) FROM rows").fetchall() == [(99,)]


class TestDatasets:
    """SQL over a dataset, which is an Arrow dataset to DuckDB."""

    @pytest.fixture
    def base(self, tmp_path: Path) -> Path:
        for year in (2023, 2024):
            write_row_groups(
                tmp_path / f"year={year}" / f"{year}.mosaic",
                [
                    {
                        "id": [year * 10 + i, year * 10 + i + 1],
                        "name": ["x", f"{i}"],
                        "score": [i / 2, float("nan")],
                        "unused": ["long text " * 100, "more"],
                    }
                    for i in (0, 2, 4)
                ],
                num_buckets=4,
                statistics=["id"],
            )
        return tmp_path

    def test_a_query(self, connection: Any, base: Path) -> None:
        ds = pymosaic.dataset(base)
        query = "SELECT year, count(*), max(id) FROM ds WHERE name = 'x' GROUP BY year ORDER BY 1"
        assert connection.sql(query).fetchall() == [(2023, 3, 20234), (2024, 3, 20244)]
        # A dataset can be asked as often as one likes.
        assert connection.sql("SELECT count(*) FROM ds").fetchall() == [(ds.count_rows(),)]

    def test_columns_and_conditions_are_pushed_down(
        self, connection: Any, base: Path, reads: Reads
    ) -> None:
        path = base / "year=2024" / "2024.mosaic"
        expected = [bucket_range(path, "id", 2), bucket_range(path, "name", 2)]
        ds = pymosaic.dataset(base)
        reads.clear()
        query = "SELECT name FROM ds WHERE id BETWEEN 20245 AND 20299 AND year = 2024"
        assert connection.sql(query).fetchall() == [("4",)]
        assert reads.ranges == expected
        assert ds is not None

    def test_a_count_reads_the_one_column_that_duckdb_asks_for(
        self, connection: Any, base: Path, reads: Reads
    ) -> None:
        expected = sorted(
            bucket_range(base / f"year={year}" / f"{year}.mosaic", "id", row_group)
            for year in (2023, 2024)
            for row_group in range(3)
        )
        ds = pymosaic.dataset(base)
        reads.clear()
        assert connection.sql("SELECT count(*) FROM ds").fetchall() == [(12,)]
        assert sorted(reads.ranges) == expected
        reads.clear()
        assert ds.count_rows() == 12
        assert reads.ranges == []

    @pytest.mark.parametrize(
        "condition",
        [
            "name IN ('x', '2')",
            "name NOT IN ('x', '2')",
            "NOT (name = 'x' OR id > 20242)",
            "score > 0.5",
            "score < 0.5",
            "score = 'NaN'::DOUBLE",
            "NOT (score <= 0.5)",
            "name LIKE '%2%' AND id < 20240",
            "id % 2 = 1",
            "name IS NULL OR year <> 2023",
            "id = 20231 OR name = '4' AND score IS NOT NULL",
        ],
    )
    def test_rows_are_those_of_a_table(self, connection: Any, base: Path, condition: str) -> None:
        ds = pymosaic.dataset(base)
        whole = ds.scan().to_table()
        query = "SELECT id, name, year FROM {} WHERE {} ORDER BY id"
        found = connection.sql(query.format("ds", condition)).fetchall()
        assert found == connection.sql(query.format("whole", condition)).fetchall()
        assert whole.num_rows == 12

    def test_a_consumer_who_pauses_stops_the_reading(
        self, connection: Any, tmp_path: Path, reads: Reads
    ) -> None:
        write_files(tmp_path, {f"{i:02}.mosaic": {"n": range(5000)} for i in range(50)})
        ds = pymosaic.dataset(tmp_path)
        reads.clear()
        reader = ds.scanner(columns=["n"]).to_reader()
        assert reads.ranges == []
        assert reader.read_next_batch().num_rows == 5000
        # One was asked for; some are read ahead, on as many threads as there are.
        assert len(reads.files) <= 2 * pa.cpu_count() + 3
        assert reader.read_all().num_rows == 49 * 5000

    def test_joins_and_subqueries(self, connection: Any, base: Path) -> None:
        ds = pymosaic.dataset(base)
        query = """
            SELECT a.id FROM ds a JOIN ds b ON a.id = b.id + 10
            WHERE a.id = (SELECT max(id) FROM ds)
        """
        assert connection.sql(query).fetchall() == [(20245,)]
        assert ds.files

    def test_everything_that_pyarrow_offers_works_or_says_why_not(self, base: Path) -> None:
        ds = pymosaic.dataset(base)
        inherited = {name for name in dir(pyarrow.dataset.Dataset) if not name.startswith("__")}
        overridden = {name for kind in type(ds).__mro__[:2] for name in vars(kind)}
        assert inherited <= overridden
        for name in ("filter", "join", "join_asof", "replace_schema"):
            with pytest.raises(pymosaic.UnsupportedFeatureError, match="to_table"):
                getattr(ds, name)(None)
        with pytest.raises(pymosaic.UnsupportedFeatureError):
            pyarrow.dataset.Scanner.from_dataset(ds)
        with pytest.raises(TypeError, match="Scanner"):
            pyarrow.dataset.write_dataset(ds, base / "copy", format="parquet")
        with pytest.raises((pymosaic.MosaicError, pa.ArrowException, TypeError, ValueError)):
            pyarrow.dataset.UnionDataset(ds.schema, [ds])
        with pytest.raises(pymosaic.InvalidOptionError, match="filters"):
            ds.to_table(filter=1)  # type: ignore[arg-type]
        with pytest.raises(pymosaic.UnsupportedFeatureError, match="list of names"):
            ds.scanner(columns={"double": pc.field("id") * 2})

    def test_pyarrows_ways_to_read(self, base: Path, tmp_path: Path) -> None:
        ds = pymosaic.dataset(base)
        assert isinstance(ds, pyarrow.dataset.Dataset)
        expected = ds.scan(["name"], [("id", "=", 20231)]).to_table()
        wanted = (pc.field("id") + 1) == 20232
        assert ds.to_table(columns=["name"], filter=wanted) == expected
        assert pa.Table.from_batches(ds.to_batches(columns=["name"], filter=wanted)) == expected
        assert ds.head(1, columns=["name"], filter=wanted) == expected
        assert ds.scanner(columns=["name"], filter=wanted).to_table() == expected
        assert ds.head(3)["id"].to_pylist() == [20230, 20231, 20232]
        assert ds.head(2, filter=(pc.field("id") * 1) > 20234)["id"].to_pylist() == [20235, 20240]
        assert sum(batch.num_rows for batch in ds.to_batches(columns=[], filter=wanted)) == 1
        assert ds.scanner(columns=["id"]).projected_schema == pa.schema({"id": pa.int64()})
        assert ds.scanner().dataset_schema == ds.schema
        reader = ds.scan().to_reader()
        pyarrow.dataset.write_dataset(reader, tmp_path / "parquet", format="parquet")
        copy = pyarrow.dataset.dataset(tmp_path / "parquet")
        assert copy.count_rows() == 12

    def test_a_relation_becomes_a_dataset(self, connection: Any, tmp_path: Path) -> None:
        relation = connection.sql("SELECT range AS n, range % 3 AS k FROM range(30)")
        write_files(tmp_path, {"a.mosaic": relation.to_arrow_table()})
        ds = pymosaic.dataset(tmp_path)
        assert connection.sql("SELECT sum(n) FROM ds WHERE k = 1").fetchall() == [(145,)]
        assert ds.count_rows() == 30
