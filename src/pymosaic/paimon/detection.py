"""Whether a directory is a Paimon table: it has a schema file. Needs no PyPaimon."""

from __future__ import annotations

from typing import Any

from pymosaic.io import open_directory

__all__ = ["holds_table"]


def holds_table(path: str, filesystem: Any = None) -> bool:
    """Whether a path is that of a Paimon table.

    Examples
    --------
    >>> from pymosaic.paimon.detection import holds_table
    >>> holds_table("nowhere")
    False
    """
    try:
        directory = open_directory(f"{path.rstrip('/')}/schema", filesystem)
        if not directory.exists():
            return False
        names = [entry.path for entry in directory.list_files()]
    except (OSError, ValueError):
        return False
    return any(name.startswith("schema-") and name[7:].isdigit() for name in names)
