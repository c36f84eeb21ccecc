"""What is fuzzed. A target takes any bytes and raises if pymosaic does what it must not.

Bytes of a file lead to data or to a ``MosaicError``; data is valid Arrow, and the same whichever
way it is read. Data given to a writer is refused with a ``MosaicError``, or comes back identical.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa
import pyarrow.ipc

import pymosaic
from pymosaic.datasets.original_union import OriginalUnion
from pymosaic.file.open_file import read_head
from pymosaic.io.memory import MemorySource
from pymosaic.lance import LanceFile
from pymosaic.pages.summary import summarize
from tests.equality import assert_identical, assert_same_values
from tests.fuzz.annex_recipe import BASES, STORED, assemble_annex
from tests.fuzz.arrow_data import make_job
from tests.fuzz.lance_recipe import assemble_lance
from tests.fuzz.recipe import assemble
from tests.oracle import decode

# Small, so that a run is quick, and so that whatever gets past them shows as memory.
LIMITS = pymosaic.Limits(
    max_block_bytes=4 << 20,
    max_index_bytes=1 << 20,
    max_columns=20_000,
    max_name_bytes=64 << 10,
    max_names_bytes=1 << 20,
    max_row_group_bytes=8 << 20,
    max_table_bytes=16 << 20,
)
# Below what kernels take room for at once.
TIGHT = replace(
    LIMITS, max_block_bytes=16 << 10, max_columns=200, max_name_bytes=40, max_names_bytes=2_000
)
_COLUMNS_ALONE = 4
_ROW_GROUPS = 4
# Statistics of a forged row group are of any number of rows; as Python objects they cost.
_MAX_ROWS_TO_FILTER = 100_000
_MAX_VALUES_FOR_ORACLE = 2_000

ACCEPTED, REFUSED = "accepted", "refused"


def _refused(error: pymosaic.MosaicError) -> str:
    """Refused, with a message that can be shown."""
    assert str(error)
    return REFUSED


def fuzz_open(recipe: bytes) -> str:
    """Open a file and ask for all that is known without reading its buckets."""
    data = assemble(recipe)
    with suppress(pymosaic.MosaicError), pymosaic.MosaicFile(data, limits=TIGHT):
        pass
    try:
        with pymosaic.MosaicFile(data, limits=LIMITS) as file:
            schema = file.schema
            assert schema.names == file.column_names
            assert len(schema) == file.num_columns
            assert repr(file)
            metadata = file.metadata
            assert metadata.num_rows == file.num_rows
            for row_group in range(min(file.num_row_groups, _ROW_GROUPS)):
                file.statistics(row_group)
    except pymosaic.MosaicError as error:
        return _refused(error)
    return ACCEPTED


def fuzz_read(recipe: bytes) -> str:
    """Read a file whole, column by column, with filters and in batches."""
    data = assemble(recipe)
    try:
        file = pymosaic.MosaicFile(data, limits=LIMITS, types="mosaic")
    except pymosaic.MosaicError:
        return REFUSED
    with file:
        names = file.column_names[:: 1 + file.num_columns // _COLUMNS_ALONE]
        try:
            table = file.read(use_threads=False)
        except pymosaic.MosaicError:
            for name in names:
                _read_alone(file, name)
            return REFUSED
        table.validate(full=True)
        assert table.num_rows == file.num_rows
        assert table.schema.equals(file.schema)
        for name in names:
            alone = _read_alone(file, name)
            assert alone is not None, f"column {name!r} reads with others but not alone"
            assert_same_values(_combined(alone), _combined(table[name]), name)
        if names and table.num_rows <= _MAX_ROWS_TO_FILTER:
            _read_filtered(file, table, names[0])
        _ask_metadata(file)
    # The oracle is slow and has no limits.
    values = (table.num_rows + file.num_buckets) * (table.num_columns + 1)
    if values <= _MAX_VALUES_FOR_ORACLE and file.num_row_groups <= _ROW_GROUPS:
        _compare_with_oracle(data, table)
    return ACCEPTED


def _compare_with_oracle(data: bytes, table: pa.Table) -> None:
    """The oracle reads legal files; what it reads of others is what pymosaic reads, or nothing."""
    try:
        expected = decode(data).table
    except Exception:
        return
    assert_identical(table, expected)


def _read_alone(file: pymosaic.MosaicFile, name: str) -> pa.ChunkedArray | None:
    try:
        table = file.read([name], use_threads=False)
    except pymosaic.MosaicError:
        return None
    table.validate(full=True)
    assert table.column_names == [name]
    return table[0]


def _read_filtered(file: pymosaic.MosaicFile, table: pa.Table, name: str) -> None:
    """Nulls and the rest make up the whole, with statistics or without."""
    column = table[name]
    for condition, count in (
        ("is null", column.null_count),
        ("is not null", len(column) - column.null_count),
    ):
        try:
            found = file.read([name], filters=[(name, condition)], use_threads=False)
        except pymosaic.MosaicError:
            continue  # statistics are looked at only now
        # Counts of nulls in statistics may lie; a row group is then left out.
        assert found.num_rows <= count
        found.validate(full=True)


def _ask_metadata(file: pymosaic.MosaicFile) -> None:
    try:
        for row_group in range(min(file.num_row_groups, _ROW_GROUPS)):
            file.statistics(row_group)
    except pymosaic.MosaicError:
        pass


def _combined(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def fuzz_write(data: bytes) -> str:
    """Write what the bytes make of Arrow, read it back, and let the oracle read it too."""
    job = make_job(data)
    stream = io.BytesIO()
    try:
        with pymosaic.MosaicWriter(stream, job.schema, **job.options) as writer:
            for batch in job.batches:
                writer.write(batch)
    except pymosaic.MosaicError as error:
        return _refused(error)
    written = stream.getvalue()
    table = pymosaic.read_table(written, use_threads=False)
    assert_identical(table, pa.Table.from_batches(job.batches, job.schema))
    if len(data) % 4 == 0:  # it is slow
        assert_identical(decode(written).table, table)
    return ACCEPTED


def fuzz_annex(recipe: bytes) -> str:
    """Read files whose annexes say anything: as they were written, and as a dataset would."""
    data = assemble_annex(recipe)
    stored = STORED[recipe[0] % len(BASES) if recipe else 0]
    try:
        with pymosaic.MosaicFile(data, limits=LIMITS) as file:
            names = file.column_names
            schema = file.schema
            table = file.read(use_threads=False)
            assert file.metadata.user is not None
    except pymosaic.MosaicError as error:
        outcome = _refused(error)
    else:
        outcome = ACCEPTED
        table.validate(full=True)
        assert names == stored.column_names
        assert table.schema.equals(schema, check_metadata=True)
        assert table.num_rows == stored.num_rows
    # Whatever it says of types, a guarded file gives its data in those that are stored.
    try:
        assert pymosaic.read_table(data, limits=LIMITS, types="mosaic").equals(stored)
    except pymosaic.MosaicError:
        if outcome == ACCEPTED:
            raise
    with suppress(pymosaic.MosaicError):
        pymosaic.merge([data, data], io.BytesIO(), limits=LIMITS)
    try:
        head = read_head(MemorySource(data), LIMITS, keeps_metadata=True)
        union = OriginalUnion(LIMITS)
        union.add(head)
        union.schema(stored.schema)
    except pymosaic.MosaicError:
        if outcome == ACCEPTED:
            raise
    return outcome


def fuzz_lance(recipe: bytes) -> str:
    """Open a Lance file and read it whole, column by column, by rows and in batches."""
    try:
        file = LanceFile(assemble_lance(recipe), limits=LIMITS)
    except pymosaic.MosaicError as error:
        return _refused(error)
    with file:
        outcomes = {_tried(read, file) for read in _LANCE_READS}
    return REFUSED if REFUSED in outcomes else ACCEPTED


def _tried(read: Callable[[LanceFile], None], file: LanceFile) -> str:
    try:
        read(file)
    except pymosaic.MosaicError as error:
        return _refused(error)
    return ACCEPTED


def _look_at_pages(file: LanceFile) -> None:
    assert len(file.schema) == len(file.column_names)
    assert repr(file)
    for name in file.column_names[:_COLUMNS_ALONE]:
        for leaf in range(min(len(file.leaves(name)), _COLUMNS_ALONE)):
            for page in file.pages(name, leaf):
                assert summarize(page.layout)


def _read_whole(file: LanceFile) -> None:
    table = file.read()
    table.validate(full=True)
    assert table.num_rows == file.num_rows
    for name in file.column_names[:_COLUMNS_ALONE]:
        assert _as_stream(file.read([name])) == _as_stream(table.select([name]))


def _as_stream(table: pa.Table) -> bytes:
    """Bytes that are the same for the same values, also where they are not numbers."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _take(file: LanceFile) -> None:
    if file.num_rows:
        rows = [0, file.num_rows // 2, file.num_rows - 1, file.num_rows // 3]
        taken = file.take(rows)
        taken.validate(full=True)
        assert taken.num_rows == len(rows)


def _iterate(file: LanceFile) -> None:
    for batch, _ in zip(file.iter_batches(batch_size=1000), range(_ROW_GROUPS), strict=False):
        batch.validate(full=True)


_LANCE_READS = (_look_at_pages, _read_whole, _take, _iterate)


TARGETS: dict[str, Callable[[bytes], str]] = {
    "open": fuzz_open,
    "read": fuzz_read,
    "write": fuzz_write,
    "annex": fuzz_annex,
    "lance": fuzz_lance,
}
