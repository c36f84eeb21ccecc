"""Shared by the Spark commands: their options, and running a job in a session of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import click

from pymosaic.cli.options import parameter, reporting, set_signature
from pymosaic.cli.output import Output
from pymosaic.cli.parameters import Named, Positional

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = [
    "Job",
    "ReadOptions",
    "Source",
    "SourceFormat",
    "Target",
    "job_command",
    "named_tables",
    "split_names",
    "split_pairs",
    "writing_command",
]

_Master: TypeAlias = Annotated[
    str | None,
    Named(
        metavar="URL",
        help="Spark master; by default that of spark-submit or of Spark's defaults, or local[*].",
    ),
]
_Settings: TypeAlias = Annotated[
    list[str] | None,
    Named("--conf", metavar="KEY=VALUE", help="A Spark setting; repeatable."),
]
_ReportFile: TypeAlias = Annotated[
    str | None,
    Named("--report", metavar="FILE", help="Write the report to this file as JSON."),
]
_Options: TypeAlias = Annotated[
    list[str] | None,
    Named(
        "-O",
        "--option",
        metavar="KEY=VALUE",
        help="A writer option (compressionLevel=9) or storage option (storage.region=eu-west-1); "
        "repeatable.",
    ),
]
SourceFormat: TypeAlias = Annotated[
    str | None,
    Named(
        "--format",
        metavar="NAME",
        help="Format of the source: parquet, csv, json, orc, avro, mosaic or table; by default "
        "taken from its extension.",
    ),
]
ReadOptions: TypeAlias = Annotated[
    list[str] | None,
    Named("--read-option", metavar="KEY=VALUE", help="An option of the reader; repeatable."),
]
_Mode: TypeAlias = Annotated[
    str,
    Named(metavar="MODE", help="If the target has files: error, append, overwrite or ignore."),
]
_PartitionBy: TypeAlias = Annotated[
    str | None,
    Named(metavar="NAMES", help="Columns that become directories, comma-separated."),
]
_Partitions: TypeAlias = Annotated[
    int | None, Named(min=1, metavar="N", help="Number of tasks that write.")
]
Source: TypeAlias = Annotated[str, Positional("SOURCE")]
Target: TypeAlias = Annotated[str, Positional("DIRECTORY")]


def job_command(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """A command that runs a job; its first parameter is a Job, made from the options added here."""
    return _taking(function, _JOB_OPTIONS)


def writing_command(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """A command for a job that reads tables and writes a dataset."""
    return _taking(function, _WRITING_OPTIONS + _JOB_OPTIONS)


_WRITING_OPTIONS = [
    parameter("source_format", SourceFormat, None),
    parameter("read_option", ReadOptions, None),
    parameter("mode", _Mode, "error"),
    parameter("partition_by", _PartitionBy, None),
    parameter("partitions", _Partitions, None),
]
_JOB_OPTIONS = [
    parameter("option", _Options, None),
    parameter("master", _Master, None),
    parameter("conf", _Settings, None),
    parameter("report", _ReportFile, None),
]


def _taking(
    function: Callable[..., int | None], added: list[inspect.Parameter]
) -> Callable[..., int | None]:
    signature = inspect.signature(function, eval_str=True)
    first, *own = signature.parameters.values()
    name = function.__module__.rpartition(".")[2]

    def run(output: Output, **arguments: Any) -> int | None:
        given = {option.name: arguments.pop(option.name) for option in added}
        return function(**{first.name: Job(output, name, given)}, **arguments)

    run.__doc__ = function.__doc__
    set_signature(run, [parameter("output", Output, None), *own, *added])
    return reporting(run)


class Job:
    """A job to run, with the options that all jobs have.

    Attributes
    ----------
    options : dict of str to str
        The values of ``--option``.
    """

    def __init__(self, output: Output, name: str, given: dict[str, Any]) -> None:
        self._output = output
        self._name = name
        self._given = given
        self.options: dict[str, str] = split_pairs(given["option"])

    @property
    def writing(self) -> dict[str, Any]:
        """Keyword arguments of a job that reads tables and writes a dataset."""
        given = self._given
        return {
            "format": given["source_format"],
            "read_options": split_pairs(given["read_option"]),
            "mode": given["mode"],
            "partition_by": split_names(given["partition_by"]),
            "partitions": given["partitions"],
            **self.options,
        }

    def storage_options(self) -> dict[str, str]:
        """The storage options, for jobs that have no others."""
        for key in self.options:
            if not key.lower().startswith("storage."):
                raise click.BadParameter(
                    f"this job has no option {key!r}: only storage.* are valid"
                )
        return {key.lower().removeprefix("storage."): value for key, value in self.options.items()}

    def run(self, job: Callable[[Any, Any], JobReport]) -> JobReport:
        """Run a function of session and progress, and show what it reports."""
        from pymosaic.cli.progress import progress_bar

        spark = _open_session(self._given["master"], split_pairs(self._given["conf"]))
        try:
            with progress_bar(self._name) as progress:
                report = job(spark, progress)
        finally:
            spark.stop()
        if self._given["report"] is not None:
            from pymosaic.io import open_directory

            directory, _, file_name = self._given["report"].rpartition("/")
            open_directory(directory or ".").write(file_name, f"{report.to_json()}\n".encode())
        self._output.answer(_text(report), report.facts())
        return report


def _open_session(master: str | None, settings: dict[str, str]) -> Any:
    try:
        from pymosaic.spark.jobs.session import open_session
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pandas", "pyspark"):
            raise
        raise click.BadParameter(
            f"Spark jobs need {error.name}, which is not installed: "
            "pip install 'pymosaic-format[spark]'"
        ) from None
    return open_session(master, settings)


def _text(report: JobReport) -> str:
    """The summary, followed by the findings of a verification."""
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
            raise click.BadParameter(f"{text!r} must be KEY=VALUE")
        pairs[key.strip()] = value
    return pairs


def named_tables(texts: list[str]) -> dict[str, Any] | list[str]:
    """Tables, with the names given as ``NAME=TABLE``."""
    named = [text.partition("=") for text in texts]
    if all(equals and name.isidentifier() for name, equals, _ in named):
        return {name: path for name, _, path in named}
    return texts
