"""The structural layouts, one module each: how the items of a page are laid out in its buffers."""

from __future__ import annotations

from pymosaic.pages.encodings import TreeDecoder
from pymosaic.pages.layouts import blob, constant, full_zip, mini_block
from pymosaic.pages.layouts.page import Items, PageInput, Steps
from pymosaic.pages.messages import BlobLayout, FullZipLayout, Layout, MiniBlockLayout

__all__ = ["read_items"]


def read_items(layout: Layout, page: PageInput, decoder: TreeDecoder) -> Steps[Items]:
    """Read a page of any layout."""
    if isinstance(layout, MiniBlockLayout):
        if page.rows is not None:
            return mini_block.take([layout], [page], decoder)
        return mini_block.read(layout, page, decoder)
    if isinstance(layout, FullZipLayout):
        return full_zip.read(layout, page, decoder)
    if isinstance(layout, BlobLayout):
        return blob.read(layout, page, decoder, read_items)
    return constant.read(layout, page, decoder)
