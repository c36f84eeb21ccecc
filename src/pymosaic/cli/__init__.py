"""The command line: ``pymosaic``, or ``python -m pymosaic``.

``application`` knows the commands, ``commands/`` holds one module for each, ``output`` is how they
show what they found (they never print), ``formats/`` reads and writes the files of others.
Nothing here imports pyarrow or numpy before a command runs.
"""

from __future__ import annotations

import sys

__all__ = ["main", "missing_part"]


def missing_part(error: ModuleNotFoundError) -> str | None:
    """How to get what the command line stands on, if that is what is missing."""
    package = (error.name or "").partition(".")[0]
    if package not in ("rich", "typer"):
        return None
    return f"the command line needs {package}, which is not installed: pip install rich typer"


def main() -> None:
    """Run the command that the process was started with, and exit."""
    try:
        from pymosaic.cli.application import run
    except ModuleNotFoundError as error:
        advice = missing_part(error)
        if advice is None:
            raise
        sys.exit(f"pymosaic: {advice}")
    sys.exit(run(sys.argv[1:]))
