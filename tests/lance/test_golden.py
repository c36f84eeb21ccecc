"""Files of every layout and encoding, kept: they read the same whatever a later pylance writes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pymosaic.lance import LanceFile
from pymosaic.pages.summary import summarize
from tests.lance.columns import some_rows
from tests.lance.golden_files import DIRECTORY, MANIFEST, NAMES, golden_bytes, golden_table


def test_every_file_has_its_entry_and_they_are_small() -> None:
    assert sorted(path.stem for path in DIRECTORY.glob("*.lance")) == NAMES
    assert sum(path.stat().st_size for path in DIRECTORY.iterdir()) < 2 << 20


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_file_is_read_as_pylance_read_it(name: str) -> None:
    expected = golden_table(name)
    with LanceFile(golden_bytes(name)) as file:
        table = file.read()
        table.validate(full=True)
        assert table.equals(expected)
        assert table.schema.equals(expected.schema, check_metadata=True)
        rows = some_rows(file.num_rows)
        assert file.take(rows).equals(expected.take(pa.array(rows, pa.int64())))


@pytest.mark.parametrize("name", NAMES)
def test_the_layouts_of_a_golden_file_are_those_of_the_manifest(name: str) -> None:
    entry = MANIFEST[name]
    with LanceFile(golden_bytes(name)) as file:
        assert (file.version, file.num_rows) == (entry["version"], entry["rows"])
        found = {
            leaf: [summarize(page.layout) for page in file.pages("c", number)]
            for number, leaf in enumerate(file.leaves("c"))
        }
        assert found == entry["leaves"]
