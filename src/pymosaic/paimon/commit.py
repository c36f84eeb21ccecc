"""Committing through PyPaimon, with pymosaic's errors."""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pymosaic.errors import CommitConflictError, DatasetError, MosaicError

__all__ = ["NewSchema", "SchemaTaken", "commit_messages", "published_by", "reading", "told"]


class NewSchema:
    """A schema of PyPaimon that files need, and whether it was published."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.is_published = False


class SchemaTaken(BaseException):
    """Another schema with the same id was published first.

    Not an ``Exception``: PyPaimon would take that for a failure of the storage, and try again.
    """


def commit_messages(
    builder: Any, messages: list[Any], path: str, new_schema: NewSchema | None = None
) -> int | None:
    """Make one snapshot of what was written.

    Parameters
    ----------
    builder : object
        PyPaimon's write builder.
    messages : list
        Its messages: the files that were written.
    path : str
        The table, for errors.
    new_schema : NewSchema, optional
        A schema that the files need: it is published immediately before the snapshot,
        once conflicts are ruled out and everything else is written.

    Returns
    -------
    int or None
        The new snapshot; None if there was nothing to commit.

    Raises
    ------
    CommitConflictError
        If another writer changed the same rows meanwhile. The files of this one are left behind,
        because the snapshot may have been published all the same.
    SchemaTaken
        If another schema took the id of the new one; nothing was published.
    """
    from pypaimon.write.commit_callback import CommitCallback

    published: list[int] = []

    class Published(CommitCallback):  # type: ignore[misc]
        def call(self, context: Any) -> None:
            published.append(int(context.snapshot.id))

    commit = builder.new_commit()
    commit.add_commit_callback(Published())
    if new_schema is not None:
        inner = commit.file_store_commit
        manager = inner.table.schema_manager
        inner.snapshot_commit = _WithSchema(inner.snapshot_commit, manager, new_schema)
    try:
        with told(path):
            commit.commit(messages)
    finally:
        commit.close()
    return published[-1] if published else None


def published_by(table: Any, since: int, user: str) -> int | None:
    """The snapshot of a PaimonTable that a commit made whose outcome PyPaimon was not sure of."""
    newest = table.snapshot()
    for number in range(since + 1, 0 if newest is None else newest.id + 1):
        if table.snapshot(number).commit_user == user:
            return number
    return None


class _WithSchema:
    """PyPaimon's publisher of snapshots, which publishes a schema before the first."""

    def __init__(self, inner: Any, manager: Any, schema: NewSchema) -> None:
        self._inner = inner
        self._manager = manager
        self._schema = schema

    def commit(self, base: Any, snapshot: Any, statistics: Any) -> bool:
        if not self._schema.is_published:
            if not self._manager.commit(self._schema.schema):
                raise SchemaTaken
            self._schema.is_published = True
        return bool(self._inner.commit(base, snapshot, statistics))

    def __enter__(self) -> _WithSchema:
        self._inner.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._inner.__exit__(*error)

    def close(self) -> None:
        self._inner.close()


@contextmanager
def told(path: str) -> Iterator[None]:
    """Turn errors of PyPaimon into pymosaic's."""
    from pypaimon.catalog.catalog_exception import CatalogException

    try:
        yield
    except (RuntimeError, ValueError, CatalogException) as error:
        if isinstance(error, MosaicError):
            raise
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "conflict" in str(error).lower():
            raise CommitConflictError(f"{path}: {text}") from error
        raise DatasetError(f"{path}: {text}") from error


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn what PyPaimon raises of damaged snapshots and manifests into pymosaic's errors.

    Its parsers raise whatever the damage leads to.
    """
    try:
        yield
    except (MosaicError, OSError):
        raise
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise DatasetError(f"{path}: its metadata cannot be read: {text}") from error
