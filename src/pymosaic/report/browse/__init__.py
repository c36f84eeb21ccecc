"""A local page with the live rows of a file or dataset: ``pymosaic browse``."""

from __future__ import annotations

from pymosaic.report.browse.server import BrowseServer

__all__ = ["BrowseServer"]
