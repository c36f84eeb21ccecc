"""The report on a file: one self-contained HTML page that works offline."""

from pymosaic.report.page import write_report

__all__ = ["write_report"]
