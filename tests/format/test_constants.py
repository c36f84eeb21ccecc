"""What may never change: numbers that are in files, and defaults that are promised."""

from __future__ import annotations

import enum
import inspect
import re
from pathlib import Path

import pytest

import pymosaic
from pymosaic.file.options import DEFAULT_NUM_BUCKETS, WriterOptions
from pymosaic.format.footer import FOOTER_SIZE, MAGIC, VERSION
from pymosaic.format.types import Encoding, TypeId
from pymosaic.kernels import catalog

MIB, GIB = 1 << 20, 1 << 30


def test_the_footer() -> None:
    assert MAGIC == b"MOSA"
    assert VERSION == 1
    assert FOOTER_SIZE == 32


def test_type_ids() -> None:
    assert {kind.name: kind.value for kind in TypeId} == {
        "BOOLEAN": 0,
        "TINYINT": 1,
        "SMALLINT": 2,
        "INTEGER": 3,
        "BIGINT": 4,
        "FLOAT": 5,
        "DOUBLE": 6,
        "DATE": 7,
        "CHAR": 8,
        "VARCHAR": 9,
        "STRING": 10,
        "BINARY": 11,
        "VARBINARY": 12,
        "BYTES": 13,
        "DECIMAL": 14,
        "TIME": 15,
        "TIMESTAMP": 16,
        "TIMESTAMP_LTZ": 17,
        "ARRAY": 18,
        "MAP": 19,
    }


def test_encodings() -> None:
    assert {encoding.name: encoding.value for encoding in Encoding} == {
        "PLAIN": 0,
        "CONST": 1,
        "DICT": 2,
        "ALL_NULL": 3,
    }


@pytest.mark.parametrize("numbers", [TypeId, Encoding], ids=lambda numbers: numbers.__name__)
def test_kernels_have_the_same_numbers(numbers: type[enum.IntEnum]) -> None:
    """C cannot read them from Python: the two lists are held together here."""
    text = (Path(catalog.__file__).parent / "catalog.pxd").read_text(encoding="utf-8")
    block = re.search(rf"cdef enum {numbers.__name__}:\n((?:    .*\n)+)", text)
    assert block is not None
    found = re.findall(r"^    (\w+) = (\d+)", block[1], re.MULTILINE)
    assert {name: int(value) for name, value in found} == {
        item.name: item.value for item in numbers
    }


WRITER_DEFAULTS = {
    "compression": "zstd",
    "compression_level": 1,
    "num_buckets": None,
    "row_group_rows": None,
    "row_group_bytes": 256 * MIB,
    "max_dict_entries": 255,
    "max_dict_bytes": 32 << 10,
    "page_size_threshold": 32 << 10,
    "statistics": None,
    "checksum": True,
    "use_threads": True,
    "split_batches": None,
}


def defaults(function: object) -> dict[str, object]:
    """Keyword-only parameters and their defaults."""
    assert callable(function)
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def test_writer_defaults() -> None:
    assert defaults(WriterOptions) == WRITER_DEFAULTS
    assert defaults(pymosaic.write_table) == {
        **WRITER_DEFAULTS,
        "filesystem": None,
        "metadata": None,
        "flatten": None,
    }


@pytest.mark.parametrize(
    ("num_columns", "num_buckets"), [(0, 1), (1, 1), (99, 99), (100, 100), (100_000, 100)]
)
def test_there_are_100_buckets_but_never_more_than_columns(
    num_columns: int, num_buckets: int
) -> None:
    assert DEFAULT_NUM_BUCKETS == 100
    assert WriterOptions().bucket_count(num_columns) == num_buckets


def test_limits() -> None:
    assert defaults(pymosaic.Limits) == {
        "max_block_bytes": 512 * MIB,
        "max_index_bytes": 512 * MIB,
        "max_columns": 10_000_000,
        "max_name_bytes": 1 * MIB,
        "max_names_bytes": 512 * MIB,
        "max_nesting_depth": 30,
        "max_row_group_bytes": 8 * GIB,
        "max_table_bytes": 1024 * GIB,
    }


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (
            pymosaic.read_table,
            "source, *, columns, filters, exclude, use_threads, filesystem, limits, types, "
            "trust_statistics",
        ),
        (pymosaic.MosaicFile, "source, *, filesystem, limits, merge_gap, types, trust_statistics"),
        (pymosaic.MosaicFile.read, "self, columns, filters, use_threads, *, exclude"),
        (
            pymosaic.MosaicFile.read_row_group,
            "self, row_group, columns, use_threads, *, filters, exclude",
        ),
        (
            pymosaic.MosaicFile.read_row_groups,
            "self, row_groups, columns, use_threads, *, filters, exclude",
        ),
        (
            pymosaic.MosaicFile.iter_batches,
            "self, batch_size, row_groups, columns, filters, use_threads, *, exclude",
        ),
        (pymosaic.MosaicFile.statistics, "self, row_group"),
        (pymosaic.MosaicWriter, "where, schema, *, filesystem, metadata, flatten, **options"),
    ],
)
def test_parameters_in_the_order_that_callers_rely_on(function: object, parameters: str) -> None:
    assert callable(function)
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in found:
            found.append("*")
        found.append(f"**{name}" if parameter.kind is parameter.VAR_KEYWORD else name)
    assert ", ".join(found) == parameters


def test_batches_have_65536_rows_by_default() -> None:
    signature = inspect.signature(pymosaic.MosaicFile.iter_batches)
    assert signature.parameters["batch_size"].default == 65536


def test_the_public_names() -> None:
    assert sorted(pymosaic.__all__) == pymosaic.__all__
    assert all(hasattr(pymosaic, name) for name in pymosaic.__all__)
    assert {
        "MosaicFile",
        "MosaicWriter",
        "read_table",
        "write_table",
        "read_schema",
        "read_metadata",
        "Limits",
        "MosaicError",
        "CorruptFileError",
        "UnsupportedFeatureError",
        "LimitExceededError",
        "ColumnNotFoundError",
    } <= set(pymosaic.__all__)
