"""The table of spellings, of all kinds."""

from tests.spark.surface import altering, inserts, plans, reading, tables, types, writing
from tests.spark.surface.spellings import Spelling

__all__ = ["KINDS"]

KINDS: dict[str, list[Spelling]] = {
    module.KIND: module.ROWS
    for module in (writing, reading, tables, inserts, altering, types, plans)
}
