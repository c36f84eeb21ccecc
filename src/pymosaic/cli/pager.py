"""Text on a terminal: output longer than the screen goes through a pager."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from contextlib import suppress
from typing import TextIO

__all__ = ["Screen"]


class Screen:
    """Prints lines, and starts the pager when they no longer fit the screen."""

    def __init__(self, stream: TextIO, height: int, *, pager: bool) -> None:
        self._stream = stream
        self._height = height
        self._command = _pager_command() if pager and stream.isatty() else None
        self._waiting: list[str] = []
        self._process: subprocess.Popen[str] | None = None

    def write(self, line: str) -> None:
        """Show a line; raises BrokenPipeError after the user has quit the pager."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.write(line + "\n")
        elif self._command is None:
            self._stream.write(line + "\n")
        else:
            self._waiting.append(line)
            if len(self._waiting) >= self._height:
                self._start(self._command)

    def _start(self, command: list[str]) -> None:
        self._stream.flush()
        environment = os.environ | {"LESS": os.environ.get("LESS", "FRX")}
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, env=environment, text=True, errors="replace"
            )
        except OSError:
            self._command = None
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            self.write(line)

    def close(self) -> None:
        """Show pending lines, and wait until the user quits the pager."""
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            self._stream.write(line + "\n")
        if self._process is None:
            self._stream.flush()
            return
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        # Ctrl-C now belongs to the pager.
        previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            self._process.wait()
        finally:
            signal.signal(signal.SIGINT, previous)


def _pager_command() -> list[str] | None:
    if os.environ.get("TERM") == "dumb":
        return None
    for variable in ("PYMOSAIC_PAGER", "PAGER"):
        wanted = os.environ.get(variable)
        if wanted is not None:
            command = shlex.split(wanted)
            return command if command and command != ["cat"] else None
    found = shutil.which("less") or shutil.which("more")
    return None if found is None else [found]
