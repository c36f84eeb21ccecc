"""Running the command line as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 120


@dataclass(frozen=True)
class Result:
    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        return json.loads(self.stdout)

    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.stdout.splitlines()]


def environment(**more: str) -> dict[str, str]:
    """An environment in which nothing of the developer's own decides how things look."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return kept | {"PYTHONPATH": f"{ROOT}/src:{ROOT}", "LANG": "C.UTF-8"} | more


def start(*arguments: str | Path, **more: Any) -> subprocess.Popen[str]:
    """Start a fresh process."""
    return subprocess.Popen(
        [sys.executable, "-m", "pymosaic", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        **more,
    )


class Server:
    """Runs commands one after the other in forks of one process."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment(),
        )

    def run(self, *arguments: str | Path, directory: Path | None = None, **more: str) -> Result:
        stdout, stderr = self._directory / "stdout", self._directory / "stderr"
        request = {
            "arguments": list(map(str, arguments)),
            "directory": str(directory or self._directory),
            "environment": environment(**more),
            "stdout": str(stdout),
            "stderr": str(stderr),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return Result(
            code, stdout.read_bytes().decode("utf-8"), stderr.read_bytes().decode("utf-8")
        )

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(TIMEOUT)
        self._process.stdout.close()


@contextmanager
def server(directory: Path) -> Iterator[Server]:
    running = Server(directory)
    try:
        yield running
    finally:
        running.close()
