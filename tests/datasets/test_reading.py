"""read_table and read_schema of files, directories, patterns and lists; columns chosen."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pytest

import pymosaic

ROWS = pa.table({"n": [1, 2], "text": ["a", "b"], "size": [0.5, 1.5]})


@pytest.fixture
def base(tmp_path) -> Path:
    (tmp_path / "data").mkdir()
    pymosaic.write_table(ROWS, tmp_path / "data" / "1.mosaic")
    pymosaic.write_table(ROWS.append_column("more", [[7, 8]]), tmp_path / "data" / "2.mosaic")
    return tmp_path / "data"


def test_a_directory_a_pattern_and_a_list_are_read_as_one_table(base):
    expected = {"n": [1, 2, 1, 2], "more": [None, None, 7, 8]}
    files = sorted(base.iterdir())
    for source in (base, str(base), f"{base}/*.mosaic", files, (str(path) for path in files)):
        assert pymosaic.read_table(source, columns=["n", "more"]).to_pydict() == expected


def test_the_schema_of_a_directory_has_the_columns_of_all_files(base):
    assert pymosaic.read_schema(base).names == ["n", "text", "size", "more"]
    assert pymosaic.read_schema(base / "1.mosaic").names == ["n", "text", "size"]
    assert pymosaic.read_schema([base / "1.mosaic"]).names == ["n", "text", "size"]


def test_partitions_of_a_directory_are_columns(tmp_path):
    pymosaic.write_dataset(ROWS, tmp_path / "parts", partition_by=["n"])
    assert pymosaic.read_table(tmp_path / "parts", filters="n = 2").to_pydict() == {
        "text": ["b"],
        "size": [1.5],
        "n": [2],
    }


def test_a_directory_of_a_file_system_is_read(base):
    filesystem = pyarrow.fs.SubTreeFileSystem(str(base.parent), pyarrow.fs.LocalFileSystem())
    assert pymosaic.read_table("data", filesystem=filesystem).num_rows == 4
    assert pymosaic.read_table(f"file://{base}").num_rows == 4


def test_options_of_reading_hold_for_directories(base):
    limits = pymosaic.Limits(max_row_group_bytes=8)
    with pytest.raises(pymosaic.LimitExceededError):
        pymosaic.read_table(base, limits=limits)
    with pytest.raises(pymosaic.InvalidOptionError, match="types must be"):
        pymosaic.read_table(base, types="other")  # type: ignore[arg-type]


def test_what_does_not_exist_is_told(base):
    for source in (base / "no.mosaic", base / "no", [base / "no.mosaic"]):
        with pytest.raises(FileNotFoundError, match="no"):
            pymosaic.read_table(source)
    with pytest.raises(pymosaic.DatasetError, match="no Mosaic files"):
        pymosaic.read_table(f"{base}/*.parquet")


def is_number(field: pa.Field) -> bool:
    return bool(pa.types.is_integer(field.type) or pa.types.is_floating(field.type))


@pytest.mark.parametrize(
    ("columns", "exclude", "names"),
    [
        (None, ["text"], ["n", "size"]),
        (None, ["*"], []),
        (["s*", "n"], ["n"], ["size"]),
        (is_number, None, ["n", "size"]),
        (is_number, ["s*"], ["n"]),
        (None, is_number, ["text"]),
        (["text", "n"], is_number, ["text"]),
        (lambda field: False, None, []),
        ({"n": 1}.keys(), None, ["n"]),
        (iter(["text"]), None, ["text"]),
    ],
)
def test_columns_are_chosen_and_excluded(base, columns, exclude, names):
    if not hasattr(columns, "__next__"):
        with pymosaic.MosaicFile(base / "1.mosaic") as file:
            assert file.read(columns, exclude=exclude).column_names == names
            batch = next(file.iter_batches(columns=columns, exclude=exclude))
            assert batch.schema.names == names
            assert file.take([0], columns, exclude=exclude).column_names == names
            assert file.head(1, columns, exclude=exclude).column_names == names
        scan = pymosaic.dataset([base / "1.mosaic"]).scan(columns, exclude=exclude)
        assert scan.schema.names == scan.to_table().column_names == names
        frame = pymosaic.read_pandas(base / "1.mosaic", columns=columns, exclude=exclude)
        assert list(frame) == names
    table = pymosaic.read_table(base / "1.mosaic", columns=columns, exclude=exclude)
    assert table.column_names == names
    assert table.num_rows == 2


def test_an_excluded_column_must_exist(base):
    with pytest.raises(pymosaic.ColumnNotFoundError, match="exclude: no column matches 'txt'"):
        pymosaic.read_table(base / "1.mosaic", exclude=["txt"])
    with pytest.raises(pymosaic.ColumnNotFoundError, match="exclude: no column matches 'txt'"):
        pymosaic.read_table(base, exclude=["txt"])
    with pytest.raises(pymosaic.InvalidOptionError, match=r"write exclude=\['text'\]"):
        pymosaic.read_table(base, exclude="text")  # type: ignore[arg-type]


def test_a_function_sees_fields_as_they_are_read(tmp_path):
    table = pa.table({"a": pa.array([1], pa.uint8()), "b": pa.array(["x"]).dictionary_encode()})
    pymosaic.write_table(table, tmp_path / "x.mosaic")
    seen: list[str] = []

    def see(field: pa.Field) -> bool:
        seen.append(str(field.type))
        return True

    for types in ("arrow", "mosaic"):
        pymosaic.read_table(tmp_path / "x.mosaic", columns=see, types=types)
    assert seen[0] == "uint8"
    assert seen[1].startswith("dictionary")
    assert seen[2:] == ["int16", "string"]
