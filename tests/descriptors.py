"""Descriptors that this process has open."""

from __future__ import annotations

import gc
import os


def open_descriptors() -> int:
    """How many there are, once garbage is collected: what other tests forgot must not go later."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
