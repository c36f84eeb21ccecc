"""What ``metadata`` tells of a file is what the oracle finds in it."""

from __future__ import annotations

import pytest

import pymosaic
from tests.conformance.fixtures import FIXTURES, Fixture
from tests.oracle import decode

every_fixture = pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)


@every_fixture
def test_the_file_as_a_whole(fixture: Fixture) -> None:
    content = decode(fixture.data)
    metadata = pymosaic.read_metadata(fixture.path)
    assert metadata.num_rows == content.table.num_rows
    assert metadata.num_columns == len(content.schema)
    assert metadata.num_row_groups == len(content.row_groups)
    assert metadata.num_buckets == content.num_buckets
    assert metadata.compression == ("none", "zstd")[content.compression]
    assert metadata.name_encoding == ("front", "bpe")[content.name_encoding]
    assert metadata.file_size == len(fixture.data)


@every_fixture
def test_buckets_with_their_layout_and_place(fixture: Fixture) -> None:
    content = decode(fixture.data)
    metadata = pymosaic.read_metadata(fixture.path)
    for i, group in enumerate(content.row_groups):
        assert metadata.row_group(i).num_rows == group.num_rows
        for found, bucket, names in zip(
            metadata.row_group(i).buckets(), group.buckets, content.bucket_names, strict=True
        ):
            assert found.layout == bucket.layout
            assert found.compressed_size == bucket.compressed_size
            assert found.raw_size == bucket.raw_size
            assert found.offset == (bucket.offset or 0)
            assert tuple(found.column_names) == names


@every_fixture
def test_columns_with_their_encoding(fixture: Fixture) -> None:
    content = decode(fixture.data)
    metadata = pymosaic.read_metadata(fixture.path)
    for i, group in enumerate(content.row_groups):
        for found, bucket in zip(metadata.row_group(i).buckets(), group.buckets, strict=True):
            described = [
                (
                    column.is_child,
                    column.encoding,
                    column.num_values,
                    column.null_count,
                    column.dictionary_size,
                )
                for column in found.columns()
            ]
            assert described == [
                (
                    column.is_child,
                    column.encoding,
                    column.rows,
                    column.null_count,
                    column.dict_entries or 0,
                )
                for column in bucket.columns
            ]
