"""``pymosaic info``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.options import inspecting
from pymosaic.cli.output import Document, Output
from pymosaic.cli.parameters import Positional

if TYPE_CHECKING:
    from pymosaic.cli.column_sizes import ColumnSize
    from pymosaic.file.reader import MosaicFile

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "FILE|DIRECTORY"
EXAMPLES = [
    "pymosaic info data.mosaic",
    "pymosaic info table/",
    "pymosaic info data.parquet",
]
_SHOWN = 5
# Sizes of columns need the headers of buckets. Of several files, only the largest is looked at, and
# of very many columns, about this many.
_MANY_COLUMNS = 5000
_SMALL_FILE = 1 << 20


@inspecting
def command(
    output: Output,
    file: Annotated[str, Positional("FILE|DIRECTORY")],
) -> None:
    """Show what a file or dataset is, on one screen.

    Shape, types, the largest groups of columns, encodings, statistics, health, and what to type
    next. Files of other formats are shown too.
    """
    from pymosaic.cli.formats import kind_of

    kind = kind_of(file)
    if kind is not None and kind.module != "mosaic":
        facts = _foreign(file, kind.module)
    else:
        facts = _mosaic(file)
    sizes = ("file_bytes", "metadata_bytes", "largest_file_bytes")
    output.document(Document(file, {"file": file, **facts}, sizes=sizes))


def _foreign(path: str, module: str) -> dict[str, Any]:
    from pymosaic.cli.rows import open_rows
    from pymosaic.cli.targets import target_bytes

    with open_rows([path]) as rows:
        names = rows.schema.names
        return {
            "format": module,
            "num_rows": rows.num_rows,
            "num_columns": len(names),
            "file_bytes": target_bytes(path),
            "types": _counted(str(kind) for kind in rows.schema.types),
            "groups": _groups_of(names),
            "next": f"pymosaic convert {_quoted(path)} {_quoted(_stem(path) + '.mosaic')}",
        }


def _mosaic(path: str) -> dict[str, Any]:
    from pymosaic.cli.column_sizes import By, add_column_sizes, grouped
    from pymosaic.cli.inputs import mosaic_files
    from pymosaic.file.verify.file import verify

    missing: list[str] = []
    sources = mosaic_files([path], missing)
    num_rows = num_bytes = metadata_bytes = row_groups = damaged = 0
    largest: tuple[int, int] = (-1, 0)
    kinds: dict[str, str] = {}
    schemas: set[tuple[str, ...]] = set()
    with_statistics: set[str] = set()
    compressions: set[str] = set()
    for number, source in enumerate(sources):
        findings = verify(source.path, deep=False, filesystem=source.filesystem)
        if any(finding.severity == "error" for finding in findings):
            damaged += 1
            continue
        with source.open() as file:
            metadata = file.metadata
            num_rows += metadata.num_rows
            num_bytes += metadata.file_size
            metadata_bytes += metadata.schema_block_size + metadata.index_size
            row_groups += metadata.num_row_groups
            compressions.add(metadata.compression)
            largest = max(largest, (metadata.file_size, number))
            names = tuple(file.column_names)
            if names not in schemas:
                schemas.add(names)
                for name, kind in zip(names, metadata.column_types(), strict=True):
                    kinds.setdefault(name, kind)
            with_statistics |= _with_statistics(file)
    facts: dict[str, Any] = {
        "format": "Mosaic v1" if len(sources) == 1 else f"dataset of {len(sources):,} files",
        "num_rows": num_rows,
        "num_columns": len(kinds),
        "num_files": len(sources) + len(missing),
        "num_row_groups": row_groups,
        "file_bytes": num_bytes,
        "metadata_bytes": metadata_bytes,
        "compression": ", ".join(sorted(compressions)),
        "partitioned_by": ", ".join(_partition_keys(sources[0].path, path)) if sources else "",
        "types": _counted(kinds.values()),
    }
    sizes: dict[str, ColumnSize] = {}
    if largest[0] >= 0:
        with sources[largest[1]].open() as file:
            add_column_sizes(sizes, file, _some_columns(file))
    by_prefix = sorted(grouped(sizes.values(), By.PREFIX), key=lambda size: -size.num_bytes)
    by_encoding = sorted(grouped(sizes.values(), By.ENCODING), key=lambda size: -size.num_bytes)
    facts["groups"] = _shares(by_prefix)
    facts["encodings"] = _shares(by_encoding)
    if len(sizes) < len(kinds):
        facts["sizes_from"] = f"{len(sizes):,} of {len(kinds):,} columns"
    facts["statistics"] = (
        ", ".join(sorted(with_statistics)[:_SHOWN])
        + (f" and {len(with_statistics) - _SHOWN:,} more" if len(with_statistics) > _SHOWN else "")
        if with_statistics
        else "none"
    )
    facts["health"] = _health(len(sources), damaged, len(missing))
    facts["advice"] = _advice(len(sources), num_bytes, bool(with_statistics), damaged, missing)
    some = f" -c {_quoted(next(iter(kinds)))}" if len(kinds) > 20 else ""
    typed = _quoted(path)
    facts["next"] = "; ".join(
        [
            f"pymosaic head {typed}{some}",
            f"pymosaic column-size {typed} --by prefix",
            f"pymosaic verify {typed}",
        ]
    )
    return facts


def _some_columns(file: MosaicFile) -> list[str] | None:
    """The columns of buckets spread evenly over a very wide file; None for all columns."""
    if file.num_columns <= _MANY_COLUMNS or not file.num_row_groups:
        return None
    step = -(-file.num_columns // _MANY_COLUMNS)
    buckets = file.metadata.row_group(0).buckets()
    return [name for bucket in list(buckets)[::step] for name in bucket.column_names]


def _partition_keys(file: str, base: str) -> list[str]:
    """The columns whose values are in the names of directories."""
    below = file[len(base.rstrip("/")) :] if file.startswith(base.rstrip("/")) else ""
    return [part.partition("=")[0] for part in below.split("/")[:-1] if "=" in part]


def _with_statistics(file: MosaicFile) -> set[str]:
    return set(file.statistics(0)) if file.num_row_groups else set()


def _counted(kinds: Any) -> str:
    found = Counter(kinds).most_common()
    text = ", ".join(f"{number:,} {kind}" for kind, number in found[:_SHOWN])
    return text + (f" and {len(found) - _SHOWN:,} more types" if len(found) > _SHOWN else "")


def _groups_of(names: list[str]) -> str:
    from pymosaic.cli.names import common_affixes, first_word

    shared = len(common_affixes(names).prefix)
    found = Counter(first_word(name, shared) for name in names).most_common(_SHOWN)
    return ", ".join(f"{number:,} {prefix}" for prefix, number in found)


def _shares(groups: list[ColumnSize]) -> str:
    total = sum(group.num_bytes for group in groups) or 1
    parts = [
        f"{group.num_columns:,} {group.name} ({group.num_bytes / total:.0%})"
        for group in groups[:_SHOWN]
    ]
    return ", ".join(parts) + (
        f" and {len(groups) - _SHOWN:,} more" if len(groups) > _SHOWN else ""
    )


def _health(num_files: int, damaged: int, missing: int) -> str:
    parts = []
    if damaged:
        parts.append(f"{damaged:,} of {num_files:,} files damaged")
    if missing:
        parts.append(f"{missing:,} files missing")
    return ", ".join(parts) or "metadata sound, data not read"


def _advice(
    num_files: int, num_bytes: int, statistics: bool, damaged: int, missing: list[str]
) -> str:
    advice = []
    if damaged or missing:
        advice.append("verify shows what is wrong")
    if num_files > 10 and num_bytes / num_files < _SMALL_FILE:
        advice.append("the files are small: compact combines them")
    if not statistics:
        advice.append("statistics on the columns you filter by let reads skip row groups")
    return "; ".join(advice) or "none"


def _stem(path: str) -> str:
    import os

    return os.path.splitext(os.path.basename(path.rstrip("/")))[0]


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name)
