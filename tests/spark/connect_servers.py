"""Spark Connect servers for tests, in processes of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["connect_server", "run_client"]

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}
# A server as Spark's own script starts it: a JVM that no Python drives.
PLAIN = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]


@contextmanager
def connect_server(log: Path, *, with_mosaic: bool) -> Iterator[str]:
    """The address of a server, which ends with the block."""
    from pyspark.find_spark_home import _find_spark_home

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = SETTINGS | {"spark.connect.grpc.binding.port": str(port)}
    options = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    if with_mosaic:
        command = [sys.executable, "-m", "pymosaic.spark.connect", "--master", "local[2]", *options]
    else:
        submit = str(Path(_find_spark_home(), "bin", "spark-submit"))
        command = [submit, "--master", "local[2]", *options, *PLAIN]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    with (
        log.open("w") as output,
        subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as server,
    ):
        try:
            _wait_for(server, port, log)
            yield f"sc://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGKILL)


def _wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + 600
    while time.monotonic() < end:
        assert server.poll() is None, log.read_text()[-6000:]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-6000:])


def run_client(code: str, *arguments: str) -> None:
    """Run a client in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stderr[-6000:]
