"""The report that every job returns: rows, columns, files, bytes, time."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import Any

from pymosaic.notebook import ShownFields
from pymosaic.sizes import format_size

__all__ = ["JobReport", "Stopwatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport(ShownFields):
    """The result of a job; each job adds facts of its own.

    Parameters
    ----------
    job : str
        Name of the job.
    rows, columns, files : int
        Totals of the output, or of the input if the job writes nothing.
    bytes_in : int
        Size of the input of tasks: rows as Arrow data, or files.
    bytes_out : int
        Size of the new files.
    seconds : float
        Duration of the job.

    Examples
    --------
    >>> from pymosaic.spark.jobs.report import JobReport
    >>> report = JobReport(
    ...     job="pivot", rows=2, columns=3, files=1, bytes_in=4096, bytes_out=500, seconds=1.5
    ... )
    >>> print(report.summary())
    job        pivot
    rows       2
    columns    3
    files      1
    bytes in   4.0 KiB
    bytes out  500 B
    seconds    1.5
    """

    job: str
    rows: int
    columns: int
    files: int
    bytes_in: int
    bytes_out: int
    seconds: float

    def facts(self) -> dict[str, Any]:
        """The report as plain values for JSON."""
        return asdict(self)

    def to_json(self) -> str:
        """The report as a JSON object."""
        return json.dumps(self.facts(), default=str, ensure_ascii=False)

    def summary(self) -> str:
        """The report as a table for people; lists are shown by their length."""
        lines = [(key.replace("_", " "), _text(key, value)) for key, value in self.facts().items()]
        width = max(len(key) for key, _ in lines)
        return "\n".join(f"{key:<{width}}  {text}" for key, text in lines)


def _text(key: str, value: object) -> str:
    if isinstance(value, list | tuple | dict):
        return f"{len(value):,}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return format_size(value) if key.startswith("bytes") else f"{value:,}"
    return str(value)


class Stopwatch:
    """Measures seconds since its creation."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds so far, to the millisecond."""
        return round(time.monotonic() - self._start, 3)
