"""Which files a directory, a pattern or a list means."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

import pymosaic
from pymosaic.datasets.discovery import Discovery, discover
from pymosaic.datasets.records import AddedFile, JobRecord
from tests.datasets.building import write_files

ONE = {"n": [1]}
JOB = "0123456789abcdef0123456789abcdef"
OTHER_JOB = "fedcba9876543210fedcba9876543210"


def found(source: Any, base: Path, **options: Any) -> list[str]:
    dataset = pymosaic.dataset(source, **options)
    return [str(Path(path).relative_to(base)) for path in dataset.files]


class TestDirectories:
    def test_files_of_all_directories_below_come_in_the_order_of_paths(
        self, tmp_path: Path
    ) -> None:
        write_files(tmp_path, dict.fromkeys(["b.mosaic", "a/2.mosaic", "a/1/x.mosaic"], ONE))
        assert found(tmp_path, tmp_path) == ["a/1/x.mosaic", "a/2.mosaic", "b.mosaic"]

    def test_hidden_and_temporary_names_are_skipped(self, tmp_path: Path) -> None:
        write_files(
            tmp_path,
            dict.fromkeys(
                ["a.mosaic", "_b.mosaic", ".c.mosaic", "_tmp/d.mosaic", ".git/e.mosaic"], ONE
            ),
        )
        (tmp_path / "_SUCCESS").touch()
        assert found(tmp_path, tmp_path) == ["a.mosaic"]

    def test_a_partition_key_may_begin_with_an_underscore(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"_day=1/a.mosaic": ONE})
        dataset = pymosaic.dataset(tmp_path)
        assert dataset.scan().to_table().to_pydict() == {"n": [1], "_day": [1]}

    def test_a_missing_directory_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="nowhere"):
            pymosaic.dataset(tmp_path / "nowhere")

    def test_a_directory_without_files_is_an_error_that_tells_what_to_do(
        self, tmp_path: Path
    ) -> None:
        with pytest.raises(pymosaic.DatasetError, match=r"no Mosaic files; pass schema="):
            pymosaic.dataset(tmp_path)

    def test_with_a_schema_a_directory_without_files_is_an_empty_table(
        self, tmp_path: Path
    ) -> None:
        dataset = pymosaic.dataset(tmp_path, schema=pa.schema({"n": pa.int8()}))
        assert dataset.count_rows() == 0
        assert dataset.scan().to_table().schema == pa.schema({"n": pa.int8()})

    @pytest.mark.parametrize("wrap", [str, lambda path: path.as_uri(), lambda path: f"{path}/"])
    def test_ways_to_name_a_directory(self, tmp_path: Path, wrap: Any) -> None:
        write_files(tmp_path, {"a.mosaic": ONE})
        assert found(wrap(tmp_path), tmp_path) == ["a.mosaic"]

    def test_a_file_system_and_a_path(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"in/a.mosaic": ONE})
        local = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
        assert found("in", tmp_path, filesystem=local) == ["in/a.mosaic"]


class TestPatterns:
    @pytest.fixture
    def base(self, tmp_path: Path) -> Path:
        paths = ["day=1/a.mosaic", "day=1/b.mosaic", "day=2/a.mosaic", "day=2/_c.mosaic"]
        return write_files(tmp_path, dict.fromkeys(paths, ONE))

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("*/a.mosaic", ["day=1/a.mosaic", "day=2/a.mosaic"]),
            ("day=1/*", ["day=1/a.mosaic", "day=1/b.mosaic"]),
            ("day=[2-9]", ["day=2/a.mosaic"]),
            ("day=[!2]/[ab].mosaic", ["day=1/a.mosaic", "day=1/b.mosaic"]),
            ("**/b.mosaic", ["day=1/b.mosaic"]),
            ("**", ["day=1/a.mosaic", "day=1/b.mosaic", "day=2/a.mosaic"]),
            ("day=?/?.mosaic", ["day=1/a.mosaic", "day=1/b.mosaic", "day=2/a.mosaic"]),
        ],
    )
    def test_files_that_match(self, base: Path, pattern: str, expected: list[str]) -> None:
        assert found(f"{base}/{pattern}", base) == expected

    def test_matching_files_keep_their_partitions(self, base: Path) -> None:
        dataset = pymosaic.dataset(f"{base}/day=1/a*")
        assert dataset.scan().to_table().to_pydict() == {"n": [1], "day": [1]}

    def test_nothing_that_matches_is_an_error(self, base: Path) -> None:
        with pytest.raises(pymosaic.DatasetError, match=r"\*\.parquet has no Mosaic files"):
            pymosaic.dataset(f"{base}/*.parquet")

    def test_a_name_with_wildcard_characters_is_a_name_first(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"[x]/a.mosaic": ONE, "x/b.mosaic": ONE})
        assert found(f"{tmp_path}/[x]", tmp_path) == ["[x]/a.mosaic"]

    def test_a_relative_pattern(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(base)
        assert pymosaic.dataset("*/b.mosaic").files == ("day=1/b.mosaic",)


class TestLists:
    def test_entries_come_in_the_order_given_and_once(self, tmp_path: Path) -> None:
        write_files(tmp_path, dict.fromkeys(["b.mosaic", "d/2.mosaic", "d/1.mosaic"], ONE))
        source = [tmp_path / "d", tmp_path / "b.mosaic", tmp_path / "d/1.mosaic"]
        assert found(source, tmp_path) == ["d/1.mosaic", "d/2.mosaic", "b.mosaic"]

    def test_a_file_that_was_named_is_read_whatever_it_is_called(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"_hidden": ONE})
        assert pymosaic.dataset(tmp_path / "_hidden").count_rows() == 1

    def test_relative_paths_among_absolute_ones(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_files(tmp_path, {"a/1.mosaic": ONE, "b/2.mosaic": ONE})
        monkeypatch.chdir(tmp_path)
        dataset = pymosaic.dataset(["a", tmp_path / "b"])
        assert dataset.base == str(tmp_path)
        assert dataset.count_rows() == 2

    def test_one_dataset_lies_in_one_file_system(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"a.mosaic": ONE})
        with pytest.raises(pymosaic.InvalidOptionError, match="different file systems"):
            pymosaic.dataset([str(tmp_path), "memory://elsewhere"])

    @pytest.mark.parametrize("source", [[], 5, b"bytes", [5], None])
    def test_what_is_no_source_is_refused(self, source: Any) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match="source must be"):
            pymosaic.dataset(source)


class TestJobRecords:
    def record(self, base: Path, name: str, content: bytes = b"") -> None:
        (base / "_mosaic").mkdir(exist_ok=True)
        (base / "_mosaic" / name).write_bytes(content)

    def test_files_of_a_pending_job_are_invisible(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"a.mosaic": ONE, f"part-0-{JOB}-0.mosaic": ONE})
        self.record(tmp_path, f"{JOB}.pending")
        assert found(tmp_path, tmp_path) == ["a.mosaic"]

    def test_of_a_committed_job_the_files_that_it_added_are_visible(self, tmp_path: Path) -> None:
        added, late = f"k=1/part-0-{JOB}-0.mosaic", f"k=1/part-9-{JOB}-0.mosaic"
        write_files(tmp_path, {"k=1/a.mosaic": ONE, added: ONE, late: ONE})
        record = JobRecord(3, (AddedFile(added, (tmp_path / added).stat().st_size),))
        self.record(tmp_path, f"{JOB}.3.committed.json", record.emit())
        assert found(tmp_path, tmp_path) == ["k=1/a.mosaic", added]

    def test_a_partition_obeys_the_records_of_its_dataset(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"k=1/a.mosaic": ONE, f"k=1/part-0-{JOB}-0.mosaic": ONE})
        self.record(tmp_path, f"{JOB}.pending")
        assert found(tmp_path / "k=1", tmp_path) == ["k=1/a.mosaic"]
        assert found(f"{tmp_path}/k=1/*", tmp_path) == ["k=1/a.mosaic"]

    def test_a_job_without_a_record_hides_nothing(self, tmp_path: Path) -> None:
        name = f"part-0-{OTHER_JOB}-0.mosaic"
        write_files(tmp_path, {name: ONE})
        self.record(tmp_path, f"{JOB}.pending")
        assert found(tmp_path, tmp_path) == [name]

    def test_files_replaced_while_they_are_opened_are_looked_up_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_files(tmp_path, {"old.mosaic": ONE})

        def replacing(*arguments: Any, **options: Any) -> Discovery:
            discovery = discover(*arguments, **options)
            if (tmp_path / "old.mosaic").exists():
                (tmp_path / "old.mosaic").rename(tmp_path / "new.mosaic")
            return discovery

        monkeypatch.setattr("pymosaic.datasets.dataset.discover", replacing)
        assert found(tmp_path, tmp_path) == ["new.mosaic"]


def test_dataset_is_a_function_also_after_its_package_was_imported() -> None:
    import_module("pymosaic.datasets.scan")
    assert inspect.isfunction(pymosaic.dataset)
    assert list(inspect.signature(pymosaic.dataset).parameters)[:2] == ["source", "filesystem"]
