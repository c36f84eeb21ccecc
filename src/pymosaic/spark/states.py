"""States of relations: the files that they had when they were loaded, by name.

Queries refer to a state by its name. States that were not used for long are put aside, in a
temporary directory, and come back when they are asked for.
"""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict

from pymosaic.errors import DatasetError
from pymosaic.spark.listing import FileListing

__all__ = ["States"]

# States in memory, by their number and by the files that they have together; states put aside.
_MAX_STATES = 256
_MAX_FILES = 500_000
_MAX_ASIDE = 10_000


class States:
    """The states of this process.

    Parameters
    ----------
    max_states, max_files : int
        What is kept in memory.
    max_aside : int
        How many states are kept on disk.
    """

    def __init__(
        self,
        max_states: int = _MAX_STATES,
        max_files: int = _MAX_FILES,
        max_aside: int = _MAX_ASIDE,
    ) -> None:
        self._max_states = max_states
        self._max_files = max_files
        self._max_aside = max_aside
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, FileListing] = OrderedDict()
        self._num_files = 0
        self._aside: OrderedDict[str, str] = OrderedDict()
        self._directory: str | None = None

    def put(self, listing: FileListing) -> str:
        """Keep a state; returns its name."""
        name = listing.identity
        with self._lock:
            if name not in self._kept:
                self._keep(name, listing)
        return name

    def get(self, name: str) -> FileListing:
        """The state of a name.

        Raises
        ------
        DatasetError
            If it was dropped.
        """
        with self._lock:
            listing = self._kept.get(name)
            if listing is None:
                if name not in self._aside:
                    raise DatasetError("the files of this frame are no longer known: load it again")
                with open(self._aside[name], "rb") as file:
                    listing = pickle.load(file)
                self._keep(name, listing)
            self._kept.move_to_end(name)
            return listing

    def _keep(self, name: str, listing: FileListing) -> None:
        self._kept[name] = listing
        self._num_files += len(listing.files)
        while len(self._kept) > 1 and (
            len(self._kept) > self._max_states or self._num_files > self._max_files
        ):
            oldest, dropped = self._kept.popitem(last=False)
            self._num_files -= len(dropped.files)
            self._put_aside(oldest, dropped)

    def _put_aside(self, name: str, listing: FileListing) -> None:
        if name in self._aside:
            return
        if self._directory is None:
            self._directory = tempfile.mkdtemp(prefix="pymosaic-states-")
            weakref.finalize(self, shutil.rmtree, self._directory, ignore_errors=True)
        path = os.path.join(self._directory, name)
        with open(path, "wb") as file:
            pickle.dump(listing, file)
        self._aside[name] = path
        while len(self._aside) > self._max_aside:
            _, path = self._aside.popitem(last=False)
            os.remove(path)
