"""``pymosaic spark …``: the jobs of :mod:`pymosaic.spark.jobs` as commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pymosaic.cli.options import reporting
from pymosaic.cli.output import Output
from pymosaic.cli.writer_options import parse_bytes

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["group"]

group = typer.Typer(
    help="Run jobs on Spark: convert, pivot, assemble, compact, verify, profile.",
    epilog="""\b
Examples:
  pymosaic spark pivot long.parquet wide/ --entity id --feature name
  pymosaic spark compact s3://bucket/table --master spark://host:7077""",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

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
_Source: TypeAlias = Annotated[str, typer.Argument(metavar="SOURCE")]
_Target: TypeAlias = Annotated[str, typer.Argument(metavar="DIRECTORY")]


def _command(name: str, *examples: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    lines = "\n".join(f"  {line}" for line in examples)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        group.command(name, epilog=f"\b\nExamples:\n{lines}")(reporting(function))
        return function

    return register


@_command(
    "convert",
    "pymosaic spark convert events.parquet events/ --cluster-by user",
    "pymosaic spark convert events/ back/ --to parquet",
)
def _convert(
    output: Output,
    source: _Source,
    target: _Target,
    to: Annotated[str, typer.Option(metavar="NAME", help="Format of the target.")] = "mosaic",
    source_format: SourceFormat = None,
    read_option: ReadOptions = None,
    mode: Mode = "error",
    partition_by: PartitionBy = None,
    cluster_by: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Sort the whole by these columns.")
    ] = None,
    partitions: Partitions = None,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> None:
    """Convert whatever Spark reads to Mosaic, and back."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.converting import convert

        return convert(
            spark,
            source,
            target,
            format=source_format,
            read_options=_pairs(read_option),
            target_format=to,
            mode=mode,
            partition_by=_names(partition_by),
            cluster_by=_names(cluster_by),
            partitions=partitions,
            progress=progress,
            **_pairs(option),
        )

    _run(output, run, "convert", master, conf, report)


@_command(
    "pivot",
    "pymosaic spark pivot long.parquet wide/ --entity patient --feature test",
    "pymosaic spark pivot long/ wide/ --entity id,day --feature name \\",
    "    --values number,text --duplicates last --order-by at",
)
def _pivot(
    output: Output,
    source: _Source,
    target: _Target,
    entity: Annotated[
        str, typer.Option(metavar="NAMES", help="Columns that tell what a row is about.")
    ],
    feature: Annotated[str, typer.Option(metavar="NAME", help="The column of features' names.")],
    values: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Columns that hold values; all others by default."),
    ] = None,
    column_names: Annotated[
        str, typer.Option(metavar="TEXT", help="How columns are named: {feature}_{value}.")
    ] = "{feature}",
    duplicates: Annotated[
        str,
        typer.Option(
            metavar="POLICY",
            help="Of several values in a cell: error, first, last, min, max, sum, mean; or for "
            "each column of values: number=mean,text=last.",
        ),
    ] = "error",
    order_by: Annotated[
        str | None, typer.Option(metavar="NAMES", help="What first and last go by.")
    ] = None,
    source_format: SourceFormat = None,
    read_option: ReadOptions = None,
    mode: Mode = "error",
    partition_by: PartitionBy = None,
    partitions: Partitions = None,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> None:
    """Make one wide row of the long rows of each entity."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.pivoting import pivot

        return pivot(
            spark,
            source,
            target,
            entity=_names(entity) or (),
            feature=feature,
            values=_names(values),
            column_names=column_names,
            duplicates=_pairs(duplicates.split(",")) if "=" in duplicates else duplicates,
            order_by=_names(order_by),
            mode=mode,
            partition_by=_names(partition_by),
            partitions=partitions,
            format=source_format,
            read_options=_pairs(read_option),
            progress=progress,
            **_pairs(option),
        )

    _run(output, run, "pivot", master, conf, report)


@_command(
    "assemble",
    "pymosaic spark assemble wide/ people.parquet visits/ sums.csv --on id",
    "pymosaic spark assemble wide/ a=one/ b=two/ --on id \\",
    "    --column-names '{table}_{column}'",
)
def _assemble(
    output: Output,
    target: _Target,
    tables: Annotated[list[str], typer.Argument(metavar="[NAME=]TABLE...")],
    on: Annotated[str, typer.Option(metavar="NAMES", help="The key columns.")],
    how: Annotated[
        str,
        typer.Option(metavar="KIND", help="Keys of any table, all, the first: outer, inner, left."),
    ] = "outer",
    column_names: Annotated[
        str, typer.Option(metavar="TEXT", help="How columns are named: {table}_{column}.")
    ] = "{column}",
    source_format: SourceFormat = None,
    read_option: ReadOptions = None,
    mode: Mode = "error",
    partition_by: PartitionBy = None,
    partitions: Partitions = None,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> None:
    """Join many narrow tables on their keys into one wide table."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.assembling import assemble

        return assemble(
            spark,
            _tables(tables),
            target,
            on=_names(on) or (),
            how=how,
            column_names=column_names,
            mode=mode,
            partition_by=_names(partition_by),
            partitions=partitions,
            format=source_format,
            read_options=_pairs(read_option),
            progress=progress,
            **_pairs(option),
        )

    _run(output, run, "assemble", master, conf, report)


@_command("compact", "pymosaic spark compact s3://bucket/table --target-file-bytes 1GiB")
def _compact(
    output: Output,
    target: _Target,
    target_file_bytes: Annotated[
        int | None,
        typer.Option(metavar="SIZE", parser=parse_bytes, help="Of a file; 512MiB by default."),
    ] = None,
    min_row_group_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE", parser=parse_bytes, help="Smaller ones are written anew; 8MiB."
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every bucket before it is copied.")
    ] = False,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> None:
    """Make few large files of a dataset's many small ones, on executors."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.compacting import compact

        given = {
            "target_file_bytes": target_file_bytes,
            "min_row_group_bytes": min_row_group_bytes,
        }
        sizes = {name: size for name, size in given.items() if size is not None}
        options: dict[str, Any] = {**sizes, **_pairs(option)}
        return compact(spark, target, verify=verify, progress=progress, **options)

    _run(output, run, "compact", master, conf, report)


@_command(
    "verify",
    "pymosaic spark verify table/",
    "pymosaic spark verify table/ --source events.parquet --json",
)
def _verify(
    output: Output,
    target: _Target,
    source: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="What the dataset is to be equal to.")
    ] = None,
    source_format: SourceFormat = None,
    read_option: ReadOptions = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only what is around the data, not the data itself.")
    ] = False,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> int:
    """Verify all files at once, and compare them with their source.

    Exit code 0: nothing wrong; 1: damage or differences were found.
    """

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.verifying import verify

        return verify(
            spark,
            target,
            source=source,
            format=source_format,
            read_options=_pairs(read_option),
            deep=not quick,
            progress=progress,
            storage=_storage(option),
        )

    found: Any = _run(output, run, "verify", master, conf, report)
    return 0 if found.ok else 1


