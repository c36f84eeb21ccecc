"""The schema of an open Lance file: flat arrays of its fields, converted to Arrow on demand.

A file of ten thousand columns is usually opened to read a few of them. So opening scans all fields
in one kernel, and makes Arrow fields only for those that are requested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.errors import CorruptFileError, LimitExceededError, UnsupportedFeatureError
from pymosaic.lance.container import FieldMessage
from pymosaic.lance.schema import scalar_type
from pymosaic.limits import Limits
from pymosaic.pages.blocks import Integers, bytes_of
from pymosaic.pages.kernels.lance_messages import count_leaves, count_parts, read_fields
from pymosaic.pages.protobuf import parse

__all__ = ["FileSchema"]

_FIELDS = 1
# Bits that the kernel sets.
_BLOB, _HAS_METADATA, _STRUCT, _NULLABLE = 4, 8, 16, 32
_LISTS: dict[str, Callable[[Any], pa.DataType]] = {"list": pa.list_, "large_list": pa.large_list}


class FileSchema:
    """The schema of a file.

    Checked when it is made: the wire form of all fields, names, ids and parents; when a field is
    made: its type, depth, and that lists have one child.

    Parameters
    ----------
    content : bytes
        A ``Schema`` message.
    limits : Limits
        Caps on fields, names and depth.
    """

    def __init__(self, content: bytes, limits: Limits) -> None:
        data = bytes_of(content)
        count = count_parts(data, _FIELDS)
        if count > limits.max_columns:
            raise LimitExceededError(
                f"{count} fields exceed Limits.max_columns ({limits.max_columns})",
                structure="schema",
            )
        self._content = content
        self._max_depth = limits.max_nesting_depth
        self._places = np.empty((count, 2), np.int64)
        ids, flags = np.empty((count, 2), np.int32), np.empty(count, np.uint8)
        self._names, self._types, metadata = read_fields(data, self._places, ids, flags)
        self.metadata: dict[bytes, bytes] | None = {
            key.encode(): value for key, value in metadata
        } or None
        self._check_names(flags, limits)
        self._parents = _find_parents(ids)
        leaves = np.empty(count, np.int64)
        count_leaves(self._parents, flags, leaves)
        self._flags: list[int] = flags.tolist()
        self._num_children: list[int] = np.bincount(
            self._parents[self._parents >= 0], minlength=count
        ).tolist()
        tops = np.flatnonzero(self._parents < 0)
        self._tops: list[int] = tops.tolist()
        ends = np.cumsum(leaves[tops])
        self.num_leaves: int = int(ends[-1]) if len(ends) else 0
        self._first_leaves: list[int] = (ends - leaves[tops]).tolist()
        self.names: list[str] = [self._names[top] for top in self._tops]
        self._made: dict[int, pa.Field] = {}
        self._whole: pa.Schema | None = None
        # Sorted when the first nested field is made.
        self._by_parent: Integers | None = None
        self._sorted_parents = self._parents

    def __len__(self) -> int:
        return len(self._tops)

    def field(self, number: int) -> pa.Field:
        """A top-level field."""
        made = self._made.get(number)
        if made is None:
            made = self._made[number] = self._field(self._tops[number], 0)
        return made

    def first_leaf(self, number: int) -> int:
        """The column of the first leaf of a top-level field."""
        return self._first_leaves[number]

    def whole(self) -> pa.Schema:
        """All fields."""
        if self._whole is None:
            fields = [self.field(number) for number in range(len(self._tops))]
            self._whole = pa.schema(fields, self.metadata)
        return self._whole

    def _check_names(self, flags: npt.NDArray[np.uint8], limits: Limits) -> None:
        longest = max(map(len, self._names), default=0)
        if longest > limits.max_name_bytes:
            raise LimitExceededError(
                f"a name of {longest} characters exceeds Limits.max_name_bytes "
                f"({limits.max_name_bytes})",
                structure="schema",
            )
        # Their fields have no ids of their own, which would be reported as damage.
        blobs = np.flatnonzero((flags & (_STRUCT | _BLOB)) == _STRUCT | _BLOB)
        if len(blobs):
            raise UnsupportedFeatureError(
                f"column {self._names[int(blobs[0])]!r} has blobs of the second kind (blob v2)",
                structure="schema",
            )

    def _field(self, place: int, depth: int) -> pa.Field:
        if depth > self._max_depth:
            raise LimitExceededError(
                f"nested deeper than Limits.max_nesting_depth ({self._max_depth})",
                structure="schema",
            )
        data_type = self._type(place, depth)
        flags = self._flags[place]
        metadata = None
        if flags & _HAS_METADATA:
            start, end = self._places[place].tolist()
            pairs = parse(FieldMessage, self._content[start:end]).metadata
            metadata = {key.encode(): value for key, value in pairs}
        nullable = bool(flags & _NULLABLE) or pa.types.is_null(data_type)
        return pa.field(self._names[place], data_type, nullable, metadata)

    def _type(self, place: int, depth: int) -> pa.DataType:
        logical_type = self._types[place]
        kind = logical_type.removesuffix(".struct")
        make = _LISTS.get(kind)
        if make is None and kind not in ("struct", "map"):
            if self._num_children[place]:
                raise UnsupportedFeatureError(
                    f"logical type {logical_type[:100]!r} with children", structure="schema"
                )
            return scalar_type(logical_type)
        children = [self._field(child, depth + 1) for child in self._children(place)]
        if kind == "struct":
            return pa.struct(children)
        if make is not None:
            if len(children) != 1:
                raise CorruptFileError(f"a list with {len(children)} children", structure="schema")
            return make(children[0])
        entries = children[0] if len(children) == 1 else None
        if entries is None or not pa.types.is_struct(entries.type) or entries.type.num_fields != 2:
            raise CorruptFileError("a map without keys and values", structure="schema")
        key, item = entries.type
        return pa.map_(key.with_nullable(False), item)

    def _children(self, place: int) -> list[int]:
        if not self._num_children[place]:
            return []
        if self._by_parent is None:
            self._by_parent = np.argsort(self._parents, kind="stable")
            self._sorted_parents = self._parents[self._by_parent]
        first = int(np.searchsorted(self._sorted_parents, place))
        children: list[int] = self._by_parent[first : first + self._num_children[place]].tolist()
        return children


def _find_parents(ids: npt.NDArray[np.int32]) -> Integers:
    """The index of each field's parent, -1 for none; a parent comes before its children."""
    own, above = ids[:, 0].astype(np.int64), ids[:, 1].astype(np.int64)
    order = np.argsort(own, kind="stable")
    ascending = own[order]
    found = np.minimum(np.searchsorted(ascending, above), max(0, len(own) - 1))
    is_top = above == -1
    parents: Integers = np.where(is_top, -1, order[found]) if len(own) else above
    wrong = (own == -1) | (parents >= np.arange(len(own)))
    wrong |= ~is_top & (ascending[found] != above) if len(own) else False
    # Of fields with the same id, the later ones are wrong.
    wrong[order[1:][ascending[1:] == ascending[:-1]]] = True
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise CorruptFileError(
            f"field {own[first]} below {above[first]} is out of order", structure="schema"
        )
    return parents
