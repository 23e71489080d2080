"""Serve a leaderboard while its pages are measured."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served(site: Path | None, size: str) -> Iterator[tuple[Path, str]]:
    """Give the folder of a site and its address on this machine, ending with a slash.

    Parameters
    ----------
    site : Path or None
        None: one of made-up records is built, and removed afterwards.
    size : str
        Of that one, such as ``'120x40'``.
    """
    from brainscore_web.leaderboard.serving import make_server

    with tempfile.TemporaryDirectory() as folder:
        if site is None:
            site = Path(folder) / "site"
            build = [sys.executable, "-m", "brainscore_web", "leaderboard", "build", "--made-up", size]
            subprocess.run([*build, "--to", str(site)], check=True)
        with make_server(site) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield site, f"http://127.0.0.1:{server.server_port}/"
            server.shutdown()
