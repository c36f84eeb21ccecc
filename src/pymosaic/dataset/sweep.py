"""What ended jobs leave: files that are hidden for good, and records that hide nothing any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pymosaic.dataset.records import (
    RECORDS_DIRECTORY,
    STAGING_DIRECTORY,
    JobRecord,
    is_hidden,
    job_of,
    parse_record_name,
    record_path,
)
from pymosaic.dataset.storage import Entry, Storage

__all__ = ["DAY_SECONDS", "finish", "remove_files", "sweep"]

DAY_SECONDS = 86400.0


@dataclass(frozen=True, slots=True)
class _Job:
    """A job that has ended: its records by state."""

    id: str
    records: dict[str, Entry]

    @property
    def ended(self) -> float | None:
        """When the last of its records was written."""
        times = [entry.modified for entry in self.records.values()]
        return None if None in times else max(time for time in times if time is not None)


def _ended_jobs(entries: Iterable[Entry]) -> list[_Job]:
    jobs: dict[str, dict[str, Entry]] = {}
    for entry in entries:
        directory, _, name = entry.path.rpartition("/")
        parsed = parse_record_name(name) if directory == RECORDS_DIRECTORY else None
        if parsed is not None:
            jobs.setdefault(parsed[0], {})[parsed[1]] = entry
    return [_Job(job, jobs[job]) for job in sorted(jobs) if jobs[job].keys() != {"pending"}]


def remove_files(storage: Storage, paths: Iterable[str]) -> None:
    """Delete data files, and the directories that are empty then."""
    paths = list(paths)
    storage.delete_many(paths)
    directories = {path.rpartition("/")[0] for path in paths}
    while directories := directories - {""}:
        for directory in sorted(directories, key=len, reverse=True):
            storage.remove_empty(directory)
        directories = {directory.rpartition("/")[0] for directory in directories}


def finish(storage: Storage, job: str, record: JobRecord, delete: Iterable[str]) -> None:
    """Delete what a published job removes, and say so in its record."""
    remove_files(storage, delete)
    finished = JobRecord(record.adds, removed=record.removes)
    storage.write(record_path(job, "committed.json"), finished.emit())
    storage.delete(record_path(job, "replacing.json"))


def sweep(storage: Storage, before: float, entries: list[Entry] | None = None) -> list[Entry]:
    """Finish jobs that ended before a time, and forget those that left nothing.

    Returns
    -------
    list of Entry
        The data files that were deleted.
    """
    if entries is None:
        # Most often there is nothing to do, which the records alone tell.
        records = storage.list_files(RECORDS_DIRECTORY, recursive=False)
        if not any(_is_before(job.ended, before) for job in _ended_jobs(records)):
            return []
        entries = storage.list_files()
    files: dict[str | None, list[Entry]] = {}
    by_path = {}
    for entry in entries:
        if not is_hidden(entry.path):
            by_path[entry.path] = entry
            files.setdefault(job_of(entry.path), []).append(entry)
    deleted: list[Entry] = []
    for job in _ended_jobs(entries):
        if not _is_before(job.ended, before):
            continue
        hidden = _finish_ended(storage, job, by_path, files.get(job.id, []))
        deleted += hidden
        if storage.moves:
            storage.remove_tree(f"{STAGING_DIRECTORY}/{job.id}")
        for state in ("pending", "claim"):
            storage.delete(record_path(job.id, state))
        # A reader may hold a listing with files that were deleted just now: the record that hides
        # them stays until the next time.
        if not hidden and "replacing.json" not in job.records:
            storage.delete_many(record_path(job.id, s) for s in ("committed.json", "aborted"))
    return deleted


def _finish_ended(
    storage: Storage, job: _Job, by_path: dict[str, Entry], written: list[Entry]
) -> list[Entry]:
    """Delete the files of a job that are hidden for good, and those that it removes."""
    replacing = job.records.get("replacing.json")
    entry = replacing or job.records.get("committed.json")
    record = JobRecord(frozenset())
    removed: list[Entry] = []
    if entry is not None:
        try:
            content = storage.read(entry.path)
        except FileNotFoundError:
            return []  # another job is sweeping
        record = JobRecord.parse(content, storage.full_path(entry.path))
        # A file that was put there since, under a name that was free then, is not meant.
        candidates = (by_path[path] for path in sorted(record.removes) if path in by_path)
        removed = [candidate for candidate in candidates if not _is_after(candidate, entry)]
    strays = [stray for stray in written if stray.path not in record.adds]
    if replacing is not None:
        finish(storage, job.id, record, [candidate.path for candidate in removed])
    remove_files(storage, [stray.path for stray in strays])
    return removed + strays


def _is_before(moment: float | None, before: float) -> bool:
    return moment is not None and moment < before


def _is_after(entry: Entry, record: Entry) -> bool:
    if entry.modified is None or record.modified is None:
        return False
    return entry.modified > record.modified
