import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.spark.examples import MODULES

# Their examples need a Spark session: tests/spark/test_examples.py runs them.
collect_ignore = [f"src/{name.replace('.', '/')}.py" for name in MODULES]

# PyPaimon needs older versions of others, so Paimon tables are tested in an environment of their
# own (`make test-paimon`). There the tests are never left out, whatever is missing.
if find_spec("pypaimon") is None and Path(sys.prefix).name != ".venv-paimon":
    collect_ignore += ["tests/paimon", "src/pymosaic/paimon"]

# Ray is large, so that it has an environment of its own, too (`make test-ray`).
if find_spec("ray") is None and Path(sys.prefix).name != ".venv-ray":
    collect_ignore += [
        "tests/ray",
        "src/pymosaic/interop/ray.py",
        "src/pymosaic/interop/ray_source.py",
    ]


@pytest.fixture(autouse=True)
def _doctest_directory(request: pytest.FixtureRequest) -> None:
    # Docstring examples write files by plain names, as a reader of them would.
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
