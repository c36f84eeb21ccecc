"""``pymosaic spark …``: the jobs of :mod:`pymosaic.spark.jobs` as commands, one module each."""

from __future__ import annotations

import typer

from pymosaic.cli.commands.spark import (
    add_columns,
    assemble,
    compact,
    convert,
    pivot,
    profile,
    verify,
)

__all__ = ["group"]

group: typer.Typer = typer.Typer(
    help="Run jobs on Spark: convert, pivot, compact and others.",
    epilog="""\b
Examples:
  pymosaic spark pivot long.parquet wide/ --entity id --feature name
  pymosaic spark compact s3://bucket/table --master spark://host:7077""",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _module in (convert, pivot, assemble, compact, verify, profile, add_columns):
    _name = _module.__name__.rpartition(".")[2].replace("_", "-")
    _examples = "\n".join(f"  {line}" for line in _module.EXAMPLES)
    group.command(_name, epilog=f"\b\nExamples:\n{_examples}")(_module.command)
