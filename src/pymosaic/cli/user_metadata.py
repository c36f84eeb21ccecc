"""Keys and values of the user, in formats that have only one kind of keys.

Parquet and Arrow files have them among those of the schema, as other programs expect. One more key
lists them, so that a Mosaic file that is made of such a file has them as it was before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa

__all__ = ["with_user_metadata", "without_user_metadata"]

_LIST = b"pymosaic:user"


def with_user_metadata(schema: pa.Schema, user: Mapping[str, str]) -> pa.Schema:
    """A schema whose metadata has the keys of the user, too; a key that it has stays."""
    known = schema.metadata or {}
    added = {key: value for key, value in user.items() if key.encode() not in known}
    if not added:
        return schema
    listed = {_LIST: json.dumps(list(added)).encode()}
    return schema.with_metadata({**known, **added, **listed})


def without_user_metadata(schema: pa.Schema) -> tuple[pa.Schema, dict[str, str]]:
    """A schema without the keys of the user, and these."""
    known = schema.metadata or {}
    try:
        names = json.loads(known[_LIST])
        user = {name: known[name.encode()].decode() for name in names}
    # Any program may have written the list, or have changed what it lists.
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return schema, {}
    hidden = {_LIST, *(name.encode() for name in user)}
    left = {key: value for key, value in known.items() if key not in hidden}
    return schema.with_metadata(left or None), user
