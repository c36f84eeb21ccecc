"""Compiled loops of the page codec: over chunks, levels and values."""
