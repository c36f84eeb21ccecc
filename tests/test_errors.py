"""The error tree: what each class is and says, and that it reaches other processes whole."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

import pymosaic
from pymosaic import errors
from pymosaic.errors import located

LOCATED = [
    pymosaic.CorruptFileError,
    pymosaic.UnsupportedFeatureError,
    pymosaic.LimitExceededError,
]
PLAIN = [
    pymosaic.ColumnNotFoundError,
    pymosaic.InvalidDataError,
    pymosaic.InvalidOptionError,
    pymosaic.ClosedError,
    pymosaic.CommitConflictError,
    pymosaic.DatasetError,
    pymosaic.DatasetExistsError,
    pymosaic.UnknownOptionError,
    pymosaic.RowNotFoundError,
    pymosaic.InvalidTypeError,
    pymosaic.FileMissingError,
    pymosaic.DirectoryGivenError,
]


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (pymosaic.CorruptFileError, ValueError),
        (pymosaic.UnsupportedFeatureError, NotImplementedError),
        (pymosaic.LimitExceededError, ValueError),
        (pymosaic.ColumnNotFoundError, KeyError),
        (pymosaic.InvalidDataError, ValueError),
        (pymosaic.InvalidOptionError, ValueError),
        (pymosaic.UnknownOptionError, TypeError),
        (pymosaic.ClosedError, ValueError),
        (pymosaic.CommitConflictError, RuntimeError),
        (pymosaic.DatasetError, ValueError),
        (pymosaic.DatasetExistsError, FileExistsError),
        (pymosaic.RowNotFoundError, IndexError),
        (pymosaic.InvalidTypeError, TypeError),
        (pymosaic.FileMissingError, FileNotFoundError),
        (pymosaic.DirectoryGivenError, IsADirectoryError),
    ],
)
def test_every_error_is_a_mosaic_error_and_the_builtin_that_it_is(
    kind: type[Exception], builtin: type[Exception]
) -> None:
    assert issubclass(kind, pymosaic.MosaicError)
    assert issubclass(kind, builtin)


def test_the_tree_is_whole() -> None:
    classes = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, Exception) and value.__name__[0] != "_"
    }
    assert classes == {pymosaic.MosaicError, *LOCATED, *PLAIN}
    assert {kind.__name__ for kind in classes} <= set(pymosaic.__all__)


def test_whose_fault_it_is_can_be_told_apart() -> None:
    assert not issubclass(pymosaic.LimitExceededError, pymosaic.CorruptFileError)
    assert not issubclass(pymosaic.UnsupportedFeatureError, ValueError)


@pytest.mark.parametrize("kind", LOCATED)
@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((), "why"),
        (("a.mosaic",), "a.mosaic: why"),
        ((None, "footer"), "footer: why"),
        ((None, "footer", 0), "footer, byte 0: why"),
        (("a.mosaic", "footer", 28), "a.mosaic, footer, byte 28: why"),
    ],
)
def test_the_message_tells_the_place_as_far_as_it_is_known(
    kind: type[pymosaic.CorruptFileError], place: tuple, message: str
) -> None:
    assert str(kind("why", *place)) == message


@pytest.mark.parametrize("kind", LOCATED)
def test_a_located_error_has_attributes(kind: type[pymosaic.CorruptFileError]) -> None:
    error = kind("why", "a.mosaic", "footer", 28)
    assert (error.reason, error.path, error.structure, error.offset) == (
        "why",
        "a.mosaic",
        "footer",
        28,
    )


@pytest.mark.parametrize("again", [pickle.loads, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("kind", LOCATED)
def test_a_located_error_is_pickled_and_copied_whole(
    kind: type[pymosaic.CorruptFileError], again: object
) -> None:
    error = kind("why", None, "footer", 28)
    # What is learned later goes along.
    error.path = "a.mosaic"
    error.structure = "row group 0, footer"
    assert callable(again)
    twin = again(pickle.dumps(error) if again is pickle.loads else error)
    assert type(twin) is kind
    assert vars(twin) == vars(error)
    assert str(twin) == str(error) == "a.mosaic, row group 0, footer, byte 28: why"


@pytest.mark.parametrize("kind", [pymosaic.MosaicError, *PLAIN])
def test_a_plain_error_is_pickled_and_copied_whole(kind: type[pymosaic.MosaicError]) -> None:
    error = kind("why")
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is kind
        assert twin.args == ("why",)
        assert str(twin) == "why"


def test_an_error_reaches_another_process() -> None:
    script = (
        "import pickle, sys, pymosaic\n"
        "try: pymosaic.read_table(b'x' * 40)\n"
        "except pymosaic.MosaicError as error: sys.stdout.buffer.write(pickle.dumps(error))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    error = pickle.loads(run.stdout)
    assert type(error) is pymosaic.CorruptFileError
    assert (error.structure, error.offset) == ("footer", 28)


def test_a_missing_column_is_a_key_error_that_reads_as_a_sentence() -> None:
    error = pymosaic.ColumnNotFoundError("columns: no column matches 'x'")
    assert str(error) == "columns: no column matches 'x'"
    assert error.args == ("columns: no column matches 'x'",)
    assert str(pymosaic.ColumnNotFoundError()) == ""


class TestLocated:
    def test_a_path_is_added(self) -> None:
        error = pymosaic.CorruptFileError("why", structure="footer")
        with pytest.raises(pymosaic.CorruptFileError) as caught, located("a.mosaic"):
            raise error
        assert caught.value is error
        assert str(error) == "a.mosaic, footer: why"

    def test_a_path_that_is_known_stays(self) -> None:
        with pytest.raises(pymosaic.LimitExceededError) as caught, located("outer.mosaic"):
            raise pymosaic.LimitExceededError("why", "inner.mosaic")
        assert caught.value.path == "inner.mosaic"

    def test_other_errors_pass_untouched(self) -> None:
        error = OSError("disk")
        with pytest.raises(OSError, match="disk") as caught, located("a.mosaic"):
            raise error
        assert caught.value is error
