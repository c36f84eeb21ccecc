"""The machine and versions named in a report."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata
from pathlib import Path

import pyarrow as pa
import zstandard

import pymosaic

__all__ = ["machine", "versions"]

_PACKAGES = (
    "pymosaic",
    "paimon-mosaic",
    "pyarrow",
    "pylance",
    "vortex-data",
    "zstandard",
    "numpy",
)


def _cpu() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def machine() -> dict[str, str]:
    """The machine that the numbers were measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": _cpu(),
        "cores": str(os.cpu_count()),
        "threads used by Arrow and pymosaic": str(pa.cpu_count()),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def versions(*packages: str) -> dict[str, str]:
    """Versions of Python, of the libraries measured (or of those named), and of zstd."""
    found = {"Python": platform.python_version()}
    for package in packages or _PACKAGES:
        if package == "pymosaic":
            found[package] = pymosaic.__version__
            continue
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    found["libzstd of zstandard"] = ".".join(map(str, zstandard.ZSTD_VERSION))
    return found
