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
other file system  a local spool (memory, then an unnamed     upload
                   temporary file)
file object        the object itself, from its position       flush
=================  =========================================  ==================================

Each kind of file system has a module with everything specific to it (:mod:`~pymosaic.io.local`,
:mod:`~pymosaic.io.arrow`, :mod:`~pymosaic.io.fsspec`).
"""

from pymosaic.io.directory import Directory, Entry
from pymosaic.io.kind import time_of
from pymosaic.io.location import Location
from pymosaic.io.opening import (
    SinkLike,
    SourceLike,
    open_directory,
    open_sink,
    open_source,
    open_stream,
    resolve_location,
    status_of,
)
from pymosaic.io.sink import Sink
from pymosaic.io.source import Source

__all__ = [
    "Directory",
    "Entry",
    "Location",
    "Sink",
    "SinkLike",
    "Source",
    "SourceLike",
    "open_directory",
    "open_sink",
    "open_source",
    "open_stream",
    "resolve_location",
    "status_of",
    "time_of",
]
