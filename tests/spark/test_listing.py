"""Which files a relation has, and what it is when it is opened again; without a session."""

import os
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.dataset import Dataset
from pymosaic.errors import DatasetError, InvalidOptionError
from pymosaic.spark.listing import list_files
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.relations import open_relation
from pymosaic.spark.states import States

TABLE = pa.table({"n": [1]})
PLACES = ["keys", "plain", "plain/sub", "keys/k=1"]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Files at the top, in directories of keys and in others, each with one row."""
    for path in ("keys/k=1/a.mosaic", "keys/k=2/b.mosaic", "plain/c.mosaic", "plain/sub/d.mosaic"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        pymosaic.write_table(TABLE, tmp_path / path)
    return tmp_path


def opened(options: SourceOptions) -> Dataset:
    """The dataset that these options name."""
    _, dataset = open_relation(options)
    assert dataset is not None
    return dataset


def listed(base: Path, *paths: str, **options: str) -> list[tuple[str, tuple[object, ...]]]:
    locations = {"path": f"{base}/{paths[0]}"}
    if len(paths) > 1:
        import json

        locations = {"paths": json.dumps([f"{base}/{path}" for path in paths])}
    if "basePath" in options:
        options["basePath"] = f"{base}/{options['basePath']}"
    files = list_files(SourceOptions.parse(locations | options)).files
    return [(file.path.rpartition("/")[2][0], file.partition) for file in files]


@pytest.mark.parametrize(
    ("paths", "options", "expected"),
    [
        (["keys"], {}, [("a", (("k", "1"),)), ("b", (("k", "2"),))]),
        (["keys/k=1"], {}, [("a", ())]),
        (["keys/k=*"], {}, [("a", ()), ("b", ())]),
        (["keys/k={1,3}"], {}, [("a", ())]),
        (["keys/k=1/a.mosaic"], {}, [("a", ())]),
        (["keys/k=1", "keys/k=2"], {}, [("a", ()), ("b", ())]),
        (["plain", "plain"], {}, [("c", ()), ("c", ())]),
        (["keys", "keys"], {}, [("a", (("k", "1"),)), ("b", (("k", "2"),))]),
        (["keys/k=2"], {"basePath": "keys"}, [("b", (("k", "2"),))]),
        (["keys/k=2/b.mosaic"], {"basePath": "keys/"}, [("b", (("k", "2"),))]),
        (["keys/k=*"], {"basePath": "keys"}, [("a", (("k", "1"),)), ("b", (("k", "2"),))]),
        (["keys"], {"recursiveFileLookup": "true"}, [("a", ()), ("b", ())]),
        (["plain"], {}, [("c", ())]),
        (["plain"], {"recursiveFileLookup": "true"}, [("c", ()), ("d", ())]),
        (["plain/*"], {}, [("c", ()), ("d", ())]),
        (["plain"], {"partitioning": "none"}, [("c", ()), ("d", ())]),
        (["keys"], {"pathGlobFilter": "b*"}, [("b", (("k", "2"),))]),
        (["plain"], {"modifiedAfter": "2100-01-01"}, []),
        (["plain"], {"modifiedBefore": "2100-01-01T00:00:00Z"}, [("c", ())]),
    ],
)
def test_files_and_keys_are_those_that_spark_finds(base, paths, options, expected):
    assert listed(base, *paths, **options) == expected


def test_times_are_compared_in_the_zone_of_the_session(base):
    os.utime(base / "plain/c.mosaic", (1_700_000_000, 1_700_000_000))  # 22:13:20 in UTC
    session = {"_session": '{"spark.sql.session.timeZone": "Asia/Tokyo"}'}
    assert listed(base, "plain", modifiedBefore="2023-11-15T07:13:21", **session)
    assert not listed(base, "plain", modifiedBefore="2023-11-15T07:13:20", **session)
    assert not listed(base, "plain", modifiedAfter="2023-11-15T07:13:20", **session)
    assert not listed(base, "plain", modifiedBefore="2023-11-15T07:13:21", timeZone="+10:00")
    with pytest.raises(InvalidOptionError, match="modifiedAfter must be a moment"):
        listed(base, "plain", modifiedAfter="yesterday")


def test_a_pattern_without_matches_is_a_missing_path(base):
    with pytest.raises(FileNotFoundError):
        listed(base, "keys/k={7,8}")


def test_what_does_not_fit_together_is_told(base):
    with pytest.raises(InvalidOptionError, match="is not below it"):
        listed(base, "keys/k=1", basePath="plain")
    pymosaic.write_table(TABLE, base / "keys/top.mosaic")
    with pytest.raises(DatasetError, match="conflicting partition keys"):
        open_relation(SourceOptions.parse({"path": str(base / "keys")}))
    (base / "two/x/k=1").mkdir(parents=True)
    (base / "two/y/k=1").mkdir(parents=True)
    for name in ("x", "y"):
        pymosaic.write_table(TABLE, base / f"two/{name}/k=1/a.mosaic")
    with pytest.raises(DatasetError, match="conflicting directories"):
        listed(base, "two")


def test_equal_listings_have_one_name(base):
    table = pa.table({"n": [1, 2], "g": ["a/b", None]})
    pymosaic.write_dataset(table, base / "own", partition_by=["g"])
    options = SourceOptions.parse({"path": str(base / "own")})
    listing = list_files(options)
    assert all(file.partition_types == (("g", "string"),) for file in listing.files)
    assert list_files(options).identity == listing.identity
    pymosaic.write_dataset(table, base / "own", mode="append")
    assert list_files(options).identity != listing.identity


def test_states_that_were_put_aside_come_back(base):
    states = States(max_states=2, max_files=3, max_aside=2)
    listings = [list_files(SourceOptions.parse({"path": f"{base}/{path}"})) for path in PLACES]
    names = [states.put(listing) for listing in listings]
    assert [states.get(name) for name in names[1:]] == listings[1:]
    with pytest.raises(DatasetError, match="load it again"):
        states.get(names[0])


def test_a_relation_keeps_its_files(base, reads):
    path = str(base / "own")
    pymosaic.write_dataset(pa.table({"n": [1, 2]}), path)
    options = SourceOptions.parse({"path": path})
    relation, dataset = open_relation(options)
    pymosaic.write_dataset(pa.table({"n": [3]}), path, mode="overwrite")
    pinned = SourceOptions.parse({"path": path, "_state": relation.state})
    reads.clear()
    assert opened(pinned) is dataset
    assert reads.ranges == []
    assert dataset is not None
    assert dataset.scan().to_table()["n"].to_pylist() == [1, 2]
    assert opened(options).scan().to_table()["n"].to_pylist() == [3]


def test_with_one_schema_for_all_no_other_end_of_a_file_is_read(base, reads):
    pymosaic.write_table(pa.table({"n": [1], "m": [2]}), base / "plain/b.mosaic")
    reads.clear()
    options = SourceOptions.parse({"path": str(base / "plain"), "mergeSchema": "false"})
    dataset = opened(options)
    assert dataset.schema.names == ["n", "m"]
    assert {name for name, _, _ in reads.ranges} == {"b.mosaic"}
    assert dataset.scan().to_table().to_pydict() == {"n": [1, 1], "m": [2, None]}


def test_files_that_are_gone_are_left_out_on_request(base):
    path = base / "own"
    pymosaic.write_dataset(pa.table({"n": [1]}), path)
    pymosaic.write_dataset(pa.table({"n": [2]}), path, mode="append")
    first = pymosaic.dataset(path).files[0]
    options = SourceOptions.parse({"path": str(path), "ignoreMissingFiles": "true"})
    relation, _ = open_relation(options)
    os.remove(first)
    with pytest.raises(DatasetError, match="are not there"):
        open_relation(SourceOptions.parse({"path": str(path)}))
    assert opened(options).scan().to_table()["n"].to_pylist() == [2]
    pinned = SourceOptions.parse(
        {"path": str(path), "ignoreMissingFiles": "true", "_state": relation.state}
    )
    with pytest.warns(UserWarning, match="skipped a file"):
        assert opened(pinned).scan().plan().num_rows == 1
