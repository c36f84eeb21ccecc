"""Every file of the reference is read as it reads it, and written again to the same bytes."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from tests.conformance.fixtures import FIXTURES, Fixture
from tests.equality import assert_identical, assert_same_values
from tests.oracle import Statistics, decode, read_schema, scalars
from tests.property.reference import reference_read, reference_table
from tests.writing import write

every_fixture = pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
WITH_STATISTICS = [fixture for fixture in FIXTURES if fixture.manifest["stats"]]
BY_NAME = {fixture.name: fixture for fixture in FIXTURES}


def rewrite(fixture: Fixture, **options: Any) -> bytes:
    return write(fixture.batches, fixture.table.schema, **fixture.options, **options)


class TestReading:
    @every_fixture
    def test_the_table_is_the_one_the_reference_reads(self, fixture: Fixture) -> None:
        assert_identical(pymosaic.read_table(fixture.path), fixture.table)

    @every_fixture
    def test_bytes_are_a_source_too(self, fixture: Fixture) -> None:
        assert_identical(pymosaic.read_table(fixture.data), fixture.table)

    @every_fixture
    def test_the_schema_is_known_without_reading_rows(self, fixture: Fixture) -> None:
        assert pymosaic.read_schema(fixture.path).equals(fixture.table.schema)
        with pymosaic.MosaicFile(fixture.path) as file:
            assert file.schema.equals(fixture.table.schema)
            assert list(file.column_names) == fixture.table.column_names
            assert file.num_columns == fixture.manifest["columns"]
            assert file.num_rows == fixture.manifest["rows"]
            assert file.num_row_groups == len(fixture.manifest["row_groups"])
            assert file.num_buckets == fixture.manifest["num_buckets"]

    @every_fixture
    def test_row_groups_are_the_batches_of_the_reference(self, fixture: Fixture) -> None:
        starts = [0]
        for rows in fixture.manifest["row_groups"]:
            starts.append(starts[-1] + rows)
        with pymosaic.MosaicFile(fixture.path) as file:
            for i, rows in enumerate(fixture.manifest["row_groups"]):
                assert_identical(file.read_row_group(i), fixture.table.slice(starts[i], rows))

    @every_fixture
    def test_each_column_alone_is_the_column_of_the_whole(self, fixture: Fixture) -> None:
        with pymosaic.MosaicFile(fixture.path) as file:
            for name in fixture.table.column_names[:: max(1, fixture.table.num_columns // 25)]:
                assert_identical(file.read(columns=[name]), fixture.table.select([name]))


class TestWriting:
    @every_fixture
    def test_without_checksums_the_bytes_are_those_of_the_reference(self, fixture: Fixture) -> None:
        assert rewrite(fixture, checksum=False) == fixture.data

    @every_fixture
    def test_one_thread_writes_the_same_bytes(self, fixture: Fixture) -> None:
        assert rewrite(fixture, checksum=False, use_threads=False) == fixture.data

    @every_fixture
    def test_checksums_cost_four_bytes_per_frame_and_an_annex(self, fixture: Fixture) -> None:
        plain, checked = decode(fixture.data), decode(rewrite(fixture))
        sizes = [
            [
                (bucket.compressed_size + 4 * len(bucket.frames), bucket.raw_size)
                for group in plain.row_groups
                for bucket in group.buckets
            ],
            [
                (bucket.compressed_size, bucket.raw_size)
                for group in checked.row_groups
                for bucket in group.buckets
            ],
        ]
        assert sizes[0] == sizes[1]
        # A size in the index that crosses a power of 128 takes one byte more there.
        index_growth = len(checked.index_bytes) - len(plain.index_bytes)
        growth = len(rewrite(fixture)) - len(fixture.data)
        annex = 56
        if fixture.options.get("compression") == "none" and plain.row_groups:
            annex += 12 + 4 * plain.num_buckets * len(plain.row_groups)
        assert growth == 4 * len(plain.frames) + index_growth + annex

    @every_fixture
    def test_with_checksums_the_encodings_are_those_of_the_reference(
        self, fixture: Fixture
    ) -> None:
        plain, checked = decode(fixture.data), decode(rewrite(fixture))
        assert checked.schema_bytes == plain.schema_bytes
        for i in range(len(plain.row_groups)):
            assert checked.layouts(i) == plain.layouts(i)
            assert checked.encodings(i) == plain.encodings(i)

    @every_fixture
    def test_the_reference_reads_files_with_checksums(self, fixture: Fixture) -> None:
        data = rewrite(fixture)
        assert_identical(reference_table(data), fixture.table)
        assert [batch.num_rows for batch in reference_read(data)] == fixture.manifest["row_groups"]

    def test_the_legacy_timestamp_struct_is_stored_as_nanoseconds(self) -> None:
        fixture = BY_NAME["f43_legacy_ts_struct"]
        nanoseconds = fixture.table.column("t").combine_chunks().cast(pa.int64()).to_pylist()
        parts = [None if value is None else divmod(value, 1_000_000) for value in nanoseconds]
        millis = pa.array([part and part[0] for part in parts], pa.int64())
        nanos_of_milli = pa.array([part and part[1] for part in parts], pa.int32())
        structs = pa.StructArray.from_arrays(
            [millis, nanos_of_milli],
            names=["millis", "nanos_of_milli"],
            mask=pa.array([part is None for part in parts]),
        )
        batch = pa.record_batch([structs], names=["t"])
        assert write([batch], batch.schema, checksum=False, **fixture.options) == fixture.data


PLAIN_TYPES: list[tuple[Any, type]] = [
    (pa.types.is_boolean, bool),
    (pa.types.is_integer, int),
    (pa.types.is_floating, float),
    (pa.types.is_decimal, Decimal),
    (pa.types.is_string, str),
    (pa.types.is_time, datetime.time),
]


class TestStatistics:
    @every_fixture
    def test_columns_with_statistics_are_those_the_writer_was_asked_for(
        self, fixture: Fixture
    ) -> None:
        with pymosaic.MosaicFile(fixture.path) as file:
            for i in range(file.num_row_groups):
                assert set(file.statistics(i)) == set(fixture.options.get("statistics", ()))

    @pytest.mark.parametrize("fixture", WITH_STATISTICS, ids=lambda fixture: fixture.name)
    def test_values_are_those_the_file_stores(self, fixture: Fixture) -> None:
        content = decode(fixture.data)
        with pymosaic.MosaicFile(fixture.path) as file:
            for i, group in enumerate(content.row_groups):
                found = file.statistics(i)
                for stored in group.statistics:
                    assert found[stored.column].null_count == stored.null_count
                    low, high = expected_bounds(content.schema_bytes, stored)
                    assert_bound(found[stored.column].min_scalar, low, stored.column)
                    assert_bound(found[stored.column].max_scalar, high, stored.column)

    @pytest.mark.parametrize("fixture", WITH_STATISTICS, ids=lambda fixture: fixture.name)
    def test_values_come_back_as_python_types(self, fixture: Fixture) -> None:
        with pymosaic.MosaicFile(fixture.path) as file:
            for i in range(file.num_row_groups):
                for name, found in file.statistics(i).items():
                    column_type = fixture.table.schema.field(name).type
                    for is_of, python_type in PLAIN_TYPES:
                        if is_of(column_type) and found.min is not None:
                            assert type(found.min) is type(found.max) is python_type

    def test_nan_is_no_bound(self) -> None:
        with pymosaic.MosaicFile(BY_NAME["f22_stats_edges"].path) as file:
            found = file.statistics(0)
        assert (found["nan1"].min, found["nan1"].max) == (None, None)
        assert (found["nan2"].min, found["nan2"].max) == (-1.0, 1.0)
        assert (found["an"].null_count, found["an"].min, found["an"].max) == (3, None, None)

    def test_with_checksums_nan_is_left_out_when_writing(self) -> None:
        fixture = BY_NAME["f22_stats_edges"]
        with pymosaic.MosaicFile(rewrite(fixture)) as file:
            found = file.statistics(0)["nan1"]
        finite = [value for value in fixture.table["nan1"].to_pylist() if value == value]
        assert (found.min, found.max) == (min(finite), max(finite))

    def test_a_column_of_nan_alone_has_no_bounds(self) -> None:
        batch = pa.record_batch({"a": [float("nan")] * 3})
        data = write([batch], batch.schema, statistics=["a"])
        (stored,) = decode(data).row_groups[0].statistics
        assert stored.min is not None
        assert stored.min == stored.max
        with pymosaic.MosaicFile(data) as file:
            found = file.statistics(0)["a"]
        assert (found.null_count, found.min, found.max) == (0, None, None)


def expected_bounds(schema_bytes: bytes, stored: Statistics) -> tuple[pa.Array, pa.Array]:
    """The stored minimum and maximum as Arrow arrays of one row; null where they say nothing."""
    column_type = read_schema(schema_bytes).columns[stored.column_index].type
    bounds = scalars(column_type, [stored.min, stored.max])
    if pa.types.is_floating(bounds.type) and any(value != value for value in bounds.to_pylist()):
        bounds = pa.nulls(2, bounds.type)
    return bounds.slice(0, 1), bounds.slice(1)


def assert_bound(actual: pa.Scalar | None, expected: pa.Array, column: str) -> None:
    if actual is None:
        assert expected.null_count == 1
    else:
        assert_same_values(pa.array([actual], expected.type), expected, column)
