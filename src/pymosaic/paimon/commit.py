"""Committing through PyPaimon, with pymosaic's errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pymosaic.errors import CommitConflictError, DatasetError, MosaicError

__all__ = ["commit_messages", "told"]


def commit_messages(builder: Any, messages: list[Any], path: str) -> None:
    """Make one snapshot of what was written.

    Raises
    ------
    CommitConflictError
        If another writer changed the same rows meanwhile. The files of this one are left behind,
        because the snapshot may have been published all the same.
    """
    commit = builder.new_commit()
    try:
        with told(path):
            commit.commit(messages)
    finally:
        commit.close()


@contextmanager
def told(path: str) -> Iterator[None]:
    """Turn errors of PyPaimon into pymosaic's."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        if isinstance(error, MosaicError):
            raise
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "conflict" in str(error).lower():
            raise CommitConflictError(f"{path}: {text}") from error
        raise DatasetError(f"{path}: {text}") from error
