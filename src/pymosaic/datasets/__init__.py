"""Directories of Mosaic files: reading them as one table, writing and keeping them."""
