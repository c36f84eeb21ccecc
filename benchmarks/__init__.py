"""Benchmarks of Mosaic and its peers: `make bench`, or `python -m benchmarks --help`."""
