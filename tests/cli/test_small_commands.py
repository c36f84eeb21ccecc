"""Commands that need few words: info, tail, vacuum, pipes, datasets, misspelled names."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pymosaic
from tests.cli.running import TIMEOUT, environment


@pytest.fixture
def days(tmp_path):
    for day in range(3):
        table = pa.table({"day": [day] * 2, "value": [day * 1.0, day + 0.5]})
        pymosaic.write_dataset(table, tmp_path / "days", partition_by=["day"], mode="append")
    return tmp_path / "days"


def test_the_list_of_commands_cuts_no_description(run):
    lines = run("--help", COLUMNS="80").stdout.splitlines()
    assert [line for line in lines[1:] if line.endswith(("...", "…"))] == []
    assert max(map(len, lines)) <= 80


def test_the_sizes_of_an_empty_file_have_no_ratio(run, tmp_path):
    pymosaic.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "empty.mosaic")
    title = run("column-size", tmp_path / "empty.mosaic", "--format", "table", COLUMNS="200").stdout
    assert title.splitlines()[0].endswith("1 column, 0 B of 0 B (raw 0 B)")


class TestInfo:
    def test_a_file_on_one_screen(self, run, small):
        result = run("info", small, "--format", "table")
        assert result.code == 0
        assert len(result.stdout.splitlines()) <= 24
        for text in ("40", "BIGINT", "city, day, id", "data not read", "pymosaic head"):
            assert text in " ".join(result.stdout.split()), text

    def test_a_dataset_with_a_damaged_file_says_so(self, run, days):
        path = next(days.rglob("*.mosaic"))
        path.write_bytes(path.read_bytes()[:-1])
        facts = run("info", days, "--json").json()
        assert facts["health"] == "1 of 3 files damaged"
        assert "verify" in facts["advice"]
        assert facts["partitioned_by"] == "day"

    def test_columns_of_all_files_are_counted(self, run, tmp_path):
        for number in range(3):
            table = pa.table({"id": [number], f"only_{number}": [number]})
            pymosaic.write_table(table, tmp_path / f"{number}.mosaic")
        facts = run("info", tmp_path, "--json").json()
        assert facts["num_columns"] == 4
        assert facts["types"] == "4 BIGINT"

    def test_of_very_many_columns_some_tell_the_sizes(self, run, files):
        facts = run("info", files / "wide.mosaic", "--json").json()
        looked_at = int(facts["sizes_from"].split(" of ")[0].replace(",", ""))
        assert facts["sizes_from"] == f"{looked_at:,} of 10,000 columns"
        assert 0 < looked_at < 10_000
        # Names cost nothing: all are counted.
        counted = re.findall(r"([\d,]+) \S+ \(", facts["groups"])
        assert sum(int(number.replace(",", "")) for number in counted) == 10_000

    def test_a_terminal_shows_what_is_there_and_one_command_on_a_line(self, run, small):
        lines = run("info", small, "--format", "table", COLUMNS="200").stdout.splitlines()
        assert not any(line.startswith("partitioned by") for line in lines)
        assert [line.split()[0] for line in lines[-3:]] == ["next", "pymosaic", "pymosaic"]

    def test_parquet_is_told_how_to_become_mosaic(self, run, tmp_path):
        pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
        facts = run("info", tmp_path / "t.parquet", "--json").json()
        assert facts["format"] == "parquet"
        assert facts["next"][0].endswith(" t.mosaic")


class TestTail:
    def test_the_last_rows(self, run, small):
        assert [row["id"] for row in run("tail", small, "-n", "3").lines()] == [37, 38, 39]

    def test_the_last_rows_that_match(self, run, small):
        rows = run("tail", small, "-n", "2", "-c", "id", "-w", "id < 9").lines()
        assert rows == [{"id": 7}, {"id": 8}]

    def test_more_than_there_are(self, run, files):
        assert len(run("tail", files / "table", "-n", "99").lines()) == 4


class TestColumnSize:
    @pytest.mark.parametrize("by", ["prefix", "type", "encoding", "bucket"])
    def test_groups_add_up_to_the_columns(self, run, small, by):
        columns = run("column-size", small, "--json").json()
        groups = run("column-size", small, "--by", by, "--json").json()["groups"]
        assert sum(group["bytes"] for group in groups) == columns["bytes"]
        assert all(group[by] for group in groups)

    def test_files_of_a_dataset_are_summed_up(self, run, days):
        found = run("column-size", days, "--json").json()
        assert found["num_files"] == 3
        single = [
            run("column-size", path, "--json").json()["bytes"] for path in days.rglob("*.mosaic")
        ]
        assert found["bytes"] == sum(single)

    def test_only_so_many_lines(self, run, files):
        found = run("column-size", files / "wide.mosaic", "-n", "3", "--json").json()
        assert len(found["columns"]) == 3
        shown = run("column-size", files / "wide.mosaic", "-n", "3", "--format", "table").stdout
        assert shown.splitlines()[-1] == "9,997 more; without -n all are shown"


class TestVerify:
    def test_what_was_not_read_is_not_called_sound(self, run, small):
        shown = run("verify", small, "--quick", "--format", "table", COLUMNS="500").stdout
        assert shown.splitlines()[0].endswith("metadata sound, data not read")
        assert not run("verify", small, "--quick", "--json").json()["data_read"]

    def test_a_dataset_ends_with_a_total(self, run, days):
        shown = run("verify", days, "--format", "table").stdout
        assert shown.splitlines()[-1] == "3 files: 3 sound"
        path = next(days.rglob("*.mosaic"))
        path.write_bytes(path.read_bytes()[:-1])
        result = run("verify", days, "--format", "table")
        assert result.code == 1
        assert result.stdout.splitlines()[-1] == "3 files: 2 sound, 1 damaged"

    def test_messages_wrap(self, run, small, tmp_path):
        path = tmp_path / "cut.mosaic"
        path.write_bytes(small.read_bytes()[:-1])
        message = run("verify", path, "--json").json()["findings"][0]["message"]
        for width in (40, 80):
            shown = run("verify", path, "--format", "table", COLUMNS=str(width)).stdout
            assert max(map(len, shown.splitlines())) <= width
            words = shown.split()
            assert [word for word in message.split() if word not in words] == []


def test_meta_of_a_dataset_ends_with_a_total(run, days):
    shown = run("meta", days, "--format", "table").stdout
    assert shown.splitlines()[-1].startswith("3 files: 6 rows, 3 row groups, ")


def test_compact_can_show_its_plan_and_change_nothing(run, tmp_path):
    for _ in range(3):
        pymosaic.write_dataset(pa.table({"n": [1]}), tmp_path / "t", mode="append")
    before = sorted(path.name for path in (tmp_path / "t").rglob("*"))
    facts = run("compact", tmp_path / "t", "--dry-run", "--json").json()
    assert facts["files_before"] == 3
    assert facts["files_copied"] + facts["files_reencoded"] == 3
    assert before == sorted(path.name for path in (tmp_path / "t").rglob("*"))


def test_vacuum_deletes_what_was_replaced(run, tmp_path):
    for _ in range(2):
        pymosaic.write_dataset(pa.table({"n": [1]}), tmp_path / "t", mode="overwrite")
    assert run("vacuum", tmp_path / "t", "--json").json()["files_deleted"] == 0
    facts = run("vacuum", tmp_path / "t", "--older-than", "0", "--json").json()
    assert facts["files_deleted"] == 1
    assert pymosaic.dataset(tmp_path / "t").count_rows() == 1


def test_misspelled_commands_are_suggested(run):
    result = run("shcema", "x")
    assert result.code == 2
    assert "did you mean 'schema'" in result.stderr


def test_a_file_named_twice_is_an_error(run, small, files):
    for arguments in ([small, small], [files / "table", files / "table/day=1/part.mosaic"]):
        for command in ("count", "verify"):
            result = run(command, *arguments)
            assert result.code == 2
            assert "named twice" in result.stderr


class TestConvert:
    def test_to_a_partitioned_dataset(self, run, small, tmp_path):
        target = f"{tmp_path}/out/"
        result = run("convert", small, target, "--partition-by", "active", "--json")
        assert result.json()["num_rows"] == 40
        assert pymosaic.dataset(target).count_rows() == 40
        assert (tmp_path / "out/active=true").is_dir()
        assert run("convert", small, target, "--partition-by", "active").code == 1
        assert run("convert", small, target, "--partition-by", "active", "--append").code == 0
        assert pymosaic.dataset(target).count_rows() == 80

    def test_options_of_datasets_need_one(self, run, small, tmp_path):
        result = run("convert", small, tmp_path / "x.mosaic", "--append")
        assert result.code == 2
        assert "end the target with /" in result.stderr

    def test_pipes(self, tmp_path):
        arguments = ["convert", "-", "-", "--from", "jsonl", "--to", "mosaic"]
        lines = "".join(json.dumps({"a": n}) + "\n" for n in range(5))
        done = subprocess.run(
            [sys.executable, "-m", "pymosaic", *arguments],
            input=lines.encode(),
            capture_output=True,
            env=environment(),
            timeout=TIMEOUT,
        )
        assert done.returncode == 0, done.stderr
        assert pymosaic.read_table(done.stdout).to_pydict() == {"a": list(range(5))}
        assert done.stderr.startswith(b"pymosaic: wrote -: 5 rows")

    def test_pipes_need_a_format(self, run, small):
        result = run("convert", small, "-")
        assert result.code == 2
        assert "--to: a pipe has no file extension" in result.stderr


def test_a_closed_output_ends_quietly(small):
    code = f"""
