"""Readers, appenders, compactors, an overwriter and vacuum, each a process, on one dataset.

``python -m tests.datasets.stress --minutes 10 --seed 1 --store local s3``; more readers and
compactors with ``--readers 4 --compactors 2``. Every read must be a
state that was committed while it looked, and none may fail. What is written makes that visible:

- an append writes one row into each of three partitions, numbered by appender and count;
- an overwrite replaces everything by one row in each partition, numbered by generation.

So a read has exactly one generation; of each appender a run of counts without a gap, each three
times; the run ends no earlier than at what was committed before the read began, and no later than
at what was begun when it ended; and as long as the generation is the same, it begins where it began
before.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import pymosaic
from pymosaic.errors import CommitConflictError

APPENDERS = 2
PARTITIONS = 3
KEEP_SECONDS = 45.0
OVERWRITER = APPENDERS
# In seconds: a server on a busy machine is slow to answer, which is not what is tested.
PATIENCE = 120
# Imported once by the process that all others are copies of.
PRELOAD = ["pyarrow", "pymosaic.datasets.write", "pymosaic.datasets.compact"]


@dataclass
class Place:
    """Where the dataset is: a local directory, or a bucket behind a port."""

    base: str
    port: int | None = None

    def filesystem(self, number: int) -> Any:
        """The file system; clients of both kinds take part."""
        if self.port is None:
            return None
        if number % 2:
            import s3fs

            return s3fs.S3FileSystem(
                key="test",
                secret="test",
                endpoint_url=f"http://127.0.0.1:{self.port}",
                client_kwargs={"region_name": "us-east-1"},
                config_kwargs={"read_timeout": PATIENCE, "connect_timeout": PATIENCE},
            )
        from pyarrow import fs

        return fs.S3FileSystem(
            access_key="test",
            secret_key="test",
            region="us-east-1",
            scheme="http",
            endpoint_override=f"127.0.0.1:{self.port}",
            request_timeout=PATIENCE,
            connect_timeout=PATIENCE,
        )


@dataclass
class Shared:
    """What all processes know: when to end, what was begun and what was committed, by writer."""

    end: Any
    begun: Any
    committed: Any
    counts: Any
    errors: Any

    def is_over(self) -> bool:
        return time.monotonic() > self.end.value or not self.errors.empty()


@dataclass
class Report:
    """What came of a run."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        done = ", ".join(f"{count:,} {name}" for name, count in sorted(self.counts.items()))
        return f"{done}; {len(self.errors)} errors"


def rows(writer: int, count: int) -> pa.Table:
    partitions = list(range(PARTITIONS))
    return pa.table(
        {"writer": [writer] * PARTITIONS, "count": [count] * PARTITIONS, "k": partitions}
    )


def write(place: Place, shared: Shared, writer: int, mode: Any, seed: int) -> None:
    """Append, or overwrite, until the end."""
    choose = random.Random(seed)
    filesystem = place.filesystem(writer)
    while not shared.is_over():
        count = shared.begun[writer] + 1
        shared.begun[writer] = count
        while True:
            try:
                pymosaic.write_dataset(
                    rows(writer, count),
                    place.base,
                    partition_by="k",
                    mode=mode,
                    filesystem=filesystem,
                    keep_replaced=KEEP_SECONDS,
                    use_threads=False,
                )
                break
            except CommitConflictError:
                shared.counts.put("conflicts")
        shared.committed[writer] = count
        shared.counts.put(f"{mode}s")
        time.sleep(choose.uniform(0.0, 0.05) if mode == "append" else choose.uniform(0.2, 2.0))


def compact(place: Place, shared: Shared, seed: int) -> None:
    choose = random.Random(seed)
    filesystem = place.filesystem(seed)
    while not shared.is_over():
        try:
            report = pymosaic.compact(
                place.base,
                filesystem=filesystem,
                keep_replaced=KEEP_SECONDS,
                min_row_group_bytes=choose.choice([0, 8 << 20]),
                use_threads=False,
            )
            shared.counts.put("conflicts" if report.conflicts else "compactions")
        except CommitConflictError:
            shared.counts.put("conflicts")
        time.sleep(choose.uniform(0.0, 0.5))


def vacuum(place: Place, shared: Shared, seed: int) -> None:
    choose = random.Random(seed)
    filesystem = place.filesystem(seed)
    while not shared.is_over():
        try:
            pymosaic.vacuum(place.base, older_than=KEEP_SECONDS, filesystem=filesystem)
            shared.counts.put("vacuums")
        except CommitConflictError:
            shared.counts.put("conflicts")
        time.sleep(choose.uniform(0.1, 1.0))


