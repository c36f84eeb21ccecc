"""The study of encoding trees: what each, followed by zstd, saves over Mosaic v1's own encodings.

Every column is dense, without nulls, and alone in its file: Mosaic v1 then stores it as one bucket,
one zstd frame a row group. A tree is Lance's encoding of the same values (chunks one behind the
other, its dictionary and symbol table counted), compressed as a whole at the same level.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import zstandard

import pymosaic
from benchmarks.data import DEFAULT_LEVEL, SEED
from pymosaic.pages.blocks import FixedBlock, VariableBlock
from pymosaic.pages.encodings import (
    byte_stream_split,
    flat,
    fsst,
    inline_bitpacking,
    run_length,
    variable,
)
from pymosaic.pages.encodings.encoded import EncodedChunks
from pymosaic.pages.flatten import array_to_block

__all__ = ["COLUMNS", "REFERENCES", "TREES", "TreeSizes", "measure_trees", "tree_rows"]


def _generator() -> np.random.Generator:
    return np.random.default_rng(SEED)


def sorted_ids(rows: int) -> pa.Array:
    """Rising ids with gaps."""
    return pa.array(np.cumsum(_generator().integers(1, 20, rows)))


def timestamps(rows: int) -> pa.Array:
    """A reading about every second, in microseconds."""
    steps = _generator().normal(1e6, 2e4, rows).astype(np.int64)
    return pa.array(1_700_000_000_000_000 + np.cumsum(steps)).cast(pa.timestamp("us"))


def small_ints(rows: int) -> pa.Array:
    """Counts, most of them below 50, as int64."""
    return pa.array(_generator().poisson(12, rows).astype(np.int64))


def prices(rows: int) -> pa.Array:
    """Doubles with two decimals."""
    return pa.array(np.round(_generator().lognormal(3, 1, rows), 2))


def categories(rows: int) -> pa.Array:
    """2,000 names, unevenly frequent: more than the 255 of a Mosaic v1 dictionary."""
    numbers = np.minimum(_generator().geometric(0.002, rows), 2000)
    return pa.array([f"category-{number:05}" for number in numbers.tolist()])


def urls(rows: int) -> pa.Array:
    """Addresses that share their beginnings."""
    chance = _generator()
    hosts = chance.integers(0, 40, rows).tolist()
    paths = chance.integers(0, 1 << 30, rows).tolist()
    return pa.array(
        [
            f"https://www.shop{host}.example.com/item/{path:x}"
            for host, path in zip(hosts, paths, strict=True)
        ]
    )


COLUMNS: dict[str, Callable[[int], pa.Array]] = {
    "sorted ids": sorted_ids,
    "timestamps": timestamps,
    "small ints": small_ints,
    "prices": prices,
    "categories": categories,
    "URLs": urls,
}


def _content(encoded: EncodedChunks) -> bytes:
    return b"".join(buffer.data.tobytes() for buffer in encoded.buffers)


def _plain(block: FixedBlock | VariableBlock) -> bytes | None:
    if isinstance(block, FixedBlock):
        return _content(flat.encode_chunks(block))
    encoded = variable.encode_chunks(block)
    return None if encoded is None else _content(encoded)


def _bit_packed(block: FixedBlock | VariableBlock) -> bytes | None:
    if not isinstance(block, FixedBlock):
        return None
    return _content(inline_bitpacking.encode_chunks(block))


def _run_length(block: FixedBlock | VariableBlock) -> bytes | None:
    return _content(run_length.encode_chunks(block)) if isinstance(block, FixedBlock) else None


def _byte_stream_split(block: FixedBlock | VariableBlock) -> bytes | None:
    if not isinstance(block, FixedBlock):
        return None
    return _content(byte_stream_split.encode_chunks(block))


def _fsst(block: FixedBlock | VariableBlock) -> bytes | None:
    if not isinstance(block, VariableBlock):
        return None
    table, shorter = fsst.compress_values(block)
    encoded = variable.encode_chunks(shorter)
    return None if encoded is None else table + _content(encoded)


def _dictionary(block: FixedBlock | VariableBlock) -> bytes | None:
    if isinstance(block, VariableBlock):
        buffers = [None, pa.py_buffer(block.offsets), pa.py_buffer(block.data)]
        array = pa.Array.from_buffers(pa.binary(), block.count, buffers)
    else:
        array = pa.Array.from_buffers(pa.uint64(), block.count, [None, pa.py_buffer(block.data)])
    entries = array.dictionary_encode()
    items = array_to_block(entries.dictionary)
    numbers = entries.indices.to_numpy().astype(np.uint32)
    indices = FixedBlock(32, len(numbers), numbers.view(np.uint8))
    packed = _content(inline_bitpacking.encode_chunks(indices))
    if isinstance(items, VariableBlock):
        return packed + variable.encode_block(items).data.tobytes()
    assert isinstance(items, FixedBlock)
    return packed + items.data.tobytes()


def _big_endian(block: FixedBlock | VariableBlock) -> bytes | None:
    """What Mosaic v1 stores, but from a multiple of the values' width on."""
    if not isinstance(block, FixedBlock):
        return None
    values: bytes = np.frombuffer(block.data, f"u{block.bits // 8}").byteswap().tobytes()
    return values


