"""``pymosaic paimon …``: what only Paimon tables have."""

from __future__ import annotations

import typer

from pymosaic.cli.commands.paimon import snapshots

__all__ = ["group"]

group: typer.Typer = typer.Typer(
    help="Paimon tables: their snapshots and tags.",
    epilog="""\b
Examples:
  pymosaic paimon snapshots warehouse/shop.db/sales""",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@group.callback()
def _options() -> None:
    """A group, though it has one command."""


_examples = "\n".join(f"  {line}" for line in snapshots.EXAMPLES)
group.command("snapshots", epilog=f"\b\nExamples:\n{_examples}")(snapshots.command)