@_command("profile", "pymosaic spark profile table/ --to profile.parquet")
def _profile(
    output: Output,
    target: _Target,
    to: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The table of columns: .mosaic, .parquet or .json."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("-c", "--columns", metavar="NAMES", help="Names and globs.")
    ] = None,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> None:
    """Describe each column: nulls, range, distinct values, sizes, encodings."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.profiling import profile

        return profile(
            spark,
            target,
            output=to,
            columns=_names(columns),
            progress=progress,
            storage=_storage(option),
        )

    _run(output, run, "profile", master, conf, report)


def _run(
    output: Output,
    job: Callable[[Any, Any], JobReport],
    name: str,
    master: str | None,
    settings: list[str] | None,
    report_file: str | None,
) -> JobReport:
    """Run a job in a session of its own, and show what came out."""
    from pymosaic.cli.progress import progress_bar

    chosen = _pairs(settings)
    try:
        from pymosaic.spark.jobs.embedded import open_session
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


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [name for name in (part.strip() for part in text.split(",")) if name]


def _pairs(texts: list[str] | None) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise typer.BadParameter(f"{text!r} must be KEY=VALUE")
        pairs[key.strip()] = value
    return pairs


def _storage(texts: list[str] | None) -> dict[str, str]:
    """The options of the storage, for jobs that have no others."""
    pairs = _pairs(texts)
    for key in pairs:
        if not key.lower().startswith("storage."):
            raise typer.BadParameter(f"{key!r} is no option of this job: only storage.* are")
    return {key.lower().removeprefix("storage."): value for key, value in pairs.items()}


def _tables(texts: list[str]) -> dict[str, Any] | list[str]:
    """Tables by their names, if they are given any."""
    named = [text.partition("=") for text in texts]
    if all(equals and name.isidentifier() for name, equals, _ in named):
        return {name: path for name, _, path in named}
    return texts