def read(place: Place, shared: Shared, seed: int) -> None:
    """Look, wait, read, and compare; through the dataset, the directory above, or a pattern."""
    choose = random.Random(seed)
    filesystem = place.filesystem(seed)
    above = place.base.rpartition("/")[0]
    first: dict[tuple[int, int], int] = {}
    while not shared.is_over():
        source = choose.choice([place.base, place.base, above, f"{above}/se*"])
        before = list(shared.committed)
        dataset = pymosaic.dataset(source, filesystem=filesystem)
        after = list(shared.begun)
        if choose.random() < 0.3:
            time.sleep(choose.uniform(0.0, 2.0))
        table = dataset.scan(["writer", "count", "k"]).to_table(use_threads=False)
        check(table, before, after, first)
        shared.counts.put("reads")


def check(
    table: pa.Table, before: list[int], after: list[int], first: dict[tuple[int, int], int]
) -> None:
    """Compare a read with what can have been committed."""
    found: dict[int, Counter[int]] = {}
    for writer, count in zip(table["writer"].to_pylist(), table["count"].to_pylist(), strict=True):
        found.setdefault(writer, Counter())[count] += 1
    [generation] = found.pop(OVERWRITER)
    assert before[OVERWRITER] <= generation <= after[OVERWRITER], (before, generation, after)
    for writer in range(APPENDERS):
        counts = found.get(writer, Counter())
        if not counts:
            # An overwrite took all there was.
            assert (generation, writer) not in first, (generation, writer, first)
            continue
        low, high = min(counts), max(counts)
        assert counts == dict.fromkeys(range(low, high + 1), PARTITIONS), (writer, counts)
        assert high <= after[writer], (writer, high, after)
        if generation == after[OVERWRITER]:
            assert high >= before[writer], (writer, high, before)
        assert first.setdefault((generation, writer), low) == low, (generation, writer, low, first)


def guarded(shared: Shared, action: Callable[..., None], *arguments: Any) -> None:
    try:
        action(*arguments)
    except BaseException:
        shared.errors.put(f"{action.__name__}: {traceback.format_exc()}")


def run(place: Place, seconds: float, seed: int, readers: int = 2, compactors: int = 1) -> Report:
    """Run all processes for so long; what was done, and what went wrong."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    shared = Shared(
        context.Value("d", time.monotonic() + 3600),
        context.Array("q", APPENDERS + 1),
        context.Array("q", APPENDERS + 1),
        context.Queue(),
        context.Queue(),
    )
    start = multiprocessing.get_context("forkserver").Process(
        target=guarded, args=(shared, begin, place, shared)
    )
    start.start()
    start.join()
    work: list[tuple[Any, ...]] = [
        *((write, place, shared, number, "append", seed + number) for number in range(APPENDERS)),
        (write, place, shared, OVERWRITER, "overwrite", seed + 10),
        *((compact, place, shared, seed + 20 + number) for number in range(compactors)),
        (vacuum, place, shared, seed + 31),
        *((read, place, shared, seed + 40 + number) for number in range(readers)),
    ]
    processes = [context.Process(target=guarded, args=(shared, *task)) for task in work]
    for process in processes:
        process.start()
    shared.end.value = time.monotonic() + seconds
    report = Report()
    while any(process.is_alive() for process in processes):
        _drain(shared, report)
        time.sleep(0.1)
    for process in processes:
        process.join()
    _drain(shared, report)
    return report


def begin(place: Place, shared: Shared) -> None:
    """The first generation."""
    shared.begun[OVERWRITER] = 1
    filesystem = place.filesystem(0)
    pymosaic.write_dataset(
        rows(OVERWRITER, 1), place.base, partition_by="k", filesystem=filesystem, use_threads=False
    )
    shared.committed[OVERWRITER] = 1


def _drain(shared: Shared, report: Report) -> None:
    while not shared.counts.empty():
        report.counts[shared.counts.get()] += 1
    while not shared.errors.empty():
        report.errors.append(shared.errors.get())


@contextlib.contextmanager
def place_of(store: str) -> Iterator[Place]:
    """A directory, or a bucket of a server of the S3 protocol, that goes when it is not needed."""
    if store == "local":
        directory = tempfile.mkdtemp(prefix="stress-")
        try:
            yield Place(f"{directory}/year/set")
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return
    import boto3

    from tests.object_store.conftest import KEY
    from tests.object_store.server import ObjectStore

    server = ObjectStore(one_at_a_time=True)
    try:
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{server.port}", **KEY)
        client.create_bucket(Bucket="stress")
        yield Place("stress/year/set", server.port)
    finally:
        server.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for each store")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", nargs="+", choices=["local", "s3"], default=["local", "s3"])
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--compactors", type=int, default=1)
    options = parser.parse_args()
    failed = False
    for store in options.store:
        with place_of(store) as place:
            report = run(
                place, options.minutes * 60, options.seed, options.readers, options.compactors
            )
        sys.stdout.write(f"{store}: {report}\n")
        sys.stdout.flush()
        sys.stderr.writelines(report.errors)
        failed = failed or bool(report.errors)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
