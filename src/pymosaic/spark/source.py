"""The `mosaic` data source, as Spark finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from pymosaic.spark.options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pymosaic.spark.reading import MosaicReader
    from pymosaic.spark.writing import DatasetWriter

__all__ = ["MosaicDataSource"]


class MosaicDataSource(DataSource):
    """Mosaic files and datasets in Spark.

    :func:`pymosaic.spark.enable` registers it, and describes what else it sets up.
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._parsed = SourceOptions.parse(options)

    @property
    def scan_id(self) -> str | None:
        """Identifies one scan of one query, if the optimizer rule made it."""
        return self._parsed.pushed.get("scan")

    @property
    def starts_workers(self) -> bool:
        """Whether this read only starts workers."""
        return bool(self._parsed.pushed.get("start"))

    @classmethod
    def name(cls) -> str:
        """The name of the source in ``format("mosaic")`` and ``USING mosaic``."""
        return "mosaic"

    def schema(self) -> StructType:
        """The relation's columns: those of all files, or those selected by the option `columns`."""
        from pymosaic.spark.types import spark_schema

        return spark_schema(self.columns()[0])

    def columns(self) -> tuple[pa.Schema, tuple[str, ...]]:
        """The same as the dataset layer has it, and which of them are made by directories."""
        from pymosaic.spark.reading import open_relation

        dataset = open_relation(self._parsed)
        schema = dataset.scan(columns=self._parsed.columns).schema
        names = set(schema.names)
        return schema, tuple(key for key in dataset.partition_columns if key in names)

    def reader(self, schema: StructType) -> MosaicReader:
        """Plan a read of the columns in ``schema``."""
        from pymosaic.spark.reading import MosaicReader

        return MosaicReader(self._parsed, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DatasetWriter:
        """Start a write."""
        from pymosaic.spark.writing import DatasetWriter

        return DatasetWriter(self._parsed, schema, overwrite)
