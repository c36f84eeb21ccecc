"""The progress bar: drawn in notebooks and on terminals, and nowhere else."""

from __future__ import annotations

import io
import sys
import types

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic import progress_bar


class Notebook:
    """Stands for IPython in a kernel: remembers what each display shows."""

    def __init__(self) -> None:
        self.displays: list[list[str]] = []
        self.texts: list[str] = []
        self.kernel = object()

    def display(self, shown: object, display_id: bool) -> Notebook:
        assert display_id
        self.displays.append([])
        self.update(shown)
        return self

    def update(self, shown: object) -> None:
        self.displays[-1].append(shown._repr_html_())  # type: ignore[attr-defined]
        self.texts.append(repr(shown))


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    found = Notebook()
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: found  # type: ignore[attr-defined]
    module.display = types.SimpleNamespace(display=found.display)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr(progress_bar, "_SECONDS_BETWEEN", 0)
    return found


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


TABLE = pa.table({f"c{place}": np.arange(1_000.0) for place in range(20)})


def test_notebooks_show_one_bar_for_each_work(notebook: Notebook, tmp_path) -> None:
    bar = pymosaic.ProgressBar("all <of> it")
    pymosaic.write_dataset(TABLE, tmp_path / "set", progress=bar)
    dataset = pymosaic.dataset(tmp_path / "set")
    dataset.scan().describe(progress=bar)
    assert pymosaic.verify(tmp_path / "set", progress=bar) == []
    pymosaic.compact(tmp_path / "set", progress=bar)
    assert len(notebook.displays) == 4
    assert all("<progress" in text for texts in notebook.displays for text in texts)
    assert 'value="1000" max="1000"' in notebook.displays[0][-1]
    assert "all &lt;of&gt; it 1,000 of 1,000 rows in " in notebook.displays[0][-1]
    assert notebook.texts[0] == "all <of> it 0 of 1,000 rows"
    # How many rows there are is not known before they are read.
    assert "<progress " in notebook.displays[1][0]
    assert "value" not in notebook.displays[1][0]
    assert "bytes" not in notebook.displays[2][-1], "sizes are for people"


def test_work_that_failed_leaves_its_bar_and_the_next_has_its_own(notebook: Notebook) -> None:
    bar = pymosaic.ProgressBar()
    bar(0, 10, "rows")
    bar(0, 10, "rows")
    bar(4, 10, "rows")
    bar(0, 8, "files")
    bar(8, 8, "files")
    bar(8, 8, "files")
    bar(0, 0, "files")
    assert [len(texts) for texts in notebook.displays] == [3, 3, 1]
    assert "4 of 10 rows, " in notebook.displays[0][-1]
    assert "s left" in notebook.displays[0][-1]


def test_notebooks_are_not_flooded(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "_SECONDS_BETWEEN", 3_600)
    bar = pymosaic.ProgressBar()
    for done in range(10_001):
        bar(done, 10_000, "rows")
    assert notebook.texts[0] == "0 of 10,000 rows"
    assert len(notebook.texts) == 2
    assert notebook.texts[1].startswith("10,000 of 10,000 rows in ")


def test_terminals_show_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress_bar, "_SECONDS_BETWEEN", 0)
    bar = pymosaic.ProgressBar("\x1b[31mwriting")
    bar(0, 2 << 20, "bytes")
    bar(1 << 20, 2 << 20, "bytes")
    bar(2 << 20, 2 << 20, "bytes")
    bar(2 << 20, 2 << 20, "bytes")
    shown = terminal.getvalue()
    assert "\x1b" not in shown
    assert shown.count("\n") == 1
    assert "[###############...............] 1.0 MiB of 2.0 MiB, " in shown


def test_elsewhere_nothing_is_shown(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    pymosaic.write_dataset(TABLE, tmp_path / "set", progress=pymosaic.ProgressBar("writing"))
    assert capsys.readouterr() == ("", "")
