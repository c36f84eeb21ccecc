import gc
import io
import itertools
import mmap
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from fsspec.implementations.arrow import ArrowFSWrapper
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem as FsspecLocal
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from pymosaic.errors import ClosedError, CorruptFileError, InvalidOptionError
from pymosaic.io import Source, open_source, resolve_location
from pymosaic.io import source as source_module
from pymosaic.io.local import LocalSource
from pymosaic.io.location import without_secrets
from pymosaic.io.ranges import Extent, merge_ranges

DATA = bytes(itertools.islice(itertools.cycle(range(251)), 10_000))


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "data.mosaic"
    file.write_bytes(DATA)
    return file


class RecordingSource(Source):
    """Serves DATA and notes every read; gives at most ``at_most`` bytes at once."""

    def __init__(self, at_most=1 << 30, ends_at=None):
        super().__init__("recorded", len(DATA))
        self.reads = []
        self.at_most = at_most
        self.ends_at = ends_at

    def _read_once(self, offset, length):
        self.reads.append((offset, length))
        return DATA[: self.ends_at][offset : offset + min(length, self.at_most)]


class RawFile(io.RawIOBase):
    """A raw file object that reads at most ``at_most`` bytes at once."""

    def __init__(self, at_most):
        self.inner = io.BytesIO(DATA)
        self.at_most = at_most

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=0):
        return self.inner.seek(offset, whence)

    def tell(self):
        return self.inner.tell()

    def readinto(self, buffer):
        return self.inner.readinto(memoryview(buffer)[: self.at_most])


def native_file(path):
    return fs.LocalFileSystem().open_input_file(str(path))


def python_mmap(path):
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


# Each makes, from a file's path, an argument tuple for open_source.
KINDS = {
    "str": lambda path: (str(path),),
    "pathlib": lambda path: (path,),
    "file URI": lambda path: (path.as_uri(),),
    "bytes": lambda path: (path.read_bytes(),),
    "bytearray": lambda path: (bytearray(path.read_bytes()),),
    "memoryview": lambda path: (memoryview(path.read_bytes()),),
    "memoryview of int16": lambda path: (memoryview(path.read_bytes()).cast("h"),),
    "pyarrow.Buffer": lambda path: (pa.py_buffer(path.read_bytes()),),
    "buffered file": lambda path: (path.open("rb"),),
    "unbuffered file": lambda path: (path.open("rb", buffering=0),),
    "BytesIO": lambda path: (io.BytesIO(path.read_bytes()),),
    "mmap": lambda path: (python_mmap(path),),
    "pyarrow NativeFile": lambda path: (native_file(path),),
    "pyarrow OSFile": lambda path: (pa.OSFile(str(path)),),
    "pyarrow BufferReader": lambda path: (pa.BufferReader(path.read_bytes()),),
    "pyarrow PythonFile": lambda path: (pa.PythonFile(io.BytesIO(path.read_bytes()), mode="r"),),
    "pyarrow local": lambda path: (str(path), fs.LocalFileSystem()),
    "pyarrow local, file URI": lambda path: (path.as_uri(), fs.LocalFileSystem()),
    "pyarrow subtree": lambda path: (
        path.name,
        fs.SubTreeFileSystem(str(path.parent), fs.LocalFileSystem()),
    ),
    "pyarrow around fsspec local": lambda path: (
        str(path),
        fs.PyFileSystem(fs.FSSpecHandler(FsspecLocal())),
    ),
    "fsspec local": lambda path: (path, FsspecLocal()),
    "fsspec local, file URI": lambda path: (path.as_uri(), FsspecLocal()),
    "fsspec dir": lambda path: (path.name, DirFileSystem(str(path.parent), FsspecLocal())),
    "fsspec around pyarrow local": lambda path: (str(path), ArrowFSWrapper(fs.LocalFileSystem())),
}


@pytest.fixture(params=list(KINDS))
def opened(request, path):
    arguments = KINDS[request.param](path)
    source = open_source(*arguments)
    yield source
    source.close()
    if hasattr(arguments[0], "close"):
        arguments[0].close()


