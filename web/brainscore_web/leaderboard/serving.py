"""Serve a folder on this machine alone, for looking at it in a browser."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

__all__ = ["make_server", "serve"]


class _Handler(SimpleHTTPRequestHandler):
    """Answer with files, nothing kept by the browser, nothing said about requests."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def make_server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of a folder, not yet running; on port 0, one that is free (``server_address``)."""
    return ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder)))


def serve(folder: Path, port: int, tell: Callable[[str], None]) -> None:
    """Serve a folder until somebody interrupts."""
    with make_server(folder, port) as server:
        tell(f"http://127.0.0.1:{server.server_address[1]}/ shows {folder}; Ctrl-C ends it.")
        server.serve_forever()
