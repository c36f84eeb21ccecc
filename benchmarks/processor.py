"""Processor time of a session: of this process, the JVM that it started, and its workers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.measure import stopwatch

__all__ = ["processor_seconds", "stopwatches"]

_Result = TypeVar("_Result")
# Fields of /proc/PID/stat after the name, which may contain anything: parent, then user and system
# time of the process, then those of its children that have ended.
_PARENT = 1
_TIMES = slice(11, 15)


def processor_seconds() -> float:
    """Processor time so far, by user and system, of this process and all that descend from it.

    It tells more than the time on the clock where other work runs beside, and includes what a JVM
    compiles and collects on other cores.
    """
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        process = int(path.parent.name)
        parents[process] = int(fields[_PARENT])
        ticks[process] = sum(map(int, fields[_TIMES]))
    family = {os.getpid()}
    while found := {child for child, parent in parents.items() if parent in family} - family:
        family |= found
    return sum(ticks[process] for process in family) / os.sysconf("SC_CLK_TCK")


def stopwatches(action: Callable[[], _Result]) -> tuple[float, float, _Result]:
    """Seconds on the clock and of processors that an action takes, and its result."""
    before = processor_seconds()
    seconds, result = stopwatch(action)
    return seconds, processor_seconds() - before, result
