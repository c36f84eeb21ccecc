"""DuckDB relations in, files as DuckDB tables out."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import pymosaic

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


def written(data: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    pymosaic.write_table(data, stream, **options)
    return stream.getvalue()


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
