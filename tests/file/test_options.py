"""The writer's options: checked when they are given, by name, showing the wrong value."""

from __future__ import annotations

import dataclasses
import inspect
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.errors import ColumnNotFoundError, InvalidOptionError
from pymosaic.file.options import WRITER_OPTIONS, WriterKeywords, WriterOptions
from tests.oracle import decode
from tests.property.reference import reference_write
from tests.writing import write

TABLE = pa.table({"a": [1, 2], "b": ["x", "y"]})
U32 = 2**32 - 1

WRONG: list[tuple[str, Any]] = [
    ("compression", "snappy"),
    ("compression", ""),
    ("compression", 1),
    ("compression", True),
    ("compression", b"zstd"),
    ("compression", ["zstd"]),
    ("compression_level", 23),
    ("compression_level", -131_073),
    ("compression_level", 1.0),
    ("compression_level", "1"),
    ("compression_level", None),
    ("compression_level", True),
    ("num_buckets", 0),
    ("num_buckets", -1),
    ("num_buckets", U32 + 1),
    ("num_buckets", 2.0),
    ("num_buckets", "2"),
    ("num_buckets", False),
    ("row_group_bytes", 0),
    ("row_group_bytes", -1),
    ("row_group_bytes", 2**64),
    ("row_group_bytes", 1e6),
    ("row_group_bytes", None),
    ("max_dict_entries", -1),
    ("max_dict_entries", U32 + 1),
    ("max_dict_entries", 2.5),
    ("max_dict_bytes", -1),
    ("max_dict_bytes", U32 + 1),
    ("max_dict_bytes", "32k"),
    ("page_size_threshold", -1),
    ("page_size_threshold", U32 + 1),
    ("page_size_threshold", None),
    ("checksum", 1),
    ("checksum", None),
    ("checksum", "yes"),
    ("use_threads", 0),
    ("use_threads", 4),
    ("statistics", "a"),
    ("statistics", 5),
    ("statistics", 1.5),
    ("statistics", [1]),
    ("statistics", ["a", None]),
    ("statistics", [["a"]]),
]


def shown(value: Any) -> str:
    """The value, or the entry of it that is wrong, as a message shows it."""
    if isinstance(value, list) and value != ["zstd"]:
        return repr(next(entry for entry in value if not isinstance(entry, str)))
    return repr(value)


class TestWrongValues:
    @pytest.mark.parametrize(
        ("name", "value"), WRONG, ids=[f"{name}={value!r}" for name, value in WRONG]
    )
    def test_are_refused_by_name_and_shown(self, name: str, value: Any, tmp_path: Path) -> None:
        message = re.escape(shown(value))
        with pytest.raises(InvalidOptionError, match=rf"^{name}\b.*{message}"):
            pymosaic.write_table(TABLE, tmp_path / "file", **{name: value})
        with pytest.raises(InvalidOptionError, match=rf"^{name}\b.*{message}"):
            pymosaic.MosaicWriter(tmp_path / "file", TABLE.schema, **{name: value})
        assert list(tmp_path.iterdir()) == []

    def test_of_options_come_before_those_of_data(self) -> None:
        with pytest.raises(InvalidOptionError, match="num_buckets"):
            pymosaic.MosaicWriter(io.BytesIO(), pa.schema([("", pa.int8())]), num_buckets=0)

    def test_of_a_string_say_how_to_write_a_list(self) -> None:
        with pytest.raises(InvalidOptionError, match=re.escape("statistics=['price']")):
            WriterOptions(statistics="price")  # type: ignore[arg-type]


class TestUnknownNames:
    def test_are_named_by_the_writer(self) -> None:
        with pytest.raises(InvalidOptionError, match="'compresion'"):
            pymosaic.MosaicWriter(io.BytesIO(), TABLE.schema, compresion="zstd")  # type: ignore[call-arg]

    def test_are_named_by_write_table(self) -> None:
        with pytest.raises(TypeError, match="'compresion'"):
            pymosaic.write_table(TABLE, io.BytesIO(), compresion="zstd")  # type: ignore[call-arg]

    def test_of_the_reference_are_not_taken_silently(self) -> None:
        with pytest.raises(InvalidOptionError, match="'zstd_level'"):
            pymosaic.MosaicWriter(io.BytesIO(), TABLE.schema, zstd_level=3)  # type: ignore[call-arg]


