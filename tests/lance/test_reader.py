"""LanceFile: what it offers, what it refuses, and which bytes it reads."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.errors import CorruptFileError, LimitExceededError
from pymosaic.io import Source
from pymosaic.lance import LanceFile, write_table
from pymosaic.pages.blocks import FixedBlock, Memory, VariableBlock
from pymosaic.pages.encodings import TreeDecoder
from pymosaic.pages.encodings.variable import encode_block
from pymosaic.pages.layouts import mini_block
from pymosaic.pages.layouts.page import Items
from pymosaic.pages.levels import Levels
from pymosaic.pages.messages import MiniBlockLayout

_AB = np.frombuffer(b"ab", np.uint8)
TABLE = pa.table(
    {
        "id": pa.array(range(3000)),
        "name": pa.array([f"name {i % 50}" for i in range(3000)]),
        "tags": pa.array([[i, i + 1][: i % 3] for i in range(3000)]),
        "point": pa.array([{"x": i, "y": str(i)} for i in range(3000)]),
    }
)


class RecordingSource(Source):
    """Serves bytes and notes every read; nothing is merged."""

    merge_gap = 0
    tail_bytes = 40

    def __init__(self, data: bytes) -> None:
        super().__init__("recorded", len(data))
        self.reads: list[tuple[int, int]] = []
        self._data = data

    def _read_once(self, offset: int, length: int) -> bytes:
        self.reads.append((offset, length))
        return self._data[offset : offset + length]

    @property
    def num_bytes(self) -> int:
        return sum(length for _, length in self.reads)


def written(table: pa.Table, encodings: dict[str, str] | None = None, **options: int) -> bytes:
    buffer = io.BytesIO()
    write_table(table, buffer, encodings=encodings, **options)  # type: ignore[arg-type]
    return buffer.getvalue()


@pytest.fixture(scope="module")
def data() -> bytes:
    return written(TABLE)


def test_a_file_tells_what_it_holds(data: bytes) -> None:
    with LanceFile(data) as file:
        assert file.schema.equals(TABLE.schema)
        assert file.column_names == TABLE.column_names
        assert (file.num_rows, file.num_columns, file.version) == (3000, 5, "2.1")
        assert file.leaves("point") == ["point.x", "point.y"]
        assert file.leaves("tags") == ["tags.item"]
        assert len(file.pages("point", 1)) == 1
        assert "3000 rows, 5 columns" in repr(file)


def test_columns_come_in_the_order_asked_for_and_once(data: bytes) -> None:
    with LanceFile(data) as file:
        assert file.read(["tags", "id", "tags"]).column_names == ["tags", "id"]
        assert file.read(["point"]).equals(TABLE.select(["point"]))
        assert file.take([2], ["name"]).equals(TABLE.select(["name"]).take([2]))
        empty = file.read([])
        assert (empty.num_rows, empty.num_columns) == (3000, 0)
        assert sum(batch.num_rows for batch in file.iter_batches(columns=[])) == 3000


def test_rows_may_be_taken_in_any_order_and_again(data: bytes) -> None:
    rows = [2999, 0, 17, 17, 1024, 1023, 0]
    with LanceFile(data) as file:
        assert file.take(rows).equals(TABLE.take(rows))
        assert file.take(np.array(rows, np.uint16)).equals(TABLE.take(rows))
        assert file.take([]).equals(TABLE.slice(0, 0))


def test_batches_follow_pages_of_different_columns() -> None:
    table = pa.table({"a": range(5000), "b": [f"{i:040}" for i in range(5000)]})
    data = written(table, page_bytes=20_000)
    with LanceFile(data) as file:
        assert len(file.pages("a")) != len(file.pages("b")) > 2
        batches = list(file.iter_batches(batch_size=1000))
        assert pa.Table.from_batches(batches).equals(table)
        assert file.read().equals(table)
        assert pa.table(file).equals(table)


@pytest.mark.parametrize("rows", [[3000], [-1], [0.5], "12", [[1]]])
def test_rows_that_are_none_are_refused(data: bytes, rows: object) -> None:
    with LanceFile(data) as file, pytest.raises(pymosaic.InvalidOptionError, match="row"):
        file.take(rows)  # type: ignore[arg-type]


def test_mistakes_get_an_answer_that_helps(data: bytes) -> None:
    with LanceFile(data) as file:
        with pytest.raises(pymosaic.ColumnNotFoundError, match=r"'nmae' \(did you mean 'name'\?\)"):
            file.read(["nmae"])
        with pytest.raises(pymosaic.InvalidOptionError, match=r"write columns=\['id'\]"):
            file.read("id")
        with pytest.raises(pymosaic.InvalidOptionError, match="leaf must be from 0 to 1"):
            file.pages("point", 2)
        with pytest.raises(pymosaic.InvalidOptionError, match="batch_size"):
            file.iter_batches(0)
    with pytest.raises(pymosaic.InvalidOptionError, match="limits"):
        LanceFile(data, limits=5)  # type: ignore[arg-type]
    with pytest.raises(pymosaic.ClosedError):
        file.read()


def test_a_file_is_read_from_paths_and_file_objects(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "some.lance"
    path.write_bytes(data)
    for source in (path, str(path), io.BytesIO(data), pa.py_buffer(data)):
        with LanceFile(source) as file:
            assert file.read().equals(TABLE)
    with path.open("rb") as opened:
        assert LanceFile(opened).read(["id"]).num_rows == 3000


def test_only_the_wanted_columns_are_read() -> None:
    table = pa.table({"a": range(100_000), "b": range(100_000)})
    source = RecordingSource(written(table, {"a": "plain", "b": "plain"}))
    file = LanceFile(source)
    source.reads.clear()
    file.read(["b"])
    page = file.pages("b")[0]
    assert source.num_bytes < 1.05 * page.num_bytes
    start, end = page.buffer_offsets[0], page.buffer_offsets[-1] + page.buffer_sizes[-1]
    pages_read = [read for read in source.reads if read[1] > 1000]
    assert all(start <= offset and offset + length <= end for offset, length in pages_read)


def test_take_reads_the_chunks_of_a_mini_block_page_that_hold_the_rows() -> None:
    source = RecordingSource(
        written(pa.table({"n": np.arange(1 << 20) % 1000}), {"n": "bit-packed"})
    )
    file = LanceFile(source)
    words = file.pages("n")[0].buffer_sizes[0]
    source.reads.clear()
    assert file.take([5, 500_000, 500_001])["n"].to_pylist() == [5, 0, 1]
    # The words of one page, then the two chunks of 1,024 values in 10 bits and a header.
    assert sorted(length for _, length in source.reads) == [1296, 1296, words]


def test_take_reads_one_range_a_value_of_fixed_width() -> None:
    table = pa.table({"v": pa.FixedSizeListArray.from_arrays(np.arange(64_000.0), 64)})
    source = RecordingSource(written(table, {"v": "full-zip"}))
    file = LanceFile(source)
    file.pages("v")
    source.reads.clear()
    assert file.take([7, 900]).equals(table.take([7, 900]))
    assert [length for _, length in source.reads] == [512, 512]


def test_take_reads_two_ranges_a_value_of_variable_width() -> None:
    table = pa.table({"t": ["x" * (300 + i) for i in range(1000)]})
    source = RecordingSource(written(table))
    file = LanceFile(source)
    file.pages("t")
    source.reads.clear()
    assert file.take([7, 900]).equals(table.take([7, 900]))
    assert [length for _, length in source.reads] == [8, 8, 4 + 307, 4 + 1200]


def test_take_reads_only_the_blobs_of_its_rows() -> None:
    blobs = [bytes([i]) * 5000 for i in range(50)]
    table = pa.table({"b": pa.array(blobs, pa.large_binary())})
    source = RecordingSource(written(table, {"b": "blob"}))
    file = LanceFile(source)
    file.pages("b")
    source.reads.clear()
    assert file.take([3, 40])["b"].to_pylist() == [blobs[3], blobs[40]]
    assert [length for _, length in source.reads if length >= 5000] == [5000, 5000]
    assert source.num_bytes < 12_000


def test_rows_of_more_strings_than_32_bit_offsets_address_are_refused() -> None:
    table = pa.table({"s": ["x" * 12_000, "y"]})
    file = LanceFile(written(table, encodings={"s": "mini-block+plain"}))
    with pytest.raises(LimitExceededError, match="2160000000 bytes, more than 32-bit offsets"):
        file.take([0] * 180_000)
    assert file.take([0] * 3 + [1]).equals(table.take([0] * 3 + [1]))


LONG_ROWS: dict[str, tuple[pa.Array, dict[str, Any]]] = {
    "list of numbers": (pa.array([list(range(1500)), [1]]), {}),
    "list of strings": (pa.array([["x" * 12_000], ["y"]]), {}),
    "struct": (pa.array([{"a": "x" * 12_000}, {"a": "y"}]), {}),
    "fixed binary": (pa.array([b"x" * 4000, b"y" * 4000], pa.binary(4000)), {}),
    "fixed-size list": (pa.array([[1.0] * 999, [2.0] * 999], pa.list_(pa.float64(), 999)), {}),
    "nulls": (pa.nulls(2, pa.binary(4000)), {}),
    "full-zip": (pa.array(["x" * 12_000, "y"]), {"encodings": {"c": "full-zip"}}),
    "zstd": (pa.array(["x" * 12_000, "y"]), {"encodings": {"c": "zstd"}}),
    "one string": (pa.array(["x" * 3000] * 5), {"version": "2.2"}),
}


@pytest.mark.parametrize("case", LONG_ROWS)
@pytest.mark.parametrize("rows", [[0] * 2000, [1, *[0] * 2000]])
def test_rows_that_repeat_are_charged_to_the_limit(case: str, rows: list[int]) -> None:
    array, options = LONG_ROWS[case]
    buffer = io.BytesIO()
    write_table(pa.table({"c": array}), buffer, **options)
    file = LanceFile(buffer.getvalue(), limits=pymosaic.Limits(max_table_bytes=4 << 20))
    with pytest.raises(LimitExceededError, match="max_table_bytes"):
        file.take(rows)
    few = [*rows[-100:], 1]
    assert file.take(few)["c"].to_pylist() == array.take(pa.array(few)).to_pylist()


def test_rows_that_repeat_of_more_booleans_and_dictionaries_are_taken() -> None:
    table = pa.table({"b": [True, False], "d": pa.array(["x", "y"]).dictionary_encode()})
    rows = [1, 0, 0, 1, 0] * 100
    assert LanceFile(written(table)).take(rows).equals(table.take(rows))


def test_rows_that_lie_across_chunks_are_taken_whole() -> None:
    lists = [list(range(length)) for length in [3, 5000, 0, 2000, 1, 9000, 2]]
    table = pa.table({"l": lists * 3})
    file = LanceFile(written(table))
    for row in range(table.num_rows):
        assert file.take([row]).equals(table.take([row]))
    assert file.take([1, 5, 12, 20]).equals(table.take([1, 5, 12, 20]))


def test_nan_and_negative_zero_keep_their_bits() -> None:
    bits = np.array([0x7FF8000000000001, 0x8000000000000000, 0xFFF0000000000000, 1], np.uint64)
    table = pa.table({"f": np.tile(bits, 500).view(np.float64)})
    for encoding in ("plain", "bit-packed", "run-length", "byte-stream-split+zstd", "dictionary"):
        column = LanceFile(written(table, {"f": encoding})).read()["f"]
        assert column.to_numpy().view(np.uint64).tolist() == np.tile(bits, 500).tolist()


def test_one_column_is_read_by_its_own_metadata_whatever_the_others_are() -> None:
    table = pa.table({"a": [1, 2], "other": pa.array([3, 4], pa.int16()), "b": ["x", "y"]})
    data = written(table)
    assert data.count(b"\x05int16") == 1
    source = RecordingSource(data.replace(b"\x05int16", b"\x05odd99"))
    with LanceFile(source) as file:
        place = file._parts._places
        source.reads.clear()
        assert file.read(["b", "a"]).equals(table.select(["b", "a"]))
        others = (int(place[1, 0]), int(place[1, 1]))
        assert others not in source.reads
        assert file.column_names == ["a", "other", "b"]
        with pytest.raises(pymosaic.UnsupportedFeatureError, match="'odd99' is not known"):
            file.read(["other"])


def test_ten_thousand_columns() -> None:
    table = pa.table({f"c{i}": [i, i + 1] for i in range(10_000)})
    with LanceFile(written(table)) as file:
        assert file.num_columns == 10_000
        assert file.read(["c9999", "c0"]).to_pydict() == {"c9999": [9999, 10000], "c0": [0, 1]}
        assert file.read().equals(table)
        assert file.take([1]).equals(table.slice(1))


def test_blobs_of_the_second_kind_are_refused_by_name(tmp_path: Path) -> None:
    blobs = lance.blob_array([b"abc", None, b"", b"x" * 100_000])
    table = pa.table([blobs], schema=pa.schema([lance.blob_field("c")]))
    lance.write_dataset(table, str(tmp_path / "some.lance"), data_storage_version="2.2")
    (path,) = (tmp_path / "some.lance" / "data").glob("*.lance")
    with pytest.raises(pymosaic.UnsupportedFeatureError, match="column 'c' has blobs of the sec"):
        LanceFile(path)


def test_the_data_files_of_a_dataset_are_read(tmp_path: Path) -> None:
    lance.write_dataset(TABLE, str(tmp_path / "some.lance"), data_storage_version="2.1")
    (path,) = (tmp_path / "some.lance" / "data").glob("*.lance")
    with LanceFile(path) as file:
        assert file.read().equals(TABLE)


NESTED = pa.table(
    {
        "p": pa.array([{"x": i, "y": str(i), "q": {"a": [i], "b": -i}} for i in range(300)]),
        "l": pa.array([[{"a": i, "b": None}] * (i % 3) for i in range(300)],
                      pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]))),
        "n": pa.array(range(300)),
    }
)  # fmt: skip


def kept(value: Any, *names: str) -> Any:
    return {name: value[name] for name in names}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["p.x"], {"p": [kept(p, "x") for p in NESTED["p"].to_pylist()]}),
        (["p.y", "n", "p.x"], {"p": [kept(p, "x", "y") for p in NESTED["p"].to_pylist()],
                               "n": list(range(300))}),
        (["p.q"], {"p": [kept(p, "q") for p in NESTED["p"].to_pylist()]}),
        (["p.q.a"], {"p": [{"q": kept(p["q"], "a")} for p in NESTED["p"].to_pylist()]}),
        (["l.item.a"], {"l": [[kept(e, "a") for e in row] for row in NESTED["l"].to_pylist()]}),
        (["p.x", "p"], {"p": NESTED["p"].to_pylist()}),
    ],
)  # fmt: skip
def test_parts_of_structs_are_read_alone(
    columns: list[str], expected: dict[str, list[Any]]
) -> None:
    with LanceFile(written(NESTED, page_bytes=2000)) as file:
        assert file.read(columns).to_pydict() == expected
        assert file.read(columns).column_names == list(expected)
        rows = [7, 299, 0]
        taken = {name: [values[row] for row in rows] for name, values in expected.items()}
        assert file.take(rows, columns).to_pydict() == taken
        batches = pa.Table.from_batches(list(file.iter_batches(64, columns)))
        assert batches.to_pydict() == expected


def test_the_other_leaves_of_a_struct_are_not_read() -> None:
    source = RecordingSource(written(NESTED))
    file = LanceFile(source)
    places = [file.pages("p", leaf)[0].buffer_offsets[1] for leaf in range(len(file.leaves("p")))]
    source.reads.clear()
    file.read(["p.y"])
    starts = {offset for offset, _ in source.reads}
    assert [place in starts for place in places] == [False, True, False, False]


@pytest.mark.parametrize("name", ["p.z", "p.", "q.x", "n.x", ".x", 5])
def test_paths_that_lead_nowhere_are_refused(name: Any) -> None:
    with LanceFile(written(NESTED)) as file, pytest.raises(pymosaic.ColumnNotFoundError):
        file.read([name])


class TestTakeFromPagesWithDictionaries:
    """Pages that have dictionaries of their own are taken from together."""

    @pytest.fixture
    def looked_up(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        calls: list[int] = []
        function = mini_block.look_up_in_pages

        def look_up(layouts: Any, *arguments: Any) -> Any:
            calls.append(len(layouts))
            return function(layouts, *arguments)

        monkeypatch.setattr(mini_block, "look_up_in_pages", look_up)
        return calls

    @staticmethod
    def pages_of(column: pa.Array, name: str) -> LanceFile:
        buffer = io.BytesIO()
        write_table(pa.table({"c": column}), buffer, page_bytes=4000, encodings={"c": name})
        return LanceFile(buffer.getvalue())

    def test_rows_are_those_of_their_own_page(self, looked_up: list[int]) -> None:
        texts = pa.array([f"page {n // 400}, {n % 7}" for n in range(4000)])
        file = self.pages_of(texts, "dictionary")
        rows = [3999, 0, 17, 1200, 1201, 2700, 17]
        assert file.take(rows)["c"].to_pylist() == [texts[row].as_py() for row in rows]
        assert len(file.pages("c")) > 4
        assert max(looked_up) >= 3

    def test_lists_and_pages_without_values(self, looked_up: list[int]) -> None:
        values = [[n // 400 * 1000 + n % 5] * (n % 3) for n in range(1000)]
        values[300:700] = [[]] * 400
        column = pa.array(values)
        file = self.pages_of(column, "dictionary")
        rows = list(range(0, 1000, 7))
        assert file.take(rows)["c"].to_pylist() == [values[row] for row in rows]
        assert max(looked_up) > 1

    def test_arrow_dictionaries_stay_apart(self, looked_up: list[int]) -> None:
        column = pa.array([f"{n % 11}" for n in range(4000)]).dictionary_encode()
        buffer = io.BytesIO()
        write_table(pa.table({"c": column}), buffer, page_bytes=4000)
        file = LanceFile(buffer.getvalue())
        rows = [5, 1999, 3998]
        assert file.take(rows)["c"].to_pylist() == [column[row].as_py() for row in rows]
        assert looked_up == []

    def test_an_index_into_the_items_of_another_page_is_refused(self) -> None:
        layout = self.pages_of(pa.array(["a", "b"] * 500), "dictionary").pages("c")[0].layout
        assert isinstance(layout, MiniBlockLayout)
        layout = replace(layout, num_dictionary_items=2)
        words = encode_block(VariableBlock(np.array([0, 1, 2], np.int32), _AB))
        content = memoryview(words.data.tobytes())
        indices = FixedBlock(32, 3, np.array([1, 0, 2], np.uint32).view(np.uint8))
        items = Items(Levels(None, None), 3, indices)
        with pytest.raises(CorruptFileError, match="other items"):
            mini_block.look_up_in_pages(
                [layout, layout],
                items,
                np.array([1, 2]),
                [content, content],
                TreeDecoder(Memory.of_page(pymosaic.Limits())),
            )
