"""``pymosaic merge``."""

from __future__ import annotations

from typing import Annotated

from pymosaic.cli.options import reporting
from pymosaic.cli.output import Output
from pymosaic.cli.parameters import Named, Positional

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "SOURCE... TARGET"
EXAMPLES = [
    "pymosaic merge monday.mosaic tuesday.mosaic week.mosaic",
    "pymosaic merge 'days/*.mosaic' -o month.mosaic --verify",
]


@reporting
def command(
    output: Output,
    files: Annotated[list[str], Positional("SOURCE... TARGET")],
    target: Annotated[
        str | None,
        Named(
            "-o", "--output", metavar="TARGET", help="The target, if it is not the last argument."
        ),
    ] = None,
    overwrite: Annotated[
        bool, Named("--overwrite", help="Replace the target if it exists.")
    ] = False,
    verify: Annotated[
        bool, Named("--verify", help="Check every bucket before copying it.")
    ] = False,
) -> None:
    """Concatenate files by copying their row groups.

    The files must have the same columns and number of buckets. Nothing is decoded, so this is as
    fast as copying. Small row groups stay small; compact combines them.
    """
    from pymosaic.cli.formats.base import SinkFile
    from pymosaic.cli.inputs import mosaic_files
    from pymosaic.cli.progress import progress_bar
    from pymosaic.cli.targets import check_target, split_target, target_bytes
    from pymosaic.cli.text import count
    from pymosaic.datasets.merge import merge
    from pymosaic.io import open_sink
    from pymosaic.sizes import format_size

    sources, target = split_target(files, target)
    check_target(target, overwrite)
    inputs = mosaic_files(sources)
    # Sources and target need not be in the same file system.
    sink = open_sink(target)
    try:
        with progress_bar(target) as progress:
            report = merge(
                [source.path for source in inputs],
                SinkFile(sink),
                verify=verify,
                filesystem=inputs[0].filesystem,
                progress=progress,
            )
        sink.commit()
    except BaseException:
        sink.abort()
        raise
    num_bytes = target_bytes(target)
    facts = {
        "target": target,
        "num_files": len(inputs),
        "num_rows": report.num_rows,
        "num_row_groups": report.num_row_groups,
        "file_bytes": num_bytes,
    }
    output.answer(
        f"wrote {target}: {count(len(inputs), 'file')}, {count(report.num_rows, 'row')}, "
        f"{count(report.num_row_groups, 'row group')}, {format_size(num_bytes)}",
        facts,
    )
