"""What Spark planned and did."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame

__all__ = ["physical_plan", "pushed", "rows_read", "scan_columns"]


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
    texts = [
        str(scan.scan().description())
        for scan in _scans(frame._jdf.queryExecution().executedPlan())
    ]
    return [json.loads(text.partition("pushed: ")[2]) for text in texts]


def rows_read(frame: DataFrame) -> int:
    """The rows that all scans handed to Spark, after the frame was collected."""
    plan = frame._jdf.queryExecution().executedPlan()
    return sum(int(scan.metrics().apply("numOutputRows").value()) for scan in _scans(plan))
