"""The Arrow schema as it was written: types, metadata, dictionaries, what the user stored."""

from __future__ import annotations

import datetime
import io
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.arrow.restoring import can_restore
from pymosaic.file import grouped_items
from pymosaic.file.grouped_items import DICTIONARIES, parse_items
from pymosaic.file.reader import opened
from pymosaic.format import annex_metadata
from pymosaic.format.annex import SectionType
from pymosaic.testing.annex import with_annex, without_annex
from pymosaic.testing.pieces import INTEGER, ONE_TWO, array, of_one
from tests.io_pattern.recording import RecordingSource
from tests.property.reference import reference_table
from tests.writing import write, written

LISTS: list[Any] = [[1, 2], None, [], [5]]
TEXTS = ["a", None, "", "x"]
BINARIES = [b"a", None, b"", b"x"]
DECIMALS = [Decimal("1.5"), None, Decimal("-1.5"), Decimal(0)]
TIMES = [1000, 2000, None, 3000]
DAYS = [datetime.date(2020, 1, 1), None, datetime.date(1960, 1, 1), datetime.date(1970, 1, 1)]
ZOO = {
    "dictionary": pa.array(["a", "b", None, "a"]).dictionary_encode(),
    "ordered dictionary with unused entries": pa.DictionaryArray.from_arrays(
        pa.array([1, 0, None, 1], pa.int16()), ["x", "y", "z"], ordered=True
    ),
    "dictionary of numbers": pa.array([7, 7, None, 1 << 40]).dictionary_encode(),
    "duration": pa.array([1, None, -5, 1 << 62], pa.duration("ns")),
    "list of durations": pa.array([[1], None, [], [5, None]], pa.list_(pa.duration("ms"))),
    "map of durations": pa.array(
        [[("a", 1)], None, [], [("b", None)]], pa.map_(pa.string(), pa.duration("s"))
    ),
    "dictionary of durations": pa.array([7, 7, None, 1], pa.duration("us")).dictionary_encode(),
    "large string": pa.array(TEXTS, pa.large_string()),
    "large binary": pa.array(BINARIES, pa.large_binary()),
    "string view": pa.array(TEXTS, pa.string_view()),
    "binary view": pa.array(BINARIES, pa.binary_view()),
    "fixed-size binary": pa.array([b"abcd", None, b"0123", b"zzzz"], pa.binary(4)),
    "fixed-size list": pa.array([[1, 2], None, [3, 4], [5, None]], pa.list_(pa.int32(), 2)),
    "large list": pa.array(LISTS, pa.large_list(pa.int32())),
    "list view": pa.array(LISTS, pa.list_view(pa.int32())),
    "large list view": pa.array(LISTS, pa.large_list_view(pa.int32())),
    "half": pa.array(np.array([1.5, 2, np.inf, -0.0], np.float16)),
    "uint8": pa.array([0, 255, None, 1], pa.uint8()),
    "uint16": pa.array([0, 65535, None, 1], pa.uint16()),
    "uint32": pa.array([0, (1 << 32) - 1, None, 1], pa.uint32()),
    "uint64": pa.array([0, (1 << 64) - 1, None, 1], pa.uint64()),
    "date64": pa.array(DAYS, pa.date64()),
    "time in seconds": pa.array(TIMES, pa.time32("s")),
    "time in microseconds": pa.array(TIMES, pa.time64("us")),
    "timestamp in seconds": pa.array(TIMES, pa.timestamp("s")),
    "timestamp in seconds with zone": pa.array(TIMES, pa.timestamp("s", "Europe/Oslo")),
    "decimal32": pa.array(DECIMALS, pa.decimal32(5, 2)),
    "decimal256": pa.array(DECIMALS, pa.decimal256(30, 2)),
    "null": pa.nulls(4),
    "uuid": pa.array([b"0" * 16, None, b"1" * 16, b"2" * 16], pa.uuid()),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0, None, 1], pa.int8())),
    "run-end encoded": pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), ["a", "b"]),
    "map of large strings": pa.array(
        [[("a", "b")], None, [], [("c", None)]], pa.map_(pa.string(), pa.large_string())
    ),
    "list of dictionaries": pa.array([["a", "b"], None, [], ["a"]]).cast(
        pa.list_(pa.dictionary(pa.int32(), pa.string()))
    ),
    "plain": pa.array([1, 2, 3, 4]),
}
FIELDS = [
    pa.field(name, column.type, metadata={"comment": name} if number % 3 == 0 else None)
    for number, (name, column) in enumerate(ZOO.items())
]
TABLE = pa.table(list(ZOO.values()), pa.schema(FIELDS, {"origin": "zoo", b"\xff": b"\x00"}))


