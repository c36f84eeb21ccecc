"""PyPaimon's access to files, with Mosaic files written by pymosaic."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pymosaic.file.writer import write_table
from pymosaic.paimon.exclusive import with_method
from pymosaic.paimon.table import PaimonTable

__all__ = ["writing_table"]


def writing_table(
    table: PaimonTable, options: dict[str, str] | None = None, schema: Any = None
) -> Any:
    """PyPaimon's table, whose Mosaic files pymosaic writes: whole or not at all.

    Parameters
    ----------
    table : PaimonTable
    options : dict, optional
        Options of the table for this write only.
    schema : object, optional
        A schema of PyPaimon to write by; the newest, unless given.
    """
    whole = table.whole(schema).copy(options or {})
    whole.file_io = _writing(table)
    whole.schema_manager = table.schema_manager()
    return whole


def _writing(table: PaimonTable) -> Any:
    def write_mosaic(self: Any, path: str, data: pa.Table, **options: Any) -> None:
        """Write a Mosaic file, with the options that PyPaimon made of the table's."""
        given: Any = options["options"]
        self.mkdirs(path.rsplit("/", 1)[0])
        write_table(
            data,
            table.local_path(path),
            filesystem=table.filesystem,
            compression_level=given.zstd_level,
            num_buckets=given.num_buckets or None,
            row_group_bytes=given.row_group_max_size,
            max_dict_entries=given.max_dict_entries,
            max_dict_bytes=given.max_dict_total_bytes,
            page_size_threshold=given.page_size_threshold,
            statistics=_known(given.stats_columns, data.schema),
        )

    return with_method(table.file_io, "write_mosaic", write_mosaic)


def _known(names: list[str], schema: pa.Schema) -> list[str] | None:
    """The columns with statistics that a file has: a column file has some of the table's."""
    held = set(schema.names)
    return [name for name in names if name in held] or None
