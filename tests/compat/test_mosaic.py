"""The same tests for the reference implementation and for pymosaic under its names."""

from __future__ import annotations

import io
from typing import Any

import mosaic
import pyarrow as pa
import pytest

from pymosaic.compat import mosaic as compatible

TABLE = pa.table(
    {
        "b": pa.array([3, None, 1], pa.int32()),
        "a": ["x", "", None],
        "d": [0.5, 1.5, -1.0],
        "c": pa.array([[1], None, []], pa.list_(pa.int64())),
    }
)


@pytest.fixture(params=[mosaic, compatible], ids=["reference", "pymosaic"])
def library(request: pytest.FixtureRequest) -> Any:
    return request.param


def written(library: Any, table: pa.Table = TABLE, **options: Any) -> bytes:
    stream = io.BytesIO()
    library.write_table(table, stream, library.WriterOptions(**options))
    return stream.getvalue()


def opened(library: Any, data: bytes) -> Any:
    return library.MosaicReader.from_input_file(
        lambda offset, length: data[offset : offset + length], len(data)
    )


def test_public_names_are_the_references() -> None:
    assert sorted(compatible.__all__) == sorted(mosaic.__all__)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"zstd_level": 9, "num_buckets": 2},
        {"stats_columns": ["b", "a"]},
        {"row_group_max_size": 16, "max_dict_entries": 1},
        {"page_size_threshold": 0},
        {"compression": 0},
    ],
)
def test_each_reads_what_the_other_wrote(options: dict[str, Any]) -> None:
    for writer, reader in ((mosaic, compatible), (compatible, mosaic)):
        with opened(reader, written(writer, **options)) as file:
            assert file.read_all() == TABLE


class TestReading:
    def test_a_table(self, library: Any) -> None:
        data = written(library)
        found = library.read_table(lambda offset, length: data[offset : offset + length], len(data))
        assert found == TABLE
        with opened(library, data) as reader:
            assert reader.schema == TABLE.schema
            assert reader.num_row_groups == 1
            assert reader.row_group_num_rows(0) == 3

    def test_a_projection(self, library: Any) -> None:
        with opened(library, written(library)) as reader:
            reader.project(["d", "a", "d"])
            assert reader.read_row_group(0).schema.names == ["d", "a"]
            assert reader.read_all() == TABLE.select(["d", "a"])
            assert len(reader.schema) == 4

    def test_no_rows(self, library: Any) -> None:
        with opened(library, written(library, TABLE.slice(0, 0))) as reader:
            assert reader.num_row_groups == 0
            reader.project(["a"])
            assert reader.read_all() == TABLE.select(["a"]).slice(0, 0)

    def test_statistics(self, library: Any) -> None:
        with opened(library, written(library, stats_columns=["b", "a"])) as reader:
            found = reader.get_row_group_statistics(0)
        assert set(found) == {"a", "b"}
        assert (found["b"].null_count, found["b"].has_min_max) == (1, True)
        assert (found["b"].min, found["b"].max) == (b"\0\0\0\x01", b"\0\0\0\x03")
        assert (found["a"].min, found["a"].max) == (b"", b"x")

    def test_errors_are_runtime_errors(self, library: Any) -> None:
        with pytest.raises(RuntimeError):
            opened(library, b"not a Mosaic file at all, but long enough to hold a footer")
        with opened(library, written(library)) as reader:
            with pytest.raises(RuntimeError):
                reader.project(["missing"])
            with pytest.raises(RuntimeError):
                reader.read_row_group(1)


class TestWriting:
    def test_batches_and_tables(self, library: Any) -> None:
        stream = io.BytesIO()
        with library.MosaicWriter(stream, TABLE.schema) as writer:
            writer.write(TABLE)
            writer.write(TABLE.to_batches()[0])
            assert writer.estimated_file_size() > 0
        with opened(library, stream.getvalue()) as reader:
            assert reader.read_all().num_rows == 6

    def test_statistics_after_closing(self, library: Any) -> None:
        options = library.WriterOptions(stats_columns=["b"])
        writer = library.MosaicWriter(io.BytesIO(), TABLE.schema, options)
        with pytest.raises(RuntimeError, match="not closed"):
            writer.get_row_group_statistics(0)
        writer.write(TABLE)
        writer.close()
        assert writer.num_row_groups == 1
        found = writer.get_row_group_statistics(0)["b"]
        assert (found.null_count, found.min, found.max) == (1, b"\0\0\0\x01", b"\0\0\0\x03")
        with pytest.raises(RuntimeError, match="closed"):
            writer.write(TABLE)

    def test_what_is_not_arrow_is_a_type_error(self, library: Any) -> None:
        with pytest.raises(TypeError):
            library.write_table({"a": [1]}, io.BytesIO())
        with (
            library.MosaicWriter(io.BytesIO(), TABLE.schema) as writer,
            pytest.raises(TypeError),
        ):
            writer.write([1])