class TestEveryKind:
    def test_knows_its_size(self, opened):
        assert opened.size == len(DATA)

    @pytest.mark.parametrize(
        ("offset", "length"),
        [(0, len(DATA)), (17, 100), (len(DATA) - 3, 3), (len(DATA), 0), (5, 0)],
    )
    def test_reads_exactly_what_is_asked(self, opened, offset, length):
        assert bytes(opened.read(offset, length)) == DATA[offset : offset + length]

    def test_reads_ranges_in_the_callers_order(self, opened):
        ranges = [(9000, 10), (0, 5), (3, 7), (9000, 10), (4000, 0), (2, 1)]
        views = opened.read_ranges(ranges)
        assert [bytes(view) for view in views] == [DATA[o : o + n] for o, n in ranges]
        assert all(isinstance(view, memoryview) for view in views)

    @pytest.mark.parametrize(
        ("offset", "length"),
        [(-1, 5), (0, -1), (0, len(DATA) + 1), (len(DATA), 1), (len(DATA) + 1, 0), (1 << 63, 1)],
    )
    def test_refuses_ranges_outside_the_file(self, opened, offset, length):
        for read in (
            lambda: opened.read(offset, length),
            lambda: opened.read_ranges([(0, 1), (offset, length)]),
        ):
            with pytest.raises(CorruptFileError) as caught:
                read()
            assert caught.value.path == opened.name
            assert caught.value.structure == "file"

    def test_is_closed_once_and_for_all(self, opened):
        opened.close()
        opened.close()
        for read in (lambda: opened.read(0, 1), lambda: opened.read_ranges([(0, 1)])):
            with pytest.raises(ClosedError, match="closed"):
                read()

    def test_serves_many_threads_at_once(self, opened):
        def check(seed):
            ranges = [((seed * 7919 + step * 613) % 9_900, 1 + step % 90) for step in range(40)]
            for offset, length in ranges:
                assert bytes(opened.read(offset, length)) == DATA[offset : offset + length]
            views = opened.read_ranges(ranges)
            assert [bytes(view) for view in views] == [DATA[o : o + n] for o, n in ranges]

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(check, range(64)))


class TestNames:
    @pytest.mark.parametrize("kind", ["str", "pathlib", "pyarrow local", "fsspec local"])
    def test_a_path_names_its_source(self, path, kind):
        assert open_source(*KINDS[kind](path)).name == str(path)

    def test_a_uri_names_its_source(self, path):
        assert open_source(path.as_uri()).name == path.as_uri()

    def test_a_file_object_gives_its_name(self, path):
        with path.open("rb") as file:
            assert open_source(file).name == str(path)

    def test_a_descriptors_number_is_not_a_name(self, path):
        with open(os.open(path, os.O_RDONLY), "rb") as file:
            assert open_source(file).name is None

    def test_bytes_have_no_name(self):
        assert open_source(b"x").name is None

    @pytest.mark.parametrize(
        ("uri", "shown"),
        [
            ("s3://bucket/key", "s3://bucket/key"),
            ("s3://id:secret@bucket/key?region=r&token=t", "s3://***@bucket/key"),
            ("abfs://container@account/key", "abfs://container@account/key"),
            ("memory://a/b", "memory://a/b"),
        ],
    )
    def test_secrets_in_a_uri_are_not_shown(self, uri, shown):
        assert without_secrets(uri) == shown


