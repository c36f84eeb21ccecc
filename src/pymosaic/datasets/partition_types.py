"""Types of partition columns as text, as job records keep them: ``int32``, ``decimal128(5, 2)``.

Directories hold text. Values that a dataset's own jobs wrote are read with their original types;
types are inferred only for other directories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from pymosaic.datasets.widening import widened
from pymosaic.errors import DatasetError, MosaicError
from pymosaic.kernels.arrow_source import catalog_from_arrow

__all__ = ["parse_type", "type_texts", "united_types"]

_SIMPLE = {
    str(item): item
    for item in (
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.date32(),
    )
}
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=([^\]]+))?\]")
_DECIMAL = re.compile(r"decimal128\(([0-9]{1,2}), ([0-9]{1,2})\)")


def parse_type(text: str) -> pa.DataType | None:
    """The type that a text stands for; None for one that this version does not know.

    Examples
    --------
    >>> parse_type("decimal128(5, 2)")
    Decimal128Type(decimal128(5, 2))
    >>> parse_type("list<item: int8>") is None
    True
    """
    if text in _SIMPLE:
        return _SIMPLE[text]
    if match := _TIMESTAMP.fullmatch(text):
        return pa.timestamp(match[1], match[2])
    if (match := _DECIMAL.fullmatch(text)) and 1 <= int(match[1]) <= 38:
        return pa.decimal128(int(match[1]), int(match[2]))
    return None


def type_texts(schema: pa.Schema, keys: Sequence[str]) -> dict[str, str]:
    """What records say about types of key columns; types that cannot be stored are skipped."""
    texts = {}
    for key in keys:
        text = str(_plain(schema.field(key).type))
        found = parse_type(text)
        if found is not None and _is_storable(found):
            texts[key] = text
    return texts


def united_types(
    storage_name: str, known: Mapping[str, str], schema: pa.Schema, keys: Sequence[str]
) -> dict[str, str]:
    """The types that can hold both the keys of a dataset and those of the rows to append.

    Raises
    ------
    DatasetError
        If there is no such type for a key.
    """
    texts = type_texts(schema, keys)
    for key, text in texts.items():
        before, new = parse_type(known.get(key, text)), parse_type(text)
        if before is None or new is None:
            continue
        united = widened(before, new)
        if united is None:
            raise DatasetError(
                f"the partition column {key!r} is {before} in {storage_name} and {new} in the data "
                "to append: no type holds both without loss; cast it before appending"
            )
        texts[key] = str(united)
    return texts


def _plain(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(data_type):
        data_type = data_type.value_type
    if pa.types.is_large_string(data_type) or pa.types.is_string_view(data_type):
        return pa.string()
    return data_type


def _is_storable(data_type: pa.DataType) -> bool:
    try:
        catalog_from_arrow(pa.schema([("key", data_type)]), 1)
    except MosaicError:
        return False
    return True