import os, sys
os.close(1)
os.execv(sys.executable, [sys.executable, "-m", "pymosaic", "schema", {str(small)!r}])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment(), timeout=TIMEOUT
    )
    assert (done.returncode, done.stderr) == (0, b"")


class TestParquet:
    """What inspects Mosaic files inspects Parquet files, too, or says what converts them."""

    @pytest.fixture
    def parquet(self, tmp_path):
        table = pa.table(
            {
                "id": range(100),
                "a.b": ["x", None] * 50,
                "pair": [{"left": 1, "right": 2.5}] * 100,
                "tags": [["t"]] * 100,
            }
        )
        path = tmp_path / "t.parquet"
        pq.write_table(table, path, row_group_size=60)
        return path

    def test_meta(self, run, parquet):
        found = run("meta", parquet, "--json").json()
        assert found["format"].startswith("parquet ")
        assert (found["num_rows"], found["num_columns"], found["num_row_groups"]) == (100, 4, 2)
        assert [group["num_rows"] for group in found["row_groups"]] == [60, 40]

    def test_column_sizes_are_those_of_the_footer(self, run, parquet):
        found = run("column-size", parquet, "--json").json()
        metadata = pq.read_metadata(parquet)
        groups = [metadata.row_group(number) for number in range(2)]
        chunks = [group.column(index) for group in groups for index in range(5)]
        sizes = {column["column"]: column["bytes"] for column in found["columns"]}
        assert set(sizes) == {"id", "a.b", "pair", "tags"}
        assert sum(sizes.values()) == sum(chunk.total_compressed_size for chunk in chunks)
        pair = [chunk for chunk in chunks if chunk.path_in_schema.startswith("pair.")]
        assert sizes["pair"] == sum(chunk.total_compressed_size for chunk in pair)
        only = run("column-size", parquet, "-c", "a.b", "--json").json()
        assert [column["column"] for column in only["columns"]] == ["a.b"]
        assert run("column-size", parquet, "--by", "bucket").code == 2

    def test_stats(self, run, parquet):
        rows = run("stats", parquet, "-c", "id", "--json").json()["statistics"]
        assert [(row["row_group"], row["min"], row["max"]) for row in rows] == [
            (0, 0, 59),
            (1, 60, 99),
        ]
        assert run("stats", parquet, "--row-group", "7").code == 2

    @pytest.mark.parametrize("command", ["verify", "footer", "buckets", "pages"])
    def test_what_is_about_mosaic_says_what_converts(self, run, parquet, command):
        result = run(command, parquet)
        assert result.code == 2
        assert "pymosaic convert" in result.stderr

    @pytest.mark.parametrize("command", ["meta", "column-size", "stats"])
    def test_a_file_named_twice_is_an_error(self, run, parquet, command):
        result = run(command, parquet, parquet)
        assert result.code == 2
        assert "named twice" in result.stderr


@pytest.mark.parametrize("arguments", [("compact",), ("compact", "--dry-run"), ("vacuum",)])
def test_commands_for_datasets_say_that_a_file_is_not_one(run, small, arguments):
    result = run(*arguments, small)
    assert result.code == 2
    assert f"{small} is a file; this command is for a dataset" in result.stderr
