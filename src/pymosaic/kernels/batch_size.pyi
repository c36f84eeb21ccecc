"""About how many bytes a batch takes once it is serialised, before any of it is."""

from pymosaic.kernels.arrow_source import ArrowSource

def measure(source: ArrowSource, batch: object) -> tuple[int, int]:
    """Bytes of all columns and of the largest, about."""
