"""Lance data files (version 2.1, reading also 2.2), on pymosaic's own page codec."""

from pymosaic.lance.columns import LancePage
from pymosaic.lance.mosaic_types import from_mosaic, to_mosaic
from pymosaic.lance.reader import LanceFile
from pymosaic.lance.writer import write_table

__all__ = ["LanceFile", "LancePage", "from_mosaic", "to_mosaic", "write_table"]
