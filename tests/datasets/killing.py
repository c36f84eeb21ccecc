"""Kills a job at each change that it makes to the file system, and tells what a reader then sees.

``python -m tests.datasets.killing ACTION DIRECTORY`` prints a JSON list with an entry for each
change. This process itself never uses Arrow: all work is done in children that it forks.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import pymosaic

# Imported once, here, and not in every child.
import pymosaic.datasets.compact
import pymosaic.datasets.vacuum
import pymosaic.datasets.write

OLD = [{"n": number, "k": number % 2} for number in range(6)]
NEW = [{"n": number, "k": number % 2} for number in range(100, 104)]
CHANGES = ("replace", "unlink", "rmdir", "mkdir")


def prepare(base: Path) -> None:
    for start in (0, 2, 4):
        table = pa.Table.from_pylist(OLD[start : start + 2])
        pymosaic.write_dataset(table, base, partition_by="k", mode="append")


def append(base: Path) -> None:
    pymosaic.write_dataset(pa.Table.from_pylist(NEW), base, mode="append", use_threads=False)


def overwrite(base: Path) -> None:
    table = pa.Table.from_pylist(NEW)
    pymosaic.write_dataset(table, base, partition_by="k", mode="overwrite", use_threads=False)


def compact(base: Path) -> None:
    pymosaic.compact(base, min_row_group_bytes=0)


def reencode(base: Path) -> None:
    pymosaic.compact(base, use_threads=False)


ACTIONS: dict[str, Callable[[Path], None]] = {
    "append": append,
    "overwrite": overwrite,
    "compact": compact,
    "reencode": reencode,
}


def look(base: Path) -> list[int]:
    """The values of ``n`` that a reader sees."""
    found = pymosaic.dataset(str(base)).scan().to_table()
    return sorted(found["n"].to_pylist())


def in_child(action: Callable[[], Any]) -> Any:
    """What a child process makes of the action; None if it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = json.dumps(action())
        except BaseException as error:  # the parent says so
            result = json.dumps(f"failed: {error!r}")
        os.write(writing, result.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    return json.loads(content) if content else None


def killed_at(number: int, action: Callable[[Path], None], base: Path) -> str:
    """Run an action; this process is killed before it makes its ``number``-th change."""
    left = number

    def counting(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1
            return original(*arguments, **options)

        return call

    for name in CHANGES:
        setattr(os, name, counting(getattr(os, name)))
    action(base)
    return "done"


def try_once(number: int, action: Callable[[Path], None], base: Path) -> dict[str, Any]:
    """Kill the action before a change, then look, clean up, and do it again."""

    def recover() -> dict[str, Any]:
        seen = look(base)
        pymosaic.vacuum(base, older_than=0)
        staging = (base / "_mosaic" / "staging").exists()
        vacuumed = look(base)
        action(base)
        return {"seen": seen, "staging": staging, "vacuumed": vacuumed, "again": look(base)}

    ended = in_child(lambda: killed_at(number, action, base))
    return {"ended": ended, **in_child(recover)}


def main(name: str, directory: Path) -> None:
    original = directory / "original"
    in_child(lambda: prepare(original))
    results: list[dict[str, Any]] = []
    while not results or results[-1]["ended"] is None:
        base = directory / "copy"
        shutil.copytree(original, base)
        results.append(try_once(len(results), ACTIONS[name], base))
        shutil.rmtree(base)
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
