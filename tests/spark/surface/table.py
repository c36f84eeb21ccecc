"""The table of spellings, of all kinds."""

from tests.spark.surface import (
    altering,
    catalog,
    conditions,
    inserts,
    plans,
    reading,
    tables,
    types,
    writing,
)
from tests.spark.surface.spellings import Spelling

__all__ = ["KINDS"]

KINDS: dict[str, list[Spelling]] = {
    module.KIND: module.ROWS
    for module in (writing, reading, tables, catalog, inserts, altering, types, plans, conditions)
}
