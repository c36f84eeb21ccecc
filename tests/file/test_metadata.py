"""What a file is made of, checked against the oracle and against the bytes."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic import BucketMetadata, ColumnMetadata
from pymosaic.testing.pieces import (
    INTEGER,
    ONE_TWO,
    STRING,
    array,
    entry,
    forge,
    map_,
    row_group,
    schema,
)
from tests import oracle
from tests.conformance.fixtures import DATA as DATA_DIRECTORY
from tests.conformance.fixtures import FIXTURES, Fixture
from tests.writing import of_table, write

every_fixture = pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)


def only_bucket(data: bytes) -> BucketMetadata:
    metadata = pymosaic.read_metadata(data)
    assert (metadata.num_row_groups, metadata.num_buckets) == (1, 1)
    return metadata.row_group(0).bucket(0)


def varint_length(value: int) -> int:
    return max(1, -(-value.bit_length() // 7))


class TestEveryFixture:
    @every_fixture
    def test_the_file(self, fixture: Fixture) -> None:
        metadata = pymosaic.read_metadata(fixture.path)
        content = oracle.decode(fixture.data)
        assert metadata.num_rows == fixture.table.num_rows
        assert metadata.num_columns == len(content.sorted_names)
        assert metadata.num_buckets == content.num_buckets
        assert metadata.compression == ("none", "zstd")[content.compression]
        assert metadata.name_encoding == ("front", "bpe")[content.name_encoding]
        assert metadata.file_size == len(fixture.data)
        stored = content.schema_frame or content.schema_bytes
        assert metadata.schema_block_size == 4 + len(stored)
        assert [group.num_rows for group in metadata.row_groups()] == [
            group.num_rows for group in content.row_groups
        ]

    @every_fixture
    def test_the_buckets(self, fixture: Fixture) -> None:
        metadata = pymosaic.read_metadata(fixture.path)
        content = oracle.decode(fixture.data)
        for group, expected in zip(metadata.row_groups(), content.row_groups, strict=True):
            buckets = list(group.buckets())
            assert [
                (part.bucket, part.layout, part.compressed_size, part.raw_size) for part in buckets
            ] == [
                (i, part.layout, part.compressed_size, part.raw_size)
                for i, part in enumerate(expected.buckets)
            ]
            assert [part.offset for part in buckets] == [
                part.offset or 0 for part in expected.buckets
            ]
            assert tuple(tuple(part.column_names) for part in buckets) == content.bucket_names
            assert group.compressed_size == sum(part.compressed_size for part in expected.buckets)

    @every_fixture
    def test_the_columns(self, fixture: Fixture) -> None:
        metadata = pymosaic.read_metadata(fixture.path)
        content = oracle.decode(fixture.data)
        for group, expected in zip(metadata.row_groups(), content.row_groups, strict=True):
            for bucket, stored in zip(group.buckets(), expected.buckets, strict=True):
                columns = bucket.columns()
                assert [
                    (
                        column.name,
                        column.is_child,
                        column.encoding,
                        column.num_values,
                        column.dictionary_size,
                    )
                    for column in columns
                ] == [
                    (
                        owner(column.path, bucket.column_names),
                        column.is_child,
                        column.encoding,
                        column.rows,
                        column.dict_entries or 0,
                    )
                    for column in stored.columns
                ]
                for column, physical in zip(columns, stored.columns, strict=True):
                    if not column.is_child:
                        values = expected.batch.column(column.name)
                        assert column.null_count == values.null_count
                    assert physical.has_nulls == (0 < column.null_count < column.num_values)
                assert_sizes_add_up(bucket, columns, stored)


def owner(path: str, names: list[str]) -> str:
    """The column that a physical column belongs to."""
    return path if path in names else max((n for n in names if path.startswith(n)), key=len)


def assert_sizes_add_up(
    bucket: BucketMetadata, columns: list[ColumnMetadata], stored: oracle.Bucket
) -> None:
    """Every byte of a bucket belongs to a column or to a header of known size."""
    if bucket.layout == "monolithic":
        assert {column.compressed_size for column in columns} == {None}
        children = [column.num_values for column in columns if column.is_child]
        header = -(-2 * len(columns) // 8) + -(-len(columns) // 8)
        if children:
            header += varint_length(bucket.num_columns) + varint_length(len(children))
            header += sum(map(varint_length, children))
        counts = sum(
            varint_length(column.dictionary_size) for column in columns if column.encoding == "DICT"
        )
        assert header + counts + sum(column.raw_size for column in columns) == bucket.raw_size
    elif bucket.layout == "paged":
        slots = [column.compressed_size or 0 for column in columns]
        num_children = sum(column.is_child for column in columns)
        directory = 4 * len(columns) + (2 + 4 * num_children if num_children else 0)
        assert directory + sum(slots) == bucket.compressed_size
        frames = iter(stored.frames)
        for column, slot in zip(columns, slots, strict=True):
            if slot == 0:
                assert (column.encoding, column.raw_size) == ("ALL_NULL", 0)
                continue
            page = 2 + column.raw_size
            if column.encoding == "DICT":
                page += varint_length(column.dictionary_size)
            assert slot == varint_length(page) + len(next(frames))


class TestColumns:
    TABLE = pa.table(
        {
            "const": [7, None, 7, 7, 7, 7, 7, 7, 7],
            "dict": ["x", "y", None] * 3,
            "null": pa.nulls(9, pa.int8()),
            "plain": pa.array(range(9), pa.int32()),
        }
    )

    def test_in_a_monolithic_bucket(self) -> None:
        bucket = only_bucket(of_table(self.TABLE, num_buckets=1))
        assert bucket.layout == "monolithic"
        assert bucket.columns() == [
            ColumnMetadata("const", False, "CONST", 9, 1, 0, 8 + 2, None),
            ColumnMetadata("dict", False, "DICT", 9, 3, 2, 4 + 2 + 1, None),
            ColumnMetadata("null", False, "ALL_NULL", 9, 9, 0, 0, None),
            ColumnMetadata("plain", False, "PLAIN", 9, 0, 0, 36, None),
        ]

    def test_in_a_paged_bucket(self) -> None:
        data = of_table(self.TABLE, num_buckets=1, page_size_threshold=0)
        bucket = only_bucket(data)
        assert (bucket.layout, bucket.raw_size) == ("paged", None)
        columns = bucket.columns()
        assert [(column.name, column.encoding, column.raw_size) for column in columns] == [
            ("const", "CONST", 10),
            ("dict", "DICT", 7),
            ("null", "ALL_NULL", 0),
            ("plain", "PLAIN", 36),
        ]
        start = bucket.offset
        directory = data[start : start + 16]
        assert [column.compressed_size for column in columns] == [
            int.from_bytes(directory[i : i + 4], "little") for i in range(0, 16, 4)
        ]
        assert columns[2].compressed_size == 0

    @pytest.mark.parametrize("threshold", [0, 1 << 20], ids=["paged", "monolithic"])
    def test_children_follow_all_columns(self, threshold: int) -> None:
        table = pa.table(
            {
                "l": pa.array([[1, None], None, [], [3]], pa.list_(pa.int32())),
                "m": pa.array(
                    [[("k", [1])], [("k", None)], [], None],
                    pa.map_(pa.string(), pa.list_(pa.int8())),
                ),
                "n": [1, 2, 3, 4],
            }
        )
        bucket = only_bucket(of_table(table, num_buckets=1, page_size_threshold=threshold))
        assert [
            (column.name, column.is_child, column.encoding, column.num_values, column.null_count)
            for column in bucket.columns()
        ] == [
            ("l", False, "PLAIN", 4, 1),
            ("m", False, "DICT", 4, 1),
            ("n", False, "PLAIN", 4, 0),
            ("l", True, "PLAIN", 3, 1),
            ("m", True, "CONST", 2, 0),
            ("m", True, "CONST", 2, 1),
            ("m", True, "CONST", 1, 0),
        ]

    def test_places_in_name_order(self) -> None:
        table = pa.table({name: [1] for name in "edcba"})
        metadata = pymosaic.read_metadata(of_table(table, num_buckets=2))
        first, second = metadata.row_group(0).buckets()
        assert (first.first_column, first.num_columns, first.column_names) == (
            0,
            3,
            ["a", "b", "c"],
        )
        assert (second.first_column, second.num_columns, second.column_names) == (3, 2, ["d", "e"])

    def test_row_groups_choose_each_for_itself(self) -> None:
        batches = [pa.record_batch({"a": values}) for values in ([1, 1], [1, 2], [None, None])]
        fields = pa.schema({"a": pa.int64()})
        data = write([batch.cast(fields) for batch in batches], fields, row_group_bytes=1)
        assert [
            group.bucket(0).columns()[0].encoding
            for group in pymosaic.read_metadata(data).row_groups()
        ] == ["CONST", "PLAIN", "ALL_NULL"]


class TestMissingBuckets:
    CONTENT = schema(
        ("a", INTEGER), ("l", array(INTEGER)), ("m", map_(STRING, INTEGER)), num_buckets=3
    )
    INDEX = row_group(2, entry(0, 0, 10, 10), entry(1, 0, 0, 0))
    DATA = forge(ONE_TWO, CONTENT, INDEX, num_buckets=3)

    def test_they_are_told_apart(self) -> None:
        group = pymosaic.read_metadata(self.DATA).row_group(0)
        assert [bucket.layout for bucket in group.buckets()] == ["monolithic", "missing", "missing"]
        assert [bucket.column_names for bucket in group.buckets()] == [["a"], ["l"], ["m"]]
        missing = group.bucket(2)
        assert (missing.offset, missing.compressed_size, missing.raw_size) == (0, 0, None)
        assert group.compressed_size == 10

    def test_their_columns_are_all_null(self) -> None:
        group = pymosaic.read_metadata(self.DATA).row_group(0)
        assert group.bucket(1).columns() == [
            ColumnMetadata("l", False, "ALL_NULL", 2, 2, 0, 0, None),
            ColumnMetadata("l", True, "ALL_NULL", 0, 0, 0, 0, None),
        ]
        assert [column.encoding for column in group.bucket(2).columns()] == ["ALL_NULL"] * 3

    def test_a_bucket_without_columns(self) -> None:
        data = forge(b"", schema(("a", INTEGER), num_buckets=3), row_group(2), num_buckets=3)
        group = pymosaic.read_metadata(data).row_group(0)
        assert [bucket.num_columns for bucket in group.buckets()] == [1, 0, 0]
        assert group.bucket(1).columns() == []

    @pytest.mark.timeout(300)
    def test_four_billion_buckets_of_a_forged_file_do_not_matter(self) -> None:
        path = DATA_DIRECTORY / "malformed" / "m130_nbuckets_u32max.mosaic"
        metadata = pymosaic.read_metadata(path)
        assert metadata.num_buckets == (1 << 32) - 1
        group = metadata.row_group(0)
        assert group.bucket(0).compressed_size == group.compressed_size


class TestAsAnObject:
    TABLE = pa.table({"a": [1, 2], "b": ["x", None]})

    def test_repr_of_a_file(self) -> None:
        data = of_table(self.TABLE)
        assert repr(pymosaic.read_metadata(data)) == (
            "<pymosaic.FileMetadata: 2 rows, 2 columns, 1 row groups, 2 buckets, zstd, "
            f"{len(data)} bytes>"
        )

    def test_repr_of_its_parts_shows_public_attributes_only(self) -> None:
        group = pymosaic.read_metadata(of_table(self.TABLE)).row_group(0)
        for part in (group, group.bucket(0)):
            assert repr(part).startswith(type(part).__name__)
            assert "num_" in repr(part)
            assert "_file" not in repr(part)
            assert " object at 0x" not in repr(part)

    @pytest.mark.parametrize("index", [1, -1, 1 << 70])
    def test_row_groups_that_are_not_there(self, index: int) -> None:
        with pytest.raises(pymosaic.RowNotFoundError, match=f"row group {index}"):
            pymosaic.read_metadata(of_table(self.TABLE)).row_group(index)

    @pytest.mark.parametrize("index", [2, -1, 1 << 70])
    def test_buckets_that_are_not_there(self, index: int) -> None:
        with pytest.raises(IndexError, match=f"bucket {index}"):
            pymosaic.read_metadata(of_table(self.TABLE)).row_group(0).bucket(index)

    def test_it_is_the_same_from_an_open_file(self) -> None:
        data = of_table(self.TABLE)
        with pymosaic.MosaicFile(data) as file:
            columns = file.metadata.row_group(0).bucket(1).columns()
        assert columns == pymosaic.read_metadata(data).row_group(0).bucket(1).columns()

    def test_damage_is_told_with_its_place(self, tmp_path: Path) -> None:
        data = of_table(self.TABLE)
        path = tmp_path / "damaged.mosaic"
        path.write_bytes(data[:5] + bytes([data[5] ^ 1]) + data[6:])
        bucket = pymosaic.read_metadata(path).row_group(0).bucket(0)
        with pytest.raises(pymosaic.CorruptFileError) as caught:
            bucket.columns()
        assert (caught.value.path, caught.value.structure) == (str(path), "row group 0, bucket 0")


class TestReadMetadata:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        values = np.random.default_rng(7).integers(1 << 62, size=(4, 20_000))
        batch = pa.record_batch({f"c{i}": column for i, column in enumerate(values)})
        target = tmp_path / "large.mosaic"
        target.write_bytes(write([batch], batch.schema))
        return target

    def test_it_reads_on_after_the_file_was_deleted(self, path: Path) -> None:
        metadata = pymosaic.read_metadata(path)
        path.unlink()
        assert metadata.row_group(0).bucket(0).columns()[0].encoding == "PLAIN"

    def test_a_bucket_keeps_the_file_open(self, path: Path) -> None:
        bucket = pymosaic.read_metadata(path).row_group(0).bucket(0)
        gc.collect()
        assert bucket.columns()[0].num_values == 20_000

    def test_the_file_is_closed_with_the_last_reference(self, path: Path) -> None:
        metadata = pymosaic.read_metadata(path)
        assert str(path) in open_files()
        del metadata
        assert str(path) not in open_files()


def open_files() -> list[str]:
    directory = Path("/proc/self/fd")
    return [os.readlink(link) for link in directory.iterdir() if link.exists()]


class TestColumnTypes:
    SCHEMA = pa.schema(
        [
            pa.field("id", pa.uint64(), nullable=False),
            pa.field("at", pa.timestamp("us", "UTC")),
            pa.field("name", pa.string()),
            pa.field("tags", pa.list_(pa.string())),
        ]
    )

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("id", "DECIMAL(20, 0) NOT NULL"),
            ("at", "TIMESTAMP_LTZ(6)"),
            ("name", "STRING"),
            ("tags", "ARRAY"),
        ],
    )
    def test_are_shown_as_the_file_declares_them(self, name: str, shown: str) -> None:
        metadata = pymosaic.read_metadata(of_table(self.SCHEMA.empty_table()))
        assert metadata.column_type(name) == shown

    def test_and_buckets_of_all_columns_are_those_of_each(self) -> None:
        metadata = pymosaic.read_metadata(of_table(self.SCHEMA.empty_table(), num_buckets=3))
        names = self.SCHEMA.names
        assert metadata.column_types() == [metadata.column_type(name) for name in names]
        assert metadata.column_buckets() == [metadata.column_bucket(name) for name in names]
        assert len(set(metadata.column_buckets())) == 3

    def test_of_columns_that_are_not_there_are_an_error(self) -> None:
        metadata = pymosaic.read_metadata(of_table(self.SCHEMA.empty_table()))
        with pytest.raises(pymosaic.ColumnNotFoundError, match="'nope'"):
            metadata.column_type("nope")
