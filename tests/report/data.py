"""Files for the tests of the page."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tests.writing import write

ROWS = 2000


def mixed_file() -> bytes:
    """Three row groups of 61 columns, larger than what is read to open a file.

    Buckets are paged where their strings are long, else monolithic; columns are lists and maps
    too, constant, all null, of few values and of many.
    """
    random = np.random.default_rng(7)
    batches = [_mixed_batch(random, group) for group in range(3)]
    return write(
        batches,
        batches[0].schema,
        num_buckets=13,
        row_group_bytes=1,
        statistics=["id", "site", "day", "value_03", "empty"],
    )


def _mixed_batch(random: np.random.Generator, group: int) -> pa.RecordBatch:
    rows = ROWS - 500 * group
    columns: dict[str, pa.Array] = {
        "site": pa.array(random.choice(["Oslo", "Rome", "Bonn"], rows)),
        "id": pa.array(np.arange(rows) + 10_000 * group),
        "day": pa.array(random.integers(0, 20_000, rows).astype(np.int32)).cast(pa.date32()),
        "empty": pa.nulls(rows, pa.float64()),
        "kind": pa.array([f"kind {group}"] * rows),
        "flag": pa.array(random.random(rows) < 0.5, mask=random.random(rows) < 0.25),
        "tags": pa.array(
            [[int(n)] * (n % 3) for n in random.integers(0, 99, rows)], pa.list_(pa.int32())
        ),
        "text_map": pa.array(
            [[(f"k{n}", "x" * 40)] if n % 2 else None for n in random.integers(0, 99, rows)],
            pa.map_(pa.string(), pa.string()),
        ),
    }
    columns |= {f"value_{i:02d}": pa.array(random.random(rows)) for i in range(40)}
    for i in range(13):
        texts = random.bytes(60 * rows).hex()
        columns[f"text_{i:02d}"] = pa.array([texts[n * 90 : n * 90 + 90] for n in range(rows)])
    return pa.record_batch(columns)


def wide_table(num_columns: int, num_rows: int = 4) -> pa.Table:
    """Many small columns; three kinds of them."""
    kinds = [
        pa.array(np.arange(num_rows) * 3),
        pa.array(["a", None] * (num_rows // 2)),
        pa.array([1.5] * num_rows),
    ]
    names = [f"plant_{i % 7}_sensor_{i:06d}" for i in range(num_columns)]
    return pa.table([kinds[i % 3] for i in range(num_columns)], names=names)
