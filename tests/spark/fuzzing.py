"""Random queries, each over Mosaic and over a judge: ``python -m tests.spark.fuzzing --help``.

The judge is Spark itself, with the same rows in memory, or in Parquet files (which are read without
their filters: these lose NaN). A query that gives other rows is made as small as possible and shown
with its seed and settings.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from tests.spark.random_queries import DIMENSIONS, FACTS, PARTITIONS, Query, random_query

__all__ = ["Finding", "Tables", "find", "seeds"]

JUDGES = ("memory", "parquet")
ROWS = {"facts": 60, "dims": 6}
# Errors of single values, under ANSI rules: whether a plan meets the value is up to the plan.
OF_VALUES = ("OVERFLOW", "CAST_INVALID_INPUT", "DIVIDE_BY_ZERO", "CANNOT_PARSE", "OUT_OF_RANGE")


@dataclass(frozen=True, slots=True)
class Finding:
    """A query whose rows are not the judge's."""

    seed: str
    query: Query
    found: str

    def __str__(self) -> str:
        settings = "".join(f"SET {key}={value};\n" for key, value in self.query.settings)
        return f"query {self.seed}:\n{settings}{self.query.text}\n{self.found}"


class Tables:
    """The tables that queries read, as views of Mosaic's files and of the judge's rows."""

    def __init__(self, spark: SparkSession, directory: Path, judge: str = "memory") -> None:
        self.spark = spark
        self.names = ("mosaic", judge)
        chance = random.Random(17)
        frame = _frame(spark, chance, FACTS, ROWS["facts"])
        other = _frame(spark, chance, DIMENSIONS, ROWS["dims"])
        for name in self.names:
            for table, rows, keys in (("facts", frame, ("p", "q")), ("dims", other, ())):
                if name == "memory":
                    rows.createOrReplaceTempView(f"{table}_{name}")
                    continue
                path = str(directory / name / table)
                writer = rows.coalesce(1).write.format(name).mode("append")
                if name == "mosaic":
                    writer = writer.option("statistics", "true").option("rowGroupBytes", "1")
                if keys:
                    writer = writer.partitionBy(*keys)
                writer.save(path)
                spark.read.format(name).load(path).createOrReplaceTempView(f"{table}_{name}")

    def rows(self, query: Query, name: str) -> Counter[Any] | str:
        """The rows of a query as text, each with how often it is there; or the error."""
        text = query.text
        for table in ROWS:
            text = text.replace(table, f"{table}_{name}")
        try:
            frame = self.spark.sql(text)
            # As text: Python has no days after the year 9999, and no time zone for the first.
            named = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
            plain = named.select([f.col(name).cast("string") for name in named.columns])
            return Counter(map(tuple, plain.collect()))
        except Exception as error:  # compared like rows
            return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _frame(
    spark: SparkSession,
    chance: random.Random,
    columns: dict[str, tuple[str, tuple[str, ...]]],
    rows: int,
) -> Any:
    """Rows whose values are those that queries ask for, as far as their types allow."""
    lines = []
    for row in range(rows):
        values = []
        chosen = {"id": str(row)} | dict(zip(("p", "q"), chance.choice(PARTITIONS), strict=True))
        for name, (kind, choices) in columns.items():
            value = chosen.get(name) or chance.choice(choices)
            values.append(f"try_cast({value} AS {kind})")
        lines.append(f"({', '.join(values)})")
    return spark.sql(f"SELECT * FROM VALUES {', '.join(lines)} AS t({', '.join(columns)})")


def differs(tables: Tables, query: Query) -> str:
    """How the rows of a query differ from the judge's, or nothing."""
    before = {key: str(tables.spark.conf.get(key)) for key, _ in query.settings}
    try:
        for key, value in query.settings:
            tables.spark.conf.set(key, value)
        mosaic, judge = (tables.rows(query, name) for name in tables.names)
    finally:
        for key, value in before.items():
            tables.spark.conf.set(key, value)
    if mosaic == judge:
        return ""
    if isinstance(mosaic, str) or isinstance(judge, str):
        errors = [result for result in (mosaic, judge) if isinstance(result, str)]
        of_values = any(word in error for error in errors for word in OF_VALUES)
        if of_values or len({error.partition("]")[0] for error in errors}) < len(errors):
            return ""
        return f"mosaic: {str(mosaic)[:1500]}\njudge: {str(judge)[:1500]}"
    surplus, missing = list((mosaic - judge).items()), list((judge - mosaic).items())
    return f"only mosaic: {surplus[:5]}\nonly judge: {missing[:5]}"


def find(tables: Tables, seed: str) -> Finding | None:
    """Run the query of a seed; if it differs, look for a smaller one that does."""
    query = random_query(seed)
    found = differs(tables, query)
    if not found:
        return None
    smaller = True
    while smaller:
        smaller = False
        for candidate in query.simpler():
            told = differs(tables, candidate)
            if told:
                query, found, smaller = candidate, told, True
                break
    return Finding(seed, query, found)


def seeds(seed: int, queries: int) -> list[str]:
    """The seeds of a run's queries, each of which repeats one."""
    return [f"{seed}.{number}" for number in range(queries)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.fuzzing", description=__doc__)
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--judge", choices=JUDGES, default="memory")
    parser.add_argument(
        "--repeat", metavar="SEED", help="run one query, by the seed that was shown"
    )
    chosen = parser.parse_args(arguments)
    from pymosaic.spark import enable

    builder = SparkSession.builder.master("local[2]").appName("fuzzing")
    for key, value in {**QUIET, **FAST}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    enable(spark)
    findings = 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        tables = Tables(spark, Path(directory), chosen.judge)
        todo = [chosen.repeat] if chosen.repeat else seeds(chosen.seed, chosen.queries)
        for number, seed in enumerate(todo, 1):
            finding = find(tables, seed)
            if finding is not None:
                findings += 1
                sys.stdout.write(f"{finding}\n\n")
            if number % 100 == 0 or number == len(todo):
                took = time.monotonic() - started
                sys.stdout.write(f"{number} queries, {findings} findings, {took:.0f} s\n")
                sys.stdout.flush()
    spark.stop()
    return bool(findings)


FAST = {
    "spark.sql.shuffle.partitions": "1",
    # Interpreting a query of few rows is faster than compiling it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Parquet, if it is the judge: without its filters, and with times as they are.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
QUIET = {
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
