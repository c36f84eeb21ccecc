"""CSV and JSON lines in chunks: where a chunk ends changes nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pymosaic.cli.formats import open_reader
from pymosaic.errors import InvalidDataError

CSV = (
    'id,"na\nme",when\n'
    + "".join(f'{row},"a ""quoted""\nline {row}",\n' for row in range(20))
    + "2.5,,2024-05-31\n"
    + '7,"",\n'
    + "8,last,2024-06-01"
)
JSONL = (
    "".join(f'{{"a": {row}, "b": null}}\n' for row in range(20))
    + '{"a": 2.5, "c": "2024-05-31"}\n\n{"b": [1], "c": "text"}\n{"a": 1}'
)


@pytest.fixture(params=[1, 7, 64, 1 << 20])
def chunk_bytes(request, monkeypatch):
    monkeypatch.setattr("pymosaic.cli.formats.text_chunks._CHUNK_BYTES", request.param)


def read(path) -> pa.Table:
    with open_reader(str(path)) as reader:
        table = pa.Table.from_batches(list(reader.batches()), reader.schema)
        assert reader.num_rows == table.num_rows
        return table


@pytest.mark.usefixtures("chunk_bytes")
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_csv_is_the_same_in_chunks_of_any_size(tmp_path, line_end):
    path = tmp_path / "in.csv"
    path.write_bytes(CSV.replace("\n", line_end).encode())
    table = read(path)
    assert table.column_names == ["id", f"na{line_end}me", "when"]
    assert table.schema.types == [pa.float64(), pa.string(), pa.date32()]
    assert table["id"].to_pylist() == [*map(float, range(20)), 2.5, 7.0, 8.0]
    texts = [f'a "quoted"{line_end}line {row}' for row in range(20)]
    assert table.column(1).to_pylist() == [*texts, None, "", "last"]
    assert table["when"].null_count == 21


@pytest.mark.usefixtures("chunk_bytes")
def test_json_lines_are_the_same_in_chunks_of_any_size(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text(JSONL)
    table = read(path)
    assert table.schema == pa.schema(
        {"a": pa.float64(), "b": pa.list_(pa.int64()), "c": pa.string()}
    )
    assert table["a"].to_pylist() == [*map(float, range(20)), 2.5, None, 1.0]
    assert table["c"].to_pylist()[20:] == ["2024-05-31", "text", None]


@pytest.mark.usefixtures("chunk_bytes")
def test_json_lines_that_contradict_each_other_are_refused(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text('{"a": 1}\n' * 20 + '{"a": "x"}\n')
    with pytest.raises(InvalidDataError, match=r"in\.jsonl"):
        read(path)


def test_files_with_nothing_but_a_header_are_tables_without_rows(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("a,b\n")
    assert read(path).schema == pa.schema({"a": pa.string(), "b": pa.string()})


def test_repeated_names_in_a_header_are_refused(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(InvalidDataError, match="duplicate column 'a' in the header"):
        read(path)


@pytest.mark.parametrize("name", ["in.csv", "in.jsonl"])
def test_empty_files_are_tables_without_columns(tmp_path, name):
    path = tmp_path / name
    path.write_text("")
    table = read(path)
    assert (table.num_columns, table.num_rows) == (0, 0)
