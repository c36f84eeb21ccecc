"""The report on a file: one self-contained HTML page that works offline."""

from pymosaic.report.page import view, write_report
from pymosaic.report.picture import Picture

__all__ = ["Picture", "view", "write_report"]
