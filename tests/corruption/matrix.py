"""The corruption matrix: every file of the corpus, damaged in every way, and read.

    python -m tests.corruption.matrix                 all of it
    python -m tests.corruption.matrix --sample 20     20 inputs of each kind and file
    python -m tests.corruption.matrix --unprotected   every bit that no checksum covers, in files
                                                      that have them
    python -m tests.corruption.matrix --guarded       only files in which a checksum covers every
                                                      byte: no damage may change what is read

Files are read in a process of their own, under a cap on its address space and with an alarm for
each input, so that a crash, a hang or an allocation beyond the limits is counted and not suffered.
Prints a summary; ``--json`` keeps it, after every file. The exit status tells of violations.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

import pymosaic
from tests.corruption import mutations
from tests.corruption.corpus import Specimen, specimens
from tests.corruption.fields import Field
from tests.corruption.judging import Case, judge
from tests.corruption.mutations import Mutation
from tests.figures import peak_memory

# What reading may take beyond what the process has when it starts.
MEMORY_CAP = 1 << 30
ALARM_SECONDS = 30
FILES_PER_PROCESS = 32
# Verification takes longer than reading; in the long form not every input is verified too.
VERIFIED_EVERY = 10
KINDS = ("flips", "inversions", "truncations", "random_bytes", "ranges", "splices")


def mutations_of(specimen: Specimen, kind: str, seed: int) -> Iterator[Mutation]:
    """All mutations of one kind; the same for the same seed."""
    random = Random(f"{seed} {kind} {specimen.name}")
    if kind == "splices":
        others = [other.data for other in specimens() if other.data]
        return mutations.splices(specimen.data, others, random)
    made: Iterator[Mutation] = getattr(mutations, kind)(specimen.data, random)
    return made


def sampled(specimen: Specimen, kind: str, seed: int, sample: int | None) -> Iterator[Mutation]:
    """All, or some that are spread over the file."""
    if sample is None:
        return mutations_of(specimen, kind, seed)
    random = Random(f"{seed} sample {kind} {specimen.name}")
    if kind == "flips":
        bits = range(8 * len(specimen.data))
        positions = random.sample(bits, min(sample, len(bits)))
        return (mutations.flip(specimen.data, position) for position in positions)
    if kind in ("inversions", "truncations"):
        step = len(specimen.data) // sample + 1
        return islice(mutations_of(specimen, kind, seed), random.randrange(step), None, step)
    return islice(mutations_of(specimen, kind, seed), sample)


@dataclass(frozen=True)
class Extent:
    """How much is done."""

    seed: int = 0
    sample: int | None = None
    unprotected: bool = False
    guarded: bool = False

    def kinds(self, checksums: bool) -> Sequence[str]:
        """The kinds of damage that a file gets."""
        if self.unprotected:
            return ["unprotected"] if checksums else []
        return KINDS


def examine(group: Sequence[Specimen], extent: Extent, report: Connection) -> None:
    """Read every mutation of some files; runs in a process of its own."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    limit_memory()
    for specimen in group:
        examine_file(specimen, extent, report)
    report.send(("peak", peak_memory()))


def examine_file(specimen: Specimen, extent: Extent, report: Connection) -> None:
    """Read every mutation of a file.

    Tells where it is before it goes on: if the process dies, that is what killed it.
    """
    report.send(("at", f"{specimen.name}: opened"))
    expected = specimen.contents()
    fields = [] if expected is None else specimen.fields()
    checksums = any(field.name.endswith("checksum") for field in fields) and not any(
        field.name.endswith(": content") for field in fields
    )
    # Only a file in which a checksum covers every byte has no findings at all.
    guarded = bool(fields) and not pymosaic.verify(specimen.data, use_threads=False)
    for kind in () if extent.guarded and not guarded else extent.kinds(checksums):
        counts: Counter[str] = Counter()
        by_field: dict[str, Counter[str]] = {}
        if kind == "unprotected":
            made = unprotected_flips(specimen, fields)
        else:
            made = sampled(specimen, kind, extent.seed, extent.sample)
        for number, mutation in enumerate(made):
            field = field_at(fields, mutation.offset)
            in_block = field is not None and field.in_block
            case = Case(
                mutation,
                expected,
                under_checksum=checksums and in_block,
                by_column=checksums and field is not None and not in_block,
                verified=extent.sample is not None or number % VERIFIED_EVERY == 0,
                guarded=guarded,
            )
            if number % 1000 == 0:
                report.send(("at", f"{specimen.name}: {kind}, {number} and on"))
            signal.setitimer(signal.ITIMER_REAL, ALARM_SECONDS)
            outcome: str
            try:
                outcome = judge(case)
            except Exception as error:
                outcome = "violation"
                what = f"{specimen.name}: {mutation.kind}, {mutation.what}"
                report.send(("violation", f"{what}: {type(error).__name__}: {error}"))
            signal.setitimer(signal.ITIMER_REAL, 0)
            counts[f"{mutation.kind}: {outcome}"] += 1
            if mutation.kind == "bit flipped" and checksums and field is not None:
                by_field.setdefault(field.name, Counter())[outcome] += 1
        report.send(("done", dict(counts), {k: dict(v) for k, v in by_field.items()}))
    report.send(("file", specimen.name))


