"""Options that several commands share, and the wrappers that every command runs in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, TypeAlias

from pymosaic.cli.completion import complete_columns
from pymosaic.cli.output import Format
from pymosaic.cli.output_formats import open_output
from pymosaic.cli.parameters import Named, Positional

__all__ = [
    "Columns",
    "Debug",
    "Files",
    "Limit",
    "NumRows",
    "Offset",
    "ReaderGone",
    "RowGroups",
    "SomeColumns",
    "Where",
    "inspecting",
    "parameter",
    "plain",
    "reporting",
    "set_signature",
]

Files: TypeAlias = Annotated[list[str], Positional("FILE")]
Columns: TypeAlias = Annotated[
    list[str] | None,
    Named(
        "-c",
        "--columns",
        metavar="NAMES",
        help="Names and patterns (with *), comma-separated; repeatable.",
        complete=complete_columns,
    ),
]
SomeColumns: TypeAlias = Annotated[
    list[str],
    Named(
        "-c",
        "--columns",
        metavar="NAMES",
        help="Names and patterns (with *), comma-separated; repeatable.",
        complete=complete_columns,
    ),
]
RowGroups: TypeAlias = Annotated[
    list[int] | None,
    Named("--row-group", min=0, metavar="N", help="Only this row group; repeatable."),
]
Where: TypeAlias = Annotated[
    str | None,
    Named(
        "-w",
        "--where",
        metavar="FILTER",
        help=(
            "Rows to keep: \"age > 50 and city in ('Rome', 'Oslo')\". Also != <= >= between, "
            "like 'prefix%', is null, or, not, parentheses. Text is in single quotes; names that "
            "are not plain words are in double quotes; date '2024-05-31'."
        ),
    ),
]
Limit: TypeAlias = Annotated[
    int | None, Named("-n", "--rows", min=0, metavar="N", help="Maximum number of rows.")
]
NumRows: TypeAlias = Annotated[
    int, Named("-n", "--rows", min=0, metavar="N", help="Number of rows.")
]
Offset: TypeAlias = Annotated[
    int, Named("--offset", min=0, metavar="N", help="Number of rows to skip first.")
]
_Format: TypeAlias = Annotated[
    Format | None,
    Named(
        "-f",
        "--format",
        metavar="FORMAT",
        help="table, json, jsonl or csv; by default table on a terminal, otherwise jsonl.",
    ),
]
_Json: TypeAlias = Annotated[bool, Named("--json", help="Same as --format json.")]
_JsonReport: TypeAlias = Annotated[bool, Named("--json", help="Print a report as JSON.")]
_NoPager: TypeAlias = Annotated[bool, Named("--no-pager", help="Do not page long output.")]
_Debug: TypeAlias = Annotated[bool, Named("--debug", help="Show the traceback of an error.")]


class Debug:
    """Whether errors are shown with their traceback; set by ``--debug``."""

    enabled = False


class ReaderGone(Exception):
    """The reader of our output closed the pipe; click would report a BrokenPipeError."""


def parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """An option, to be added to the signature of a command."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


_DEBUG = [parameter("debug", _Debug, False)]
_OUTPUT = [
    parameter("wanted_format", _Format, None),
    parameter("as_json", _Json, False),
    parameter("no_pager", _NoPager, False),
]


def plain(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """A command with the common options; it returns its exit code, or None for 0."""
    signature = inspect.signature(function, eval_str=True)

    @wraps(function)
    def run(*, debug: bool, **arguments: Any) -> int | None:
        Debug.enabled = debug
        try:
            return function(**arguments)
        except BrokenPipeError:
            raise ReaderGone from None

    set_signature(run, [*signature.parameters.values(), *_DEBUG])
    return run


def inspecting(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """A command whose first parameter is the output chosen by ``--format`` and ``--json``."""
    signature = inspect.signature(function, eval_str=True)
    first, *others = signature.parameters.values()

    def run(
        *, wanted_format: Format | None, as_json: bool, no_pager: bool, **arguments: Any
    ) -> int | None:
        output = open_output(wanted_format, as_json=as_json, pager=not no_pager)
        try:
            return function(**{first.name: output}, **arguments)
        finally:
            output.close()

    run.__doc__ = function.__doc__
    set_signature(run, [*others, *_OUTPUT])
    return plain(run)


def reporting(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """A command that acts, then reports it on one line, or as JSON with ``--json``."""
    signature = inspect.signature(function, eval_str=True)
    first, *others = signature.parameters.values()

    def run(*, as_json: bool, **arguments: Any) -> int | None:
        output = open_output(None, as_json=as_json, pager=False)
        try:
            return function(**{first.name: output}, **arguments)
        finally:
            output.close()

    run.__doc__ = function.__doc__
    set_signature(run, [*others, parameter("as_json", _JsonReport, False)])
    return plain(run)


def set_signature(function: Any, parameters: list[inspect.Parameter]) -> None:
    """Add these options to a command, as keyword arguments."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    function.__signature__ = inspect.Signature(
        [parameter.replace(kind=keyword) for parameter in parameters]
    )
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
