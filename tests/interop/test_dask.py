"""Dask frames: columns and row groups that are read, partitions, processes, wide tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pymosaic
from pymosaic import ColumnNotFoundError, InvalidOptionError
from tests.datasets.building import bucket_range, write_files, write_row_groups


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Three files of two row groups of five rows each."""
    for number in range(3):
        batches = [
            {
                "n": np.arange(start, start + 5),
                "text": ["a", None, "c", "d", "e"],
                "maybe": pa.array([start, None, 2, 3, 4]),
            }
            for start in (10 * number, 10 * number + 5)
        ]
        write_row_groups(
            tmp_path / "data" / f"{number}.mosaic", batches, statistics=["n"], num_buckets=3
        )
    return tmp_path / "data"


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """A file with buckets that do not fit into its end, which is read when it is opened."""
    noise = np.random.default_rng(0).normal(size=(2, 40_000))
    columns = {"a": noise[0], "b": noise[1], "c": np.tile([0.0, 0, 0, 0, 0, 3], 6_667)[:40_000]}
    pymosaic.write_table(pa.table(columns), tmp_path / "wide.mosaic", num_buckets=3)
    return tmp_path / "wide.mosaic"


def computed(frame: Any, scheduler: str = "sync") -> Any:
    with dask.config.set(scheduler=scheduler):
        return frame.compute()


def test_a_frame_has_the_rows_of_the_dataset(base):
    frame = pymosaic.to_dask(base, max_part_bytes=1)
    assert isinstance(frame, dd.DataFrame)
    assert frame.npartitions == 6
    expected = pymosaic.read_table(base).to_pandas(types_mapper=pd.ArrowDtype)
    pd.testing.assert_frame_equal(computed(frame).reset_index(drop=True), expected)
    assert len(frame) == 30


def test_only_the_columns_of_a_query_are_read(wide, reads):
    frame = pymosaic.to_dask(wide)
    reads.clear()
    assert computed(frame["c"].sum()) == 3 * 6_666
    assert bucket_range(wide, "c") in reads.ranges
    assert not {bucket_range(wide, "a"), bucket_range(wide, "b")} & set(reads.ranges)
    assert reads.num_bytes < wide.stat().st_size


def test_row_groups_that_the_filter_rules_out_have_no_partition(base):
    frame = pymosaic.to_dask(base, filters="n >= 25", max_part_bytes=1)
    assert frame.npartitions == 1
    assert computed(frame["n"]).tolist() == [25, 26, 27, 28, 29]


def test_small_files_share_partitions(base):
    assert pymosaic.to_dask(base).npartitions == 1
    assert computed(pymosaic.to_dask(base)["n"]).tolist() == list(range(30))


def test_types_do_not_depend_on_nulls_of_a_partition(base):
    backends: Any = {"pyarrow": "int64[pyarrow]", "numpy_nullable": "Int64"}
    for backend, kind in backends.items():
        frame = pymosaic.to_dask(base, dtype_backend=backend, max_part_bytes=1)
        kinds = {str(computed(part).dtypes["maybe"]) for part in frame.partitions}
        assert kinds == {kind} == {str(frame.dtypes["maybe"])}


@pytest.mark.parametrize("filters", ["n > 1000", None])
def test_no_rows_are_a_frame_with_columns(filters, tmp_path):
    rows = [1] if filters else []
    table = pa.table({"n": pa.array(rows, pa.int64()), "x": pa.array(rows, pa.float32())})
    pymosaic.write_table(table, tmp_path / "none.mosaic")
    frame = computed(pymosaic.to_dask(tmp_path / "none.mosaic", filters=filters))
    assert frame.shape == (0, 2)
    assert [str(kind) for kind in frame.dtypes] == ["int64[pyarrow]", "float[pyarrow]"]


def test_files_of_several_schemas_and_partitions_are_one_frame(tmp_path):
    write_files(
        tmp_path, {"day=1/a.mosaic": {"x": [1]}, "day=2/b.mosaic": {"x": [2], "late": [True]}}
    )
    frame = computed(pymosaic.to_dask(tmp_path, max_part_bytes=1)[["day", "late"]])
    assert frame["day"].tolist() == [1, 2]
    assert frame["late"].isna().tolist() == [True, False]


def test_types_as_they_were_written_stay(tmp_path):
    kinds = pa.array(["a", "b", "a"]).dictionary_encode()
    pymosaic.write_table(pa.table({"x": [1, 2, 3], "kind": kinds}), tmp_path / "k.mosaic")
    frame = pymosaic.to_dask(tmp_path / "k.mosaic")
    assert computed(frame[["kind"]])["kind"].tolist() == ["a", "b", "a"]
    assert "dictionary" in str(frame.dtypes["kind"])
    assert "dictionary" in str(computed(frame)["kind"].dtype)


def process_of(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(process=os.getpid())[["n", "process"]]


def test_worker_processes_read_their_partitions(base):
    frame = pymosaic.to_dask(base, max_part_bytes=1)
    meta = {"n": "int64[pyarrow]", "process": "int64"}
    with dask.config.set(scheduler="processes", num_workers=2):
        found = frame.map_partitions(process_of, meta=meta).compute()
    assert found["n"].tolist() == list(range(30))
    assert os.getpid() not in set(found["process"])


def test_the_graph_grows_with_partitions_and_not_with_columns(tmp_path):
    names = [f"c{place:05d}" for place in range(10_000)]
    pymosaic.write_table(pa.table({name: [1.0, 2.0] for name in names}), tmp_path / "w.mosaic")
    frame = pymosaic.to_dask(tmp_path / "w.mosaic", dtype_backend="numpy_nullable")
    assert len(frame.columns) == 10_000
    assert len(frame.optimize().__dask_graph__()) <= 2
    assert computed(frame["c07777"].sum()) == 3


def test_wrong_options_are_told(base):
    with pytest.raises(InvalidOptionError, match="max_part_bytes must be an int of at least 1"):
        pymosaic.to_dask(base, max_part_bytes=0)
    wrong: Any = "numpy"
    with pytest.raises(InvalidOptionError, match="dtype_backend must be 'pyarrow' or"):
        pymosaic.to_dask(base, dtype_backend=wrong)
    with pytest.raises(ColumnNotFoundError, match="did you mean 'maybe'"):
        pymosaic.to_dask(base, columns=["mabye"])