class TestExtremesThatAreAllowed:
    @pytest.mark.parametrize(
        "options",
        [
            {"compression_level": -131_072},
            {"compression_level": 22},
            {"compression_level": 0},
            {"num_buckets": 1},
            {"num_buckets": U32},
            {"row_group_bytes": 1},
            {"row_group_bytes": 2**64 - 1},
            {"max_dict_entries": 0},
            {"max_dict_entries": U32},
            {"max_dict_bytes": 0},
            {"max_dict_bytes": U32},
            {"page_size_threshold": 0},
            {"page_size_threshold": U32},
            {"statistics": []},
        ],
        ids=str,
    )
    def test_write_what_the_reference_writes(self, options: dict[str, Any]) -> None:
        batches = TABLE.to_batches()
        data = write(batches, TABLE.schema, checksum=False, **options)
        assert pymosaic.read_table(data).equals(TABLE)
        assert data == reference_write(batches, TABLE.schema, options)

    @pytest.mark.parametrize("value", [None, "none"])
    def test_include_two_ways_to_say_uncompressed(self, value: str | None) -> None:
        assert decode(write([TABLE], TABLE.schema, compression=value)).compression == 0

    @pytest.mark.parametrize(
        "make", [tuple, set, dict.fromkeys, iter], ids=["tuple", "set", "dict", "iterator"]
    )
    def test_include_any_iterable_of_names(self, make: Callable[[list[str]], Any]) -> None:
        content = decode(write([TABLE], TABLE.schema, statistics=make(["a"])))
        assert [each.column for each in content.row_groups[0].statistics] == ["a"]


class TestDefaults:
    def test_are_those_of_the_reference_but_for_the_checksum(self) -> None:
        batches = TABLE.to_batches()
        assert write(batches, TABLE.schema, checksum=False) == reference_write(
            batches, TABLE.schema, {}
        )

    def test_of_write_table_and_the_writer_are_the_same(self) -> None:
        stream = io.BytesIO()
        pymosaic.write_table(TABLE, stream)
        assert stream.getvalue() == write([TABLE], TABLE.schema)

    def test_checksum_every_frame(self) -> None:
        frames = decode(write([TABLE], TABLE.schema)).frames
        assert len(frames) == 3
        assert all(has_checksum(frame) for frame in frames)
        assert not any(
            has_checksum(frame)
            for frame in decode(write([TABLE], TABLE.schema, checksum=False)).frames
        )

    def test_checksum_every_page(self) -> None:
        data = write([TABLE], TABLE.schema, page_size_threshold=0)
        content = decode(data)
        assert content.layouts() == ["paged", "paged"]
        assert all(has_checksum(frame) for frame in content.frames)

    def test_of_an_uncompressed_file_have_checksums_in_the_annex_only(self) -> None:
        guarded, plain = (
            write([TABLE], TABLE.schema, compression="none", checksum=checksum)
            for checksum in (True, False)
        )
        annex = guarded.index(b"\x93ANX")
        schema_offset = int.from_bytes(guarded[-24:-16], "big")
        assert guarded[:annex] + guarded[schema_offset:-32] == plain[:-32]


def has_checksum(frame: bytes) -> bool:
    """Bit 2 of the frame header's descriptor, after the magic number."""
    return bool(frame[4] & 0b100)


class TestStatisticsNames:
    def test_that_no_column_has_are_refused_by_option_and_name(self, tmp_path: Path) -> None:
        with pytest.raises((InvalidOptionError, ColumnNotFoundError), match=r"statistics.*'nope'"):
            pymosaic.write_table(TABLE, tmp_path / "file", statistics=["nope"])
        assert list(tmp_path.iterdir()) == []

    def test_that_are_almost_a_column_say_which(self) -> None:
        schema = pa.schema([("temperature", pa.int8()), ("x", pa.int8())])
        with pytest.raises((InvalidOptionError, ColumnNotFoundError), match="'temperature'"):
            pymosaic.MosaicWriter(io.BytesIO(), schema, statistics=["temprature"])


def test_write_table_shows_the_defaults_of_the_options() -> None:
    parameters = inspect.signature(pymosaic.write_table).parameters
    defaults = {
        item.name: parameters[item.name].default
        for item in dataclasses.fields(WriterOptions)
        if item.name in parameters
    }
    assert len(defaults) > 8
    assert WriterOptions(**defaults) == WriterOptions()


def test_type_checkers_know_every_option() -> None:
    assert set(WriterKeywords.__annotations__) == set(WRITER_OPTIONS)