class TestLocalFiles:
    @pytest.mark.parametrize(
        "kind",
        [kind for kind in KINDS if kind.endswith(("local", "URI", "subtree", "str", "pathlib"))],
    )
    def test_every_way_to_name_one_leads_to_the_same_code(self, path, kind):
        source = open_source(*KINDS[kind](path))
        assert isinstance(source, LocalSource)
        source.close()

    @pytest.mark.parametrize("name", ["a b.mosaic", "ü%20.mosaic", "#?.mosaic"])
    def test_uris_are_percent_decoded_and_paths_are_not(self, tmp_path, name):
        (tmp_path / name).write_bytes(DATA)
        assert open_source((tmp_path / name).as_uri()).size == len(DATA)
        assert open_source(str(tmp_path / name)).size == len(DATA)

    def test_a_path_object_is_never_a_uri(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("memory:").mkdir()
        Path("memory:/x").write_bytes(DATA)
        assert open_source(Path("memory://x")).size == len(DATA)

    def test_a_path_of_bytes_inside_a_path_object_is_decoded(self, path):
        class BytesPath(os.PathLike):
            def __fspath__(self):
                return os.fsencode(path)

        assert open_source(BytesPath()).name == str(path)

    def test_tilde_is_the_home_directory(self, path, monkeypatch):
        monkeypatch.setenv("HOME", str(path.parent))
        assert open_source(f"~/{path.name}").size == len(DATA)

    def test_a_missing_file_is_the_systems_own_error(self, tmp_path):
        with pytest.raises(FileNotFoundError) as caught:
            open_source(tmp_path / "none")
        assert caught.value.filename == str(tmp_path / "none")

    def test_a_directory_is_refused(self, tmp_path):
        with pytest.raises(IsADirectoryError) as caught:
            open_source(tmp_path)
        assert caught.value.filename == str(tmp_path)

    @pytest.mark.timeout(300)
    def test_a_fifo_is_refused_without_waiting_for_a_writer(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(io.UnsupportedOperation, match="pipe is not a regular file"):
            open_source(tmp_path / "pipe")

    def test_a_device_is_refused(self):
        with pytest.raises(io.UnsupportedOperation, match="/dev/zero is not a regular file"):
            open_source("/dev/zero")

    def test_a_file_that_shrinks_is_reported_with_the_place(self, path):
        source = open_source(path)
        os.truncate(path, 4000)
        assert source.read(0, 4000) == DATA[:4000]
        with pytest.raises(
            CorruptFileError, match="file ended at byte 4000, expected 200 bytes from 3900"
        ) as caught:
            source.read(3900, 200)
        assert (caught.value.path, caught.value.offset) == (str(path), 3900)
        with pytest.raises(CorruptFileError, match="file ended at byte 4000"):
            source.read_ranges([(0, 10), (3990, 20)])
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)

    def test_a_file_that_is_replaced_is_read_on(self, path, tmp_path):
        source = open_source(path)
        (tmp_path / "other").write_bytes(b"other")
        (tmp_path / "other").rename(path)
        assert source.read(0, len(DATA)) == DATA

    def test_errors_of_the_system_come_through(self, path, monkeypatch):
        def fail(descriptor, length, offset):
            raise OSError(5, "Input/output error")

        source = open_source(path)
        monkeypatch.setattr(os, "pread", fail)
        with pytest.raises(OSError, match="Input/output error") as caught:
            source.read(0, 1)
        assert type(caught.value) is OSError

    def test_short_preads_are_continued(self, path, monkeypatch):
        pread = os.pread
        monkeypatch.setattr(os, "pread", lambda fd, length, at: pread(fd, min(length, 999), at))
        assert open_source(path).read(5, 9000) == DATA[5:9005]

    def test_the_descriptor_goes_with_close_or_with_the_object(self, path):
        def descriptors():
            gc.collect()  # what other tests forgot must not go meanwhile
            return len(os.listdir("/proc/self/fd"))

        before = descriptors()
        source = open_source(path)
        forgotten = open_source(path)
        assert descriptors() == before + 2
        source.close()
        assert descriptors() == before + 1
        del forgotten
        assert descriptors() == before

    def test_closing_during_a_read_never_reads_another_file(self, path, tmp_path, monkeypatch):
        other = tmp_path / "other"
        other.write_bytes(b"\xff" * len(DATA))
        in_pread, go_on = threading.Event(), threading.Event()
        pread = os.pread

        def slow_pread(descriptor, length, offset):
            in_pread.set()
            assert go_on.wait(10)
            return pread(descriptor, length, offset)

        monkeypatch.setattr(os, "pread", slow_pread)
        source = open_source(path)
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(source.read, 0, 100)
            assert in_pread.wait(10)
            source.close()
            with other.open("rb"):  # would take the freed descriptor's number
                go_on.set()
                assert future.result() == DATA[:100]

    def test_the_descriptor_is_not_inherited_by_programs(self, path):
        source: Any = open_source(path)
        assert not os.get_inheritable(source._descriptor.number)

    def test_a_forked_child_reads_too(self, path):
        source = open_source(path)
        child = os.fork()
        if child == 0:
            os._exit(0 if source.read(10, 20) == DATA[10:30] else 1)
        assert source.read(30, 40) == DATA[30:70]
        assert os.waitpid(child, 0)[1] == 0


class TestMemory:
    @pytest.mark.parametrize("kind", ["bytes", "bytearray", "memoryview", "pyarrow.Buffer"])
    def test_nothing_is_copied(self, path, kind):
        (data,) = KINDS[kind](path)
        first = pa.py_buffer(data).address
        source = open_source(data)
        assert pa.py_buffer(source.read(100, 50)).address == first + 100
        (view,) = source.read_ranges([(200, 5)])
        assert pa.py_buffer(view).address == first + 200

    def test_views_cannot_change_the_callers_bytes(self):
        source = open_source(bytearray(b"abc"))
        assert source.read_ranges([(0, 3)])[0].readonly

    def test_views_stay_valid_after_close(self):
        source = open_source(bytearray(b"abc"))
        (view,) = source.read_ranges([(0, 3)])
        source.close()
        assert bytes(view) == b"abc"

    @pytest.mark.parametrize("data", [b"", bytearray(), memoryview(b""), pa.py_buffer(b"")])
    def test_nothing_is_a_source_of_no_bytes(self, data):
        assert open_source(data).size == 0

    def test_a_strided_memoryview_is_refused(self):
        with pytest.raises(TypeError, match="contiguous"):
            open_source(memoryview(b"abcdef")[::2])


class TestFileObjects:
    def test_the_caller_keeps_ownership(self, path):
        with path.open("rb") as file:
            source = open_source(file)
            source.read(0, 10)
            source.close()
            assert not file.closed
        native = native_file(path)
        open_source(native).close()
        assert not native.closed

    def test_positions_count_from_the_first_byte(self):
        file = io.BytesIO(DATA)
        file.seek(777)
        assert open_source(file).read(0, 10) == DATA[:10]

    def test_pyarrow_files_keep_their_position(self, path):
        file = native_file(path)
        file.seek(777)
        open_source(file).read(0, 10)
        assert file.tell() == 777

    @pytest.mark.parametrize("at_most", [1, 7, 4096])
    def test_short_reads_are_continued(self, at_most):
        assert open_source(RawFile(at_most)).read(3, 5000) == DATA[3:5003]

    def test_a_result_of_another_bytes_type_will_do(self):
        class ByteArrays(io.BytesIO):
            def read(self, size=-1):
                return bytearray(super().read(size))

        source = open_source(ByteArrays(DATA))
        assert source.read(3, 10) == DATA[3:13]
        assert source.read_ranges([(3, 10)]) == [DATA[3:13]]

    @pytest.mark.parametrize(
        ("result", "error", "message"),
        [
            (None, BlockingIOError, "non-blocking"),
            ("text", TypeError, r"Odd.read\(\) returned str, not bytes"),
            (b"x" * 11, OSError, "a read of 10 bytes returned 11 bytes"),
            (b"", CorruptFileError, "file ended at byte 0, expected 10 bytes from 0"),
        ],
    )
    def test_odd_results_are_named(self, result, error, message):
        class Odd(io.BytesIO):
            def read(self, size=-1):
                return result

        with pytest.raises(error, match=message):
            open_source(Odd(DATA)).read(0, 10)

    def test_their_own_errors_come_through(self):
        class Failing(io.BytesIO):
            def read(self, size=-1):
                raise TimeoutError("the tape robot is stuck")

        with pytest.raises(TimeoutError, match="tape robot"):
            open_source(Failing(DATA)).read(0, 1)

    def test_a_file_the_caller_closed_raises_its_own_error(self):
        file = io.BytesIO(DATA)
        source = open_source(file)
        file.close()
        with pytest.raises(ValueError, match="closed file"):
            source.read(0, 1)

    def test_text_mode_is_refused(self, path):
        with (
            path.open("r", encoding="latin-1") as plain,
            tempfile.NamedTemporaryFile("w+") as wrapped,
        ):
            for file in (plain, wrapped, io.StringIO("abc")):
                with pytest.raises(TypeError, match="is in text mode: open it in binary mode"):
                    open_source(file)

    def test_what_cannot_seek_is_refused(self, path):
        class OnlyReads:
            def read(self, size=-1):
                return b""

        ours, theirs = socket.socketpair()
        with ours, theirs, ours.makefile("rb") as stream, native_file(path) as native:
            compressed = pa.CompressedInputStream(native, "gzip")
            for file in (stream, OnlyReads(), compressed):
                with pytest.raises(io.UnsupportedOperation, match="not seekable; read it into"):
                    open_source(file)

    def test_what_cannot_read_is_refused(self, tmp_path):
        with (tmp_path / "new").open("wb") as file, pa.BufferOutputStream() as native:
            for unreadable in (file, native):
                with pytest.raises(io.UnsupportedOperation, match="is not readable"):
                    open_source(unreadable)


class TestFileSystems:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("memory://dir/data",),
            ("/dir/data", MemoryFileSystem()),
            ("memory://dir/data", MemoryFileSystem()),
            ("dir/data", fs.PyFileSystem(fs.FSSpecHandler(MemoryFileSystem()))),
        ],
    )
    def test_fsspec_is_read_by_ranges(self, memory_filesystem, monkeypatch, arguments):
        memory_filesystem.pipe_file("/dir/data", DATA)
        calls = []
        cat_file = MemoryFileSystem.cat_file

        def record(self, path, start=None, end=None, **kwargs):
            calls.append((start, end))
            return cat_file(self, path, start=start, end=end)

        monkeypatch.setattr(MemoryFileSystem, "cat_file", record)
        source = open_source(*arguments)
        assert (source.size, source.name) == (len(DATA), arguments[0])
        assert calls == []
        assert source.read(10, 20) == DATA[10:30]
        assert calls == [(10, 30)]

    def test_an_fsspec_object_that_shrinks_is_reported(self, memory_filesystem):
        memory_filesystem.pipe_file("/data", DATA)
        source = open_source("memory://data")
        memory_filesystem.pipe_file("/data", DATA[:100])
        with pytest.raises(CorruptFileError, match="file ended at byte 100, expected 50 bytes"):
            source.read(80, 50)

    def test_an_fsspec_directory_is_refused(self, memory_filesystem):
        memory_filesystem.makedirs("/dir")
        with pytest.raises(IsADirectoryError, match="memory://dir"):
            open_source("memory://dir")

    def test_an_fsspec_file_without_a_size_is_refused(self, monkeypatch):
        monkeypatch.setattr(MemoryFileSystem, "info", lambda self, path: {"size": None})
        with pytest.raises(io.UnsupportedOperation, match="does not report the file's size"):
            open_source("memory://x")

    def test_a_missing_file_is_the_file_systems_own_error(self, memory_filesystem):
        with pytest.raises(FileNotFoundError):
            open_source("memory://none")
        with pytest.raises(FileNotFoundError):
            open_source("none", fs._MockFileSystem())

    def test_only_asynchronous_fsspec_file_systems_are_used_without_a_lock(self, memory_filesystem):
        memory_filesystem.pipe_file("/data", DATA)
        busy = threading.Lock()

        class Fragile(MemoryFileSystem):  # type: ignore[misc]
            cachable = False

            def cat_file(self, path, start=None, end=None, **kwargs):
                assert busy.acquire(blocking=False), "called by two threads at once"
                time.sleep(0.001)
                busy.release()
                return DATA[start:end]

        source = open_source("data", Fragile())
        source.merge_gap = 0
        ranges = [(offset, 10) for offset in range(0, 1000, 20)]
        assert source.read_ranges(ranges) == [DATA[o : o + n] for o, n in ranges]

    @pytest.mark.parametrize("subtree", [False, True])
    def test_pyarrow_file_systems_are_read_at_positions_and_their_files_closed(self, subtree):
        filesystem = fs._MockFileSystem()
        filesystem.create_dir("dir")
        with filesystem.open_output_stream("dir/data", compression=None) as stream:
            stream.write(DATA)
        arguments = ("dir/data", filesystem)
        if subtree:
            arguments = ("data", fs.SubTreeFileSystem("dir", filesystem))
        source: Any = open_source(*arguments)
        assert (source.size, source.name) == (len(DATA), arguments[0])
        assert source.read(10, 20) == DATA[10:30]
        file = source._file
        source.close()
        assert file.closed

    def test_remote_sources_trade_bytes_for_round_trips(self, path, memory_filesystem):
        memory_filesystem.pipe_file("/data", DATA)
        filesystem = fs._MockFileSystem()
        with filesystem.open_output_stream("data", compression=None) as stream:
            stream.write(DATA)
        for remote in (open_source("memory://data"), open_source("data", filesystem)):
            assert (remote.tail_bytes, remote.merge_gap) == (512 << 10, 1 << 20)
            assert remote.parallel_reads > 1
        for local in (open_source(path), open_source(DATA), open_source(io.BytesIO(DATA))):
            assert (local.tail_bytes, local.merge_gap) == (128 << 10, 4 << 10)
            assert local.parallel_reads == 1

    def test_fsspec_is_not_imported_unless_it_is_needed(self, path):
        program = (
            "import sys\n"
            "from pymosaic.io import open_source\n"
            "from pyarrow import fs\n"
            f"open_source({str(path)!r}), open_source({path.as_uri()!r})\n"
            f"open_source({str(path)!r}, fs.LocalFileSystem()), open_source(b'')\n"
            "assert 'fsspec' not in sys.modules\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_an_unknown_scheme_is_named(self):
        with pytest.raises(InvalidOptionError, match=r"nor fsspec supports the URI scheme 'nope'"):
            open_source("nope://x/y")

    def test_an_unknown_scheme_without_fsspec_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "fsspec.core", None)
        with pytest.raises(InvalidOptionError, match="'memory'; fsspec may: pip install fsspec"):
            open_source("memory://x/y")

    def test_an_invalid_file_uri_is_named(self):
        with pytest.raises(InvalidOptionError, match="not a valid file URI: file://host/x"):
            open_source("file://host/x")

    @pytest.mark.parametrize("filesystem", ["s3", object(), fsspec])
    def test_what_is_no_file_system_is_refused(self, filesystem):
        with pytest.raises(TypeError, match=r"filesystem must be a pyarrow\.fs\.FileSystem or an"):
            open_source("x", filesystem)

    @pytest.mark.parametrize("source", [b"abc", io.BytesIO(b"abc"), pa.py_buffer(b"abc")])
    def test_a_file_system_goes_with_a_path_only(self, source):
        with pytest.raises(TypeError, match="filesystem= requires a path, not "):
            open_source(source, fs.LocalFileSystem())


