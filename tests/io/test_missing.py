"""Errors of files that are not there: of the built-in type, ours, and with advice."""

from __future__ import annotations

import errno
import pickle
from typing import Any

import pyarrow as pa
import pytest

import pymosaic

TABLE = pa.table({"n": [1]})


def test_a_missing_file_is_told_with_a_similar_one(tmp_path):
    pymosaic.write_table(TABLE, tmp_path / "events.mosaic")
    path = tmp_path / "event.mosaic"
    for read in (pymosaic.MosaicFile, pymosaic.read_table, pymosaic.read_metadata):
        with pytest.raises(
            pymosaic.FileMissingError, match=r"did you mean 'events.mosaic'"
        ) as caught:
            read(path)
        assert isinstance(caught.value, FileNotFoundError)
        assert isinstance(caught.value, pymosaic.MosaicError)
        assert caught.value.errno == errno.ENOENT
        assert caught.value.filename == str(path)
        again = pickle.loads(pickle.dumps(caught.value))
        assert str(again) == str(caught.value)


def test_a_missing_directory_is_told(tmp_path):
    where = tmp_path / "nowhere" / "x.mosaic"
    with pytest.raises(pymosaic.FileMissingError, match=r"there is no directory .*nowhere"):
        pymosaic.read_table(where)
    with pytest.raises(pymosaic.FileMissingError, match=r"there is no directory .*nowhere"):
        pymosaic.write_table(TABLE, where)
    with pytest.raises(pymosaic.FileMissingError):
        pymosaic.dataset(tmp_path / "nowhere")
    with pytest.raises(pymosaic.FileMissingError):
        pymosaic.MosaicFile(f"file://{where}")


def test_a_directory_in_place_of_a_file_is_told_with_what_reads_it(tmp_path):
    with pytest.raises(pymosaic.DirectoryGivenError, match=r"pymosaic\.dataset") as caught:
        pymosaic.MosaicFile(tmp_path)
    assert isinstance(caught.value, IsADirectoryError)
    with pytest.raises(pymosaic.DirectoryGivenError):
        pymosaic.write_table(TABLE, tmp_path)


@pytest.mark.parametrize("wrong", [None, 5, object()])
def test_an_argument_of_a_wrong_type_is_told(wrong: Any):
    for call in (
        lambda: pymosaic.MosaicFile(wrong),
        lambda: pymosaic.write_table(TABLE, wrong),
        lambda: pymosaic.MosaicFile(b"", filesystem=wrong or 1),
    ):
        with pytest.raises(pymosaic.InvalidTypeError) as caught:
            call()
        assert isinstance(caught.value, TypeError)
        assert isinstance(caught.value, pymosaic.InvalidOptionError)


def test_names_in_messages_cannot_control_a_terminal(tmp_path):
    with pytest.raises(pymosaic.FileMissingError) as caught:
        pymosaic.MosaicFile(tmp_path / "\x1b[31mred")
    assert "\x1b" not in str(caught.value)
