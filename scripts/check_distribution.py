"""Check that wheels hold all they should, and that wheels and sdists work where nothing else is.

Run as ``python scripts/check_distribution.py dist/*``. Dependencies come from where pip finds
packages.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMOKE_TEST = """
import pathlib, sys
import pyarrow as pa, pymosaic
assert pathlib.Path(pymosaic.__file__).is_relative_to(sys.prefix), pymosaic.__file__
table = pa.table({"id": [1, 2, None], "name": ["x", "y", "x"]})
pymosaic.write_table(table, "smoke.mosaic")
assert pymosaic.read_table("smoke.mosaic").equals(table)
pymosaic.write_dataset(table, "smoke", partition_by=["name"])
assert pymosaic.dataset("smoke").count_rows() == 3
assert pymosaic.verify("smoke.mosaic") == []
pymosaic.write_report("smoke.mosaic", "smoke.html")
"""


def expected_files() -> set[str]:
    """Name every file that the checkout says the wheel must hold."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    source = ROOT / "src"
    expected = set()
    for path in source.glob("py*mosaic/**/*"):
        if path.suffix == ".pyx":
            expected |= {path.with_suffix(suffix), path.with_suffix(".pyi")}
        elif (
            path.suffix in (".py", ".pyi", ".pxd", ".h", ".java")
            or path.name == "py.typed"
            or path.parent.name == "assets"
        ):
            expected.add(path)
    expected.add(source / "pymosaic" / "py.typed")
    return {path.relative_to(source).as_posix() for path in expected}


def check_files(wheel: str) -> int:
    """Compare the wheel's files with the checkout; returns how many there are."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    # auditwheel lists directories too.
    files = {name for name in names if not name.endswith("/")}
    if files != (expected := expected_files()):
        sys.exit(
            f"{wheel}: missing {sorted(expected - files)}, too much {sorted(files - expected)}"
        )
    return len(files)


def try_it(distribution: str, directory: Path) -> None:
    """Install a wheel or sdist into an environment of its own, then write and read there."""
    environment = directory / "environment"
    venv.create(environment, symlinks=True, with_pip=False)
    python = environment / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", distribution],
        check=True,
    )
    # -I: neither the checkout nor PYTHONPATH.
    subprocess.run([python, "-I", "-c", SMOKE_TEST], check=True, cwd=directory)
    command = subprocess.run(
        [environment / "bin" / "pymosaic", "schema", "smoke.mosaic"],
        cwd=directory,
        capture_output=True,
        text=True,
    )
    if command.returncode == 0 or "pip install 'pymosaic-format[cli]'" not in command.stderr:
        sys.exit(f"the command does not say what it needs: {command.stderr}")


def main(distribution: str) -> None:
    """Check what is in a wheel or sdist, and that it works."""
    checked = f"{check_files(distribution)} files, " if distribution.endswith(".whl") else ""
    with tempfile.TemporaryDirectory(prefix="pymosaic-release-") as directory:
        try_it(distribution, Path(directory))
    print(f"{distribution}: {checked}installs, writes and reads")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        main(argument)
