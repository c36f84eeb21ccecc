"""The cases of the matrix tests: type × nulls × size × forced layout and encoding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tests.lance.columns import NESTED, NULLS, SCALARS, nested_column, scalar_column, text

PREFIX = "lance-encoding:"
FULL_ZIP = {f"{PREFIX}structural-encoding": "fullzip"}
SMALL, LARGE = 3, 1500
# pylance writes no nulls of structs without fields.
NULL_SHARES = {False: (0, 0.2, 0.6), True: (0,)}


@dataclass(frozen=True, slots=True)
class PeerCase:
    """A column that pylance writes, with what its field asks of the writer."""

    name: str
    column: pa.Array
    metadata: dict[str, str]
    version: str = "2.1"
    page_bytes: int | None = None

    @property
    def table(self) -> pa.Table:
        field = pa.field("c", self.column.type, metadata=self.metadata)
        return pa.table([self.column], schema=pa.schema([field]))


@dataclass(frozen=True, slots=True)
class OwnCase:
    """A column that we write, what is forced, and what the page must then be."""

    name: str
    column: pa.Array
    encoding: str | None
    expected: str | None = None
    page_bytes: int = 8 << 20


def option(**values: str) -> dict[str, str]:
    return {f"{PREFIX}{name.replace('_', '-')}": value for name, value in values.items()}


def runs(rows: int) -> pa.Array:
    return pa.array(np.repeat(np.arange(rows // 30 + 1), 30)[:rows])


def dense(rows: int) -> pa.Array:
    return pa.array(np.arange(rows) * 7919 % 100 / 4)


def urls(rows: int) -> pa.Array:
    return pa.array([text(i) for i in range(rows)])


def long_text(rows: int) -> pa.Array:
    return pa.array([None if i % 5 == 4 else text(i) * (9 + i % 50) for i in range(rows)])


def packed(rows: int) -> pa.Array:
    columns = [pa.array(range(rows)), pa.array(range(rows), pa.float32())]
    return pa.StructArray.from_arrays(columns, ["a", "b"])


def vectors(rows: int, size: int) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(np.arange(rows * size), pa.float32()), size)


def blobs() -> pa.Array:
    return pa.array([b"abc", None, b"", b"x" * 1000, b"", None, b"z" * 70], pa.large_binary())


def long_lists() -> pa.Array:
    lengths = [0, 3, 9000, 1, 0, 5000, 2]
    return pa.array([list(range(length)) for length in lengths])


def _forced() -> Iterator[tuple[str, pa.Array, dict[str, str]]]:
    for kind in ("int8", "int16", "int32", "int64", "float32", "float64", "timestamp[s]", "uint64"):
        for nulls in ("valid", "some null"):
            column = scalar_column(kind, nulls, LARGE)
            yield f"{kind} {nulls} full-zip", column, FULL_ZIP
            for compression in ("zstd", "lz4", "none"):
                yield f"{kind} {nulls} {compression}", column, option(compression=compression)
    for kind in ("string", "large_string", "binary"):
        for nulls in ("valid", "some null"):
            column = scalar_column(kind, nulls, LARGE)
            yield f"{kind} {nulls} full-zip", column, FULL_ZIP
            yield f"{kind} {nulls} zstd", column, option(compression="zstd")
            yield f"{kind} {nulls} full-zip zstd", column, FULL_ZIP | option(compression="zstd")
    for nulls in ("valid", "some null"):
        yield f"bool {nulls} full-zip", scalar_column("bool", nulls, LARGE), FULL_ZIP
    yield "bool in lists full-zip", pa.array([[True, None], None, [], [False] * 9] * 50), FULL_ZIP
    yield "one bool", pa.array([True] * LARGE), {}
    yield "one bool and nulls", pa.array([False, None] * LARGE), {}
    yield "one bool in lists", pa.array([[True, True], None, []] * 50), {}
    yield "repeated numbers", pa.array(np.repeat(np.arange(5000), 4)), {}
    yield "runs", runs(LARGE), {}
    yield "runs lz4", runs(LARGE), option(compression="lz4")
    yield "one number", pa.array([7] * LARGE), {}
    yield "one string", pa.array(["seven"] * LARGE), {}
    yield "one number and nulls", pa.array([7, None] * LARGE), {}
    yield "one string and nulls", pa.array(["seven", None] * LARGE), {}
    yield "one string in lists", pa.array([["seven", None], None, []] * 50), {}
    yield "byte-stream-split zstd", dense(LARGE), option(bss="on", compression="zstd")
    yield "few numbers", pa.array([i % 20 << 40 for i in range(LARGE)]), {}
    yield "few strings", pa.array([f"category {i % 20}" for i in range(LARGE)]), {}
    yield "fsst", urls(LARGE), {}
    yield "fsst large", urls(LARGE).cast(pa.large_string()), {}
    yield "long text", long_text(60), {}
    yield "long text zstd", long_text(60), option(compression="zstd")
    yield "very long text", pa.array(["x" * 300, "y" * 40000, None] * 5), {}
    yield "packed struct", packed(LARGE), option(packed="true")
    yield "blobs", blobs(), option(blob="true")
    yield "vectors", vectors(300, 10), {}
    yield "long vectors", vectors(30, 500), {}
    yield "vectors with nulls", pa.array([[1, None, 3], None] * 99, pa.list_(pa.int32(), 3)), {}
    yield (
        "long vectors with nulls",
        pa.array([[1.0, None] * 100, None] * 9, pa.list_(pa.float32(), 200)),
        {},
    )
    lists = [[[1, None], [3, 4]], None, [None, [5, 6]], [[7, 8], [9, 10]]]
    yield "lists in lists full-zip", pa.array(lists, pa.list_(pa.list_(pa.int16(), 2), 2)), FULL_ZIP
    yield "vectors of nulls", pa.array([[None, None]] * 5, pa.list_(pa.int32(), 2)), {}
    yield "long lists", long_lists(), {}
    yield "empty lists", pa.array([[], []], pa.list_(pa.int32())), {}
    yield "no rows", pa.array([], pa.int32()), {}
    yield "nulls without a type", pa.nulls(9), {}


def peer_cases() -> list[PeerCase]:
    """Everything that pylance is made to write."""
    cases = []
    for kind in SCALARS:
        for nulls in NULLS:
            for rows in (SMALL, LARGE):
                name = f"{kind} {nulls} {rows}"
                cases.append(PeerCase(name, scalar_column(kind, nulls, rows), {}))
    for kind in NESTED:
        for share in NULL_SHARES[kind == "empty struct"]:
            for rows in (SMALL, LARGE):
                name = f"{kind} {share} {rows}"
                cases.append(PeerCase(name, nested_column(kind, share, rows), {}))
    cases += [PeerCase(name, column, metadata) for name, column, metadata in _forced()]
    for name, column, metadata in _forced():
        cases.append(PeerCase(f"{name} 2.2", column, metadata, "2.2"))
    for kind in NESTED:
        share = NULL_SHARES[kind == "empty struct"][-1]
        cases.append(PeerCase(f"{kind} 2.2", nested_column(kind, share, LARGE), {}, "2.2"))
    cases.append(
        PeerCase("map 2.2", pa.array([[("a", 1), ("b", None)], None, []] * 40,
                                     pa.map_(pa.string(), pa.int32())), {}, "2.2")
    )  # fmt: skip
    cases.append(
        PeerCase("variable packed struct 2.2", nested_column("struct", 0, 99),
                 option(packed="true"), "2.2")
    )  # fmt: skip
    structs = [{"a": 1, "b": "xy"}, None, {"a": 0, "b": ""}, None]
    cases.append(
        PeerCase("variable packed struct with null rows 2.2", pa.array(structs * 30),
                 option(packed="true"), "2.2")
    )  # fmt: skip
    for kind in ("int64", "string", "float64"):
        column = scalar_column(kind, "some null", 20 * LARGE)
        cases.append(PeerCase(f"{kind} in pages", column, {}, page_bytes=32 << 10))
    for kind in ("list of struct", "struct of lists"):
        column = nested_column(kind, 0.1, 2 * LARGE)
        cases.append(PeerCase(f"{kind} in pages", column, {}, page_bytes=8 << 10))
    return cases


_FIXED = ("int8", "uint16", "int32", "uint64", "float32", "float64", "date32", "timestamp[s]")


def _own_forced() -> Iterator[tuple[str, pa.Array, str, str]]:
    for kind in _FIXED:
        for nulls in ("valid", "some null"):
            column = scalar_column(kind, nulls, LARGE)
            bits = column.type.bit_width
            wanted = {"plain": "flat", "bit-packed": "bit-packed", "run-length": "run-length"}
            if bits >= 32:
                wanted["byte-stream-split"] = "byte-stream-split"
            for encoding, found in wanted.items():
                yield f"{kind} {nulls} {encoding}", column, encoding, f"mini-block {found}"
            yield f"{kind} {nulls} full-zip", column, "full-zip", "full-zip flat"
            yield f"{kind} {nulls} dictionary", column, "dictionary", "mini-block dictionary("
    for compression in ("zstd", "lz4", "zstd:9"):
        found = compression.partition(":")[0]
        for encoding, inner in (
            ("plain", "flat"),
            ("byte-stream-split", "byte-stream-split"),
            ("run-length", "run-length"),
        ):
            yield (
                f"dense {encoding}+{compression}",
                dense(LARGE),
                f"{encoding}+{compression}",
                f"mini-block {found}({inner})",
            )
        yield f"text {compression}", urls(LARGE), compression, f"mini-block {found}(variable)"
        yield (
            f"text fsst+{compression}",
            pa.array([text(i % 9) * 2 for i in range(LARGE)]),
            f"fsst+{compression}",
            f"mini-block {found}(fsst)",
        )
        yield (
            f"long text full-zip+{compression}",
            long_text(60) if found == "zstd" else long_text(60).drop_null(),
            f"full-zip+{compression}",
            f"full-zip {found}(variable)",
        )
    for kind in ("string", "large_string", "binary", "large_binary"):
        for nulls in ("valid", "some null"):
            column = scalar_column(kind, nulls, LARGE)
            yield f"{kind} {nulls} plain", column, "plain", "mini-block variable"
            yield f"{kind} {nulls} fsst", column, "fsst", "mini-block fsst"
            yield f"{kind} {nulls} full-zip", column, "full-zip", "full-zip variable"
            yield f"{kind} {nulls} full-zip+fsst", column, "full-zip+fsst", "full-zip fsst"
            yield f"{kind} {nulls} dictionary", column, "dictionary", "mini-block dictionary("
    for kind in ("fixed_size_list", "fixed_size_list[bool]", "fixed_size_list[list]"):
        column = scalar_column(kind, "some null", LARGE)
        yield f"{kind} mini-block", column, "mini-block", "mini-block fixed-size-list("
        if kind != "fixed_size_list[bool]":
            yield f"{kind} full-zip", column, "full-zip", "full-zip fixed-size-list("
    column = pa.array([[1, None, 3], None] * 99, pa.list_(pa.int32(), 3))
    yield "vectors with nulls", column, "mini-block", "mini-block fixed-size-list(flat)"
    yield "vectors with nulls full-zip", column, "full-zip", "full-zip fixed-size-list(flat)"
    lists = [[[1, None], [3, 4]], None, [None, [5, 6]], [[7, 8], [9, 10]]]
    column = pa.array(lists, pa.list_(pa.list_(pa.int16(), 2), 2))
    yield "lists in lists", column, "full-zip", "full-zip fixed-size-list(fixed-size-list(flat))"
    yield "packed struct", packed(LARGE), "packed-struct", "mini-block packed-struct"
    structs = pa.array([{"a": 1, "b": 2.5}, None] * 50)
    for layout in ("mini-block", "full-zip"):
        encoding, expected = f"{layout}+packed-struct", f"{layout} packed-struct"
        yield f"packed struct {layout}", packed(LARGE), encoding, expected
        yield f"packed struct with nulls {layout}", structs, encoding, expected
    lists = pa.ListArray.from_arrays([0, 2, 3], pa.array(["a", "b", "a"]).dictionary_encode())
    yield "dictionary in lists", lists, "mini-block", "mini-block dictionary("
    yield "nulls in lists", pa.array([[None, None], [], None]), "mini-block", "all-null"
    yield "blobs", blobs(), "blob", "blob"
    for kind in NESTED:
        if kind != "empty struct":
            yield f"{kind} full-zip", nested_column(kind, 0.2, LARGE), "full-zip", "full-zip "
    yield "decimals", scalar_column("decimal128", "valid", LARGE), "full-zip", "full-zip flat"
    few = pa.array([i % 20 for i in range(LARGE)], pa.int64()).cast(pa.decimal128(25, 0))
    yield "few decimals", few, "dictionary", "mini-block dictionary(bit-packed, flat)"


def own_cases() -> list[OwnCase]:
    """Everything that we write for pylance to read."""
    cases = []
    for kind in SCALARS:
        for nulls in NULLS:
            for rows in (SMALL, LARGE):
                name = f"{kind} {nulls} {rows}"
                expected = "all-null" if nulls == "all null" else None
                cases.append(OwnCase(name, scalar_column(kind, nulls, rows), None, expected))
    for kind in NESTED:
        for share in NULL_SHARES[kind == "empty struct"]:
            for rows in (SMALL, LARGE):
                name = f"{kind} {share} {rows}"
                cases.append(OwnCase(name, nested_column(kind, share, rows), None))
    cases += [OwnCase(*case) for case in _own_forced()]
    cases += [
        OwnCase("runs", runs(LARGE), None, "mini-block run-length"),
        OwnCase("small numbers", pa.array(range(LARGE)), None, "mini-block bit-packed"),
        OwnCase("one number", pa.array([7] * LARGE), None, "mini-block run-length"),
        OwnCase("one string", pa.array(["seven"] * LARGE), None,
                "mini-block dictionary(bit-packed, variable)"),
        OwnCase("random numbers", scalar_column("uint64", "valid", 1), None, "mini-block flat"),
        OwnCase("fsst", urls(LARGE), None, "mini-block fsst"),
        OwnCase("few strings", pa.array([f"category {i % 20}" for i in range(LARGE)]), None,
                "mini-block dictionary(bit-packed, variable)"),
        OwnCase("long text", long_text(60), None, "full-zip variable"),
        OwnCase("long vectors", vectors(30, 500), None, "full-zip fixed-size-list(flat)"),
        OwnCase("long lists", long_lists(), None, "mini-block bit-packed"),
        # More levels than a chunk's header can count: such a page is zipped.
        OwnCase("lists that are mostly empty", pa.array([[]] * 70000 + [[1, 2]]), None,
                "full-zip flat"),
        OwnCase("lists of booleans that are mostly empty", pa.array([[]] * 70000 + [[True, None]]),
                None, "full-zip flat"),
        OwnCase("booleans full-zip", scalar_column("bool", "some null", LARGE), "full-zip",
                "full-zip flat"),
        OwnCase("empty lists", pa.array([[], []], pa.list_(pa.int32())), None, "all-null"),
        OwnCase("nulls without a type", pa.nulls(9), None, "all-null"),
        OwnCase("numbers in pages", pa.array(range(9000)), None, "mini-block bit-packed", 16 << 10),
        OwnCase("lists in pages", nested_column("list of struct", 0.1, LARGE), None, None, 4 << 10),
        OwnCase("text in pages", scalar_column("string", "some null", LARGE), "full-zip",
                "full-zip variable", 4 << 10),
    ]  # fmt: skip
    return cases
