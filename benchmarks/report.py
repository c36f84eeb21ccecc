"""Results as text, Markdown and JSON. Tables are lists of rows; nothing here measures."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cases import FLOORS
from benchmarks.data import table_specs
from benchmarks.goals import Outcome
from benchmarks.measure import Measurement, Measurements
from benchmarks.profiles import PROFILES

__all__ = [
    "TITLES",
    "Report",
    "Rows",
    "as_markdown",
    "as_text",
    "format_value",
    "markdown_table",
    "plain_table",
    "replace_block",
    "run_facts",
]

TITLES = {
    "pymosaic": "pymosaic",
    "paimon": "paimon-mosaic",
    "parquet": "Parquet",
    "feather": "Feather",
    "orc": "ORC",
    "lance": "Lance",
    "vortex": "Vortex",
    **FLOORS,
}

Rows = list[list[str]]


def format_value(value: float, metric: str) -> str:
    """A number with its unit, to about three digits."""
    if metric == "ranges":
        return f"{value:,.0f}"
    steps = (
        ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
        if metric == "seconds"
        else ((1e6, "MB"), (1e3, "kB"), (1.0, "B"))
    )
    scale, unit = next((step for step in steps if abs(value) >= step[0]), steps[-1])
    scaled = value / scale
    digits = 0 if scaled >= 100 else 1 if scaled >= 10 else 2
    return f"{scaled:.{digits}f} {unit}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.0f}x" if ratio >= 20 else f"{ratio:.1f}x" if ratio >= 2 else f"{ratio:.2f}x"


class Report:
    """A run's results.

    Parameters
    ----------
    run : dict
        Profile, machine, versions, duration and other facts, as plain values.
    measurements : Measurements
        What was measured.
    goals : list of Outcome
        The goals and whether they were met.
    """

    def __init__(
        self, run: dict[str, Any], measurements: Measurements, goals: Sequence[Outcome]
    ) -> None:
        self.run = run
        self.measurements = measurements
        self.goals = list(goals)

    def save(self, path: Path) -> None:
        """Write everything as JSON."""
        content = {
            "run": self.run,
            "goals": [goal.as_json() for goal in self.goals],
            "measurements": self.measurements.as_json(),
        }
        path.write_text(json.dumps(content, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Report:
        """Read what :meth:`save` wrote."""
        content = json.loads(path.read_text())
        measurements = Measurements()
        measurements.restore(content["measurements"])
        return cls(content["run"], measurements, [Outcome(**goal) for goal in content["goals"]])

    def peers(self) -> list[str]:
        """Peers of the run in the order of the reports, without the floors."""
        known = self.measurements.peers()
        return [peer for peer in TITLES if peer in known and peer not in FLOORS]

    def title(self, table: str) -> str:
        """What a table holds."""
        return table_specs(PROFILES[self.run["profile"]])[table].title

    def table_rows(self, table: str) -> Rows:
        """A line per case, a column per peer, with each peer's ratio to ours; then notes."""
        peers = self.peers()
        floors = [
            name
            for name in FLOORS
            if any(
                self.measurements.get(table, case, name) for case in self.measurements.cases(table)
            )
        ]
        rows = [["", *(TITLES[peer] for peer in [*peers, *floors])]]
        for case in self.measurements.cases(table):
            cells = [case]
            for peer in [*peers, *floors]:
                item = self.measurements.get(table, case, peer)
                cells.append(self._cell(item, show_ratio=peer not in ("pymosaic", *FLOORS)))
            rows.append(cells)
        return rows

    def _cell(self, item: Measurement | None, show_ratio: bool) -> str:
        if item is None or item.value is None:
            return "–"
        text = format_value(item.value, item.metric)
        ratio = self.measurements.ratio(item.table, item.case, item.peer)
        return f"{text} ({_ratio(ratio)})" if show_ratio and ratio is not None else text

    def notes(self, table: str) -> list[str]:
        """Why some peers have no number."""
        reasons: dict[str, list[str]] = {}
        for item in self.measurements:
            if item.table == table and item.note:
                peers = reasons.setdefault(item.note, [])
                title = TITLES[item.peer]
                if title not in peers:
                    peers.append(title)
        return [f"{', '.join(peers)}: {reason}" for reason, peers in reasons.items()]

    def goal_rows(self, missed_only: bool = False) -> Rows:
        """A line per goal."""
        rows = [["table", "work", "against", "goal", "measured", "met"]]
        for goal in self.goals:
            if missed_only and goal.met:
                continue
            against = TITLES.get(goal.against, goal.against)
            met = "yes" if goal.met else "NO"
            rows.append([goal.table, goal.work, against, goal.goal, goal.measured, met])
        return rows

    def facts(self) -> list[str]:
        """Machine, versions and how the run was made."""
        return run_facts(self.run)


def run_facts(run: dict[str, Any]) -> list[str]:
    """Machine, versions and how a run was made."""
    machine = ", ".join(f"{key}: {value}" for key, value in run["machine"].items())
    versions = ", ".join(f"{key} {value}" for key, value in run["versions"].items())
    return [
        f"Machine: {machine}.",
        f"Versions: {versions}.",
        f"Profile {run['profile']}, {run['date']}, {run['seconds'] / 60:.1f} minutes.",
    ]


def _render(report: Report, heading: str, table: Callable[[Rows], str], sections: list[str]) -> str:
    # Losses first: they are what a reader should know before the rest.
    missed = sum(not goal.met for goal in report.goals)
    if report.goals:
        sections.append(f"{heading} Missed goals: {missed} of {len(report.goals)}")
    if missed:
        sections.append(table(report.goal_rows(missed_only=True)))
    for name in report.measurements.tables():
        sections += [f"{heading} {name}: {report.title(name)}", table(report.table_rows(name))]
        notes = report.notes(name)
        if notes:
            sections.append("– " + "; ".join(notes) + ".")
    if report.goals:
        sections += [f"{heading} All goals", table(report.goal_rows())]
    return "\n\n".join(sections) + "\n"


def plain_table(rows: Rows) -> str:
    """Rows as aligned text; the first is the heading."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown_table(rows: Rows) -> str:
    """Rows as a Markdown table; the first is the heading."""
    head, *body = (" | ".join(row) for row in rows)
    rule = " | ".join(["---", *["---:"] * (len(rows[0]) - 1)])
    return "\n".join(f"| {line} |" for line in [head, rule, *body])


def as_text(report: Report) -> str:
    """The report for a terminal."""
    return _render(report, "==", plain_table, ["\n".join(report.facts())])


def as_markdown(report: Report) -> str:
    """The report for the documentation."""
    facts = "\n".join(f"- {fact}" for fact in report.facts())
    return _render(report, "###", markdown_table, [facts])


def replace_block(path: Path, name: str, text: str) -> None:
    """Replace the text between the markers ``<!-- name -->`` and ``<!-- /name -->``."""
    before, start, rest = path.read_text().partition(f"<!-- {name} -->")
    _, end, after = rest.partition(f"<!-- /{name} -->")
    if not start or not end:
        raise ValueError(f"{path} has no block <!-- {name} -->")
    path.write_text(f"{before}{start}\n\n{text.strip()}\n\n{end}{after}")
