"""What the commands on Spark share: their options, and running a job in a session of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pymosaic.cli.output import Output

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = [
    "Master",
    "Mode",
    "Options",
    "PartitionBy",
    "Partitions",
    "ReadOptions",
    "ReportFile",
    "Settings",
    "Source",
    "SourceFormat",
    "Target",
    "named_tables",
    "run_job",
    "split_names",
    "split_pairs",
    "storage_options",
]

Master: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where tasks run; by default as spark-submit or Spark's defaults say, else local[*].",
    ),
]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's; may be given again."),
]
ReportFile: TypeAlias = Annotated[
    str | None, typer.Option("--report", metavar="FILE", help="Write the report there, as JSON.")
]
Options: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "-O",
        "--option",
        metavar="KEY=VALUE",
        help="Of the writer: compressionLevel=9; of the storage: storage.region=eu-west-1.",
    ),
]
SourceFormat: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Of the source: parquet, csv, json, orc, avro, mosaic, table; by default its "
        "extension tells.",
    ),
]
ReadOptions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--read-option", metavar="KEY=VALUE", help="Of the reader; may be given again."),
]
Mode: TypeAlias = Annotated[
    str, typer.Option(metavar="MODE", help="If there are files: error, append, overwrite, ignore.")
]
PartitionBy: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Columns that become directories, with commas between."),
]
Partitions: TypeAlias = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Tasks that write.")
]
Source: TypeAlias = Annotated[str, typer.Argument(metavar="SOURCE")]
Target: TypeAlias = Annotated[str, typer.Argument(metavar="DIRECTORY")]


def run_job(
    output: Output,
    job: Callable[[Any, Any], JobReport],
    name: str,
    master: str | None,
    settings: list[str] | None,
    report_file: str | None,
) -> JobReport:
    """Run a job in a session of its own, and show what came out."""
    from pymosaic.cli.progress import progress_bar

    chosen = split_pairs(settings)
    try:
        from pymosaic.spark.jobs.session import open_session
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pandas", "pyspark"):
            raise
        raise typer.BadParameter(
            f"jobs need {error.name}, which is not installed: pip install pandas 'pyspark>=4.0'"
        ) from None
    spark = open_session(master, chosen)
    try:
        with progress_bar(name) as progress:
            report = job(spark, progress)
    finally:
        spark.stop()
    if report_file is not None:
        from pymosaic.dataset.storage import open_storage

        directory, _, file_name = report_file.rpartition("/")
        open_storage(directory or ".").write(file_name, f"{report.to_json()}\n".encode())
    output.answer(_text(report), report.facts())
    return report


def _text(report: JobReport) -> str:
    """The summary, and under it what verification found."""
    lines = [report.summary()]
    lines += [f"{x.path}: {x.finding}" for x in getattr(report, "findings", ())]
    lines += [str(difference) for difference in getattr(report, "differences", ())]
    return "\n".join(lines)


def split_names(text: str | None) -> list[str] | None:
    """Comma-separated names as a list."""
    if text is None:
        return None
    return [name for name in (part.strip() for part in text.split(",")) if name]


def split_pairs(texts: list[str] | None) -> dict[str, str]:
    """``KEY=VALUE`` texts as a dictionary."""
    pairs = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"{text!r} must be KEY=VALUE")
        pairs[key.strip()] = value
    return pairs


def storage_options(texts: list[str] | None) -> dict[str, str]:
    """The options of the storage, for jobs that have no others."""
    pairs = split_pairs(texts)
    for key in pairs:
        if not key.lower().startswith("storage."):
            raise typer.BadParameter(f"{key!r} is no option of this job: only storage.* are")
    return {key.lower().removeprefix("storage."): value for key, value in pairs.items()}


def named_tables(texts: list[str]) -> dict[str, Any] | list[str]:
    """Tables by their names, if they are given any."""
    named = [text.partition("=") for text in texts]
    if all(equals and name.isidentifier() for name, equals, _ in named):
        return {name: path for name, _, path in named}
    return texts
