"""Faults put into the calls that pymosaic makes, one at a time, at every place in turn."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

import pymosaic
from tests.descriptors import open_descriptors

TEMPORARY = re.compile(r"\..+\.tmp-\d+-[0-9a-f]{16}")


def disk_error() -> OSError:
    return OSError(errno.EIO, os.strerror(errno.EIO))


class FaultyModule:
    """Stands for a module: counts calls of some of its functions, and fails one of them.

    Parameters
    ----------
    module : module
        What everything else comes from.
    names : sequence of str
        The functions to count.
    failing : int, optional
        Which call fails, from 0.
    error : exception
        What it raises.
    afterwards : bool
        Raise when the call is done, as a signal does that arrives meanwhile.
    """

    def __init__(
        self,
        module: ModuleType,
        names: tuple[str, ...],
        failing: int | None = None,
        error: BaseException | None = None,
        afterwards: bool = False,
    ) -> None:
        self._module = module
        self._names = names
        self._failing = failing
        self._error = error
        self._afterwards = afterwards
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return self._counted(name, found) if name in self._names else found

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            number = len(self.calls)
            self.calls.append(name)
            if number != self._failing:
                return function(*arguments, **options)
            assert self._error is not None
            if self._afterwards:
                function(*arguments, **options)
            raise self._error

        return call


def has_open(count: int) -> bool:
    """Whether so many descriptors are open; garbage is collected only where that may matter."""
    return len(os.listdir("/proc/self/fd")) == count or open_descriptors() == count


def temporaries(directory: Path) -> list[str]:
    """Temporary files there, all of which say what they are."""
    return [name for name in os.listdir(directory) if TEMPORARY.fullmatch(name)]


def make_table(version: int, rows: int = 500, columns: int = 24) -> pa.Table:
    """Data that differs in every version, in every kind of encoding."""
    of_version = {"version": pa.array([version] * rows)}
    for i in range(columns):
        step = version * 31 + i
        kinds = (
            lambda step=step: pa.array(
                [(step * row * 2654435761) % (1 << 40) for row in range(rows)]
            ),
            lambda step=step: pa.array([f"v{(step + row) % 7}" for row in range(rows)]),
            lambda step=step: pa.array(
                [None if row % 3 else step * 0.5 + row for row in range(rows)]
            ),
            lambda step=step: pa.array([[step] * (row % 3) for row in range(rows)]),
        )
        of_version[f"column_{i:03}"] = kinds[i % len(kinds)]()
    return pa.table(of_version)


def version_of(path: Path, rows: int = 500, columns: int = 24) -> int:
    """Which version a file is, after making sure that it is that one, whole."""
    table = pymosaic.read_table(path, use_threads=False)
    version = table["version"][0].as_py()
    assert table.equals(make_table(version, rows, columns))
    return int(version)
