"""Lets Spark find the `mosaic` data source by itself.

Spark imports every top-level module whose name begins with ``pyspark_`` and registers its
``DefaultSource``. :func:`pymosaic.spark.enable` does that and more.
"""

from pymosaic.spark.source import MosaicDataSource as DefaultSource

__all__ = ["DefaultSource"]
