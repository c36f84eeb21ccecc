"""Columns that a kernel writes many at once get the bytes that they would get one by one."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pymosaic.lance import LanceFile, writer
from pymosaic.lance.container import Schema
from pymosaic.lance.schema import emit_schema
from pymosaic.lance.small_columns import encode_columns
from pymosaic.pages.messages import MiniBlockLayout
from pymosaic.pages.protobuf import emit, parse
from pymosaic.pages.small_pages import MAX_ROWS, SmallPages
from tests.lance.peer import peer_read

_TYPES = [
    *(pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32()),
    *(pa.int64(), pa.uint64(), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms")),
    *(pa.time64("us"), pa.time64("ns"), pa.timestamp("ms"), pa.timestamp("ns", "UTC")),
    pa.duration("us"),
]
# Of the time types, values in this range are valid.
_MOST = {pa.date32(): 100, pa.date64(): 100, pa.time32("s"): 86_400, pa.time32("ms"): 86_400}


def _numbers(data_type: pa.DataType, chance: np.random.Generator, rows: int) -> pa.Array:
    width = data_type.bit_width // 8
    kind = chance.integers(0, 6)
    most = _MOST.get(data_type, (1 << (8 * width - 2)) if width < 8 else 1 << 36)
    if kind == 0:  # runs
        numbers = np.repeat(chance.integers(0, most, rows // 20 + 1), 20)[:rows]
    elif kind == 1:  # few different ones
        numbers = chance.choice(chance.integers(0, most, 7), rows)
    elif kind == 2:  # one value
        numbers = np.full(rows, chance.integers(0, most))
    elif kind == 3:  # small ones
        numbers = chance.integers(0, min(most, 1 + 2 ** int(chance.integers(0, 12))), rows)
    elif kind == 4:  # long runs
        numbers = np.repeat(chance.integers(0, most, rows // 900 + 1), 900)[:rows]
    else:
        numbers = chance.integers(0, most, rows)
    if data_type == pa.date64():
        return pa.array(numbers * 86_400_000).cast(data_type)
    array = pa.array(numbers)
    return (
        array.cast(pa.int32() if width == 4 else pa.int64()).cast(data_type)
        if (pa.types.is_temporal(data_type))
        else array.cast(data_type)
    )


def _strings(chance: np.random.Generator, rows: int, binary: bool) -> pa.Array:
    kind = chance.integers(0, 5)
    longest = [3, 12, 120, 255, 300][kind]
    texts = [
        "x" * int(length) + str(number)
        for number, length in enumerate(chance.integers(0, max(1, longest - 5), rows))
    ]
    if chance.random() < 0.5:
        texts = [texts[index] for index in chance.integers(0, min(rows, 30), rows)]
    return pa.array([text.encode() for text in texts]) if binary else pa.array(texts)


def _column(seed: int, rows: int) -> pa.Array:
    chance = np.random.default_rng(seed)
    makers: list[Callable[[], pa.Array]] = [
        *(lambda kind=kind: _numbers(kind, chance, rows) for kind in _TYPES),
        lambda: pa.array(chance.random(rows) < 0.3),
        lambda: pa.array(chance.standard_normal(rows)),
        lambda: pa.array(chance.standard_normal(rows).round(1)),
        lambda: pa.array(chance.random(rows, np.float32)),
        lambda: pa.array(chance.random(rows).astype(np.float16)),
        *[lambda: _strings(chance, rows, binary=False)] * 4,
        lambda: _strings(chance, rows, binary=True),
        lambda: pa.nulls(rows, pa.float64()),
        # Not for the kernel.
        lambda: pa.array([[1, 2], None] * rows).slice(0, rows),
        lambda: _numbers(pa.int64(), chance, rows).cast(pa.string()).dictionary_encode(),
    ]
    array = makers[seed % len(makers)]()
    is_plain = array.type.num_fields == 0 and not pa.types.is_dictionary(array.type)
    if not is_plain or chance.random() < 0.5:
        return array
    # Bytes stay under the nulls.
    valid = chance.random(rows) >= chance.choice([0.01, 0.3, 0.99])
    bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(array.type, rows, [bits, *array.buffers()[1:]])


def _written(table: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    writer.write_table(table, out, **options)
    return out.getvalue()


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    def left(table: pa.Table, version: str, page_bytes: int) -> Iterator[SmallPages]:
        count = table.num_columns
        forms = np.zeros((count, 5), np.int64)
        yield SmallPages(b"", np.full((count, 3), -1, np.int64), forms)

    def write(table: pa.Table, **options: Any) -> bytes:
        with monkeypatch.context() as patch:
            patch.setattr(writer, "encode_columns", left)
            return _written(table, **options)

    return write


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("rows", [1, 63, 100, 1024, 2500, 9000])
def test_bytes_are_those_of_columns_written_alone(
    rows: int, version: str, one_by_one: Callable[..., bytes]
) -> None:
    table = pa.table({f"c{seed}": _column(seed, rows + 13) for seed in range(90)})
    by_kernel = sum(pages.is_written.sum() for pages in encode_columns(table, version, 8 << 20))
    assert by_kernel >= 65
    for part in (table.slice(0, rows), table.slice(13, rows)):
        assert _written(part, version=version) == one_by_one(part, version=version)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_strings_without_bytes(version: str, one_by_one: Callable[..., bytes]) -> None:
    table = pa.table(
        {"empty": [""] * 300, "some": ["", None, ""] * 100, "binary": pa.array([b"", None] * 150)}
    )
    data = _written(table, version=version)
    assert data == one_by_one(table, version=version)
    assert LanceFile(data).read() == table


def test_pieces_are_joined(one_by_one: Callable[..., bytes]) -> None:
    whole = pa.table({f"c{seed}": _column(seed, 400) for seed in range(28)})
    table = pa.concat_tables([whole.slice(0, 150), whole.slice(150)])
    assert _written(table) == one_by_one(table)


def test_forced_choices_and_large_columns_are_written_alone(
    one_by_one: Callable[..., bytes],
) -> None:
    table = pa.table({f"c{seed}": _column(seed, 700) for seed in range(28)})
    options: dict[str, Any] = {"encodings": {"c6": "plain", "c7": "plain+zstd"}, "page_bytes": 3000}
    data = _written(table, **options)
    assert data == one_by_one(table, **options)
    assert len(LanceFile(data).pages("c6")) > 1


def test_both_read_what_was_written(tmp_path: Any) -> None:
    table = pa.table({f"c{seed}": _column(seed, 200) for seed in range(280)})
    path = tmp_path / "wide.lance"
    writer.write_table(table, path)
    assert LanceFile(path).read().to_pydict() == table.to_pydict()
    assert peer_read(path).to_pydict() == table.to_pydict()


@pytest.mark.parametrize("rows", [0, MAX_ROWS + 1])
def test_other_numbers_of_rows_are_written_one_by_one(rows: int) -> None:
    table = pa.table({"n": np.arange(rows), "s": pa.array(["a", "b"] * rows).slice(0, rows)})
    assert LanceFile(_written(table)).read() == table


def test_choices_are_those_of_the_general_writer() -> None:
    table = pa.table(
        {
            "runs": np.repeat(np.arange(5), 100),
            "packed": np.arange(500),
            "plain": np.random.default_rng(1).integers(0, 1 << 62, 500),
            "dictionary": pa.array([f"name {n % 9}" for n in range(500)]),
        }
    )
    file = LanceFile(_written(table))
    layouts = [file.pages(name)[0].layout for name in table.column_names]
    assert all(isinstance(layout, MiniBlockLayout) for layout in layouts)
    kinds = [type(layout.value_compression).__name__ for layout in layouts]  # type: ignore[union-attr]
    assert kinds == ["Rle", "InlineBitpacking", "Flat", "InlineBitpacking"]
    assert layouts[3].num_dictionary_items == 9  # type: ignore[union-attr]


def test_the_schema_of_many_fields_is_the_message_of_each() -> None:
    kinds = [pa.int64(), pa.string(), pa.float32(), pa.timestamp("us"), pa.struct({"x": pa.int8()})]
    fields = [
        pa.field(f"ä{number}", kinds[number % 5], nullable=number % 3 > 0) for number in range(400)
    ]
    fields[7] = fields[7].with_metadata({"a": "b"})
    data = emit_schema(pa.schema([pa.field("", pa.int32()), *fields], {"k": "v"}))
    message = parse(Schema, data)
    # The general writer makes the same bytes of what the general reader finds.
    assert emit(message) == data
    tops = [field for field in message.fields if field.parent_id == -1]
    assert [field.name for field in tops] == ["", *(field.name for field in fields)]
    assert [field.id for field in message.fields] == list(range(len(message.fields)))
    assert [field.nullable for field in tops[1:]] == [field.nullable for field in fields]
    assert tops[8].metadata == (("a", b"b"),)
    assert {field.logical_type for field in message.fields} == {
        *("int32", "int64", "string", "float", "timestamp:us:-", "struct", "int8")
    }
