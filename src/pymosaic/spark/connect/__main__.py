"""Start a Connect server in place of this process."""

import os
import sys
from pathlib import Path

from pymosaic.spark.connect import SETTING

PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"
PLUGINS = "spark.plugins="


def command(arguments: list[str]) -> list[str]:
    """The command line of a server that was asked for by arguments of ``spark-submit``."""
    from pyspark.find_spark_home import _find_spark_home

    others = list(arguments)
    plugins = [place for place, word in enumerate(others) if word.startswith(PLUGINS)]
    for place in plugins:
        others[place] += f",{PLUGIN}"
    own = ["--conf", f"{SETTING}=true"]
    if not plugins:
        own += ["--conf", PLUGINS + PLUGIN]
    submit = str(Path(_find_spark_home(), "bin", "spark-submit"))
    return [submit, *own, *others, str(Path(__file__).with_name("driver.py"))]


if __name__ == "__main__":
    line = command(sys.argv[1:])
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    os.execve(line[0], line, python | dict(os.environ))
