"""Every cap in Limits: a file at the cap passes, one beyond it is refused by the cap's name."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.testing.pieces import (
    INTEGER,
    STRING,
    array,
    forge,
    map_,
    of_one,
    schema,
    text,
)
from tests.oracle import decode
from tests.writing import of_table, write

TABLE = pa.table({"a": [1, 2, 3, 4], "bcd": ["x", "y", "z", None], "e": [0.5, 1.5, 2.5, 3.5]})


def no_rows(*columns: tuple[str | bytes, bytes], names: bytes = b"\x00") -> bytes:
    return forge(b"", schema(*columns, names=names), b"", num_row_groups=0)


def read(data: bytes, **limits: int) -> pa.Table:
    return pymosaic.read_table(data, limits=pymosaic.Limits(**limits))


def refused(data: bytes, **limits: int) -> pymosaic.LimitExceededError:
    """The error for a file beyond the one limit given; one more would have been enough."""
    ((name, value),) = limits.items()
    assert read(data, **{name: value + 1}).num_columns > 0
    with pytest.raises(pymosaic.LimitExceededError, match=rf"Limits\.{name}") as caught:
        read(data, **limits)
    assert caught.value.structure
    return caught.value


class TestColumns:
    def test_columns(self) -> None:
        data = no_rows(*[(name, INTEGER) for name in "abcd"])
        assert refused(data, max_columns=3).structure == "schema block"

    def test_nested_columns_count(self) -> None:
        refused(no_rows(("a", array(INTEGER))), max_columns=1)
        refused(no_rows(("a", map_(STRING, array(INTEGER)))), max_columns=3)

    def test_nesting(self) -> None:
        refused(no_rows(("a", array(array(INTEGER)))), max_nesting_depth=1)
        refused(no_rows(("a", map_(STRING, array(INTEGER)))), max_nesting_depth=1)

    def test_a_name(self) -> None:
        refused(no_rows(("a", INTEGER), ("four", INTEGER)), max_name_bytes=3)

    def test_a_name_counts_in_bytes(self) -> None:
        refused(no_rows(("éé", INTEGER)), max_name_bytes=3)

    def test_a_name_counts_after_its_byte_pairs_are_expanded(self) -> None:
        rules = b"\x01\x02" + b"ab" + b"\x80\x80"
        data = no_rows((b"\x81", INTEGER), names=rules)
        assert pymosaic.read_schema(data).names == ["abab"]
        refused(data, max_name_bytes=3)

    def test_all_names(self) -> None:
        refused(no_rows(("aaa", INTEGER), ("bbb", INTEGER)), max_names_bytes=5)

    def test_all_names_count_after_front_coding(self) -> None:
        # The second name is four shared bytes and one more.
        content = b"\x02\x01\x00" + b"\x00" + text("aaaa") + INTEGER
        content += b"\x04" + text("b") + INTEGER + b"\x00\x02"
        data = forge(b"", content, b"", num_row_groups=0)
        assert pymosaic.read_schema(data).names == ["aaaa", "aaaab"]
        refused(data, max_names_bytes=8)


class TestBytes:
    def test_the_schema_block(self) -> None:
        data = no_rows(*[(f"column_{i}", INTEGER) for i in range(20)])
        size = len(decode(data).schema_bytes) + 4
        assert refused(data, max_index_bytes=size - 1).structure == "schema block"

    def test_the_row_group_index(self) -> None:
        batch = pa.record_batch({"a": [1]})
        data = write([batch] * 50, batch.schema, row_group_bytes=1)
        size = len(decode(data).index_bytes)
        assert size > 100
        assert refused(data, max_index_bytes=size - 1).structure == "row group index"

    def test_the_decompressed_schema(self) -> None:
        data = write([], pa.schema({f"column_{i}": pa.int8() for i in range(500)}))
        size = len(decode(data).schema_bytes)
        assert refused(data, max_block_bytes=size - 1).structure == "schema block"

    def test_a_decompressed_bucket(self) -> None:
        data = of_table(pa.table({"a": range(1000)}))
        (bucket,) = decode(data).row_groups[0].buckets
        assert bucket.layout == "monolithic"
        assert bucket.raw_size is not None
        error = refused(data, max_block_bytes=bucket.raw_size - 1)
        assert error.structure == "row group 0, bucket 0"

    def test_a_decompressed_page(self) -> None:
        data = of_table(pa.table({"a": range(1000)}), page_size_threshold=0)
        (bucket,) = decode(data).row_groups[0].buckets
        assert bucket.layout == "paged"
        error = refused(data, max_block_bytes=2 + 8 * 1000 - 1)
        assert error.structure == "row group 0, bucket 0, slot 0"

    def test_other_columns_do_not_count(self) -> None:
        data = of_table(pa.table({"a": [1], "b": ["x" * 1000]}), num_buckets=2)
        with pymosaic.MosaicFile(data, limits=pymosaic.Limits(max_block_bytes=500)) as file:
            assert file.read(columns=["a"])["a"].to_pylist() == [1]
            with pytest.raises(pymosaic.LimitExceededError):
                file.read(columns=["b"])


class TestMemory:
    def test_the_memory_of_a_row_group(self) -> None:
        data = of_table(pa.table({"a": range(10_000)}))
        assert read(data, max_row_group_bytes=100_000).num_rows == 10_000
        with pytest.raises(pymosaic.LimitExceededError, match=r"Limits\.max_row_group_bytes"):
            read(data, max_row_group_bytes=79_999)

    def test_each_row_group_has_it_anew(self) -> None:
        batch = pa.record_batch({"a": range(10_000)})
        data = write([batch] * 5, batch.schema, row_group_bytes=1)
        assert read(data, max_row_group_bytes=100_000).num_rows == 50_000

    def test_a_table_has_a_limit_of_its_own(self) -> None:
        batch = pa.record_batch({"a": range(10_000)})
        data = write([batch] * 5, batch.schema, row_group_bytes=1)
        limits = pymosaic.Limits(max_table_bytes=200_000)
        with pymosaic.MosaicFile(data, limits=limits) as file:
            assert sum(part.num_rows for part in file.iter_batches()) == 50_000
            with pytest.raises(pymosaic.LimitExceededError, match=r"Limits\.max_table_bytes"):
                file.read()

    def test_columns_share_it(self) -> None:
        data = of_table(pa.table({name: range(10_000) for name in "abc"}))
        limits = pymosaic.Limits(max_row_group_bytes=200_000)
        with pymosaic.MosaicFile(data, limits=limits) as file:
            assert file.read(columns=["a", "b"]).num_rows == 10_000
            with pytest.raises(pymosaic.LimitExceededError):
                file.read()

    @pytest.mark.parametrize(
        ("descriptor", "raw"),
        [
            (INTEGER, bytes([3, 0])),
            (INTEGER, bytes([1, 0]) + bytes(4)),
            (INTEGER, bytes([2, 0, 1]) + bytes(4)),
            (STRING, bytes([1, 0]) + text("x")),
            (STRING, bytes([2, 0, 1]) + text("x")),
            (array(INTEGER), bytes([1, 1, 0, 0b1111, 0])),
        ],
        ids=["ALL_NULL", "CONST", "DICT of one", "CONST text", "DICT of one text", "null lists"],
    )
    def test_a_few_bytes_that_mean_many_rows(self, descriptor: bytes, raw: bytes) -> None:
        data = of_one(descriptor, raw, num_rows=4_000_000_000)
        with pytest.raises(pymosaic.LimitExceededError, match=r"Limits\.max_row_group_bytes"):
            read(data, max_row_group_bytes=1 << 20)

    @pytest.mark.parametrize(
        ("type_id", "value"), [(0, b"\x01"), (1, b"\x05")], ids=["BOOLEAN", "TINYINT"]
    )
    def test_decoding_takes_no_memory_on_the_side(
        self, type_id: int, value: bytes, tmp_path: Path
    ) -> None:
        # A dictionary of one entry has no index bytes: 30 million rows in a hundred bytes.
        path = tmp_path / "few.mosaic"
        path.write_bytes(of_one(bytes([type_id, 1]), bytes([2, 0, 1]) + value, 30_000_000))
        run = subprocess.run(
            [sys.executable, "-c", PEAK_OF_READING, str(path), str(32 << 20)],
            capture_output=True,
            check=True,
            text=True,
        )
        assert int(run.stdout) < 48 << 20


PEAK_OF_READING = """
import re, sys, pymosaic

