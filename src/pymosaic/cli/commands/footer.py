"""``pymosaic footer``."""

from __future__ import annotations

from pymosaic.cli.options import Files, inspecting
from pymosaic.cli.output import Document, Output

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic footer data.mosaic",
    "pymosaic footer data.mosaic --json | jq .num_row_groups",
]


@inspecting
def command(output: Output, files: Files) -> None:
    """Show the footer: offsets, counts, compression."""
    from pymosaic.cli.inputs import mosaic_files
    from pymosaic.format.footer import MAGIC, VERSION

    for source in mosaic_files(files):
        with source.open() as file:
            path = source.path
            metadata = file.metadata
            facts = {
                "file": path,
                "magic": MAGIC.decode(),
                "version": VERSION,
                "num_buckets": metadata.num_buckets,
                "num_row_groups": metadata.num_row_groups,
                "compression": metadata.compression,
                "annex_offset": metadata.annex_offset,
                "annex_bytes": metadata.annex_size,
                "schema_offset": metadata.schema_offset,
                "schema_bytes": metadata.schema_block_size,
                "index_offset": metadata.index_offset,
                "index_bytes": metadata.index_size,
                "file_bytes": metadata.file_size,
            }
            sizes = ("annex_bytes", "schema_bytes", "index_bytes", "file_bytes")
            output.document(Document(path, facts, sizes=sizes))
