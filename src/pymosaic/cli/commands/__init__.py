"""One module for each command: ``command`` is the function, ``EXAMPLES`` stand in its help."""
