"""Page kernels check what they are given, whatever their callers promise.

Each case calls a kernel with arrays that fit together, and then with one of them made wrong: too
short, or with a place outside of another. An error must come, and nothing outside of the arrays may
be touched (the sanitizer build notices).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pymosaic.errors import CorruptFileError, InvalidDataError, MosaicError
from pymosaic.pages.kernels import (
    bitpacking,
    byte_stream_split,
    chunks,
    fsst,
    full_zip,
    levels,
    packed_rows,
    run_length,
    variable,
)

HUGE = 1 << 62


def u8(*values: int) -> npt.NDArray[np.uint8]:
    return np.array(values, np.uint8)


def u16(*values: int) -> npt.NDArray[np.uint16]:
    return np.array(values, np.uint16)


def i32(*values: int) -> npt.NDArray[np.int32]:
    return np.array(values, np.int32)


def i64(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)


def empty(size: int) -> npt.NDArray[np.uint8]:
    return np.zeros(size, np.uint8)


def little_endian(values: list[int], width: int) -> npt.NDArray[np.uint8]:
    return np.frombuffer(np.array(values, f"<i{width}").tobytes(), np.uint8)


_ABC = u8(*b"abcdef")
_SYMBOLS = u8(*b"ab\0\0\0\0\0\0", *b"c\0\0\0\0\0\0\0")
_LENGTHS = u8(2, 1)

# Kernel, arguments that fit, and what is put in place of some to make them wrong.
Case = tuple[Callable[..., Any], dict[str, Any], dict[str, list[Any]]]

WRITERS: dict[str, Case] = {
    "fsst.compress": (
        fsst.compress,
        {
            "symbols": _SYMBOLS,
            "lengths": _LENGTHS,
            "offsets": i32(0, 3, 6),
            "data": _ABC,
            "new_offsets": i32(0, 0, 0),
            "out": empty(12),
        },
        {
            "symbols": [_SYMBOLS[:15]],
            "lengths": [u8(2, 0), u8(2, 9), u8(2, 255), np.ones(256, np.uint8), u8(2, 2, 1)],
            "offsets": [i32(0, 3, 7), i32(-1, 3, 6), i32(0, 5, 4), i32()],
            "new_offsets": [i32(0, 0)],
            "out": [empty(11), empty(0)],
        },
    ),
    "fsst.train": (
        fsst.train,
        {
            "sample": _ABC,
            "ends": i64(3, 6),
            "symbols": empty(8 * 255),
            "lengths": empty(255),
        },
        {
            "ends": [i64(3, 7), i64(4, 3), i64(-1, 6), i64(HUGE)],
            "symbols": [empty(8 * 254)],
            "lengths": [empty(254)],
        },
    ),
    "variable.split_values": (
        variable.split_values,
        {
            "offsets": i32(0, 3, 6),
            "values": _ABC,
            "counts": i64(1, 1),
            "width": 4,
            "starts": i64(0, 12),
            "sizes": i64(12, 12),
            "out": empty(24),
        },
        {
            "offsets": [i32(0, 3, 7), i32(-3, 0, 3), i32(0, 6, 3), i32(0, 3), i32()],
            "values": [_ABC[:5]],
            "counts": [i64(1, 2), i64(-1, 1), i64(HUGE, 1)],
            "width": [2, 0, -4, 8],
            "starts": [i64(0, 13), i64(-1, 12), i64(0), i64(0, HUGE)],
            "sizes": [i64(12, 10), i64(12, 13), i64(12), i64(12, -1), i64(12, HUGE)],
            "out": [empty(23)],
        },
    ),
    "full_zip.zip_fixed": (
        full_zip.zip_fixed,
        {
            "rep": u16(1, 0),
            "definition": u16(0, 1),
            "control_width": 1,
            "bits_def": 1,
            "max_visible_def": 1,
            "values": _ABC,
            "value_width": 3,
            "item_starts": i64(0, 0, 0),
            "out": empty(8),
        },
        {
            "rep": [u16(1)],
            "definition": [u16(0)],
            "control_width": [9, -1],
            "bits_def": [64, -1],
            "values": [_ABC[:5]],
            "value_width": [4, -1, HUGE],
            "item_starts": [i64(), i64(0, 0, 0, 0)],
            "out": [empty(7), empty(0)],
        },
    ),
    "full_zip.zip_variable": (
        full_zip.zip_variable,
        {
            "rep": u16(),
            "definition": u16(0, 0),
            "control_width": 1,
            "bits_def": 1,
            "max_visible_def": 1,
            "offsets": i64(0, 3, 6),
            "values": _ABC,
            "length_width": 4,
            "item_starts": i64(0, 0, 0),
            "out": empty(16),
        },
        {
            "rep": [u16(1)],
            "definition": [u16(0)],
            "control_width": [9, -1],
            "bits_def": [64, -1],
            "offsets": [i64(0, 3, 7), i64(0, -1, 6), i64(0, 3), i64(0, 4, 3), i64(-HUGE, 0, 3)],
            "values": [_ABC[:5]],
            "length_width": [8, 3, 0, 9],
            "item_starts": [i64(), i64(0, 0, 0, 0)],
            "out": [empty(15), empty(0)],
        },
    ),
    "packed_rows.join_rows": (
        packed_rows.join_rows,
        {
            "values": _ABC,
            "value_offsets": i64(0, 3, 6),
            "length_width": 4,
            "positions": i64(0, 7),
            "out": empty(14),
        },
        {
            "values": [_ABC[:5]],
            "value_offsets": [i64(0, 3), i64(0, 4, 3), i64(-1, 3, 6), i64(0, HUGE, HUGE)],
            "length_width": [8, 2, -4],
            "positions": [i64(0, 8), i64(-1, 7), i64(HUGE, 7)],
            "out": [empty(13), empty(0)],
        },
    ),
    "levels.mark_nulls": (
        levels.mark_nulls,
        {
            "definition": u16(0, 0, 0),
            "slots": i64(0, 1, 4),
            "validity": u8(255),
            "first_bit": 3,
            "level": 1,
        },
        {
            "definition": [u16(0, 0, 0, 0)],
            "slots": [i64(0, 1, 5), i64(0, 1, HUGE)],
            "validity": [u8()],
            "first_bit": [4, -1, HUGE],
        },
    ),
    "levels.count_expanded": (
        levels.count_expanded,
        {
            "definition": u16(0, 0),
            "slots": i64(0, 1),
            "offsets": i32(0, 2, 3),
            "validity": u8(255),
            "first_bit": 6,
        },
        {
            "definition": [u16(0)],
            "slots": [i64(0, 2), i64(0, HUGE)],
            "offsets": [i32(0, 2), i32(0, 2, 1), i32(-1, 2, 3), i32(), i64(0, HUGE, -HUGE)],
            "first_bit": [7, -1, HUGE],
        },
    ),
    "levels.expand_lists": (
        levels.expand_lists,
        {
            "rep": u16(1, 1),
            "definition": u16(0, 0),
            "slots": i64(0, 1),
            "offsets": i32(0, 2, 3),
            "validity": u8(255),
            "first_bit": 6,
            "continue_level": 0,
            "null_level": 1,
            "empty_level": 2,
            "new_rep": u16(0, 0, 0),
            "new_def": u16(0, 0, 0),
            "new_slots": i64(0, 0, 0),
        },
        {
            "rep": [u16(1)],
            "definition": [u16(0)],
            "slots": [i64(0, 2), i64(0, HUGE), i64(0, 1, 1), i64(-1, 0, 1)],
            "offsets": [i32(0, 2), i32(0, 2, 1), i32(-1, 2, 3), i32(0, 2, 4)],
            "first_bit": [7, -1, HUGE],
            "new_rep": [u16(0, 0), u16()],
            "new_def": [u16(0, 0)],
            "new_slots": [i64(0, 0)],
        },
    ),
    "chunks.scatter": (
        chunks.scatter,
        {"data": _ABC, "sizes": i64(2, 4), "starts": i64(6, 0), "out": empty(8)},
        {
            "data": [_ABC[:5]],
            "sizes": [i64(3, 4), i64(2, 5), i64(-1, 4), i64(2, HUGE), i64(2, 4, 1)],
            "starts": [i64(7, 0), i64(-1, 0), i64(HUGE, 0), i64(6)],
            "out": [empty(7), empty(0)],
        },
    ),
    "run_length.count_runs": (
        run_length.count_runs,
        {"values": _ABC, "width": 2, "chunk_values": 2},
        {"width": [0, -1], "chunk_values": [0, -1]},
    ),
    "run_length.find_runs": (
        run_length.find_runs,
        {
            "values": u8(1, 1, 2, 3),
            "width": 1,
            "chunk_values": 2,
            "run_values": empty(3),
            "run_lengths": empty(3),
            "runs_per_chunk": i64(0, 0),
        },
        {
            "values": [u8(1, 0, 2, 3)],
            "width": [0, -1],
            "chunk_values": [0, 1],
            "run_values": [empty(2)],
            "run_lengths": [empty(2)],
            "runs_per_chunk": [i64(0)],
        },
    ),
    "byte_stream_split.split_streams": (
        byte_stream_split.split_streams,
        {"values": empty(8), "width": 4, "chunk_values": 2, "out": empty(8)},
        {"width": [0, -4], "chunk_values": [0, -1], "out": [empty(7)]},
    ),
    "bitpacking.measure_groups": (
        bitpacking.measure_groups,
        {"values": empty(1025), "bits": 8, "widths": i64(0, 0)},
        {"values": [empty(1024)], "bits": [16, 0, 7, 128], "widths": [i64(0, 0, 0)]},
    ),
    "bitpacking.pack_inline": (
        bitpacking.pack_inline,
        {"values": empty(1025), "bits": 8, "widths": i64(1, 2), "out": empty(2 + 3 * 128)},
        {
            "values": [empty(1024)],
            "bits": [16, 0, 7],
            "widths": [i64(1, 3), i64(1, 9), i64(1, -1), i64(1, 2, 0)],
            "out": [empty(1 + 3 * 128), empty(0)],
        },
    ),
    "bitpacking.pack_chunks": (
        bitpacking.pack_chunks,
        {
            "values": empty(2 * 1124),
            "bits": 16,
            "width": 2,
            "counts": i64(1024, 10, 90),
            "sizes": i64(0, 0, 0),
            "out": empty(256 + 20 + 180),
        },
        {
            "values": [empty(2 * 1123)],
            "bits": [32, 0, 7],
            "width": [17, -1],
            "counts": [i64(1024, 10, 91), i64(1024, -1, 90), i64(HUGE, 10, 90)],
            "sizes": [i64(0, 0)],
            "out": [empty(255), empty(275), empty(256 + 20 + 179)],
        },
    ),
    "variable.split_counts": (
        variable.split_counts,
        {
            "offsets": i32(0, 3000, 6000, 9000, 9001),
            "width": 4,
            "target": 4096,
            "most": 4096,
            "counts": i64(0, 0, 0),
        },
        {"counts": [i64(0), i64()]},
    ),
}

READERS: dict[str, Case] = {
    "fsst.expand": (
        fsst.expand,
        {
            "symbols": _SYMBOLS,
            "lengths": _LENGTHS,
            "offsets": i32(0, 1, 2),
            "data": u8(0, 1),
            "new_offsets": i32(0, 0, 0),
            "out": empty(24),
        },
        {
            "symbols": [_SYMBOLS[:15]],
            "lengths": [u8(2, 9), u8(2, 0), np.ones(256, np.uint8)],
            "offsets": [i32(0, 1, 3), i32(-1, 1, 2), i32(0, 2, 1), i32()],
            "data": [u8(0, 2), u8(0, 255)],
            "new_offsets": [i32(0, 0)],
            "out": [empty(23), empty(0)],
        },
    ),
    "variable.measure_values": (
        variable.measure_values,
        {
            "data": np.concatenate([little_endian([8, 10], 4), u8(1, 2)]),
            "starts": i64(0),
            "sizes": i64(10),
            "counts": i64(1),
            "width": 4,
        },
        {
            "data": [np.concatenate([little_endian([8, 10], 4), u8(1)])],
            "starts": [i64(1), i64(-1), i64(HUGE), i64()],
            "sizes": [i64(9), i64(11), i64(-1), i64()],
            "counts": [i64(2), i64(-1), i64(HUGE)],
            "width": [8, 0, -4],
        },
    ),
    "variable.join_values": (
        variable.join_values,
        {
            "data": np.concatenate([little_endian([8, 10], 4), u8(1, 2)]),
            "starts": i64(0),
            "counts": i64(1),
            "width": 4,
            "offsets": i32(0, 0),
            "out": empty(2),
        },
        {
            "data": [
                np.concatenate([little_endian([8, 10], 4), u8(1)]),
                np.concatenate([little_endian([8, -1], 4), u8(1, 2)]),
                np.concatenate([little_endian([8, 7], 4), u8(1, 2)]),
            ],
            "starts": [i64(9), i64(-1), i64(HUGE), i64()],
            "counts": [i64(2), i64(-1), i64(HUGE)],
            "width": [8, 0, -4],
            "offsets": [i32(0), i32()],
            "out": [empty(1)],
        },
    ),
    "full_zip.unzip_fixed": (
        full_zip.unzip_fixed,
        {
            "data": u8(0, 7, 1, 8),
            "control_width": 1,
            "bits_def": 1,
            "max_rep": 0,
            "max_def": 1,
            "max_visible_def": 1,
            "value_width": 1,
            "rep": u16(0, 0),
            "definition": u16(0, 0),
            "values": empty(2),
        },
        {
            "data": [u8(0, 7, 1), u8(0, 7, 2, 8)],
            "control_width": [0, 9, -1],
            "bits_def": [64, -1],
            "value_width": [2, -1, HUGE],
            "rep": [u16(0)],
            "definition": [u16(0)],
            "values": [empty(1)],
        },
    ),
    "full_zip.unzip_variable": (
        full_zip.unzip_variable,
        {
            "data": np.concatenate([u8(0), little_endian([2], 4), u8(5, 6)]),
            "control_width": 1,
            "bits_def": 1,
            "max_rep": 0,
            "max_def": 1,
            "max_visible_def": 1,
            "length_width": 4,
            "rep": u16(0),
            "definition": u16(0),
            "offsets": i64(0, 0),
            "values": empty(2),
        },
        {
            "data": [np.concatenate([u8(0), little_endian([-1], 4), u8(5, 6)])],
            "control_width": [9, -1],
            "bits_def": [64, -1],
            "length_width": [8, 3, 0],
            "rep": [u16()],
            "definition": [u16()],
            "offsets": [i64(0)],
            "values": [empty(1)],
        },
    ),
    "packed_rows.measure_rows": (
        packed_rows.measure_rows,
        {
            "data": np.concatenate([little_endian([2], 4), u8(5, 6)]),
            "positions": i64(0),
            "offsets": i64(0, 6),
            "length_width": 4,
        },
        {
            "data": [np.concatenate([little_endian([2], 4), u8(5)])],
            "positions": [i64(-1), i64(7), i64(0, 0), i64(-HUGE)],
            "offsets": [i64(0, 5), i64(0, HUGE), i64(0)],
            "length_width": [8, 2, -4],
        },
    ),
    "packed_rows.split_field": (
        packed_rows.split_field,
        {
            "data": np.concatenate([little_endian([2], 4), u8(5, 6)]),
            "positions": i64(0),
            "offsets": i64(0, 6),
            "width": 0,
            "length_width": 4,
            "new_offsets": i64(0, 0),
            "out": empty(2),
        },
        {
            "data": [
                np.concatenate([little_endian([2], 4), u8(5)]),
                np.concatenate([little_endian([3], 4), u8(5, 6)]),
            ],
            "positions": [i64(-1), i64(7), i64(0, 0)],
            "offsets": [i64(0, 5), i64(0, HUGE), i64(0)],
            "width": [-1],
            "length_width": [8, 2, -4],
            "new_offsets": [i64(0), None],
            "out": [empty(1)],
        },
    ),
    "levels.levels_to_validity": (
        levels.levels_to_validity,
        {"definition": u16(*[0] * 9), "first_null": 1, "max_def": 1, "bitmap": empty(2)},
        {"definition": [u16(*[0] * 8, 2)], "bitmap": [empty(1)]},
    ),
    "levels.assemble_lists": (
        levels.assemble_lists,
        {
            "rep": u16(1, 0),
            "definition": u16(0, 0),
            "max_visible_def": 1,
            "max_def": 3,
            "first_empty": 3,
            "list_validity": empty(1),
            "offsets": i32(0, 0, 0),
            "item_validity": empty(1),
        },
        {
            "rep": [u16(1, 2), u16(1, 0, 0), u16(0, 0), u16(*[1] * 9)],
            "definition": [u16(0), u16(0, 4)],
            "offsets": [i32(0, 0)],
        },
    ),
    "levels.assemble": (
        levels.assemble,
        {
            "rep": u16(1, 0),
            "definition": u16(0, 0),
            "is_list": u8(1, 0),
            "start_of_rep": i32(1, 0),
            "end_of_def": i32(2, 1),
            "is_null": u8(0, 1),
            "validity": np.zeros((2, 1), np.uint8),
            "offsets": np.zeros((2, 3), np.int32),
            "counts": i64(0, 0),
            "nulls": i64(0, 0),
        },
        {
            "rep": [u16(1, 2), u16(0, 0), u16(1, 0, 0)],
            "definition": [u16(0), u16(0, 2)],
            "is_list": [u8(), u8(1, 1), u8(1, 0, 0)],
            "start_of_rep": [i32(3, 0), i32(-1, 0)],
            "is_null": [u8(0)],
            "validity": [np.zeros((1, 1), np.uint8), np.zeros((2, 0), np.uint8)],
            "offsets": [np.zeros((1, 3), np.int32), np.zeros((2, 2), np.int32)],
            "counts": [i64(0)],
            "nulls": [i64(0)],
        },
    ),
    "chunks.locate_buffers": (
        chunks.locate_buffers,
        {
            "data": np.concatenate([u8(1, 0, 8, 0, 0, 0, 0, 0), empty(8)]),
            "chunk_starts": i64(0),
            "chunk_sizes": i64(16),
            "num_level_buffers": 0,
            "num_value_buffers": 1,
            "large": False,
            "num_levels": i64(0),
            "starts": np.zeros((1, 1), np.int64),
            "sizes": np.zeros((1, 1), np.int64),
        },
        {
            "data": [np.concatenate([u8(1, 0, 9, 0, 0, 0, 0, 0), empty(8)]), empty(15)],
            "chunk_starts": [i64(1), i64(-1), i64(HUGE), i64(0, 0)],
            "chunk_sizes": [i64(17), i64(3), i64(-1), i64(HUGE), i64()],
            "num_level_buffers": [1, -1],
            "num_value_buffers": [2, -1],
            "num_levels": [i64()],
            "starts": [np.zeros((0, 1), np.int64), np.zeros((1, 0), np.int64)],
            "sizes": [np.zeros((0, 1), np.int64), np.zeros((1, 0), np.int64)],
        },
    ),
    "chunks.gather": (
        chunks.gather,
        {"data": _ABC, "starts": i64(4, 0), "sizes": i64(2, 3), "out": empty(5)},
        {
            "starts": [i64(5, 0), i64(-1, 0), i64(HUGE, 0), i64(4, 0, 0)],
            "sizes": [i64(3, 2), i64(-1, 3), i64(2, HUGE), i64(2)],
            "out": [empty(4)],
        },
    ),
    "chunks.gather_bits": (
        chunks.gather_bits,
        {"data": _ABC, "starts": i64(5, 0), "counts": i64(7, 9), "out": empty(2)},
        {
            "starts": [i64(6, 0), i64(-1, 0), i64(HUGE, 0), i64(5, 0, 0)],
            "counts": [i64(9, 7), i64(-1, 9), i64(7, HUGE), i64(7, 10), i64(7)],
            "out": [empty(1)],
        },
    ),
    "run_length.expand_runs": (
        run_length.expand_runs,
        {
            "values": u8(1, 2),
            "value_starts": i64(0),
            "lengths": u8(1, 2),
            "length_starts": i64(0),
            "num_runs": i64(2),
            "counts": i64(3),
            "width": 1,
            "out": empty(3),
        },
        {
            "values": [u8(1)],
            "value_starts": [i64(1), i64(-1), i64(HUGE), i64()],
            "lengths": [u8(1), u8(1, 1)],
            "length_starts": [i64(1), i64(-1), i64(HUGE), i64()],
            "num_runs": [i64(3), i64(-1), i64(HUGE), i64()],
            "counts": [i64(4), i64(-1), i64(HUGE)],
            "width": [2, 0, -1, HUGE],
            "out": [empty(2)],
        },
    ),
    "byte_stream_split.join_streams": (
        byte_stream_split.join_streams,
        {"data": empty(8), "starts": i64(0), "counts": i64(2), "width": 4, "out": empty(8)},
        {
            "data": [empty(7)],
            "starts": [i64(1), i64(-1), i64(HUGE), i64()],
            "counts": [i64(3), i64(-1), i64(HUGE)],
            "width": [8, 0, 3, -4],
            "out": [empty(7)],
        },
    ),
    "bitpacking.unpack_inline": (
        bitpacking.unpack_inline,
        {
            "data": np.concatenate([u8(1), empty(128)]),
            "starts": i64(0),
            "sizes": i64(129),
            "counts": i64(3),
            "bits": 8,
            "out": empty(3),
        },
        {
            "data": [empty(128), np.concatenate([u8(2), empty(128)])],
            "starts": [i64(1), i64(-1), i64(HUGE), i64()],
            "sizes": [i64(128), i64(130), i64(-1), i64()],
            "counts": [i64(4), i64(-1), i64(1025)],
            "bits": [0, 7, 128],
            "out": [empty(2)],
        },
    ),
    "bitpacking.unpack_groups": (
        bitpacking.unpack_groups,
        {
            "data": empty(128),
            "starts": i64(0),
            "sizes": i64(128),
            "counts": i64(1024),
            "bits": 8,
            "width": 1,
            "out": empty(1024),
        },
        {
            "data": [empty(127)],
            "starts": [i64(1), i64(-1), i64(HUGE), i64()],
            "sizes": [i64(127), i64(129), i64(-1), i64()],
            "counts": [i64(1025), i64(-1), i64(HUGE)],
            "bits": [0, 7, 16],
            "width": [2, 9, -1],
            "out": [empty(1023)],
        },
    ),
}
CASES = {**WRITERS, **READERS}


def call(kernel: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    copies = {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }
    return kernel(**copies)


def wrong_arguments() -> list[Any]:
    return [
        pytest.param(name, argument, value, id=f"{name}-{argument}-{number}")
        for name, (_, _, wrong) in CASES.items()
        for argument, values in wrong.items()
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize("name", CASES)
def test_arrays_that_fit_together_are_accepted(name: str) -> None:
    kernel, arguments, _ = CASES[name]
    call(kernel, arguments)


@pytest.mark.parametrize(("name", "argument", "value"), wrong_arguments())
def test_a_wrong_argument_is_an_error(name: str, argument: str, value: Any) -> None:
    kernel, arguments, _ = CASES[name]
    with pytest.raises(MosaicError) as caught:
        call(kernel, {**arguments, argument: value})
    if name in READERS:
        assert isinstance(caught.value, CorruptFileError)
    else:
        assert isinstance(caught.value, InvalidDataError | CorruptFileError)


def test_a_symbol_that_comes_twice_is_an_error() -> None:
    _, arguments, _ = CASES["fsst.compress"]
    twice = {"symbols": np.tile(_SYMBOLS[:8], 2), "lengths": u8(2, 2)}
    with pytest.raises(InvalidDataError, match="two in one place"):
        call(fsst.compress, {**arguments, **twice})


def test_every_kernel_over_arrays_has_a_case() -> None:
    modules = (
        bitpacking,
        byte_stream_split,
        chunks,
        fsst,
        full_zip,
        levels,
        packed_rows,
        run_length,
        variable,
    )
    functions = {
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in modules
        for name in vars(module)
        if callable(getattr(module, name)) and not name.startswith("_")
    }
    # check_offsets is nothing but a check; its own tests are those of the encodings.
    assert functions - {"variable.check_offsets"} == set(CASES)
