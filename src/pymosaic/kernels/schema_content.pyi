"""The content of the schema block: bytes <-> Catalog."""

from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits

def parse(content: bytes | bytearray | memoryview, limits: Limits) -> Catalog:
    """Read the content of a schema block."""

def emit(catalog: Catalog) -> bytes:
    """The content of the schema block for a catalog whose columns are sorted by name."""
