"""The command line of the suite: ``python -m benchmarks --help``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.buckets import bucket_tables, run_buckets
from benchmarks.cases import CASES
from benchmarks.compaction import compaction_tables, run_compaction
from benchmarks.environment import machine, versions
from benchmarks.goals import outcomes
from benchmarks.peers import PEERS
from benchmarks.plots import draw_buckets, draw_report, draw_row_groups
from benchmarks.profiles import FULL, PROFILES, Profile
from benchmarks.report import (
    Report,
    Rows,
    as_markdown,
    as_text,
    markdown_table,
    plain_table,
    replace_block,
    run_facts,
)
from benchmarks.row_groups import row_group_tables, run_row_groups
from benchmarks.studies import save_samples
from benchmarks.training import run_training, training_tables
from benchmarks.workspace import Workspace

__all__ = ["main", "run_suite"]

_STARTED = time.perf_counter()
_ROOT = Path(__file__).parent.parent
_DOCS = _ROOT / "docs"
# Not part of a plain run: how each is measured, tabulated and drawn.
_STUDIES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any] | None]] = {
    "buckets": (run_buckets, bucket_tables, draw_buckets),
    "row-groups": (run_row_groups, row_group_tables, draw_row_groups),
    "compaction": (run_compaction, compaction_tables, None),
    "training": (run_training, training_tables, None),
}


def _parser() -> argparse.ArgumentParser:
    cases = "; ".join(f"{name}: {case.__doc__}" for name, case in CASES.items())
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--cases",
        nargs="+",
        choices=[*CASES, *_STUDIES],
        metavar="CASE",
        help=f"run only these ({cases}), or studies, which are not part of a plain run: "
        f"{', '.join(_STUDIES)}",
    )
    parser.add_argument(
        "--peers",
        nargs="+",
        choices=PEERS,
        metavar="PEER",
        help=f"run only these: {', '.join(PEERS)}",
    )
    parser.add_argument("--profile", choices=PROFILES, default=FULL.name, help="size of the run")
    parser.add_argument(
        "--quick", action="store_const", const="quick", dest="profile", help="--profile quick"
    )
    parser.add_argument("--rounds", type=int, help="maximum number of samples per measurement")
    parser.add_argument(
        "--output",
        type=Path,
        default=_ROOT / "build" / "benchmarks",
        help="directory for results and pictures",
    )
    parser.add_argument("--directory", type=Path, help="temporary directory for the measured files")
    parser.add_argument(
        "--docs", action="store_true", help="also update the results and pictures in docs/"
    )
    return parser


def _log(line: str) -> None:
    """Print a step of the run, with the seconds since it started."""
    print(f"[{time.perf_counter() - _STARTED:4.0f} s] {line}", file=sys.stderr, flush=True)


def _facts(profile: Profile, started: float) -> dict[str, Any]:
    return {
        "profile": profile.name,
        "main_table": f"strings-{profile.main_rows}",
        "date": datetime.now(UTC).date().isoformat(),
        "seconds": round(time.perf_counter() - started, 1),
        "machine": machine(),
        "versions": versions(),
    }


def run_suite(
    profile: Profile, cases: Sequence[str], peers: Sequence[str], directory: Path
) -> Report:
    """Run cases, and compare with the goals."""
    started = time.perf_counter()
    space = Workspace(profile, peers, directory, _log)
    for case in cases:
        CASES[case](space)
    goals = outcomes(profile, space.measurements)
    return Report(_facts(profile, started), space.measurements, goals)


def _publish(report: Report, output: Path, docs: bool) -> None:
    report.save(output / "results.json")
    (output / "results.md").write_text(as_markdown(report))
    draw_report(report, output)
    print(as_text(report))
    if docs:
        replace_block(_DOCS / "benchmarks.md", "results", as_markdown(report))
        caption = f"*{report.run['date']}. {' '.join(report.facts()[:2])}*"
        replace_block(_ROOT / "README.md", "chart", caption)
        draw_report(report, _DOCS / "images")


def _publish_study(
    name: str, run: dict[str, Any], tables: Mapping[str, Rows], draw: Callable[[Path], Path]
) -> None:
    """Insert a study of writer options into the guide."""
    parts = [f"### {shape}\n\n{markdown_table(rows)}" for shape, rows in tables.items()]
    facts = "\n".join(f"- {fact}" for fact in run_facts(run))
    replace_block(_DOCS / "guides" / "tuning.md", name, "\n\n".join([facts, *parts]))
    draw(_DOCS / "images")


def _run_studies(
    profile: Profile, names: Sequence[str], directory: Path, output: Path, docs: bool
) -> None:
    for name in names:
        started = time.perf_counter()
        measure, tabulate, draw = _STUDIES[name]
        samples = measure(profile, directory, _log)
        run = _facts(profile, started)
        save_samples(output / f"{name}.json", run, samples)
        tables = tabulate(samples)
        for shape, rows in tables.items():
            print(f"== {shape}\n\n{plain_table(rows)}\n")
        if draw is not None:
            draw(samples, output)
            if docs:
                _publish_study(name, run, tables, partial(draw, samples))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the selected cases."""
    options = _parser().parse_args(arguments)
    profile = PROFILES[options.profile]
    if options.rounds is not None:
        profile = replace(profile, max_rounds=options.rounds)
    peers = [name for name in PEERS if name in (options.peers or profile.peers or PEERS)]
    cases = [name for name in CASES if name in (options.cases or CASES)]
    options.output.mkdir(parents=True, exist_ok=True)
    if options.docs:
        (_DOCS / "images").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pymosaic-bench-", dir=options.directory) as temporary:
        if cases:
            report = run_suite(profile, cases, peers, Path(temporary))
            _publish(report, options.output, options.docs)
        studies = [name for name in _STUDIES if name in (options.cases or ())]
        _run_studies(profile, studies, Path(temporary), options.output, options.docs)
    _log(f"results are in {options.output}")


if __name__ == "__main__":
    main()
