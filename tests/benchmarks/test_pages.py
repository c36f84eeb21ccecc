"""The benchmark of the page codec in small: it runs, and checks what both sides read."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.encoding_causes import cause_rows, measure_causes
from benchmarks.encoding_chooser import CHOOSER_COLUMNS, choice_rows, measure_choices
from benchmarks.encoding_trees import COLUMNS, REFERENCES, TREES, measure_trees, tree_rows
from benchmarks.pages import main, measure_fsst, measure_pages


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_every_kind_of_column_is_scanned_taken_from_and_written(
    version: str, tmp_path: Path
) -> None:
    results = measure_pages(2000, 1, tmp_path, version)
    assert [(result.column, result.action) for result in results] == [
        (column, action)
        for column in ("int", "float", "string", "names", "dictionary", "list", "list<struct>")
        for action in ("scan", "take 100", "write")
    ]


def test_fsst_makes_addresses_smaller() -> None:
    _, _, ratio = measure_fsst(2000, 1)
    assert ratio > 2


def test_the_study_has_a_row_a_column_and_a_size_for_every_tree_that_takes_it() -> None:
    results = measure_trees(3000)
    assert [result.column for result in results] == list(COLUMNS)
    by_name = {result.column: result for result in results}
    assert set(by_name["prices"].compressed) == {*REFERENCES, *TREES} - {"fsst"}
    assert set(by_name["URLs"].compressed) == {"plain", "dictionary", "fsst"}
    assert len(tree_rows(results)) == 1 + len(COLUMNS)


def test_both_forms_of_the_command_print_tables(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--rows", "1000", "--rounds", "1"])
    assert "FSST" in capsys.readouterr().out
    main(["--rows", "1000", "--study", "--levels", "1"])
    assert "sorted ids" in capsys.readouterr().out
    main(["--wide", "10", "--rounds", "1"])
    assert "all columns" in capsys.readouterr().out


def test_the_chooser_is_never_larger_than_what_it_tried() -> None:
    results = measure_choices(2000, 1)
    assert [result.column for result in results] == list(CHOOSER_COLUMNS)
    assert len(results) == 20
    assert all(result.chosen == min(result.tried.values()) for result in results)
    assert len(choice_rows(results)) == 22


def test_causes_are_measured_on_the_same_values() -> None:
    results = measure_causes(2000, 1)
    assert len(cause_rows(results)) == 1 + len(results)
    by_name = {(result.column, result.difference): result for result in results}
    flags = by_name["flags (int8)", "a bit for each index"]
    assert flags.changed < flags.without
    urls = [
        by_name["URLs", difference]
        for difference in ("offsets instead of lengths", "the same, chunk by chunk")
    ]
    assert urls[0].changed == urls[1].without
