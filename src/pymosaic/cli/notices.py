"""Lines for people beside a command's results, on standard error."""

from __future__ import annotations

import sys

__all__ = ["tell"]


def tell(text: str) -> None:
    """Say something in a line."""
    sys.stdout.flush()
    sys.stderr.write(f"pymosaic: {text}\n")
