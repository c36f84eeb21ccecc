"""``pymosaic browse``."""

from __future__ import annotations

from typing import Annotated

from pymosaic.cli.options import plain
from pymosaic.cli.parameters import Named, Positional

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "FILE [OTHER]"
EXAMPLES = [
    "pymosaic browse data.mosaic",
    "pymosaic browse table/ --no-open",
    "pymosaic browse old.mosaic new.mosaic",
]


@plain
def command(
    file: Annotated[str, Positional("FILE")],
    other: Annotated[str | None, Positional("OTHER")] = None,
    port: Annotated[
        int, Named(min=0, max=65535, metavar="N", help="Port; 0 for any that is free.")
    ] = 0,
    no_open: Annotated[
        bool, Named("--no-open", help="Only print the address; do not open a browser.")
    ] = False,
) -> None:
    """Look at the rows of a file or dataset in the browser.

    Scroll, search columns, filter rows, count values; with OTHER, see which values differ. The page
    is served on this machine only, and only to those who know its address. Ctrl-C stops it.
    """
    from pymosaic.cli.notices import tell
    from pymosaic.report.browse import BrowseServer

    server = BrowseServer([file] if other is None else [file, other], port)
    try:
        tell(f"serving {server.url} (Ctrl-C to stop)")
        if not no_open:
            import webbrowser

            webbrowser.open(server.url)
        server.serve()
    finally:
        server.close()
