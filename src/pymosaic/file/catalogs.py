"""A cache of catalogs by schema block.

Files of one table mostly have the same schema block, byte for byte. A known block is not parsed
again: files share one catalog, and everything derived from a catalog is computed once.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import suppress

from pymosaic.format import schema_block
from pymosaic.format.compression import Compression
from pymosaic.kernels import schema_content
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits

__all__ = ["BYTES_PER_COLUMN", "CatalogCache", "catalogs"]

# Approximate size of a catalog.
BYTES_PER_COLUMN = 100
_MAX_BYTES = 128 << 20


class CatalogCache:
    """Catalogs by the bytes of their schema blocks; the least recently used are dropped.

    Parameters
    ----------
    max_bytes : int
        Maximum total size of catalogs and blocks; one is kept whatever its size.
    """

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._catalogs: OrderedDict[tuple[Compression, Limits, bytes], Catalog] = OrderedDict()
        # The one used last, which need not be moved to the end again.
        self._latest: Catalog | None = None
        self._bytes = 0
        self._lock = threading.Lock()
        self.parsed: int = 0

    def forget(self) -> None:
        """Drop all catalogs, as if no file had been opened before."""
        with self._lock:
            self._catalogs.clear()
            self._latest = None
            self._bytes = 0

    def parse(self, block: bytes | memoryview, compression: Compression, limits: Limits) -> Catalog:
        """The catalog of a schema block, given with its prefix."""
        key = (compression, limits, bytes(block))
        catalog = self._catalogs.get(key)
        if catalog is not None:
            # Without the lock: a catalog may be dropped at this moment, and is good all the same.
            if catalog is not self._latest:
                with suppress(KeyError):
                    self._catalogs.move_to_end(key)
                self._latest = catalog
            return catalog
        # If files are opened at the same time, one parses and the others wait for it.
        with self._lock:
            catalog = self._catalogs.get(key)
            if catalog is None:
                content = schema_block.content(block, compression, limits)
                catalog = schema_content.parse(content, limits)
                self.parsed += 1
                self._keep(key, catalog)
        return catalog

    def _keep(self, key: tuple[Compression, Limits, bytes], catalog: Catalog) -> None:
        self._catalogs[key] = self._latest = catalog
        self._bytes += _weight(key[2], catalog)
        while self._bytes > self._max_bytes and len(self._catalogs) > 1:
            (_, _, dropped_block), dropped = self._catalogs.popitem(last=False)
            self._bytes -= _weight(dropped_block, dropped)

    def _renew_lock(self) -> None:
        """Reset after a fork, during which another thread may have held the lock."""
        self._lock = threading.Lock()


def _weight(block: bytes, catalog: Catalog) -> int:
    return len(block) + BYTES_PER_COLUMN * catalog.num_nodes


# One per process: tasks of a cluster arrive one by one, and mostly use the same schema.
catalogs: CatalogCache = CatalogCache()
os.register_at_fork(after_in_child=catalogs._renew_lock)
