"""Verification of a whole file: its metadata, its index, its buckets."""
