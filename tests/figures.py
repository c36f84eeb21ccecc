"""What tests measure, and what their long forms print: their figures, as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path


def show(figures: Mapping[str, object]) -> None:
    """Write the figures to standard output."""
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")


def tell(line: str) -> None:
    """Say how far a run is, beside the figures."""
    sys.stderr.write(line + "\n")


def peak_memory() -> int:
    """The most memory that this process had; unlike ru_maxrss, nothing of its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) << 10
