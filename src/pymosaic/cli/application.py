"""The commands by name, and what they all share: errors, signals, exit codes."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from typing import Any

import click

from pymosaic.cli import missing_part
from pymosaic.cli.completion import COMPLETION_OPTIONS
from pymosaic.cli.interrupts import Interrupted, interruptible
from pymosaic.cli.notices import tell
from pymosaic.cli.options import Debug, ReaderGone
from pymosaic.cli.parameters import CONTEXT, make_command

__all__ = ["COMMANDS", "run"]

# Each command with its section of the help. Each is a module in `commands`, imported when the
# command is used.
COMMANDS = {
    "info": "Inspect a file",
    "schema": "Inspect a file",
    "meta": "Inspect a file",
    "footer": "Inspect a file",
    "buckets": "Inspect a file",
    "pages": "Inspect a file",
    "column-size": "Inspect a file",
    "dictionary": "Inspect a file",
    "stats": "Inspect a file",
    "profile": "Inspect a file",
    "head": "Read rows",
    "tail": "Read rows",
    "cat": "Read rows",
    "sample": "Read rows",
    "count": "Read rows",
    "diff": "Compare and check",
    "verify": "Compare and check",
    "view": "Compare and check",
    "browse": "Compare and check",
    "convert": "Write files",
    "merge": "Write files",
    "compact": "Write files",
    "vacuum": "Write files",
    "tune": "Write files",
    "paimon": "Paimon tables",
    "spark": "Run on Spark",
}

_HELP = """Inspect, read, convert and check Mosaic files: tables with very many columns.

FILE is a file, a directory, a glob or a URI. Every command has --help with examples."""


class _Commands(click.Group):
    """Loads each command from its module."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {}
        longest = max(map(len, COMMANDS))
        for name, panel in COMMANDS.items():
            text = _load(name).get_short_help_str(formatter.width - longest - 6)
            panels.setdefault(panel, []).append((name.ljust(longest), text))
        for panel, commands in panels.items():
            with formatter.section(panel):
                formatter.write_dl(commands)

    def get_command(self, ctx: Any, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = self.commands.get(cmd_name)
        if command is None:
            command = self.commands[cmd_name] = _load(cmd_name)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            from pymosaic.suggestions import did_you_mean

            advice = did_you_mean(name, COMMANDS, 2)
            ctx.fail(f"No such command {name!r}{advice}")
        return super().resolve_command(ctx, args)


def _load(name: str) -> click.Command:
    module: Any = import_module(f"pymosaic.cli.commands.{name.replace('-', '_')}")
    group: click.Command | None = getattr(module, "group", None)
    if group is not None:
        return group
    usage = getattr(module, "USAGE", "FILE...")
    return make_command(name, module.command, module.EXAMPLES, usage)


def _show_version(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        import pymosaic

        build = pymosaic.__build__
        click.echo(
            f"pymosaic {build.version} (libzstd {build.libzstd}, zstandard {build.zstandard}, "
            f"pyarrow {build.pyarrow})"
        )
        ctx.exit()


_VERSION = click.Option(
    ["--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version.",
)
_APPLICATION = _Commands(
    "pymosaic",
    help=_HELP,
    params=[_VERSION, *COMPLETION_OPTIONS],
    no_args_is_help=True,
    context_settings=CONTEXT,
)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code: 0 success, 1 findings or failure, 2 wrong usage."""
    Debug.enabled = False
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started us: nobody wants to read
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    try:
        with interruptible():
            code = _invoke(arguments)
            sys.stdout.flush()
            return code
    except (BrokenPipeError, ReaderGone):
        # The reader closed the pipe. Nothing may be flushed to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Interrupted as interrupt:
        return 128 + interrupt.signal_number
    except Exception as error:
        if Debug.enabled:
            import traceback

            traceback.print_exc()
        return _report(error)


def _invoke(arguments: list[str]) -> int:
    try:
        result = _APPLICATION.main(args=arguments, prog_name="pymosaic", standalone_mode=False)
    except Exception as error:
        show = getattr(error, "show", None)
        code = getattr(error, "exit_code", None)
        if show is None or code is None:
            raise
        show()  # a mistake in the arguments, which click explains
        return int(code)
    return result if isinstance(result, int) else 0


def _report(error: Exception) -> int:
    """Report an error on one line."""
    from pymosaic.errors import InvalidOptionError, MosaicError, printable
    from pymosaic.filters.tokens import FilterSyntaxError

    if isinstance(error, FilterSyntaxError):
        # The message has lines of its own that point at the position.
        tell(f"--where, {error}")
        return 2
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, ModuleNotFoundError) and missing_part(error) is not None:
        text = str(missing_part(error))
    elif isinstance(error, MosaicError) or _is_expected(error):
        text = str(error)
    else:
        text = f"{type(error).__name__}: {_without_stack(str(error))} (--debug shows where)"
    tell(printable(" ".join(text.split("\n"))))
    return 2 if isinstance(error, InvalidOptionError) else 1


def _without_stack(text: str) -> str:
    """A message from Spark without its JVM stack trace, but with the cause."""
    head = re.split(r"\n+(?:\s+at |JVM stacktrace:|Driver stacktrace:)", text, maxsplit=1)[0]
    causes = re.findall(r"^Caused by: (.+)$", text, re.MULTILINE)
    return f"{head}: {causes[-1]}" if causes and causes[-1] not in head else head


def _is_expected(error: Exception) -> bool:
    """Whether the message is clear without a traceback: errors of Arrow and of the system."""
    pyarrow = sys.modules.get("pyarrow")
    return isinstance(error, OSError) or (
        pyarrow is not None and isinstance(error, pyarrow.ArrowException)
    )
