"""Fuzz pymosaic and print the figures as JSON: ``make fuzz``, or ``python -m tests.fuzz --help``.

Guided runs go through atheris in processes of some ten thousand executions each, so that memory
that grows, or a process that dies, costs little; inputs that reached something new are kept for the
next process. The first finding ends the run; its input stays in ``findings``, and
``python -m tests.fuzz --replay FILE`` shows it again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.figures import show, tell
from tests.fuzz import plain
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS

_LARGEST_INPUT = {"open": 20_480, "read": 20_480, "write": 1_024, "annex": 8_192, "lance": 20_480}
_SECONDS_PER_INPUT = 30
_MEMORY_MIB = 3_000


def main() -> int:
    arguments = _parse_arguments()
    if arguments.replay is not None:
        name = arguments.replay.name.partition("-")[0]
        show({"target": name, "outcome": TARGETS[name](arguments.replay.read_bytes())})
        return 0
    findings = arguments.work / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    figures = {}
    for target in arguments.target:
        run = _run_plain if arguments.plain else _run_guided
        figures[target] = run(target, arguments, findings)
        if figures[target]["findings"]:
            break
    show({"seed": arguments.seed, "targets": figures})
    return int(any(each["findings"] for each in figures.values()))


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz pymosaic.")
    parser.add_argument("--target", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--runs", type=int, default=20_000, help="executions for each target")
    parser.add_argument("--chunk", type=int, default=25_000, help="executions for each process")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true", help="without atheris and coverage")
    parser.add_argument("--work", type=Path, default=Path("build/fuzz"), help="corpus and findings")
    parser.add_argument(
        "--kernels", type=Path, metavar="DIR", help="where `make fuzz` built kernels with coverage"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run one finding, TARGET-...")
    return parser.parse_args()


def _run_plain(target: str, arguments: argparse.Namespace, findings: Path) -> dict[str, object]:
    def keep(data: bytes) -> Path:
        path = findings / f"{target}-{hashlib.sha256(data).hexdigest()[:16]}"
        path.write_bytes(data)
        return path

    begin = time.monotonic()
    counts = plain.run(target, arguments.seed, arguments.runs, keep)
    return {
        "executions": counts.total(),
        **counts,
        "findings": 0,
        "seconds": round(time.monotonic() - begin, 1),
    }


def _run_guided(target: str, arguments: argparse.Namespace, findings: Path) -> dict[str, object]:
    corpus = arguments.work / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    for data in seeds(target):
        (corpus / f"seed-{hashlib.sha256(data).hexdigest()[:16]}").write_bytes(data)
    counts: Counter[str] = Counter()
    begin = time.monotonic()
    seed = arguments.seed
    covers_kernels = False
    while counts["executions"] < arguments.runs and not counts["findings"]:
        runs = min(arguments.chunk, arguments.runs - counts["executions"])
        chunk = _run_chunk(target, seed, runs, corpus, findings, arguments.kernels)
        covers_kernels = bool(chunk.pop("kernels", False))
        counts.update(chunk)
        seed += 1
        done, speed = counts["executions"], counts["executions"] / (time.monotonic() - begin)
        tell(f"{target}: {done} executions, {speed:.0f} per second")
    return {
        **{name: counts[name] for name in ("executions", "accepted", "refused", "findings")},
        "seconds": round(time.monotonic() - begin, 1),
        "corpus": sum(1 for _ in corpus.iterdir()),
        "kernel_coverage": covers_kernels,
    }


def _run_chunk(
    target: str, seed: int, runs: int, corpus: Path, findings: Path, kernels: Path | None
) -> dict[str, int]:
    """One process of guided fuzzing; a process that died is a finding whatever it died of."""
    counts_path = findings.parent / f"counts-{target}.json"
    counts_path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.fuzz.guided", target, str(counts_path)]
    options = [
        f"-runs={runs}",
        f"-seed={seed}",
        f"-max_len={_LARGEST_INPUT[target]}",
        f"-timeout={_SECONDS_PER_INPUT}",
        f"-rss_limit_mb={_MEMORY_MIB}",
        f"-artifact_prefix={findings}/{target}-",
        str(corpus),
    ]
    environment = dict(os.environ)
    if kernels is not None:
        environment["PYTHONPATH"] = str(kernels.resolve() / "lib")
        environment["PYMOSAIC_COVERAGE_LIBRARY"] = str(kernels.resolve() / "coverage.so")
    log = findings.parent / f"log-{target}.txt"
    with log.open("wb") as output:
        done = subprocess.run(
            [*command, *options], stdout=output, stderr=output, env=environment, check=False
        )
    counts: dict[str, int] = json.loads(counts_path.read_text()) if counts_path.exists() else {}
    if done.returncode != 0 or not counts.get("executions"):
        tell(log.read_text(errors="replace")[-4000:])
        counts["findings"] = 1
    return counts


if __name__ == "__main__":
    sys.exit(main())