@pytest.fixture(scope="module", params=["zstd", "none"])
def data(request: pytest.FixtureRequest) -> bytes:
    return written(TABLE, compression=request.param, metadata={"me": "ü", "": ""})


def test_everything_comes_back(data: bytes) -> None:
    found = pymosaic.read_table(data)
    assert found.schema.equals(TABLE.schema, check_metadata=True)
    assert found.equals(TABLE, check_metadata=True)
    found.validate(full=True)


@pytest.mark.parametrize("name", ZOO)
def test_each_column_comes_back_alone(name: str, data: bytes) -> None:
    found = pymosaic.read_table(data, columns=[name])
    assert found.schema.field(0).equals(TABLE.schema.field(name), check_metadata=True)
    assert found.schema.metadata == TABLE.schema.metadata
    assert found[name].equals(TABLE[name])


def test_stored_types_are_those_without_an_annex(data: bytes) -> None:
    found = pymosaic.read_table(data, types="mosaic")
    plain = pymosaic.read_table(without_annex(written(TABLE)))
    assert found.schema.equals(plain.schema, check_metadata=True)
    assert found.equals(plain)


def test_a_file_without_any_is_read_as_it_is_stored() -> None:
    # Durations need an annex.
    data = written(TABLE.drop([name for name in ZOO if "duration" in name]), checksum=False)
    assert pymosaic.read_table(data).equals(pymosaic.read_table(data, types="mosaic"))


def test_the_file_is_whole_and_the_reference_reads_it(data: bytes) -> None:
    assert pymosaic.verify(data) == []
    assert reference_table(data).equals(pymosaic.read_table(data, types="mosaic"))


def test_batches_and_filters_give_the_same_types(data: bytes) -> None:
    with pymosaic.MosaicFile(data) as file:
        assert file.schema.equals(TABLE.schema, check_metadata=True)
        (batch,) = file.iter_batches()
        assert pa.table(batch).equals(TABLE, check_metadata=True)
        assert pa.table(file).equals(TABLE)
        some = file.read(columns=["uint8", "dictionary"], filters=[("plain", ">", 2)])
    assert some.equals(TABLE.slice(2).select(["uint8", "dictionary"]))


def test_the_users_own_comes_back(data: bytes) -> None:
    assert pymosaic.read_metadata(data).user == {"me": "ü", "": ""}
    assert pymosaic.read_metadata(written(TABLE)).user == {}


@pytest.mark.parametrize("wrong", [{"a": 1}, {b"a": "b"}, "a", [("a", "b")]])
def test_only_text_can_be_stored(wrong: Any) -> None:
    with pytest.raises(pymosaic.InvalidDataError, match="metadata must be a dict of str"):
        written(TABLE, metadata=wrong)


def test_metadata_needs_an_annex() -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="checksum=True"):
        written(TABLE, metadata={"a": "b"}, checksum=False)


def test_types_has_two_values() -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="'mosaic' or 'arrow'"):
        pymosaic.read_table(written(TABLE), types="pandas")  # type: ignore[arg-type]


def test_a_plain_table_needs_no_more_than_checksums() -> None:
    table = pa.table({"a": [1], "b": ["x"], "c": [[1]], "d": [datetime.datetime(2020, 1, 1)]})
    assert pymosaic.read_metadata(written(table)).annex_size == 56


def test_dictionaries_of_several_batches_are_united() -> None:
    parts = [pa.array(values).dictionary_encode() for values in (["b", "a"], ["c", "a", None])]
    batches = [pa.record_batch({"d": part}) for part in parts]
    data = write(batches, batches[0].schema, row_group_bytes=1)
    found = pymosaic.read_table(data)
    assert found["d"].chunk(1).dictionary.to_pylist() == ["b", "a", "c"]
    assert found["d"].to_pylist() == ["b", "a", "c", "a", None]


