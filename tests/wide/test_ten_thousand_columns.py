"""Ten thousand columns: what the format is for."""

from __future__ import annotations

import gc
import hashlib
import sys
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from tests.equality import assert_identical
from tests.io_pattern.recording import (
    RecordingSource,
    bucket_ranges,
    joined,
    opened,
)
from tests.property.reference import reference_table, reference_write
from tests.writing import write

NUM_COLUMNS = 10_000
KINDS = ["temperature", "pressure", "speed", "state", "note"]
SAMPLES = [
    pa.array([20.5, None, -3.25]),
    pa.array([1013, 1014, None], pa.int32()),
    pa.array([Decimal("1.50"), None, Decimal("2.25")], pa.decimal128(9, 2)),
    pa.array(["on", "off", "on"]),
    pa.array([["a", "b"], None, []], pa.list_(pa.string())),
]


def wide_batch(num_columns: int) -> pa.RecordBatch:
    """Columns of five kinds, in an order that is not that of their names."""
    order = np.random.default_rng(7).permutation(num_columns).tolist()
    names = [f"sensor_{KINDS[i % 5]}_{i // 5:05}" for i in order]
    return pa.record_batch([SAMPLES[i % 5] for i in order], names=names)


BATCH = wide_batch(NUM_COLUMNS)
TABLE = pa.Table.from_batches([BATCH])


@pytest.fixture(scope="module")
def data() -> bytes:
    return write([BATCH], BATCH.schema)


@pytest.fixture(scope="module")
def file(data: bytes) -> pymosaic.MosaicFile:
    return pymosaic.MosaicFile(data)


class TestReading:
    @pytest.mark.parametrize("use_threads", [True, False])
    def test_all_columns(self, file: pymosaic.MosaicFile, use_threads: bool) -> None:
        assert_identical(file.read(use_threads=use_threads), TABLE)

    def test_the_schema(self, file: pymosaic.MosaicFile) -> None:
        assert file.schema.equals(TABLE.schema)
        assert file.column_names == TABLE.column_names
        assert (file.num_columns, file.num_buckets) == (NUM_COLUMNS, 100)

    @pytest.mark.parametrize("position", [0, 1, 4_999, 9_998, 9_999])
    def test_one_column(self, file: pymosaic.MosaicFile, position: int) -> None:
        name = TABLE.column_names[position]
        assert_identical(file.read(columns=[name]), TABLE.select([name]))

    def test_ten_columns_in_the_order_asked_for(self, file: pymosaic.MosaicFile) -> None:
        names = TABLE.column_names[::-1_000]
        assert len(names) == 10
        assert_identical(file.read(columns=names), TABLE.select(names))

    @pytest.mark.parametrize(
        ("pattern", "count"),
        [
            ("sensor_state_*", 2_000),
            ("sensor_note_0001*", 10),
            ("*_00042", 5),
            ("sensor_s*_0199*", 20),
            ("*", 10_000),
        ],
    )
    def test_a_pattern(self, file: pymosaic.MosaicFile, pattern: str, count: int) -> None:
        table = file.read(columns=[pattern])
        assert table.num_columns == count
        assert_identical(table, TABLE.select(table.column_names))
        rank = {name: i for i, name in enumerate(TABLE.column_names)}
        order = [rank[name] for name in table.column_names]
        assert order == sorted(order)

    def test_all_columns_in_another_order(self, file: pymosaic.MosaicFile) -> None:
        names = sorted(TABLE.column_names)
        assert_identical(file.read(columns=names), TABLE.select(names))

    def test_an_unknown_column(self, file: pymosaic.MosaicFile) -> None:
        with pytest.raises(pymosaic.ColumnNotFoundError, match="'sensor_state_00042'") as caught:
            file.read(columns=["sensor_stat_00042"])
        assert len(str(caught.value)) < 500


