"""Whether a directory is a Paimon table."""

from __future__ import annotations

from pathlib import Path

import pytest

from pymosaic.io import open_directory
from pymosaic.paimon.detection import holds_table


def test_a_schema_file_tells(tmp_path: Path) -> None:
    (tmp_path / "table" / "schema").mkdir(parents=True)
    assert not holds_table(str(tmp_path / "table"))
    (tmp_path / "table" / "schema" / "schema-0").write_text("{}")
    assert holds_table(str(tmp_path / "table"))
    (tmp_path / "file").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "schema").write_text("")
    for other in ("file", "other", "nowhere"):
        assert not holds_table(str(tmp_path / other))


def test_a_storage_that_fails_is_not_a_directory_without_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*arguments: object, **options: object) -> None:
        raise OSError("slow down")

    (tmp_path / "schema").mkdir()
    monkeypatch.setattr(type(open_directory(str(tmp_path))), "list_files", failing)
    with pytest.raises(OSError, match="slow down"):
        holds_table(str(tmp_path))
