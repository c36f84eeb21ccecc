"""Jobs as commands, in the session of the tests, and one as a module in a process of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import pymosaic
from pymosaic.cli.application import _without_stack, run
from pymosaic.spark.jobs import session

LONG = pa.table({"id": [1, 1, 2], "name": ["x", "y", "x"], "value": [1.5, 2.5, 3.5]})


@pytest.fixture
def long(tmp_path) -> Path:
    pq.write_table(LONG, tmp_path / "long.parquet")
    return tmp_path / "long.parquet"


@pytest.fixture
def command(spark, monkeypatch, capfdbinary):
    """Runs a command in the session that there is, which stays."""
    monkeypatch.setattr(session, "open_session", lambda master, settings: spark)
    monkeypatch.setattr(type(spark), "stop", lambda self: None)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run(["spark", *map(str, arguments)])
        found = capfdbinary.readouterr()
        return code, found.out.decode(), found.err.decode()

    return call


def test_every_job_has_a_command(command, long, tmp_path):
    wide = tmp_path / "wide"
    code, text, error = command("pivot", long, wide, "--entity", "id", "--feature", "name")
    assert code == 0, error
    assert text.startswith("job        pivot\nrows       2\ncolumns    3\n")
    assert pymosaic.dataset(str(wide)).count_rows() == 2
    report = tmp_path / "report.json"
    code, text, _ = command("convert", long, tmp_path / "m", "--report", report, "--json")
    assert (code, json.loads(text)["rows"]) == (0, 3)
    assert json.loads(report.read_text()) == json.loads(text)
    code, text, _ = command("verify", tmp_path / "m", "--source", long)
    assert (code, re.search(r"^ok +True$", text, re.MULTILINE) is not None) == (0, True)
    code, text, _ = command("verify", wide, "--source", long, "--json")
    assert (code, json.loads(text)["ok"]) == (1, False)
    tables = [f"a={wide}", f"b={wide}"]
    names = ["--on", "id", "--column-names", "{table}_{column}"]
    code, _, _ = command("assemble", tmp_path / "both", *tables, *names, "-O", "numBuckets=2")
    assert code == 0
    both = pymosaic.dataset(str(tmp_path / "both"))
    assert both.schema.names == ["id", "a_x", "a_y", "b_x", "b_y"]
    code, text, _ = command("profile", wide, "--to", tmp_path / "p.json", "-c", "x,y", "--json")
    assert [row["nulls"] for row in json.loads(text)["profile"]] == [0, 1]
    code, text, _ = command("compact", wide, "--target-file-bytes", "1MiB", "--json")
    assert (code, json.loads(text)["files_before"]) == (0, 1)


def test_mistakes_are_told_in_a_line(command, long, tmp_path):
    options = ["--entity", "id", "--feature", "nam"]
    code, _, error = command("pivot", long, tmp_path / "wide", *options)
    assert (code, error.count("\n")) == (2, 1), error
    assert "did you mean 'name'" in error
    code, _, error = command("convert", long, tmp_path / "wide", "-O", "level")
    assert code == 2
    assert "'level' must be KEY=VALUE" in error
    code, text, _ = command("--help")
    assert code == 0
    assert "assemble" in text


SUBMITTED = """
import json, sys
from pymosaic.spark.jobs.session import open_session

spark = open_session(settings={"spark.sql.shuffle.partitions": "3"} | json.loads(sys.argv[2]))
names = ("master", "app.name", "sql.shuffle.partitions", "default.parallelism")
with open(sys.argv[1], "w") as file:
    json.dump([spark.conf.get(f"spark.{name}") for name in names], file)
"""


@pytest.mark.parametrize(
    ("own", "master"),
    [({}, "local[1]"), ({"spark.master": "local[2]"}, "local[2]")],
    ids=["submitted", "own"],
)
def test_what_spark_submit_says_counts_unless_the_job_says_otherwise(tmp_path, own, master):
    script, answer = tmp_path / "script.py", tmp_path / "answer.json"
    script.write_text(SUBMITTED)
    settings = {
        "spark.default.parallelism": "5",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    pairs = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    done = subprocess.run(
        [submit, "--master", "local[1]", "--name", "mine", *pairs, script, answer, json.dumps(own)],
        cwd=tmp_path,
        env=os.environ | {"SPARK_HOME": str(submit.parents[1]), "PYSPARK_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=1500,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    assert json.loads(answer.read_text()) == [master, "mine", "3", "5"]


def test_a_failure_in_spark_is_told_without_the_calls_of_the_jvm():
    text = "Job aborted: no such program\n\tat org.apache.spark.Task.run(Task.scala:1)\n\tat x"
    assert _without_stack(text) == "Job aborted: no such program"
    assert _without_stack("[CODE] what is wrong\n\nJVM stacktrace:\nx") == "[CODE] what is wrong"
    assert _without_stack("two\nlines") == "two\nlines"
    caused = "Task failed\n\tat x.y(Z)\nCaused by: java.io.IOException: No space left\n\tat y"
    assert _without_stack(caused) == "Task failed: java.io.IOException: No space left"


def test_one_module_starts_any_job_on_an_embedded_spark(long, tmp_path):
    """As a file, which is how spark-submit starts it."""
    module = Path(pymosaic.__file__).parent / "spark" / "jobs" / "__main__.py"
    arguments = ["pivot", long, tmp_path / "wide", "--entity", "id", "--feature", "name", "--json"]
    settings = ["--master", "local[1]", "--conf", "spark.driver.bindAddress=127.0.0.1"]
    environment = {key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"}
    done = subprocess.run(
        [sys.executable, module, *arguments, *settings, "--conf", "spark.driver.host=127.0.0.1"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        timeout=600,
        text=True,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["rows"] == 2
    rows = pymosaic.dataset(str(tmp_path / "wide")).scan().to_table().sort_by("id").to_pylist()
    assert rows == [{"id": 1, "x": 1.5, "y": 2.5}, {"id": 2, "x": 3.5, "y": None}]