def peak():
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1]) << 10

limits = pymosaic.Limits(max_row_group_bytes=int(sys.argv[2]))
read_table = pymosaic.read_table  # imports what it needs
before = peak()
try:
    read_table(sys.argv[1], limits=limits)
except pymosaic.LimitExceededError:
    pass
print(peak() - before)
"""


class TestMessages:
    def test_the_path_is_told(self, tmp_path: Path) -> None:
        path = tmp_path / "wide.mosaic"
        path.write_bytes(no_rows(("a", INTEGER), ("b", INTEGER)))
        limits = pymosaic.Limits(max_columns=1)
        for open_ in (pymosaic.MosaicFile, pymosaic.read_schema, pymosaic.read_metadata):
            with pytest.raises(pymosaic.LimitExceededError) as caught:
                open_(path, limits=limits)
            assert caught.value.path == str(path)

    def test_sizes_are_told(self) -> None:
        data = of_table(pa.table({"a": range(1000)}))
        with pytest.raises(pymosaic.LimitExceededError, match=r"8002 .*max_block_bytes \(100\)"):
            read(data, max_block_bytes=100)


class TestValues:
    def test_the_defaults_pass_any_honest_file(self) -> None:
        assert pymosaic.read_table(of_table(TABLE)).equals(TABLE)

    @pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(pymosaic.Limits)])
    @pytest.mark.parametrize("value", [0, -1, 1 << 62, 1.5, "1", None, True])
    def test_a_bad_value_is_refused_by_name(self, name: str, value: Any) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match=rf"Limits\.{name} must be an int"):
            pymosaic.Limits(**{name: value})

    @pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(pymosaic.Limits)])
    def test_the_largest_value_lifts_the_limit(self, name: str) -> None:
        largest = 1000 if name == "max_nesting_depth" else (1 << 62) - 1
        assert read(of_table(TABLE), **{name: largest}).equals(TABLE)

    def test_limits_are_given_by_name_and_do_not_change(self) -> None:
        limits: Any = pymosaic.Limits(max_columns=5)
        assert limits == pymosaic.Limits(max_columns=5)
        with pytest.raises(dataclasses.FrozenInstanceError):
            limits.max_columns = 6
        with pytest.raises(TypeError):
            limits.__class__(5)


def test_nesting_cannot_be_allowed_beyond_the_stack() -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="max_nesting_depth"):
        pymosaic.Limits(max_nesting_depth=1001)
