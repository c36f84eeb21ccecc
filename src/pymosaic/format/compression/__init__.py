"""Compression of blocks: one module per codec, and one table that lists them.

A block is the schema content, a monolithic bucket or a page. The footer has one byte for all of
them:

===== ======== ==========================================================
code  name     a block is
===== ======== ==========================================================
0     none     its content
1     zstd     exactly one zstd frame, which states the size of its content
===== ======== ==========================================================

Another codec is a module with a :class:`Compression`, and an entry in :data:`COMPRESSIONS`.
"""

from pymosaic.format.compression.codec import Compression, Compressor, Scratch
from pymosaic.format.compression.none import NoCompression
from pymosaic.format.compression.zstd import Zstd

__all__ = [
    "BY_CODE",
    "BY_NAME",
    "COMPRESSIONS",
    "NONE",
    "ZSTD",
    "Compression",
    "Compressor",
    "Scratch",
]

NONE = NoCompression()
ZSTD = Zstd()
COMPRESSIONS: tuple[Compression, ...] = (NONE, ZSTD)
BY_CODE = {compression.code: compression for compression in COMPRESSIONS}
BY_NAME = {compression.name: compression for compression in COMPRESSIONS}
