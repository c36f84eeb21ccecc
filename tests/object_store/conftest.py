from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
import s3fs
from pyarrow import fs

from tests.object_store.server import ObjectStore

KEY = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[ObjectStore]:
    opened = ObjectStore()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def client(server: ObjectStore) -> Iterator[Any]:
    """What the tests themselves ask the store with."""
    opened = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{server.port}", **KEY)
    yield opened
    opened.close()


@pytest.fixture
def bucket(server: ObjectStore, client: Any) -> str:
    """A bucket of the test's own, empty; the log of requests begins behind its creation."""
    name = f"bucket-{next(_numbers)}"
    client.create_bucket(Bucket=name)
    server.clear()
    return name


def arrow_filesystem(server: ObjectStore) -> Any:
    return fs.S3FileSystem(
        access_key="test",
        secret_key="test",
        region="us-east-1",
        scheme="http",
        endpoint_override=f"127.0.0.1:{server.port}",
        # A request that is sent again, on a busy machine, would be counted twice.
        connect_timeout=120,
        request_timeout=120,
    )


def fsspec_filesystem(server: ObjectStore) -> Any:
    return s3fs.S3FileSystem(
        key="test",
        secret="test",
        endpoint_url=f"http://127.0.0.1:{server.port}",
        client_kwargs={"region_name": "us-east-1"},
        config_kwargs={"connect_timeout": 120, "read_timeout": 120},
        skip_instance_cache=True,
    )


@pytest.fixture(
    params=[arrow_filesystem, fsspec_filesystem], ids=["pyarrow", "s3fs"], scope="session"
)
def filesystem(request: pytest.FixtureRequest, server: ObjectStore) -> Any:
    return request.param(server)
