"""Measurements in a separate process: memory, reads by system call, a cold start."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

import pymosaic
from benchmarks.measure import stopwatch
from benchmarks.peers import Peer, load_peer

__all__ = [
    "cold_start",
    "read_memory",
    "split_memory",
    "stream_memory",
    "system_reads",
    "training_memory",
    "write_memory",
    "write_seconds",
]

_ROOT = Path(__file__).parent.parent
_COLD = """
import sys
from pathlib import Path
from benchmarks.peers import load_peer
name, path, column = sys.argv[1:]
print(load_peer(name).read(Path(path), [column])[0][0], flush=True)
"""


def cold_start(peer: str, path: Path, column: str) -> tuple[float, str]:
    """Seconds from the start of Python to the first value of a column, and the value."""
    command = [sys.executable, "-c", _COLD, peer, str(path), column]
    # All packages have their bytecode, as after an installation, once they have been loaded here.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(path.parent / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        value = process.stdout.readline().strip()
        seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"the cold process of {peer} failed")
    return seconds, value


def read_memory(peer: str, path: Path) -> int:
    """Peak memory growth in bytes while reading a whole file."""
    return _ask("read", peer, str(path))[0]


def write_memory(peer: str, arrow_file: Path, path: Path, level: int) -> int:
    """Peak memory growth in bytes while writing the table of an Arrow file."""
    return _ask("write", peer, str(arrow_file), str(path), str(level))[0]


def split_memory(arrow_file: Path, path: Path, level: int, row_group_bytes: int) -> int:
    """The same for pymosaic, with row groups of a given size."""
    return _ask("split", "pymosaic", str(arrow_file), str(path), str(level), str(row_group_bytes))[
        0
    ]


def stream_memory(path: Path) -> int:
    """Peak memory growth in bytes while pymosaic reads a file batch by batch."""
    return _ask("stream", "pymosaic", str(path))[0]


def training_memory(directory: Path, way: str) -> int:
    """Peak memory growth in bytes on a way of :mod:`benchmarks.training`."""
    return _ask("training", way, str(directory))[0]


def write_seconds(peer: str, arrow_file: Path, path: Path, level: int) -> float:
    """Seconds to write the table of an Arrow file, without start-up and reading it."""
    return _ask("time", peer, str(arrow_file), str(path), str(level))[0] / 1e6


def system_reads(peer: str, path: Path, columns: Sequence[str]) -> tuple[int, int]:
    """Bytes and number of read calls to open a file and read columns."""
    num_bytes, num_calls = _ask("reads", peer, str(path), *columns)
    return num_bytes, num_calls


def _ask(*arguments: str) -> list[int]:
    command = [sys.executable, "-m", "benchmarks.child", *arguments]
    result = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{' '.join(arguments[:2])}: {result.stderr.strip()[-500:]}")
    answer: list[int] = json.loads(result.stdout)
    return answer


def _status(field: str) -> int:
    """Bytes in a field of /proc/self/status."""
    found = re.search(rf"^{field}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    if found is None:
        raise RuntimeError(f"/proc/self/status has no {field}")
    return int(found[1]) * 1024


def _memory_of(action: Callable[[], object]) -> int:
    """Growth of resident memory, from before the action to its peak.

    ``ru_maxrss`` would not do: a child inherits its parent's through fork, and it cannot be reset
    to leave out what imports and set-up took.
    """
    gc.collect()
    pa.default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    result = action()
    grown = _status("VmHWM") - before
    del result
    return grown


def _stream(path: Path) -> None:
    with pymosaic.MosaicFile(path) as file:
        for _ in file.iter_batches():
            pass


def _split(table: pa.Table, target: Path, level: int, row_group_bytes: int) -> None:
    pymosaic.write_table(
        table,
        target,
        compression_level=level,
        row_group_bytes=row_group_bytes,
        split_batches=True,
    )


def _reads_of(peer: Peer, path: Path, columns: Sequence[str]) -> list[int]:
    # Once before, so that what libraries load when first used does not count.
    peer.read(path, columns)
    first = _counters()
    overhead = [after - before for before, after in zip(first, _counters(), strict=True)]
    before = _counters()
    peer.read(path, columns)
    after = _counters()
    return [end - start - extra for start, end, extra in zip(before, after, overhead, strict=True)]


def _counters() -> tuple[int, int]:
    descriptor = os.open("/proc/self/io", os.O_RDONLY)
    try:
        text = os.read(descriptor, 4096).decode()
    finally:
        os.close(descriptor)
    fields = dict(line.split(": ") for line in text.splitlines())
    return int(fields["rchar"]), int(fields["syscr"])


def _main(mode: str, name: str, *arguments: str) -> list[int]:
    path = Path(arguments[0])
    if mode == "training":
        from benchmarks.training import WAYS

        return [_memory_of(partial(WAYS[name][1], path))]
    peer = load_peer(name)
    if mode == "reads":
        return _reads_of(peer, path, arguments[1:])
    if mode == "read":
        return [_memory_of(lambda: peer.read(path, None))]
    if mode == "stream":
        return [_memory_of(lambda: _stream(path))]
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    target, level = Path(arguments[1]), int(arguments[2])
    if mode == "time":
        return [round(1e6 * stopwatch(lambda: peer.write(table, target, level))[0])]
    if mode == "split":
        return [_memory_of(lambda: _split(table, target, level, int(arguments[3])))]
    return [_memory_of(lambda: peer.write(table, target, level))]


if __name__ == "__main__":
    print(json.dumps(_main(*sys.argv[1:])))
