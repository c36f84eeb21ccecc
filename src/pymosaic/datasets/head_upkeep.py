"""Upkeep of stored heads: which packs are written, and which are joined.

A commit that writes a checkpoint stores the heads of the files that this covers for the first time,
together with those of packs that are not larger: so there are few packs, and each head is written a
few times only. ``vacuum`` stores what is missing, and forgets files that are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pymosaic.datasets.log import Log
from pymosaic.datasets.records import RECORDS_DIRECTORY, AddedFile, job_of
from pymosaic.datasets.stored_heads import (
    StoredHead,
    emit_pack,
    load_packs,
    pack_name,
    pack_names,
    read_ends,
)
from pymosaic.io import Directory, Entry

__all__ = ["new_files", "store_all_heads", "store_new_heads"]

_FILES_PER_PACK = 10_000
_BYTES_PER_PACK = 32 << 20


def new_files(log: Log) -> list[AddedFile]:
    """The live files that no checkpoint covers."""
    return [file for file in log.state.files if job_of(file.path) not in log.covered]


def store_new_heads(
    storage: Directory, log: Log, entries: Iterable[Entry] = (), limit: int | None = None
) -> None:
    """Store the heads of files that no checkpoint covers yet.

    Parameters
    ----------
    storage : Directory
        Its claim must be held.
    log : Log
    entries : iterable of Entry
        A listing of files, for their times; without it they are asked for one by one.
    limit : int, optional
        Maximum number of files.
    """
    times = _times(entries)
    paths = [file.path for file in new_files(log)[:limit]]
    heads = list(read_ends(storage, [(path, times.get(path)) for path in paths]))
    if not heads:
        return
    counts = pack_names(log.listing.entries)
    sizes = {name: log.listing.entries[name].size for name in counts}
    absorbed: dict[str, int] = {}
    count, size = len(heads), sum(head.num_bytes for head in heads)
    for name in sorted(counts, key=counts.__getitem__):
        if counts[name] > count or count + counts[name] > _FILES_PER_PACK:
            break
        if size + sizes[name] > _BYTES_PER_PACK:
            break
        absorbed[name] = sizes[name]
        count, size = count + counts[name], size + sizes[name]
    live = log.live
    older = [head for pack in load_packs(storage, absorbed).values() for head in pack]
    _replace(storage, [*(head for head in older if head.path in live), *heads], absorbed)


def store_all_heads(storage: Directory, log: Log, entries: Iterable[Entry]) -> None:
    """Store the heads of all files that lack one, and forget those of files that are gone."""
    times = _times(entries)
    listed = log.listing.entries
    sizes = {name: listed[name].size for name in pack_names(listed)}
    packs = load_packs(storage, sizes)
    known: dict[str, StoredHead] = {}
    useless = 0
    live = log.live
    for head in (head for pack in packs.values() for head in pack):
        if (
            head.path in live
            and head.path not in known
            and head.is_of(live[head.path].size, times.get(head.path))
        ):
            known[head.path] = head
        else:
            useless += 1
    missing = [path for path in live if path not in known and path in times]
    heads = list(read_ends(storage, [(path, times[path]) for path in missing]))
    # Damaged packs, and many small ones, are a reason, too.
    needed = 1 + len(known) // _FILES_PER_PACK
    if heads or useless > len(known) or len(packs) < len(sizes) or len(packs) > 2 * needed + 8:
        _replace(storage, [*known.values(), *heads], sizes)


def _times(entries: Iterable[Entry]) -> dict[str, float | None]:
    return {entry.path: entry.modified for entry in entries}


def _replace(storage: Directory, heads: list[StoredHead], gone: Mapping[str, int]) -> None:
    for pack in _packs(heads):
        content = emit_pack(pack)
        storage.write(f"{RECORDS_DIRECTORY}/{pack_name(len(pack))}", content)
    storage.delete_many(f"{RECORDS_DIRECTORY}/{name}" for name in gone)


def _packs(heads: list[StoredHead]) -> Iterator[list[StoredHead]]:
    pack: list[StoredHead] = []
    size = 0
    for head in heads:
        if pack and (len(pack) == _FILES_PER_PACK or size + head.num_bytes > _BYTES_PER_PACK):
            yield pack
            pack, size = [], 0
        pack.append(head)
        size += head.num_bytes
    if pack:
        yield pack
