"""Serve a folder to browsers on this machine only."""

from __future__ import annotations

import errno
import io
import os
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from brainscore_core.errors import ConfigurationError

_PORT = 8000  # by default
_HTTP = 80  # which a browser does not name


class _Handler(SimpleHTTPRequestHandler):
    """Serve files of the folder without caching or logging, to those who ask for this machine by its own name.

    A page of another site can make its own name mean this machine (DNS rebinding), but still sends that name.
    """

    server: ThreadingHTTPServer

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        refusal = self._refusal()
        if refusal is None:
            return super().send_head()
        self.send_error(refusal)
        return None

    def _refusal(self) -> HTTPStatus | None:
        port = "" if self.server.server_port == _HTTP else f":{self.server.server_port}"
        hosts = [host.lower() for host in self.headers.get_all("Host", [])]
        if len(hosts) != 1 or hosts[0] not in (f"127.0.0.1{port}", f"localhost{port}"):
            return HTTPStatus.MISDIRECTED_REQUEST
        if "\0" in unquote(self.path):
            return HTTPStatus.BAD_REQUEST
        is_inside = Path(self.translate_path(self.path)).resolve().is_relative_to(Path(self.directory).resolve())
        return None if is_inside else HTTPStatus.NOT_FOUND  # a link leads out

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def make_server(folder: Path, port: int | None = 0) -> ThreadingHTTPServer:
    """Return a server of a folder, which may be created later; it is not yet running.

    The port (``server_port``) is 0 for any free one; None: 8000, or any free one if that is taken. Raises
    `ConfigurationError` if the port is not available.
    """
    answer = partial(_Handler, directory=str(folder))
    try:
        return ThreadingHTTPServer(("127.0.0.1", _PORT if port is None else port), answer)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return make_server(folder, 0)
        raise ConfigurationError(
            f"Port {port or _PORT} of this machine cannot be used: {error.strerror}. Name another one, or 0 for any "
            "free port: --port 0"
        ) from None


def serve(server: ThreadingHTTPServer, tell: Callable[[str], None], *, browser: bool) -> None:
    """Serve until interrupted; `tell` receives the address.

    If asked for, it opens in a browser, but only on a screen: a text browser would take over the terminal.
    """
    address = f"http://127.0.0.1:{server.server_port}/"
    tell(address)
    if browser and (sys.platform in ("win32", "darwin") or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()):
        with suppress(webbrowser.Error):
            webbrowser.open(address)
    server.serve_forever()
