"""The source that Ray reads; imported only where Ray is.

Ray passes its source the columns that a pipeline needs and the conditions that it can express for
Arrow; both become parts of the scan, which is planned in the driver when the pipeline runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from ray.data.block import BlockMetadata  # pyright: ignore[reportMissingImports]
from ray.data.datasource import Datasource, ReadTask  # pyright: ignore[reportMissingImports]

from pymosaic.datasets.arrow_dataset import ArrowDataset
from pymosaic.datasets.scan import Scan
from pymosaic.file.projection import Columns
from pymosaic.filters.given import Filters
from pymosaic.interop.parts import Part, parts_of, read_part

__all__ = ["MosaicDatasource"]

# Numbers of a bucket compress to about a third; Ray wants an estimate of the memory.
_EXPANSION = 3
_ROWS = "__rows__"

if TYPE_CHECKING:
    # Ray has no types for mypy here: it is installed in an environment of its own.
    class _Base:
        def __init__(self) -> None: ...

        _predicate_expr: Any

else:
    _Base = Datasource


class MosaicDatasource(_Base):
    """What ``ray.data.read_datasource`` takes; made by :func:`pymosaic.to_ray`."""

    def __init__(
        self,
        source: ArrowDataset,
        columns: Columns | None,
        filters: Filters | None,
        exclude: Columns | None,
    ) -> None:
        super().__init__()
        # Wrong names are refused here, not when the pipeline runs.
        names = source.scan(columns, filters, exclude=exclude).schema.names
        self._source = source
        self._names: list[str] = names
        self._filters = filters
        # Of Ray: the columns that a pipeline needs, None for all.
        self._projection_map: dict[str, str] | None = None

    def supports_projection_pushdown(self) -> bool:
        """Yes: only the buckets of the columns are read."""
        return True

    def supports_predicate_pushdown(self) -> bool:
        """Yes, unless there are filters in another form than Ray's, which are not joined."""
        return self._filters is None or isinstance(self._filters, pc.Expression)

    def _scan(self) -> Scan:
        names = self._names
        if self._projection_map is not None:
            names = [name for name in names if name in self._projection_map]
        wanted = self._filters
        if self._predicate_expr is not None:
            condition = self._predicate_expr.to_pyarrow()
            wanted = condition if wanted is None else wanted & condition
        return self._source.scan(names, wanted)

    def estimate_inmemory_data_size(self) -> int | None:
        """About how many bytes the tables take."""
        return self._scan().plan().bytes.to_read * _EXPANSION

    def get_read_tasks(
        self,
        parallelism: int,
        per_task_row_limit: int | None = None,
        data_context: object = None,
    ) -> list[Any]:
        """About as many tasks as Ray asks for, of about equal size."""
        scan = self._scan()
        size = scan.plan().bytes.to_read
        task = scan.task()
        exact = task.row_filter is None
        tasks = []
        for part in parts_of(scan, max(1, -(-size // max(1, parallelism)))) or [()]:
            metadata = BlockMetadata(
                num_rows=sum(piece.num_rows for piece in part) if exact else None,
                size_bytes=sum(piece.num_bytes for piece in part) * _EXPANSION,
                input_files=None,
                exec_stats=None,
            )
            read: Callable[[], list[pa.Table]] = partial(_read, task, part)
            tasks.append(
                ReadTask(read, metadata, schema=scan.schema, per_task_row_limit=per_task_row_limit)
            )
        return tasks


def _read(task: Any, part: Part) -> list[pa.Table]:
    table = read_part(task, part)
    # Ray asks for no columns to count rows, and loses the number of rows of such tables.
    return [table if table.column_names else pa.table({_ROWS: pa.nulls(table.num_rows)})]
