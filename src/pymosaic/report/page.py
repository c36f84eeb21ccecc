"""Builds an HTML page from a template, the package's scripts and styles, and a file's numbers.

Nothing that comes from the file is ever part of the markup: it is embedded as compressed base64,
unpacked by the page's script, and shown as text. The page's content security policy allows only its
own script and style sheet, and no network access.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import os
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from numbers import Integral

from pymosaic.datasets.dataset import Dataset
from pymosaic.errors import InvalidOptionError
from pymosaic.file.reader import MosaicFile, in_stored_types
from pymosaic.io import SourceLike
from pymosaic.keywords import checked_keywords
from pymosaic.picture import Picture
from pymosaic.report.contents import collect
from pymosaic.report.dataset_contents import collect_dataset
from pymosaic.report.payload import pack

__all__ = ["DEFAULT_SAMPLES", "browse_page", "view", "write_report"]

DEFAULT_SAMPLES = 5
_MAX_SAMPLES = 100
# In order of dependency; together they form one function.
_SCRIPTS = (
    "text.js",
    "picture.js",
    "projection.js",
    "reads.js",
    "canvas.js",
    "treemap.js",
    "map.js",
    "strip.js",
    "table.js",
    "details.js",
    "simulator.js",
    "main.js",
)
_STYLES = ("page.css",)
_DATASET_SCRIPTS = ("text.js", "projection.js", "dataset.js")
_DATASET_STYLES = ("dataset.css",)
_BROWSE_SCRIPTS = ("text.js", "browse_grid.js", "browse.js")
_BROWSE_STYLES = ("browse.css",)


@checked_keywords()
def write_report(
    source: SourceLike,
    out: str | os.PathLike[str],
    *,
    filesystem: object = None,
    samples: int = DEFAULT_SAMPLES,
    title: str | None = None,
) -> str:
    """Write a page that shows the structure of a file or dataset.

    The page is one HTML file that works offline: a map of row groups, buckets and columns sized by
    bytes, the layout of the file to scale, a table of all columns, and a simulator that shows which
    bytes a projection reads. The page of a directory shows its files by groups of columns, sizes,
    rows, ages, columns that differ, and the bytes that a projection reads of each file.

    Parameters
    ----------
    source : str, path-like, bytes-like or binary file object
        The Mosaic file: a path, a URI, the bytes of a file, or an open file (which stays open). Or
        the path of a local directory with a dataset.
    out : str or path-like
        Path or URI of the page. An existing file is replaced once the page is complete.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``source``, which must then be a path.
    samples : int
        Maximum number of values to show per column; 0 for none. Statistics, which are values too,
        are shown if the file has them.
    title : str, optional
        Heading of the page; by default the file's name.

    Returns
    -------
    str
        ``out``.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table({"id": range(100), "kind": ["a", "b"] * 50, "note": [None] * 100})
    >>> pymosaic.write_table(table, "small.mosaic")
    >>> pymosaic.write_report("small.mosaic", "small.html")
    'small.html'
    """
    return view(source, filesystem=filesystem, samples=samples, title=title).save(out)


@checked_keywords()
def view(
    source: SourceLike | MosaicFile | Dataset,
    *,
    filesystem: object = None,
    samples: int = DEFAULT_SAMPLES,
    title: str | None = None,
) -> Picture:
    """The page of :func:`pymosaic.write_report` as an object, which notebooks show.

    Parameters
    ----------
    source : MosaicFile, Dataset, or as for :func:`pymosaic.write_report`
    filesystem, samples, title
        As for :func:`pymosaic.write_report`.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"n": range(9)}), "nine.mosaic")
    >>> pymosaic.view("nine.mosaic").save("nine.html")
    'nine.html'
    """
    _check_options(samples, title)
    if isinstance(source, MosaicFile):
        return _file_picture(in_stored_types(source), samples, title)
    if isinstance(source, Dataset):
        return _dataset_picture(source.base, title, source)
    if filesystem is None and isinstance(source, str | os.PathLike) and os.path.isdir(source):
        return _dataset_picture(os.fspath(source), title)
    with MosaicFile(source, filesystem=filesystem, types="mosaic") as file:
        return _file_picture(file, samples, title)


def _check_options(samples: int, title: str | None) -> None:
    """Refuse wrong options before anything is read."""
    if not isinstance(samples, Integral) or isinstance(samples, bool):
        raise InvalidOptionError(f"samples must be an int, got {samples!r}")
    if not 0 <= samples <= _MAX_SAMPLES:
        raise InvalidOptionError(f"samples must be from 0 to {_MAX_SAMPLES}, got {samples}")
    if title is not None and not isinstance(title, str):
        raise InvalidOptionError(f"title must be a str, got {title!r}")


def _dataset_picture(
    base: str, title: str | None = None, dataset: Dataset | None = None
) -> Picture:
    """The picture of a local directory with a dataset, or of an open dataset."""
    document = collect_dataset(base, title, dataset)
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    payload = gzip.compress(text.encode(), 6, mtime=0)
    return _picture(document["title"], payload, "dataset.html", _DATASET_SCRIPTS, _DATASET_STYLES)


def _file_picture(file: MosaicFile, samples: int, title: str | None = None) -> Picture:
    """The picture of a file that was opened with ``types="mosaic"``."""
    document, arrays = collect(file, int(samples), title)
    payload = pack(document, arrays)
    return _picture(document["title"], payload, "page.html", _SCRIPTS, _STYLES)


def _picture(
    title: str,
    payload: bytes,
    template_name: str,
    scripts: tuple[str, ...],
    styles: tuple[str, ...],
) -> Picture:
    """The whole page: the template with its parts filled in."""
    assets = files("pymosaic.report") / "assets"
    script = '"use strict";\n(() => {\n' + _joined(assets, scripts) + "})();\n"
    style = _joined(assets, styles)
    policy = (
        f"default-src 'none'; img-src data:; script-src '{_digest(script)}'; "
        f"style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy.encode(),
        # A lone surrogate, from a path that is not UTF-8, cannot be encoded.
        "title": html.escape(title).encode("utf-8", "replace"),
        "style": style.encode(),
        "payload": base64.b64encode(payload),
        "script": script.encode(),
    }
    template = (assets / template_name).read_bytes()
    # In one pass, so that the content of a part is never taken for the name of another.
    page = re.sub(rb"\{\{(\w+)\}\}", lambda place: parts[place[1].decode()], template)
    return Picture(title, page)


def browse_page() -> tuple[bytes, str]:
    """The page that browses rows, and its content security policy; see ``report.browse``."""
    assets = files("pymosaic.report") / "assets"
    script = '"use strict";\n(() => {\n' + _joined(assets, _BROWSE_SCRIPTS) + "})();\n"
    style = _joined(assets, _BROWSE_STYLES)
    policy = (
        f"default-src 'none'; connect-src 'self'; img-src data:; script-src '{_digest(script)}'; "
        f"style-src '{_digest(style)}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    parts = {"style": style.encode(), "script": script.encode()}
    template = (assets / "browse.html").read_bytes()
    page = re.sub(rb"\{\{(\w+)\}\}", lambda place: parts[place[1].decode()], template)
    return page, policy


def _joined(assets: Traversable, names: tuple[str, ...]) -> str:
    return "".join((assets / name).read_text("utf-8") for name in names)


def _digest(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
