import io

import pyarrow as pa
import pytest

import pymosaic
from pymosaic import LimitExceededError, Limits
from pymosaic.format import schema_block


def stored(*names: str) -> bytes:
    out = io.BytesIO()
    pymosaic.write_table(pa.table({name: [1] for name in names}), out)
    return out.getvalue()


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    schema_block.forget()


def catalog_of(data: bytes, **options: object) -> object:
    with pymosaic.MosaicFile(data, **options) as file:  # type: ignore[arg-type]
        return file._parts.catalog


def test_files_with_the_same_schema_block_share_a_catalog() -> None:
    first = catalog_of(stored("a", "b"))
    assert catalog_of(stored("a", "b")) is first
    assert catalog_of(stored("a", "c")) is not first


def test_only_the_last_few_catalogs_are_kept() -> None:
    oldest = catalog_of(stored("a"))
    others = [catalog_of(stored(f"n{i}")) for i in range(4)]
    assert catalog_of(stored("n3")) is others[3]
    assert catalog_of(stored("a")) is not oldest


def test_a_catalog_that_other_limits_allowed_is_checked_again() -> None:
    data = stored("a", "b", "c")
    catalog_of(data)
    with pytest.raises(LimitExceededError, match="max_columns"):
        catalog_of(data, limits=Limits(max_columns=2))


def test_a_very_large_catalog_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_block, "_KEPT_BYTES", 10)
    data = stored("a", "b")
    assert catalog_of(data) is not catalog_of(data)