def unprotected_flips(specimen: Specimen, fields: list[Field]) -> Iterator[Mutation]:
    """Every bit outside of blocks."""
    for field in fields:
        if not field.in_block:
            for position in range(8 * field.start, 8 * field.stop):
                yield mutations.flip(specimen.data, position)


def field_at(fields: list[Field], offset: int | None) -> Field | None:
    """The field that a byte belongs to."""
    if offset is None:
        return None
    low, high = 0, len(fields)
    while low < high:
        middle = (low + high) // 2
        if fields[middle].stop <= offset:
            low = middle + 1
        else:
            high = middle
    return fields[low] if low < len(fields) else None


def limit_memory() -> None:
    """Cap the address space at what is mapped now and MEMORY_CAP."""
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        # The address sanitizer maps terabytes of shadow memory for itself.
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    cap = pages * resource.getpagesize() + MEMORY_CAP
    resource.setrlimit(resource.RLIMIT_AS, (cap, cap))


class Summary:
    """What was counted so far."""

    def __init__(self) -> None:
        self.files = 0
        self.inputs = 0
        self.outcomes: Counter[str] = Counter()
        self.by_field: dict[str, Counter[str]] = {}
        self.violations: list[str] = []
        self.peak = 0
        self.at = "start"
        self.started = time.time()

    def add(self, message: tuple[Any, ...]) -> None:
        """Take in what a process reports."""
        kind = message[0]
        if kind == "at":
            self.at = message[1]
        elif kind == "violation":
            self.violations.append(message[1])
        elif kind == "file":
            self.files += 1
        elif kind == "peak":
            self.peak = max(self.peak, message[1])
        else:
            self.outcomes.update(message[1])
            self.inputs += sum(message[1].values())
            for name, counts in message[2].items():
                self.by_field.setdefault(name, Counter()).update(counts)

    def ended(self, exit_code: int) -> None:
        """Take in how a process ended: negative is the signal that killed it."""
        if exit_code:
            self.violations.append(f"{self.at}: the process ended with {exit_code}")

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "files": self.files,
            "inputs": self.inputs,
            "seconds": round(time.time() - self.started),
            "peak_bytes": self.peak,
            "outcomes": dict(sorted(self.outcomes.items())),
            "flips_by_field": {
                k: dict(sorted(v.items())) for k, v in sorted(self.by_field.items())
            },
            "violations": self.violations,
        }


def run(extent: Extent, keep: Path | None) -> Summary:
    """Examine every file, some in each process."""
    summary = Summary()
    # Forked, so that a process costs no imports; this one has no threads.
    context = multiprocessing.get_context("fork")
    corpus = specimens()
    for start in range(0, len(corpus), FILES_PER_PROCESS):
        receiver, sender = context.Pipe(duplex=False)
        group = corpus[start : start + FILES_PER_PROCESS]
        process = context.Process(target=examine, args=(group, extent, sender))
        process.start()
        sender.close()
        try:
            while True:
                summary.add(receiver.recv())
                if keep is not None and summary.files:
                    keep.write_text(json.dumps(summary.as_dict(), indent=1))
        except EOFError:
            process.join()
        summary.ended(process.exitcode or 0)
    if keep is not None:
        keep.write_text(json.dumps(summary.as_dict(), indent=1))
    return summary


def main(arguments: list[str]) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.corruption.matrix")
    parser.add_argument("--sample", type=int, help="inputs of each kind and file; all by default")
    parser.add_argument("--unprotected", action="store_true", help="bits without a checksum")
    parser.add_argument("--guarded", action="store_true", help="files with checksums everywhere")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where to keep the counts")
    options = parser.parse_args(arguments)
    extent = Extent(options.seed, options.sample, options.unprotected, options.guarded)
    summary = run(extent, options.json)
    sys.stdout.write(json.dumps(summary.as_dict(), indent=1) + "\n")
    return 1 if summary.violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
