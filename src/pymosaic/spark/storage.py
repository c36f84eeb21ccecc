"""Locations of the source: Spark's spellings of URIs, and the options `storage.*`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pymosaic.errors import InvalidOptionError

__all__ = ["locate"]

# Hadoop's names for object stores, and Arrow's names.
_SCHEMES = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
_FLAGS = {"true": True, "false": False}


def locate(locations: list[str], storage: Mapping[str, str]) -> tuple[list[str], Any]:
    """Return locations for the dataset layer, and the file system if options define one.

    Examples
    --------
    >>> from pymosaic.spark.storage import locate
    >>> locate(["s3a://bucket/day=1", "file:/tmp/x"], {})
    (['s3://bucket/day=1', '/tmp/x'], None)
    """
    found = [_respelled(location) for location in locations]
    if not storage:
        return found, None
    schemes = {location.partition("://")[0] for location in found if "://" in location}
    if schemes != {"s3"} or len(schemes) != len({"://" in location for location in found}):
        raise InvalidOptionError(
            f"options storage.* are for paths of the form s3://bucket/key, got {found[0]!r}"
        )
    from pyarrow.fs import S3FileSystem

    values = {key: _FLAGS.get(text.lower(), text) for key, text in storage.items()}
    try:
        filesystem = S3FileSystem(**values)
    except TypeError as error:
        raise InvalidOptionError(f"storage.*: {error}") from None
    return [location.removeprefix("s3://") for location in found], filesystem


def _respelled(location: str) -> str:
    scheme, colon, rest = location.partition(":")
    if not colon or "/" in scheme:
        return location
    if scheme == "file":
        # Hadoop writes file:/path, and any number of slashes means the same.
        return "/" + rest.lstrip("/")
    return f"{_SCHEMES.get(scheme, scheme)}:{rest}"
