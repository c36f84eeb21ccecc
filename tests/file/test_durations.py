"""Durations: integers in the file, whose unit the annex has; units are never mixed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from tests.property.reference import reference_table
from tests.writing import written

NESTED = {
    "duration": pa.duration("s"),
    "list of durations": pa.list_(pa.duration("s")),
    "map with a duration as key": pa.map_(pa.duration("s"), pa.int8()),
    "fixed size list of durations": pa.list_(pa.duration("s"), 2),
    "dictionary of durations": pa.dictionary(pa.int8(), pa.duration("s")),
    "runs of durations": pa.run_end_encoded(pa.int32(), pa.duration("s")),
}


def of(unit: str) -> pa.Table:
    return pa.table({"d": pa.array([1, None, -3], pa.duration(unit)), "n": [1, 2, 3]})


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_come_back_and_are_integers_to_others(unit: str) -> None:
    data = written(of(unit), statistics=["d"])
    assert pymosaic.read_table(data).equals(of(unit))
    assert pymosaic.read_table(data, columns=["d"]).equals(of(unit).select(["d"]))
    stored = of(unit).set_column(0, "d", of(unit)["d"].cast(pa.int64()))
    assert pymosaic.read_table(data, types="mosaic").equals(stored)
    assert reference_table(data).equals(stored)
    assert pymosaic.read_table(data, filters=[("d", ">", 0)]).equals(of(unit).slice(0, 1))
    assert pymosaic.verify(data) == []


@pytest.mark.parametrize("data_type", NESTED.values(), ids=NESTED)
def test_need_an_annex(data_type: pa.DataType, tmp_path: Path) -> None:
    target = tmp_path / "a.mosaic"
    schema = pa.schema([("d", data_type)])
    with pytest.raises(pymosaic.UnsupportedFeatureError, match=r"'d'.*checksum=True.*int64"):
        pymosaic.MosaicWriter(target, schema, checksum=False)
    assert not target.exists()
    assert pymosaic.read_schema(written(schema.empty_table())).types == [data_type]


@pytest.mark.parametrize("other", [pa.duration("ms"), pa.int64()])
@pytest.mark.parametrize("reverse", [False, True])
def test_units_of_a_writer_are_not_mixed(other: pa.DataType, reverse: bool, tmp_path: Path) -> None:
    first, second = (other, pa.duration("s")) if reverse else (pa.duration("s"), other)
    writer = pymosaic.MosaicWriter(tmp_path / "a", pa.schema([("d", first)]))
    writer.write(pa.table({"d": pa.array([1], first)}))
    with pytest.raises(pymosaic.InvalidDataError, match=r"'d' is .* in the writer's schema"):
        writer.write(pa.table({"d": pa.array([1], second)}))
    assert not (tmp_path / "a").exists()


def test_units_of_a_dataset_are_not_mixed(tmp_path: Path) -> None:
    pymosaic.write_table(of("s"), tmp_path / "a.mosaic")
    pymosaic.write_table(of("s"), tmp_path / "b.mosaic")
    assert pymosaic.dataset(tmp_path).to_table().equals(pa.concat_tables([of("s"), of("s")]))
    with pytest.raises(
        pymosaic.DatasetError, match=r"'d' is duration\[s\] in .* and duration\[ms\]"
    ):
        pymosaic.write_dataset(of("ms"), tmp_path, mode="append")
    pymosaic.write_dataset(of("s"), tmp_path, mode="append")
    pymosaic.write_table(of("ms"), tmp_path / "c.mosaic")
    with pytest.raises(pymosaic.DatasetError, match=r"'d' is duration\[s\] .* duration\[ms\]"):
        pymosaic.dataset(tmp_path)
    assert pymosaic.dataset(tmp_path, types="mosaic").schema.field("d").type == pa.int64()
    before = sorted(path.name for path in tmp_path.rglob("*.mosaic"))
    with pytest.raises(pymosaic.DatasetError, match="'d'"):
        pymosaic.compact(tmp_path)
    assert sorted(path.name for path in tmp_path.rglob("*.mosaic")) == before


def test_files_of_other_units_are_not_merged(tmp_path: Path) -> None:
    for unit in ("s", "ms"):
        pymosaic.write_table(of(unit), tmp_path / f"{unit}.mosaic")
    paths = [tmp_path / "s.mosaic", tmp_path / "ms.mosaic"]
    with pytest.raises(pymosaic.InvalidDataError, match="'d' is a duration of other units"):
        pymosaic.merge(paths, tmp_path / "all.mosaic")
    assert not (tmp_path / "all.mosaic").exists()
    pymosaic.merge([paths[0], paths[0]], tmp_path / "all.mosaic")
    assert pymosaic.read_table(tmp_path / "all.mosaic").num_rows == 6
    assert pymosaic.read_schema(tmp_path / "all.mosaic").field("d").type == pa.duration("s")
