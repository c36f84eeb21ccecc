"""Counts and aggregates of wide frames, as PySpark's own methods give them.

Spark makes an encoder of all columns of a frame before it aggregates, which queries from Python
never use: see ``MosaicFrames.java``.
"""

from __future__ import annotations

from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["aggregate_without_encoders"]

# The Java part, by the gateway to its JVM.
_HELPERS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def aggregate_without_encoders(gateway: Any, helper: Any) -> None:
    """Have the frames of a JVM counted and aggregated without encoders of their rows.

    Parameters
    ----------
    gateway : py4j.java_gateway.JavaGateway
        The gateway to the JVM.
    helper : py4j.java_gateway.JavaObject
        A ``MosaicFrames`` there.
    """
    _HELPERS[gateway] = helper
    _adapt()


def _helper(frame: Any) -> Any:
    return _HELPERS.get(frame.sparkSession.sparkContext._gateway)


def _adapt() -> None:
    """Adapt PySpark's classes, once for this process."""
    from pyspark.sql.classic.dataframe import DataFrame
    from pyspark.sql.group import GroupedData

    frame_class: Any = DataFrame
    groups_class: Any = GroupedData
    plain_count, plain_init = frame_class.count, groups_class.__init__
    if hasattr(plain_count, "__wrapped__"):
        return

    @wraps(plain_count)
    def count(self: Any) -> int:
        helper = _helper(self)
        return int(plain_count(self) if helper is None else helper.count(self._jdf))

    @wraps(plain_init)
    def init(self: Any, jgd: Any, df: Any) -> None:
        helper = _helper(df)
        if helper is not None:
            helper.forgetRows(jgd)
        plain_init(self, jgd, df)

    frame_class.count = count
    groups_class.__init__ = init
