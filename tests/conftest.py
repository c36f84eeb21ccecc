"""Fixtures that tests of several packages use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from tests.datasets.building import Reads


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
