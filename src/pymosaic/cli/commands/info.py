"""``pymosaic info``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.options import inspecting
from pymosaic.cli.output import Document, Output
from pymosaic.cli.parameters import Positional
from pymosaic.errors import printable

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
_LONG_NAME = 20
_LONGEST_NAME = 60
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
            "next": [f"pymosaic convert {_quoted(path)} {_quoted(_stem(path) + '.mosaic')}"],
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
    facts["groups"] = _groups(list(kinds), sizes)
    by_encoding = {size.name: size for size in grouped(sizes.values(), By.ENCODING)}
    # Of some of the columns, the share tells more than the number.
    whole = len(sizes) == len(kinds)
    facts["encodings"] = _shares(
        {name: size.num_bytes for name, size in by_encoding.items()},
        {name: size.num_columns for name, size in by_encoding.items()} if whole else {},
    )
    if not whole:
        facts["sizes_from"] = f"{len(sizes):,} of {len(kinds):,} columns"
    facts["statistics"] = _some_names(sorted(with_statistics)) if with_statistics else "none"
    facts["health"] = _health(len(sources), damaged, len(missing))
    facts["advice"] = _advice(len(sources), num_bytes, bool(with_statistics), damaged, missing)
    some = f" -c {_quoted(next(iter(kinds)))}" if len(kinds) > 20 else ""
    typed = _quoted(path)
    facts["next"] = [
        f"pymosaic head {typed}{some}",
        f"pymosaic column-size {typed} --by prefix",
        f"pymosaic verify {typed}",
    ]
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
    from pymosaic.cli.names import prefixes

    found = Counter(prefixes(names)).most_common(_SHOWN)
    return ", ".join(f"{number:,} {prefix}" for prefix, number in found)


def _groups(names: list[str], sizes: dict[str, ColumnSize]) -> str:
    """All columns by the start of their names; their shares come from the known sizes."""
    from pymosaic.cli.names import prefixes
    from pymosaic.cli.text import cut

    numbers: Counter[str] = Counter()
    stored: Counter[str] = Counter()
    for name, group in zip(names, prefixes(names), strict=True):
        prefix = cut(printable(group), _LONGEST_NAME)
        numbers[prefix] += 1
        stored[prefix] += sizes[name].num_bytes if name in sizes else 0
    return _shares(stored, numbers)


def _shares(stored: dict[str, int], numbers: dict[str, int]) -> str:
    total = sum(stored.values()) or 1
    largest = sorted(stored, key=lambda name: -stored[name])
    parts = [
        f"{f'{numbers[name]:,} ' if name in numbers else ''}{name} ({stored[name] / total:.0%})"
        for name in largest[:_SHOWN]
    ]
    more = len(largest) - _SHOWN
    return ", ".join(parts) + (f" and {more:,} more" if more > 0 else "")


def _some_names(names: list[str]) -> str:
    from pymosaic.cli.text import count, cut

    most = _SHOWN if max(map(len, names[:_SHOWN])) < _LONG_NAME else 2
    shown = ", ".join(cut(printable(name), _LONGEST_NAME) for name in names[:most])
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{count(len(names), 'column')}: {shown}{more}"


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
