"""Paimon tables: planned and committed by PyPaimon, read and written by pymosaic."""

from pymosaic.paimon.acceleration import accelerate
from pymosaic.paimon.compaction import CompactedTable, compact
from pymosaic.paimon.dataset import PaimonDataset, dataset
from pymosaic.paimon.grow import add_columns, drop_columns, rename_columns, update_columns
from pymosaic.paimon.write import WrittenTable, write

__all__ = [
    "CompactedTable",
    "PaimonDataset",
    "WrittenTable",
    "accelerate",
    "add_columns",
    "compact",
    "dataset",
    "drop_columns",
    "rename_columns",
    "update_columns",
    "write",
]
