"""Every table fits terminals of 40, 80 and 200 columns, whatever the names and files."""

from __future__ import annotations

import pyarrow as pa
import pytest
from rich.cells import cell_len

import pymosaic
from tests.cli.test_terminal import COLOUR, shown, terminal

WIDTHS = [40, 80, 200]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory, files):
    """Files and a dataset whose names and shapes are hard to show."""
    directory = tmp_path_factory.mktemp("kinds")
    long = {
        f"plant_amsterdam_line_{n:03}_sensor_last_reported_value": [n, n * 1000, None]
        for n in range(60)
    }
    pymosaic.write_table(pa.table(long), directory / "long.mosaic")
    wide = {f"温度_{n}": ["値" * 30, None] for n in range(30)}
    pymosaic.write_table(pa.table(wide), directory / "wide-characters.mosaic")
    pymosaic.write_table(pa.table({"a": pa.array([], pa.int64())}), directory / "empty.mosaic")
    paged = pa.table({"id": range(500), "text": [f"{n}" * 9 for n in range(500)]})
    pymosaic.write_table(paged, directory / "paged.mosaic", page_size_threshold=0)
    one_long = {"x" * 500: [1], "short": ["text"]}
    pymosaic.write_table(pa.table(one_long), directory / "one-long.mosaic")
    (directory / "parts").mkdir()
    for part in range(50):
        table = pa.table({"id": [part], f"only_in_{part % 7}": [part * 0.5]})
        pymosaic.write_table(table, directory / "parts" / f"part-{part:02}.mosaic")
    return {
        "long": directory / "long.mosaic",
        "one long name": directory / "one-long.mosaic",
        "wide characters": directory / "wide-characters.mosaic",
        "empty": directory / "empty.mosaic",
        "narrow and paged": directory / "paged.mosaic",
        "dataset": directory / "parts",
        "hostile": files / "hostile.mosaic",
    }


@pytest.mark.parametrize("command", ["info", "schema", "head", "pages", "column-size", "meta"])
def test_no_line_is_too_wide(run, kinds, command):
    for kind, path in kinds.items():
        for width in WIDTHS:
            result = run(command, path, "--format", "table", COLUMNS=str(width))
            assert result.code == 0, (kind, result.stderr)
            assert "\x1b" not in result.stdout
            widest = max(map(cell_len, result.stdout.splitlines()))
            assert widest <= width, (kind, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_row_of_long_names_is_different(run, kinds, width):
    for command in ("schema", "head"):
        lines = run(command, kinds["long"], "--format", "table", COLUMNS=str(width)).stdout
        assert sum("_sensor_" in line and "…" in line for line in lines.splitlines()) == 0
        for number in range(60):
            assert f"{number:03}" in lines, (command, number)


@pytest.mark.parametrize("width", WIDTHS)
def test_in_a_real_terminal(kinds, width):
    text = COLOUR.sub("", shown(terminal("schema", kinds["long"], size=(30, width))))
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    whole = "plant_amsterdam_line_000_sensor_last_reported_value"
    assert any(line.startswith(whole if width == 200 else "…000…") for line in lines)
    assert (width == 200) != ("all names start with" in " ".join(text.split()))


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_every_kind_in_a_real_terminal(kinds, files, width):
    for kind, path in {**kinds, "10,000 columns": files / "wide.mosaic"}.items():
        text = COLOUR.sub("", shown(terminal("head", "--no-pager", path, size=(30, width))))
        assert max(map(cell_len, text.splitlines())) <= width, kind
        assert "error" not in text.lower(), kind


def test_verdicts_are_red_and_green(small, tmp_path):
    sound = shown(terminal("verify", small))
    assert "\x1b[1;32m" in sound
    (tmp_path / "cut.mosaic").write_bytes(small.read_bytes()[:-1])
    process = terminal("verify", tmp_path / "cut.mosaic")
    process.expect(r"\x1b\[1;31m")
    process.expect("damaged")
    process.close()
