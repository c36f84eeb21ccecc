"""Making a session ready: registration, the optimizer rule, and Python workers ahead of need."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Support", "enable"]

_PACKAGE = "pymosaic.spark"
_RULE = f"{_PACKAGE}.MosaicScans"
_MAX_STARTED = 4
# Class loaders of what was compiled, by the gateway to their JVM.
_LOADERS: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
# Contexts whose Python workers were started.
_STARTED: WeakSet[Any] = WeakSet()


@dataclass(frozen=True, slots=True)
class Support:
    """What :func:`enable` made active in a session.

    Parameters
    ----------
    push_down : bool
        Whether scans are narrowed to the columns, filters and limits of a query.
    driver_planning : bool
        Whether scans are planned in the driver's own process, which makes the first query of a
        session faster.
    reasons : tuple of str
        Why not, where not.
    """

    push_down: bool
    driver_planning: bool
    reasons: tuple[str, ...] = ()


def enable(spark: SparkSession) -> Support:
    """Make a session ready for Mosaic: register the source, and install the optimizer support.

    After it, ``spark.read.format("mosaic")``, ``df.write.format("mosaic")`` and ``USING mosaic``
    work, and queries read only the columns and row groups that they need. Where the optimizer
    support cannot be installed (Spark Connect, or a Spark whose internals differ), results are
    the same, but all columns of the relation are read; the option ``columns`` narrows it then.
    Calling it again changes nothing.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.

    Returns
    -------
    Support
        What is active, and why not where it is not.
    """
    if not hasattr(spark, "_jsparkSession"):
        _register_plainly(spark)
        return Support(False, False, ("Spark Connect gives no access to the optimizer",))
    reasons = []
    driver_planning = push_down = True
    try:
        _register(spark)
    except Exception as error:  # whatever the JVM or py4j find wrong
        driver_planning = False
        reasons.append(f"planning in the driver: {_first_line(error)}")
        _register_plainly(spark)
    try:
        _install_rule(spark)
    except Exception as error:
        push_down = False
        reasons.append(f"optimizer rule: {_first_line(error)}")
    return Support(push_down, driver_planning, tuple(reasons))


def _first_line(error: Exception) -> str:
    cause = getattr(error, "java_exception", None)
    text = str(error) if cause is None else str(cause.toString())
    return text.strip().partition("\n")[0] or type(error).__name__


def _register_plainly(spark: SparkSession) -> None:
    from pyspark.errors import AnalysisException

    from pymosaic.spark.source import MosaicDataSource

    try:
        spark.dataSource.register(MosaicDataSource)
    except AnalysisException as error:
        # Spark 4.0 refuses to register a name again.
        if "DATA_SOURCE_ALREADY_EXISTS" not in str(error):
            raise


def _register(spark: Any) -> None:
    """Register a source whose questions this process answers, and start workers for it."""
    from pyspark.java_gateway import ensure_callback_server_started

    from pymosaic.spark.planner import DriverPlanner
    from pymosaic.spark.source import MosaicDataSource

    context = spark.sparkContext
    name = MosaicDataSource.name()
    manager = spark._jsparkSession.sessionState().dataSourceManager()
    source_class = _load(context, "MosaicSource")
    ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]
    arguments = context._jvm.java.util.ArrayList()
    arguments.add(_wrapped(context, MosaicDataSource))
    arguments.add(DriverPlanner())
    source = source_class.getConstructors()[0].newInstance(arguments.toArray())
    source.register(manager, name)
    if context.master.startswith("local") and context not in _STARTED:
        _STARTED.add(context)
        source.startWorkers(name, min(context.defaultParallelism, _MAX_STARTED))


def _wrapped(context: Any, source: type) -> Any:
    """The source's class as Spark hands it to workers."""
    from pyspark.sql.udf import _wrap_function

    configured = "PYSPARK_PYTHON" in os.environ or context._conf.contains("spark.pyspark.python")
    usual = context.pythonExec
    if not configured and context.master.startswith("local"):
        # Spark would take whatever `python3` is, which need not have this package.
        context.pythonExec = sys.executable
    try:
        return _wrap_function(context, source)
    finally:
        context.pythonExec = usual


def _install_rule(spark: Any) -> None:
    session = spark._jsparkSession
    extensions = session.extensions()
    rules = extensions.buildOptimizerRules(session)
    if any(rules.apply(place).getClass().getName() == _RULE for place in range(rules.size())):
        return
    context = spark.sparkContext
    extension_class = _load(context, "MosaicScans", "MosaicScans$Extension")
    arguments = context._gateway.new_array(context._jvm.java.lang.Object, 0)
    extension_class.getConstructors()[0].newInstance(arguments).apply(extensions)


def _load(context: Any, unit: str, name: str | None = None) -> Any:
    """The class of a name, compiled in the driver's JVM by the Janino that Spark brings.

    Compiling is also the test whether this Spark has what the text uses.
    """
    loaders = _LOADERS.setdefault(context._gateway, {})
    if unit not in loaders:
        jvm = context._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        text = resources.files(__package__).joinpath("java", f"{unit}.java").read_text("utf-8")
        compiler.cook(text)
        loaders[unit] = compiler.getClassLoader()
    return loaders[unit].loadClass(f"{_PACKAGE}.{name or unit}")