class TestRanges:
    def test_opening_is_one_read_even_if_names_have_nothing_in_common(self) -> None:
        names = [hashlib.sha256(b"%d" % i).hexdigest()[:12] for i in range(NUM_COLUMNS)]
        values = np.random.default_rng(7).random((NUM_COLUMNS, 4))
        batch = pa.record_batch(list(values), names=names)
        data = write([batch], batch.schema)
        tail = 128 << 10
        assert len(data) > 2 * tail
        source = RecordingSource(data, tail_bytes=tail)
        pymosaic.MosaicFile(source)
        assert source.reads == [(len(data) - tail, tail)]

    def test_one_column_is_one_bucket_of_a_hundred(self, data: bytes) -> None:
        file, source = opened(data)
        file.read(columns=["sensor_note_00000"])
        assert source.reads == [bucket_ranges(data)[0]]

    def test_a_prefix_is_a_run_of_buckets(self, data: bytes) -> None:
        file, source = opened(data)
        file.read(columns=["sensor_pressure_*"])
        # "note" has the first 2,000 names, "pressure" the next.
        assert source.reads == [joined(*bucket_ranges(data)[20:40])]


class TestWriting:
    def test_the_bytes_are_those_of_the_reference(self) -> None:
        ours = write([BATCH], BATCH.schema, checksum=False)
        assert ours == reference_write([BATCH], BATCH.schema, {})

    def test_the_reference_reads_our_file(self, data: bytes) -> None:
        assert_identical(reference_table(data), TABLE)

    @pytest.mark.parametrize(
        "options",
        [
            {"num_buckets": 1},
            {"num_buckets": NUM_COLUMNS},
            {"num_buckets": 7, "page_size_threshold": 0},
            {"compression": "none"},
            {"use_threads": False},
        ],
        ids=str,
    )
    def test_options(self, options: dict[str, Any]) -> None:
        file = pymosaic.MosaicFile(write([BATCH], BATCH.schema, **options))
        assert_identical(file.read(), TABLE)
        assert_identical(
            file.read(columns=["sensor_state_00042"]), TABLE.select(["sensor_state_00042"])
        )

    def test_row_groups_and_statistics(self) -> None:
        data = write([BATCH, BATCH.slice(1, 1)], BATCH.schema, row_group_bytes=1, statistics=True)
        with pymosaic.MosaicFile(data) as file:
            first, second = file.statistics(0), file.statistics(1)
            assert len(first) == len(second) == 8_000
            found = first["sensor_speed_00042"]
            assert (found.min, found.max, found.null_count) == (Decimal("1.50"), Decimal("2.25"), 1)
            filters = [("sensor_state_00042", "==", "off"), ("sensor_pressure_00042", ">", 1013)]
            assert_identical(file.read(filters=filters), pa.concat_tables([TABLE.slice(1, 1)] * 2))

    def test_columns_are_matched_by_name(self) -> None:
        names = sorted(TABLE.column_names)
        assert_identical(pymosaic.read_table(write([BATCH.select(names)], BATCH.schema)), TABLE)


class TestObjects:
    """Nothing is made per column of the file, only per column that is asked for."""

    @pytest.mark.parametrize(
        "use",
        [
            lambda file: file.read(columns=["sensor_state_00042"]),
            lambda file: file.read(columns=[]),
            lambda file: file.read(columns=["sensor_note_0001*"]),
            lambda file: file.read(
                columns=["sensor_note_00000"], filters=[("sensor_state_00042", "==", "on")]
            ),
            lambda file: next(file.iter_batches(1, columns=["sensor_state_00042"])),
            lambda file: file.metadata.row_group(0).bucket(0).layout,
        ],
        ids=["one column", "no column", "pattern", "filter", "batches", "metadata"],
    )
    def test_opening_and_using_a_file(
        self, data: bytes, use: Callable[[pymosaic.MosaicFile], object]
    ) -> None:
        use(pymosaic.MosaicFile(data))  # what is made once, by the first use, does not count
        gc.collect()
        tracemalloc.start()
        before = sys.getallocatedblocks()
        try:
            opened_file = pymosaic.MosaicFile(data)
            result = use(opened_file)
            blocks = sys.getallocatedblocks() - before
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert result is not None
        assert blocks < 1_000
        # The names alone would take this much as Python strings.
        assert peak < NUM_COLUMNS * sys.getsizeof("sensor_note_00000")

    def test_a_table_of_all_columns_has_no_object_per_column(self, data: bytes) -> None:
        file = pymosaic.MosaicFile(data)
        file.read()
        gc.collect()
        before = sys.getallocatedblocks()
        table = file.read()
        assert sys.getallocatedblocks() - before < 2_000
        assert table.num_columns == NUM_COLUMNS