@pytest.mark.parametrize("source", [None, 3, ["a"], object(), fsspec.open("memory://x")])
def test_what_is_no_source_is_refused_by_type(source):
    with pytest.raises(TypeError, match=f"source must be .* got {type(source).__name__}"):
        open_source(source)


def test_a_source_is_taken_as_it_is():
    source = RecordingSource()
    assert open_source(source) is source


def test_resolving_touches_no_file():
    location = resolve_location("/no/such/file")
    assert (location.path, location.filesystem) == ("/no/such/file", None)


class TestMergeRanges:
    @pytest.mark.parametrize(
        ("ranges", "expected"),
        [
            ([], []),
            ([(5, 0)], []),
            ([(5, 3)], [Extent(5, 3, (0,))]),
            # adjacent, within the gap, just beyond it
            ([(0, 10), (10, 10)], [Extent(0, 20, (0, 1))]),
            ([(0, 10), (14, 10)], [Extent(0, 24, (0, 1))]),
            ([(0, 10), (15, 10)], [Extent(0, 10, (0,)), Extent(15, 10, (1,))]),
            # any order
            ([(14, 10), (0, 10)], [Extent(0, 24, (1, 0))]),
            # repeated, overlapping, contained
            ([(0, 10), (0, 10)], [Extent(0, 10, (0, 1))]),
            ([(0, 10), (5, 10)], [Extent(0, 15, (0, 1))]),
            ([(0, 30), (5, 10), (32, 1)], [Extent(0, 33, (0, 1, 2))]),
            # an empty range is no stepping stone
            ([(0, 10), (13, 0), (16, 4)], [Extent(0, 10, (0,)), Extent(16, 4, (2,))]),
            # the cap stops merging, not single ranges
            ([(0, 60), (60, 60)], [Extent(0, 60, (0,)), Extent(60, 60, (1,))]),
            ([(0, 500), (500, 1)], [Extent(0, 500, (0,)), Extent(500, 1, (1,))]),
            ([(0, 500), (100, 5)], [Extent(0, 500, (0, 1))]),
            ([(0, 50), (50, 50), (100, 1)], [Extent(0, 100, (0, 1)), Extent(100, 1, (2,))]),
        ],
    )
    def test_groups(self, ranges, expected):
        assert merge_ranges(ranges, gap=4, max_bytes=100) == expected

    def test_a_gap_of_zero_merges_only_what_touches(self):
        assert merge_ranges([(0, 1), (1, 1), (3, 1)], gap=0, max_bytes=100) == [
            Extent(0, 2, (0, 1)),
            Extent(3, 1, (2,)),
        ]

    @given(
        st.lists(st.tuples(st.integers(0, 500), st.integers(0, 60))),
        st.integers(0, 50),
        st.integers(1, 200),
    )
    def test_every_range_is_covered_once(self, ranges, gap, max_bytes):
        extents = merge_ranges(ranges, gap, max_bytes)
        members = sorted(index for extent in extents for index in extent.members)
        assert members == [index for index, (_, length) in enumerate(ranges) if length]
        assert [extent.offset for extent in extents] == sorted(e.offset for e in extents)
        for extent in extents:
            parts = [ranges[index] for index in extent.members]
            assert extent.offset == min(offset for offset, _ in parts)
            assert extent.offset + extent.length == max(offset + length for offset, length in parts)
            assert extent.length <= max(max_bytes, max(length for _, length in parts))


