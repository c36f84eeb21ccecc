"""Memory, descriptors and worker processes under load; the long forms are ``make load``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def figures_of(module: str, *options: str) -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, "-m", f"tests.load.{module}", *options],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    figures: dict[str, Any] = json.loads(run.stdout)
    return figures


def test_files_opened_and_closed_over_and_over_leave_nothing() -> None:
    figures = figures_of("cycles", "--cycles", "300")
    assert figures["descriptors_more"] == 0
    assert figures["threads_more"] == 0
    assert figures["files_left"] == ["copy.mosaic", "file.mosaic"]
    # A kept catalog or batch alone would be far more than that.
    assert figures["memory_growth_bytes"] < 24 << 20


def test_a_large_file_is_written_and_read_in_the_memory_of_a_few_row_groups(tmp_path: Path) -> None:
    options = ["--mib", "192", "--row-group-mib", "8", "--batch-mib", "2"]
    figures = figures_of("memory", *options, "--directory", str(tmp_path))
    assert figures["write_rows"] == figures["read_rows"] > 100_000
    # Row groups of 8 MiB; buffers, allocators and threads on top. The file has 192.
    assert figures["write_above_baseline_mib"] < 96
    assert figures["read_above_baseline_mib"] < 96


def test_forked_and_spawned_workers_read_and_write() -> None:
    figures = figures_of("workers", "--jobs", "4", "--processes", "2")
    assert figures["files"] == 5
    assert figures["temporary_files_left"] == 0
