"""Byte order, varints and the bounds-checked cursor. All of it is for other kernels only."""
