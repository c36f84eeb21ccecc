"""Options, locations and predicates, without a session."""

import subprocess
import sys

import pyarrow as pa
import pytest

from pymosaic.errors import InvalidOptionError
from pymosaic.spark.options import KNOWN_OPTIONS, SourceOptions
from pymosaic.spark.predicates import decode_filters, narrowed, translate
from pymosaic.spark.storage import locate


def test_options_are_read_whatever_their_case():
    options = SourceOptions.parse(
        {"PATH": "/data", "maxPartitionBytes": "2M", "PARTITIONBY": "a, b", "Statistics": "x*,y"}
    )
    assert options.locations == ["/data"]
    assert options.max_partition_bytes == 2 << 20
    assert options.partition_by == ("a", "b")
    assert options.writer == {"statistics": ("x*", "y")}


def test_names_with_commas_are_given_as_json():
    assert SourceOptions.parse({"columns": '["a,b", "c"]'}).columns == ("a,b", "c")
    assert SourceOptions.parse({"columns": "ab*, c"}).columns == ("ab*", "c")


def test_the_number_of_buckets_may_be_auto():
    assert SourceOptions.parse({"numbuckets": "Auto"}).writer == {"num_buckets": "auto"}
    assert SourceOptions.parse({"numBuckets": "30"}).writer == {"num_buckets": 30}


def test_unknown_options_list_the_known():
    with pytest.raises(InvalidOptionError, match="did you mean 'columns'") as caught:
        SourceOptions.parse({"colums": "a"})
    assert all(name in str(caught.value) for name in KNOWN_OPTIONS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maxPartitionBytes": "lots"}, "maxPartitionBytes must be a size"),
        ({"ignoreCorruptFiles": "maybe"}, "ignoreCorruptFiles must be true or false"),
        ({"numBuckets": "1.5"}, "numBuckets must be an integer, or auto"),
        ({"filters": "age > 5"}, "filters must be JSON"),
        ({"partitioning": "range"}, "partitioning must be hive or none"),
    ],
)
def test_values_of_the_wrong_form_are_refused(options, message):
    with pytest.raises(InvalidOptionError, match=message):
        SourceOptions.parse(options)


def test_a_missing_path_is_told():
    with pytest.raises(InvalidOptionError, match="the path is missing"):
        _ = SourceOptions.parse({}).locations


def test_properties_of_a_table_are_no_options():
    table = {"owner": "me", "provider": "mosaic", "x": "y", "path": "/p", "location": "/p"}
    assert SourceOptions.parse(table).path == "/p"
    with pytest.raises(InvalidOptionError, match="'colums'"):
        SourceOptions.parse(table | {"colums": "a", "option.colums": "a"})


def test_locations_in_hadoops_spelling():
    assert locate(["file:///a b", "file:/x", "/y=1:2"], {})[0] == ["/a b", "/x", "/y=1:2"]
    assert locate(["s3a://b/k", "s3n://b/k", "gcs://b/k"], {})[0] == [
        "s3://b/k",
        "s3://b/k",
        "gs://b/k",
    ]


COLUMNS = {
    "i": pa.int32(),
    "f": pa.float64(),
    "g": pa.float32(),
    "s": pa.string(),
    "ns": pa.timestamp("ns"),
    "us": pa.timestamp("us", "UTC"),
    "d": pa.decimal128(5, 2),
}


def _is(name, column, value, kind):
    return {"name": name, "children": [{"column": column}, {"type": kind, "value": value}]}


def _not(child):
    return {"name": "NOT", "children": [child]}


def _and(*children):
    return {"name": "AND", "children": list(children)}


def _or(*children):
    return {"name": "OR", "children": list(children)}


UNKNOWN = {"name": "UPPER", "children": [{"column": "s"}]}
ONE = _is("=", "i", "1", "integer")
TWO = _is(">", "i", "2", "integer")


