"""Options and arguments as annotations of a function, and the command that click makes of them.

``count: Annotated[int, Named("-n", "--rows", min=0)] = 10`` declares an option. Its type, whether
it may be repeated and its default come from the function's signature.
"""

from __future__ import annotations

import enum
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

import click

from pymosaic.cli.completion import complete_files

__all__ = ["CONTEXT", "Named", "Positional", "make_command", "make_group"]

# The class is generic in recent versions of click only.
if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True, slots=True)
class Positional:
    """A parameter given by its place on the command line, not by an option."""

    metavar: str


class Named:
    """A parameter given by an option; without flags, its flag is the parameter's name."""

    __slots__ = ("complete", "flags", "help", "maximum", "metavar", "minimum", "parser")

    def __init__(
        self,
        *flags: str,
        help: str,
        metavar: str | None = None,
        min: int | None = None,
        max: int | None = None,
        parser: Callable[[str], Any] | None = None,
        complete: Callable[[click.Context, str], list[str]] | None = None,
    ) -> None:
        self.flags: tuple[str, ...] = flags
        self.help: str = help
        self.metavar: str | None = metavar
        self.minimum: int | None = min
        self.maximum: int | None = max
        self.parser: Callable[[str], Any] | None = parser
        self.complete: Callable[[click.Context, str], list[str]] | None = complete


class _Parsed(_ParamType):
    """A value that a function reads."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return self._parse(value) if isinstance(value, str) else value


class _Choice(_ParamType):
    """One of the values of an enumeration."""

    name = "choice"

    def __init__(self, kind: type[enum.StrEnum]) -> None:
        self._kind = kind

    def get_metavar(self, param: Any, ctx: Any = None) -> str:
        return f"[{'|'.join(self._kind)}]"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return self._kind(value)
        except ValueError:
            choices = ", ".join(self._kind)
            return self.fail(f"{value!r} is not one of {choices}", param, ctx)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(text) for text in self._kind if text.startswith(incomplete)]


class _Number(_ParamType):
    """A number within bounds."""

    name = "number"

    def __init__(self, kind: type[int] | type[float], minimum: Any, maximum: Any) -> None:
        self._kind = kind
        self._minimum = minimum
        self._maximum = maximum

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            number = self._kind(value)
        except ValueError:
            expected = "an integer" if self._kind is int else "a number"
            return self.fail(f"{value!r} is not {expected}", param, ctx)
        if self._minimum is not None and not number >= self._minimum:  # NaN, too
            return self.fail(f"{number} is not {self._minimum} or more", param, ctx)
        if self._maximum is not None and number > self._maximum:
            return self.fail(f"{number} is more than {self._maximum}, the maximum", param, ctx)
        return number


class _Group(click.Group):
    """Lists its commands in their order, not by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


class _Command(click.Command):
    """A command whose arguments are shown as its module specifies."""

    usage: str | None = None

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        if self.usage is None:
            return super().collect_usage_pieces(ctx)
        return ["[OPTIONS]", self.usage]


def make_command(
    name: str, function: Callable[..., int | None], examples: Any, usage: str | None = None
) -> click.Command:
    """The command that runs this function; its help is the docstring, with examples."""
    signature = inspect.signature(function)
    command = _Command(
        name,
        callback=function,
        params=[_parameter(found) for found in signature.parameters.values()],
        help=inspect.cleandoc(function.__doc__ or ""),
        epilog=_epilog(examples),
        context_settings=CONTEXT,
    )
    command.usage = usage
    return command


def make_group(description: str, examples: Any, modules: Any) -> click.Group:
    """The commands of these modules, below one command."""
    group = _Group(
        help=description, epilog=_epilog(examples), no_args_is_help=True, context_settings=CONTEXT
    )
    for module in modules:
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        group.add_command(make_command(name, module.command, module.EXAMPLES))
    return group


def _epilog(examples: Any) -> str:
    lines = "\n".join(f"  {line}" for line in examples)
    return f"\b\nExamples:\n{lines}"


def _parameter(found: inspect.Parameter) -> click.Parameter:
    annotation, declared = get_args(found.annotation)
    kind, repeated = _kind(annotation)
    required = found.default is inspect.Parameter.empty
    # click takes None for a default that is given.
    default = {} if required else {"default": found.default}
    if isinstance(declared, Positional):
        return click.Argument(
            [found.name],
            metavar=declared.metavar,
            nargs=-1 if repeated else 1,
            required=required,
            callback=_list_or_none if repeated else None,
            shell_complete=complete_files,
            **default,
        )
    flags = [found.name, *(declared.flags or (f"--{found.name.replace('_', '-')}",))]
    shared: dict[str, Any] = {"help": declared.help, "required": required, **default}
    if kind is bool:
        # Of two flags, such as --do/--do-not, the default is worth telling.
        shown = "/" in flags[-1] and bool(shared.get("default"))
        return click.Option(flags, is_flag=True, show_default=shown, **shared)
    default_value = shared.get("default")
    if isinstance(default_value, enum.StrEnum):
        # click would show its name in Python.
        shared["default"] = default_value.value
    complete = declared.complete
    return click.Option(
        flags,
        type=_value_type(kind, declared),
        metavar=declared.metavar,
        multiple=repeated,
        show_default=default_value is not None,
        callback=_list_or_none if repeated else None,
        shell_complete=None if complete is None else _completing(complete),
        **shared,
    )


def _kind(annotation: Any) -> tuple[Any, bool]:
    """The type of a value, without None, and whether there may be several."""
    if get_origin(annotation) in (types.UnionType, Union):
        [annotation] = [kind for kind in get_args(annotation) if kind is not type(None)]
    if get_origin(annotation) is list:
        return get_args(annotation)[0], True
    return annotation, False


def _value_type(kind: Any, declared: Named) -> Any:
    if declared.parser is not None:
        return _Parsed(declared.parser)
    if kind is int or kind is float:
        return _Number(kind, declared.minimum, declared.maximum)
    if isinstance(kind, type) and issubclass(kind, enum.StrEnum):
        return _Choice(kind)
    return click.STRING


def _list_or_none(ctx: Any, param: Any, values: tuple[Any, ...]) -> list[Any] | None:
    return list(values) or None


def _completing(complete: Callable[[click.Context, str], list[str]]) -> Any:
    return lambda ctx, param, incomplete: complete(ctx, incomplete)
