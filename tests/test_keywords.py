"""Keywords that are not known: never ignored, always with the closest one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pymosaic
from pymosaic.datasets.arrow_dataset import ArrowDataset

TABLE = pa.table({"a": [1, 2, 3, 4], "b": ["w", "x", "y", "z"]})
LATER = [("a", ">", 2)]


@pytest.fixture
def dataset(tmp_path: Any) -> pymosaic.Dataset:
    pymosaic.write_dataset(TABLE, tmp_path / "set")
    return pymosaic.dataset(tmp_path / "set")


FUNCTIONS = [
    pymosaic.compact,
    pymosaic.dataset,
    pymosaic.merge,
    pymosaic.read_metadata,
    pymosaic.read_pandas,
    pymosaic.read_schema,
    pymosaic.read_table,
    pymosaic.tune,
    pymosaic.vacuum,
    pymosaic.verify,
    pymosaic.write_dataset,
    pymosaic.write_report,
    pymosaic.write_table,
    pymosaic.MosaicFile,
    pymosaic.MosaicFile.read,
    pymosaic.MosaicFile.iter_batches,
    pymosaic.MosaicFile.read_row_group,
    pymosaic.MosaicWriter,
    pymosaic.Dataset.scan,
    pymosaic.Dataset.scanner,
    pymosaic.Dataset.to_table,
    pymosaic.Dataset.to_batches,
    pymosaic.Dataset.head,
    pymosaic.Dataset.count_rows,
    pymosaic.Scan.plan,
    pymosaic.Scan.to_batches,
    pymosaic.Scan.to_reader,
    pymosaic.Scan.to_table,
    pymosaic.ScanTask.read,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda item: getattr(item, "__qualname__", "?"))
def test_every_public_function_refuses_unknown_keywords(function: Callable[..., Any]) -> None:
    with pytest.raises(pymosaic.UnknownOptionError, match=r"\(\) has no option 'zzzzzz'$"):
        function(zzzzzz=1)


@pytest.mark.parametrize(
    ("function", "keyword", "closest"),
    [
        (pymosaic.Dataset.to_table, "colums", "columns"),
        (pymosaic.Dataset.scanner, "batchsize", "batch_size"),
        (pymosaic.read_table, "filter", "filters"),
        (pymosaic.write_dataset, "mod", "mode"),
        (pymosaic.write_dataset, "num_bucket", "num_buckets"),
        (pymosaic.MosaicWriter, "statistic", "statistics"),
        (pymosaic.dataset, "partition", "partitioning"),
    ],
)
def test_the_closest_keyword_is_named(
    function: Callable[..., Any], keyword: str, closest: str
) -> None:
    with pytest.raises(TypeError, match=f"'{keyword}' .did you mean '{closest}'") as caught:
        function(**{keyword: None})
    assert isinstance(caught.value, pymosaic.InvalidOptionError)


ASK: dict[str, Callable[..., int]] = {
    "to_table": lambda ds, **options: ds.to_table(**options).num_rows,
    "to_batches": lambda ds, **options: sum(b.num_rows for b in ds.to_batches(**options)),
    "head": lambda ds, **options: ds.head(10, **options).num_rows,
    "scanner": lambda ds, **options: ds.scanner(**options).to_table().num_rows,
    "count_rows": lambda ds, **options: ds.count_rows(**options),
}


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
class TestWaysToAskADataset:
    @pytest.mark.parametrize("option", ["filter", "filters"])
    @pytest.mark.parametrize(
        "wanted",
        [LATER, pc.field("a") > 2, pc.field("a") * 2 > 5],
        ids=["tuples", "expression", "expression that filters cannot say"],
    )
    def test_filters_by_either_name(
        self, ask: Callable[..., int], option: str, wanted: object, dataset: pymosaic.Dataset
    ) -> None:
        assert ask(dataset, **{option: wanted}) == 2

    def test_both_names_at_once(self, ask: Callable[..., int], dataset: pymosaic.Dataset) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match="filter or filters, not both"):
            ask(dataset, filter=LATER, filters=LATER)

    def test_keywords_of_pyarrow_are_taken(
        self, ask: Callable[..., int], dataset: pymosaic.Dataset
    ) -> None:
        options = {
            "batch_size": 2,
            "batch_readahead": 16,
            "fragment_readahead": 4,
            "fragment_scan_options": None,
            "use_threads": False,
            "cache_metadata": True,
            "memory_pool": None,
        }
        assert ask(dataset, **options) == 4


def test_a_dataset_takes_the_arguments_of_pyarrow_in_their_order() -> None:
    import inspect

    import pyarrow.dataset as pads

    for name in ASK:
        theirs = list(inspect.signature(getattr(pads.Dataset, name)).parameters)
        ours = list(inspect.signature(getattr(ArrowDataset, name)).parameters)
        if "cache_metadata" not in theirs:  # pyarrow 19
            ours.remove("cache_metadata")
        assert ours == [*theirs, "filters"], name
