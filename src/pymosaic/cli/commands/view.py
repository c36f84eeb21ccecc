"""``pymosaic view``."""

from __future__ import annotations

from typing import Annotated

from pymosaic.cli.options import reporting
from pymosaic.cli.output import Output
from pymosaic.cli.parameters import Named, Positional

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "FILE|DIRECTORY"
EXAMPLES = [
    "pymosaic view data.mosaic --open",
    "pymosaic view table/ -o table.html",
    "pymosaic view data.mosaic -o report.html --samples 0",
]


@reporting
def command(
    output: Output,
    file: Annotated[str, Positional("FILE")],
    target: Annotated[
        str | None,
        Named(
            "-o", "--output", metavar="TARGET", help="[default: FILE.html in the current directory]"
        ),
    ] = None,
    open_it: Annotated[bool, Named("--open", help="Open the page in the browser.")] = False,
    overwrite: Annotated[
        bool, Named("--overwrite", help="Replace the target if it exists.")
    ] = False,
    samples: Annotated[
        int | None,
        Named(min=0, metavar="N", help="Sample values per column; 0 for none."),
    ] = None,
    title: Annotated[str | None, Named(metavar="TEXT", help="Heading of the page.")] = None,
) -> None:
    """Draw a picture of a file: a page for the browser.

    The page works offline. It shows row groups, buckets and columns by size, the file layout, all
    columns, and what a query of some columns would read. The page of a dataset shows its files by
    groups of columns.
    """
    import os

    from pymosaic.cli.targets import check_target, target_bytes
    from pymosaic.report import write_report
    from pymosaic.sizes import format_size

    if target is None:
        target = os.path.basename(file.rstrip("/")) + ".html"
    check_target(target, overwrite)
    options = {} if samples is None else {"samples": samples}
    write_report(file, target, title=title, **options)
    num_bytes = target_bytes(target)
    if open_it:
        import webbrowser

        webbrowser.open("file://" + os.path.abspath(target))
    output.answer(
        f"wrote {target}: {format_size(num_bytes)}", {"target": target, "file_bytes": num_bytes}
    )
