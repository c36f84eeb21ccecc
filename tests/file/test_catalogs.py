"""Schema blocks that were seen before are not parsed again, and no child is stopped by that."""

import io
import os
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic import LimitExceededError, Limits
from pymosaic.file.catalogs import catalogs
from pymosaic.file.reader import opened


def stored(*names: str) -> bytes:
    out = io.BytesIO()
    pymosaic.write_table(pa.table({name: [1] for name in names}), out)
    return out.getvalue()


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    catalogs.forget()
    catalogs.parsed = 0


def catalog_of(data: bytes, **options: object) -> object:
    with pymosaic.MosaicFile(data, **options) as file:  # type: ignore[arg-type]
        return opened(file).catalog


def test_files_with_the_same_schema_block_share_a_catalog() -> None:
    first = catalog_of(stored("a", "b"))
    assert catalog_of(stored("a", "b")) is first
    assert catalog_of(stored("a", "c")) is not first


def test_datasets_share_it_too(tmp_path: Path) -> None:
    first = catalog_of(stored("a", "b"))
    (tmp_path / "file.mosaic").write_bytes(stored("a", "b"))
    assert pymosaic.dataset(tmp_path).schema.names == ["a", "b"]
    assert catalogs.parsed == 1
    assert catalog_of(stored("a", "b")) is first


def test_a_forked_child_is_not_stopped_by_a_lock_that_was_held() -> None:
    data = stored("a")
    # As if another thread were parsing a schema block at this moment.
    with catalogs._lock:
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                catalog_of(data)
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


def test_a_catalog_that_other_limits_allowed_is_checked_again() -> None:
    data = stored("a", "b", "c")
    catalog_of(data)
    with pytest.raises(LimitExceededError, match="max_columns"):
        catalog_of(data, limits=Limits(max_columns=2))
