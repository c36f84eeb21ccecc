"""A standalone Spark cluster on loopback: a master and two workers, of pyspark's own jars."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import venv
from contextlib import ExitStack
from pathlib import Path

import pyspark

__all__ = ["Cluster"]

_START_SECONDS = 600
_HOSTS = ("127.0.0.1", "127.0.0.2")


class Cluster:
    """Starts when entered; everything that it started is killed when it is left.

    Executors run the Python of an environment of their own, which finds this package installed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = ""
        self.python = str(directory / "environment" / "bin" / "python")

    def __enter__(self) -> Cluster:
        with ExitStack() as undo:
            undo.callback(self._stop)
            self._make_environment()
            log = self._start("master", _HOSTS[0], "org.apache.spark.deploy.master.Master")
            self.master = self._wait_for(log, r"Starting Spark master at (spark://\S+)")
            for number, host in enumerate(_HOSTS):
                name = f"worker-{number}"
                log = self._start(
                    name,
                    host,
                    "org.apache.spark.deploy.worker.Worker",
                    "--cores=1",
                    "--memory=1g",
                    f"--work-dir={self._directory / name}",
                    self.master,
                )
                self._wait_for(log, r"(Successfully registered with master)")
            undo.pop_all()
        return self

    def __exit__(self, *details: object) -> None:
        self._stop()

    def _make_environment(self) -> None:
        venv.create(self._directory / "environment", with_pip=False)
        [packages] = (self._directory / "environment" / "lib").glob("python*/site-packages")
        (packages / "test.pth").write_text("\n".join(path for path in sys.path if path))

    def _start(self, name: str, host: str, main: str, *arguments: str) -> Path:
        home = Path(pyspark.__file__).parent
        log = self._directory / f"{name}.log"
        environment = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": host,
            "SPARK_NO_DAEMONIZE": "1",
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": self.python,
        }
        command = [
            str(home / "bin" / "spark-class"),
            main,
            f"--host={host}",
            "--port=0",
            "--webui-port=0",
            *arguments,
        ]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [part for item in command for part in item.split("=", 1)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._processes.append(process)
        return log

    def _wait_for(self, log: Path, pattern: str) -> str:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            found = re.search(pattern, log.read_text(errors="replace"))
            if found:
                return found[1]
            if self._processes[-1].poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"{log.stem} did not start:\n{log.read_text(errors='replace')[-4000:]}")

    def _stop(self) -> None:
        for process in reversed(self._processes):
            process.kill()
        for process in self._processes:
            process.wait()
        self._processes.clear()
