"""``pymosaic tune``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.options import inspecting
from pymosaic.cli.output import Cell, Document, Field, Output
from pymosaic.cli.parameters import Named, Positional
from pymosaic.cli.writer_options import parse_bytes

if TYPE_CHECKING:
    from pymosaic.datasets.tune import Recommendation

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "FILE"
EXAMPLES = [
    "pymosaic tune data.mosaic -p id,price -p 'sensor_temp_*'",
    "pymosaic tune data.parquet --storage s3",
]

# Approximate seconds per request and bytes per second.
_STORAGE = {"disk": (0.0001, 2e9), "network": (0.0005, 500e6), "s3": (0.03, 100e6)}

_FIELDS = (
    Field("num_buckets", Cell.NUMBER, "buckets"),
    Field("page_size_threshold", Cell.BYTES, "pages from"),
    Field("compression_level", Cell.NUMBER, "level"),
    Field("file_bytes", Cell.BYTES, "file"),
    Field("read_bytes", Cell.BYTES, "read"),
    Field("read_requests", Cell.TEXT, "requests", text=lambda row: f"{row['read_requests']:.1f}"),
    Field("cost", Cell.TEXT, "ms", text=lambda row: f"{row['cost'] * 1e3:.2f}"),
    Field("write_seconds", on_terminal=False),
    Field("read_seconds", on_terminal=False),
    Field("best", text=lambda row: "best" if row["best"] else ""),
    Field("default", text=lambda row: "default" if row["default"] else ""),
)


@inspecting
def command(
    output: Output,
    sample: Annotated[str, Positional("FILE")],
    projections: Annotated[
        list[str] | None,
        Named(
            "-p",
            "--projection",
            metavar="NAMES",
            help="Columns that a query reads, names and patterns; repeat for each kind of query.",
        ),
    ] = None,
    storage: Annotated[
        str, Named(metavar="KIND", help="Where the files will be: disk, network or s3.")
    ] = "network",
    max_growth: Annotated[
        float,
        Named(metavar="X", help="How much larger than the smallest result a file may be."),
    ] = 1.5,
    max_sample_bytes: Annotated[
        int | None,
        Named(metavar="SIZE", parser=parse_bytes, help="Sample size in memory; default 256MiB."),
    ] = None,
) -> None:
    """Find writer options for a table: buckets, page size, level.

    A sample is written with many options, and read as the queries would read it.
    """
    from pymosaic.cli.progress import progress_bar
    from pymosaic.cli.rows import open_rows
    from pymosaic.datasets.tune import tune
    from pymosaic.errors import InvalidOptionError

    if storage not in _STORAGE:
        raise InvalidOptionError(f"--storage must be one of {', '.join(_STORAGE)}, got {storage!r}")
    latency, bandwidth = _STORAGE[storage]
    options = {} if max_sample_bytes is None else {"max_sample_bytes": max_sample_bytes}
    with open_rows([sample]) as rows, progress_bar("trying") as progress:
        wanted = [rows.names([entry]) for entry in projections or ()]
        recommendation = tune(
            rows.reader(),
            wanted or None,
            latency=latency,
            bandwidth=bandwidth,
            max_growth=max_growth,
            progress=progress,
            **options,
        )
    best = recommendation.best
    flags = (
        f"--num-buckets {best.num_buckets} --page-size-threshold {best.page_size_threshold} "
        f"--level {best.compression_level}"
    )
    facts = {"file": sample, "options": recommendation.options, "flags": flags}
    output.document(Document(flags, facts, "trials", _FIELDS, _trials(recommendation)))


def _trials(recommendation: Recommendation) -> Iterator[dict[str, Any]]:
    from dataclasses import asdict

    for trial in recommendation.trials:
        found = asdict(trial)
        found["best"] = trial == recommendation.best
        found["default"] = trial == recommendation.default
        yield {field.key: found[field.key] for field in _FIELDS}
