"""The report on a file: one self-contained HTML page that works offline."""

from pymosaic.picture import Picture
from pymosaic.report.page import view, write_report

__all__ = ["Picture", "view", "write_report"]
