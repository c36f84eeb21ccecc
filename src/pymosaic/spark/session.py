"""Setting up a session: registration, the optimizer rule, and prestarted Python workers."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
from pymosaic.spark.connect import local_server, server_is_ready
from pymosaic.spark.table_writers import ignore_case_of_keys
from pymosaic.spark.wide_frames import aggregate_without_encoders
from pymosaic.threads import Background

__all__ = ["Support", "active", "enable", "for_tasks", "own_python"]

_PACKAGE = "pymosaic.spark"
_MAX_STARTED = 4
# Where Spark looks for the names of sources.
_SERVICE = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
_SOURCES = (
    "MosaicAggregates",
    "MosaicAnalysis",
    "MosaicBuffers",
    "MosaicCaches",
    "MosaicChecks",
    "MosaicCommands",
    "MosaicFiles",
    "MosaicFrames",
    "MosaicMetrics",
    "MosaicPacker",
    "MosaicPlans",
    "MosaicProvider",
    "MosaicReplacements",
    "MosaicScans",
    "MosaicSink",
    "MosaicSource",
    "MosaicStates",
    "MosaicStream",
    "MosaicTable",
    "MosaicTables",
    "MosaicWrites",
    "Refusal",
    "Values",
)
# What executors run, too.
_OF_TASKS = ("MosaicBuffers", "MosaicPacker", "Values")
# Optimizer rules, in the order in which they run, and the classes that install them.
_RULES = {
    "MosaicTables": "MosaicTables",
    "MosaicAggregates": "MosaicAggregates",
    "MosaicFiles": "MosaicFiles",
    "MosaicStream$Narrowing": "MosaicStream",
}


@dataclass(frozen=True, slots=True)
class _Classes:
    """The class loader of the driver that has all classes, and the file of those for executors."""

    loader: Any
    jar: str


# What was compiled, by the gateway to its JVM.
_COMPILED: WeakKeyDictionary[Any, Background[_Classes]] = WeakKeyDictionary()
# Contexts whose Python workers were started, those whose executors get classes, and sessions that
# are ready.
_STARTED: WeakSet[Any] = WeakSet()
_SUPPLIED: WeakSet[Any] = WeakSet()
_READY: WeakKeyDictionary[Any, Support] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Support:
    """What :func:`enable` activated in a session.

    Parameters
    ----------
    push_down : bool
        Whether scans are narrowed to the columns, filters and limits of a query.
    driver_planning : bool
        Whether scans are planned in the driver's own process, which makes the first query of a
        session faster.
    reasons : tuple of str
        Why a part is not active.
    """

    push_down: bool
    driver_planning: bool
    reasons: tuple[str, ...] = ()


def enable(spark: SparkSession) -> Support:
    """Set up a session for Mosaic: register the source, and install the optimizer support.

    Afterwards, ``spark.read.format("mosaic")``, ``df.write.format("mosaic")`` and ``USING mosaic``
    work, and queries read only the columns and row groups that they need. Where the optimizer
    support cannot be installed (Spark Connect, or a Spark whose internals differ), results stay
    correct, but all columns of the relation are read; use the option ``columns`` to read fewer.
    Calling it again changes nothing.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.

    Returns
    -------
    Support
        What is active, and why a part is not.

    Examples
    --------
    >>> import pymosaic.spark
    >>> pymosaic.spark.enable(spark)
    Support(push_down=True, driver_planning=True, reasons=())
    >>> spark.range(3).write.format("mosaic").mode("append").save("numbers")
    >>> spark.read.format("mosaic").load("numbers").count()
    3
    """
    support = _READY.get(spark)
    if support is None:
        support = _READY[spark] = _make_ready(spark)
    return support


def _make_ready(spark: SparkSession) -> Support:
    if not hasattr(spark, "_jsparkSession"):
        return _make_client_ready(spark)
    try:
        _install(spark)
    except Exception as error:  # whatever the JVM or py4j find wrong
        with active(spark):
            _register_plainly(spark)
        return Support(False, False, (f"Java parts: {_first_line(error)}",))
    return Support(True, True)


def _make_client_ready(spark: SparkSession) -> Support:
    """Set up what the server of a Connect client lacks."""
    server = local_server(spark)
    if server is not None:
        return enable(server)
    if server_is_ready(spark):
        return Support(True, True)
    _register_plainly(spark)
    advice = "start the Connect server with `python -m pymosaic.spark.connect`"
    return Support(False, False, (f"the server's optimizer does not know Mosaic: {advice}",))


@contextmanager
def active(spark: Any) -> Iterator[None]:
    """Make a session the active one: Spark looks for registered names there.

    A thread that Python has started has none.
    """
    if not hasattr(spark, "_jsparkSession"):
        yield  # Connect has one session for a client
        return
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())


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


def _install(spark: Any) -> None:
    """Install the Java parts, whose questions this process answers, and start workers."""
    from pyspark.java_gateway import ensure_callback_server_started

    from pymosaic.spark.planner import DriverPlanner
    from pymosaic.spark.source import MosaicDataSource

    context = spark.sparkContext
    _start_compiling(context)
    wrapped = _wrapped(spark, MosaicDataSource)
    ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]
    source = _new(context, "MosaicSource", wrapped, DriverPlanner())
    aggregate_without_encoders(context._gateway, _new(context, "MosaicFrames"))
    ignore_case_of_keys()
    with active(spark):
        source.install()
        _install_rules(spark)
        if context._jsc.sc().isLocal() and context not in _STARTED:
            _STARTED.add(context)
            with suppress(Exception):  # queries start what they need
                source.startWorkers(min(context.defaultParallelism, _MAX_STARTED))


def _wrapped(spark: Any, source: type) -> Any:
    """The source's class as Spark hands it to workers."""
    from pyspark.sql.udf import _wrap_function

    with own_python(spark):
        return _wrap_function(spark.sparkContext, source)


