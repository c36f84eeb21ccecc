"""What columns hold: counts, ranges, quantiles, distinct values, in one pass."""
