"""Work spread over Spark tasks: messages back to the driver, and how far they are.

Only the message of the attempt that Spark takes for a task's result reaches the driver, so retried
and speculative attempts are told apart here and nowhere else.
"""

from __future__ import annotations

import pickle
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from pymosaic.errors import InvalidDataError
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
    """A mistake in the data that a task found: no other attempt would find less."""

    def __init__(self, text: str) -> None:
        self.text = text


class Watch:
    """Runs the Spark actions of a job, and tells a callback how many tasks are done.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        Whose actions they are.
    progress : callable, optional
        Called as :mod:`pymosaic.progress` says, with the unit ``"tasks"``; what it raises cancels
        the action. Spark Connect does not tell of tasks: there it hears of whole actions.
    """

    def __init__(self, spark: SparkSession, progress: Progress | None) -> None:
        self._spark = spark
        self._progress = progress
        self._done = 0
        self._before = 0
        self._tell(0, None)

    def run(self, action: Callable[[], _Result]) -> _Result:
        """Run an action of Spark's."""
        if self._progress is None or not hasattr(self._spark, "_jsparkSession"):
            result = action()
            self._tell(self._done + 1, None)
            return result
        return self._watched(action)

    def finish(self) -> None:
        """All is done."""
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
    """The messages that a function makes of each partition of a DataFrame.

    Batches have its columns in their order, but perhaps under other names.

    Raises
    ------
    InvalidDataError
        If the function raises it; other failures are Spark's, which tries again.
    """

    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        messages = iter(function(batches))
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
        sent = _plainly_named(frame).mapInArrow(send, "message binary")
    messages = [pickle.loads(row[0]) for row in watch.run(sent.collect)]
    for message in messages:
        if isinstance(message, _Refusal):
            raise InvalidDataError(message.text)
    return messages


def _plainly_named(frame: DataFrame) -> DataFrame:
    """The columns under names that ``mapInArrow`` can look up: it takes dots for fields."""
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
    """What a function makes of each item, each in a task of its own up to a number of tasks.

    Its second argument is a name that no other item, and no other attempt at this one, has. The
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
    """Items dealt to so many parts, as far as there are items for them."""
    parts = max(1, min(parts, len(items)))
    return [list(items[number::parts]) for number in range(parts)] if items else []
