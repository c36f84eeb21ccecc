"""Requests per open, per projection and per scan, through pyarrow.fs and s3fs."""

from __future__ import annotations

import io
import pickle
import re
from collections import Counter
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import pymosaic
from tests.object_store.server import ObjectStore, Request

MIB = 1 << 20


def file_bytes(table: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    pymosaic.write_table(pa.table(table), stream, **options)
    return stream.getvalue()


class Put:
    """Puts objects into the store of a test, and begins the log of requests behind that."""

    def __init__(self, server: ObjectStore, client: Any, bucket: str) -> None:
        self._server = server
        self._client = client
        self._bucket = bucket

    def __call__(self, objects: dict[str, bytes]) -> None:
        for key, content in objects.items():
            self._client.put_object(Bucket=self._bucket, Key=key, Body=content)
        self._server.clear()


@pytest.fixture
def put(server: ObjectStore, client: Any, bucket: str) -> Put:
    return Put(server, client, bucket)


def ranges(requests: list[Request]) -> list[tuple[int, int]]:
    """``(offset, length)`` of each read of bytes."""
    found = [re.fullmatch(r"bytes=(\d+)-(\d+)", request.byte_range or "") for request in requests]
    return [(int(m[1]), int(m[2]) - int(m[1]) + 1) for m in found if m is not None]


def bucket_of(data: bytes, column: str) -> tuple[int, int]:
    for bucket in pymosaic.read_metadata(data).row_group(0).buckets():
        if column in bucket.column_names:
            return bucket.offset, bucket.compressed_size
    raise KeyError(column)


def random_table(num_columns: int, num_rows: int = MIB // 8) -> pa.Table:
    """Columns that do not compress."""
    values = np.random.default_rng(1).integers(0, 1 << 62, (num_columns, num_rows))
    return pa.table({f"c{i}": column for i, column in enumerate(values)})


@pytest.fixture(scope="module")
def monolithic() -> bytes:
    """Seven columns of a MiB each, a bucket of its own for each."""
    return file_bytes(
        random_table(7), num_buckets=7, compression="none", page_size_threshold=1 << 30
    )


@pytest.fixture(scope="module")
def paged() -> bytes:
    """One bucket of four pages."""
    return file_bytes(random_table(4), num_buckets=1, page_size_threshold=0)


class TestOneFile:
    def test_to_open_takes_two_requests(
        self, server: ObjectStore, put: Put, bucket: str, filesystem: Any, monolithic: bytes
    ) -> None:
        put({"a.mosaic": monolithic})
        with pymosaic.MosaicFile(f"{bucket}/a.mosaic", filesystem=filesystem) as file:
            assert file.num_columns == 7
            assert [request.method for request in server.requests] == ["HEAD", "GET"]
            assert ranges(server.requests) == [(len(monolithic) - MIB // 2, MIB // 2)]

    def test_a_projection_is_one_request_for_each_merged_range(
        self, server: ObjectStore, put: Put, bucket: str, filesystem: Any, monolithic: bytes
    ) -> None:
        put({"a.mosaic": monolithic})
        with pymosaic.MosaicFile(f"{bucket}/a.mosaic", filesystem=filesystem) as file:
            server.clear()
            file.read(["c2"])
            assert ranges(server.requests) == [bucket_of(monolithic, "c2")]
            server.clear()
            # A gap of one column is read along, one of two is not.
            file.read(["c0", "c1", "c4"])
            (first, first_size), (_, second_size) = (
                bucket_of(monolithic, "c0"),
                bucket_of(monolithic, "c1"),
            )
            assert sorted(ranges(server.requests)) == [
                (first, first_size + second_size),
                bucket_of(monolithic, "c4"),
            ]

    def test_a_paged_projection_takes_two_rounds(
        self, server: ObjectStore, put: Put, bucket: str, filesystem: Any, paged: bytes
    ) -> None:
        put({"a.mosaic": paged})
        offset, size = bucket_of(paged, "c0")
        directory = [
            int.from_bytes(paged[offset + 4 * i : offset + 4 * i + 4], "little") for i in range(4)
        ]
        assert sum(directory) + 16 == size
        with pymosaic.MosaicFile(f"{bucket}/a.mosaic", filesystem=filesystem) as file:
            server.clear()
            file.read(["c1"])
            assert ranges(server.requests) == [
                (offset, 16),
                (offset + 16 + directory[0], directory[1]),
            ]
            server.clear()
            # All of it is one range, known at once.
            file.read(["c0", "c1", "c2", "c3"])
            assert len(ranges(server.requests)) == 1


class TestDatasets:
    @pytest.fixture
    def base(self, put: Put, bucket: str) -> str:
        objects = {
            f"ds/k={k}/{n}.mosaic": file_bytes(
                {"id": [10 * k + n], "text": ["x" * 100]}, num_buckets=2, statistics=["id"]
            )
            for k in (1, 2)
            for n in (0, 1)
        }
        objects["ds/_SUCCESS"] = b""
        objects["ds/k=1/.hidden"] = b"no Mosaic file"
        put(objects)
        return f"{bucket}/ds"

    def test_one_listing_and_one_read_for_each_file(
        self, server: ObjectStore, base: str, filesystem: Any
    ) -> None:
        dataset = pymosaic.dataset(base, filesystem=filesystem)
        assert len(dataset.files) == 4
        kinds = Counter(
            "LIST" if request.is_listing else request.method for request in server.requests
        )
        # pyarrow asks for the size of a file whenever it is opened; s3fs is told it.
        heads = {} if dataset.filesystem.__class__.__module__.startswith("s3fs") else {"HEAD": 4}
        assert kinds == {"LIST": 1, "GET": 4, **heads}

    def test_plans_and_counts_of_what_jobs_wrote_make_no_requests(
        self, server: ObjectStore, base: str, filesystem: Any
    ) -> None:
        table = pa.table({"id": [10, 11, 20, 21], "k": [1, 1, 2, 2]})
        written = f"{base}-written"
        pymosaic.write_dataset(table, written, partition_by=["k"], filesystem=filesystem)
        dataset = pymosaic.dataset(written, filesystem=filesystem)
        server.clear()
        assert dataset.count_rows() == 4
        assert len(dataset.scan(["id"], [("id", ">", 10)]).plan().pieces) == 2
        assert server.requests == []

    def test_files_of_others_may_be_replaced_and_are_asked_for_before_metadata_decides(
        self, server: ObjectStore, base: str, filesystem: Any
    ) -> None:
        dataset = pymosaic.dataset(base, filesystem=filesystem)
        server.clear()
        assert len(dataset.scan(["id"]).plan().pieces) == 4
        assert server.requests == []
        assert dataset.count_rows() == 4
        assert dataset.count_rows([("id", ">", 10), ("k", "=", 1)]) == 1
        assert ranges(server.requests) == []
        files = [request.path for request in server.requests if request.path.endswith(".mosaic")]
        assert len(files) == 4 + 2

    def test_a_scan_reads_what_its_plan_says(
        self, server: ObjectStore, base: str, filesystem: Any
    ) -> None:
        dataset = pymosaic.dataset(base, filesystem=filesystem)
        scan = dataset.scan(["text"], [("k", "=", 2), ("id", "=", 21)])
        server.clear()
        assert scan.to_table().num_rows == 1
        reads = ranges(server.requests)
        # The filter's column first, then the wanted one.
        assert len(reads) == 2
        assert sum(length for _, length in reads) == scan.plan().bytes.to_read
        read = {request.path for request in server.requests if request.byte_range is not None}
        assert read == {f"/{base}/k=2/1.mosaic"}

    def test_pieces_are_read_elsewhere(self, base: str, filesystem: Any) -> None:
        scan = pymosaic.dataset(base, filesystem=filesystem).scan(["id", "k"])
        task, pieces = pickle.loads(pickle.dumps((scan.task(), scan.plan().pieces)))
        table = pa.Table.from_batches(task.read(pieces), task.schema)
        assert table.to_pydict() == {"id": [10, 11, 20, 21], "k": [1, 1, 2, 2]}

    def test_patterns_files_and_partitions(self, base: str, filesystem: Any) -> None:
        for source, ids in (
            (f"{base}/k=*/1.mosaic", [11, 21]),
            (f"{base}/k=1", [10, 11]),
            (f"{base}/k=2/0.mosaic", [20]),
            ([f"{base}/k=2/0.mosaic", f"{base}/k=1"], [20, 10, 11]),
        ):
            dataset = pymosaic.dataset(source, filesystem=filesystem, partitioning=None)
            assert dataset.scan(["id"]).to_table()["id"].to_pylist() == ids, source

    def test_what_is_not_there_or_broken_is_named(
        self, put: Put, base: str, filesystem: Any
    ) -> None:
        with pytest.raises(pymosaic.DatasetError, match=r"nowhere has no Mosaic files"):
            pymosaic.dataset(f"{base}/nowhere", filesystem=filesystem)
        put({"ds/k=1/broken.mosaic": b"nothing like it"})
        with pytest.raises(pymosaic.CorruptFileError, match=r"k=1/broken\.mosaic"):
            pymosaic.dataset(base, filesystem=filesystem)
        with pytest.warns(UserWarning, match=r"k=1/broken\.mosaic"):
            dataset = pymosaic.dataset(base, filesystem=filesystem, on_error="skip")
        assert len(dataset.files) == 4

    def test_engines(self, server: ObjectStore, base: str, filesystem: Any) -> None:
        ds = pymosaic.dataset(base, filesystem=filesystem)
        server.clear()
        frame = pymosaic.scan_polars(ds).filter(pl.col("k") == 1).select("id").collect()
        assert frame["id"].to_list() == [10, 11]
        with duckdb.connect() as connection:
            assert connection.sql("SELECT id FROM ds WHERE k = 1 AND id > 10").fetchall() == [(11,)]
        assert len(ranges(server.requests)) == 3


def test_a_uri_names_store_and_keys(server: ObjectStore, put: Put, bucket: str) -> None:
    put({"ds/a.mosaic": file_bytes({"n": [1]}), "bad/b.mosaic": b"broken"})
    options = f"scheme=http&region=us-east-1&endpoint_override=127.0.0.1:{server.port}"
    dataset = pymosaic.dataset(f"s3://test:secret@{bucket}/ds?{options}")
    assert dataset.scan().to_table().to_pydict() == {"n": [1]}
    with pytest.raises(pymosaic.CorruptFileError) as caught:
        pymosaic.dataset(f"s3://test:secret@{bucket}/bad?{options}")
    assert "secret" not in str(caught.value)


def test_a_committed_dataset_is_opened_and_planned_by_few_requests(
    server: ObjectStore, bucket: str, filesystem: Any
) -> None:
    """At most files / 1,000 + 50, however it was asked for."""
    count = 120
    table = pa.table({"k": range(count), "n": range(count)})
    base = f"{bucket}/set"
    pymosaic.write_dataset(table, base, partition_by="k", statistics=True, filesystem=filesystem)
    server.clear()
    held = pymosaic.dataset(base, filesystem=filesystem)
    plan = held.scan(["n"], [("n", ">=", 100)]).plan()
    assert held.count_rows() == count
    assert plan.files.to_read == 20
    assert len(server.requests) <= 20, Counter(x.method for x in server.requests)
    assert not any(request.path.endswith(".mosaic") for request in server.requests)
