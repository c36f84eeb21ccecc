"""The guide's page of spellings, made from the table: ``python -m tests.spark.surface.page``."""

import re
from pathlib import Path

from tests.spark.surface.spellings import Spelling
from tests.spark.surface.table import KINDS
from tests.spark.versions import CAPABILITIES, VERSIONS

__all__ = ["PAGE", "page"]

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "spark-spellings.md"
INTRODUCTION = """\
# Spark, spelling by spelling

This page lists what you type for Parquet, with `mosaic` in its place. The tests run every line of
these tables for both formats, and compare rows, schema and what is left after a failure. The page is
made from the tests by `python -m tests.spark.surface.page`.

In these lines, `df` has the columns `id`, `k`, `name`, `value` and `day`; `path` is the target of a
write; `data` is an existing dataset, and `parts` another one, partitioned by `k`; `t` is a table, and
`f` is `pyspark.sql.functions`. The lines need a session that was prepared with
`pymosaic.spark.enable`; see [Mosaic in Spark](spark.md). If the last column is empty, Mosaic behaves
like Parquet.
"""


def page() -> str:
    """The text of the page."""
    parts = [INTRODUCTION]
    for kind, rows in KINDS.items():
        lines = ["| | spelling | |", "|---|---|---|"]
        lines += [f"| {row.does} | {_code(row.code)} | {_remark(row)} |" for row in rows]
        parts.append(f"## {kind}\n\n" + "\n".join(lines) + "\n")
    parts.append(_versions())
    return "\n".join(parts)


def _versions() -> str:
    names = [f"{major}.{minor}" for major, minor in VERSIONS]
    lines = [
        f"| | {' | '.join(names)} | before that |",
        "|---" * (len(names) + 2) + "|",
    ]
    for capability in CAPABILITIES.values():
        marks = ["yes" if capability.since <= version else "no" for version in VERSIONS]
        lines.append(f"| {capability.what} | {' | '.join(marks)} | {capability.before} |")
    return (
        "## Versions of Spark\n\n"
        "All tests run with 4.3; `make test-spark SPARK=4.1` runs them with another version. All of them were also "
        "run with 4.0, 4.1 and 4.2. These versions differ:\n\n" + "\n".join(lines) + "\n"
    )


def _code(code: str) -> str:
    """Code in a cell of a table, a span for each line."""
    return "<br>".join(_span(line) for line in _lines(code))


def _lines(code: str) -> list[str]:
    if code.split(maxsplit=1)[0].isupper():
        code = re.sub(r"\{(\w+)\}", r"\1", code)
        return [f"{statement.strip()};" for statement in code.split(";") if statement.strip()]
    return code.splitlines()


def _span(line: str) -> str:
    indent = "&nbsp;" * (len(line) - len(line.lstrip()))
    line = line.strip().replace("|", "\\|")
    return f"{indent}`` {line} ``" if "`" in line else f"{indent}`{line}`"


def _remark(row: Spelling) -> str:
    remarks = []
    if row.forbidden:
        remarks.append(f"Spark forbids it: “{row.forbidden}”.")
    elif row.only:
        remarks.append("Spark refuses it for Parquet.")
    elif row.refused:
        remarks.append("Refused; Parquet does it.")
    elif row.error:
        remarks.append("Refused.")
    if row.better:
        remarks.append(row.better)
    if row.note:
        remarks.append(row.note)
    if row.needs:
        major, minor = CAPABILITIES[row.needs].since
        remarks.append(f"Since Spark {major}.{minor}.")
    return " ".join(remarks)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
