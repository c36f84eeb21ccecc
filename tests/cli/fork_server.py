"""Runs command lines in forks of a process that has imported everything once.

Run as ``python -m tests.cli.fork_server``: a JSON object a line comes in (arguments, directory,
environment, files for the two outputs), the exit code goes out. What a command sees differs from a
fresh process only in what is imported already; some tests therefore start fresh ones.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import sys
import traceback
from importlib import import_module

from pymosaic.cli import main
from pymosaic.cli.application import COMMANDS

PRELOADED = [
    "pyarrow.compute",
    "pymosaic.cli.comparison",
    "pymosaic.cli.formats.arrow",
    "pymosaic.cli.formats.csv",
    "pymosaic.cli.formats.jsonl",
    "pymosaic.cli.formats.mosaic",
    "pymosaic.cli.formats.orc",
    "pymosaic.cli.formats.parquet",
    "pymosaic.cli.rows",
    "pymosaic.cli.targets",
    "pymosaic.cli.terminal",
    *(f"pymosaic.cli.commands.{name.replace('-', '_')}" for name in COMMANDS),
]


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
    for name in PRELOADED:
        import_module(name)
    # The collector would touch, and so copy, all that is shared with the forks.
    gc.freeze()
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
