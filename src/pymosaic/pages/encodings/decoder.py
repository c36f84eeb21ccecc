"""The decoder that an encoding uses for the encodings inside it."""

from __future__ import annotations

from typing import Protocol

from pymosaic.errors import UnsupportedFeatureError
from pymosaic.pages.blocks import Block, Chunks, FixedBlock, Memory
from pymosaic.pages.messages import BufferCompression, Encoding, Flat

__all__ = ["Decoder", "flat_bits", "plain", "refuse_buffer_compression"]


class Decoder(Protocol):
    """Decodes any encoding in any of its three forms."""

    @property
    def memory(self) -> Memory:
        """The memory budget for arrays."""
        ...

    def chunks(self, encoding: Encoding | None, chunks: Chunks) -> Block:
        """Decode values in the chunks of a mini-block page."""
        ...

    def blocks(self, encoding: Encoding | None, chunks: Chunks) -> Block:
        """Decode whole blocks: levels and dictionaries."""
        ...

    def values(self, encoding: Encoding | None, block: Block) -> Block:
        """Decode values of a full-zip page, which were encoded one by one."""
        ...


def refuse_buffer_compression(compression: BufferCompression | None, structure: str) -> None:
    """Refuse separately compressed buffers, which the format describes but no version writes."""
    if compression is not None and compression.scheme != 0:
        raise UnsupportedFeatureError("a compressed leaf buffer", structure=structure)


def flat_bits(encoding: Encoding | None, structure: str) -> int:
    """The number of bits per value of an encoding that must be flat here."""
    if not isinstance(encoding, Flat):
        raise UnsupportedFeatureError(
            f"{type(encoding).__name__} where only Flat is supported", structure=structure
        )
    refuse_buffer_compression(encoding.data, structure)
    return encoding.bits_per_value


def plain(block: Block, structure: str) -> FixedBlock:
    """Check that a block has values of fixed width in whole bytes."""
    if not isinstance(block, FixedBlock) or block.bits % 8:
        raise UnsupportedFeatureError("values are not whole bytes", structure=structure)
    return block
