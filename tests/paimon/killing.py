"""Writers of a Paimon table that are killed at random moments, and two that write at once.

A process appends, overwrites,
updates and adds columns until ``kill -9``. Afterwards the table is as after one of its steps:
nothing of a step that was not finished shows, and PyPaimon reads the same rows.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pypaimon.table.file_store_table import FileStoreTable

import pymosaic
from pymosaic.paimon import add_columns, dataset, update_columns, write
from tests.paimon.building import theirs

ROWS = 40
_KINDS = ("append", "append", "append", "overwrite", "update", "update", "add")
# Children are forked from a process without threads that has imported everything.
_processes = multiprocessing.get_context("forkserver")


class Step(NamedTuple):
    """Something that is done to a table; the number makes its rows or column unique."""

    kind: str
    number: int


class State:
    """What the table must hold: values by batch of rows, and columns."""

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, int | None]] = {}
        self.columns: list[str] = []

    def after(self, step: Step) -> State:
        """The state after a step."""
        result = State()
        result.columns = list(self.columns)
        result.rows = {batch: dict(values) for batch, values in self.rows.items()}
        if step.kind == "overwrite":
            result.rows = {}
        if step.kind in ("append", "overwrite"):
            result.rows[step.number] = {"v": 0} | dict.fromkeys(self.columns)
        if step.kind == "update":
            for values in result.rows.values():
                values["v"] = (values["v"] or 0) + 1
        if step.kind == "add":
            result.columns.append(f"c{step.number}")
            for batch, values in result.rows.items():
                values[f"c{step.number}"] = batch + step.number
        return result

    def with_empty(self, step: Step) -> State:
        """The state between the schema and the snapshot of a column that is added."""
        result = self.after(step)
        for values in result.rows.values():
            values[f"c{step.number}"] = None
        return result

    def seen(self) -> tuple[list[str], Counter[tuple[Any, ...]]]:
        """Columns, and how often each row appears."""
        names = ["v", *self.columns]
        counts: Counter[tuple[Any, ...]] = Counter(
            {
                (batch, *(values[name] for name in names)): ROWS
                for batch, values in self.rows.items()
            }
        )
        return self.columns, counts


def seen_in(table: pa.Table) -> tuple[list[str], Counter[tuple[Any, ...]]]:
    """The same of a table."""
    columns = [name for name in table.column_names if name.startswith("c")]
    rows = zip(*(table.column(name).to_pylist() for name in ("batch", "v", *columns)), strict=True)
    return columns, Counter(rows)


def do(step: Step, path: str) -> None:
    """Do a step."""
    if step.kind in ("append", "overwrite"):
        rows = pa.table({"batch": [step.number] * ROWS, "v": [0] * ROWS})
        write(rows, path, mode=step.kind)
    elif step.kind == "update":
        update_columns(path, {"v": "v + 1"})
    else:
        add_columns(path, {f"c{step.number}": f"batch + {step.number}"})


def work(path: str, seed: int, first: int, log: str) -> None:
    """Write until killed; the log tells what was begun and what was done."""
    chance = random.Random(seed)
    with open(log, "a", encoding="utf-8") as file:
        number = first
        while True:
            step = Step(chance.choice(_KINDS), number)
            for word in ("begin", "end"):
                if word == "end":
                    do(step, path)
                file.write(f"{word} {step.kind} {step.number}\n")
                file.flush()
            number += 1


def write_some(path: str, kind: str, numbers: list[int], log: str) -> None:
    """Write beside another process; the log tells which steps were done."""
    with open(log, "a", encoding="utf-8") as file:
        for number in numbers:
            try:
                do(Step(kind, number), path)
                word = "end"
            except pymosaic.CommitConflictError:
                word = "conflict"
            file.write(f"{word} {kind} {number}\n")
            file.flush()


def steps_in(log: str) -> list[tuple[str, Step]]:
    """What a log tells."""
    with open(log, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.endswith("\n")]
    return [(word, Step(kind, int(number))) for word, kind, number in lines]


def create(path: str) -> None:
    """Make the table."""
    write(
        pa.table({"batch": pa.array([], pa.int64()), "v": pa.array([], pa.int64())}),
        path,
        create=True,
    )


def check(path: str, *allowed: State) -> State:
    """The table is in one of these states, for PyPaimon too; returns it."""
    found = dataset(path).to_table()
    seen = seen_in(found)
    state = next((state for state in allowed if state.seen() == seen), None)
    if state is None:
        raise AssertionError(f"{path} has {seen}, not one of {[item.seen() for item in allowed]}")
    other = theirs(FileStoreTable.from_path(path)) if found.num_rows else found
    assert seen_in(other) == seen
    return state


def start(function: Any, *arguments: Any) -> Any:
    """Start a process."""
    process = _processes.Process(target=function, args=arguments, daemon=True)
    process.start()
    return process


def kill(kills: int, seed: int, directory: Path, seconds: float = 1.5) -> Counter[str]:
    """Kill a writer again and again; returns what it was doing."""
    chance = random.Random(seed)
    _processes.set_forkserver_preload([__name__])
    path, log = str(directory / "t"), str(directory / "log")
    create(path)
    state, number = State(), 1
    killed: Counter[str] = Counter()
    for _ in range(kills):
        Path(log).write_text("")
        process = start(work, path, chance.randrange(1 << 30), number, log)
        while not os.path.getsize(log):
            time.sleep(0.001)
        time.sleep(chance.uniform(0, seconds))
        process.kill()
        process.join()
        begun = None
        for word, step in steps_in(log):
            number = step.number + 1
            if word == "end":
                state, begun = state.after(step), None
            else:
                begun = step
        allowed = [state]
        if begun is not None:
            allowed.append(state.after(begun))
            if begun.kind == "add":
                allowed.append(state.with_empty(begun))
        before = state
        state = check(path, *allowed)
        what = "nothing" if begun is None else begun.kind
        killed[f"{what}, {'not done' if state is before else 'done'}"] += 1
        if len(state.columns) > 5 or len(state.rows) > 30:
            path = str(directory / f"t{number}")
            create(path)
            state = State()
    return killed


def write_at_once(rounds: int, directory: Path) -> Counter[str]:
    """Two processes write at once; returns how their steps ended."""
    _processes.set_forkserver_preload([__name__])
    ended: Counter[str] = Counter()
    for number, kinds in enumerate(
        (("append", "append"), ("append", "update"), ("update", "update"), ("overwrite", "update"))
        * rounds
    ):
        path = str(directory / f"both{number}")
        create(path)
        do(Step("append", 0), path)
        logs = [f"{path}.log{side}" for side in range(2)]
        sides = [
            start(write_some, path, kind, [1000 * side + place + 1 for place in range(4)], log)
            for side, (kind, log) in enumerate(zip(kinds, logs, strict=True))
        ]
        for process in sides:
            process.join()
            assert process.exitcode == 0
        outcomes = [item for log in logs for item in steps_in(log)]
        done = [step for word, step in outcomes if word == "end"]
        ended.update(f"{step.kind}: {word}" for word, step in outcomes)
        check_together(path, done)
    return ended


def check_together(path: str, done: list[Step]) -> None:
    """Exactly what was done shows: every append, and as many updates as rows have seen."""
    found = dataset(path)
    assert found.snapshot_id == 1 + len(done)
    table = found.to_table()
    assert seen_in(table) == seen_in(theirs(FileStoreTable.from_path(path)))
    batches = Counter(table.column("batch").to_pylist())
    assert set(batches.values()) == {ROWS}
    updates = sum(step.kind == "update" for step in done)
    appended = {step.number for step in done if step.kind == "append"}
    overwritten = [step.number for step in done if step.kind == "overwrite"]
    values = {
        batch: set(table.filter(pa.compute.equal(table["batch"], batch))["v"].to_pylist())
        for batch in batches
    }
    assert all(len(items) == 1 for items in values.values())
    if overwritten:
        assert set(batches) == {overwritten[-1]}
    else:
        assert set(batches) == appended | {0}
        assert values[0] == {updates}
