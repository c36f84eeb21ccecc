"""The hex examples of the format and annex pages are the bytes of the files that they write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pymosaic
from tests.docs.annotation import listing
from tests.docs.running import run_document
from tests.equality import assert_identical
from tests.oracle import decode

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [DOCS / "format.md", DOCS / "annex.md"]
TEXT = "".join(page.read_text(encoding="utf-8") for page in PAGES)
# The first line names the file; the others are lines of its listing, none left out.
EXAMPLE = re.compile(r"^```hex\n(\w+\.mosaic)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = [(found[1], found[2].splitlines()) for found in EXAMPLE.finditer(TEXT)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files that the pages write, by name."""
    directory = tmp_path_factory.mktemp("format")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        assert [run_document(page) for page in PAGES] == [1, 2]
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_every_block_of_bytes_is_an_example() -> None:
    assert TEXT.count("```hex\n") == len(EXAMPLES) > 0


@pytest.mark.parametrize(("name", "lines"), EXAMPLES, ids=[f"{n}-{x[0][:4]}" for n, x in EXAMPLES])
def test_examples_are_the_bytes_at_their_offsets(
    name: str, lines: list[str], files: dict[str, bytes]
) -> None:
    for line in lines:
        offset, shown = int(line[:4], 16), bytes.fromhex(line[6:29])
        assert files[name][offset : offset + len(shown)] == shown, line


@pytest.mark.parametrize(("name", "lines"), EXAMPLES, ids=[f"{n}-{x[0][:4]}" for n, x in EXAMPLES])
def test_examples_say_what_the_bytes_mean(
    name: str, lines: list[str], files: dict[str, bytes]
) -> None:
    whole = listing(files[name])
    start = whole.index(lines[0])
    assert whole[start : start + len(lines)] == lines


def test_examples_explain_every_byte_of_one_file(files: dict[str, bytes]) -> None:
    shown = {line for name, lines in EXAMPLES if name == "weather.mosaic" for line in lines}
    assert shown == set(listing(files["weather.mosaic"]))


def test_every_file_is_in_an_example(files: dict[str, bytes]) -> None:
    assert {name for name, _ in EXAMPLES} == files.keys()


def test_listings_come_from_what_the_files_hold(files: dict[str, bytes]) -> None:
    for data in files.values():
        assert_identical(decode(data).table, pymosaic.read_table(data))
