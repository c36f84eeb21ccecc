from __future__ import annotations

from pathlib import Path

import pytest

from pymosaic.paimon import column_files
from tests.paimon.building import Warehouse
from tests.spark.conftest import spark

__all__ = ["opened", "spark", "warehouse"]


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The data files that are opened."""
    paths: list[str] = []
    real = column_files.open_column_file

    def recorded(file, *arguments):
        paths.append(file.path)
        return real(file, *arguments)

    monkeypatch.setattr("pymosaic.paimon.task.open_column_file", recorded)
    return paths
