"""What Spark planned and did."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame

__all__ = ["metrics", "physical_plan", "pushed", "rows_read", "scan_columns"]


def _final(plan: Any) -> Any:
    while plan.getClass().getSimpleName() in ("AdaptiveSparkPlanExec", "ResultQueryStageExec"):
        name = plan.getClass().getSimpleName()
        plan = plan.executedPlan() if name == "AdaptiveSparkPlanExec" else plan.plan()
    return plan


def _scans(plan: Any) -> list[Any]:
    plan = _final(plan)
    name = plan.getClass().getSimpleName()
    if name == "BatchScanExec":
        return [plan]
    if name.endswith("QueryStageExec"):
        return _scans(plan.plan())
    children = plan.children()
    return [scan for place in range(children.size()) for scan in _scans(children.apply(place))]


def physical_plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def scan_columns(frame: DataFrame) -> list[list[str]]:
    """The columns that each scan of a plan reads."""
    return [
        list(scan.scan().readSchema().fieldNames())
        for scan in _scans(frame._jdf.queryExecution().executedPlan())
    ]


def pushed(frame: DataFrame) -> list[dict[str, Any]]:
    """What was pushed into each scan."""
    scans = _scans(frame._jdf.queryExecution().executedPlan())
    return [json.loads(scan.scan().pushed()) for scan in scans]


def rows_read(frame: DataFrame) -> int:
    """The rows that all scans handed to Spark, after the frame was collected."""
    plan = frame._jdf.queryExecution().executedPlan()
    return sum(int(scan.metrics().apply("numOutputRows").value()) for scan in _scans(plan))


def metrics(frame: DataFrame) -> dict[str, int]:
    """What the driver told of the files and row groups of a frame, after it was collected."""
    [scan] = _scans(frame._jdf.queryExecution().executedPlan())
    names = [
        f"mosaic{what}{done}" for what in ("Files", "RowGroups") for done in ("Read", "Skipped")
    ]
    return {name: int(scan.metrics().apply(name).value()) for name in names}
