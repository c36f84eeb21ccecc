"""Running work in Spark tasks: messages back to the driver, and progress.

Only the message of the attempt that Spark accepts as a task's result reaches the driver, so retried
and speculative attempts are distinguished here and nowhere else.
"""

from __future__ import annotations

import pickle
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from pymosaic.errors import InvalidDataError, MosaicError
from pymosaic.spark.session import own_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pymosaic.progress import Progress
from pymosaic.threads import Background

__all__ = ["Watch", "collect", "deal_out", "map_items"]

_POLL_SECONDS = 0.2
_MAX_TASKS = 1000
_PLAIN = re.compile(r"\w+", re.ASCII)
_Item = TypeVar("_Item")
_Message = TypeVar("_Message")
_Result = TypeVar("_Result")


class _Refusal:
    """An error in the data found by a task; retrying would not help."""

    def __init__(self, text: str) -> None:
        self.text = text


class Watch:
    """Runs the Spark actions of a job, and reports the number of completed tasks.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session that runs the actions.
    progress : callable, optional
        Called as described in :mod:`pymosaic.progress`, with the unit ``"tasks"``; an exception
        that it raises cancels the action. Spark Connect does not report tasks, only whole actions.
    """

    def __init__(self, spark: SparkSession, progress: Progress | None) -> None:
        self._spark = spark
        self._progress = progress
        self._done = 0
        self._before = 0
        self._tell(0, None)

    def run(self, action: Callable[[], _Result]) -> _Result:
        """Run a Spark action."""
        if self._progress is None or not hasattr(self._spark, "_jsparkSession"):
            result = action()
            self._tell(self._done + 1, None)
            return result
        return self._watched(action)

    def finish(self) -> None:
        """Report that everything is done."""
        self._tell(self._done, self._done)

    def _tell(self, done: int, total: int | None) -> None:
        if self._progress is not None:
            self._done = max(done, self._done)
            self._progress(self._done, None if total is None else max(total, self._done), "tasks")

    def _watched(self, action: Callable[[], _Result]) -> _Result:
        from pyspark import inheritable_thread_target

        context = self._spark.sparkContext
        group = f"pymosaic-{uuid.uuid4().hex}"
        self._before = self._done

        @inheritable_thread_target(self._spark)
        def run() -> _Result:
            context.setJobGroup(group, "pymosaic", interruptOnCancel=True)
            return action()

        running: Background[_Result] = Background(run)
        try:
            while not running.wait(_POLL_SECONDS):
                self._tell(*self._count(context, group))
        except BaseException:
            context.cancelJobGroup(group)
            with suppress(Exception):
                running.result()
            raise
        result = running.result()
        self._tell(*self._count(context, group))
        return result

    def _count(self, context: Any, group: str) -> tuple[int, int | None]:
        tracker = context.statusTracker()
        done = total = 0
        for job in tracker.getJobIdsForGroup(group):
            information = tracker.getJobInfo(job)
            for stage in information.stageIds if information else ():
                facts = tracker.getStageInfo(stage)
                if facts is not None:
                    done += facts.numCompletedTasks
                    total += facts.numTasks
        return self._before + done, self._before + total if total else None


def collect(
    watch: Watch,
    frame: DataFrame,
    function: Callable[[Iterator[pa.RecordBatch]], Iterable[_Message]],
) -> list[_Message]:
    """The messages that a function returns for each partition of a DataFrame.

    Batches have its columns in order, but possibly with other names.

    Raises
    ------
    InvalidDataError
        If the function raises it; other failures are left to Spark, which retries.
    """
    width = len(frame.columns)

    def whole(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_columns != width:
                raise MosaicError(f"a task got {batch.num_columns} columns instead of {width}")
            yield batch

    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        messages = iter(function(whole(batches)))
        while True:
            try:
                message: object = next(messages)
            except StopIteration:
                return
            except InvalidDataError as error:
                message = _Refusal(str(error))
            yield pa.record_batch([pa.array([pickle.dumps(message)], pa.binary())], ["message"])
            if isinstance(message, _Refusal):
                return

    with own_python(frame.sparkSession):
        sent = _mapped(frame, send)
    messages = [pickle.loads(row[0]) for row in watch.run(sent.collect)]
    for message in messages:
        if isinstance(message, _Refusal):
            raise InvalidDataError(message.text)
    return messages


def _mapped(
    frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
) -> DataFrame:
    """``frame.mapInArrow`` for messages, in time that is linear in the columns.

    PySpark looks up each column in the plan, although tasks get all columns whatever was looked up.
    """
    if not hasattr(frame, "_jdf"):
        return _plainly_named(frame).mapInArrow(function, "message binary")
    from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

    class Nameless(ClassicFrame):
        columns = property(lambda _: [])

    return Nameless(frame._jdf, frame.sparkSession).mapInArrow(function, "message binary")


def _plainly_named(frame: DataFrame) -> DataFrame:
    """The columns with names that ``mapInArrow`` can look up: it takes dots for fields."""
    names = frame.columns
    if all(map(_PLAIN.fullmatch, names)) and len({x.lower() for x in names}) == len(names):
        return frame
    return frame.toDF(*(f"column_{place}" for place in range(len(names))))


def map_items(
    watch: Watch,
    spark: SparkSession,
    items: Sequence[_Item],
    function: Callable[[_Item, str], _Message],
) -> list[_Message]:
    """The result of a function for each item, each in its own task up to a number of tasks.

    The second argument of the function is a name that is unique for each item and attempt. The
    messages are in the order of the items.
    """
    if not items:
        return []
    items = list(items)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, _Message]]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield number, function(items[number], f"{number:05d}-{context.taskAttemptId()}")

    frame = spark.range(0, len(items), 1, min(len(items), _MAX_TASKS))
    found = dict(collect(watch, frame, work))
    return [found[number] for number in range(len(items))]


def deal_out(items: Sequence[_Item], parts: int) -> list[list[_Item]]:
    """Items distributed over a number of parts, as far as there are items for them."""
    parts = max(1, min(parts, len(items)))
    return [list(items[number::parts]) for number in range(parts)] if items else []
