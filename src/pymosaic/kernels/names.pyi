"""How column names are written. Its functions are for other kernels only."""

class EncodedNames:
    """The names of a catalog, encoded; nothing of it can be seen from Python."""
