"""Merging of byte ranges into reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Extent", "merge_ranges"]


class Extent(NamedTuple):
    """One read that serves several ranges; ``members`` are their positions in the caller's list."""

    offset: int
    length: int
    members: tuple[int, ...]


def merge_ranges(ranges: Sequence[tuple[int, int]], gap: int, max_bytes: int) -> list[Extent]:
    """Group byte ranges into reads.

    Parameters
    ----------
    ranges : sequence of (offset, length)
        In any order; they may overlap or repeat.
    gap : int
        Ranges at most this many bytes apart share a read.
    max_bytes : int
        Maximum size of a merged read; a single longer range is one read.

    Returns
    -------
    list of Extent
        By ascending offset. Empty ranges need no read and belong to none.

    Examples
    --------
    >>> merge_ranges([(100, 10), (0, 10), (12, 8)], gap=4, max_bytes=1 << 20)
    [Extent(offset=0, length=20, members=(1, 2)), Extent(offset=100, length=10, members=(0,))]
    """
    if len(ranges) == 1:
        # The usual case of who reads bucket by bucket.
        [(offset, length)] = ranges
        return [Extent(offset, length, (0,))] if length > 0 else []
    extents: list[Extent] = []
    members: list[int] = []
    start = end = 0
    occupied = (index for index, (_, length) in enumerate(ranges) if length > 0)
    for index in sorted(occupied, key=lambda index: ranges[index][0]):
        offset, length = ranges[index]
        reach = max(end, offset + length)
        if members and offset - end <= gap and (reach == end or reach - start <= max_bytes):
            end = reach
            members.append(index)
            continue
        if members:
            extents.append(Extent(start, end - start, tuple(members)))
        start, end, members = offset, offset + length, [index]
    if members:
        extents.append(Extent(start, end - start, tuple(members)))
    return extents
