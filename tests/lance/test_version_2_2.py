"""Files of version 2.2: pages of one value, large chunks, maps, packed structs with strings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.lance import LanceFile, write_table
from pymosaic.pages.messages import AllNullLayout, MiniBlockLayout, VariablePackedStruct
from tests.lance.peer import peer_read, peer_take

MAP = pa.map_(pa.string(), pa.int64())
CONSTANTS = {
    "true": pa.array([True] * 5),
    "false": pa.array([False] * 5),
    "bool with nulls": pa.array([True, None] * 5),
    "int": pa.array([7] * 300),
    "int with nulls": pa.array([None, 7] * 300),
    "timestamp": pa.array([5] * 9, pa.timestamp("us")),
    "string": pa.array(["hello"] * 300),
    "string with nulls": pa.array(["hello", None] * 300),
    "large string": pa.array(["hello"] * 300, pa.large_string()),
    "empty string": pa.array([""] * 9),
    "32 bytes": pa.array([b"x" * 32] * 9, pa.binary(32)),
    "40 bytes": pa.array([b"x" * 40] * 9, pa.binary(40)),
    "lists": pa.array([[1, 1], [], None, [1, None]]),
    "structs": pa.array([{"a": 1, "b": None}, {"a": 1, "b": "q"}]),
    "map": pa.array([[("a", 1)]] * 9, MAP),
}
OTHERS = {
    "ints": pa.array(range(3000)),
    "ints with nulls": pa.array([None if i % 7 == 0 else i for i in range(5000)]),
    "strings": pa.array([str(i) for i in range(3000)]),
    "texts for FSST": pa.array([f"https://example.com/{i}" for i in range(5000)]),
    "long list": pa.array([list(range(70_000)), [1], None]),
    "lists": pa.array([[i] * (i % 5) for i in range(4000)]),
    "maps": pa.array([[("a", 1), ("b", None)], None, [], [("c", 3)]], MAP),
    "dictionary": pa.array(["a", "b", None] * 40).dictionary_encode(),
    "repeated strings": pa.array([f"name {i % 9}" for i in range(5000)]),
    "vectors": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(400.0)), 4),
}


def assert_read_by_both(table: pa.Table, path: Path) -> None:
    with LanceFile(path) as file:
        assert file.version == "2.2"
        assert file.read().equals(table)
    assert peer_read(path).to_pylist() == table.to_pylist()
    rows = [0, table.num_rows - 1]
    expected = table.take(rows).to_pylist()
    assert LanceFile(path).take(rows).to_pylist() == expected
    assert peer_take(path, rows).to_pylist() == expected


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_page_of_one_value_holds_it_once(name: str, tmp_path: Path) -> None:
    table = pa.table({"c": CONSTANTS[name]})
    write_table(table, tmp_path / "c.lance", version="2.2")
    file = LanceFile(tmp_path / "c.lance")
    for leaf in range(len(file.leaves("c"))):
        assert isinstance(file.pages("c", leaf)[0].layout, AllNullLayout)
    assert_read_by_both(table, tmp_path / "c.lance")


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("options", [{}, {"page_bytes": 2000}, {"compression": "zstd"}])
def test_other_pages_have_large_chunks(
    name: str, options: dict[str, object], tmp_path: Path
) -> None:
    table = pa.table({"c": OTHERS[name]})
    path = tmp_path / "c.lance"
    write_table(table, path, version="2.2", **options)  # type: ignore[arg-type]
    layouts = [page.layout for page in LanceFile(path).pages("c")]
    chunked = [layout for layout in layouts if isinstance(layout, MiniBlockLayout)]
    assert chunked
    assert all(layout.has_large_chunk for layout in chunked)
    assert_read_by_both(table, path)


@pytest.mark.parametrize("nulls", [False, True])
def test_a_packed_struct_may_hold_strings(nulls: bool, tmp_path: Path) -> None:
    rows = [None if nulls and i % 3 == 1 else {"a": "x" * i, "n": i, "b": b"y"} for i in range(50)]
    data_type = pa.struct([("a", pa.string()), ("n", pa.int32()), ("b", pa.large_binary())])
    table = pa.table({"c": pa.array(rows, data_type)})
    path = tmp_path / "c.lance"
    write_table(table, path, version="2.2", encodings={"c": "packed-struct"})
    layout = LanceFile(path).pages("c")[0].layout
    assert isinstance(layout.value_compression, VariablePackedStruct)  # type: ignore[union-attr]
    assert LanceFile(path).read().to_pylist() == table.to_pylist()
    assert peer_read(path).to_pylist() == table.to_pylist()


def test_blobs_are_written_in_this_version_too(tmp_path: Path) -> None:
    table = pa.table({"c": pa.array([b"a" * 5000, None, b"", b"b"], pa.large_binary())})
    path = tmp_path / "c.lance"
    write_table(table, path, version="2.2", encodings={"c": "blob"})
    assert LanceFile(path).read().to_pylist() == table.to_pylist()


def test_a_packed_struct_of_other_fields_is_refused(tmp_path: Path) -> None:
    table = pa.table({"c": [{"a": "x", "b": True}]})
    with pytest.raises(pymosaic.InvalidOptionError, match="fields must be numbers or strings"):
        write_table(table, tmp_path / "c", version="2.2", encodings={"c": "packed-struct"})
