"""The command line on URIs of an object store, each command a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pymosaic
from tests.cli.running import TIMEOUT, environment

TABLE = pa.table({"id": [1, 2, 3], "city": ["Rome", None, "Oslo"]})


@pytest.fixture
def run(server):
    """Run a command as a user would whose environment says where the store is."""
    variables = environment(
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",
        AWS_REGION="us-east-1",
        AWS_ENDPOINT_URL=f"http://127.0.0.1:{server.port}",
        AWS_EC2_METADATA_DISABLED="true",
    )

    def run(*arguments: str) -> Any:
        return subprocess.run(
            [sys.executable, "-m", "pymosaic", *arguments],
            capture_output=True,
            text=True,
            env=variables,
            timeout=TIMEOUT,
            check=False,
        )

    return run


def keys(client: Any, bucket: str) -> list[str]:
    return [entry["Key"] for entry in client.list_objects_v2(Bucket=bucket).get("Contents", ())]


def test_files_are_converted_there_and_back_and_shown(run, client, bucket, tmp_path):
    there, back = f"s3://{bucket}/in/t.mosaic", tmp_path / "back.parquet"
    pq.write_table(TABLE, tmp_path / "t.parquet")
    converted = run("convert", str(tmp_path / "t.parquet"), there)
    assert converted.returncode == 0, converted.stderr
    assert keys(client, bucket) == ["in/t.mosaic"]

    schema = run("schema", there, "--json")
    assert schema.returncode == 0, schema.stderr
    assert [column["name"] for column in json.loads(schema.stdout)["columns"]] == ["id", "city"]
    head = run("head", there, "-n", "2")
    assert list(map(json.loads, head.stdout.splitlines())) == TABLE.slice(0, 2).to_pylist()

    refused = run("convert", str(tmp_path / "t.parquet"), there)
    assert refused.returncode == 1
    assert "--overwrite" in refused.stderr

    again = run("convert", there, str(back))
    assert again.returncode == 0, again.stderr
    assert pq.read_table(back).equals(TABLE)


def test_a_directory_is_counted_as_one_table(run, client, bucket, tmp_path):
    pymosaic.write_table(TABLE, tmp_path / "t.mosaic")
    for name in ("a", "b"):
        client.upload_file(str(tmp_path / "t.mosaic"), bucket, f"table/{name}.mosaic")
    result = run("count", f"s3://{bucket}/table", "--where", "id >= 2")
    assert (result.returncode, result.stdout, result.stderr) == (0, "4\n", "")


def test_what_is_not_there_is_told_in_a_line(run, bucket):
    result = run("head", f"s3://{bucket}/none.mosaic")
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert "none.mosaic" in result.stderr
