"""``pymosaic view``."""

from __future__ import annotations

from typing import Annotated

import typer

from pymosaic.cli.options import reporting
from pymosaic.cli.output import Output

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "FILE"
EXAMPLES = [
    "pymosaic view data.mosaic --open",
    "pymosaic view data.mosaic -o report.html --samples 0",
]


@reporting
def command(
    output: Output,
    file: Annotated[str, typer.Argument(metavar="FILE", hidden=True)],
    target: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="TARGET", help="[default: FILE.html, here]"),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the target if it exists.")
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Values of each column to show; 0 keeps them out."),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Heading of the page.")] = None,
) -> None:
    """Draw a picture of a file: one page for the browser.

    The page needs no network. It shows row groups, buckets and columns by size, the layout of the
    file, all columns, and what a query of some columns would read.
    """
    import os

    from pymosaic.cli.targets import check_target, target_bytes
    from pymosaic.cli.text import size
    from pymosaic.report import write_report

    if target is None:
        target = os.path.basename(file.rstrip("/")) + ".html"
    check_target(target, overwrite)
    options = {} if samples is None else {"samples": samples}
    write_report(file, target, title=title, **options)
    num_bytes = target_bytes(target)
    if open_it:
        import webbrowser

        webbrowser.open("file://" + os.path.abspath(target))
    output.answer(f"wrote {target}: {size(num_bytes)}", {"target": target, "file_bytes": num_bytes})
