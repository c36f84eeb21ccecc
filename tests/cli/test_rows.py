"""head, cat, sample and count."""

from __future__ import annotations

import csv
import io

import pytest

from tests.cli.conftest import ROWS


def test_head_shows_ten_rows_as_json_lines_in_a_pipe(run, small):
    lines = run("head", small).lines()
    assert [line["id"] for line in lines] == list(range(10))
    assert lines[5] == {
        "id": 5,
        "city": "Oslo",
        "price": "0.50",
        "score": 0.5,
        "day": "2024-05-06",
        "seen": "2024-05-01T12:00:05.000Z",
        "tags": ["a", "b"],
        "attributes": [{"key": "k", "value": 5}],
        "raw": "05ff",
        "active": False,
        "empty": None,
    }


def test_rows_as_csv_tell_null_from_empty_text(run, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"a": "", "b": "x,\\"y\\""}\n{"a": null, "b": "l\\n2"}\n')
    result = run("cat", tmp_path / "in.jsonl", "--format", "csv")
    assert result.stdout == 'a,b\n"","x,""y"""\n,"l\n2"\n'


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-n", "3"], [0, 1, 2]),
        (["-n", "0"], []),
        (["-n", "4", "--offset", "28"], [28, 29, 30, 31]),
        (["--offset", "37"], [37, 38, 39]),
        (["--offset", "30", "-n", "1"], [30]),
        (["--offset", "99"], []),
        (["--where", "id >= 28", "-n", "3", "--offset", "1"], [29, 30, 31]),
        (["--all"], list(range(ROWS))),
    ],
)
def test_cat_counts_rows_from_the_start_of_the_table(run, small, options, expected):
    lines = run("cat", small, "-c", "id", *options).lines()
    assert [line["id"] for line in lines] == expected


def test_cat_reads_many_files_as_one_table(run, files):
    lines = run("cat", files / "table").lines()
    assert [(line["n"], line["day"]) for line in lines] == [(1, 1), (10, 1), (2, 2), (20, 2)]
    chosen = run("cat", files / "table/*/*.mosaic", "--where", "day = 2", "-c", "n").lines()
    assert chosen == [{"n": 2}, {"n": 20}]
    tail = run("cat", files / "table", "--offset", "3", "-c", "n").lines()
    assert tail == [{"n": 20}]


WHERE = [
    ("id < 3", [0, 1, 2]),
    ("city = 'Kyiv' and id <= 7", [3, 7]),
    ("id in (5, 100, 7)", [5, 7]),
    ("id between 4 and 6", [4, 5, 6]),
    ("not (id > 1)", [0, 1]),
    ("city is null and id < 9", [2, 6]),
    ("city like 'Ro%' and id < 9", [0, 4, 8]),
    ("price = 0.3", [3]),
    ("score = 0.3", [3]),
    ("day = date '2024-05-04'", [3]),
    ("day >= '2024-06-08'", [38, 39]),
    ("seen = timestamp '2024-05-01 14:00:03+02:00'", [3]),
    ("raw = x'03ff'", [3]),
    ("active and id < 4", [0, 2]),
    ("id < 2 or id > 38", [0, 1, 39]),
]


@pytest.mark.parametrize(("where", "expected"), WHERE, ids=[where for where, _ in WHERE])
def test_where_keeps_the_rows_that_pass(run, small, where, expected):
    lines = run("cat", small, "-c", "id", "--where", where).lines()
    assert [line["id"] for line in lines] == expected
    assert run("count", small, "--where", where).stdout == f"{len(expected)}\n"


def test_a_mistake_in_where_is_pointed_at(run, small):
    result = run("cat", small, "--where", "id > 5 and or city = 'x'")
    assert result.code == 2
    message, text, mark = result.stderr.splitlines()
    assert message.startswith("pymosaic: --where, character 12: expected a column")
    assert text[mark.index("^") :].startswith("or city")
    assert result.stdout == ""


def test_a_comparison_with_the_wrong_type_is_explained(run, small):
    result = run("cat", small, "--where", "id > 'five'")
    assert result.code == 2
    assert result.stderr.count("\n") == 1
    assert "column 'id' has type int64" in result.stderr


def test_count_is_a_bare_number(run, files, small):
    assert run("count", small).stdout == f"{ROWS}\n"
    assert run("count", files / "table").stdout == "4\n"
    assert run("count", small, "--json").json() == {"num_rows": ROWS}


def test_the_same_seed_gives_the_same_sample(run, small):
    first = run("sample", small, "-n", "7", "--seed", "3", "-c", "id").lines()
    again = run("sample", small, "-n", "7", "--seed", "3", "-c", "id").lines()
    other = run("sample", small, "-n", "7", "--seed", "4", "-c", "id").lines()
    assert first == again != other
    ids = [line["id"] for line in first]
    assert len(set(ids)) == 7
    assert ids == sorted(ids)


def test_a_sample_of_more_rows_than_pass_is_all_of_them(run, small):
    lines = run("sample", small, "-n", "50", "--where", "id > 35", "-c", "id").lines()
    assert [line["id"] for line in lines] == [36, 37, 38, 39]
    assert run("sample", small, "-n", "0").stdout == ""


def test_wide_rows_are_turned_in_a_table(run, files):
    result = run("head", files / "wide.mosaic", "--format", "table", COLUMNS="80")
    lines = result.stdout.splitlines()
    assert lines[0] == "10,000 columns, one per line; -c selects some"
    assert lines[1].split() == ["column", "row", "0", "row", "1"]
    assert lines[3].split() == ["sensor_00000", "0", "1"]
    assert len(lines) == 10_003
    assert max(map(len, lines)) <= 80


def test_narrow_rows_are_a_table(run, small):
    result = run("head", small, "-n", "2", "-c", "id,city", "--format", "table", COLUMNS="80")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["id", "city"]
    assert lines[2:] == [["0", "Rome"], ["1", "Oslo"]]


def test_numbers_are_never_cut(run, tmp_path):
    numbers = [*range(300), 12_345_678_901_234]
    (tmp_path / "n.jsonl").write_text("".join(f'{{"n": {number}}}\n' for number in numbers))
    result = run("cat", tmp_path / "n.jsonl", "--format", "table", COLUMNS="80")
    assert [int(line) for line in result.stdout.splitlines()[2:]] == numbers


def test_rows_without_columns_and_files_without_rows_are_shown(run, files, small):
    assert run("cat", small, "--where", "id > 99").stdout == ""
    table = run("cat", small, "--where", "id > 99", "-c", "id", "--format", "table")
    assert "no rows" in table.stdout
    text = run("cat", small, "--where", "id > 99", "-c", "id,city", "--format", "csv").stdout
    assert list(csv.reader(io.StringIO(text))) == [["id", "city"]]
