"""Where a file is: a path in a file system."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Location", "without_secrets"]


class Location(NamedTuple):
    """A path in a file system; ``filesystem`` is None for the local one, however it was given."""

    name: str
    path: str
    filesystem: Any = None


def without_secrets(uri: str) -> str:
    """The URI without passwords and query parameters (keys), for messages."""
    from urllib.parse import urlsplit, urlunsplit  # local files do not need it

    parts = urlsplit(uri)
    user, at, host = parts.netloc.rpartition("@")
    netloc = f"***@{host}" if at and ":" in user else parts.netloc
    return urlunsplit((parts.scheme, netloc, parts.path, "", ""))
