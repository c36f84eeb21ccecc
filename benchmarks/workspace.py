"""Setup of a run: tables and files, built on first use, outside the timing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from benchmarks import child
from benchmarks.data import TableSpec, table_specs
from benchmarks.measure import Measurements, interleave, stopwatch
from benchmarks.peers import Peer, load_peer
from benchmarks.profiles import Profile

__all__ = ["Workspace", "same_values"]


def same_values(actual: pa.Table, expected: pa.Table) -> bool:
    """Whether two tables have the same columns and values; types may differ in layout only."""
    if actual.column_names != expected.column_names:
        if sorted(actual.column_names) != sorted(expected.column_names):
            return False
        actual = actual.select(expected.column_names)
    if not actual.schema.equals(expected.schema):
        actual = actual.cast(expected.schema)
    return bool(actual.equals(expected))


class Workspace:
    """The tables, files and results of a run.

    Parameters
    ----------
    profile : Profile
        Size of the run.
    peers : sequence of str
        Formats to compare.
    directory : Path
        Where files go.
    log : callable
        Called with a line of text to report progress.
    """

    def __init__(
        self,
        profile: Profile,
        peers: Sequence[str],
        directory: Path,
        log: Callable[[str], None],
    ) -> None:
        self.profile = profile
        self.peers: dict[str, Peer] = {name: load_peer(name) for name in peers}
        self.directory = directory
        self.log = log
        self.specs: dict[str, TableSpec] = table_specs(profile)
        self.measurements = Measurements()
        self._tables: dict[str, pa.Table] = {}
        self._files: dict[tuple[str, str], Path] = {}
        self._seconds: dict[tuple[str, str], float] = {}
        self._skipped: dict[tuple[str, str], str] = {}

    @property
    def main_table(self) -> str:
        """The table that most cases use."""
        return f"strings-{self.profile.main_rows}"

    def table(self, name: str) -> pa.Table:
        """A table by name."""
        if name not in self._tables:
            self.log(f"making {name}: {self.specs[name].title}")
            self._tables[name] = self.specs[name].build()
        return self._tables[name]

    def path(self, table: str, peer: str) -> Path:
        """The path of a peer's file of a table, whether it exists or not."""
        return self.directory / f"{table}.{self.peers[peer].suffix}"

    def skipped(self, table: str, peer: str) -> str:
        """Why a peer has no file of a table."""
        return self._skipped.get((table, peer), "")

    def file(self, table: str, peer: str) -> Path | None:
        """A peer's file of a table, written on first use; None if it is skipped."""
        key = table, peer
        if key not in self._files and key not in self._skipped:
            self._skipped[key] = reason = self._reason_to_skip(table, peer)
            if not reason:
                self._write(table, peer)
        return self._files.get(key)

    def arrow_file(self, table: str) -> Path:
        """A table as an uncompressed Arrow file, for other processes."""
        path = self.directory / f"{table}.arrow"
        if not path.exists():
            with pa.ipc.new_file(str(path), self.table(table).schema) as writer:
                writer.write_table(self.table(table))
        return path

    def writes_apart(self, table: str, peer: str) -> bool:
        """Whether a peer's file of a table is written in a separate process."""
        above = self.peers[peer].writes_apart_above
        return above is not None and self.table(table).num_columns > above

    def write_seconds(self, table: str, peer: str) -> float:
        """The time that the setup took to write an existing file."""
        return self._seconds[table, peer]

    def _reason_to_skip(self, table: str, peer: str) -> str:
        spec = self.specs[table]
        if spec.name.endswith("level-1") and not self.peers[peer].has_levels:
            return "has no levels"
        most = self.peers[peer].max_columns
        if most is not None and self.table(table).num_columns > most:
            return f"its writer is not given more than {most:,} columns"
        if spec.larger_than is None:
            return ""
        if self.file(spec.larger_than, peer) is None:
            return self._skipped[spec.larger_than, peer]
        expected = self._seconds[spec.larger_than, peer] * spec.growth
        if expected > self.profile.write_limit:
            return f"writing would take over {self.profile.write_limit:.0f} s"
        return ""

    def _write(self, table: str, peer: str) -> None:
        spec, path, data = self.specs[table], self.path(table, peer), self.table(table)
        if self.writes_apart(table, peer):
            seconds = child.write_seconds(peer, self.arrow_file(table), path, spec.level)
        else:
            seconds, _ = stopwatch(lambda: self.peers[peer].write(data, path, spec.level))
        if seconds > 1:
            self.log(f"wrote {path.name} in {seconds:.1f} s")
        self._files[table, peer] = path
        self._seconds[table, peer] = seconds

    def files(self, table: str, case: str, metric: str) -> dict[str, Path]:
        """Files of all peers that have one; for the others the case gets a note."""
        found = {}
        for peer in self.peers:
            path = self.file(table, peer)
            if path is None:
                self.measurements.add(table, case, peer, metric, note=self.skipped(table, peer))
            else:
                found[peer] = path
        return found

    def time(
        self,
        table: str,
        case: str,
        actions: Mapping[str, Callable[[], object]],
        check: Callable[[str, object], None] | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        """Time the actions of a case in turns and keep the samples."""
        for peer, samples in self.turns(actions, check, before).items():
            self.measurements.add(table, case, peer, "seconds", *samples)
        self.log_case(table, case)

    def turns(
        self,
        actions: Mapping[str, Callable[[], object]],
        check: Callable[[str, object], None] | None = None,
        before: Callable[[], None] | None = None,
    ) -> dict[str, list[float]]:
        """Time actions in turns, with the effort of the profile; seconds by name."""
        return interleave(actions, self.profile.max_rounds, self.profile.seconds, check, before)

    def note_others(
        self, table: str, case: str, metric: str, measured: Sequence[str] = ("pymosaic",)
    ) -> None:
        """Say that a case is measured for some peers only."""
        note = "some cases are not measured for them"
        for peer in self.peers:
            if peer not in measured:
                self.measurements.add(table, case, peer, metric, note=note)

    def log_case(self, table: str, case: str) -> None:
        """Report the results of a case."""
        parts = []
        for peer in self.measurements.peers():
            item = self.measurements.get(table, case, peer)
            if item is not None and item.value is not None:
                value = (
                    f"{item.value * 1e3:.2f} ms"
                    if item.metric == "seconds"
                    else f"{item.value:,.0f}"
                )
                parts.append(f"{peer} {value}")
        self.log(f"{table} | {case} | " + ", ".join(parts))
