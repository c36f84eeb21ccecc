"""Fixtures that tests of several packages use."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, settings

from tests.datasets.building import Reads

# Sessions of tests are short: what Java's second compiler and its parallel collectors do for them
# takes longer than it saves.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# How hard hypothesis tries: the same examples every time, or HYPOTHESIS_PROFILE=thorough. Whole
# tables take a while to draw, and no example has to be fast on a busy machine.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
settings.register_profile(
    "ci", max_examples=60, deadline=None, derandomize=True, suppress_health_check=_SLOW
)
settings.register_profile("thorough", max_examples=5000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_finish() -> None:
    """Leave the collected tests, which stay anyway, to themselves: collecting garbage is faster."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def memory_filesystem() -> Iterator[MemoryFileSystem]:
    """The file system in memory, which is one for the whole process, empty."""
    filesystem = MemoryFileSystem()
    filesystem.store.clear()
    filesystem.pseudo_dirs[:] = [""]
    yield filesystem
    filesystem.store.clear()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """What is read of local files."""
    return Reads(monkeypatch)
