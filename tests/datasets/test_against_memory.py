"""Scans of random datasets against the same rows put together in memory."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.records import natural_order
from pymosaic.filters.tuples import parse_filters

TYPES = {
    "a": [pa.int8(), pa.int32(), pa.int64()],
    "b": [pa.float32(), pa.float64()],
    "c": [pa.string()],
    "d": [pa.int16(), pa.decimal128(7, 1)],
    "e": [pa.list_(pa.int32()), pa.list_(pa.int64())],
}


def random_column(choose: random.Random, arrow_type: pa.DataType, num_rows: int) -> pa.Array:
    def value() -> Any:
        if choose.random() < 0.2:
            return None
        number = choose.randint(-5, 5)
        if pa.types.is_list(arrow_type):
            return [number] * choose.randint(0, 2)
        if pa.types.is_decimal(arrow_type):
            return Decimal(number)
        return str(number) if pa.types.is_string(arrow_type) else number

    return pa.array([value() for _ in range(num_rows)], arrow_type)


def random_filters(choose: random.Random, names: list[str]) -> Any:
    def condition() -> tuple[Any, ...]:
        name = choose.choice(names)
        if name == "e" or choose.random() < 0.2:
            return name, choose.choice(["is null", "is not null"])
        literals = [choose.randint(-6, 6) for _ in range(3)]
        if name == "c":
            return name, "in", [str(literal) for literal in literals]
        if choose.random() < 0.3:
            return name, choose.choice(["in", "not in"]), literals
        return name, choose.choice(["=", "!=", "<", "<=", ">", ">="]), literals[0]

    return [[condition() for _ in range(choose.randint(1, 3))] for _ in range(choose.randint(1, 2))]


@pytest.mark.parametrize("seed", range(25))
def test_scans_agree(seed: int, tmp_path: Path) -> None:
    choose = random.Random(seed)
    parts = []
    for number in range(choose.randint(1, 4)):
        names = choose.sample(sorted(TYPES), choose.randint(1, 5))
        schema = pa.schema([(name, choose.choice(TYPES[name])) for name in names])
        key = choose.randint(-1, 1)
        path = tmp_path / f"k={key}" / f"{number}.mosaic"
        path.parent.mkdir(exist_ok=True)
        options: dict[str, Any] = {
            "num_buckets": choose.randint(1, len(names)),
            "page_size_threshold": choose.choice([0, 1 << 20]),
            "statistics": choose.choice([True, None]),
            "row_group_bytes": 1,
        }
        with pymosaic.MosaicWriter(path, schema, **options) as writer:
            for _ in range(choose.randint(0, 3)):
                num_rows = choose.randint(1, 6)
                columns = [random_column(choose, item.type, num_rows) for item in schema]
                writer.write(pa.record_batch(columns, schema=schema))
        parts.append((str(path), key))
    dataset = pymosaic.dataset(tmp_path)
    tables = []
    for name, key in sorted(parts, key=lambda part: natural_order(part[0])):
        table = pymosaic.read_table(name)
        table = table.append_column("k", pa.array([key] * table.num_rows, pa.int64()))
        columns = [
            table[item.name].cast(item.type)
            if item.name in table.column_names
            else pa.nulls(table.num_rows, item.type)
            for item in dataset.schema
        ]
        tables.append(pa.table(columns, schema=dataset.schema))
    whole = pa.concat_tables(tables).combine_chunks()
    assert dataset.scan().to_table().combine_chunks().equals(whole)
    for _ in range(8):
        filters = random_filters(choose, dataset.schema.names)
        wanted = choose.sample(dataset.schema.names, choose.randint(0, len(dataset.schema)))
        limit = choose.choice([None, 3])
        row_filter = parse_filters(filters)
        assert row_filter is not None
        arrays = {name: whole[name].combine_chunks() for name in whole.column_names}
        matching = whole.filter(row_filter.mask(arrays)) if len(whole) else whole
        found = dataset.scan(wanted, filters, limit).to_table()
        expected = matching.slice(0, limit).select(wanted)
        assert found.schema == expected.schema
        assert found.num_rows == expected.num_rows
        assert found.combine_chunks().equals(expected.combine_chunks()), (filters, wanted)
        assert dataset.count_rows(filters) == matching.num_rows
