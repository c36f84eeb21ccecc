"""On a terminal: tables, colours, the pager, progress, Ctrl-C."""

from __future__ import annotations

import os
import re
import sys

import pexpect
import pytest

from tests.cli.running import TIMEOUT, environment
from tests.cli.test_process import long_file  # noqa: F401

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def terminal(*arguments, size: tuple[int, int] = (24, 80), **more: str) -> pexpect.spawn:
    return pexpect.spawn(
        sys.executable,
        ["-m", "pymosaic", *map(str, arguments)],
        dimensions=size,
        env=environment(**{"TERM": "xterm-256color", "PAGER": "cat"} | more),
        timeout=TIMEOUT,
        encoding="utf-8",
    )


def shown(process: pexpect.spawn) -> str:
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 0
    return process.before.replace("\r\n", "\n")


def test_a_terminal_gets_a_coloured_table(small):
    text = shown(terminal("schema", small))
    assert COLOUR.search(text)
    lines = COLOUR.sub("", text).splitlines()
    header = next(line for line in lines if line.startswith("column "))
    assert header.split() == ["column", "type", "in", "the", "file", "nullable", "bucket"]
    assert max(map(len, lines)) <= 80


def test_no_color_means_no_colours(small):
    assert "\x1b" not in shown(terminal("schema", small, NO_COLOR="1"))
    assert "\x1b" not in shown(terminal("schema", small, TERM="dumb"))


def test_wide_rows_are_turned_and_fit_the_width(files):
    text = COLOUR.sub("", shown(terminal("head", files / "small.mosaic", size=(50, 60))))
    lines = text.splitlines()
    assert lines[0].split()[:3] == ["column", "row", "0"]
    assert max(map(len, lines)) <= 60
    wide = COLOUR.sub("", shown(terminal("head", files / "small.mosaic", size=(50, 250))))
    assert wide.splitlines()[0].split()[:2] == ["id", "city"]


def test_rows_far_below_are_announced(files):
    wide = ("head", files / "wide.mosaic")
    lines = COLOUR.sub("", shown(terminal(*wide, size=(24, 25)))).splitlines()
    assert lines[0].startswith("10,000 columns")
    assert max(map(len, lines)) <= 25
    lines = COLOUR.sub("", shown(terminal(*wide, "-n", "1", size=(24, 25)))).splitlines()
    assert lines[2].split() == ["column", "row", "0"]


def test_what_is_longer_than_the_screen_goes_through_the_pager(files, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nwc -l\n")
    pager.chmod(0o755)
    size = (24, 300)  # the path of the file fits into one line
    text = shown(terminal("schema", files / "wide.mosaic", PAGER=str(pager), size=size))
    assert text.split() == ["10003"]
    short = shown(terminal("count", files / "wide.mosaic", PAGER=str(pager)))
    assert short == "2\n"
    text = shown(terminal("schema", files / "wide.mosaic", "--no-pager", size=size))
    assert len(text.splitlines()) == 10003


def test_a_pager_that_is_left_early_is_no_error(files, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\nhead -n 1\n")
    pager.chmod(0o755)
    for command in ("schema", "head", "tail", "sample"):
        text = shown(terminal(command, files / "wide.mosaic", PAGER=str(pager)))
        assert len(text.splitlines()) == 1


def test_csv_on_a_terminal_cannot_steer_it(files):
    text = shown(terminal("cat", files / "hostile.mosaic", "--format", "csv"))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_long_work_shows_a_bar_with_rate_and_time_left(long_file, tmp_path):  # noqa: F811
    process = terminal("convert", long_file, tmp_path / "out.jsonl")
    process.expect(r"%")
    process.expect(r"rows/s")
    process.expect(r"left")
    process.expect(r"wrote [^\n]*out\.jsonl")
    process.expect(pexpect.EOF)


def test_nothing_is_shown_of_progress_in_a_pipe(run, small, tmp_path):
    result = run("convert", small, tmp_path / "out.jsonl")
    assert result.stderr == ""
    assert result.stdout.startswith("wrote ")
    assert result.stdout.count("\n") == 1


def test_ctrl_c_ends_quietly_and_leaves_nothing(long_file, tmp_path):  # noqa: F811
    process = terminal("convert", long_file, tmp_path / "out.jsonl")
    process.expect(r"%")
    process.sendintr()
    process.expect(pexpect.EOF)
    process.close()
    assert "Traceback" not in process.before
    if process.exitstatus == 0:  # it was done already
        assert os.listdir(tmp_path) == ["out.jsonl"]
    else:
        assert process.exitstatus == 130
        assert os.listdir(tmp_path) == ["out.jsonl"] * (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("size", [(24, 80), (50, 200)])
@pytest.mark.parametrize(
    "command", ["schema", "meta", "footer", "buckets", "pages", "column-size", "stats"]
)
def test_no_line_is_wider_than_the_terminal(run, files, command, size):
    result = run(command, files / "wide.mosaic", "--format", "table", COLUMNS=str(size[1]))
    assert max(map(len, result.stdout.splitlines())) <= size[1]
