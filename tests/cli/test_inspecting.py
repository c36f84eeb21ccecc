"""Commands that look into files."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from tests.cli.conftest import HOSTILE_NAME, HOSTILE_VALUE, ROWS, small_table

INSPECTING = [
    ("schema",),
    ("meta",),
    ("footer",),
    ("buckets",),
    ("pages",),
    ("column-size",),
    ("dictionary", "-c", "city"),
    ("stats",),
    ("profile",),
    ("verify",),
]


def test_schema_lists_columns_in_their_order_with_types_and_buckets(run, small):
    columns = run("schema", small, "--json").json()["columns"]
    schema = pymosaic.read_schema(small)
    metadata = pymosaic.read_metadata(small)
    assert [column["name"] for column in columns] == schema.names
    assert [column["type"] for column in columns] == list(map(str, schema.types))
    for column in columns:
        bucket = metadata.row_group(0).bucket(column["bucket"])
        assert column["name"] in bucket.column_names
        assert column["mosaic_type"] == metadata.column_type(column["name"])


def test_schema_of_many_files_is_that_of_the_table_they_make(run, files):
    found = run("schema", files / "table", "--json").json()
    assert [column["name"] for column in found["columns"]] == ["n", "day"]
    assert found["num_rows"] == 4


@pytest.mark.parametrize("pattern", [["sensor_0001*"], ["sensor_00010,sensor_0001*"]])
def test_columns_take_names_and_globs(run, files, pattern):
    lines = run("schema", files / "wide.mosaic", "-c", *pattern).lines()
    assert [line["name"] for line in lines] == [f"sensor_{number:05}" for number in range(10, 20)]


def test_an_unknown_column_is_an_error_that_names_the_closest(run, small):
    result = run("schema", small, "-c", "ctiy")
    assert result.code == 1
    assert result.stderr.startswith("pymosaic: --columns: no column matches 'ctiy'")
    assert "'city'" in result.stderr
    assert result.stdout == ""


def test_meta_tells_of_row_groups(run, small):
    found = run("meta", small, "--json").json()
    assert found["num_rows"] == ROWS
    assert found["file_bytes"] == small.stat().st_size
    assert [group["num_rows"] for group in found["row_groups"]] == [30, 10]
    assert [group["columns_with_statistics"] for group in found["row_groups"]] == [3, 3]


def test_footer_places_add_up_to_the_file(run, small):
    found = run("footer", small, "--json").json()
    assert found["magic"] == "MOSA"
    assert found["schema_offset"] + found["schema_bytes"] == found["index_offset"]
    assert found["index_offset"] + found["index_bytes"] + 32 == small.stat().st_size


def test_buckets_hold_all_columns_in_each_row_group(run, small):
    lines = run("buckets", small).lines()
    for group in (0, 1):
        names = [name for line in lines if line["row_group"] == group for name in line["columns"]]
        assert names == sorted(small_table().column_names)
    only = run("buckets", small, "--row-group", "1").lines()
    assert only == [line for line in lines if line["row_group"] == 1]


def test_a_row_group_that_is_not_there_is_a_usage_error(run, small):
    result = run("buckets", small, "--row-group", "2")
    assert result.code == 2
    assert "the file has 2" in result.stderr


def test_pages_tell_encodings_of_columns_and_children(run, small):
    lines = run("pages", small, "--row-group", "0", "-c", "city,empty,tags,id").lines()
    encodings = {(line["column"], line["child"]): line["encoding"] for line in lines}
    assert encodings == {
        ("city", None): "DICT",
        ("empty", None): "ALL_NULL",
        ("id", None): "PLAIN",
        ("tags", None): "DICT",
        ("tags", 1): "DICT",
    }
    city = next(line for line in lines if line["column"] == "city")
    assert (city["num_values"], city["null_count"], city["dictionary_entries"]) == (30, 7, 3)


def test_sizes_of_all_columns_add_up_to_about_the_data(run, small):
    found = run("column-size", small, "--json").json()
    assert {column["column"] for column in found["columns"]} == set(small_table().column_names)
    total = sum(column["bytes"] for column in found["columns"])
    # Each is rounded to a byte in each row group.
    assert total == pytest.approx(found["data_bytes"], abs=2 * len(found["columns"]))
    sizes = [column["bytes"] for column in found["columns"]]
    assert sizes == sorted(sizes, reverse=True)


def test_dictionary_shows_entries_as_stored(run, small):
    lines = run("dictionary", small, "-c", "city", "--row-group", "0").lines()
    assert [(line["entry"], line["value"]) for line in lines] == [
        (0, "Rome"),
        (1, "Oslo"),
        (2, "Kyiv"),
    ]
    children = run("dictionary", small, "-c", "tags", "--row-group", "0").lines()
    assert {(line["child"], line["value"]) for line in children} == {
        (None, 0),
        (None, 1),
        (None, 2),
        (1, "a"),
        (1, "b"),
    }


def test_stats_are_those_of_the_file(run, small):
    lines = run("stats", small, "-c", "day,id").lines()
    assert [(line["row_group"], line["column"], line["min"], line["max"]) for line in lines] == [
        (0, "day", "2024-05-01", "2024-05-30"),
        (0, "id", 0, 29),
        (1, "day", "2024-05-31", "2024-06-09"),
        (1, "id", 30, 39),
    ]


@pytest.mark.parametrize("command", INSPECTING, ids=lambda command: command[0])
def test_csv_json_lines_and_json_tell_the_same(run, small, command):
    name, *options = command
    lines = run(name, small, *options, "--format", "jsonl").lines()
    text = run(name, small, *options, "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(lines)
    for row, line in zip(rows, lines, strict=True):
        assert list(row) == list(line)
        assert row["file"] == line["file"] == str(small)
    document = run(name, small, *options, "--json").json()
    lists = [value for key, value in document.items() if value and isinstance(value, list)]
    if lists:
        assert [{"file": document["file"], **entry} for entry in lists[-1]] == lines
    piped = run(name, small, *options).stdout
    assert piped == run(name, small, *options, "--format", "jsonl").stdout


@pytest.mark.parametrize("command", INSPECTING, ids=lambda command: command[0])
def test_tables_can_be_had_without_a_terminal_and_have_no_colours(run, small, command):
    name, *options = command
    result = run(name, small, *options, "--format", "table", COLUMNS="80")
    assert result.code == 0
    assert "\x1b" not in result.stdout
    assert str(small)[:20] in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_several_files_are_told_apart(run, files):
    lines = run("footer", files / "small.mosaic", files / "wide.mosaic").lines()
    assert [line["num_buckets"] for line in lines] == [3, 100]
    globbed = run("meta", files / "table/*/*.mosaic").lines()
    assert [line["file"].split("/")[-2] for line in globbed] == ["day=1", "day=2"]


@pytest.mark.parametrize("form", ["table", "json", "jsonl"])
@pytest.mark.parametrize("command", ["schema", "pages", "column-size", "head", "buckets"])
def test_control_characters_are_escaped(run, files, command, form):
    result = run(command, files / "hostile.mosaic", "--format", form)
    assert result.code == 0
    assert all(character.isprintable() or character == "\n" for character in result.stdout)
    if form != "table":
        assert HOSTILE_NAME in str(result.lines())[1:] or repr(HOSTILE_NAME)[1:-1] in str(
            result.lines()
        )


def test_values_with_control_characters_survive_json(run, files):
    (row,) = run("head", files / "hostile.mosaic").lines()
    assert row == {HOSTILE_NAME: HOSTILE_VALUE, "plain": "text"}


def test_errors_escape_names_too(run, files):
    result = run("schema", files / "hostile.mosaic", "-c", "evi\x1bl")
    assert result.code == 1
    assert "\x1b" not in result.stderr


def test_verify_finds_nothing_in_a_sound_file(run, small):
    result = run("verify", small, "--json")
    assert (result.code, result.json()["ok"], result.json()["findings"]) == (0, True, [])


def test_verify_reports_files_of_a_dataset_that_are_not_there(run, tmp_path):
    for value in range(2):
        pymosaic.write_dataset(pa.table({"n": [value]}), tmp_path / "set", mode="append")
    victim = Path(pymosaic.dataset(tmp_path / "set").files[0])
    victim.unlink()
    result = run("verify", tmp_path / "set", "--json")
    assert result.code == 1
    missing, sound = result.lines()
    assert (missing["file"], missing["ok"]) == (str(victim), False)
    assert "is not there" in missing["findings"][0]["message"]
    assert sound["ok"]


def test_verify_exits_with_1_when_it_finds_damage(run, small, tmp_path):
    data = bytearray(small.read_bytes())
    data[10] ^= 1
    damaged = tmp_path / "damaged.mosaic"
    damaged.write_bytes(data)
    result = run("verify", damaged, "--json")
    assert result.code == 1
    found = result.json()
    assert not found["ok"]
    assert (found["findings"][0]["severity"], found["findings"][0]["row_group"]) == ("error", 0)
    assert run("verify", damaged, "--quick").code == 0


def test_tune_recommends_options_that_convert_takes(run, files, tmp_path):
    found = run("tune", files / "small.mosaic", "-p", "id,city", "-p", "tags", "--json").json()
    assert [trial["best"] for trial in found["trials"]].count(True) >= 1
    target = tmp_path / "tuned.mosaic"
    result = run("convert", files / "small.mosaic", target, *found["flags"].split())
    assert result.code == 0
    assert pymosaic.read_metadata(target).num_buckets == min(
        found["options"]["num_buckets"], len(small_table().column_names)
    )


def test_view_writes_a_page(run, small, tmp_path):
    result = run("view", small, "-o", tmp_path / "page.html", "--json")
    assert result.code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "small.mosaic" in page
    assert result.json()["file_bytes"] == len(page.encode())
    again = run("view", small, "-o", tmp_path / "page.html")
    assert again.code == 1
    assert "--overwrite" in again.stderr
