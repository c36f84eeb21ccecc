"""Equality of Arrow data to the bit; to ``Table.equals`` a NaN differs from itself."""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa

Tabular: TypeAlias = pa.Table | pa.RecordBatch


def assert_identical(actual: Tabular, expected: Tabular) -> None:
    """Same schema (names, types, nullability), same rows, same bits in every float; and valid."""
    assert actual.schema.equals(expected.schema), (
        f"schemas differ:\n{actual.schema}\n--- expected ---\n{expected.schema}"
    )
    actual.validate(full=True)
    assert actual.num_rows == expected.num_rows
    for field, left, right in zip(expected.schema, actual.columns, expected.columns, strict=True):
        assert_same_values(_one_array(left), _one_array(right), field.name)


def assert_same_values(actual: pa.Array, expected: pa.Array, path: str) -> None:
    """Same validity and same bits where valid, through lists and maps."""
    assert actual.type.equals(expected.type), f"{path}: {actual.type} is not {expected.type}"
    assert len(actual) == len(expected), f"{path}: {len(actual)} rows, expected {len(expected)}"
    if pa.types.is_nested(expected.type):
        assert _lengths(actual) == _lengths(expected), f"{path}: list lengths differ"
        for part, (left, right) in enumerate(
            zip(_children(actual), _children(expected), strict=True)
        ):
            assert_same_values(left, right, f"{path}[{part}]")
        return
    left, right = _comparable(actual), _comparable(expected)
    if not left.equals(right):
        row = next(i for i in range(len(left)) if not left[i].equals(right[i]))
        raise AssertionError(f"{path}, row {row}: {left[row]!r} is not {right[row]!r}")


def _one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _lengths(array: pa.Array) -> list[int | None]:
    offsets = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    return [offsets[i + 1] - offsets[i] if is_valid else None for i, is_valid in enumerate(valid)]


def _children(array: pa.ListArray | pa.MapArray) -> list[pa.Array]:
    """The elements, or the keys and the items, of the rows that are not null."""
    offsets = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    ranges = [
        (offsets[i], offsets[i + 1] - offsets[i]) for i, is_valid in enumerate(valid) if is_valid
    ]
    children = [array.keys, array.items] if pa.types.is_map(array.type) else [array.values]
    return [
        pa.concat_arrays([child.slice(0, 0)] + [child.slice(*each) for each in ranges])
        for child in children
    ]


def _comparable(array: pa.Array) -> pa.Array:
    if pa.types.is_float32(array.type):
        return array.view(pa.int32())
    if pa.types.is_float64(array.type):
        return array.view(pa.int64())
    return array
