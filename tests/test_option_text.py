"""Options as text: one description serves Python, the command line and Spark."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pyarrow as pa
import pytest

from pymosaic import InvalidOptionError
from pymosaic.cli import writer_options
from pymosaic.datasets.options import CompactionOptions, DatasetOptions
from pymosaic.file.options import WriterOptions
from pymosaic.file.writer import check_writable
from pymosaic.option_text import (
    BOOLEAN,
    INTEGER,
    NAMES,
    NAMES_OR_BOOLEAN,
    NUMBER_OR_AUTO,
    SIZE,
    TextForm,
    options_of,
)
from pymosaic.spark.options import SourceOptions


@pytest.mark.parametrize("options", [WriterOptions, DatasetOptions, CompactionOptions])
def test_every_option_is_described_and_its_default_can_be_read(options: type[Any]) -> None:
    described = options_of(options)
    assert list(described) == [item.name for item in fields(options)]
    for item in fields(options):
        option = described[item.name]
        assert option.description
        assert not option.description.endswith(".")
        if option.default is not None and item.default is not None:
            assert option.form.parse(option.default) == item.default


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (SIZE, "1GiB", 1 << 30),
        (INTEGER, "-5", -5),
        (NUMBER_OR_AUTO, "AUTO", "auto"),
        (NUMBER_OR_AUTO, "7", 7),
        (BOOLEAN, "True", True),
        (NAMES, "a, b,", ("a", "b")),
        (NAMES, '["a,b", "c"]', ("a,b", "c")),
        (NAMES_OR_BOOLEAN, "false", False),
        (NAMES_OR_BOOLEAN, "a", ("a",)),
    ],
)
def test_a_value_is_read(form: TextForm, text: str, value: object) -> None:
    assert form.read("x", text) == value


@pytest.mark.parametrize(
    ("form", "text"),
    [(SIZE, "lots"), (INTEGER, "1.5"), (NUMBER_OR_AUTO, "many"), (BOOLEAN, "1"), (NAMES, '["a')],
)
def test_what_has_another_form_is_refused_with_the_name_of_the_option(
    form: TextForm, text: str
) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        form.read("someOption", text)
    assert str(caught.value) == f"someOption must be {form.expected}, got {text!r}"


def test_spark_has_every_option_of_writers() -> None:
    for option in (options_of(WriterOptions) | options_of(DatasetOptions)).values():
        text = option.default or {"row_group_rows": "1000"}.get(option.name, "true")
        parsed = SourceOptions.parse({option.camel_case: text})
        assert parsed.writer == {option.name: option.form.parse(text)}


def test_the_command_line_tells_of_options_what_the_library_does() -> None:
    told = writer_options.NumBuckets.__metadata__[0]
    assert told.metavar == "N|auto"
    assert told.help.endswith("at least 10; default 100.")
    assert told.parser("auto") == "auto"
    assert writer_options.RowGroupBytes.__metadata__[0].help == (
        "Mosaic: row group size before compression; default 256MiB."
    )


def test_options_are_checked_without_a_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a sink was opened")

    monkeypatch.setattr("pymosaic.file.writer.open_sink", refuse)
    schema = pa.schema({"id": pa.int64(), "picture": pa.binary()})
    check_writable(schema, statistics=["id"], num_buckets="auto")
    for options in ({"statistics": ["picture"]}, {"num_buckets": 0}, {"colour": 5}):
        with pytest.raises(InvalidOptionError):
            check_writable(schema, **options)
