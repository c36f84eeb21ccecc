"""Detecting memory that a reader leaves unwritten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pymosaic.kernels.arrow_export import fill_new_memory

__all__ = ["used_memory"]


@contextmanager
def used_memory(byte: int) -> Iterator[None]:
    """Fill memory for decoded columns with ``byte``, as if it had been used before.

    Results must not depend on it, not even in the bytes under nulls or after the last value.
    Applies to the whole process; memory kept for the next read is not used in the meantime.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"n": [1, None, 3]}), "n.mosaic")
    >>> with used_memory(0xAA):
    ...     values = pymosaic.read_table("n.mosaic")["n"].chunk(0).buffers()[1]
    >>> values.to_pybytes()[8:16].hex()
    '0000000000000000'
    """
    if not 0 <= byte <= 255:
        raise ValueError(f"byte must be from 0 to 255, got {byte}")
    fill_new_memory(byte)
    try:
        yield
    finally:
        fill_new_memory(-1)