def _split_differences(block: FixedBlock | VariableBlock) -> bytes | None:
    """Differences of neighbours in byte streams, which no Lance version has."""
    if not isinstance(block, FixedBlock):
        return None
    differences = np.diff(np.frombuffer(block.data, f"i{block.bits // 8}"), prepend=0)
    return np.ascontiguousarray(differences.view(np.uint8).reshape(block.count, -1).T).tobytes()


_Encode = Callable[[FixedBlock | VariableBlock], bytes | None]
# Beside the trees, for what they can be compared with.
REFERENCES: dict[str, _Encode] = {
    "v1 aligned": _big_endian,
    "split differences": _split_differences,
}
TREES: dict[str, _Encode] = {
    "plain": _plain,
    "bit-packed": _bit_packed,
    "run-length": _run_length,
    "byte-stream-split": _byte_stream_split,
    "dictionary": _dictionary,
    "fsst": _fsst,
}


@dataclass(frozen=True, slots=True)
class TreeSizes:
    """Bytes of one column: in memory, as Mosaic v1, and by each tree before and after zstd."""

    column: str
    arrow: int
    mosaic: int
    encoded: dict[str, int]
    compressed: dict[str, int]


def _mosaic_size(array: pa.Array) -> int:
    buffer = io.BytesIO()
    pymosaic.write_table(pa.table({"c": array}), buffer, compression_level=DEFAULT_LEVEL)
    return len(buffer.getvalue())


def measure_trees(rows: int) -> list[TreeSizes]:
    """Encode every column by every tree that takes it."""
    compressor = zstandard.ZstdCompressor(level=DEFAULT_LEVEL)
    results = []
    for name, build in COLUMNS.items():
        array = build(rows)
        block = array_to_block(array)
        assert isinstance(block, FixedBlock | VariableBlock)
        encoded, compressed = {}, {}
        for tree, encode in (REFERENCES | TREES).items():
            content = encode(block)
            if content is not None:
                encoded[tree] = len(content)
                compressed[tree] = len(compressor.compress(content))
        results.append(TreeSizes(name, array.nbytes, _mosaic_size(array), encoded, compressed))
    return results


def tree_rows(results: list[TreeSizes]) -> list[list[str]]:
    """The table: kB after zstd, and what the best tree saves over Mosaic v1."""
    shown = [*REFERENCES, *TREES]
    rows = [
        ["column (kB)", "Arrow", "Mosaic v1", *(f"{tree} + zstd" for tree in shown), "best saves"]
    ]
    for result in results:
        trees = [tree for tree in TREES if tree in result.compressed]
        best = min(trees, key=lambda tree: result.compressed[tree])
        saved = 1 - result.compressed[best] / result.mosaic
        sizes = [result.compressed.get(tree) for tree in shown]
        rows.append(
            [
                result.column,
                f"{result.arrow / 1000:,.0f}",
                f"{result.mosaic / 1000:,.0f}",
                *("–" if size is None else f"{size / 1000:,.0f}" for size in sizes),
                f"{saved:.0%} ({best})",
            ]
        )
    return rows
