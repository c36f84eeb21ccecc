"""Every hand-made file gives the right data or the right error; each has its outcome here.

What the reader tolerates and what it refuses is stated in docs/format.md, "Reader policy".
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

import pymosaic
from tests.conformance.fixtures import DATA
from tests.equality import assert_identical

DIRECTORY = DATA / "malformed"

LocatedError: TypeAlias = (
    pymosaic.CorruptFileError | pymosaic.UnsupportedFeatureError | pymosaic.LimitExceededError
)


@dataclass(frozen=True)
class Refused:
    """The error that a file must raise, and a word of its message."""

    kind: type[LocatedError]
    reason: str


def holds(**columns: tuple[pa.DataType, list[Any]]) -> pa.Table:
    """The table that a file must read as."""
    return pa.table({name: pa.array(values, of) for name, (of, values) in columns.items()})


def corrupt(reason: str) -> Refused:
    return Refused(pymosaic.CorruptFileError, reason)


def unsupported(reason: str) -> Refused:
    return Refused(pymosaic.UnsupportedFeatureError, reason)


def over_limit(reason: str) -> Refused:
    return Refused(pymosaic.LimitExceededError, reason)


ONE_TWO = holds(a=(pa.int32(), [1, 2]))
NULLS = holds(a=(pa.int32(), [None, None]))
INT_LIST = pa.list_(pa.int32())

OUTCOMES: dict[str, pa.Table | Refused] = {
    "m000_ok_sanity": ONE_TWO,
    # Footer
    "m001_empty_file": corrupt("too short"),
    "m003_bad_magic": corrupt("magic"),
    "m004_version_0": unsupported("version"),
    "m006_compression_2": unsupported("compression"),
    "m007_reserved_nonzero": holds(
        a=(pa.int32(), [1, 2, 3, 4]),
        b=(pa.string(), ["x", None, "y", "x"]),
        f=(pa.float64(), [1.0, 2.0, 3.0, 4.0]),
    ),
    "m009_sch_idx": corrupt("offset"),
    "m010_sch_overflow": corrupt("offset"),
    # Row group index
    "m012_schema_nb_0": corrupt("bucket"),
    "m013_nrg_too_many": corrupt("ends"),
    "m015_non_empty_nb": corrupt("bucket"),
    "m016_dup_bucket": corrupt("twice"),
    "m018_bucket_past_schema": corrupt("schema block"),
    "m019_bucket_off_overflow": corrupt("schema block"),
    "m021_bucket_0_0": NULLS,
    "m022_bucket_missing_rows_0": NULLS,
    "m024_paged_without_zstd": corrupt("paged"),
    "m025_stats_col_oob": corrupt("column"),
    "m027_stats_truncated": corrupt("ends"),
    "m028_trailing_idx": corrupt("after the last"),
    "m030_idx_varint_6_bytes": corrupt("varint"),
    "m031_varint_5th_byte_high_bits": corrupt("varint"),
    # Schema block: names
    "m033_bpe_truncated_rules": corrupt("fewer bytes|ends"),
    "m034_bpe_token_oob": corrupt("BPE token"),
    "m036_bpe_exp_bomb_2_40": over_limit("max_name"),
    "m037_shared_too_long": corrupt("shares more"),
    "m039_name_not_utf8": corrupt("UTF-8"),
    "m040_name_empty": corrupt("empty"),
    "m042_names_unsorted": holds(b=(pa.int32(), [1, 2]), a=(pa.int32(), [1, 2])),
    # Schema block: types, order, size
    "m043_type_20": unsupported("type id"),
    "m045_no_order_perm_old": ONE_TWO,
    "m046_order_partial": corrupt("ends"),
    "m048_order_negative": corrupt("permutation"),
    "m049_schema_trailing_bytes": ONE_TWO,
    "m051_zstd_ok": ONE_TWO,
    "m052_zstd_schema_usz_too_small": corrupt("size"),
    # Monolithic buckets
    "m054_zstd_bucket_usz_too_small": corrupt("size"),
    "m055_zstd_bucket_usz_too_big": corrupt("size"),
    "m057_mono_truncated": corrupt("ends"),
    "m058_mono_trailing": ONE_TWO,
    "m060_none_bulk_size_lies": corrupt("size"),
    "m061_dict_idx_oob": corrupt("dict"),
    "m063_dict_0_entries": corrupt("dict"),
    "m064_dict_entries_trunc": corrupt("ends"),
    "m066_str_not_utf8": corrupt("UTF-8"),
    "m067_str_len_oob": corrupt("ends"),
    "m069_allnull_not_null_col": corrupt("null"),
    "m070_nulls_in_not_null_col": corrupt("null"),
    "m072_null_bitmap_pad_bits_set": ONE_TWO,
    # Values
    "m073_dec_large_17_bytes": corrupt("decimal"),
    "m075_dec_large_nonminimal": holds(a=(pa.decimal128(38, 0), [Decimal(5), Decimal(5)])),
    "m076_dec_precision_39": corrupt("precision"),
    "m078_dec_value_exceeds_precision": corrupt("precision"),
    "m079_ts9_nanos_1e6": corrupt("nano"),
    "m081_ts9_overflow": corrupt("timestamp"),
    "m082_ts_precision_0": holds(a=(pa.timestamp("ms"), [1, 1])),
    "m084_ts_precision_2": holds(a=(pa.timestamp("ms"), [1, 1])),
    "m085_ts_precision_4": holds(a=(pa.timestamp("us"), [1, 1])),
    "m087_ts_precision_7": holds(a=(pa.timestamp("ns"), [1_000_005, 1_000_005])),
    "m088_ts_precision_8": holds(a=(pa.timestamp("ns"), [1_000_005, 1_000_005])),
    "m090_ts_precision_10": holds(a=(pa.timestamp("ns"), [1_000_005, 1_000_005])),
    "m091_ts_precision_200": holds(a=(pa.timestamp("ns"), [1_000_005, 1_000_005])),
    "m093_time_precision_9": holds(a=(pa.time32("ms"), [1, 1])),
    "m094_char_5": holds(a=(pa.string(), ["a", "a"])),
    "m096_binary_5": holds(a=(pa.binary(), [b"a", b"a"])),
    "m097_varbinary_5": holds(a=(pa.binary(), [b"a", b"a"])),
    "m099_bool_byte_5": holds(a=(pa.bool_(), [True, True])),
    "m100_ltz_tz_eof": corrupt("ends"),
    "m102_ltz_tz_bogus": holds(a=(pa.timestamp("ms", "Foo"), [0, 0])),
    # Lists
    "m103_list_ok": holds(a=(INT_LIST, [[7], [8]])),
    "m105_list_numchildren_2": corrupt("child"),
    "m106_list_numchildren_0": corrupt("child"),
    "m108_list_lengths_sum_count": corrupt("length"),
    "m109_list_negative_length": corrupt("negative length"),
    # Paged buckets
    "m111_paged_ok": ONE_TWO,
    "m112_paged_all_null": holds(a=(pa.int32(), [None, None]), b=(pa.int32(), [1, 2])),
    "m114_paged_total_too_small": corrupt("directory"),
    "m115_paged_enc_3_slot": NULLS,
    "m117_paged_page_1_byte": corrupt("ends"),
    "m118_paged_flags_0xfe": ONE_TWO,
    "m120_paged_plain_trailing": holds(a=(pa.int32(), [0, 0])),
    "m121_paged_const_trunc": corrupt("ends"),
    "m123_paged_usize_big": corrupt("size"),
    "m124_paged_dict_trunc": corrupt("ends"),
    "m126_paged_list_ok": holds(a=(INT_LIST, [[1], [2]])),
    # Sizes beyond reason
    "m127_rg_with_0_rows": holds(a=(pa.int32(), [])),
    "m129_ncols_u32max": over_limit("max_columns"),
    # More buckets than columns: where the column is still follows from the formula.
    "m130_nbuckets_u32max": ONE_TWO,
    "m132_rows_u32max_const": over_limit("max_row_group_bytes"),
    "m133_rows_u32max_allnull": over_limit("max_row_group_bytes"),
}
READABLE = {name: table for name, table in OUTCOMES.items() if isinstance(table, pa.Table)}
REFUSED = {name: error for name, error in OUTCOMES.items() if isinstance(error, Refused)}


def path_of(name: str) -> Path:
    return DIRECTORY / f"{name}.mosaic"


def test_every_file_has_an_outcome_and_every_outcome_a_file() -> None:
    assert {path.stem for path in DIRECTORY.glob("*.mosaic")} == set(OUTCOMES)


@pytest.mark.parametrize("name", READABLE)
def test_tolerated_files_hold_the_right_data(name: str) -> None:
    assert_identical(pymosaic.read_table(path_of(name)), READABLE[name])


@pytest.mark.parametrize("name", READABLE)
def test_tolerated_files_read_column_by_column_hold_the_right_data(name: str) -> None:
    for column in READABLE[name].column_names:
        alone = pymosaic.read_table(path_of(name), columns=[column])
        assert_identical(alone, READABLE[name].select([column]))


@pytest.mark.parametrize("name", REFUSED)
def test_refused_files_say_why_and_where(name: str) -> None:
    expected = REFUSED[name]
    with pytest.raises(expected.kind) as caught:
        pymosaic.read_table(path_of(name))
    assert type(caught.value) is expected.kind
    assert re.search(expected.reason, caught.value.reason, re.IGNORECASE)
    assert str(caught.value.path).endswith(f"{name}.mosaic")
    assert caught.value.structure


@pytest.mark.parametrize("name", REFUSED)
def test_refused_bytes_raise_the_same_error(name: str) -> None:
    expected = REFUSED[name]
    with pytest.raises(expected.kind) as caught:
        pymosaic.read_table(path_of(name).read_bytes())
    assert re.search(expected.reason, caught.value.reason, re.IGNORECASE)
    assert caught.value.path is None


READ_ALL = """
import json, os, resource, sys
from pathlib import Path
if "asan" not in os.environ.get("LD_PRELOAD", ""):
    # The address sanitizer maps terabytes of shadow memory for itself.
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import pymosaic
from tests.figures import peak_memory
for path in sorted(Path(sys.argv[1]).glob("*.mosaic")):
    try:
        table = pymosaic.read_table(path)
        table.validate(full=True)
        outcome = "data"
    except pymosaic.MosaicError as error:
        outcome = type(error).__name__
    sys.stdout.write(json.dumps([path.stem, outcome]) + "\\n")
sys.stdout.write(json.dumps(["peak", peak_memory()]) + "\\n")
"""


def test_no_file_crashes_hangs_or_takes_memory_beyond_the_limits() -> None:
    run = subprocess.run(
        [sys.executable, "-c", READ_ALL, str(DIRECTORY)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = dict(json.loads(line) for line in run.stdout.splitlines())
    peak = found.pop("peak")
    assert found == {
        name: outcome.kind.__name__ if isinstance(outcome, Refused) else "data"
        for name, outcome in OUTCOMES.items()
    }
    # Arrow and numpy alone take some 150 MiB; nothing here justifies much more.
    assert peak < 1 << 30
