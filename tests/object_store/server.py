"""An S3-protocol server on loopback, with a log of the requests that it got."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

__all__ = ["ObjectStore", "Request"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request: ``GET /bucket/key`` with its query and the range of bytes it asks for."""

    method: str
    path: str
    query: str
    byte_range: str | None

    @property
    def is_listing(self) -> bool:
        """Whether this lists names."""
        return self.method == "GET" and "list-type=2" in self.query


class _SilentHandler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *arguments: Any) -> None:
        pass


class ObjectStore:
    """The server, on a port that was free; every request is logged when it arrives.

    A listing of this server fails if an object is deleted meanwhile. With ``one_at_a_time`` it
    answers one request after the other, as clients that do everything at once need it.
    """

    def __init__(self, *, one_at_a_time: bool = False) -> None:
        self._turn = threading.Lock() if one_at_a_time else contextlib.nullcontext()
        self._application = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._server = make_server(
            "127.0.0.1", 0, self._answer, threaded=True, request_handler=_SilentHandler
        )
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def _answer(self, environment: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        request = Request(
            environment["REQUEST_METHOD"],
            environment["PATH_INFO"],
            environment.get("QUERY_STRING", ""),
            environment.get("HTTP_RANGE"),
        )
        with self._lock:
            self._requests.append(request)
        with self._turn:
            answer: Iterable[bytes] = self._application(environment, start)
        return answer

    @property
    def requests(self) -> list[Request]:
        """What was asked since the log was cleared, in the order of arrival."""
        with self._lock:
            return list(self._requests)

    def clear(self) -> None:
        """Forget the requests so far."""
        with self._lock:
            self._requests.clear()

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
