"""The `mosaic` data source, as Spark finds it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from pyspark.sql.datasource import DataSource

from pymosaic.errors import DatasetError, UnsupportedFeatureError
from pymosaic.spark.options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pymosaic.spark.listing import FileListing
    from pymosaic.spark.paimon_tables import PaimonWriter
    from pymosaic.spark.reading import MosaicReader
    from pymosaic.spark.writing import DatasetWriter

__all__ = ["MosaicDataSource", "NoColumnsError"]


class NoColumnsError(DatasetError):
    """There are no files that tell the columns."""


class MosaicDataSource(DataSource):
    """Mosaic files and datasets in Spark.

    :func:`pymosaic.spark.enable` registers it, and describes what else it sets up.
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._parsed = SourceOptions.parse(options)
        self._listing: FileListing | None = None

    @property
    def scan_id(self) -> str | None:
        """Identifies one scan of one query, if the optimizer rule made it."""
        return self._parsed.pushed.get("scan")

    @property
    def state(self) -> str | None:
        """The files of the relation, once they are known."""
        return self._parsed.state

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
        from pymosaic.spark.predicates import decode_filters
        from pymosaic.spark.relations import open_relation

        relation, dataset = open_relation(self._parsed)
        if dataset is None:
            raise NoColumnsError(
                f"unable to infer a schema: there are no Mosaic files in {relation.listing.base}; "
                "declare one with schema(...), or set recursiveFileLookup to look in directories"
            )
        # Queries of this relation read the files that are there now, in whatever process.
        self._listing = relation.listing
        self._parsed = replace(self._parsed, state=relation.state)
        # With filters, so that a wrong one is an error of the load.
        filters = decode_filters(self._parsed.filters)
        schema = dataset.schema
        if self._parsed.columns is not None or filters or dataset.conflicts:
            schema = dataset.scan(columns=self._parsed.columns, filters=filters or None).schema
        schema = relation.described(dataset, schema)
        keys = dataset.partition_columns
        return schema, tuple(key for key in keys if schema.get_field_index(key) >= 0)

    def reader(self, schema: StructType) -> MosaicReader:
        """Plan a read of the columns in ``schema``."""
        from pymosaic.spark.reading import MosaicReader
        from pymosaic.spark.relations import states

        if self._listing is not None:
            states.put(self._listing)
        return MosaicReader(self._parsed, schema)

    def streamReader(self, schema: StructType) -> NoReturn:  # noqa: N802  (Spark's name)
        """Refuse: streams are read by the JVM's own part of this source."""
        raise _without_streams()

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: N802
        """Refuse, for the same reason."""
        raise _without_streams()

    def writer(self, schema: StructType, overwrite: bool) -> DatasetWriter | PaimonWriter:
        """Start a write."""
        from pymosaic.spark.paimon_tables import PaimonWriter, is_paimon
        from pymosaic.spark.writing import DatasetWriter

        if is_paimon(self._parsed):
            return PaimonWriter(self._parsed, schema, overwrite)
        return DatasetWriter(self._parsed, schema, overwrite)


def _without_streams() -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        "streams need pymosaic.spark.enable(spark); with Spark Connect, they need a server that "
        "was started with `python -m pymosaic.spark.connect`"
    )
