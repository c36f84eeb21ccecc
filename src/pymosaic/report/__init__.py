"""The picture of a file: one self-contained, offline HTML page."""

from pymosaic.report.page import write_report

__all__ = ["write_report"]
