"""convert and merge and compact: what is written, and what is refused."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pymosaic
from tests.cli.conftest import ROWS, small_table

EXACT = ["parquet", "arrow", "feather", "mosaic"]
TEXT = ["csv", "jsonl", "csv.gz", "jsonl.zst", "jsonl.bz2", "csv.lz4"]


@pytest.mark.parametrize("extension", EXACT)
def test_formats_with_types_give_back_the_same_table(run, small, tmp_path, extension):
    there, back = tmp_path / f"there.{extension}", tmp_path / "back.mosaic"
    first = run("convert", small, there, "--json")
    assert first.code == 0, first.stderr
    assert first.json() == {
        "target": str(there),
        "num_rows": ROWS,
        "num_columns": 11,
        "file_bytes": there.stat().st_size,
    }
    assert run("convert", there, back).code == 0
    assert pymosaic.read_table(back).equals(small_table())
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([there.name, back.name])


def detailed_table():
    schema = pa.schema(
        [
            pa.field("kind", pa.dictionary(pa.int8(), pa.string()), metadata={"about": "it"}),
            pa.field("n", pa.uint32()),
            pa.field("text", pa.large_string()),
        ],
        {"origin": "here"},
    )
    return pa.table([["b", "a", "b"], [1, None, 3], ["x", "y", None]], schema)


@pytest.mark.parametrize("extension", EXACT)
def test_types_that_mosaic_lacks_survive(run, tmp_path, extension):
    source, there, back = (tmp_path / x for x in ("a.mosaic", f"b.{extension}", "c.mosaic"))
    table = detailed_table()
    pymosaic.write_table(table, source)
    assert run("convert", source, there).code == 0
    assert run("convert", there, back, "--where", "n > 0").code == 0
    found = pymosaic.read_table(back)
    assert found.schema.equals(table.schema, check_metadata=extension != "parquet")
    assert found.schema.metadata[b"origin"] == b"here"
    assert found.to_pylist() == [row for row in table.to_pylist() if row["n"]]
    some = tmp_path / "some.mosaic"
    assert run("convert", source, some, "-c", "n").code == 0
    assert pymosaic.read_schema(some).equals(table.select(["n"]).schema, check_metadata=True)


@pytest.mark.parametrize("extension", EXACT)
def test_keys_of_the_user_survive(run, tmp_path, extension):
    source, there, back = (tmp_path / x for x in ("a.mosaic", f"b.{extension}", "c.mosaic"))
    table = detailed_table()
    user = {"source": "survey 7", "é": "", "origin": "of the user"}
    pymosaic.write_table(table, source, metadata=user)
    assert run("convert", source, there).code == 0
    assert run("convert", there, back).code == 0
    if extension != "mosaic":
        # The schema has a key of this name, and one of the two stays.
        del user["origin"]
    if extension == "parquet":
        assert pq.read_metadata(there).metadata[b"source"] == b"survey 7"
    assert pymosaic.read_metadata(back).user == user
    assert pymosaic.read_schema(back).metadata[b"origin"] == b"here"
    assert set(pymosaic.read_schema(back).metadata) == {b"origin"}


def test_keys_of_the_user_that_all_sources_have_survive(run, tmp_path):
    for number in range(2):
        user = {"source": "survey 7", "number": str(number)}
        pymosaic.write_table(detailed_table(), tmp_path / f"{number}.mosaic", metadata=user)
    sources = [tmp_path / "0.mosaic", tmp_path / "1.mosaic"]
    assert run("convert", *sources, tmp_path / "both.mosaic").code == 0
    assert pymosaic.read_metadata(tmp_path / "both.mosaic").user == {"source": "survey 7"}
    assert run("convert", *sources, f"{tmp_path}/many/").code == 0
    assert pymosaic.dataset(tmp_path / "many").user_metadata == {"source": "survey 7"}
    assert run("convert", *sources, tmp_path / "plain.mosaic", "--no-checksum").code == 0
    assert pymosaic.read_metadata(tmp_path / "plain.mosaic").user == {}
    assert run("convert", *sources, tmp_path / "both.csv").code == 0


@pytest.mark.parametrize("text", ["", "{", "[1]", '["gone"]', '"x"', "[" * 100_000])
def test_a_list_of_keys_that_is_not_ours_is_left_alone(run, tmp_path, text):
    table = pa.table({"n": [1]}).replace_schema_metadata({"pymosaic:user": text, "a": "b"})
    pq.write_table(table, tmp_path / "a.parquet")
    assert run("convert", tmp_path / "a.parquet", tmp_path / "b.mosaic").code == 0
    assert pymosaic.read_schema(tmp_path / "b.mosaic").metadata[b"a"] == b"b"


@pytest.mark.parametrize("extension", ["csv", "jsonl", "orc", "parquet", "lance", "arrow"])
def test_types_that_a_format_lacks_are_written_as_stored(run, tmp_path, extension):
    table = detailed_table().append_column("half", pa.array([1.5, None, 2], pa.float16()))
    views = pa.array(["x", None, "z"], pa.string_view())
    table = table.append_column("view", views)
    for name in ("a.mosaic", "b.mosaic"):
        pymosaic.write_table(table, tmp_path / name)
    there = tmp_path / f"there.{extension}"
    result = run("convert", tmp_path / "a.mosaic", tmp_path / "b.mosaic", there)
    assert result.code == 0, result.stderr
    count = run("count", there, "--json")
    assert count.json()["num_rows"] == 6


def test_orc_keeps_values(run, small, tmp_path):
    there, back = tmp_path / "there.orc", tmp_path / "back.mosaic"
    assert run("convert", small, there).code == 0
    assert run("convert", there, back).code == 0
    expected = small_table().drop_columns(["seen"])
    assert pymosaic.read_table(back, columns=expected.column_names).equals(expected)


@pytest.mark.parametrize("extension", TEXT)
def test_text_formats_keep_plain_values(run, small, tmp_path, extension):
    there, back = tmp_path / f"there.{extension}", tmp_path / "back.mosaic"
    assert run("convert", small, there, "-c", "id,city,active,score").code == 0
    assert run("convert", there, back).code == 0
    table = pymosaic.read_table(back)
    wanted = small_table().select(["id", "city", "active"])
    assert table.select(["id", "city", "active"]).equals(wanted)
    assert table["score"].to_pylist() == [row / 10 for row in range(ROWS)]


def test_types_of_text_hold_for_the_last_line_too(run, tmp_path):
    # Each part of a file is looked at, not only the first.
    lines = [f"{number},1,\n" for number in range(10)] + ['x,2.5,"a\nb"\n']
    (tmp_path / "in.csv").write_text("a,b,c\n" + "".join(lines))
    assert run("convert", tmp_path / "in.csv", tmp_path / "out.mosaic").code == 0
    table = pymosaic.read_table(tmp_path / "out.mosaic")
    assert table.schema == pa.schema({"a": pa.string(), "b": pa.float64(), "c": pa.string()})
    assert table["c"].to_pylist() == [None] * 10 + ["a\nb"]


def test_parquet_gets_row_groups_of_many_batches(run, tmp_path):
    source = tmp_path / "in.mosaic"
    rows = pa.table({"n": range(10)})
    with pymosaic.MosaicWriter(source, rows.schema, row_group_bytes=1) as writer:
        for _ in range(5):
            writer.write(rows)
    run("convert", source, tmp_path / "out.parquet")
    metadata = pq.read_metadata(tmp_path / "out.parquet")
    assert (metadata.num_rows, metadata.num_row_groups) == (50, 1)


def test_rows_and_columns_can_be_chosen(run, small, tmp_path):
    target = tmp_path / "some.parquet"
    result = run(
        "convert", small, target, "-c", "id,c*", "--where", "city = 'Rome'", "-n", "3",
        "--offset", "1",
    )  # fmt: skip
    assert result.code == 0
    assert pq.read_table(target).to_pydict() == {"id": [4, 8, 12], "city": ["Rome"] * 3}


def test_filters_work_on_other_formats(run, small, tmp_path):
    there = tmp_path / "there.parquet"
    run("convert", small, there)
    assert run("cat", there, "-c", "id", "--where", "price > 3.8").lines() == [{"id": 39}]
    assert run("count", there, "--where", "city is null").stdout == "10\n"


def test_writer_options_reach_the_writer(run, small, tmp_path):
    target = tmp_path / "out.mosaic"
    result = run(
        "convert", small, "-o", target, "--num-buckets", "2", "--stats", "id,ci*",
        "--compression", "none", "--row-group-bytes", "1KiB",
    )  # fmt: skip
    assert result.code == 0, result.stderr
    with pymosaic.MosaicFile(target) as file:
        assert (file.num_buckets, file.metadata.compression) == (2, "none")
        assert set(file.statistics(0)) == {"id", "city"}


def test_the_number_of_buckets_may_be_automatic(run, small, tmp_path):
    target = tmp_path / "out.mosaic"
    assert run("convert", small, target, "--num-buckets", "auto").code == 0
    with pymosaic.MosaicFile(target) as file:
        assert file.num_buckets == min(10, file.num_columns)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["small.mosaic", "out.xyz"], 2, "unknown file extension"),
        (["small.mosaic"], 2, "missing target"),
        (["small.mosaic", "out.parquet", "--num-buckets", "3"], 2, "--num-buckets"),
        (["small.mosaic", "out.mosaic", "--level", "99"], 2, "compression_level"),
        (["small.mosaic", "out.mosaic", "--num-buckets", "0"], 2, "num_buckets must be from 1"),
        (["small.mosaic", "out.mosaic", "--num-buckets", "many"], 2, "an integer, or auto"),
        (["small.mosaic", "out.mosaic", "--row-group-bytes", "many"], 2, "is not a valid size"),
        (["nosuch.mosaic", "out.mosaic"], 1, "nosuch.mosaic: No such file or directory"),
        (["small.mosaic", "nosuch/out.mosaic"], 1, "nosuch/out.mosaic"),
        (["broken.mosaic", "out.mosaic"], 1, "broken.mosaic"),
        (["broken.jsonl", "out.mosaic"], 1, "broken.jsonl"),
        (["broken.parquet", "out.mosaic"], 1, "broken.parquet: "),
        (["nested.jsonl", "out.mosaic"], 1, "column 'a' of type struct"),
    ],
)
def test_mistakes_are_told_in_a_line_and_leave_nothing(
    run, small, tmp_path, arguments, code, message
):
    (tmp_path / "small.mosaic").write_bytes(small.read_bytes())
    (tmp_path / "broken.mosaic").write_bytes(small.read_bytes()[:-1])
    (tmp_path / "broken.jsonl").write_text('{"a": 1}\n{"a": \n')
    (tmp_path / "broken.parquet").write_text("no")
    (tmp_path / "nested.jsonl").write_text('{"a": {"b": 1}}\n')
    before = sorted(tmp_path.iterdir())
    result = run("convert", *arguments, directory=tmp_path)
    assert result.code == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_debug_shows_the_traceback(run, tmp_path):
    result = run("head", tmp_path / "nosuch.mosaic", "--debug")
    assert result.code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("pymosaic: ")


def test_what_exists_is_replaced_only_when_that_is_wanted(run, small, tmp_path):
    target = tmp_path / "out.jsonl"
    target.write_text("mine")
    refused = run("convert", small, target)
    assert (refused.code, target.read_text()) == (1, "mine")
    assert "--overwrite" in refused.stderr
    assert run("convert", small, target, "--overwrite").code == 0
    assert len(target.read_text().splitlines()) == ROWS


def test_a_conversion_that_fails_keeps_what_was_there(run, small, tmp_path):
    damaged = tmp_path / "damaged.mosaic"
    data = bytearray(small.read_bytes())
    with pymosaic.MosaicFile(small) as file:
        data[file.metadata.row_group(1).bucket(0).offset + 12] ^= 255
    damaged.write_bytes(data)
    target = tmp_path / "out.parquet"
    target.write_text("mine")
    result = run("convert", damaged, target, "--overwrite")
    assert result.code == 1
    assert "row group 1, bucket 0" in result.stderr
    assert target.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.mosaic", "out.parquet"]


def test_merge_glues_files(run, tmp_path):
    for day in (1, 2, 3):
        pymosaic.write_table(pa.table({"day": [day]}), tmp_path / f"{day}.mosaic")
    target = tmp_path / "all.mosaic"
    result = run("merge", tmp_path / "[123].mosaic", "-o", target, "--json")
    assert result.json()["num_row_groups"] == 3
    assert pymosaic.read_table(target)["day"].to_pylist() == [1, 2, 3]
    assert run("merge", tmp_path / "1.mosaic", target).code == 1


def test_merge_refuses_files_that_differ(run, small, tmp_path):
    pymosaic.write_table(pa.table({"other": [1]}), tmp_path / "other.mosaic")
    result = run("merge", small, tmp_path / "other.mosaic", tmp_path / "out.mosaic")
    assert result.code == 1
    assert "other.mosaic" in result.stderr
    assert not (tmp_path / "out.mosaic").exists()


def test_compact_makes_one_file_of_many(run, tmp_path):
    base = tmp_path / "table"
    for day in range(4):
        pymosaic.write_dataset(pa.table({"day": [day]}), base, mode="append")
    report = run("compact", base, "--json").json()
    assert (report["files_before"], report["files_after"]) == (4, 1)
    assert run("count", base).stdout == "4\n"
    assert "nothing to do" in run("compact", base).stdout


def test_diff_of_equal_tables_is_empty(run, small, tmp_path):
    run("convert", small, tmp_path / "copy.parquet")
    result = run("diff", small, tmp_path / "copy.parquet", "--json")
    assert result.code == 0
    assert result.json()["equal"]
    assert result.json()["differences"] == []


def test_diff_tells_columns_rows_and_values(run, tmp_path):
    nan = float("nan")
    left = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.0, nan, 1.0], "d": [1, 2, 3]})
    right = pa.table({"a": [1, 5, 6, 7], "b": ["x", "y", "z", "w"], "c": [-0.0, nan, 1.0, 2.0]})
    pymosaic.write_table(left, tmp_path / "left.mosaic")
    pymosaic.write_table(right, tmp_path / "right.mosaic")
    result = run("diff", tmp_path / "left.mosaic", tmp_path / "right.mosaic", "--json")
    assert result.code == 1
    found = result.json()
    assert not found["equal"]
    keys = ("kind", "column", "count", "row", "left", "right")
    assert [tuple(entry[key] for key in keys) for entry in found["differences"]] == [
        ("column", "d", None, None, "int64", None),
        ("rows", None, None, None, 3, 4),
        ("values", "a", 2, 1, 2, 5),
        ("values", "b", 1, 1, None, "y"),
        ("values", "c", 1, 0, 0.0, -0.0),
    ]
    schema = run("diff", tmp_path / "left.mosaic", tmp_path / "right.mosaic", "--schema-only")
    assert [line["column"] for line in schema.lines()] == ["d"]


def test_lines_of_json_are_written_in_the_order_of_columns(run, small, tmp_path):
    target = tmp_path / "out.jsonl"
    run("convert", small, target, "-c", "city,id", "-n", "1")
    assert list(json.loads(target.read_text())) == ["city", "id"]


TYPED_TEXT = {
    "csv": ["id", "city", "price", "score", "day", "seen", "active", "empty"],
    "jsonl": ["id", "city", "price", "score", "day", "seen", "tags", "active", "empty"],
}


@pytest.mark.parametrize("extension", TYPED_TEXT)
def test_text_can_have_the_types_of_another_file(run, small, tmp_path, extension):
    columns = TYPED_TEXT[extension]
    text, back = tmp_path / f"text.{extension}", tmp_path / "back.mosaic"
    assert run("convert", small, text, "-c", ",".join(columns)).code == 0
    result = run("convert", text, back, "--schema-from", small)
    assert result.code == 0, result.stderr
    assert pymosaic.read_table(back).equals(small_table().select(columns))


def test_columns_that_the_other_file_lacks_are_guessed(run, small, tmp_path):
    (tmp_path / "in.csv").write_text("city,more\n007,1\n")
    assert (
        run("convert", "in.csv", "o.mosaic", "--schema-from", small, directory=tmp_path).code == 0
    )
    assert pymosaic.read_table(tmp_path / "o.mosaic").to_pylist() == [{"city": "007", "more": 1}]


@pytest.mark.parametrize(
    ("name", "text", "code", "complaint"),
    [
        ("in.csv", "id\nabc\n", 1, "abc"),
        ("in.jsonl", '{"id": "abc"}\n', 1, "id"),
        ("in.csv", "raw\n00ff\n", 1, "'raw' cannot be read as binary"),
        ("in.csv", "tags\n[]\n", 1, "not supported"),
        ("in.mosaic", "", 2, "--schema-from is for CSV and JSON lines"),
        ("*.mosaic", "", 2, "--schema-from is for"),
    ],
)
def test_types_of_another_file_that_do_not_fit(run, small, tmp_path, name, text, code, complaint):
    (tmp_path / name).write_text(text)
    result = run("convert", name, "out.parquet", "--schema-from", small, directory=tmp_path)
    assert (result.code, len(result.stderr.splitlines())) == (code, 1)
    assert complaint in result.stderr
    assert not (tmp_path / "out.parquet").exists()


def test_uris_name_sources_and_targets(run, small, tmp_path):
    uri = small.as_uri()
    assert run("count", uri).stdout == f"{ROWS}\n"
    assert run("meta", uri, "--json").json()["num_rows"] == ROWS
    assert run("convert", uri, (tmp_path / "out.parquet").as_uri()).code == 0
    assert pq.read_table(tmp_path / "out.parquet").num_rows == ROWS
    refused = run("merge", uri, (tmp_path / "out.parquet").as_uri())
    assert refused.code == 1
    assert "--overwrite" in refused.stderr
    assert run("merge", uri, (tmp_path / "out.mosaic").as_uri()).code == 0
    twice = run("merge", uri, uri, (tmp_path / "twice.mosaic").as_uri())
    assert twice.code == 2
    assert "named twice" in twice.stderr
    assert pymosaic.read_metadata(tmp_path / "out.mosaic").num_rows == ROWS


def test_structs_are_flattened_on_request(run, tmp_path):
    table = pa.table({"id": [1], "place": [{"x": 1, "y": 2}]})
    pq.write_table(table, tmp_path / "places.parquet")
    source, target = str(tmp_path / "places.parquet"), str(tmp_path / "places.mosaic")
    refused = run("convert", source, target)
    assert refused.code != 0
    assert "--flatten ." in refused.stderr
    assert run("convert", source, target, "--flatten", ".").code == 0
    assert pymosaic.MosaicFile(target).column_names == ["id", "place.x", "place.y"]
    assert pymosaic.read_table(target).equals(table)
