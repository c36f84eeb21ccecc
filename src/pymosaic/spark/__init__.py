"""Mosaic in Spark: the `mosaic` data source, and the optimizer support for its queries."""

from pymosaic.spark.api import read, vacuum, write
from pymosaic.spark.session import Support, enable

__all__ = ["Support", "enable", "read", "vacuum", "write"]
