"""Hashes of values, columns and rows that do not depend on the order of rows.

The hash of a value has 64 bits and depends on the value alone, not on the file, batch or machine.
The hash of a column is the sum of its values' hashes, modulo 2**64: equal for equal rows in any
order, and for different rows with a probability of about 2**-64. The hash of all rows is the same
for whole rows: it also differs if equal values are in other rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.profiling.hashing import STEP, Hashes, hash_values, mix

__all__ = ["Fingerprint"]


@dataclass(slots=True)
class Fingerprint:
    """Number of rows, nulls and hash of each column, hash of all rows.

    All are sums, so that parts can be added.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.spark.jobs.fingerprints import Fingerprint
    >>> one, other = Fingerprint.empty(1), Fingerprint.empty(1)
    >>> one.add_batch(pa.record_batch({"n": [1, 2, None]}))
    >>> for value in (None, 2, 1):
    ...     other.add_batch(pa.record_batch({"n": pa.array([value], pa.int64())}))
    >>> one.rows, one.nulls.tolist(), bool((one.hashes == other.hashes).all())
    (3, [1], True)
    """

    rows: int
    nulls: npt.NDArray[np.int64]
    hashes: Hashes
    whole_rows: Hashes

    @classmethod
    def empty(cls, num_columns: int) -> Fingerprint:
        """The fingerprint of no rows."""
        return cls(
            0,
            np.zeros(num_columns, np.int64),
            np.zeros(num_columns, np.uint64),
            np.zeros(1, np.uint64),
        )

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self.rows += batch.num_rows
        # As arrays: sums of arrays wrap around silently, those of single numbers warn.
        self.nulls += np.array([column.null_count for column in batch.columns], np.int64)
        sums = np.zeros(batch.num_columns, np.uint64)
        rows = np.zeros(batch.num_rows, np.uint64)
        for place, column in enumerate(batch.columns):
            values = hash_values(column)
            sums[place] = values.sum(dtype=np.uint64)
            # The place tells columns apart, so that values swapped within a row count as well.
            rows += mix(values + np.array([place], np.uint64) * STEP)
        self.hashes += sums
        self.whole_rows += mix(rows).sum(dtype=np.uint64)

    def add(self, other: Fingerprint) -> None:
        """Add another fingerprint."""
        self.rows += other.rows
        self.nulls += other.nulls
        self.hashes += other.hashes
        self.whole_rows += other.whole_rows
