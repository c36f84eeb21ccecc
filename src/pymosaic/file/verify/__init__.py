"""Verification of a whole file: its ends, its index, its buckets."""
