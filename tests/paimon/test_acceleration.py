"""PyPaimon's own reader and writer of Mosaic files, with paimon-mosaic and with pymosaic."""

from __future__ import annotations

import datetime
import sys
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import mosaic as reference
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pypaimon.common.predicate_builder import PredicateBuilder
from pypaimon.filesystem.local_file_io import LocalFileIO
from pypaimon.read.reader.format_mosaic_reader import FormatMosaicReader
from pypaimon.schema.data_types import AtomicType, DataField, PyarrowFieldParser

from pymosaic.compat import mosaic as ours
from pymosaic.paimon import accelerate, dataset
from tests.paimon.building import EVOLVING, Warehouse, theirs, update, write

EVERY_TYPE = pa.table(
    {
        "bool": [True, None],
        "tiny": pa.array([1, -1], pa.int8()),
        "small": pa.array([300, None], pa.int16()),
        "int": pa.array([-70_000, 70_000], pa.int32()),
        "big": [1 << 40, None],
        "float": pa.array([1.5, -0.0], pa.float32()),
        "double": [None, 2.25],
        "text": ["", None],
        "bytes": pa.array([b"\x00\xff", None], pa.binary()),
        "decimal": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
        "date": pa.array([datetime.date(2024, 5, 31), None]),
        "millis": pa.array([1000, None], pa.timestamp("ms")),
        "micros": pa.array([1001, None], pa.timestamp("us")),
    }
)


@pytest.fixture(params=["paimon-mosaic", "pymosaic"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """What PyPaimon imports as ``mosaic``."""
    monkeypatch.setitem(sys.modules, "mosaic", reference)
    if request.param == "pymosaic":
        accelerate()
        assert sys.modules["mosaic"] is ours
    return sys.modules["mosaic"]


def fields_of(schema: pa.Schema) -> list[DataField]:
    return [
        DataField(number, field.name, PyarrowFieldParser.to_paimon_type(field.type, True))
        for number, field in enumerate(schema)
    ]


def read(path: Path, fields: list[DataField], *predicates: Any) -> pa.Table:
    pushed, of_row_groups = predicates or (None, None)
    reader = FormatMosaicReader(
        LocalFileIO(str(path), {}),
        str(path),
        fields,
        pushed,
        batch_size=1024,
        row_group_predicate=of_row_groups,
    )
    batches = []
    while (batch := reader.read_arrow_batch()) is not None:
        batches.append(batch)
    reader.close()
    schema = pa.schema([PyarrowFieldParser.from_paimon_field(field) for field in fields])
    return pa.Table.from_batches(batches) if batches else schema.empty_table()


def test_every_type_and_nulls(library: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "a.mosaic"
    with path.open("wb") as stream:
        library.write_table(EVERY_TYPE, stream)
    assert read(path, fields_of(EVERY_TYPE.schema)).to_pylist() == EVERY_TYPE.to_pylist()


def test_some_columns_and_one_that_the_file_lacks(library: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "a.mosaic"
    with path.open("wb") as stream:
        library.write_table(EVERY_TYPE, stream)
    chosen = [field for field in fields_of(EVERY_TYPE.schema) if field.name in ("double", "int")]
    chosen.append(DataField(99, "score", AtomicType("DOUBLE")))
    found = read(path, chosen)
    assert found.to_pydict() == {
        "int": [-70_000, 70_000],
        "double": [None, 2.25],
        "score": [None, None],
    }


@pytest.mark.parametrize(("above", "some"), [(4900, True), (5001, False)])
def test_statistics_rule_row_groups_out(
    library: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    above: int,
    some: bool,
) -> None:
    path = tmp_path / "a.mosaic"
    table = pa.table({"id": range(5000), "text": [f"user {n}" for n in range(5000)]})
    options = library.WriterOptions(num_buckets=1, row_group_max_size=1024, stats_columns=["id"])
    with path.open("wb") as stream, library.MosaicWriter(stream, table.schema, options) as writer:
        for batch in table.to_batches(max_chunksize=250):
            writer.write(batch)
    numbers: list[int] = []
    real = library.MosaicReader.read_row_group

    def recorded(self: Any, number: int) -> Any:
        numbers.append(number)
        return real(self, number)

    monkeypatch.setattr(library.MosaicReader, "read_row_group", recorded)
    fields = fields_of(table.schema)
    predicate = PredicateBuilder(fields).greater_than("id", above)
    found = read(path, fields, pc.field("id") > above, predicate)
    assert found.column("id").to_pylist() == list(range(above + 1, 5000))
    assert (len(numbers) > 0) is some
    assert 0 not in numbers


def test_many_rows_and_a_filter(library: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "a.mosaic"
    table = pa.table({"id": range(10_000), "text": [f"value {n}" for n in range(10_000)]})
    storage = LocalFileIO(str(tmp_path), {})
    storage.write_mosaic(str(path), table)
    assert read(path, fields_of(table.schema)) == table
    found = read(path, fields_of(table.schema), pc.field("id") > 9995, None)
    assert found.column("id").to_pylist() == [9996, 9997, 9998, 9999]


def test_a_table_that_grows(library: ModuleType, warehouse: Warehouse) -> None:
    table = warehouse.create(EVERY_TYPE.schema, options=EVOLVING | {"metadata.stats-mode": "full"})
    write(table, EVERY_TYPE)
    write(table, EVERY_TYPE)
    update(table, pa.table({"_ROW_ID": [0, 3], "double": [7.0, 8.0]}))
    found = theirs(warehouse.table())
    assert found.column("double").to_pylist() == [7.0, 2.25, None, 8.0]
    assert dataset(warehouse.table()).to_table().to_pylist() == found.to_pylist()
