"""Verification of a directory: all files of a dataset, and whether they exist."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from pymosaic.datasets.discovery import discover
from pymosaic.file.verify import file as file_verification
from pymosaic.file.verify.file import Finding
from pymosaic.io import SourceLike, resolve_location, status_of
from pymosaic.keywords import checked_keywords
from pymosaic.limits import Limits
from pymosaic.progress import Progress

__all__ = ["missing_file", "verify"]


def missing_file(path: str) -> Finding:
    """The finding for a file that a dataset's records list but that does not exist."""
    return Finding(
        "error",
        path,
        "a record of the dataset lists this file, and it is not there; put it back, or have "
        "pymosaic.vacuum(base, forget_missing=True) forget it",
    )


@checked_keywords()
def verify(
    source: SourceLike,
    deep: bool = True,
    progress: Progress | None = None,
    *,
    filesystem: object = None,
    limits: Limits | None = None,
    use_threads: bool = True,
) -> list[Finding]:
    """Check a whole file, including every checksum and value, and list what is wrong.

    It continues after a fault wherever it can, decodes bucket by bucket, and never writes. For a
    directory, it checks all files of the dataset, and that all files that were written exist.

    Parameters
    ----------
    source : str, path-like, bytes-like or binary file object
        As for :class:`pymosaic.MosaicFile`, or a directory.
    deep : bool
        Whether to read, decompress and decode all buckets and compare them with the stored
        statistics. Otherwise only what surrounds them is checked: footer, schema block, index,
        positions.
    progress : callable, optional
        Called as ``progress(done, total, "bytes")``, first with 0 and finally with
        ``done == total``, for each file; an exception that it raises ends the work.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``source``, which must then be a path.
    limits : Limits, optional
        Limits that the file must keep to.
    use_threads : bool
        Whether to decode on several threads, a few buckets at a time.

    Returns
    -------
    list of Finding
        Empty for an intact file with checksums. A file without checksums has a finding of
        severity ``"info"`` that says so: damage to its values cannot be detected. For a
        directory, ``structure`` begins with the path of the file.

    Examples
    --------
    >>> import pathlib, pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"age": [31, 52]}), "ages.mosaic")
    >>> pymosaic.verify("ages.mosaic")
    []
    >>> data = bytearray(pathlib.Path("ages.mosaic").read_bytes())
    >>> data[20] ^= 1
    >>> for finding in pymosaic.verify(data):
    ...     print(finding)
    error: row group 0, bucket 0 (byte 0): zstd: decompression error: ...
    >>> written = pymosaic.write_dataset(pa.table({"age": [31]}), "people")
    >>> pathlib.Path(written.files[0]).unlink()
    >>> for finding in pymosaic.verify("people"):
    ...     print(finding)
    error: people/part-...: a record of the dataset lists this file, and it is not there; ...
    """
    options: dict[str, Any] = {"limits": limits, "use_threads": use_threads}
    if not isinstance(source, str | os.PathLike) or not _is_directory(source, filesystem):
        return file_verification.verify(source, deep, progress, filesystem=filesystem, **options)
    found = discover(source, filesystem, False, allow_missing=True)
    findings = [missing_file(path) for path in found.missing]
    for file in found.files:
        wrong = file_verification.verify(
            file.path, deep, progress, filesystem=found.filesystem, **options
        )
        findings += [replace(x, structure=f"{file.path}: {x.structure}") for x in wrong]
    return findings


def _is_directory(source: str | os.PathLike[str], filesystem: object) -> bool:
    location = resolve_location(source, filesystem)
    if location.filesystem is None:
        return os.path.isdir(location.path)
    status = status_of(location)
    return status is None or not status.is_file
