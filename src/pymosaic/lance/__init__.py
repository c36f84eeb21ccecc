"""Lance data files (version 2.1, reading also 2.2), on pymosaic's own page codec."""

from pymosaic.lance.columns import LancePage
from pymosaic.lance.reader import LanceFile
from pymosaic.lance.writer import write_table

__all__ = ["LanceFile", "LancePage", "write_table"]
