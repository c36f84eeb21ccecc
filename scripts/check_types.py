"""Check that type checkers know the type of every public symbol: ``pyright --verifytypes``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Print what has no known type, and return 1 if there is anything."""
    programs = Path(sys.executable).parent
    environment = {
        **os.environ,
        # Where pyright looks for the package and for what it imports: here, it ignores stubPath.
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests' / 'typed' / 'stubs'}",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": str(programs.parent),
        "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
    }
    found = subprocess.run(
        [programs / "pyright", "--verifytypes", "pymosaic", "--ignoreexternal"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode or "Type completeness score: 100%" not in found.stdout:
        print(found.stdout, found.stderr, sep="\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
