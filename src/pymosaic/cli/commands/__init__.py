"""One module per command: ``command`` is the function, ``EXAMPLES`` appear in its help."""
