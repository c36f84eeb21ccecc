"""The catalogue of files: what the reader policy of docs/format.md tolerates and refuses."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import pymosaic
from pymosaic.errors import CorruptFileError, LimitExceededError, UnsupportedFeatureError
from pymosaic.testing import IllegalFile, LegalFile, illegal_files, legal_files
from pymosaic.testing.pieces import (
    INTEGER,
    STRING,
    array,
    entry,
    forge,
    frame,
    map_,
    of_one,
    row_group,
    schema,
    text,
)
from tests.equality import assert_identical


def by_name(file: LegalFile | IllegalFile) -> str:
    return file.name


def test_names_are_unique() -> None:
    for files in (legal_files(), illegal_files()):
        assert len({file.name for file in files}) == len(files)


@pytest.mark.parametrize("file", legal_files(), ids=by_name)
def test_legal_files_hold_the_right_data(file: LegalFile) -> None:
    assert_identical(pymosaic.read_table(file.data), file.table)


@pytest.mark.parametrize("file", legal_files(), ids=by_name)
def test_legal_files_read_column_by_column_hold_the_right_data(file: LegalFile) -> None:
    with pymosaic.MosaicFile(file.data) as opened:
        for name in file.table.column_names:
            assert_identical(opened.read(columns=[name]), file.table.select([name]))


@pytest.mark.parametrize("file", illegal_files(), ids=by_name)
def test_illegal_files_are_refused_with_reason_and_place(file: IllegalFile) -> None:
    with pytest.raises(file.error) as caught:
        pymosaic.read_table(file.data)
    error = caught.value
    assert type(error) is file.error
    assert isinstance(error, CorruptFileError | UnsupportedFeatureError | LimitExceededError)
    assert re.search(file.reason, error.reason)
    assert error.structure is not None
    assert error.structure.startswith(file.structure)


def map_of(value: bytes) -> bytes:
    return map_(b"\x0a\x00", value)


class TestLimits:
    @pytest.mark.parametrize("wrap", [array, map_of], ids=["list", "map"])
    def test_types_nest_up_to_the_limit(self, wrap: Callable[[bytes], bytes]) -> None:
        descriptor = INTEGER
        for _ in range(pymosaic.Limits().max_nesting_depth):
            descriptor = wrap(descriptor)
        deepest, too_deep = schema(("a", descriptor)), schema(("a", wrap(descriptor)))
        assert pymosaic.read_table(forge(b"", deepest, row_group(2))).num_rows == 2
        with pytest.raises(pymosaic.LimitExceededError, match="max_nesting_depth"):
            pymosaic.read_table(forge(b"", too_deep, row_group(2)))

    def test_a_small_frame_that_says_it_is_huge_is_refused(self) -> None:
        bomb = frame(bytes(600 << 20))
        content = schema(("a", INTEGER))
        data = forge(bomb, content, row_group(2, entry(0, 0, len(bomb), 600 << 20)), compression=1)
        with pytest.raises(pymosaic.LimitExceededError, match="max_block_bytes"):
            pymosaic.read_table(data)

    @pytest.mark.parametrize(
        ("limit", "value"), [("max_columns", 1), ("max_name_bytes", 2), ("max_names_bytes", 5)]
    )
    def test_limits_are_adjustable(self, limit: str, value: int) -> None:
        content = schema(("aaa", INTEGER), ("bbb", INTEGER))
        data = forge(b"", content, b"", num_row_groups=0)
        assert pymosaic.read_table(data).num_columns == 2
        with pytest.raises(pymosaic.LimitExceededError, match=limit):
            pymosaic.read_table(data, limits=pymosaic.Limits(**{limit: value}))

    def test_a_constant_of_many_rows_is_held_to_the_memory_limit(self) -> None:
        data = of_one(STRING, bytes([1, 0]) + text("x" * 1000), 1_000_000)
        with pytest.raises(pymosaic.LimitExceededError, match="max_row_group_bytes"):
            pymosaic.read_table(data, limits=pymosaic.Limits(max_row_group_bytes=100 << 20))
