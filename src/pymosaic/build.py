"""What this installation is made of, as far as it decides about the bytes of files."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import zstandard

__all__ = ["REFERENCE_LIBZSTD", "Build", "loaded_build"]

# The libzstd inside paimon-mosaic 0.2.0, whose files ours are compared with byte for byte.
REFERENCE_LIBZSTD = "1.5.7"


@dataclass(frozen=True, slots=True)
class Build:
    """What is loaded; :data:`pymosaic.__build__` is that of this process.

    Parameters
    ----------
    version : str
        The version of pymosaic.
    libzstd : str
        The version of libzstd, which is part of the package zstandard.
    zstandard, pyarrow : str
        The versions of these packages.

    Examples
    --------
    >>> import pymosaic
    >>> pymosaic.__build__.version == pymosaic.__version__
    True
    """

    version: str
    libzstd: str
    zstandard: str
    pyarrow: str

    @property
    def writes_bytes_of_reference(self) -> bool:
        """Whether files written with ``checksum=False`` equal those of the reference.

        Another libzstd compresses to other bytes, which every reader reads all the same.
        """
        return self.libzstd == REFERENCE_LIBZSTD


def loaded_build(version: str) -> Build:
    """What is loaded in this process."""
    libzstd = ".".join(map(str, zstandard.ZSTD_VERSION))
    return Build(version, libzstd, zstandard.__version__, pa.__version__)
