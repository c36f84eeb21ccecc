"""PyPaimon's own reads and writes of Mosaic files, done by pymosaic."""

from __future__ import annotations

import sys

from pymosaic.compat import mosaic

__all__ = ["accelerate"]


def accelerate() -> None:
    """Let PyPaimon use pymosaic instead of paimon-mosaic, in this process.

    PyPaimon imports the module ``mosaic`` when it first needs it: from now on, that is
    :mod:`pymosaic.compat.mosaic`. Files are the same. Code that has imported paimon-mosaic before
    keeps it.

    Examples
    --------
    >>> import pymosaic.paimon
    >>> pymosaic.paimon.accelerate()
    >>> import mosaic
    >>> mosaic.__name__
    'pymosaic.compat.mosaic'
    >>> import sys
    >>> del sys.modules["mosaic"]
    """
    sys.modules["mosaic"] = mosaic