def coded(values: Any, index_type: pa.DataType | None = None) -> pa.Array:
    entries = values if isinstance(values, pa.Array) else pa.array(values)
    return pa.DictionaryArray.from_arrays(
        pa.array(range(len(entries)), index_type or pa.int8()), entries
    )


def test_zeros_of_both_signs_are_entries() -> None:
    batches = [pa.record_batch({"d": coded([zero])}) for zero in (0.0, -0.0)]
    found = pymosaic.read_table(write(batches, batches[0].schema, row_group_bytes=1))
    assert str(found["d"].to_pylist()) == "[0.0, -0.0]"


def test_half_precision_numbers_are_entries() -> None:
    table = pa.table({"d": coded(pa.array(np.array([1, -0.0, np.nan, 5], np.float16)))})
    found = pymosaic.read_table(written(table))
    # Old versions of pyarrow cannot make them, and leave the numbers as they are stored.
    makes_them = can_restore(pa.float32(), table.schema.field("d").type)
    assert found.schema.types == (table.schema.types if makes_them else [pa.float32()])
    assert str(found["d"].to_pylist()) == str(table["d"].to_pylist())


@pytest.mark.parametrize("rows", [1, 1 << 20])
@pytest.mark.parametrize("length", [1, 20_000])
def test_indices_become_wider_if_they_cannot_number_all_values(rows: int, length: int) -> None:
    batches = [
        pa.record_batch({"d": coded([f"{part}-{i}" * length for i in range(100)])})
        for part in range(2)
    ]
    data = write(batches, batches[0].schema, row_group_bytes=rows)
    found = pymosaic.read_table(data)
    assert found.schema.types == [pa.dictionary(pa.int32(), pa.string())]
    assert found["d"].to_pylist() == [x for batch in batches for x in batch["d"].to_pylist()]


@pytest.mark.parametrize("make", [pa.list_, pa.large_list, lambda field: pa.list_(field, 2)])
@pytest.mark.parametrize("num_batches", [1, 2])
def test_indices_in_lists_become_wider_too(make: Any, num_batches: int) -> None:
    given = make(pa.field("item", pa.dictionary(pa.int8(), pa.string())))
    batches = [
        pa.record_batch(
            {
                "d": pa.array([[f"{part}-{i}", None] for i in range(100)], make(pa.string())).cast(
                    given
                )
            }
        )
        for part in range(num_batches)
    ]
    found = pymosaic.read_table(write(batches, batches[0].schema))
    index_type = pa.int8() if num_batches == 1 else pa.int32()
    assert found.schema.types == [make(pa.field("item", pa.dictionary(index_type, pa.string())))]
    assert found["d"].to_pylist() == [x for batch in batches for x in batch["d"].to_pylist()]


def test_indices_stay_as_they_are_if_they_can_number_all_values() -> None:
    part = coded(["x" * 20_000 + str(i) for i in range(100)])  # too large to be kept
    for batches in ([part, part], [coded(["a", "b"]), coded(["b", "c"])]):
        given = [pa.record_batch({"d": batch}) for batch in batches]
        found = pymosaic.read_table(write(given, given[0].schema, row_group_bytes=1))
        assert found.schema == given[0].schema


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1, 2]}),
        pd.DataFrame({"a": [1, 2]}, index=pd.Index([5, 6], name="n")),
        pd.DataFrame({"a": [1, 2]}, index=pd.RangeIndex(4, 8, 2)),
        pd.DataFrame({"a": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, "x"), (2, "y")])),
        pd.DataFrame({"a": [1, 2]}, index=pd.date_range("2020", periods=2, tz="UTC")),
        pd.DataFrame({"c": pd.Categorical(["b", "a"], ["z", "b", "a"], ordered=True)}),
        pd.DataFrame({"i": pd.array([1, None], "Int8"), "b": pd.array([True, None], "boolean")}),
        pd.DataFrame({"u": np.array([1, 2], np.uint64), "h": np.array([1, 2], np.float16)}),
        pd.DataFrame({"s": pd.array(["x", None], "string"), "t": pd.date_range("2020", periods=2)}),
        pd.DataFrame({"p": pd.period_range("2020", periods=2, freq="D")}),
    ],
)
def test_frames_come_back(frame: pd.DataFrame) -> None:
    data = written(frame)
    found = pymosaic.read_table(data).to_pandas()
    # Arrow does not keep the frequency of an index either.
    pd.testing.assert_frame_equal(found, frame, check_freq=False)


