"""The pictures of a report, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.buckets import BucketSample
from benchmarks.report import TITLES, Report
from benchmarks.row_groups import RowGroupSample

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_buckets", "draw_report", "draw_row_groups"]

# The same picture from the same numbers: no random ids, no date, text as text.
mpl.rcParams["svg.hashsalt"] = "pymosaic"
mpl.rcParams["svg.fonttype"] = "none"
mpl.rcParams["font.family"] = "sans-serif"
_COLOURS = {
    "pymosaic": "#d1495b",
    "paimon": "#edae49",
    "parquet": "#30638e",
    "feather": "#00798c",
    "orc": "#6b9080",
    "lance": "#7d5ba6",
    "vortex": "#8d99ae",
}
_SHAPE_COLOURS = ("#d1495b", "#edae49", "#30638e", "#00798c", "#7d5ba6", "#6b9080")


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return path


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, which="major", axis="both", alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)


def _bars(axes: Axes, report: Report, table: str, cases: Sequence[str], scale: float) -> None:
    """Groups of bars, a group per case; a peer without a number leaves its place empty."""
    peers = report.peers()
    width = 0.84 / max(1, len(peers))
    for place, peer in enumerate(peers):
        found = [report.measurements.value(table, case, peer) for case in cases]
        xs = [
            group - 0.42 + width * (place + 0.5)
            for group, value in enumerate(found)
            if value is not None
        ]
        heights = [value * scale for value in found if value is not None]
        axes.bar(xs, heights, width * 0.92, color=_COLOURS[peer], label=TITLES[peer])
    axes.set_xticks(range(len(cases)), [case.replace("open + ", "") for case in cases])
    axes.set_yscale("log")
    _tidy(axes)


def _draw_projection(report: Report, table: str, path: Path) -> Path | None:
    wanted = (
        "open + schema",
        "open + read 1 column",
        "open + read 10 neighbours",
        "open + read 10 random",
        "open + read all",
        "write",
    )
    cases = [case for case in wanted if case in report.measurements.cases(table)]
    if not cases:
        return None
    figure = Figure(figsize=(10, 4.2))
    axes = figure.add_subplot()
    _bars(axes, report, table, cases, 1e3)
    axes.set_ylabel("milliseconds (log scale, lower is better)")
    axes.set_title(report.title(table), fontsize=10)
    axes.legend(ncols=4, fontsize=8, frameon=False)
    return _save(figure, path)


def _draw_scaling(report: Report, path: Path) -> Path | None:
    tables = [name for name in report.measurements.tables() if name.startswith("doubles-")]
    cases = ("open + read 1 column", "open + read 10 random")
    drawn = [table for table in tables if report.measurements.value(table, cases[0], "pymosaic")]
    if len(drawn) < 2:
        return None
    figure = Figure(figsize=(10, 4.2))
    for place, case in enumerate(cases):
        axes = figure.add_subplot(1, 2, place + 1)
        for peer in report.peers():
            points = [
                (int(table.partition("-")[2]), value * 1e3)
                for table in drawn
                if (value := report.measurements.value(table, case, peer)) is not None
            ]
            axes.plot(*zip(*points, strict=True), "o-", color=_COLOURS[peer], label=TITLES[peer])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("columns in the file (8 rows of doubles)")
        axes.set_ylabel("milliseconds")
        axes.set_title(case, fontsize=10)
        _tidy(axes)
    figure.axes[0].legend(fontsize=8, frameon=False)
    return _save(figure, path)


def _draw_sizes(report: Report, path: Path) -> Path | None:
    case = "file size"
    tables = [
        name
        for name in report.measurements.tables()
        if (name.startswith("strings") and "level" not in name) or name == "sparse"
        if report.measurements.value(name, case, "pymosaic")
    ]
    if not tables:
        return None
    figure = Figure(figsize=(10, 3.6))
    for place, table in enumerate(tables):
        axes = figure.add_subplot(1, len(tables), place + 1)
        for number, peer in enumerate(report.peers()):
            value = report.measurements.value(table, case, peer)
            if value is not None:
                axes.bar(number, value / 1e6, color=_COLOURS[peer], label=TITLES[peer])
        axes.set_xticks([])
        axes.set_title(table, fontsize=10)
        axes.set_ylabel("MB" if place == 0 else "")
        _tidy(axes)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=7, fontsize=8, frameon=False, loc="lower center")
    return _save(figure, path)


def draw_report(report: Report, directory: Path) -> list[Path]:
    """Draw what the report has numbers for; returns the files."""
    main = report.run["main_table"]
    drawn = [
        _draw_projection(report, main, directory / "projection.svg"),
        _draw_scaling(report, directory / "scaling.svg"),
        _draw_sizes(report, directory / "sizes.svg"),
    ]
    return [path for path in drawn if path is not None]


def draw_buckets(samples: Sequence[BucketSample], directory: Path) -> Path:
    """Size, latency and scan time against the number of buckets, each relative to 100 buckets."""
    panels = {
        "file size": "file_bytes",
        "open + read 1 column": "one_seconds",
        "open + read 10 random": "ten_seconds",
        "open + read all": "scan_seconds",
    }
    figure = _draw_study(samples, panels, "num_buckets", 100)
    for axes in figure.axes:
        axes.set_xlabel("buckets")
    figure.axes[0].set_ylabel("relative to 100 buckets")
    return _save(figure, directory / "buckets.svg")


def draw_row_groups(samples: Sequence[RowGroupSample], directory: Path) -> Path:
    """Size, times and memory against the size of row groups, each relative to 256 MiB."""
    panels = {
        "file size": "file_bytes",
        "open + read 1 column": "one_seconds",
        "open + read all": "scan_seconds",
        "write": "write_seconds",
        "memory to write": "write_memory",
    }
    figure = _draw_study(samples, panels, "row_group_bytes", 256 << 20)
    sizes = sorted({sample.row_group_bytes for sample in samples})[::2]
    for axes in figure.axes:
        axes.set_xticks(sizes, [f"{size / (1 << 20):g}" for size in sizes])
        axes.set_xlabel("row_group_bytes, MiB")
    figure.axes[0].set_ylabel("relative to 256 MiB")
    return _save(figure, directory / "row-groups.svg")


def _draw_study(
    samples: Sequence[BucketSample] | Sequence[RowGroupSample],
    panels: Mapping[str, str],
    option: str,
    usual: int,
) -> Figure:
    """A panel for each field of the samples, against an option, relative to the usual option."""
    figure = Figure(figsize=(11, 4.2))
    shapes = list(dict.fromkeys(sample.shape for sample in samples))
    for place, (title, field) in enumerate(panels.items()):
        axes = figure.add_subplot(1, len(panels), place + 1)
        for shape, colour in zip(shapes, _SHAPE_COLOURS, strict=False):
            points = {
                int(getattr(sample, option)): float(getattr(sample, field))
                for sample in samples
                if sample.shape == shape
            }
            whole = points.get(usual, next(iter(points.values()))) or 1.0
            values = [value / whole for value in points.values()]
            axes.plot(list(points), values, "o-", color=colour, label=shape, markersize=3)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.axvline(usual, color="#999999", linewidth=0.8, linestyle=":")
        axes.set_title(title, fontsize=10)
        _tidy(axes)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=3, fontsize=8, frameon=False, loc="upper center")
    figure.subplots_adjust(wspace=0.35, top=0.76)
    return figure
