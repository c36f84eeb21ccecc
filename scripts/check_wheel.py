"""Check that a wheel holds all it should and works outside the checkout.

Run as ``python scripts/check_wheel.py dist/pymosaic-*.whl``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SMOKE_TEST = """
import pathlib, sys
import pyarrow as pa, pymosaic
assert pathlib.Path(pymosaic.__file__).is_relative_to(pathlib.Path.cwd()), pymosaic.__file__
table = pa.table({"id": [1, 2, None], "name": ["x", "y", "x"]})
pymosaic.write_table(table, "smoke.mosaic")
assert pymosaic.read_table("smoke.mosaic").equals(table)
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


def main(wheel: str) -> None:
    """Compare the wheel's files with the checkout, then write and read a table with it."""
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as directory:
        files = {name for name in archive.namelist() if ".dist-info/" not in name}
        if files != (expected := expected_files()):
            sys.exit(
                f"{wheel}: missing {sorted(expected - files)}, too much {sorted(files - expected)}"
            )
        archive.extractall(directory)
        subprocess.run(
            [sys.executable, "-c", SMOKE_TEST],
            check=True,
            cwd=directory,
            env=os.environ | {"PYTHONPATH": directory},
        )
    print(f"{wheel}: {len(files)} files, writes and reads")


if __name__ == "__main__":
    main(sys.argv[1])
