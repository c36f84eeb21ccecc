"""Running spellings, for one format at a time."""

from __future__ import annotations

import ast
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from tests.spark.surface.spellings import Spelling

__all__ = ["FORMATS", "Outcome", "Surface"]

FORMATS = ("mosaic", "parquet")
COLUMNS = "id int, k int, name string, value double, day date"
ROWS = """
    SELECT * FROM VALUES
        (1, 0, 'a', 0.5D, DATE'2024-05-30'), (2, 0, 'b', NULL, DATE'2024-05-31'),
        (3, 1, NULL, -1.5D, DATE'2024-05-30'), (4, 1, 'd', 1e10D, NULL),
        (5, 2, '', 2.25D, DATE'2024-06-01'), (6, 2, 'f f', 0D, DATE'1999-12-31')
    AS rows(id, k, name, value, day)
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a spelling did: how it failed, if it did, and what there was afterwards."""

    value: object = field(compare=True)
    failure: type[BaseException] | None = None
    message: str = field(default="", compare=False)


def is_sql(text: str) -> bool:
    return text.split(maxsplit=1)[0].isupper()


class Surface:
    """A session in which spellings run, and the inputs that they share."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark = spark
        self.directory = directory
        self.frame = spark.sql(ROWS).coalesce(1)
        self._number = 0
        for name in FORMATS:
            halves = [self.frame.where("id < 4"), self.frame.where("id >= 4")]
            for half in halves:
                self._save(half, name, "data")
            self._save(self.frame, name, "parts", "k")

    def _save(self, frame: DataFrame, name: str, place: str, *keys: str) -> None:
        writer = frame.coalesce(1).write.format(name).mode("append")
        if keys:
            writer = writer.partitionBy(*keys)
        writer.save(str(self.directory / name / place))

    def run(self, spelling: Spelling, name: str) -> Outcome:
        """What a spelling does for a format."""
        self._number += 1
        base = self.directory / name
        scratch = base / f"row-{self._number}"
        places = {
            "path": str(scratch / "rows"),
            "data": str(base / "data"),
            "parts": str(base / "parts"),
        }
        scope = {
            "spark": self.spark,
            "df": self.frame,
            "f": f,
            "os": os,
            "Path": Path,
            "files": files,
            **places,
        }
        code = spelling.parquet if name == "parquet" and spelling.parquet else spelling.code

        def run(text: str) -> Any:
            text = text if name == "mosaic" else text.replace("mosaic", name)
            return self._run(text, scope, places)

        def plain(value: object) -> object:
            words = {
                str(self.directory / "parquet"): "BASE",
                str(self.directory / "mosaic"): "BASE",
                scratch.name: "ROW",
                "parquet": "mosaic",
                "Parquet": "Mosaic",
            }
            return comparable(value, words)

        with self._own_state(scratch):
            if spelling.given:
                run(spelling.given)
            failure, message, value = None, "", None
            try:
                value = plain(run(code))
            except Exception as error:  # whatever Spark raises is compared
                failure, message = type(error), first_line(error)
            if spelling.then:
                value = plain(run(spelling.then))
            return Outcome(value, failure, message)

    def _run(self, text: str, scope: dict[str, Any], places: dict[str, str]) -> Any:
        if is_sql(text):
            value: Any = None
            for place, directory in places.items():
                text = text.replace(f"{{{place}}}", directory)
            for statement in filter(str.strip, text.split(";")):
                value = self.spark.sql(statement)
            return value
        tree = ast.parse(text)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<spelling>", "exec"), scope)
        if last is None:
            return None
        assert isinstance(last, ast.Expr)
        return eval(compile(ast.Expression(last.value), "<spelling>", "eval"), scope)

    @contextmanager
    def _own_state(self, scratch: Path) -> Iterator[None]:
        """A database of a row's own, and settings and caches as they were."""
        spark = self.spark
        scratch.mkdir(parents=True)
        before = dict(spark.conf.getAll)
        warehouse = scratch / "warehouse"
        spark.sql(f"CREATE DATABASE surface LOCATION '{warehouse}'")
        spark.catalog.setCurrentDatabase("surface")
        try:
            yield
        finally:
            for key, value in dict(spark.conf.getAll).items():
                if key not in before:
                    spark.conf.unset(key)
                elif before[key] != value:
                    spark.conf.set(key, before[key])
            for view in ("v", "w"):
                spark.catalog.dropTempView(view)
            spark.catalog.clearCache()
            spark.catalog.setCurrentDatabase("default")
            spark.sql("DROP DATABASE surface CASCADE")
            shutil.rmtree(scratch)


def files(directory: str) -> list[str]:
    """The data files below a directory, by their names relative to it."""
    found = []
    for place, directories, names in os.walk(directory):
        directories[:] = [name for name in directories if not name.startswith(("_", "."))]
        found += [
            os.path.relpath(os.path.join(place, name), directory)
            for name in names
            if not name.startswith(("_", "."))
        ]
    return sorted(found)


def comparable(value: object, words: dict[str, str]) -> object:
    """A value as it is compared: rows in any order, without what tells the formats apart."""
    if isinstance(value, DataFrame):
        schema = value.schema.jsonValue()
        return [comparable(schema, words), comparable(value.collect(), words)]
    if isinstance(value, list) and value and isinstance(value[0], Row):
        return sorted(repr(comparable(tuple(row), words)) for row in value)
    if isinstance(value, dict):
        return {key: comparable(item, words) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(item, words) for item in value]
    if isinstance(value, str):
        for word, replacement in words.items():
            value = value.replace(word, replacement)
        return value
    return value if isinstance(value, int | float | None) else repr(value)


def first_line(error: BaseException) -> str:
    """The first line of a message, without the one that py4j puts before it."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    if lines[0].startswith("An error occurred while calling") and len(lines) > 1:
        return lines[1]
    return lines[0]
