"""The server of the page: this machine only, and only for who knows the address.

It listens on the loopback address. The first part of every path is a random token, and the ``Host``
must be ours, so that neither other users of the machine nor pages of other sites can ask it
anything. The page loads nothing from elsewhere.
"""

from __future__ import annotations

import hmac
import json
import secrets
import select
import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pymosaic.errors import InvalidOptionError, MosaicError
from pymosaic.report.browse.describe import describe
from pymosaic.report.browse.table import BrowsedTable, Cancelled
from pymosaic.report.page import browse_page

__all__ = ["BrowseServer"]

_MOST_AT_ONCE = 4
_SECONDS_TO_WAIT = 30
_MAX_DESCRIBED_ROWS = 5_000_000
_MAX_PATH = 64 << 10


class BrowseServer:
    """Serves the page of a table, or of two that are compared.

    Parameters
    ----------
    paths : list of str
        One or two files or datasets.
    port : int
        The port; 0 for any that is free.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> from pymosaic.report.browse import BrowseServer
    >>> pymosaic.write_table(pa.table({"n": [1, 2]}), "two.mosaic")
    >>> with BrowseServer(["two.mosaic"]) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, paths: list[str], port: int = 0) -> None:
        self.tables: list[BrowsedTable] = [BrowsedTable(path) for path in paths]
        self.token: str = secrets.token_urlsafe(24)
        self.slots: threading.BoundedSemaphore = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page, token included."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def serve(self) -> None:
        """Answer requests until interrupted."""
        self._server.serve_forever()

    def __enter__(self) -> BrowseServer:
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.server_close()

    def answer(self, what: str, asked: dict[str, str], cancelled: Callable[[], bool]) -> Any:
        """The answer to a question of the page, as plain values."""
        table = self.tables[0]
        where = asked.get("where", "").strip()
        if what == "columns":
            kinds, numbers = table.types()
            return {
                "title": " and ".join(one.path for one in self.tables),
                "names": table.names,
                "types": kinds,
                "typeOf": numbers,
                "rows": table.num_rows,
                "other": self._other(),
            }
        if what == "count":
            return {"rows": table.count(where, cancelled)}
        if what == "cells":
            names = [_name(table, text) for text in asked.get("columns", "").split(",")]
            first, count = _number(asked, "first"), _number(asked, "count")
            found: dict[str, Any] = {"cells": table.cells(first, count, names, where, cancelled)}
            if len(self.tables) > 1:
                found["other"] = self._other_cells(first, count, names, where, cancelled)
            return found
        if what == "describe":
            name = _name(table, asked.get("column", ""))
            values, complete = table.column(name, where, _MAX_DESCRIBED_ROWS, cancelled)
            return describe(values) | {"complete": complete}
        raise InvalidOptionError(f"there is nothing called {what!r}")

    def _other(self) -> dict[str, Any] | None:
        """How the columns of the second table differ."""
        if len(self.tables) < 2:
            return None
        first, second = (dict(zip(t.names, t.schema.types, strict=True)) for t in self.tables)
        return {
            "rows": self.tables[1].num_rows,
            "missing": sum(name not in second for name in first),
            "added": sum(name not in first for name in second),
            "changed": sum(name in second and second[name] != kind for name, kind in first.items()),
        }

    def _other_cells(
        self, first: int, count: int, names: list[str], where: str, cancelled: Callable[[], bool]
    ) -> list[list[str | None] | None]:
        other = self.tables[1]
        known = set(other.names)
        shared = [name for name in names if name in known]
        cells = other.cells(first, count, shared, where, cancelled) if shared else []
        by_name = dict(zip(shared, cells, strict=True))
        return [by_name.get(name) for name in names]


def _number(asked: dict[str, str], name: str) -> int:
    text = asked.get(name, "")
    if not text.isdecimal() or len(text) > 18:
        raise InvalidOptionError(f"{name} must be a number, got {text!r}")
    return int(text)


def _name(table: BrowsedTable, text: str) -> str:
    """The column with this number, as the page knows it."""
    number = _number({"column": text}, "column")
    if number >= len(table.names):
        raise InvalidOptionError(f"there is no column number {number}")
    return table.names[number]


def _handler(owner: BrowseServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers one connection."""

        protocol_version = "HTTP/1.1"
        server_version = "pymosaic"
        sys_version = ""
        timeout = 60

        def log_message(self, format: str, *arguments: object) -> None:
            """Requests are not logged: addresses hold the token."""

        def do_GET(self) -> None:
            """Answer a question, or send the page."""
            if len(self.path) > _MAX_PATH or not self._is_trusted():
                self._send(HTTPStatus.NOT_FOUND, b"not found", "text/plain")
                return
            address = urlsplit(self.path)
            what = address.path[len(owner.token) + 2 :]
            if what == "":
                page, policy = browse_page()
                self._send(HTTPStatus.OK, page, "text/html; charset=utf-8", policy)
                return
            asked = {key: values[-1] for key, values in parse_qs(address.query).items()}
            self._answer(what, asked)

        def _is_trusted(self) -> bool:
            host = self.headers.get("Host", "")
            hosts = (f"127.0.0.1:{owner.port}", f"localhost:{owner.port}")
            token = self.path.split("/", 2)[1] if self.path.count("/") >= 2 else ""
            return host in hosts and hmac.compare_digest(
                token.encode("utf-8", "replace"), owner.token.encode()
            )

        def _answer(self, what: str, asked: dict[str, str]) -> None:
            if not owner.slots.acquire(timeout=_SECONDS_TO_WAIT):
                self._json(HTTPStatus.SERVICE_UNAVAILABLE, {"error": "too many questions at once"})
                return
            try:
                found = owner.answer(what, asked, self._is_gone)
                status = HTTPStatus.OK
            except Cancelled:
                self.close_connection = True
                return
            except (MosaicError, OSError) as error:
                status, found = HTTPStatus.BAD_REQUEST, {"error": str(error)}
            finally:
                owner.slots.release()
            self._json(status, found)

        def _is_gone(self) -> bool:
            """Whether the browser has closed the connection."""
            readable, _, _ = select.select([self.connection], [], [], 0)
            if not readable:
                return False
            try:
                peeked: bytes = self.connection.recv(1, socket.MSG_PEEK)
            except OSError:
                return True
            return not peeked

        def _json(self, status: HTTPStatus, value: Any) -> None:
            text = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
            self._send(status, text, "application/json")

        # Not compressed: within one machine that takes longer than it saves.
        def _send(
            self, status: HTTPStatus, body: bytes, kind: str, policy: str = "default-src 'none'"
        ) -> None:
            try:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("Content-Security-Policy", policy)
                self.send_header("Referrer-Policy", "no-referrer")
                self.send_header("X-Content-Type-Options", "nosniff")
                self.send_header("Cross-Origin-Resource-Policy", "same-origin")
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

    return Handler
