import pytest
from tests.spark.examples import MODULES

# Their examples need a Spark session: tests/spark/test_examples.py runs them.
collect_ignore = [f"src/{name.replace('.', '/')}.py" for name in MODULES]


@pytest.fixture(autouse=True)
def _doctest_directory(request: pytest.FixtureRequest) -> None:
    # Docstring examples write files by plain names, as a reader of them would.
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