class TestMerge:
    def merged(self, *files: bytes) -> bytes:
        out = io.BytesIO()
        pymosaic.merge(files, out)
        assert not [x for x in pymosaic.verify(out.getvalue()) if x.severity == "error"]
        return out.getvalue()

    def test_keeps_what_all_files_have(self, data: bytes) -> None:
        merged = self.merged(data, data)
        found = pymosaic.read_table(merged)
        assert found.schema.equals(TABLE.schema, check_metadata=True)
        assert found.slice(4).equals(TABLE)
        assert pymosaic.read_metadata(merged).user == {"me": "ü", "": ""}

    def test_drops_what_differs(self) -> None:
        files = [written(TABLE, metadata={"n": str(n)}) for n in range(2)]
        merged = self.merged(*files)
        assert pymosaic.read_metadata(merged).user == {}
        assert pymosaic.read_schema(merged).types == TABLE.schema.types

    def test_more_entries_than_indices_can_number(self) -> None:
        tables = [pa.table({"d": coded([f"{part}-{i}" for i in range(100)])}) for part in range(2)]
        merged = self.merged(*map(written, tables))
        assert pymosaic.read_table(merged).equals(pa.concat_tables(tables))

    def test_drops_types_that_one_file_lacks(self, data: bytes) -> None:
        if pymosaic.read_metadata(data).compression == "zstd":
            merged = self.merged(data, without_annex(data))
            assert pymosaic.read_schema(merged) == pymosaic.read_schema(data, types="mosaic")


def test_few_columns_read_few_groups() -> None:
    names = [f"c{i:04}" for i in range(1000)]
    schema = pa.schema([pa.field(n, pa.int64(), metadata={"about": n * 50}) for n in names])
    data = written(pa.table([[1]] * 1000, schema))
    source = RecordingSource(data, tail_bytes=32)
    with pymosaic.MosaicFile(source) as file:
        source.forget()
        found = file.read(columns=["c0500"])
    assert found.schema.field(0).metadata == {b"about": b"c0500" * 50}
    assert sum(size for _, size in source.reads) < pymosaic.read_metadata(data).annex_size // 2


