"""The command line: ``pymosaic``, or ``python -m pymosaic``.

``application`` knows the commands, ``commands/`` holds one module for each, ``output`` is how they
show what they found (they never print), ``formats/`` reads and writes the files of others.
Nothing here imports pyarrow or numpy before a command runs.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command that the process was started with, and exit."""
    try:
        from pymosaic.cli.application import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        sys.exit(
            f"pymosaic: the command line needs {error.name}, which is not installed: "
            "pip install 'pymosaic[cli]'"
        )
    sys.exit(run(sys.argv[1:]))
