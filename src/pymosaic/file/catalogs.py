"""A cache of catalogs by schema block.

Files of one table mostly have the same schema block, byte for byte. A known block is not parsed
again: files share one catalog, and everything derived from a catalog is computed once.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import suppress
from typing import NamedTuple

from pymosaic.format import schema_block
from pymosaic.format.compression import Compression
from pymosaic.kernels import schema_content
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits

__all__ = ["BYTES_PER_COLUMN", "CatalogCache", "catalogs"]

# Approximate size of a catalog.
BYTES_PER_COLUMN = 100
_MAX_BYTES = 128 << 20


class _Known(NamedTuple):
    """A catalog, and how its block was read."""

    catalog: Catalog
    compression: Compression
    limits: Limits


class CatalogCache:
    """Catalogs by the bytes of their schema blocks; the least recently used are dropped.

    Parameters
    ----------
    max_bytes : int
        Maximum total size of catalogs and blocks; one is kept whatever its size.
    """

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._catalogs: OrderedDict[bytes, _Known] = OrderedDict()
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
        key = bytes(block)
        catalog = self._find(key, compression, limits)
        if catalog is not None:
            # Without the lock: a catalog may be dropped at this moment, and is good all the same.
            if catalog is not self._latest:
                with suppress(KeyError):
                    self._catalogs.move_to_end(key)
                self._latest = catalog
            return catalog
        # If files are opened at the same time, one parses and the others wait for it.
        with self._lock:
            catalog = self._find(key, compression, limits)
            if catalog is None:
                content = schema_block.content(block, compression, limits)
                catalog = schema_content.parse(content, limits)
                self.parsed += 1
                self._keep(key, _Known(catalog, compression, limits))
        return catalog

    def _find(self, key: bytes, compression: Compression, limits: Limits) -> Catalog | None:
        """The catalog of a block that was read under the same limits."""
        known = self._catalogs.get(key)
        # Limits are mostly the same object, and take longer to compare or hash.
        if known is None or known.compression is not compression:
            return None
        return known.catalog if known.limits is limits or known.limits == limits else None

    def _keep(self, key: bytes, known: _Known) -> None:
        replaced = self._catalogs.pop(key, None)
        if replaced is not None:
            self._bytes -= _weight(key, replaced.catalog)
        self._catalogs[key] = known
        self._latest = known.catalog
        self._bytes += _weight(key, known.catalog)
        while self._bytes > self._max_bytes and len(self._catalogs) > 1:
            dropped_block, dropped = self._catalogs.popitem(last=False)
            self._bytes -= _weight(dropped_block, dropped.catalog)

    def _renew_lock(self) -> None:
        """Reset after a fork, during which another thread may have held the lock."""
        self._lock = threading.Lock()


def _weight(block: bytes, catalog: Catalog) -> int:
    return len(block) + BYTES_PER_COLUMN * catalog.num_nodes


# One per process: tasks of a cluster arrive one by one, and mostly use the same schema.
catalogs: CatalogCache = CatalogCache()
os.register_at_fork(after_in_child=catalogs._renew_lock)
