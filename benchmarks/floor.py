"""The lower bound of a Mosaic case: the cost of zstd alone on the bytes that the case needs.

Frames are found in the file by the format's rules: schema block, monolithic buckets, and slots of
paged buckets (of columns without children, as the measured tables have them).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

import zstandard

import pymosaic

__all__ = ["compress_all", "decompress_all", "frames_of", "in_halves"]

_FOOTER = struct.Struct(">QQIIBB2x4s")


def frames_of(path: Path, columns: Sequence[str] | None, schema_block: bool = True) -> list[bytes]:
    """The zstd frames that a read of the columns must decompress."""
    data = path.read_bytes()
    index_offset, schema_offset, *_ = _FOOTER.unpack(data[-_FOOTER.size :])
    frames = [data[schema_offset + 4 : index_offset]] if schema_block else []
    with pymosaic.MosaicFile(path) as file:
        order = {name: place for place, name in enumerate(sorted(file.column_names, key=_key))}
        wanted = set(order.values() if columns is None else (order[name] for name in columns))
        for row_group in file.metadata.row_groups():
            for bucket in row_group.buckets():
                places = range(bucket.first_column, bucket.first_column + bucket.num_columns)
                slots = [index for index, place in enumerate(places) if place in wanted]
                if not slots or bucket.layout == "missing":
                    continue
                stored = data[bucket.offset : bucket.offset + bucket.compressed_size]
                if bucket.layout == "monolithic":
                    frames.append(stored)
                else:
                    frames += _pages(stored, bucket.num_columns, slots)
    return frames


def _key(name: str) -> bytes:
    return name.encode()


def _pages(bucket: bytes, num_columns: int, slots: Sequence[int]) -> list[bytes]:
    """The frames in some slots of a paged bucket; an empty slot has none."""
    sizes = struct.unpack_from(f"<{num_columns}I", bucket)
    starts = [4 * num_columns]
    for size in sizes:
        starts.append(starts[-1] + size)
    frames = []
    for index in slots:
        slot = bucket[starts[index] : starts[index + 1]]
        if slot:
            length = next(place for place, byte in enumerate(slot, 1) if byte < 0x80)
            frames.append(slot[length:])
    return frames


def decompress_all(frames: Sequence[bytes]) -> list[bytes]:
    """Decompress frames one after another."""
    decompress = zstandard.ZstdDecompressor().decompress
    return [decompress(frame) for frame in frames]


def compress_all(level: int, contents: Sequence[bytes]) -> list[bytes]:
    """Compress contents one after another, each as a frame with a checksum."""
    compress = zstandard.ZstdCompressor(level=level, write_checksum=True).compress
    return [compress(content) for content in contents]


def in_halves(
    executor: Executor, function: Callable[[Sequence[bytes]], list[bytes]], items: Sequence[bytes]
) -> Callable[[], None]:
    """An action that works on the items with two threads, each on about half of the bytes."""
    halves: tuple[list[bytes], list[bytes]] = ([], [])
    weights = [0, 0]
    for item in sorted(items, key=len, reverse=True):
        lighter = weights.index(min(weights))
        halves[lighter].append(item)
        weights[lighter] += len(item)

    def run() -> None:
        other = executor.submit(partial(function, halves[1]))
        function(halves[0])
        other.result()

    return run
