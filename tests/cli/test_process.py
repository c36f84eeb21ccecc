"""What only a process of its own shows: start-up, pipes, signals, missing parts."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import time
from decimal import Decimal

import pyarrow as pa
import pytest

import pymosaic
from tests.cli.running import TIMEOUT, environment, start

HEAVY = ["numpy", "pyarrow", "pandas", "polars", "duckdb", "pyspark", "rich.progress"]


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=TIMEOUT,
        check=False,
    )


def test_help_needs_nothing_heavy():
    code = f"""
import sys
sys.argv = ["pymosaic", "--help"]
from pymosaic.cli import main
try:
    main()
except SystemExit as done:
    assert done.code == 0, done.code
loaded = [name for name in {HEAVY!r} if name in sys.modules]
sys.exit(f"loaded: {{loaded}}" if loaded else 0)
"""
    result = python(code)
    assert result.returncode == 0, result.stderr
    assert "column-size" in result.stdout


def test_schema_needs_no_engine(small):
    heavy = ["pandas", "polars", "duckdb", "pyspark", "pyarrow.compute", "pyarrow.parquet"]
    code = f"""
import sys
sys.argv = ["pymosaic", "schema", {str(small)!r}]
from pymosaic.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
loaded = [name for name in {heavy!r} if name in sys.modules]
sys.exit(f"loaded: {{loaded}}" if loaded else 0)
"""
    result = python(code)
    assert result.returncode == 0, result.stderr


# Each of these takes as long to import as the rest of a small command.
SLOW_IMPORTS = [
    "fsspec",
    "pandas",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.fs",
    "pyarrow.parquet",
    "pydantic",
    "pymosaic.datasets",
    "pymosaic.file.writer",
    "rich",
    "typer",
]


@pytest.mark.parametrize("command", ["count", "head", "sample", "cat"])
@pytest.mark.parametrize(
    "where", ["n > 1", "text = 'b'", "flag is not null", "day >= '2024-01-02'", "price < 2"]
)
def test_filters_do_not_import_pandas(command, where, tmp_path):
    path = tmp_path / "filtered.mosaic"
    table = pa.table(
        {
            "n": [1, 2, 3],
            "text": ["a", "b", "c"],
            "flag": [True, False, True],
            "day": [datetime.date(2024, 1, day) for day in (1, 2, 3)],
            "price": [Decimal("1.5"), Decimal("2.5"), Decimal("3.5")],
        }
    )
    pymosaic.write_table(table, path, statistics=True)
    code = f"""
import sys
sys.argv = ["pymosaic", {command!r}, {str(path)!r}, "--where", {where!r}]
from pymosaic.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
sys.exit("pandas is loaded" if "pandas" in sys.modules else 0)
"""
    result = python(code)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("command", ["count", "head"])
def test_small_commands_import_little(command, small):
    code = f"""
import sys
sys.argv = ["pymosaic", {command!r}, {str(small)!r}]
from pymosaic.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
loaded = [name for name in {SLOW_IMPORTS!r} if name in sys.modules]
sys.exit(f"loaded: {{loaded}}" if loaded else 0)
"""
    result = python(code)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_one_line_tells_how_to_get_it(missing, small):
    code = f"""
import sys
sys.modules[{missing!r}] = None
sys.argv = ["pymosaic", "head", {str(small)!r}, "--format", "table"]
from pymosaic.cli import main
main()
"""
    result = python(code)
    assert result.returncode == 1
    assert "pip install 'pymosaic-format[cli]'" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_version_and_usage_errors():
    with start("--version") as process:
        shown = process.communicate(timeout=TIMEOUT)[0]
    assert shown.startswith(
        f"pymosaic {pymosaic.__version__} (libzstd {pymosaic.__build__.libzstd},"
    )
    assert len(shown.splitlines()) == 1
    with start("nosuch") as process:
        _, complaint = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 2
    assert "No such command 'nosuch'" in complaint


@pytest.fixture(scope="module")
def long_file(tmp_path_factory):
    """Rows enough that writing them as text takes a while; small row groups."""
    path = tmp_path_factory.mktemp("long") / "long.mosaic"
    rows = pa.table({"n": range(2000), "text": ["some text"] * 2000})
    with pymosaic.MosaicWriter(path, rows.schema, row_group_bytes=1) as writer:
        for _ in range(200):
            writer.write(rows)
    return path


def test_a_reader_that_has_seen_enough_is_no_error(long_file):
    with start("cat", long_file) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == '{"n":0,"text":"some text"}\n'
        process.stdout.close()
        process.wait(TIMEOUT)
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("extension", ["jsonl", "parquet", "csv.gz"])
def test_an_interrupt_leaves_nothing_behind(long_file, tmp_path, number, extension):
    target = tmp_path / f"out.{extension}"
    with start("convert", long_file, target) as process:
        deadline = time.monotonic() + TIMEOUT
        # Once anything is written; the work may be done before the signal comes.
        while not os.listdir(tmp_path) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        process.send_signal(number)
        output, complaint = process.communicate(timeout=TIMEOUT)
    assert complaint == ""
    if process.returncode == 0:
        assert output.startswith("wrote ")
        assert os.listdir(tmp_path) == [target.name]
    else:
        assert process.returncode == 128 + number
        assert os.listdir(tmp_path) == [target.name] * target.exists()


def complete(*words: str) -> list[str]:
    result = subprocess.run(
        [sys.executable, "-m", "pymosaic"],
        capture_output=True,
        text=True,
        env=environment(
            _PYMOSAIC_COMPLETE="bash_complete",
            COMP_WORDS=" ".join(("pymosaic", *words)),
            COMP_CWORD=str(len(words)),
        ),
        timeout=TIMEOUT,
        check=False,
    )
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line]


def test_the_shell_completes_commands_and_columns(small):
    assert complete("co") == ["column-size", "count", "convert", "compact"]
    assert complete("head", str(small), "-c", "id,s") == ["id,score", "id,seen"]
    assert complete("head", "/nosuch.mosaic", "-c", "i") == []
    assert complete("column-size", str(small), "--by", "p") == ["prefix"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_once(shell, tmp_path):
    for _ in range(2):
        result = subprocess.run(
            [sys.executable, "-m", "pymosaic", "--install-completion"],
            capture_output=True,
            text=True,
            env=environment(SHELL=f"/bin/{shell}", HOME=str(tmp_path)),
            timeout=TIMEOUT,
            check=True,
        )
    script = result.stdout.partition(" installed in ")[2].partition(";")[0]
    with open(script, encoding="utf-8") as file:
        assert "_PYMOSAIC_COMPLETE" in file.read()
    settings = tmp_path / f".{shell}rc"
    if shell == "fish":
        assert not settings.exists()
    else:
        assert len(settings.read_text().splitlines()) == 1


def test_an_unknown_shell_is_an_error_that_names_the_known_ones():
    result = subprocess.run(
        [sys.executable, "-m", "pymosaic", "--show-completion"],
        capture_output=True,
        text=True,
        env=environment(SHELL="/bin/tcsh"),
        timeout=TIMEOUT,
        check=False,
    )
    assert result.returncode == 2
    assert "'tcsh'" in result.stderr
    assert "bash, zsh, fish" in result.stderr
