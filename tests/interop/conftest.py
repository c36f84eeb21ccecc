from __future__ import annotations

import pytest

from tests.dataset.building import Reads


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)
