"""Where bytes come from and go to: paths, URIs, buffers, file objects, pyarrow.fs, fsspec.

::

    path, URI, file system ─► resolve_location ─┐
    bytes, Buffer, file object ─────────────────┴► open_source ─► Source
    Source.read_ranges ─► merge_ranges ─► one read per extent ─► slices, not copied

=================  =========================================  ==================================
target of a sink   while writing                              commit
=================  =========================================  ==================================
local path         a temporary file beside the target         fsync, rename over the target,
                                                              fsync of the directory
other file system  a local spool (memory, then a temporary    upload
                   file without a name)
file object        the object itself, from where it stands    flush
=================  =========================================  ==================================

Each kind of file system has a module with all that is special about it (:mod:`~pymosaic.io.local`,
:mod:`~pymosaic.io.arrow`, :mod:`~pymosaic.io.fsspec`).
"""

from pymosaic.io.location import Location
from pymosaic.io.opening import (
    SinkLike,
    SourceLike,
    open_sink,
    open_source,
    open_stream,
    resolve_location,
    status_of,
)
from pymosaic.io.sink import Sink
from pymosaic.io.source import Source

__all__ = [
    "Location",
    "Sink",
    "SinkLike",
    "Source",
    "SourceLike",
    "open_sink",
    "open_source",
    "open_stream",
    "resolve_location",
    "status_of",
]
