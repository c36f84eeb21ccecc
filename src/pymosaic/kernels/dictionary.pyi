"""Dictionary tracking; for other kernels only."""
