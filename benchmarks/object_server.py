"""An object store on loopback that answers late, and counts what it is asked."""

from __future__ import annotations

import re
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import unquote

from pyarrow.fs import S3FileSystem

__all__ = ["BUCKET", "ObjectServer", "Traffic"]

BUCKET = "bench"
_RANGE = re.compile(r"bytes=(\d+)-(\d+)$")
_DATE = "Thu, 01 Jan 2026 00:00:00 GMT"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What was asked since the last look.

    Parameters
    ----------
    requests : int
        Number of requests.
    num_bytes : int
        Bytes of objects that were sent.
    round_trips : int
        Length of the longest chain of requests of which each came after the answer to the one
        before.
    """

    requests: int
    num_bytes: int
    round_trips: int


class ObjectServer(AbstractContextManager["ObjectServer"]):
    """Serves the files of a directory as objects of one bucket, by the protocol of S3.

    Parameters
    ----------
    directory : Path
        Where the files are.
    latency : float
        Seconds between a request and its answer.
    """

    def __init__(self, directory: Path, latency: float) -> None:
        self.directory = directory
        self.latency = latency
        self._lock = threading.Lock()
        self._requests = self._num_bytes = self._round_trips = 0
        server = self

        class Handler(_Handler):
            store = server

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def filesystem(self) -> S3FileSystem:
        """Arrow's client of this store."""
        return S3FileSystem(
            anonymous=True,
            region="us-east-1",
            scheme="http",
            endpoint_override=f"127.0.0.1:{self._server.server_port}",
        )

    def traffic(self) -> Traffic:
        """What was asked since the last call."""
        with self._lock:
            found = Traffic(self._requests, self._num_bytes, self._round_trips)
            self._requests = self._num_bytes = self._round_trips = 0
        return found

    def started(self) -> int:
        """Count a request; returns the round trip that it belongs to."""
        with self._lock:
            self._requests += 1
            return self._round_trips + 1

    def answered(self, round_trip: int, num_bytes: int) -> None:
        """Count an answer, just before it is sent."""
        with self._lock:
            self._num_bytes += num_bytes
            self._round_trips = max(self._round_trips, round_trip)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    store: ObjectServer
    protocol_version = "HTTP/1.1"
    # Headers and content would otherwise wait for each other's acknowledgement.
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *arguments: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(send=False)

    def do_GET(self) -> None:
        self._answer(send=True)

    def _answer(self, send: bool) -> None:
        round_trip = self.store.started()
        time.sleep(self.store.latency)
        key = unquote(self.path.partition("?")[0]).removeprefix(f"/{BUCKET}/")
        path = self.store.directory / key
        if not path.is_file():
            self.store.answered(round_trip, 0)
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = path.stat().st_size
        found = _RANGE.match(self.headers.get("Range", ""))
        first, last = (int(found[1]), min(int(found[2]), size - 1)) if found else (0, size - 1)
        length = last - first + 1
        self.store.answered(round_trip, length if send else 0)
        self.send_response(206 if found else 200)
        if found:
            self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(length))
        self.send_header("Last-Modified", _DATE)
        self.send_header("ETag", '"1"')
        self.end_headers()
        if send:
            with path.open("rb") as file:
                file.seek(first)
                self.wfile.write(file.read(length))
