"""Random histories of Paimon tables, done half by PyPaimon and half by pymosaic.

After each step both read the table, and at the end every snapshot of it; the rows must be the same.
``python -m tests.paimon.histories --runs 200`` runs many (``make paimon-histories``).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

import pyarrow as pa
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from pymosaic.paimon import (
    add_columns,
    compact,
    dataset,
    drop_columns,
    rename_columns,
    update_columns,
)
from pymosaic.paimon import write as our_write
from tests.paimon.building import EVOLVING, Warehouse, delete, theirs, update, write

TYPES = {"BIGINT": pa.int64(), "DOUBLE": pa.float64(), "STRING": pa.string()}


class History:
    """One table and what happens to it."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.random = random.Random(seed)
        self.warehouse = Warehouse(directory)
        self.log: list[str] = []
        self.keyed = self.random.random() < 0.15
        self.evolves = not self.keyed and self.random.random() < 0.75
        self.partitioned = self.random.random() < 0.4
        self.tags: list[str] = []
        self.numbered = 0
        # PyPaimon finds column files by the names that columns have now, so that it loses those of
        # renamed ones; only pymosaic reads such tables right.
        self.renamed_column_files = False
        options = {
            "metadata.stats-mode": self.random.choice(["none", "full"]),
            "file.format": self.random.choice(["mosaic", "mosaic", "mosaic", "parquet"]),
        }
        if self.evolves:
            options |= EVOLVING | {"deletion-vectors.enabled": "true"}
        if self.keyed:
            options |= {"bucket": self.random.choice(["1", "2"])}
        schema = pa.schema(
            [
                pa.field("id", pa.int64(), not self.keyed),
                pa.field("x", pa.float64()),
                pa.field("n", pa.int32()),
                pa.field("p", pa.string(), not self.keyed),
            ]
        )
        keys = ["p"] if self.partitioned else None
        primary = ["id", "p"] if self.keyed else None
        self.warehouse.create(schema, partition_keys=keys, primary_keys=primary, options=options)

    @property
    def table(self) -> Any:
        return self.warehouse.table()

    def step(self) -> None:
        """Do something, by one of the two."""
        steps = [
            self.append,
            self.append,
            self.overwrite,
            self.add,
            self.drop,
            self.rename,
            self.tag,
            self.widen,
            self.change_format,
        ]
        if not self.keyed:
            steps += [self.compact]
        if self.evolves:
            steps += [self.add_computed, self.add_computed, self.update, self.update, self.delete]
        self.random.choice(steps)()

    def ours(self, what: str) -> bool:
        """Who does the next thing."""
        mine = self.random.random() < 0.5
        self.log.append(f"{'pymosaic' if mine else 'pypaimon'}: {what}")
        return mine

    def rows(self) -> pa.Table:
        schema = dataset(self.table).schema
        count = self.random.randint(1, 6)
        return pa.table(
            [pa.array([self.value(field) for _ in range(count)], field.type) for field in schema],
            schema=schema,
        )

    def value(self, field: pa.Field) -> Any:
        if field.name == "p":
            return self.random.choice("ab")
        if field.nullable and self.random.random() < 0.2:
            return None
        number = self.random.randint(-5, 5)
        if pa.types.is_string(field.type):
            return f"t{number}"
        return number if pa.types.is_integer(field.type) else number / 2

    def append(self) -> None:
        rows = self.rows()
        if self.ours(f"append {rows.num_rows}"):
            our_write(rows, self.table)
        else:
            write(self.table, rows)

    def overwrite(self) -> None:
        rows = self.rows()
        partition: dict[str, Any] = {}
        if self.partitioned:
            partition = {"p": "a"}
            place = rows.schema.get_field_index("p")
            rows = rows.set_column(place, "p", pa.array(["a"] * rows.num_rows))
        if self.ours(f"overwrite {partition} by {rows.num_rows}"):
            our_write(rows, self.table, mode="overwrite", partition=partition)
        else:
            write(self.table, rows, partition)

    def _new_name(self) -> str:
        self.numbered += 1
        return f"c{self.numbered}"

    def add(self) -> None:
        name, kind = self._new_name(), self.random.choice(list(TYPES))
        self.log.append(f"schema: add {name} {kind}")
        self.warehouse.alter(SchemaChange.add_column(name, AtomicType(kind)))

    def _others(self) -> list[str]:
        return [
            name for name in dataset(self.table).schema.names if name not in ("id", "p", "x", "n")
        ]

    def drop(self) -> None:
        if self._others():
            name = self.random.choice(self._others())
            if self.ours(f"drop {name}"):
                drop_columns(self.table, [name])
            else:
                self.warehouse.alter(SchemaChange.drop_column(name))

    def rename(self) -> None:
        if self._others():
            name, new = self.random.choice(self._others()), self._new_name()
            self.renamed_column_files = self.renamed_column_files or self.evolves
            if self.ours(f"rename {name} {new}"):
                rename_columns(self.table, {name: new})
            else:
                self.warehouse.alter(SchemaChange.rename_column(name, new))

    def tag(self) -> None:
        if dataset(self.table).snapshot_id is not None:
            name = f"tag{self._new_name()}"
            self.log.append(f"tag {name}")
            self.table.create_tag(name)
            self.tags.append(name)
            tagged = dataset(self.table, tag=name).to_table()
            newest = dataset(self.table).snapshot_id
            assert tagged == dataset(self.table, snapshot=newest).to_table()

    def widen(self) -> None:
        """Give a column of whole numbers a wider type."""
        wider = {pa.int32(): "BIGINT", pa.int64(): "DOUBLE"}
        kind = wider.get(dataset(self.table).schema.field("n").type)
        if kind is not None:
            self.log.append(f"schema: n is {kind}")
            self.warehouse.alter(SchemaChange.update_column_type("n", AtomicType(kind)))

    def change_format(self) -> None:
        """Write files of another format from now on."""
        kind = self.random.choice(["mosaic", "parquet"])
        self.log.append(f"schema: file.format is {kind}")
        self.warehouse.alter(SchemaChange.set_option("file.format", kind))

    def add_computed(self) -> None:
        name = self._new_name()
        if self.ours(f"add {name} with values"):
            add_columns(self.table, {name: "id * 2 + x"})
            return
        self.warehouse.alter(SchemaChange.add_column(name, AtomicType("DOUBLE")))
        self._write_values(name)

    def update(self) -> None:
        before = dataset(self.table)
        if before.count_rows() == 0:
            return
        if self.ours("update x"):
            update_columns(self.table, {"x": "x + id"})
            return
        self._write_values("x")

    def _write_values(self, name: str) -> None:
        """Let PyPaimon write new values of a column of some rows."""
        ids = self._row_ids()
        if ids:
            chosen = self.random.sample(ids, self.random.randint(1, len(ids)))
            values = [float(self.random.randint(-9, 9)) for _ in chosen]
            update(self.table, pa.table({"_ROW_ID": pa.array(chosen, pa.int64()), name: values}))

    def _row_ids(self) -> list[int]:
        return theirs(self.table, ["_ROW_ID"]).column(0).to_pylist()

    def delete(self) -> None:
        if dataset(self.table).count_rows():
            ids = self._row_ids()
            chosen = self.random.sample(ids, self.random.randint(1, max(1, len(ids) // 2)))
            self.log.append(f"pypaimon: delete {len(chosen)}")
            delete(self.table, chosen)

    def compact(self) -> None:
        """Join files; PyPaimon has no such thing."""
        before = dataset(self.table).to_table()
        self.log.append("pymosaic: compact")
        compact(self.table)
        assert ordered(dataset(self.table).to_table()) == ordered(before)

    def check(self, **travel: Any) -> None:
        """Both read the same rows."""
        found = dataset(self.table, **travel)
        mine = found.to_table()
        assert found.count_rows() == mine.num_rows
        tested = [("x", ">", 0.5)]
        expected = sum(x is not None and x > 0.5 for x in mine.column("x").to_pylist())
        assert found.count_rows(tested) == expected
        assert found.scan(["id"], filters=tested).to_table().num_rows == expected
        names = ["id", "x", "n", "p"] if self.renamed_column_files else mine.column_names
        chosen = {}
        if "snapshot" in travel:
            chosen = {"snapshot_id": str(travel["snapshot"])}
        elif "tag" in travel:
            chosen = {"tag_name": travel["tag"]}
        other = theirs(self.table, names, **chosen)
        assert ordered(mine.select(names)) == ordered(other)

    def run(self, steps: int) -> None:
        """Live through some steps."""
        for _ in range(steps):
            self.step()
            self.check()
        for snapshot in range(1, (dataset(self.table).snapshot_id or 0) + 1):
            self.check(snapshot=snapshot)
        for tag in self.tags:
            self.check(tag=tag)


def ordered(table: pa.Table) -> list[str]:
    """Rows in an order that both have: that of buckets and partitions is free."""
    return sorted(map(repr, table.to_pylist()))


def run(seed: int, steps: int, directory: Path) -> None:
    """Run one history; an error tells its seed and steps."""
    history = History(seed, directory)
    try:
        history.run(steps)
    except BaseException as error:
        error.add_note(f"seed {seed}: " + "; ".join(history.log))
        raise


def main() -> None:
    """Run many histories."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failed = 0
    for seed in range(given.seed, given.seed + given.runs):
        with tempfile.TemporaryDirectory() as directory:
            try:
                run(seed, given.steps, Path(directory))
            except Exception:
                failed += 1
                traceback.print_exc()
                continue
        sys.stdout.write(f"\r{seed - given.seed + 1 - failed} of {given.runs} histories agree")
        sys.stdout.flush()
    sys.stdout.write("\n")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
