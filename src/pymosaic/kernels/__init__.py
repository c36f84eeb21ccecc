"""Compiled kernels: the loops over columns and values. They do no I/O."""
