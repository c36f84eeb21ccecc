"""What the long forms of tests print: their figures, as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping


def show(figures: Mapping[str, object]) -> None:
    """Write the figures to standard output."""
    sys.stdout.write(json.dumps(figures, indent=2) + "\n")


def tell(line: str) -> None:
    """Say how far a run is, beside the figures."""
    sys.stderr.write(line + "\n")