@pytest.mark.parametrize(
    ("expression", "groups"),
    [
        (_or(ONE, TWO), [[("i", "==", 1)], [("i", ">", 2)]]),
        (_and(ONE, TWO), [[("i", "==", 1), ("i", ">", 2)]]),
        (_not(_or(ONE, TWO)), [[("i", "!=", 1), ("i", "<=", 2)]]),
        (_not(_and(ONE, TWO)), [[("i", "!=", 1)], [("i", "<=", 2)]]),
        # What is not understood may be true, and so may its negation.
        (_and(ONE, UNKNOWN), [[("i", "==", 1)]]),
        (_or(ONE, UNKNOWN), None),
        (_not(_and(ONE, UNKNOWN)), None),
        (_not(_or(ONE, UNKNOWN)), [[("i", "!=", 1)]]),
        # NaN is above all numbers in Spark.
        (_is("<", "f", "1.5", "double"), [[("f", "<", 1.5)]]),
        (_is(">", "f", "1.5", "double"), [[("f", "is not null")]]),
        (_not(_is("<", "f", "1.5", "double")), [[("f", "is not null")]]),
        (_is("=", "f", "NaN", "double"), None),
        (_is("=", "g", "0.1", "float"), [[("g", "==", 0.10000000149011612)]]),
        # Spark cuts nanoseconds off before it compares.
        (_is("=", "ns", "5", "timestamp_ntz"), None),
        (_is("=", "us", "5", "timestamp_ntz"), None),
        (_is("=", "i", None, "integer"), []),
        (_is("<=>", "i", None, "integer"), [[("i", "is null")]]),
        (_not(_is("<=>", "i", "1", "integer")), [[("i", "!=", 1)], [("i", "is null")]]),
        (_is("STARTS_WITH", "s", "ab", "string"), [[("s", ">=", "ab"), ("s", "<", "ac")]]),
        (
            _is("STARTS_WITH", "s", "a\ud7ff", "string"),
            [[("s", ">=", "a\ud7ff"), ("s", "<", "a\ue000")]],
        ),
        (_is("STARTS_WITH", "s", "\U0010ffff", "string"), [[("s", ">=", "\U0010ffff")]]),
        (_not(_is("STARTS_WITH", "s", "ab", "string")), [[("s", "is not null")]]),
        (_is("CONTAINS", "s", "ab", "string"), [[("s", "is not null")]]),
        (_is("=", "s", "x", "string collate UNICODE_CI"), None),
        (_is("=", "unknown", "1", "integer"), None),
        ({"name": "ALWAYS_FALSE", "children": []}, []),
        (
            {"name": ">", "children": [{"type": "integer", "value": "7"}, {"column": "i"}]},
            [[("i", "<", 7)]],
        ),
    ],
)
def test_filters_are_translated_to_what_keeps_at_least_the_same_rows(expression, groups):
    assert translate([expression], COLUMNS) == groups


def test_a_tree_that_would_explode_is_weakened():
    wide = [_or(*(_is("=", "i", str(n * 10 + k), "integer") for k in range(8))) for n in range(9)]
    groups = translate(wide, COLUMNS)
    assert groups is not None
    assert len(groups) == 64
    many = _or(*(_is("=", "i", str(n), "integer") for n in range(100)))
    assert translate([many], COLUMNS) is None


def test_filters_of_the_user_are_never_weakened():
    mine = decode_filters([["i", ">", 5], ["s", "in", ["x", "y"]]])
    assert mine == [[("i", ">", 5), ("s", "in", ["x", "y"])]]
    assert narrowed(mine, None) == mine
    assert narrowed(None, mine) == mine
    assert narrowed(mine, [[("i", "<", 9)]]) == [[*mine[0], ("i", "<", 9)]]
    assert narrowed(mine, []) == []
    many = [[("i", "==", number)] for number in range(40)]
    assert narrowed(many, many) == many


def test_workers_import_no_more_than_they_need():
    code = "import sys, pymosaic.spark.reading; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=600).returncode == 0
    code = "import sys, pymosaic.spark; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=600).returncode == 0
