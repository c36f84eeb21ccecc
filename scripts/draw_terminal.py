"""Draw docs/images/terminal.svg: the command line at work on a made-up file.

Run as ``python -m scripts.draw_terminal [target]``. The commands run on a terminal of their own,
and what they print is drawn, colours included.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text
from scripts.draw_picture import write_fleet

TARGET = Path(__file__).resolve().parent.parent / "docs" / "images" / "terminal.svg"
COMMANDS = (
    "pymosaic meta fleet.mosaic",
    "pymosaic schema fleet.mosaic -c 'route_000*,route_001*,note_000'",
    "pymosaic head fleet.mosaic -n 3 -c cost_000,city_last_000 --where 'brake_000_wear > 30'",
    "pymosaic count fleet.mosaic --where \"city_last_007 = 'Ghent'\"",
    "pymosaic head fleet.mosaic -c tyre_000_presure",
)
_WIDTH = 100
_HEIGHT = 60
# Rich's picture asks another host for its font; a terminal's own does as well.
_FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def run_on_terminal(command: str, directory: Path) -> str:
    """Run a command with a terminal for its output, and return all that it printed."""
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _HEIGHT, _WIDTH, 0, 0))
        words = shlex.split(command)
        environment = {
            "HOME": str(directory),
            "LANG": "C.UTF-8",
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
        }
        with subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        ):
            os.close(theirs)
            theirs = -1
            parts = []
            while part := _read(ours):
                parts.append(part)
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)
    return b"".join(parts).decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError as error:
        # Linux says so when the last process has closed its end.
        if error.errno != errno.EIO:
            raise
        return b""


def session() -> list[tuple[str, str]]:
    """Every command with what it prints, escape sequences included."""
    with tempfile.TemporaryDirectory(prefix="pymosaic-terminal-") as directory:
        write_fleet(Path(directory) / "fleet.mosaic")
        return [(command, run_on_terminal(command, Path(directory))) for command in COMMANDS]


def draw(shown: list[tuple[str, str]]) -> str:
    """The session as SVG."""
    console = Console(file=io.StringIO(), record=True, width=_WIDTH, force_terminal=True)
    for command, output in shown:
        console.print(Text.assemble(("$ ", "dim"), (command, "bold")), soft_wrap=True)
        console.print(Text.from_ansi(output.rstrip("\n")), end="\n\n")
    return console.export_svg(title="pymosaic", code_format=_FORMAT, unique_id="terminal")


def main(target: Path) -> None:
    """Run the commands and draw them."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(draw(session()), encoding="utf-8")
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
