"""Benchmarks of the page codec: ``python -m benchmarks.pages --help``.

Scans and single rows of files that pylance wrote, and writes, by pylance and by us in turns,
pylance with one thread for its work; tables of many columns; FSST by itself; and the studies of
encodings.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    # Before pylance is loaded: it reads this when its threads are made.
    os.environ.setdefault("LANCE_CPU_THREADS", "1")

import numpy as np
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

from benchmarks.data import SEED
from benchmarks.encoding_causes import cause_rows, measure_causes
from benchmarks.encoding_chooser import choice_rows, measure_choices
from benchmarks.encoding_trees import measure_trees, tree_rows, urls
from benchmarks.measure import interleave
from benchmarks.report import plain_table
from pymosaic.lance import LanceFile, write_table
from pymosaic.pages.blocks import VariableBlock
from pymosaic.pages.encodings.fsst import compress_values, parse_symbol_table
from pymosaic.pages.flatten import array_to_block
from pymosaic.pages.kernels.fsst import expand

__all__ = ["PageResult", "main", "measure_fsst", "measure_pages", "measure_wide"]

_TAKEN_ROWS = 100
_BATCH_ROWS = 65_536
_SECONDS = 2.0
_WIDE_ROWS = 500


def _columns(rows: int) -> dict[str, pa.Array]:
    chance = np.random.default_rng(SEED)
    lengths = chance.integers(0, 6, rows)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    numbers = pa.array(chance.integers(0, 1000, offsets[-1]))
    structs = pa.StructArray.from_arrays(
        [numbers, pa.array(chance.random(offsets[-1]))], ["x", "y"]
    )
    names = pa.array([f"category {number}" for number in range(2000)])
    indices = pa.array(chance.integers(0, len(names), rows, np.int32))
    return {
        "int": pa.array(chance.integers(0, 1 << 20, rows)),
        "float": pa.array(chance.normal(size=rows)),
        "string": urls(rows),
        "names": names.take(indices),
        "dictionary": pa.DictionaryArray.from_arrays(indices, names),
        "list": pa.ListArray.from_arrays(offsets, numbers),
        "list<struct>": pa.ListArray.from_arrays(offsets, structs),
    }


@dataclass(frozen=True, slots=True)
class PageResult:
    """Median wall seconds and processor seconds of one action, ours and pylance's."""

    column: str
    action: str
    ours: float
    peer: float
    ours_processor: float
    peer_processor: float


def _processor_seconds(action: Callable[[], object], rounds: int) -> float:
    samples = []
    for _ in range(rounds):
        start = time.process_time()
        action()
        samples.append(time.process_time() - start)
    return statistics.median(samples)


def _measure(
    column: str,
    action: str,
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    rounds: int,
) -> PageResult:
    if ours() != peer():
        raise AssertionError(f"{column}, {action}: results differ")
    samples = interleave({"ours": ours, "peer": peer}, rounds, _SECONDS)
    return PageResult(
        column,
        action,
        statistics.median(samples["ours"]),
        statistics.median(samples["peer"]),
        _processor_seconds(ours, rounds),
        _processor_seconds(peer, rounds),
    )


def measure_pages(rows: int, rounds: int, directory: Path, version: str) -> list[PageResult]:
    """Scan, take from and write one file for each kind of column; it is opened each time.

    Our file is synced to the disk before it gets its name, pylance's is not: of writes, compare
    processor times.
    """
    chance = np.random.default_rng(SEED)
    wanted = np.sort(chance.choice(rows, min(_TAKEN_ROWS, rows), replace=False)).tolist()
    results = []
    for name, column in _columns(rows).items():
        table = pa.table({name: column})
        path, written = str(directory / "read.lance"), str(directory / "written.lance")

        def peer_write(path: str = written, table: pa.Table = table) -> pa.Table:
            with LanceFileWriter(path, table.schema, version=version) as writer:
                writer.write_batch(table)
            return table

        def write(path: str = written, table: pa.Table = table) -> pa.Table:
            write_table(table, path, version=version)
            return table

        peer_write(path)

        def scan(path: str = path) -> pa.Table:
            return LanceFile(path).read()

        def peer_scan(path: str = path) -> pa.Table:
            return LanceFileReader(path).read_all(batch_size=_BATCH_ROWS).to_table()

        def take(path: str = path) -> pa.Table:
            return LanceFile(path).take(wanted)

        def peer_take(path: str = path) -> pa.Table:
            return LanceFileReader(path).take_rows(wanted).to_table()

        results.append(_measure(name, "scan", scan, peer_scan, rounds))
        results.append(_measure(name, f"take {len(wanted)}", take, peer_take, rounds))
        results.append(_measure(name, "write", write, peer_write, rounds))
    return results


def _wide_table(columns: int, rows: int) -> pa.Table:
    """Doubles, integers, integers with nulls, names and floats in turn."""
    chance = np.random.default_rng(SEED)
    makers: list[Callable[[], pa.Array]] = [
        lambda: pa.array(chance.standard_normal(rows)),
        lambda: pa.array(chance.integers(0, 1000, rows)),
        lambda: pa.array(chance.integers(0, 100, rows, np.int32), mask=chance.random(rows) < 0.1),
        lambda: pa.array([f"v{number}" for number in chance.integers(0, 50, rows).tolist()]),
        lambda: pa.array(chance.random(rows, np.float32)),
    ]
    return pa.table({f"c{number:05}": makers[number % len(makers)]() for number in range(columns)})


