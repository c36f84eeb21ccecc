"""The picture of a file or dataset as an object: shown in notebooks, saved, or opened.

Pictures are drawn by the report, which is built on files and datasets. Their ``view`` therefore
finds it by name, as the public names of the package are found.
"""

from __future__ import annotations

import html
import os
import tempfile
import webbrowser
from importlib import import_module

from pymosaic.io import open_sink
from pymosaic.sizes import format_size

__all__ = ["Picture", "picture_of"]

_HEIGHT = 640


class Picture:
    """A page that shows the structure of a file or dataset; see :func:`pymosaic.write_report`.

    Notebooks show it. It is in a frame of its own, so that nothing of the page around it changes
    and its script, which comes with it, cannot reach that page; it loads nothing.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"n": range(9)}), "nine.mosaic")
    >>> picture = pymosaic.view("nine.mosaic")
    >>> picture.save("nine.html")
    'nine.html'
    """

    def __init__(self, title: str, page: bytes) -> None:
        self.title = title
        self._page = page

    def __repr__(self) -> str:
        return (
            f"<pymosaic picture of {self.title!r}, {format_size(len(self._page))}: "
            "save(path) writes it, open() shows it in the browser>"
        )

    def _repr_html_(self) -> str:
        content = html.escape(self._page.decode("utf-8"))
        return (
            f'<iframe srcdoc="{content}" sandbox="allow-scripts" title="{html.escape(self.title)}" '
            f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
        )

    def save(self, out: str | os.PathLike[str]) -> str:
        """Write the page to a path or URI, which is returned; an existing file is replaced."""
        sink = open_sink(out)
        try:
            sink.write(self._page)
            sink.commit()
        except BaseException:
            sink.abort()
            raise
        return os.fspath(out)

    def open(self) -> None:
        """Show the page in the browser, from a temporary file."""
        with tempfile.NamedTemporaryFile("wb", suffix=".html", delete=False) as file:
            file.write(self._page)
        webbrowser.open(f"file://{file.name}")


def picture_of(source: object, title: str | None, **options: object) -> Picture:
    """The picture of an open file or dataset."""
    picture: Picture = import_module("pymosaic.report").view(source, title=title, **options)
    return picture