class TestLies:
    PLAIN = of_one(INTEGER, ONE_TWO)

    def refused(self, error: type[pymosaic.MosaicError], match: str, data: bytes) -> None:
        with pytest.raises(error, match=match):
            pymosaic.read_table(data)
        assert pymosaic.read_table(data, types="mosaic").num_rows == 2

    def file(self, field: pa.Field | bytes, positions: list[int], count: int = 1) -> bytes:
        content = field
        if isinstance(field, pa.Field):
            content = pa.schema([field]).serialize().to_pybytes()
        frame = annex_metadata.compress(content)
        directory = annex_metadata.emit_directory(
            positions, [0] * len(positions), [(count, len(frame), len(content))]
        )
        kinds = SectionType.FIELDS, SectionType.FIELD_DIRECTORY
        return with_annex(self.PLAIN, (kinds[0], frame), (kinds[1], directory))

    def test_the_truth(self) -> None:
        data = self.file(pa.field("0", pa.uint16()), [0])
        assert pymosaic.read_schema(data).types == [pa.uint16()]

    @pytest.mark.parametrize(
        "kind", [pa.int64(), pa.string(), pa.struct({"a": pa.int32()}), pa.list_(pa.int32())]
    )
    def test_a_type_that_is_stored_otherwise(self, kind: pa.DataType) -> None:
        self.refused(pymosaic.CorruptFileError, "annex", self.file(pa.field("0", kind), [0]))

    def test_a_column_that_is_not_there(self) -> None:
        data = self.file(pa.field("0", pa.uint16()), [7])
        self.refused(pymosaic.CorruptFileError, "columns that do not exist", data)

    def test_more_columns_than_fields(self) -> None:
        data = self.file(pa.field("0", pa.uint16()), [0], count=2)
        self.refused(pymosaic.CorruptFileError, "1 fields where there should be 2", data)

    def test_bytes_that_are_no_schema(self) -> None:
        self.refused(pymosaic.CorruptFileError, "fields", self.file(b"\xff" * 100, [0]))

    @pytest.mark.parametrize("parameters", [b"", b"[]", b"{}", b"7", b'{"freq": 3}', b"\xff"])
    def test_parameters_of_an_extension_type(self, parameters: bytes) -> None:
        """The code of the type, here that of pandas, may raise anything."""
        pa.array(pd.period_range("2020", periods=1, freq="D"))  # registers the type
        extension = {
            "ARROW:extension:name": "pandas.period",
            "ARROW:extension:metadata": parameters,
        }
        data = self.file(pa.field("0", pa.int32(), metadata=extension), [0])
        self.refused(pymosaic.CorruptFileError, "annex", data)

    def test_nulls_of_a_huge_fixed_size(self) -> None:
        nulls = of_one(array(INTEGER), bytes([1, 1, 0, 0b1111, 0]))
        content = pa.schema([pa.field("0", pa.list_(pa.int32(), 1 << 30))]).serialize()
        frame = annex_metadata.compress(content.to_pybytes())
        directory = annex_metadata.emit_directory([0], [0], [(1, len(frame), content.size)])
        data = with_annex(
            nulls, (SectionType.FIELDS, frame), (SectionType.FIELD_DIRECTORY, directory)
        )
        limits = pymosaic.Limits(max_row_group_bytes=1 << 20)
        with pytest.raises(pymosaic.LimitExceededError, match="fixed_size_list"):
            pymosaic.read_table(data, limits=limits)

    def with_dictionary(self, column: pa.Array, **options: Any) -> bytes:
        field = pa.field("0", pa.dictionary(pa.int8(), pa.int32()))
        content = pa.schema([field]).serialize().to_pybytes()
        frame = annex_metadata.compress(content)
        batch = pa.record_batch({"0": column})
        sink = pa.BufferOutputStream()
        write_options = pa.ipc.IpcWriteOptions(**options)
        with pa.ipc.new_stream(sink, batch.schema, options=write_options) as writer:
            writer.write_batch(batch)
        entries = annex_metadata.compress(sink.getvalue().to_pybytes())
        return with_annex(
            self.PLAIN,
            (SectionType.FIELDS, frame),
            (
                SectionType.FIELD_DIRECTORY,
                annex_metadata.emit_directory([0], [0], [(1, len(frame), len(content))]),
            ),
            (SectionType.DICTIONARIES, entries),
            (
                SectionType.DICTIONARY_DIRECTORY,
                annex_metadata.emit_directory([0], [0], [(1, len(entries), sink.getvalue().size)]),
            ),
        )

    def test_a_true_dictionary(self) -> None:
        data = self.with_dictionary(pa.array([[2, 1, 9]], pa.list_(pa.int32())))
        found = pymosaic.read_table(data).column(0).chunk(0)
        assert found.dictionary.to_pylist() == [2, 1, 9]
        assert found.to_pylist() == [1, 2]

    @pytest.mark.parametrize(
        ("column", "match"),
        [
            (pa.array([{"a": 1, "b": 2}]), "entries are struct"),
            (pa.array([7]), "entries are int64"),
            (pa.array([["1", "2"]]), "the dictionary has entries of string"),
            (pa.array([[None, None]]), "the dictionary has entries of null"),
            (pa.array([[2, 9]], pa.list_(pa.int32())), "a value is not in the dictionary"),
            (
                pa.ListArray.from_arrays(pa.array([0, 1 << 30], pa.int32()), pa.nulls(1 << 30)),
                "1073741824 entries in",
            ),
        ],
    )
    def test_entries_that_are_no_dictionary(self, column: pa.Array, match: str) -> None:
        self.refused(pymosaic.CorruptFileError, match, self.with_dictionary(column))

    @pytest.mark.parametrize("codec", ["zstd", "lz4"])
    @pytest.mark.parametrize("nested", [False, True])
    def test_entries_that_arrow_would_expand(self, codec: str, nested: bool) -> None:
        values = pa.array(np.zeros(1 << 20, np.int32))
        if nested:  # in a message of their own
            values = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), values)
        column = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
        data = self.with_dictionary(column, compression=codec)
        assert len(data) < 1 << 15
        self.refused(pymosaic.CorruptFileError, "compressed buffers", data)

    @pytest.mark.parametrize("body", [b"", b"\x00\x00", b"\x00\x00\x00\x09abc"])
    def test_key_values_that_are_cut_off(self, body: bytes) -> None:
        data = with_annex(self.PLAIN, (SectionType.KEY_VALUES, body))
        self.refused(pymosaic.CorruptFileError, "annex", data)

    def test_key_values_that_claim_gigabytes(self) -> None:
        body = b"\xff\xff\xff\xff" + annex_metadata.compress(b"\x00")
        data = with_annex(self.PLAIN, (SectionType.KEY_VALUES, body))
        self.refused(pymosaic.LimitExceededError, "max_block_bytes", data)


