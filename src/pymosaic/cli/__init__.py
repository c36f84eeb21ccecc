"""The command line: ``pymosaic``, or ``python -m pymosaic``.

``application`` lists the commands and ``commands/`` holds one module per command. Commands never
print: they show their results through ``output``. ``formats/`` reads and writes other file formats.
Nothing here imports pyarrow or numpy before a command runs.
"""

from __future__ import annotations

import gc
import sys

__all__ = ["main", "missing_part"]


def missing_part(error: ModuleNotFoundError) -> str | None:
    """How to install a missing dependency of the command line; None for any other module."""
    package = (error.name or "").partition(".")[0]
    if package not in ("click", "rich"):
        return None
    advice = "pip install 'pymosaic-format[cli]'"
    return f"the command line needs {package}, which is not installed: {advice}"


def main() -> None:
    """Run the command given on the command line, then exit."""
    # A process that ends soon leaves few cycles behind, and 100,000 columns are many objects.
    gc.set_threshold(100_000, 20, 20)
    try:
        from pymosaic.cli.application import run
    except ModuleNotFoundError as error:
        advice = missing_part(error)
        if advice is None:
            raise
        sys.exit(f"pymosaic: {advice}")
    sys.exit(run(sys.argv[1:]))
