"""``python -m tests.object_store.killing BASE PORT``: is killed while it uploads a large file."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import fs

import pymosaic
from pymosaic.io import arrow


def main(base: str, port: str) -> None:
    filesystem = fs.S3FileSystem(
        access_key="test",
        secret_key="test",
        region="us-east-1",
        scheme="http",
        endpoint_override=f"127.0.0.1:{port}",
        background_writes=False,
    )

    def upload(self: Any, contents: memoryview) -> None:
        stream = filesystem.open_output_stream(self._path, compression=None)
        stream.write(contents)
        if self._path.endswith(".mosaic"):
            os.kill(os.getpid(), signal.SIGKILL)
        stream.close()

    arrow._ArrowSink._upload = upload  # type: ignore[method-assign]
    # Above the size of which an object is sent in parts.
    table = pa.table({"n": np.arange(2_000_000), "x": np.random.default_rng(1).random(2_000_000)})
    pymosaic.write_dataset(table, base, mode="append", filesystem=filesystem, compression="none")


if __name__ == "__main__":
    main(*sys.argv[1:])
