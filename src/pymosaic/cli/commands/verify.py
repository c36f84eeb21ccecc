"""``pymosaic verify``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.options import Files, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output
from pymosaic.cli.parameters import Named

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
    Field("message", Cell.MESSAGE),
)


@inspecting
def command(
    output: Output,
    files: Files,
    quick: Annotated[
        bool, Named("--quick", help="Check only the metadata; the data is not read.")
    ] = False,
) -> int:
    """Check every structure, checksum and value.

    Exit code 0: no findings; 1: errors or warnings. The files are never changed.
    """
    from pymosaic.cli.inputs import mosaic_files, paimon_table
    from pymosaic.cli.progress import progress_bar
    from pymosaic.datasets.verification import missing_file
    from pymosaic.file.verify.file import verify

    damaged = 0
    missing: list[str] = []
    sources = mosaic_files(files, missing)
    for path in missing:
        facts = {"file": path, "ok": False, "data_read": False}
        rows = _rows([missing_file(path)])
        output.document(
            Document(f"{path}: missing", facts, "findings", _FIELDS, rows, verdict=False)
        )
    for source in sources:
        with progress_bar(source.path) as progress:
            findings = verify(
                source.path, deep=not quick, progress=progress, filesystem=source.filesystem
            )
        ok = all(finding.severity == "info" for finding in findings)
        damaged += not ok
        facts = {"file": source.path, "ok": ok, "data_read": not quick}
        title = f"{source.path}: {_verdict(ok, quick)}"
        document = Document(
            title,
            facts,
            "findings",
            _FIELDS,
            _rows(findings),
            empty="no findings",
            verdict=None if ok and quick else ok,
        )
        output.document(document)
    table = paimon_table(files)
    if table is not None and not (quick or missing or damaged):
        from pymosaic.cli.paimon_documents import read_findings

        findings = read_findings(table)
        damaged += bool(findings)
        facts = {"file": table, "ok": not findings, "data_read": True}
        title = f"{table}: {_verdict(not findings, quick)}, read as a Paimon table"
        rows = _rows(findings)
        output.document(
            Document(title, facts, "findings", _FIELDS, rows, empty="", verdict=not findings)
        )
    if len(sources) + len(missing) > 1:
        output.total(*_total(len(sources), damaged, len(missing), quick))
    return 1 if damaged or missing else 0


def _verdict(ok: bool, quick: bool) -> str:
    if not ok:
        return "damaged"
    return "metadata sound, data not read" if quick else "sound"


def _total(num_files: int, damaged: int, missing: int, quick: bool) -> tuple[str, bool | None]:
    from pymosaic.cli.text import count

    parts = [f"{num_files - damaged:,} {_verdict(True, quick)}"]
    parts += [f"{damaged:,} damaged"] if damaged else []
    parts += [f"{missing:,} missing"] if missing else []
    text = f"{count(num_files + missing, 'file')}: {', '.join(parts)}"
    return text, False if damaged or missing else None if quick else True


def _rows(findings: list[Finding]) -> Iterator[dict[str, Any]]:
    keys = [field.key for field in _FIELDS]
    for finding in findings:
        found = asdict(finding)
        yield {key: found[key] for key in keys}