def measure_wide(columns: int, rows: int, rounds: int, directory: Path) -> list[PageResult]:
    """Open, read and write a table of many columns; the file to read was written by pylance."""
    table = _wide_table(columns, rows)
    path, written = str(directory / "wide.lance"), str(directory / "written.lance")

    def peer_write(path: str) -> pa.Table:
        with LanceFileWriter(path, table.schema, version="2.1") as writer:
            writer.write_batch(table)
        return table

    def our_write() -> pa.Table:
        write_table(table, written)
        return table

    peer_write(path)
    names = table.column_names
    results = [
        _measure(
            f"{columns} columns",
            "open",
            lambda: LanceFile(path).num_rows,
            lambda: LanceFileReader(path).num_rows(),
            rounds,
        )
    ]
    for action, wanted in (
        ("one column", names[columns // 2 : columns // 2 + 1]),
        ("ten columns", names[:: max(1, columns // 10)][:10]),
        ("all columns", names),
    ):

        def ours(wanted: list[str] = wanted) -> pa.Table:
            return LanceFile(path).read(wanted)

        def peer(wanted: list[str] = wanted) -> pa.Table:
            return LanceFileReader(path, columns=wanted).read_all().to_table()

        results.append(_measure(f"{columns} columns", action, ours, peer, rounds))
    results.append(
        _measure(f"{columns} columns", "write", our_write, lambda: peer_write(written), rounds)
    )
    return results


def measure_fsst(rows: int, rounds: int) -> tuple[float, float, float]:
    """MB of strings a processor second, compressed and expanded, and how much smaller they get."""
    block = array_to_block(urls(rows))
    assert isinstance(block, VariableBlock)
    table, shorter = compress_values(block)
    symbols = parse_symbol_table(table)
    out = np.empty(8 * len(shorter.data) + 8, np.uint8)
    offsets = np.empty_like(shorter.offsets)

    def decode() -> object:
        return expand(symbols.symbols, symbols.lengths, shorter.offsets, shorter.data, offsets, out)

    megabytes = len(block.data) / 1e6
    encode_seconds = _processor_seconds(lambda: compress_values(block), rounds)
    decode_seconds = _processor_seconds(decode, rounds)
    # A smoke run may be over before the processor's clock ticks.
    tick = 1e-6
    return (
        megabytes / max(encode_seconds, tick),
        megabytes / max(decode_seconds, tick),
        len(block.data) / len(shorter.data),
    )


def _page_rows(results: Sequence[PageResult]) -> list[list[str]]:
    rows = [
        ["column", "action", "ours", "pylance", "ratio", "ours, cpu", "pylance, cpu", "ratio, cpu"]
    ]
    for result in results:
        seconds = [result.ours, result.peer, result.ours_processor, result.peer_processor]
        ours, peer, ours_cpu, peer_cpu = (f"{1000 * value:.2f} ms" for value in seconds)
        ratio = f"{result.ours / result.peer:.2f}"
        ratio_cpu = f"{result.ours_processor / max(result.peer_processor, 1e-6):.2f}"
        rows.append(
            [result.column, result.action, ours, peer, ratio, ours_cpu, peer_cpu, ratio_cpu]
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the selected benchmarks and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of every column")
    parser.add_argument(
        "--rounds", type=int, default=15, help="maximum number of samples per measurement"
    )
    parser.add_argument("--version", choices=["2.1", "2.2"], default="2.1", help="of the files")
    parser.add_argument("--study", action="store_true", help="only the studies of encodings, in kB")
    parser.add_argument(
        "--levels",
        type=int,
        nargs="*",
        default=[1, 9],
        help="levels of zstd of the chooser's study",
    )
    parser.add_argument(
        "--wide", type=int, metavar="COLUMNS", help="only a table of so many columns of 500 rows"
    )
    options = parser.parse_args(arguments)
    if options.study:
        print(plain_table(tree_rows(measure_trees(options.rows))))
        for level in options.levels:
            print(f"\nzstd level {level}")
            print(plain_table(choice_rows(measure_choices(options.rows, level))))
            print()
            print(plain_table(cause_rows(measure_causes(options.rows, level))))
        return
    if options.wide is not None:
        with tempfile.TemporaryDirectory(prefix="pymosaic-pages-") as directory:
            results = measure_wide(options.wide, _WIDE_ROWS, options.rounds, Path(directory))
        print(plain_table(_page_rows(results)))
        return
    with tempfile.TemporaryDirectory(prefix="pymosaic-pages-") as directory:
        results = measure_pages(options.rows, options.rounds, Path(directory), options.version)
    print(plain_table(_page_rows(results)))
    encode, decode, ratio = measure_fsst(options.rows, options.rounds)
    speeds = f"{encode:,.0f} MB/s compressed, {decode:,.0f} MB/s expanded"
    print(f"FSST: {speeds}, {ratio:.1f} times smaller")


if __name__ == "__main__":
    main()
