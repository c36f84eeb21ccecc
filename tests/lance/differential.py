"""Random columns written by each implementation and read by the other.

``python -m tests.lance.differential --cases 5000 --seed 0`` runs as many as one likes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa

from pymosaic.lance import LanceFile, write_table
from tests.figures import tell
from tests.lance.columns import some_rows
from tests.lance.peer import peer_read, peer_take, peer_write
from tests.lance.random_columns import RandomCase, random_case


def _same(found: pa.Table, expected: pa.Table) -> bool:
    """Equal, whatever dictionaries the values come from."""
    return bool(found.equals(expected)) or (
        found.schema.equals(expected.schema) and found.to_pylist() == expected.to_pylist()
    )


def _check_own(path: Path, expected: pa.Table) -> None:
    """All ways of reading agree with what is expected."""
    with LanceFile(path) as file:
        table = file.read()
        table.validate(full=True)
        assert _same(table, expected), "read"
        rows = some_rows(file.num_rows)
        taken = file.take(rows)
        taken.validate(full=True)
        values = expected["c"].to_pylist()
        assert taken["c"].to_pylist() == [values[row] for row in rows], "take"
        batches = pa.Table.from_batches(list(file.iter_batches(batch_size=97)), table.schema)
        assert batches["c"].to_pylist() == values, "iter_batches"


def check_own_file(case: RandomCase, path: Path) -> None:
    """What we write, both read."""
    write_table(case.table, path, page_bytes=case.page_bytes, version=case.peer_version)
    _check_own(path, case.table)
    assert _same(peer_read(path), case.table), "pylance reads"
    rows = some_rows(len(case.column))
    values = case.column.to_pylist()
    assert peer_take(path, rows)["c"].to_pylist() == [values[row] for row in rows], "pylance takes"


def check_peer_file(case: RandomCase, path: Path) -> bool:
    """What pylance writes and reads, we read; False where it does not do both."""
    field = pa.field("c", case.column.type, metadata=case.peer_metadata)
    # Copied: the writer does not take every slice of a struct.
    chunks = [pa.concat_arrays([chunk]) for chunk in case.column.unify_dictionaries().chunks]
    table = pa.table([pa.chunked_array(chunks, field.type)], schema=pa.schema([field]))
    try:
        peer_write(table, path, case.peer_version)
        expected = peer_read(path)
    except BaseException as error:
        # A panic of Rust is not an Exception.
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return False
    if not _same(expected, table):
        return False
    _check_own(path, expected)
    return True


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: list[str] | None = None) -> int:
    """Run cases; tells how many there were of each kind, and every failure by its seed."""
    parser = argparse.ArgumentParser(prog="python -m tests.lance.differential")
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1_000_000, help="that of the first case")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "case.lance"
        for seed in range(options.seed, options.seed + options.cases):
            if (done := seed - options.seed) and done % 500 == 0:
                tell(f"{done:,} of {options.cases:,} cases")
            case = random_case(seed)
            for name, check in (("own", check_own_file), ("pylance's", check_peer_file)):
                try:
                    was_read = check(case, path) is not False
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt | SystemExit):
                        raise
                    counts[f"{name}: failed"] += 1
                    _say(f"seed {seed}, {name} file of {case.column.type}: {error!r}"[:400])
                else:
                    counts[f"{name}: {'read equal' if was_read else 'pylance itself fails'}"] += 1
    for name, count in sorted(counts.items()):
        _say(f"{count:8,}  {name}")
    return int(any(name.endswith("failed") for name in counts))


if __name__ == "__main__":
    sys.exit(main())
