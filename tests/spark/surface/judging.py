"""Whether a spelling does for Mosaic what it does for Parquet."""

from tests.spark.surface.running import Outcome, Surface
from tests.spark.surface.spellings import Spelling
from tests.spark.versions import Capability

__all__ = ["fault", "wrong_without"]


def fault(surface: Surface, row: Spelling) -> str:
    """What is wrong with a spelling, or nothing."""
    mosaic, parquet = (surface.run(row, name) for name in ("mosaic", "parquet"))
    if row.forbidden:
        return _refusal("mosaic", mosaic, row.forbidden) or _working("parquet", parquet)
    if row.only:
        wrong = _refusal("parquet", parquet, row.only) or _working("mosaic", mosaic)
        return wrong or ("" if mosaic.value is True else f"afterwards: {mosaic.value!r}")
    if row.refused:
        wrong = _refusal("mosaic", mosaic, row.refused) or _working("parquet", parquet)
        return wrong or ("" if mosaic.value in (True, None) else f"afterwards: {mosaic.value!r}")
    if row.error:
        wrong = _refusal("mosaic", mosaic, row.error)
        if not wrong and parquet.failure is None:
            wrong = "parquet does not fail"
    else:
        wrong = _working("mosaic", mosaic) or _working("parquet", parquet)
    if row.better and not wrong:
        values = mosaic.value, parquet.value
        return "" if values == (True, False) else f"mosaic has {values[0]!r}, parquet {values[1]!r}"
    return wrong or _difference(mosaic.value, parquet.value)


def wrong_without(surface: Surface, row: Spelling, capability: Capability) -> str:
    """What is wrong with a spelling where Spark lacks what it needs, or nothing."""
    mosaic = surface.run(row, "mosaic")
    if capability.refusal:
        return _refusal("mosaic", mosaic, capability.refusal)
    same = mosaic.value == surface.run(row, "parquet").value
    return _working("mosaic", mosaic) or ("mosaic has what parquet has" if same else "")


def _refusal(name: str, outcome: Outcome, part: str) -> str:
    if outcome.failure is None:
        return f"{name} does not fail"
    if part not in outcome.message:
        return f"{name} says {outcome.message!r}"
    return ""


def _working(name: str, outcome: Outcome) -> str:
    if outcome.failure is None:
        return ""
    return f"{name} fails with {outcome.failure.__name__}: {outcome.message}"


def _difference(mosaic: object, parquet: object) -> str:
    """Where two values differ: for lists and dictionaries, the items that do."""
    if mosaic == parquet:
        return ""
    if isinstance(mosaic, list) and isinstance(parquet, list) and len(mosaic) == len(parquet):
        parts = [_difference(*items) for items in zip(mosaic, parquet, strict=True)]
        return "; ".join(part for part in parts if part)
    if isinstance(mosaic, dict) and isinstance(parquet, dict) and mosaic.keys() == parquet.keys():
        parts = [_difference(mosaic[key], parquet[key]) for key in mosaic]
        return "; ".join(part for part in parts if part)
    return f"mosaic has {mosaic!r}, parquet has {parquet!r}"
