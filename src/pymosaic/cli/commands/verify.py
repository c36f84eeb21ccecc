"""``pymosaic verify``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pymosaic.cli.options import Files, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output

if TYPE_CHECKING:
    from pymosaic.file.verify.file import Finding

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic verify data.mosaic",
    "pymosaic verify table/ --quick --json",
]

_FIELDS = (
    Field("severity"),
    Field("structure"),
    Field("offset", Cell.NUMBER, "byte"),
    Field("row_group", on_terminal=False),
    Field("bucket", on_terminal=False),
    Field("column", Cell.NAME),
    Field("message"),
)


@inspecting
def command(
    output: Output,
    files: Files,
    quick: Annotated[
        bool, typer.Option("--quick", help="Check only the metadata, not the data.")
    ] = False,
) -> int:
    """Check every structure, checksum and value.

    Exit code 0: no findings; 1: errors or warnings. The files are never changed.
    """
    from pymosaic.cli.inputs import mosaic_files
    from pymosaic.cli.progress import progress_bar
    from pymosaic.datasets.verification import missing_file
    from pymosaic.file.verify.file import verify

    sound = True
    missing: list[str] = []
    sources = mosaic_files(files, missing)
    for path in missing:
        sound = False
        facts = {"file": path, "ok": False}
        rows = _rows([missing_file(path)])
        output.document(Document(f"{path}: missing", facts, "findings", _FIELDS, rows))
    for source in sources:
        with progress_bar(source.path) as progress:
            findings = verify(
                source.path, deep=not quick, progress=progress, filesystem=source.filesystem
            )
        ok = all(finding.severity == "info" for finding in findings)
        sound = sound and ok
        facts = {"file": source.path, "ok": ok}
        title = f"{source.path}: {'sound' if ok else 'damaged'}"
        rows = _rows(findings)
        output.document(Document(title, facts, "findings", _FIELDS, rows, empty="no findings"))
    return 0 if sound else 1


def _rows(findings: list[Finding]) -> Iterator[dict[str, Any]]:
    keys = [field.key for field in _FIELDS]
    for finding in findings:
        found = asdict(finding)
        yield {key: found[key] for key in keys}
