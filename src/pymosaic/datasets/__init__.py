"""Datasets: directories of Mosaic files, read as one table, written and maintained."""
