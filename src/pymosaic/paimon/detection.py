"""Whether a directory is a Paimon table: it has a schema file. Needs no PyPaimon."""

from __future__ import annotations

from typing import Any

from pymosaic.io import open_directory

__all__ = ["holds_table"]


def holds_table(path: str, filesystem: Any = None) -> bool:
    """Whether a path is that of a Paimon table.

    A storage that fails is an error: a table that is taken for a plain directory would be written
    as one.

    Examples
    --------
    >>> from pymosaic.paimon.detection import holds_table
    >>> holds_table("nowhere")
    False
    """
    try:
        directory = open_directory(f"{path.rstrip('/')}/schema", filesystem)
    except ValueError:
        return False  # not a place for directories
    try:
        names = [entry.path for entry in directory.list_files(recursive=False)]
    except (FileNotFoundError, NotADirectoryError):
        return False
    return any(name.startswith("schema-") and name[7:].isdigit() for name in names)
