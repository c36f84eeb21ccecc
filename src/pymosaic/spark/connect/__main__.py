"""Start a Connect server in place of this process."""

import os
import sys
from pathlib import Path

from pymosaic.spark.connect import SETTING


def command(arguments: list[str]) -> list[str]:
    """The command line of a server that was asked for by arguments of ``spark-submit``."""
    from pyspark.find_spark_home import _find_spark_home

    submit = str(Path(_find_spark_home(), "bin", "spark-submit"))
    driver = str(Path(__file__).with_name("driver.py"))
    return [submit, "--conf", f"{SETTING}=true", *arguments, driver]


if __name__ == "__main__":
    line: list[str] = command(sys.argv[1:])
    python: dict[str, str] = {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    os.execve(line[0], line, python | dict(os.environ))
