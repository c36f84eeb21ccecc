from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pytest

from pymosaic import suggestions
from pymosaic.errors import ColumnNotFoundError, InvalidOptionError
from pymosaic.file.projection import ColumnCatalog, Positions, resolve_columns


class Catalog:
    """A plain-Python catalog that records which names were asked for."""

    def __init__(self, user_order: list[str], is_sorted: bool = True) -> None:
        self._names = sorted(user_order, key=str.encode) if is_sorted else list(user_order)
        self._positions = {name: index for index, name in enumerate(self._names)}
        self._order = np.array([self._positions[name] for name in user_order], np.intp)
        self._is_sorted = is_sorted
        self.scanned: list[tuple[int, int]] = []
        self.find_many_calls = 0

    @property
    def num_columns(self) -> int:
        return len(self._names)

    def find(self, name: str) -> int:
        return self._positions.get(name, -1)

    def find_many(self, names: list[str]) -> Positions:
        self.find_many_calls += 1
        return np.array([self._positions.get(name, -1) for name in names], np.intp)

    def name(self, position: int) -> str:
        return self._names[position]

    def names(self, start: int, stop: int) -> list[str]:
        self.scanned.append((start, stop))
        return self._names[start:stop]

    def prefix_range(self, prefix: str) -> tuple[int, int] | None:
        if not self._is_sorted:
            return None
        encoded = prefix.encode()
        start = bisect_left(self._names, encoded, key=str.encode)
        stop = bisect_left(self._names, encoded + b"\xff", key=str.encode)
        return start, stop

    def original_order(self) -> Positions:
        return self._order


def selected(columns: object, catalog: Catalog) -> list[str]:
    positions = resolve_columns(columns, catalog)  # type: ignore[arg-type]
    assert positions.dtype == np.intp
    return [catalog.name(position) for position in positions]


def failure(columns: list[str], catalog: Catalog) -> str:
    with pytest.raises(ColumnNotFoundError) as caught:
        resolve_columns(columns, catalog)
    return str(caught.value)


@pytest.fixture
def catalog() -> Catalog:
    return Catalog(["temp_b", "age", "temp_a", "temp_c", "a*c", "abc", "[x]", "Temp"])


@pytest.fixture(scope="module")
def wide() -> Catalog:
    return Catalog([f"sensor_{kind}_{i:05d}" for i in range(25_000) for kind in "wxyz"])


def test_fake_catalog_offers_the_whole_interface(catalog: Catalog) -> None:
    typed: ColumnCatalog = catalog
    assert typed.find("age") == typed.find_many(["age"])[0]
    assert typed.find("nobody") == -1


def test_none_selects_all_in_original_order(catalog: Catalog) -> None:
    expected = ["temp_b", "age", "temp_a", "temp_c", "a*c", "abc", "[x]", "Temp"]
    assert selected(None, catalog) == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([], []),
        (["temp_c", "age"], ["temp_c", "age"]),
        (("temp_c", "age"), ["temp_c", "age"]),
        (iter(["temp_c", "age"]), ["temp_c", "age"]),
        (np.array(["temp_c", "age"]), ["temp_c", "age"]),
        (["temp_*"], ["temp_b", "temp_a", "temp_c"]),
        (["t*_*"], ["temp_b", "temp_a", "temp_c"]),
        (["*[*"], ["[x]"]),
        (["*_a", "age"], ["temp_a", "age"]),
        (["*"], ["temp_b", "age", "temp_a", "temp_c", "a*c", "abc", "[x]", "Temp"]),
        (["age", "*"], ["age", "temp_b", "temp_a", "temp_c", "a*c", "abc", "[x]", "Temp"]),
        (["temp_c", "temp_*", "age"], ["temp_c", "temp_b", "temp_a", "age"]),
        (["temp_*", "temp_c", "*a", "age"], ["temp_b", "temp_a", "temp_c", "age"]),
        (["age", "temp_a", "age"], ["age", "temp_a"]),
        (["t*", "T*"], ["temp_b", "temp_a", "temp_c", "Temp"]),
    ],
)
def test_names_and_patterns(columns: object, expected: list[str], catalog: Catalog) -> None:
    assert selected(columns, catalog) == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [("a*c", ["a*c"]), ("[x]", ["[x]"]), ("a*", ["age", "a*c", "abc"])],
)
def test_an_entry_that_names_a_column_is_no_pattern(
    entry: str, expected: list[str], catalog: Catalog
) -> None:
    assert selected([entry], catalog) == expected


@pytest.mark.parametrize("entry", ["x[1]", "x?", "[a-z]1", "x[!2]", "x[1]y?"])
def test_nothing_but_a_star_makes_a_pattern(entry: str) -> None:
    """A name that is not there never gives a column of another name."""
    catalog = Catalog(["x1", "a1", "x1y2"])
    assert "only * makes a pattern" in failure([entry], catalog)
    assert selected([entry], Catalog(["x1", entry])) == [entry]


@pytest.mark.parametrize("columns", [["b*"], ["*2"], ["b*2", "a"], ["*"], ["b1", "a"]])
def test_unsorted_names_are_scanned_whole(columns: list[str]) -> None:
    user_order = ["b2", "a", "c", "b1"]
    unsorted = Catalog(user_order, is_sorted=False)
    assert selected(columns, unsorted) == selected(columns, Catalog(user_order))


def test_multibyte_prefix() -> None:
    catalog = Catalog(["zürich_1", "zürich_2", "zug_1", "züge", "日本_1", "日本_2"])
    assert selected(["zü*_*", "日本*"], catalog) == ["zürich_1", "zürich_2", "日本_1", "日本_2"]


