"""Serve a folder on this machine alone, for looking at it in a browser."""

from __future__ import annotations

import errno
import os
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from brainscore_core.errors import ConfigurationError

__all__ = ["make_server", "serve"]

_PORT = 8000  # if nobody says which


class _Handler(SimpleHTTPRequestHandler):
    """Answer with files, nothing kept by the browser, nothing said about requests."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def make_server(folder: Path, port: int | None = 0) -> ThreadingHTTPServer:
    """Return a server of a folder, not yet running; its port is ``server_port``.

    Parameters
    ----------
    folder : Path
        Need not be there yet.
    port : int or None
        0 is one that is free; None is 8000, or one that is free.

    Raises
    ------
    ConfigurationError
        If the port cannot be had.
    """
    answer = partial(_Handler, directory=str(folder))
    try:
        return ThreadingHTTPServer(("127.0.0.1", _PORT if port is None else port), answer)
    except OSError as error:
        if port is None and error.errno == errno.EADDRINUSE:
            return make_server(folder, 0)
        raise ConfigurationError(
            f"Port {port or _PORT} of this machine cannot be used: {error.strerror}. Name another one, or 0 for any "
            "that is free: --port 0"
        ) from None


def serve(server: ThreadingHTTPServer, tell: Callable[[str], None], *, browser: bool) -> None:
    """Answer until somebody interrupts; `tell` is given the address.

    Parameters
    ----------
    browser : bool
        Whether a browser is asked to show it, where there is a screen. One that would take over the terminal is not.
    """
    address = f"http://127.0.0.1:{server.server_port}/"
    tell(address)
    if browser and (sys.platform in ("win32", "darwin") or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()):
        with suppress(webbrowser.Error):
            webbrowser.open(address)
    server.serve_forever()
