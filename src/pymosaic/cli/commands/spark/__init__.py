"""``pymosaic spark …``: the jobs of :mod:`pymosaic.spark.jobs` as commands, one module each."""

from __future__ import annotations

import click

from pymosaic.cli.commands.spark import (
    add_columns,
    assemble,
    compact,
    convert,
    pivot,
    profile,
    verify,
)
from pymosaic.cli.parameters import make_group

__all__ = ["group"]

group: click.Group = make_group(
    "Run jobs on Spark: convert, pivot, compact and others.",
    [
        "pymosaic spark pivot long.parquet wide/ --entity id --feature name",
        "pymosaic spark compact s3://bucket/table --master spark://host:7077",
    ],
    [convert, pivot, assemble, compact, verify, profile, add_columns],
)