def test_a_pattern_matches_the_whole_name_across_line_ends() -> None:
    assert selected(["a*c"], Catalog(["a\nc", "abcd", "a\nc\n"])) == ["a\nc"]


def test_pattern_scans_only_the_run_of_its_prefix(wide: Catalog) -> None:
    wide.scanned.clear()
    positions = resolve_columns(["sensor_x_0001*0*"], wide)
    assert [wide.name(p) for p in positions] == ["sensor_x_00010"]
    assert wide.scanned == [(25_010, 25_020)]


def test_prefix_pattern_looks_at_no_name(wide: Catalog) -> None:
    wide.scanned.clear()
    assert len(resolve_columns(["sensor_y_*"], wide)) == 25_000
    assert wide.scanned == []


def test_patterns_without_prefix_share_one_scan(wide: Catalog) -> None:
    wide.scanned.clear()
    assert len(resolve_columns(["*_00001", "*_00002", "*ensor_w_00003"], wide)) == 9
    assert wide.scanned == [(0, 100_000)]


def test_exact_names_take_one_call(wide: Catalog) -> None:
    wide.find_many_calls = 0
    wide.scanned.clear()
    names = [f"sensor_z_{i:05d}" for i in range(10_000)]
    positions = resolve_columns(names, wide)
    assert positions.tolist() == list(range(75_000, 85_000))
    assert (wide.find_many_calls, wide.scanned) == (1, [])


@pytest.mark.parametrize("columns", ["age", "temp_*"])
def test_a_string_is_refused_with_the_right_form(columns: str, catalog: Catalog) -> None:
    with pytest.raises(InvalidOptionError, match=r"columns.*write columns=\['"):
        resolve_columns(columns, catalog)


@pytest.mark.parametrize("columns", [5, [1], ["age", None], [b"age"], b"age"])
def test_what_holds_no_strings_is_refused(columns: object, catalog: Catalog) -> None:
    with pytest.raises(InvalidOptionError, match="columns must"):
        resolve_columns(columns, catalog)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("entry", "closest"),
    [
        ("temp_d", "'temp_"),
        ("aeg", "'age'"),
        ("AGE", "'age'"),
        ("temp", "'Temp'"),
        ("tmp_*", "'temp_"),
        ("ab", "'abc'"),
    ],
)
def test_error_names_the_closest_columns(entry: str, closest: str, catalog: Catalog) -> None:
    message = failure([entry], catalog)
    assert message.startswith(f"columns: no column matches {entry!r} (did you mean {closest}")
    assert message.endswith("the file has 8 columns")


def test_error_with_nothing_close(catalog: Catalog) -> None:
    expected = "columns: no column matches 'qqqq'; the file has 8 columns"
    assert failure(["qqqq"], catalog) == expected


def test_error_for_a_file_without_columns() -> None:
    assert "the file has no columns" in failure(["a"], Catalog([]))
    assert "the file has no columns" in failure(["*"], Catalog([]))


def test_error_counts_many_missing_names(catalog: Catalog) -> None:
    message = failure(["age", *(f"temp_{i}" for i in range(1000))], catalog)
    assert message.startswith("columns: 1000 of 1001 entries match nothing: 'temp_0' (did you mean")
    assert "'temp_4'" in message
    assert "'temp_5'" not in message
    assert " and 995 more; " in message


def test_error_stays_short_for_long_names() -> None:
    assert len(failure(["y" * 1_000_000], Catalog(["x" + "y" * 1_000_000]))) < 400


@pytest.mark.parametrize(
    ("entry", "closest"),
    [
        ("sensor_x_0O123", "sensor_x_00123"),
        ("sensr_y_01234", "sensor_y_01234"),
        ("Sensor_Z_24999", "sensor_z_24999"),
        ("esnsor_w_00001", "sensor_w_00001"),
        ("sensor_x_123456", "sensor_x_12345"),
    ],
)
def test_closest_among_100_000_columns(entry: str, closest: str, wide: Catalog) -> None:
    assert repr(closest) in failure([entry], wide)


def test_short_typing_error_among_100_000_columns() -> None:
    names = [f"{a}{b}{c}{d}" for a in "temporal_" for b in "stack" for c in "inemq" for d in "xyzp"]
    catalog = Catalog(["temp", *dict.fromkeys(names), *(f"filler_{i}" for i in range(100_000))])
    assert "'temp'" in failure(["tmep"], catalog)


def test_many_missing_names_are_not_each_compared_with_100_000(
    wide: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    rank = suggestions._rank

    def counted(wanted: str, name: str) -> tuple[float, bool, str]:
        compared.append(name)
        return rank(wanted, name)

    monkeypatch.setattr(suggestions, "_rank", counted)
    wide.scanned.clear()
    failure([f"sensro_v_{i:05d}_{'long' * 20}" for i in range(10_000)], wide)
    assert 0 < len(compared) < 10_000
    assert len(wide.scanned) <= 1


def test_error_looks_near_the_prefix_in_a_huge_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pymosaic.file.projection.MAX_INDEXED_NAMES", 100)
    catalog = Catalog([f"{letter}_{i:04d}" for letter in "abcdef" for i in range(1000)])
    assert "'d_0500'" in failure(["d_05O0"], catalog)
    assert catalog.scanned == [(3450, 3550)]
    assert "'f_0999'" in failure(["f_09999"], catalog)
    assert "did you mean" in failure(["ä", "d_05O0"], catalog)