@contextmanager
def own_python(spark: Any) -> Iterator[None]:
    """Functions that are handed to a local Spark meanwhile run on the driver's own Python."""
    if not hasattr(spark, "_jsparkSession"):
        yield  # the server's Python runs them
        return
    context = spark.sparkContext
    usual = context.pythonExec
    if "PYSPARK_PYTHON" not in os.environ and context._jsc.sc().isLocal():
        # Spark would take whatever `python3` is, which need not have this package.
        context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = usual


def _install_rules(spark: Any) -> None:
    session = spark._jsparkSession
    extensions = session.extensions()
    built = extensions.buildOptimizerRules(session)
    installed = {built.apply(place).getClass().getName() for place in range(built.size())}
    for rule, owner in _RULES.items():
        if f"{_PACKAGE}.{rule}" not in installed:
            _new(spark.sparkContext, f"{owner}$Extension").apply(extensions)
    if not installed.issuperset(f"{_PACKAGE}.{rule}" for rule in _RULES):
        for owner in ("MosaicAnalysis", "MosaicChecks", "MosaicPlans"):
            _new(spark.sparkContext, f"{owner}$Extension").apply(extensions)
    for owner in ("MosaicAnalysis", "MosaicChecks", "MosaicCaches"):
        _new(spark.sparkContext, f"{owner}$Installer").install()


def _new(context: Any, name: str, *arguments: Any) -> Any:
    """A new object of a class that was compiled."""
    values = context._jvm.java.util.ArrayList()
    for argument in arguments:
        values.add(argument)
    loaded = _COMPILED[context._gateway].result().loader.loadClass(f"{_PACKAGE}.{name}")
    return loaded.getConstructors()[0].newInstance(values.toArray())


def for_tasks(spark: Any, name: str, *arguments: Any) -> Any:
    """A new object of a class that was compiled, and which executors get."""
    context = spark.sparkContext
    # Tasks of a local Spark find the classes of the driver.
    if context not in _SUPPLIED and not context._jsc.sc().isLocal():
        context._jsc.addJar(_COMPILED[context._gateway].result().jar)
        _SUPPLIED.add(context)
    return _new(context, name, *arguments)


def _start_compiling(context: Any) -> None:
    """Compile, once for a JVM, beside what else a new session has to load."""
    if context._gateway not in _COMPILED:
        loader = context._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        _COMPILED[context._gateway] = Background(partial(_compile, context, loader))


def _compile(context: Any, loader: Any) -> _Classes:
    """Compile the texts by the Janino that Spark brings, and add the classes to a class loader.

    Compiling is also the test whether this Spark has what the texts use. Spark looks for sources in
    the class path, which only takes files: hence the jar.
    """
    jvm = context._jvm
    resources_of = jvm.org.codehaus.commons.compiler.util.resource
    texts = context._gateway.new_array(resources_of.Resource, len(_SOURCES))
    for place, name in enumerate(_SOURCES):
        text = resources.files(_PACKAGE).joinpath("java", f"{name}.java").read_text("utf-8")
        texts[place] = resources_of.StringResource(f"{name}.java", text)
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setTargetVersion(8)  # for static methods of interfaces
    classes = resources_of.MapResourceCreator()
    compiler.setClassFileCreator(classes)
    compiler.compile(texts)
    directory = tempfile.mkdtemp(prefix="pymosaic-spark-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    path = os.path.join(directory, "mosaic.jar")
    path_of_tasks = os.path.join(directory, "mosaic-tasks.jar")
    compiled = classes.getMap()
    with zipfile.ZipFile(path, "w") as jar, zipfile.ZipFile(path_of_tasks, "w") as jar_of_tasks:
        for name in compiled.keySet():
            data = bytes(compiled[name])
            jar.writestr(name, data)
            if name.rpartition("/")[2].removesuffix(".class").partition("$")[0] in _OF_TASKS:
                jar_of_tasks.writestr(name, data)
        jar.writestr(_SERVICE, f"{_PACKAGE}.MosaicProvider\n")
    loader.addURL(jvm.java.io.File(path).toURI().toURL())
    return _Classes(loader, path_of_tasks)
