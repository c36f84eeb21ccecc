"""Helpers for testing readers and writers of Mosaic files, pymosaic's or your own.

========================== ======================================================================
module                     contents
========================== ======================================================================
``pymosaic.testing``       tables as files of any legal layout, and the catalogue: legal and
                           illegal files by name, with the expected data or error
``…testing.pieces``        the structures of a file, assembled by hand, even incorrectly
``…testing.annex``         annexes put into files and taken out of them, even incorrectly
``…testing.strategies``    hypothesis strategies for schemas, tables, options and layouts
========================== ======================================================================
"""

from pymosaic.testing.illegal import IllegalFile, illegal_files
from pymosaic.testing.layout import Layout, forge_table, stored_order
from pymosaic.testing.legal import LegalFile, legal_files
from pymosaic.testing.memory import used_memory

__all__ = [
    "IllegalFile",
    "Layout",
    "LegalFile",
    "forge_table",
    "illegal_files",
    "legal_files",
    "stored_order",
    "used_memory",
]
