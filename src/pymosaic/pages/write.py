"""Write one page: from a leaf's levels and values to a layout and its buffers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from pymosaic.errors import InvalidOptionError, UnsupportedFeatureError
from pymosaic.pages.blocks import (
    Block,
    Bytes,
    DictionaryBlock,
    FixedBlock,
    ListBlock,
    StructBlock,
    VariableBlock,
)
from pymosaic.pages.chooser import DICTIONARY_ITEMS
from pymosaic.pages.encoding_choice import EncodingChoice
from pymosaic.pages.encodings import (
    byte_stream_split,
    fixed_size_list,
    flat,
    fsst,
    inline_bitpacking,
    out_of_line_bitpacking,
    packed_struct,
    run_length,
    variable,
    variable_packed_struct,
)
from pymosaic.pages.encodings.encoded import EncodedBlock, EncodedChunks
from pymosaic.pages.encodings.general import GeneralCompressor
from pymosaic.pages.flatten import FlatLeaf, array_to_block
from pymosaic.pages.layouts import constant, full_zip, mini_block
from pymosaic.pages.messages import CompressionScheme, Encoding, General, Layer, Layout

__all__ = ["write_page"]

_FULL_ZIP_BYTES = 256
_FSST_BYTES = 32 << 10
_FSST_SAVES = 0.9
_FSST_LONGEST = 5
_DICTIONARY_SAVES = 0.8
_DICTIONARY_VALUES = 100
_DICTIONARY_ITEMS = 100_000
_SAMPLE_VALUES = 4096


def write_page(
    leaf: FlatLeaf, choice: EncodingChoice, column: str, version: str = "2.1"
) -> tuple[Layout, list[Bytes]]:
    """Choose what is not forced and write.

    Parameters
    ----------
    leaf : FlatLeaf
        What the page holds.
    choice : EncodingChoice
        What is forced.
    column : str
        For messages.
    version : str
        Version of the format: ``"2.1"``, or ``"2.2"``, which has pages of one value and packed
        structs of variable width too.

    Returns
    -------
    Layout, list of arrays
        The page's description and its buffers.
    """
    values = leaf.values
    if pa.types.is_struct(values.type) and values.type.num_fields == 0:
        if leaf.layers != (Layer.ALL_VALID_ITEM,):
            raise UnsupportedFeatureError(
                f"column {column!r}: a struct without fields cannot be null or in a list"
            )
        return constant.write((Layer.NULLABLE_ITEM,), leaf.levels)
    if len(values) == 0 or values.null_count == len(values) or pa.types.is_null(values.type):
        return constant.write(leaf.layers, leaf.levels)
    block = array_to_block(values)
    if version == "2.2" and choice.layout is None and choice.values is None:
        # Under nulls stand zeros or nothing, which are no values.
        shown = block if values.null_count == 0 else array_to_block(values.drop_null())
        value = constant.constant_of(shown)
        if value is not None:
            return constant.write(leaf.layers, leaf.levels, value)
    writer = _PageWriter(leaf, choice, column, version)
    if choice.layout == "full-zip" or (choice.layout is None and writer.is_large(block)):
        return writer.full_zip(block)
    page = writer.mini_block(block)
    if page is not None:
        return page
    if choice.layout is not None:
        raise InvalidOptionError(
            f"encodings[{column!r}]: its values or lists do not fit in the chunks of a mini-block "
            "page; use full-zip"
        )
    return writer.full_zip(block)


class _PageWriter:
    def __init__(
        self, leaf: FlatLeaf, choice: EncodingChoice, column: str, version: str = "2.1"
    ) -> None:
        self._leaf = leaf
        self._version = version
        self._choice = choice
        self._column = column
        self._compressor: GeneralCompressor | None = None
        if choice.compression is not None:
            self._compressor = GeneralCompressor(choice.compression, choice.level)

    def is_large(self, block: Block) -> bool:
        """Whether values are better kept whole."""
        if self._choice.values in ("bit-packed", "run-length", "byte-stream-split", "dictionary"):
            return False
        if isinstance(block, VariableBlock):
            return int(np.diff(block.offsets).max(initial=0)) >= _FULL_ZIP_BYTES
        if isinstance(block, ListBlock):
            row_bits = fixed_size_list.row_bits(block)
            return row_bits >= 8 * _FULL_ZIP_BYTES and not fixed_size_list.holds_bits(block)
        if isinstance(block, StructBlock):
            return self._version == "2.2" and not _is_fixed(block)
        return isinstance(block, FixedBlock) and block.bits >= 8 * _FULL_ZIP_BYTES

    def _refuse(self, what: str) -> InvalidOptionError:
        return InvalidOptionError(
            f"encodings[{self._column!r}]: {what} does not apply to a column of "
            f"{self._leaf.values.type}"
        )

    def full_zip(self, block: Block) -> tuple[Layout, list[Bytes]]:
        """Write a full-zip page."""
        wanted = self._choice.values
        encoding: Encoding
        zipped: FixedBlock | VariableBlock
        if isinstance(block, DictionaryBlock):
            raise self._refuse("full-zip")
        if isinstance(block, ListBlock):
            lists = fixed_size_list.encode_values(block)
            if lists is None:
                raise self._refuse("full-zip")
            encoding, zipped = lists
        elif isinstance(block, StructBlock):
            if _is_fixed(block):
                encoding, zipped = packed_struct.encode_values(block)
            elif self._version == "2.1":
                raise UnsupportedFeatureError(
                    f"column {self._column!r}: a packed struct with strings is a "
                    "VariablePackedStruct, which came with version 2.2 and no 2.1 reader decodes"
                )
            else:
                encoding, zipped = self._packed_rows(block)
        elif isinstance(block, FixedBlock):
            if block.bits == 1:
                # A boolean takes a byte here.
                values = np.unpackbits(block.data, count=block.count, bitorder="little")
                block = FixedBlock(8, block.count, values)
            encoding, zipped = flat.encode_values(block)
        else:
            encoding, zipped = self._full_zip_variable(block)
            wanted = None if wanted == "fsst" else wanted
        if wanted not in (None, "plain", "packed-struct"):
            raise self._refuse(f"full-zip+{wanted}")
        if (
            self._compressor is not None
            and self._choice.layout is not None
            and isinstance(zipped, FixedBlock)
        ):
            raise self._refuse("full-zip with compression")
        return full_zip.write(
            self._leaf.layers, self._leaf.levels, self._leaf.num_items, encoding, zipped
        )

    def _packed_rows(self, block: StructBlock) -> tuple[Encoding, VariableBlock]:
        for field in block.fields:
            if not isinstance(field, VariableBlock) and not (
                isinstance(field, FixedBlock) and field.bits % 8 == 0
            ):
                raise self._refuse("packed-struct (fields must be numbers or strings)")
        return variable_packed_struct.encode_values(block)

    def _full_zip_variable(self, block: VariableBlock) -> tuple[Encoding, VariableBlock]:
        if self._choice.values == "fsst":
            if self._compressor is not None:
                raise self._refuse("full-zip+fsst with compression")
            table, shorter = fsst.compress_values(block)
            inner, shorter = variable.encode_values(shorter)
            return fsst.describe(table, inner), shorter
        encoding, block = variable.encode_values(block)
        if self._compressor is None:
            return encoding, block
        if self._choice.compression is CompressionScheme.LZ4 and not np.diff(block.offsets).all():
            # Readers look for the plain size of every value, also of those that have no bytes.
            if self._choice.layout is None:
                return encoding, block
            raise self._refuse("full-zip+lz4 with nulls or empty values")
        compressed = self._compressor.values(block)
        width = block.offsets.dtype
        if len(compressed.data) >= len(block.data) and self._choice.layout is None:
            return encoding, block
        if len(compressed.data) > np.iinfo(width).max:
            raise UnsupportedFeatureError(
                f"column {self._column!r}: a page of strings does not get smaller and is larger "
                "than 2 GiB; make page_bytes smaller"
            )
        return (
            self._compressor.describe(encoding),
            VariableBlock(compressed.offsets.astype(width), compressed.data),
        )

    def mini_block(self, block: Block) -> tuple[Layout, list[Bytes]] | None:
        """Write a mini-block page; None where it does not fit in chunks."""
        if isinstance(block, DictionaryBlock):
            return self._with_dictionary(block)
        wants_items = self._choice.values in (None, "dictionary")
        found: DictionaryBlock | None = None
        if wants_items and isinstance(block, VariableBlock):
            found = self._find_dictionary(block)
            is_known = self._compressor is None or self._choice.values is not None
            if found is not None and is_known and self._is_small(found, _smallest(block)):
                # No need to know how small the values get without it.
                return self._with_dictionary(found)
        encoded = self._encode(block)
        if wants_items and isinstance(block, FixedBlock | VariableBlock):
            plain = len(block.data) if encoded is None else encoded.num_bytes
            if isinstance(block, FixedBlock):
                found = self._find_dictionary(block, plain)
            if found is not None and self._is_small(found, plain):
                page = self._with_dictionary(found)
                if self._compressor is None or self._choice.values or encoded is None:
                    return page
                # What is smaller after compression is known only now.
                other = self._write_chunks(self._compress(encoded))
                return min((page, other), key=_page_bytes)
            if self._choice.values == "dictionary":
                raise self._refuse("dictionary")
        if encoded is None:
            return None
        return self._write_chunks(self._compress(encoded))

    def _write_chunks(
        self, encoded: EncodedChunks, dictionary: EncodedBlock | None = None, num_items: int = 0
    ) -> tuple[Layout, list[Bytes]] | None:
        return mini_block.write(
            self._leaf.layers,
            self._leaf.levels,
            encoded,
            dictionary,
            num_items,
            large=self._version == "2.2",
        )

    def _compress(self, encoded: EncodedChunks) -> EncodedChunks:
        if self._compressor is None or isinstance(encoded.encoding, General):
            return encoded
        compressed = self._compressor.chunks(encoded)
        return compressed if compressed.num_bytes < encoded.num_bytes else encoded

    def _encode(self, block: Block) -> EncodedChunks | None:
        """Encode values for chunks; None where they are too large."""
        if isinstance(block, VariableBlock):
            return self._encode_variable(block)
        if isinstance(block, FixedBlock):
            return self._encode_fixed(block)
        if self._choice.values not in (None, "plain", "packed-struct"):
            raise self._refuse(self._choice.values or "")
        if isinstance(block, ListBlock):
            encoded = fixed_size_list.encode_chunks(block)
        elif isinstance(block, StructBlock):
            if not all(
                isinstance(field, FixedBlock) and field.bits % 8 == 0 for field in block.fields
            ):
                raise self._refuse("packed-struct (fields must be numbers)")
            encoded = packed_struct.encode_chunks(block)
        else:
            raise self._refuse("mini-block")
        return encoded if encoded.counts.max(initial=2) >= 2 or len(encoded.counts) == 1 else None

    def _encode_fixed(self, block: FixedBlock) -> EncodedChunks | None:
        wanted = self._choice.values
        packable = block.bits in inline_bitpacking.WIDTHS
        makers: dict[str, Callable[[FixedBlock], EncodedChunks]] = {
            "plain": flat.encode_chunks,
            "bit-packed": inline_bitpacking.encode_chunks,
            "run-length": run_length.encode_chunks,
            "byte-stream-split": byte_stream_split.encode_chunks,
        }
        if wanted in makers:
            if (wanted in ("bit-packed", "run-length") and not packable) or (
                wanted == "byte-stream-split" and block.bits not in (32, 64)
            ):
                raise self._refuse(wanted)
            return makers[wanted](block)
        if wanted not in (None, "dictionary"):
            raise self._refuse(wanted or "")
        if not packable:
            encoded = flat.encode_chunks(block)
            return encoded if block.count <= 1 or encoded.counts[0] > 1 else None
        if self._compressor is not None:
            # The smallest encoding need not be the smallest after compression: all are tried.
            tried = [
                self._compress(make(block))
                for name, make in makers.items()
                if name != "byte-stream-split" or block.bits in (32, 64)
            ]
            return min(tried, key=lambda encoded: encoded.num_bytes)
        sizes = {
            "plain": len(block.data),
            "bit-packed": inline_bitpacking.packed_size(
                block, inline_bitpacking.group_widths(block)
            ),
            "run-length": run_length.run_size(block),
        }
        return makers[min(sizes, key=lambda name: sizes[name])](block)

    def _encode_variable(self, block: VariableBlock) -> EncodedChunks | None:
        wanted = self._choice.values
        if wanted not in (None, "plain", "fsst", "dictionary"):
            raise self._refuse(wanted or "")
        longest = int(np.diff(block.offsets).max(initial=0))
        worthwhile = len(block.data) >= _FSST_BYTES and longest >= _FSST_LONGEST
        if wanted == "fsst" or (wanted is None and worthwhile and self._compressor is None):
            table, shorter = fsst.compress_values(block)
            saved = len(shorter.data) + fsst.TABLE_BYTES < _FSST_SAVES * len(block.data)
            if wanted == "fsst" or saved:
                encoded = variable.encode_chunks(shorter)
                if encoded is None:
                    return None
                return EncodedChunks(
                    fsst.describe(table, encoded.encoding), encoded.counts, encoded.buffers
                )
        return variable.encode_chunks(block)

    def _find_dictionary(
        self, block: FixedBlock | VariableBlock, plain: int | None = None
    ) -> DictionaryBlock | None:
        """Distinct values; None if a sample shows that they do not pay, or do not where forced."""
        forced = self._choice.values == "dictionary"
        if isinstance(block, FixedBlock) and (block.bits < 64 or block.bits % 8) and not forced:
            return None
        if block.count < _DICTIONARY_VALUES and not forced:
            return None
        if isinstance(block, FixedBlock) and block.bits == 1:
            return None
        array = _as_array(block)
        if not forced:
            sample = array.slice(0, _SAMPLE_VALUES)
            distinct = len(sample.unique())
            if distinct > len(sample) // 2:
                return None
            if plain is not None and self._compressor is None:
                # All values have at least as many different ones.
                least = block.count * _index_bits(distinct) // 8
                if least >= _DICTIONARY_SAVES * plain:
                    return None
        entries = array.dictionary_encode()
        items = array_to_block(entries.dictionary)
        assert isinstance(items, FixedBlock | VariableBlock)
        return DictionaryBlock(entries.indices.to_numpy().astype(np.uint32), items)

    def _is_small(self, found: DictionaryBlock, plain: int) -> bool:
        """Whether a dictionary is forced, or smaller than values of so many bytes."""
        if self._choice.values == "dictionary":
            return True
        items = found.items
        assert isinstance(items, FixedBlock | VariableBlock)
        if self._compressor is not None:
            return items.count <= DICTIONARY_ITEMS
        size = len(items.data) + found.count * _index_bits(items.count) // 8
        if isinstance(items, VariableBlock):
            size += items.offsets.nbytes
        return items.count <= _DICTIONARY_ITEMS and size < _DICTIONARY_SAVES * plain

    def _with_dictionary(self, block: DictionaryBlock) -> tuple[Layout, list[Bytes]] | None:
        bits = 8 * block.indices.itemsize
        indices = np.ascontiguousarray(block.indices).view(np.uint8)
        encoded = _PageWriter(self._leaf, EncodingChoice(), self._column)._encode_fixed(
            FixedBlock(bits, block.count, indices)
        )
        assert encoded is not None
        items = block.items
        dictionary: EncodedBlock
        if isinstance(items, VariableBlock):
            dictionary = variable.encode_block(items)
        else:
            assert isinstance(items, FixedBlock)
            dictionary = _items_block(items)
        return self._write_chunks(self._compress(encoded), dictionary, items.count)


def _index_bits(num_items: int) -> int:
    return max(1, (num_items - 1).bit_length())


def _smallest(block: VariableBlock) -> int:
    """Fewer bytes than strings take as offsets and codes, of which each stands for 8 at most."""
    return block.offsets.itemsize * block.count + len(block.data) // 8


def _is_fixed(block: StructBlock) -> bool:
    return all(isinstance(field, FixedBlock) for field in block.fields)


def _page_bytes(page: tuple[Layout, list[Bytes]] | None) -> float:
    return float("inf") if page is None else sum(buffer.nbytes for buffer in page[1])


def _items_block(items: FixedBlock) -> EncodedBlock:
    """Items of a dictionary: bit-packed where that is smaller."""
    if items.bits in inline_bitpacking.WIDTHS and items.count > inline_bitpacking.GROUP:
        width = int(inline_bitpacking.group_widths(items).max())
        if 0 < width < items.bits:
            packed = out_of_line_bitpacking.encode_block(items, width)
            if len(packed.data) < len(items.data):
                return packed
    return flat.encode_block(items)


def _as_array(block: FixedBlock | VariableBlock) -> pa.Array:
    """Values as something that Arrow can tell apart."""
    if isinstance(block, VariableBlock):
        large = block.offsets.dtype == np.int64
        buffers = [None, pa.py_buffer(block.offsets), pa.py_buffer(block.data)]
        data_type = pa.large_binary() if large else pa.binary()
        return pa.Array.from_buffers(data_type, block.count, buffers)
    width = block.bits // 8
    data_type = {1: pa.uint8(), 2: pa.uint16(), 4: pa.uint32(), 8: pa.uint64()}.get(
        width, pa.binary(width)
    )
    return pa.Array.from_buffers(data_type, block.count, [None, pa.py_buffer(block.data)])
