import errno
import gc
import io
import itertools
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from fsspec.implementations.arrow import ArrowFSWrapper
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem as FsspecLocal
from fsspec.implementations.memory import MemoryFileSystem
from pyarrow import fs

from pymosaic.errors import ClosedError, InvalidOptionError
from pymosaic.io import fsspec as fsspec_module
from pymosaic.io import local, open_sink, spool
from tests.descriptors import open_descriptors

OLD = b"the old file"
NEW = bytes(range(256)) * 40
TEMPORARY = re.compile(r"\.target\.mosaic\.tmp-\d+-[0-9a-f]{16}")


@pytest.fixture
def target(tmp_path):
    return tmp_path / "target.mosaic"


@pytest.fixture
def old_target(target):
    target.write_bytes(OLD)
    return target


@pytest.fixture
def small_buffers(monkeypatch):
    monkeypatch.setattr(local, "_BUFFER_BYTES", 100)
    monkeypatch.setattr(spool, "_SPOOL_BYTES", 100)
    monkeypatch.setattr(fsspec_module, "_UPLOAD_BYTES", 70)


def beside(target):
    """What lies in the target's directory, apart from it."""
    return sorted(entry.name for entry in target.parent.iterdir() if entry != target)


def fail(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


KINDS = {
    "str": lambda path: (str(path),),
    "pathlib": lambda path: (path,),
    "file URI": lambda path: (path.as_uri(),),
    "pyarrow local": lambda path: (str(path), fs.LocalFileSystem()),
    "pyarrow subtree": lambda path: (
        path.name,
        fs.SubTreeFileSystem(str(path.parent), fs.LocalFileSystem()),
    ),
    "pyarrow around fsspec local": lambda path: (
        str(path),
        fs.PyFileSystem(fs.FSSpecHandler(FsspecLocal())),
    ),
    "fsspec around pyarrow local": lambda path: (str(path), ArrowFSWrapper(fs.LocalFileSystem())),
    "fsspec local": lambda path: (path, FsspecLocal()),
    "fsspec local, file URI": lambda path: (path.as_uri(), FsspecLocal()),
}
# What is local inside a wrapper that is not looked into goes through the spool.
ALL_KINDS = KINDS | {
    "fsspec dir": lambda path: (path.name, DirFileSystem(str(path.parent), FsspecLocal())),
}


class TestLocalPaths:
    @pytest.mark.parametrize("kind", list(ALL_KINDS))
    @pytest.mark.parametrize("exists", [False, True])
    def test_the_file_appears_whole_at_commit(self, target, kind, exists, small_buffers):
        if exists:
            target.write_bytes(OLD)
        sink = open_sink(*ALL_KINDS[kind](target))
        for start in range(0, len(NEW), 37):
            sink.write(NEW[start : start + 37])
            assert sink.position == min(start + 37, len(NEW))
        assert (target.read_bytes() == OLD) if exists else not target.exists()
        sink.commit()
        assert target.read_bytes() == NEW
        assert beside(target) == []

    @pytest.mark.parametrize("kind", list(ALL_KINDS))
    @pytest.mark.parametrize("exists", [False, True])
    def test_an_abort_leaves_no_trace(self, target, kind, exists, small_buffers):
        if exists:
            target.write_bytes(OLD)
        sink = open_sink(*ALL_KINDS[kind](target))
        sink.write(NEW)
        sink.abort()
        assert (target.read_bytes() == OLD) if exists else not target.exists()
        assert beside(target) == []

    @pytest.mark.parametrize("kind", list(KINDS))
    def test_every_way_to_name_one_leads_to_the_same_code(self, target, kind):
        sink = open_sink(*KINDS[kind](target))
        assert isinstance(sink, local.LocalSink)
        sink.abort()

    @pytest.mark.parametrize(
        "data", [b"abcd", bytearray(b"abcd"), memoryview(b"abcd"), memoryview(b"abcd").cast("h")]
    )
    def test_takes_every_kind_of_buffer(self, target, data):
        sink = open_sink(target)
        sink.write(data)
        sink.write(b"")
        assert sink.position == 4
        sink.commit()
        assert target.read_bytes() == b"abcd"

    def test_a_buffer_may_be_reused_after_write(self, target):
        sink = open_sink(target)
        data = bytearray(b"first")
        sink.write(data)
        data[:] = b"later"
        sink.commit()
        assert target.read_bytes() == b"first"

    def test_nothing_written_is_an_empty_file(self, target):
        open_sink(target).commit()
        assert target.read_bytes() == b""

    def test_small_writes_are_gathered_and_large_ones_pass_through(self, target, monkeypatch):
        writes = []
        write = os.write

        def record_write(descriptor, data):
            writes.append(len(data))
            return write(descriptor, data)

        monkeypatch.setattr(os, "write", record_write)
        monkeypatch.setattr(local, "_BUFFER_BYTES", 100)
        sink = open_sink(target)
        for length in (40, 40, 40, 500, 60, 40, 1):
            sink.write(b"x" * length)
        sink.commit()
        assert writes == [80, 40, 500, 100, 1]

    def test_short_writes_are_continued(self, target, monkeypatch, small_buffers):
        write = os.write
        monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
        sink = open_sink(target)
        sink.write(NEW[:50])
        sink.write(NEW[50:])
        sink.commit()
        assert target.read_bytes() == NEW

    def test_the_temporary_file_is_hidden_beside_the_target_and_named_after_it(self, target):
        sink = open_sink(target)
        (name,) = beside(target)
        assert TEMPORARY.fullmatch(name)
        assert f"-{os.getpid()}-" in name
        sink.abort()

    @pytest.mark.parametrize("name", ["n" * 255, "ü" * 127])
    def test_the_longest_name_can_be_written(self, tmp_path, name):
        sink = open_sink(tmp_path / name)
        (temporary,) = os.listdir(tmp_path)
        assert temporary.startswith(f".{name[:50]}")
        sink.commit()
        assert os.listdir(tmp_path) == [name]

    def test_data_is_on_disk_before_the_name_and_the_name_before_commit_returns(
        self, target, monkeypatch
    ):
        calls = []
        fsync, replace = os.fsync, os.replace

        def record_fsync(descriptor):
            kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
            calls.append(f"fsync {kind}")
            if kind == "file":
                assert os.fstat(descriptor).st_size == len(NEW)
            fsync(descriptor)

        def record_replace(old, new):
            calls.append("replace")
            replace(old, new)

        monkeypatch.setattr(os, "fsync", record_fsync)
        monkeypatch.setattr(os, "replace", record_replace)
        sink = open_sink(target)
        sink.write(NEW)
        sink.commit()
        assert calls == ["fsync file", "replace", "fsync directory"]

    def test_the_working_directory_may_change_meanwhile(self, target, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        sink = open_sink(target.name)
        sink.write(NEW)
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        sink.commit()
        assert target.read_bytes() == NEW

    def test_the_name_is_the_callers(self, target, monkeypatch):
        monkeypatch.chdir(target.parent)
        sink = open_sink(target.name)
        assert sink.name == target.name
        sink.abort()

    def test_the_last_of_two_writers_wins_whole(self, target):
        first, second = open_sink(target), open_sink(target)
        first.write(b"first")
        second.write(b"second")
        second.commit()
        first.commit()
        assert target.read_bytes() == b"first"
        assert beside(target) == []


class TestPermissions:
    @pytest.mark.parametrize("mask", [0o022, 0o077, 0o000])
    def test_a_new_file_respects_the_umask(self, target, mask):
        before = os.umask(mask)
        try:
            open_sink(target).commit()
        finally:
            os.umask(before)
        assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
    def test_a_replaced_file_keeps_its_bits(self, old_target, mode):
        old_target.chmod(mode)
        sink = open_sink(old_target)
        (temporary,) = beside(old_target)
        assert stat.S_IMODE((old_target.parent / temporary).stat().st_mode) == mode
        sink.commit()
        assert stat.S_IMODE(old_target.stat().st_mode) == mode

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
    def test_a_replaced_file_keeps_its_owner(self, old_target):
        os.chown(old_target, 1234, 4321)
        open_sink(old_target).commit()
        status = old_target.stat()
        assert (status.st_uid, status.st_gid) == (1234, 4321)

    def test_a_read_only_file_is_not_replaced(self, old_target, monkeypatch):
        old_target.chmod(0o444)
        if os.geteuid() == 0:  # may write anything
            monkeypatch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(PermissionError) as caught:
            open_sink(old_target)
        assert caught.value.filename == str(old_target)
        assert beside(old_target) == []

    @pytest.mark.parametrize("exists", [False, True])
    def test_a_symbolic_link_stays_and_what_it_points_to_is_replaced(self, tmp_path, exists):
        there = tmp_path / "there"
        there.mkdir()
        real = there / "real"
        if exists:
            real.write_bytes(OLD)
        link = tmp_path / "link"
        link.symlink_to("there/real")
        sink = open_sink(link)
        sink.write(NEW)
        assert any(name.startswith(".real.tmp-") for name in os.listdir(there))
        sink.commit()
        assert link.is_symlink()
        assert real.read_bytes() == NEW
        assert os.listdir(there) == ["real"]

    def test_a_hard_link_keeps_the_old_contents(self, old_target):
        other = old_target.with_name("other")
        os.link(old_target, other)
        sink = open_sink(old_target)
        sink.write(NEW)
        sink.commit()
        assert (old_target.read_bytes(), other.read_bytes()) == (NEW, OLD)


class TestRefusals:
    def test_a_directory_is_refused_before_anything_is_written(self, tmp_path):
        for where in (tmp_path, f"{tmp_path}/", f"{tmp_path}/none/", f"{tmp_path}/."):
            with pytest.raises(IsADirectoryError) as caught:
                open_sink(where)
            assert caught.value.filename == str(where)
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("where", ["", "none/target"])
    def test_a_missing_directory_is_named_as_the_caller_did(self, tmp_path, monkeypatch, where):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(FileNotFoundError) as caught:
            open_sink(where)
        assert caught.value.filename == where

    def test_a_path_through_a_file_is_the_systems_error(self, old_target):
        with pytest.raises(NotADirectoryError):
            open_sink(old_target / "x")

    def test_a_loop_of_links_is_the_systems_error(self, tmp_path):
        (tmp_path / "loop").symlink_to("loop")
        with pytest.raises(OSError, match="symbolic links"):
            open_sink(tmp_path / "loop")

    @pytest.mark.parametrize("where", ["/dev/null", "/dev/full"])
    def test_a_device_is_never_replaced(self, where):
        with pytest.raises(io.UnsupportedOperation, match=f"{where} is not a regular file"):
            open_sink(where)

    @pytest.mark.parametrize("where", [None, 3, b"/tmp/x", object(), fsspec.open("memory://x")])
    def test_what_is_no_target_is_refused_by_type(self, where):
        with pytest.raises(TypeError, match=f"where must be .* got {type(where).__name__}"):
            open_sink(where)

    def test_a_file_system_goes_with_a_path_only(self):
        with pytest.raises(TypeError, match="filesystem= requires a path, not BytesIO"):
            open_sink(io.BytesIO(), fs.LocalFileSystem())

    def test_an_unknown_scheme_is_named(self):
        with pytest.raises(InvalidOptionError, match="'nope'"):
            open_sink("nope://x/y")


class TestLifeCycle:
    @pytest.fixture(params=["local", "file object", "fsspec", "pyarrow"])
    def sink(self, request, target, memory_filesystem):
        where = {
            "local": (target,),
            "file object": (io.BytesIO(),),
            "fsspec": ("memory://target",),
            "pyarrow": ("target", fs._MockFileSystem()),
        }
        return open_sink(*where[request.param])

    def test_commit_and_abort_may_be_repeated(self, sink):
        sink.write(NEW)
        sink.commit()
        sink.commit()
        sink.abort()
        sink.commit()

    def test_nothing_can_be_written_after_commit(self, sink):
        sink.commit()
        with pytest.raises(ClosedError, match="is closed"):
            sink.write(b"x")

    def test_nothing_goes_on_after_abort(self, sink):
        sink.write(NEW)
        sink.abort()
        sink.abort()
        for step in (sink.commit, lambda: sink.write(b"x")):
            with pytest.raises(ClosedError, match="is aborted"):
                step()

    def test_a_failed_write_can_only_be_aborted(self, sink, monkeypatch):
        sink.write(b"before")
        monkeypatch.setattr(sink, "_write", fail)
        with pytest.raises(OSError, match="No space left"):
            sink.write(b"x")
        assert sink.position == 6
        monkeypatch.undo()
        for step in (sink.commit, lambda: sink.write(b"x")):
            with pytest.raises(ClosedError, match="is unusable after a failed write"):
                step()
        sink.abort()

    def test_a_wrong_type_is_refused_and_writing_may_go_on(self, sink):
        with pytest.raises(TypeError):
            sink.write("text")
        sink.write(b"bytes")
        sink.commit()


class TestLocalFaults:
    @pytest.mark.parametrize("call", ["write", "fsync", "replace"])
    @pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
    def test_a_failed_commit_keeps_the_old_file_and_leaves_nothing(
        self, old_target, monkeypatch, call, error
    ):
        def fail_once(*_):
            raise error

        sink = open_sink(old_target)
        sink.write(NEW)
        monkeypatch.setattr(os, call, fail_once)
        with pytest.raises(type(error)) as caught:
            sink.commit()
        assert caught.value is error
        assert old_target.read_bytes() == OLD
        assert beside(old_target) == []
        sink.abort()

    def test_a_failed_write_is_cleaned_up_by_abort(self, old_target, monkeypatch, small_buffers):
        sink = open_sink(old_target)
        sink.write(NEW)
        monkeypatch.setattr(os, "write", fail)
        with pytest.raises(OSError, match="No space left"):
            sink.write(NEW)
        sink.abort()
        assert old_target.read_bytes() == OLD
        assert beside(old_target) == []

    @pytest.mark.parametrize("failing", range(6))
    def test_a_failure_at_any_call_leaves_the_old_file(
        self, old_target, monkeypatch, small_buffers, failing
    ):
        calls = itertools.count()
        write = os.write

        def fail_once(descriptor, data):
            return fail() if next(calls) == failing else write(descriptor, data)

        def write_file(sink):
            for _ in range(6):
                sink.write(b"x" * 100)
            sink.commit()

        monkeypatch.setattr(os, "write", fail_once)
        sink = open_sink(old_target)
        with pytest.raises(OSError, match="No space left"):
            write_file(sink)
        sink.abort()
        assert old_target.read_bytes() == OLD
        assert beside(old_target) == []

    @pytest.mark.parametrize("count", [0, -1, 1000])
    def test_an_impossible_count_is_an_error_and_not_a_loop(self, target, monkeypatch, count):
        sink = open_sink(target)
        sink.write(b"abc")
        monkeypatch.setattr(os, "write", lambda fd, data: count)
        with pytest.raises(OSError, match=f"a write of 3 bytes reported {count} bytes written"):
            sink.commit()

    def test_a_full_disk_leaves_nothing(self, target, monkeypatch):
        with open("/dev/full", "wb", buffering=0) as full:
            sink: Any = open_sink(target)
            os.dup2(full.fileno(), sink._temporary.number)
            sink.write(NEW)
            with pytest.raises(OSError, match="No space left"):
                sink.commit()
        assert not target.exists()
        assert beside(target) == []

    def test_a_target_that_became_a_directory_stays(self, target):
        sink = open_sink(target)
        target.mkdir()
        with pytest.raises(IsADirectoryError):
            sink.commit()
        assert target.is_dir()
        assert beside(target) == []

    @pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
    def test_a_directory_that_cannot_be_synced_is_no_failure(self, target, monkeypatch, code):
        fsync = os.fsync

        def only_files(descriptor):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(code, os.strerror(code))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", only_files)
        open_sink(target).commit()
        assert target.exists()

    def test_the_descriptor_is_not_inherited_by_programs(self, target):
        sink: Any = open_sink(target)
        assert not os.get_inheritable(sink._temporary.number)
        sink.abort()

    def test_an_abort_survives_a_temporary_file_that_is_gone(self, target):
        sink = open_sink(target)
        (name,) = beside(target)
        (target.parent / name).unlink()
        sink.abort()

    def test_no_descriptor_is_left_open(self, target, monkeypatch):
        before = open_descriptors()
        open_sink(target).commit()
        open_sink(target).abort()
        sink = open_sink(target)
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space left"):
            sink.commit()
        assert open_descriptors() == before


class TestEndOfProcess:
    def run(self, target, ending):
        program = f"""
            import signal, sys
            from pymosaic.io import open_sink
            sink = open_sink({str(target)!r})
            for _ in range(64):
                sink.write(bytes(1 << 16))
            {ending}
        """
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE
        )
        with process:
            assert process.stdout is not None
            process.stdout.readline()
            process.kill()
        return process.returncode

    def test_a_killed_write_leaves_the_old_file_and_one_named_temporary(self, old_target):
        code = self.run(old_target, "print('written', flush=True); signal.pause()")
        assert code == -signal.SIGKILL
        assert old_target.read_bytes() == OLD
        (left,) = beside(old_target)
        assert TEMPORARY.fullmatch(left)

    @pytest.mark.parametrize("ending", ["sys.exit(0)", "raise RuntimeError", "del sink"])
    def test_a_process_that_ends_by_itself_leaves_nothing(self, old_target, ending):
        assert self.run(old_target, ending) != -signal.SIGKILL
        assert old_target.read_bytes() == OLD
        assert beside(old_target) == []

    def test_a_forgotten_sink_leaves_nothing(self, old_target):
        sink = open_sink(old_target)
        sink.write(NEW)
        del sink
        gc.collect()
        assert old_target.read_bytes() == OLD
        assert beside(old_target) == []

    def test_a_forked_child_does_not_delete_its_parents_file(self, old_target):
        sink = open_sink(old_target)
        sink.write(NEW)
        child = os.fork()
        if child == 0:
            sink.abort()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        sink.commit()
        assert old_target.read_bytes() == NEW


class TestFileObjects:
    @pytest.mark.parametrize(
        "make",
        [
            lambda path: io.BytesIO(),
            lambda path: path.open("w+b"),
            lambda path: path.open("w+b", buffering=0),
            lambda path: tempfile.TemporaryFile(),  # noqa: SIM115
            lambda path: tempfile.SpooledTemporaryFile(max_size=100),  # noqa: SIM115
        ],
    )
    def test_is_written_in_order_flushed_and_left_open(self, target, make):
        with make(target) as file:
            sink = open_sink(file)
            sink.write(NEW[:5000])
            sink.write(memoryview(NEW)[5000:])
            sink.commit()
            assert not file.closed
            file.seek(0)
            assert file.read() == NEW

    def test_is_flushed_at_commit(self, target):
        with target.open("wb") as file:
            sink = open_sink(file)
            sink.write(b"abc")
            sink.commit()
            assert target.read_bytes() == b"abc"

    def test_pyarrow_streams_will_do(self, target):
        stream = pa.BufferOutputStream()
        sink = open_sink(stream)
        sink.write(NEW)
        sink.commit()
        assert not stream.closed
        assert stream.getvalue().to_pybytes() == NEW
        with pa.OSFile(str(target), "w") as file:
            sink = open_sink(file)
            sink.write(NEW)
            sink.commit()
        assert target.read_bytes() == NEW

    def test_positions_count_from_the_start_of_the_stream(self, old_target):
        file = io.BytesIO()
        file.write(b"12345")
        assert open_sink(file).position == 5
        with old_target.open("ab") as file:
            sink = open_sink(file)
            assert sink.position == len(OLD)
            sink.write(b"+")
            assert sink.position == len(OLD) + 1

    def test_a_stream_without_a_position_starts_at_zero(self):
        ours, theirs = socket.socketpair()
        with ours, theirs, ours.makefile("wb") as stream:
            sink = open_sink(stream)
            assert sink.position == 0
            sink.write(b"abc")
            sink.commit()
            assert theirs.recv(10) == b"abc"

    @pytest.mark.parametrize("at_most", [1, 7, 4096])
    def test_short_writes_are_continued(self, at_most):
        class Raw(io.RawIOBase):
            written = b""

            def writable(self):
                return True

            def write(self, data):
                self.written += bytes(data[:at_most])
                return min(len(data), at_most)

        file = Raw()
        sink = open_sink(file)
        sink.write(NEW)
        sink.commit()
        assert (file.written, sink.position) == (NEW, len(NEW))

    def test_a_raw_file_that_would_block_is_an_error(self):
        class Raw(io.RawIOBase):
            def writable(self):
                return True

            def write(self, data):
                return None

        with pytest.raises(BlockingIOError, match="non-blocking"):
            open_sink(Raw()).write(b"abc")

    def test_a_hand_made_write_may_return_nothing_and_keep_the_buffer(self):
        class Kept(list):
            write = list.append

        kept = Kept()
        sink = open_sink(kept)
        data = bytearray(b"abc")
        sink.write(data)
        data[:] = b"xyz"
        sink.commit()
        assert kept == [b"abc"]

    def test_their_own_errors_come_through(self):
        class Failing(io.BytesIO):
            def write(self, data):
                raise TimeoutError("the tape robot is stuck")

        sink = open_sink(Failing())
        with pytest.raises(TimeoutError, match="tape robot"):
            sink.write(b"abc")
        sink.abort()

    def test_a_full_disk_is_reported_at_the_latest_by_commit(self):
        with open("/dev/full", "wb", buffering=0) as raw:
            with pytest.raises(OSError, match="No space left"):
                open_sink(raw).write(b"abc")
            buffered = io.BufferedWriter(raw)
            sink = open_sink(buffered)
            sink.write(b"abc")
            with pytest.raises(OSError, match="No space left"):
                sink.commit()
            with pytest.raises(OSError, match="No space left"):
                buffered.detach()

    def test_abort_keeps_what_was_written_and_the_file_open(self):
        file = io.BytesIO()
        sink = open_sink(file)
        sink.write(b"abc")
        sink.abort()
        assert file.getvalue() == b"abc"

    def test_text_mode_is_refused(self, target):
        with target.open("w") as plain, tempfile.NamedTemporaryFile("w") as wrapped:
            files: list[Any] = [plain, wrapped, io.StringIO()]
            for file in files:
                with pytest.raises(TypeError, match="is in text mode: open it in binary mode"):
                    open_sink(file)

    def test_what_cannot_write_is_refused(self, old_target):
        with old_target.open("rb") as file:
            for unwritable in (file, pa.BufferReader(b"")):
                with pytest.raises(io.UnsupportedOperation, match="is not writable"):
                    open_sink(unwritable)


@pytest.mark.usefixtures("small_buffers")
class TestPyarrowFileSystems:
    @pytest.fixture
    def filesystem(self):
        filesystem = fs._MockFileSystem()
        filesystem.create_dir("dir")
        return filesystem

    def contents(self, filesystem, path):
        with filesystem.open_input_file(path) as file:
            return file.read()

    @pytest.mark.parametrize("name", ["target.mosaic", "target.gz"])
    @pytest.mark.parametrize("length", [0, 100, 101, 5000])
    def test_the_file_appears_whole_at_commit(self, filesystem, name, length):
        sink = open_sink(f"dir/{name}", filesystem)
        for start in range(0, length, 60):
            sink.write(NEW[start : min(start + 60, length)])
        assert filesystem.get_file_info(f"dir/{name}").type == fs.FileType.NotFound
        sink.commit()
        assert self.contents(filesystem, f"dir/{name}") == NEW[:length]

    def test_a_subtree_is_looked_into(self, filesystem):
        sink = open_sink("target", fs.SubTreeFileSystem("dir", filesystem))
        sink.write(NEW)
        sink.commit()
        assert self.contents(filesystem, "dir/target") == NEW

    def test_an_abort_leaves_no_trace(self, filesystem):
        sink = open_sink("dir/target", filesystem)
        sink.write(NEW)
        sink.abort()
        assert filesystem.get_file_info("dir/target").type == fs.FileType.NotFound

    def test_a_missing_directory_is_the_file_systems_error(self, filesystem):
        sink = open_sink("none/target", filesystem)
        sink.write(NEW)
        with pytest.raises(FileNotFoundError):
            sink.commit()
        with pytest.raises(ClosedError):
            sink.commit()

    @pytest.mark.parametrize("visible", [True, False])
    def test_a_failed_upload_is_deleted_only_if_it_is_ours(self, visible):
        handler = PartialHandler(visible)
        sink = open_sink("target", fs.PyFileSystem(handler))
        sink.write(NEW)
        with pytest.raises(OSError, match="No space left"):
            sink.commit()
        assert handler.store == ({} if visible else {"target": OLD})

    def test_a_file_system_that_may_not_be_looked_at_can_be_written(self, monkeypatch):
        handler = PartialHandler(visible=True, fails=False)
        monkeypatch.setattr(handler, "get_file_info", fail)
        sink = open_sink("target", fs.PyFileSystem(handler))
        sink.write(NEW)
        sink.commit()
        assert handler.store == {"target": NEW}


class PartialHandler(fs.FileSystemHandler):  # type: ignore[misc]
    """A file system holding one old file; uploads fail half-way, leaving a part if ``visible``."""

    def __init__(self, visible, fails=True):
        self.store = {"target": OLD}
        self.visible, self.fails = visible, fails

    def open_output_stream(self, path, metadata):
        handler = self

        class Stream(io.BytesIO):
            def write(self, data):
                if handler.visible:
                    handler.store[path] = bytes(data)[:10] if handler.fails else bytes(data)
                if handler.fails:
                    fail()
                return len(data)

        return pa.PythonFile(Stream(), mode="w")

    def get_file_info(self, paths):
        return [
            fs.FileInfo(path, fs.FileType.File, size=len(self.store[path]))
            if path in self.store
            else fs.FileInfo(path, fs.FileType.NotFound)
            for path in paths
        ]

    def delete_file(self, path):
        del self.store[path]

    def get_type_name(self):
        return "partial"

    def normalize_path(self, path):
        return path

    def _unused(self, *_):
        raise NotImplementedError

    copy_file = create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _unused
    get_file_info_selector = move = open_append_stream = open_input_file = _unused
    open_input_stream = _unused


@pytest.mark.usefixtures("small_buffers")
class TestFsspecFileSystems:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("memory://dir/target",),
            ("/dir/target", MemoryFileSystem()),
            ("memory://dir/target", MemoryFileSystem()),
            ("dir/target", fs.PyFileSystem(fs.FSSpecHandler(MemoryFileSystem()))),
            ("target", DirFileSystem("/dir", MemoryFileSystem())),
        ],
    )
    @pytest.mark.parametrize("length", [0, 100, 5000])
    def test_the_file_appears_whole_at_commit(self, memory_filesystem, arguments, length):
        sink = open_sink(*arguments)
        for start in range(0, length, 60):
            sink.write(NEW[start : min(start + 60, length)])
        assert memory_filesystem.store == {}
        sink.commit()
        assert memory_filesystem.cat_file("/dir/target") == NEW[:length]
        assert not memory_filesystem.transaction.files

    def test_an_abort_leaves_no_trace(self, memory_filesystem):
        memory_filesystem.pipe_file("/target", OLD)
        sink = open_sink("memory://target")
        sink.write(NEW)
        sink.abort()
        assert memory_filesystem.cat_file("/target") == OLD

    @pytest.mark.parametrize("error", [OSError("network down"), KeyboardInterrupt()])
    @pytest.mark.parametrize("failing_write", [0, 3])
    def test_a_failed_upload_is_discarded(self, old_target, monkeypatch, error, failing_write):
        filesystem = DirFileSystem(str(old_target.parent), FsspecLocal())
        opened = FsspecLocal._open
        calls = itertools.count()

        def open_failing(self, path, *args, **kwargs):
            file = opened(self, path, *args, **kwargs)
            write = file.write

            def fail_later(data):
                if next(calls) == failing_write:
                    raise error
                return write(data)

            file.write = fail_later
            return file

        monkeypatch.setattr(FsspecLocal, "_open", open_failing)
        sink = open_sink(old_target.name, filesystem)
        sink.write(NEW)
        with pytest.raises(type(error)) as caught:
            sink.commit()
        assert caught.value is error
        assert old_target.read_bytes() == OLD
        assert beside(old_target) == []
        assert not filesystem.transaction.files

    def test_what_a_failed_upload_left_visible_is_deleted(self, memory_filesystem, monkeypatch):
        # MemoryFileSystem shows a file as soon as it is opened.
        from fsspec.implementations.memory import MemoryFile

        calls = itertools.count()
        write = MemoryFile.write
        monkeypatch.setattr(
            MemoryFile,
            "write",
            lambda self, data: fail() if next(calls) == 2 else write(self, data),
        )
        sink = open_sink("memory://target")
        sink.write(NEW)
        with pytest.raises(OSError, match="No space left"):
            sink.commit()
        assert memory_filesystem.store == {}

    def test_inside_a_transaction_the_file_appears_at_its_end(self, memory_filesystem):
        with memory_filesystem.transaction:
            sink = open_sink("memory://target")
            sink.write(NEW)
            sink.commit()
            assert memory_filesystem.store == {}
        assert memory_filesystem.cat_file("/target") == NEW

    def test_a_failed_transaction_leaves_no_trace(self, memory_filesystem):
        def write_and_fail():
            with memory_filesystem.transaction:
                sink = open_sink("memory://target")
                sink.write(NEW)
                sink.commit()
                raise RuntimeError

        with pytest.raises(RuntimeError):
            write_and_fail()
        assert memory_filesystem.store == {}

    def test_the_spool_has_no_name_and_is_gone_after_commit_and_abort(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        before = open_descriptors()
        for finish in ("commit", "abort"):
            sink = open_sink("memory://target")
            sink.write(NEW)
            assert open_descriptors() == before + 1
            assert os.listdir(tmp_path) == []
            getattr(sink, finish)()
            assert open_descriptors() == before

    def test_a_full_local_disk_is_reported_and_nothing_is_uploaded(
        self, memory_filesystem, monkeypatch
    ):
        sink: Any = open_sink("memory://target")
        monkeypatch.setattr(sink._spool, "write", fail)
        with pytest.raises(OSError, match="No space left"):
            sink.write(NEW)
        sink.abort()
        assert memory_filesystem.store == {}


def test_the_documented_name_matches_what_is_left(target):
    assert ".<target name>.tmp-<pid>-<random>" in (local.__doc__ or "")
    directory, name = os.path.split(local._temporary_path(str(target)))
    assert Path(directory) == target.parent
    assert TEMPORARY.fullmatch(name)
