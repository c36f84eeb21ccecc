"""Completion in the shell: of column names, and the script that teaches the shell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

__all__ = ["COMPLETION_OPTIONS", "complete_columns", "complete_files"]

_MOST = 200
_VARIABLE = "_PYMOSAIC_COMPLETE"
# For each shell, the file that gets the script, and the file and the line that load it.
_PLACES = {
    "bash": (".bash_completions/pymosaic.sh", ".bashrc", "source ~/.bash_completions/pymosaic.sh"),
    "zsh": (".zfunc/_pymosaic", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/pymosaic.fish", None, None),
}


def complete_columns(ctx: click.Context, incomplete: str) -> list[str]:
    """Column names of the file on the command line that continue the list typed so far."""
    # While a line is incomplete, everything that is not an option is still an argument.
    given = [*(ctx.params.get("files") or ()), *ctx.args]
    source = next((word for word in given if not word.startswith("-")), None)
    if source is None:
        return []
    before, comma, start = incomplete.rpartition(",")
    try:
        from pymosaic.cli.rows import open_rows

        with open_rows([source]) as rows:
            names = rows.schema.names
    except Exception:  # whatever is wrong with the file, the shell offers no completions
        return []
    matching = (name for name in names if name.startswith(start) and name.isprintable())
    return [f"{before}{comma}{name}" for _, name in zip(range(_MOST), matching, strict=False)]


def complete_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Files and directories, which the shell itself looks for."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _shell(ctx: click.Context) -> str:
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in _PLACES:
        known = ", ".join(_PLACES)
        ctx.fail(f"The shell {shell!r} has no completion here; set SHELL to one of {known}")
    return shell


def _script(ctx: click.Context, shell: str) -> str:
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    return kind(ctx.command, {}, "pymosaic", _VARIABLE).source()


def _show(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(_script(ctx, _shell(ctx)))
        ctx.exit()


def _install(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    shell = _shell(ctx)
    script_name, settings_name, line = _PLACES[shell]
    script = Path.home() / script_name
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_script(ctx, shell), encoding="utf-8")
    if settings_name is not None and line is not None:
        settings = Path.home() / settings_name
        before = settings.read_text(encoding="utf-8") if settings.exists() else ""
        if line not in before:
            settings.write_text(f"{before.rstrip()}\n{line}\n".lstrip(), encoding="utf-8")
    click.echo(f"{shell} completion is installed in {script}; new shells have it.")
    ctx.exit()


def _flag(name: str, callback: Any, text: str) -> click.Option:
    return click.Option(
        [name], is_flag=True, is_eager=True, expose_value=False, callback=callback, help=text
    )


COMPLETION_OPTIONS = (
    _flag("--install-completion", _install, "Install completion for your shell."),
    _flag("--show-completion", _show, "Show the script that completes, for your shell."),
)