class TestReadRanges:
    def test_near_ranges_share_one_read(self):
        source = RecordingSource()
        source.merge_gap = 10
        views = source.read_ranges([(500, 10), (0, 10), (15, 5)])
        assert source.reads == [(0, 20), (500, 10)]
        assert views == [DATA[500:510], DATA[0:10], DATA[15:20]]
        assert views[1].obj is views[2].obj, "sliced, not copied"

    def test_the_gap_can_be_changed(self):
        source = RecordingSource()
        source.merge_gap = 0
        source.read_ranges([(0, 10), (11, 10)])
        assert source.reads == [(0, 10), (11, 10)]

    def test_no_ranges_are_no_reads(self):
        source = RecordingSource()
        assert source.read_ranges([]) == []
        assert source.read_ranges([(7, 0)]) == [b""]
        assert source.read(7, 0) == b""
        assert source.reads == []

    def test_nothing_is_read_when_one_range_is_outside(self):
        source = RecordingSource()
        with pytest.raises(CorruptFileError, match="5 bytes from 9999 are not inside the file"):
            source.read_ranges([(0, 10), (9999, 5)])
        assert source.reads == []

    def test_merged_reads_stay_under_the_cap(self, monkeypatch):
        monkeypatch.setattr(source_module, "MAX_MERGED_BYTES", 1000)
        source = RecordingSource()
        source.read_ranges([(offset, 400) for offset in range(0, 2000, 400)])
        assert source.reads == [(0, 800), (800, 800), (1600, 400)]

    @pytest.mark.parametrize("at_most", [1, 99])
    def test_short_reads_are_continued(self, at_most):
        source = RecordingSource(at_most=at_most)
        assert source.read_ranges([(0, 100), (50, 150)]) == [DATA[:100], DATA[50:200]]

    def test_short_reads_end_with_the_file(self):
        source = RecordingSource(at_most=30, ends_at=100)
        with pytest.raises(
            CorruptFileError,
            match="recorded, file, byte 50: file ended at byte 100, expected 60 bytes from 50",
        ):
            source.read(50, 60)

    def test_parallel_reads_overlap_and_keep_their_order(self):
        barrier = threading.Barrier(4, timeout=120)

        class Parallel(RecordingSource):
            def _read_once(self, offset, length):
                barrier.wait()  # passes only when four reads are under way
                return super()._read_once(offset, length)

        source = Parallel()
        source.parallel_reads, source.merge_gap = 4, 0
        ranges = [(offset, 10) for offset in (700, 100, 500, 300)]
        assert source.read_ranges(ranges) == [DATA[o : o + n] for o, n in ranges]

    def test_a_failing_parallel_read_stops_those_not_begun(self):
        class Failing(RecordingSource):
            def _read_once(self, offset, length):
                super()._read_once(offset, length)
                time.sleep(0.01)
                raise OSError(5, "Input/output error")

        source = Failing()
        source.parallel_reads, source.merge_gap = 2, 0
        with pytest.raises(OSError, match="Input/output error"):
            source.read_ranges([(offset, 10) for offset in range(0, 9000, 20)])
        begun = len(source.reads)
        assert begun < 20
        # Whoever had begun has ended: nothing reads on.
        time.sleep(0.05)
        assert len(source.reads) == begun
