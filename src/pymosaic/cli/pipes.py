"""Standard input and output as files: ``-``.

What comes in is kept in a temporary file, because most formats cannot be read front to back, and
what goes out is complete before its first byte is sent.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from pymosaic.errors import InvalidOptionError

__all__ = ["piped_sources", "piped_target"]


@contextmanager
def piped_sources(sources: list[str], form: str | None) -> Iterator[list[str]]:
    """The sources, with a file in place of ``-``."""
    if "-" not in sources:
        if form is not None:
            raise InvalidOptionError("--from is for the standard input: give - as the source")
        yield sources
        return
    if sources != ["-"]:
        raise InvalidOptionError("- cannot be combined with other sources")
    with tempfile.TemporaryDirectory(prefix="pymosaic-pipe-") as directory:
        path = _file_in(directory, form, "--from")
        with open(path, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [path]


@contextmanager
def piped_target(target: str, form: str | None) -> Iterator[str]:
    """The target; for ``-``, a file that is copied to the standard output when it is complete."""
    if target != "-":
        if form is not None:
            raise InvalidOptionError("--to is for the standard output: give - as the target")
        yield target
        return
    if sys.stdout.isatty():
        raise InvalidOptionError("- as the target is for pipes: this is a terminal")
    with tempfile.TemporaryDirectory(prefix="pymosaic-pipe-") as directory:
        path = _file_in(directory, form, "--to")
        yield path
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _file_in(directory: str, form: str | None, option: str) -> str:
    from pymosaic.cli.formats import FORMATS, kind_of

    path = os.path.join(directory, f"data.{(form or '').lstrip('.').lower()}")
    if form is None or kind_of(path) is None:
        known = ", ".join(sorted({extension[1:] for extension in FORMATS}))
        reason = f"{form!r} is not a format" if form else "a pipe has no file extension"
        raise InvalidOptionError(f"{option}: {reason}; give one of {known}")
    return path
