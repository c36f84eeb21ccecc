"""Only wanted columns are decoded: what is wrong elsewhere is not noticed."""

from __future__ import annotations

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.testing.pieces import INTEGER, STRING, forge, frame, row_group, schema, text, varint
from pymosaic.testing.pieces import entry as index_entry
from pymosaic.testing.pieces import monolithic as monolithic_file
from tests.io_pattern.recording import bucket_ranges, file_of, slot_ranges

NOT_UTF8 = b"\xff"


def flipped(data: bytes, offset: int) -> bytes:
    return data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :]


class TestPaged:
    TABLE = pa.table({"a": [1, 2, 3], "b": [4, 5, 6], "c": [7, 8, 9]})
    DATA = file_of(TABLE, num_buckets=1, page_size_threshold=0)
    SLOTS = slot_ranges(DATA, bucket_ranges(DATA)[0], 3)

    @pytest.mark.parametrize("column", [0, 1, 2])
    def test_damage_in_one_slot_matters_to_its_column_only(self, column: int) -> None:
        offset, length = self.SLOTS[1 + column]
        file = pymosaic.MosaicFile(flipped(self.DATA, offset + length - 1))
        damaged = "abc"[column]
        others = [name for name in "abc" if name != damaged]
        assert file.read(columns=others).equals(self.TABLE.select(others))
        for columns in ([damaged], None):
            with pytest.raises(pymosaic.CorruptFileError) as caught:
                file.read(columns=columns)
            assert caught.value.structure == f"row group 0, bucket 0, slot {column}"


class TestBuckets:
    TABLE = pa.table({"a": [1, 2], "b": ["x", "y"]})
    DATA = file_of(TABLE, num_buckets=2)

    @pytest.mark.parametrize(("damaged", "intact"), [("a", "b"), ("b", "a")])
    def test_damage_in_one_bucket_matters_to_its_columns_only(
        self, damaged: str, intact: str
    ) -> None:
        bucket = self.TABLE.column_names.index(damaged)
        offset, length = bucket_ranges(self.DATA)[bucket]
        file = pymosaic.MosaicFile(flipped(self.DATA, offset + length - 1))
        assert file.read(columns=[intact]).equals(self.TABLE.select([intact]))
        with pytest.raises(pymosaic.CorruptFileError) as caught:
            file.read(columns=[damaged])
        assert caught.value.structure == f"row group 0, bucket {bucket}"

    def test_damage_in_one_row_group_matters_to_it_only(self) -> None:
        raw = frame(bytes([0, 0]) + bytes(8))
        entries = [index_entry(0, i * len(raw), len(raw), 10) for i in range(2)]
        index = b"".join(row_group(2, entry) for entry in entries)
        data = forge(raw * 2, schema(("a", INTEGER)), index, compression=1, num_row_groups=2)
        file = pymosaic.MosaicFile(flipped(data, 0))
        assert file.read_row_group(1)["a"].to_pylist() == [0, 0]
        batches = file.iter_batches()
        with pytest.raises(pymosaic.CorruptFileError, match="row group 0, bucket 0"):
            next(batches)


class TestInsideABucket:
    """Values are checked when their column is decoded, and it alone."""

    CONTENT = schema(("a", INTEGER), ("b", STRING), ("c", INTEGER))
    # Flags of three PLAIN columns without nulls; two rows each.
    RAW = bytes([0, 0]) + bytes(8) + text(NOT_UTF8) * 2 + (1).to_bytes(4, "big") * 2

    def test_values_of_other_columns_are_not_looked_at(self) -> None:
        file = pymosaic.MosaicFile(monolithic_file(self.RAW, self.CONTENT))
        assert file.read(columns=["c", "a"]).to_pydict() == {"c": [1, 1], "a": [0, 0]}
        with pytest.raises(pymosaic.CorruptFileError, match="UTF-8"):
            file.read(columns=["b"])

    def test_what_lies_behind_the_last_wanted_column_is_not_walked(self) -> None:
        file = pymosaic.MosaicFile(monolithic_file(self.RAW[:-1], self.CONTENT))
        assert file.read(columns=["a"]).to_pydict() == {"a": [0, 0]}
        with pytest.raises(pymosaic.CorruptFileError):
            file.read(columns=["c"])

    def test_a_page_of_another_column_need_not_be_a_frame(self) -> None:
        page = bytes([0, 0]) + bytes(8)
        slots = [varint(len(page)) + frame(page), b"no frame at all"]
        directory = b"".join(len(slot).to_bytes(4, "little") for slot in slots)
        bucket = directory + b"".join(slots)
        data = forge(
            bucket,
            schema(("a", INTEGER), ("b", INTEGER)),
            row_group(2, index_entry(0, 0, len(bucket), 0)),
            compression=1,
        )
        file = pymosaic.MosaicFile(data)
        assert file.read(columns=["a"]).to_pydict() == {"a": [0, 0]}
        with pytest.raises(pymosaic.CorruptFileError, match="slot 1"):
            file.read(columns=["b"])
