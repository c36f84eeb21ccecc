"""Paimon tables in a filesystem catalog on the S3 protocol: read, written and grown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pyarrow as pa
import pytest
from pypaimon import CatalogFactory, Schema

import pymosaic
from pymosaic.paimon import add_columns, dataset, rename_columns, update_columns, write
from tests.object_store.server import ObjectStore
from tests.paimon.building import EVOLVING, delete, theirs
from tests.paimon.building import write as their_write

KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
DATA = pa.table({"id": [1, 2, 3], "x": [1.5, None, 3.5], "day": ["a", "a", "b"]})


@pytest.fixture
def options() -> Iterator[dict[str, str]]:
    server = ObjectStore()
    endpoint = f"http://127.0.0.1:{server.port}"
    client = boto3.client("s3", endpoint_url=endpoint, **KEYS)
    client.create_bucket(Bucket="lake")
    yield {
        "s3.endpoint": endpoint,
        "s3.access-key": "test",
        "s3.secret-key": "test",
        "s3.region": "us-east-1",
        "s3.path.style.access": "true",
    }
    client.close()
    server.close()


def test_a_table_of_pypaimons_catalog(options: dict[str, str]) -> None:
    catalog = CatalogFactory.create({"warehouse": "s3://lake/house"} | options)
    catalog.create_database("d", True)
    described = {"file.format": "mosaic", "bucket": "-1", "deletion-vectors.enabled": "true"}
    schema = Schema.from_pyarrow_schema(DATA.schema, ["day"], None, described | EVOLVING)
    catalog.create_table("d.t", schema, False)
    their_write(catalog.get_table("d.t"), DATA)
    write(DATA, catalog.get_table("d.t"))
    delete(catalog.get_table("d.t"), [0])
    add_columns(catalog.get_table("d.t"), {"twice": "id * 2"})
    rename_columns(catalog.get_table("d.t"), {"x": "amount"})
    table = catalog.get_table("d.t")
    mine = dataset(table).to_table()
    assert sorted(map(repr, mine.to_pylist())) == sorted(map(repr, theirs(table).to_pylist()))
    assert dataset(table).count_rows([("day", "=", "a")]) == 3


def test_a_path(options: dict[str, str]) -> None:
    path = "s3://lake/new/t"
    write(DATA, path, create=True, options=options)
    update_columns(path, {"x": "x * 10"}, options=options)
    write(DATA.slice(0, 1), path, mode="overwrite", options=options)
    now: Any = dataset(path, options=options)
    assert (now.snapshot_id, now.to_table().to_pylist()) == (3, DATA.slice(0, 1).to_pylist())
    then = dataset(path, snapshot=2, options=options)
    assert then.to_table().column("x").to_pylist() == [15.0, None, 35.0]
    with pytest.raises(pymosaic.DatasetError, match="is not a Paimon table"):
        dataset("s3://lake/new", options=options)
