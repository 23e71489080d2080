"""Report at once that a server is out of reach, before requests are repeated."""

from __future__ import annotations

import socket
import time
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from brainscore_core.errors import DownloadError

_CONNECT_TIMEOUT_S = 3  # for each address of a host; a lost packet is sent again after 1 s
_PAUSES_S = (0.2, 0.8)  # a busy name server may fail for a moment
_VALID_S = 60  # after a failure, a process asks again; a server that was reached stays so
_asked: dict[tuple[str, int], tuple[float, OSError | None]] = {}


def check_reachable(url: str, name: str) -> None:
    """Raise a `DownloadError` about the file `name` if no connection to the host of a URL can be made.

    Proxies are not asked; a host that refuses the connection may be starting.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    if getproxies().keys() & {parts.scheme, "all"} and not proxy_bypass(host):
        return
    asked, error = _asked.get((host, port), (0.0, None))
    if not asked or (error is not None and time.monotonic() - asked > _VALID_S):
        error = _connect(host, port)
        _asked[host, port] = time.monotonic(), error
    if error is not None:
        raise DownloadError(
            f"Cannot download {name}: {host} is out of reach ({error}). Connect this machine, set HTTPS_PROXY if there "
            "is a proxy, or put the file into a mirror folder (BRAINSCORE_MIRROR)."
        ) from error


def note_silence(url: str, error: OSError) -> None:
    """Let `check_reachable` refuse the host of a URL, which takes connections and does not answer."""
    parts = urlsplit(url)
    _asked[parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)] = time.monotonic(), error


def _connect(host: str, port: int) -> OSError | None:
    start = time.monotonic()
    for pause_s in (*_PAUSES_S, None):
        try:
            socket.create_connection((host, port), _CONNECT_TIMEOUT_S).close()
        except socket.gaierror as error:
            if pause_s is None or time.monotonic() - start > _CONNECT_TIMEOUT_S:  # it is not busy, but silent
                return error
            time.sleep(pause_s)
        except ConnectionError:
            break
        except OSError as error:
            return error
        else:
            break
    return None
