"""What is loaded, and that both ends of the range of zstandard are those that are tested."""

from __future__ import annotations

import importlib.metadata
import json
from dataclasses import replace

import pyarrow as pa
import zstandard

import pymosaic
from pymosaic.build import REFERENCE_LIBZSTD
from tests.cli.running import start


def test_it_tells_what_is_loaded():
    build = pymosaic.__build__
    assert build.version == pymosaic.__version__
    assert build.libzstd == ".".join(map(str, zstandard.ZSTD_VERSION))
    assert build.zstandard == importlib.metadata.version("zstandard")
    assert build.pyarrow == pa.__version__


def test_bytes_are_compared_with_the_reference_in_one_of_the_environments():
    # .venv has the first, .venv-paimon, with the oldest versions, the second.
    ends = {"0.25": REFERENCE_LIBZSTD, "0.22": "1.5.5"}
    build = pymosaic.__build__
    assert build.libzstd == ends[build.zstandard.rpartition(".")[0]]
    assert build.writes_bytes_of_reference == (build.zstandard.startswith("0.25."))
    assert not replace(build, libzstd="1.5.5").writes_bytes_of_reference


def test_the_command_line_tells_it_for_a_file(tmp_path):
    pymosaic.write_table(pa.table({"n": [1]}), tmp_path / "n.mosaic")
    with start("meta", tmp_path / "n.mosaic", "--json") as process:
        shown = json.loads(process.communicate(timeout=120)[0])
    assert shown["loaded_libzstd"] == pymosaic.__build__.libzstd
