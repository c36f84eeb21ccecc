"""Runs command lines in forks of a process that has imported everything once.

Run as ``python -m tests.cli.fork_server``: a JSON object a line comes in (arguments, directory,
environment, files for the two outputs), the exit code goes out. What a command sees differs from a
fresh process only in what is imported already; some tests therefore start fresh ones.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import traceback

import pyarrow.csv
import pyarrow.json
import pyarrow.orc
import pyarrow.parquet  # noqa: F401

from pymosaic.cli import main


def _run(request: dict) -> None:
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(request["stdout"], flags), 1)
    os.dup2(os.open(request["stderr"], flags), 2)
    sys.argv = ["pymosaic", *request["arguments"]]
    main()


def _child(request: dict) -> None:
    code = 99
    try:
        _run(request)
    except SystemExit as exit_request:
        code = exit_request.code if isinstance(exit_request.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _child(request)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
