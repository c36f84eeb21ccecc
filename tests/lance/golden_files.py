"""Files that pylance 14 wrote; see golden/PROVENANCE.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

DIRECTORY = Path(__file__).parent / "golden"
MANIFEST: dict[str, dict[str, Any]] = json.loads((DIRECTORY / "manifest.json").read_text())
NAMES = sorted(MANIFEST)


def golden_bytes(name: str) -> bytes:
    return (DIRECTORY / f"{name}.lance").read_bytes()


def golden_table(name: str) -> pa.Table:
    with pa.ipc.open_file(DIRECTORY / f"{name}.arrow") as reader:
        return reader.read_all()
