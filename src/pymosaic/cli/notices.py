"""Messages for the user on standard error, apart from a command's results."""

from __future__ import annotations

import sys

__all__ = ["tell"]


def tell(text: str) -> None:
    """Print one line."""
    sys.stdout.flush()
    sys.stderr.write(f"pymosaic: {text}\n")
