"""Serve a leaderboard of made-up records to Chromium while its pages are measured."""

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from harness import Numbers, keep, options_of, size

from brainscore_web.leaderboard.serving import make_server


def measure_site(
    doc: str | None,
    records: str,
    measure: Callable[[Path, str, str], Numbers],
    report: Callable[[Numbers], str],
    title: str,
) -> Numbers:
    """Be a script that measures the pages of a leaderboard; return its results.

    Parameters
    ----------
    records : str
        Number of made-up models and benchmarks, such as ``'120x40'``.
    measure : callable
        ``measure(folder, address, chromium)``; the address ends with a slash.
    report : callable
        Return results as Markdown, for the section `title` of RESULTS.md.
    """
    options = options_of(doc, site=(None, "folder of a site; without it one of made-up records is built"))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("This needs chromium, such as Debian's package of that name.")
    with tempfile.TemporaryDirectory() as folder:
        site = Path(options.site or Path(folder) / "site")
        if not options.site:
            made_up = records if size(1, 0) else "12x6"
            build = [sys.executable, "-m", "brainscore_web", "leaderboard", "build", "--made-up", made_up]
            subprocess.run([*build, "--to", str(site)], check=True)
        with make_server(site) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            results = measure(site, f"http://127.0.0.1:{server.server_port}/", chromium)
            server.shutdown()
    if options.site:
        print(report(results))
    else:
        keep(Path(sys.argv[0]).stem, results, title=title, text=report(results))
    return results
