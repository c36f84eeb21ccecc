"""Mosaic against its peers on wide tables: `make bench`, or `python -m benchmarks --help`."""