def test_columns_that_are_alike_share_a_field() -> None:
    schema = pa.schema([(f"c{i:03}", pa.uint8()) for i in range(200)] + [("z", pa.float16())])
    data = written(schema.empty_table())
    bodies = sections_of(data)
    parsed = parse_items(grouped_items.FIELDS, bodies, 201, pymosaic.Limits())
    assert parsed is not None
    directory, groups = parsed
    assert directory.items.tolist() == [0] * 200 + [1]
    assert [group.count for group in groups] == [2]
    assert pymosaic.read_table(data).schema == schema
    assert pymosaic.read_table(data, columns=["z", "c007"]).schema.types == [
        pa.float16(),
        pa.uint8(),
    ]


def sections_of(data: bytes) -> dict[int, bytes]:
    with pymosaic.MosaicFile(data) as file:
        annex = opened(file).annex
    assert annex is not None
    return {section.kind: data[section.start : section.stop] for section in annex.sections}


def test_fields_that_differ_only_inside_are_kept_apart() -> None:
    elements = [
        pa.field(name, pa.int8(), metadata=about) for name in "ab" for about in (None, {"x": "y"})
    ]
    schema = pa.schema([(str(i), pa.list_(element)) for i, element in enumerate(elements)])
    assert pymosaic.read_schema(written(schema.empty_table())).equals(schema, check_metadata=True)


def test_dictionaries_that_are_equal_are_kept_once() -> None:
    kinds = [["a", "b"], ["b", "a"], ["a", "b"], [1, 2], [1, 2]]
    columns = [
        pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), entries) for entries in kinds
    ]
    table = pa.table(columns, [str(i) for i in range(5)])
    data = written(table)
    parsed = parse_items(DICTIONARIES, sections_of(data), 5, pymosaic.Limits())
    assert parsed is not None
    directory, groups = parsed
    # By type, and those of one type together.
    assert directory.items.tolist() == [1, 2, 1, 0, 0]
    assert [group.count for group in groups] == [1, 2]
    found = pymosaic.read_table(data)
    assert found.equals(table)
    assert [found[i].chunk(0).dictionary.to_pylist() for i in range(5)] == kinds
    # What was read, slices of a group, is written like the first time.
    assert (
        sections_of(written(found))[SectionType.DICTIONARIES]
        == sections_of(data)[SectionType.DICTIONARIES]
    )


def test_few_columns_read_few_dictionaries() -> None:
    rows = [pa.array([f"{i} {n}" for n in range(50)]).dictionary_encode() for i in range(1000)]
    data = written(pa.table(rows, [f"c{i:04}" for i in range(1000)]))
    source = RecordingSource(data, tail_bytes=32)
    with pymosaic.MosaicFile(source) as file:
        source.forget()
        found = file.read(columns=["c0500"])
    assert found["c0500"].equals(pa.chunked_array([rows[500]]))
    assert sum(size for _, size in source.reads) < pymosaic.read_metadata(data).annex_size // 4
