"""Schemas and snapshots on a local disk, published by one writer only.

PyPaimon looks whether a file is there, and renames its own to that name otherwise. Between the two,
another process may do the same: the later one then replaces the snapshot of the earlier, whose rows
are lost. A link fails if the name is taken, in one step.
"""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

import copy
import os
import uuid
from typing import Any

from pymosaic.io.local import sync_directory

__all__ = ["exclusive_storage", "with_method"]

# Files that only say where to look first: the later writer is right.
_HINTS = ("LATEST", "EARLIEST")


def exclusive_storage(file_io: Any) -> Any:
    """PyPaimon's access to files, which never replaces what another process published.

    Object stores have no such step in pyarrow: there, two writers at once need a lock of their own.
    """
    from pypaimon.filesystem.local_file_io import LocalFileIO

    if not isinstance(file_io, LocalFileIO):
        return file_io
    kind = type(file_io)

    def try_to_write_atomic(self: Any, path: str, content: str) -> bool:
        linked = _link(str(self._to_file(path)), content)
        return bool(kind.try_to_write_atomic(self, path, content)) if linked is None else linked

    return with_method(file_io, "try_to_write_atomic", try_to_write_atomic)


def with_method(file_io: Any, name: str, method: Any) -> Any:
    """A copy with another method, of a class that PyPaimon takes for the same kind of storage."""
    kind = type(file_io)
    clone = copy.copy(file_io)
    clone.__class__ = type(kind.__name__, (kind,), {name: method})
    return clone


def _link(target: str, content: str) -> bool | None:
    """Publish a file; False if there is one already, None if links do not exist."""
    directory, name = os.path.split(target)
    os.makedirs(directory, exist_ok=True)
    aside = os.path.join(directory, f".{name}.{uuid.uuid4()}.tmp")
    try:
        with open(aside, "x", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if name in _HINTS:
            os.replace(aside, target)
            return True
        try:
            os.link(aside, target)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            return None
        sync_directory(directory)
        return True
    finally:
        if os.path.lexists(aside):
            os.unlink(aside)
