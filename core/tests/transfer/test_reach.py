"""A missing network is reported at once and checked once a minute; slow servers are left to the engines."""

import errno
import socket
from types import SimpleNamespace

import pytest

from brainscore_core.errors import DownloadError
from brainscore_core.transfer import fetch, s3_download
from brainscore_core.transfer.http import fetch_url
from brainscore_core.transfer.s3 import S3Object

NO_NAME = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


@pytest.fixture
def network(monkeypatch):
    """Make connections fail with an error, or succeed if it is None; count connections and seconds of pauses."""
    state = SimpleNamespace(error=NO_NAME, connections=0, paused_s=0.0, now=1.0, takes_s=0.0, limits_s=set())

    def connect(address, timeout):
        state.connections += 1
        state.limits_s.add(timeout)
        state.now += state.takes_s
        if state.error is not None:
            raise state.error
        return SimpleNamespace(close=lambda: None)

    def sleep(seconds):
        state.paused_s += seconds

    monkeypatch.setattr(fetch.socket, "create_connection", connect)
    monkeypatch.setattr(fetch, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: state.now))
    monkeypatch.setattr(fetch, "_asked", {})
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return state


@pytest.mark.parametrize(
    "error", [NO_NAME, OSError(errno.ENETUNREACH, "Network is unreachable"), TimeoutError("timed out")]
)
def test_both_engines_report_an_unreachable_host_after_one_check(network, error, tmp_path, monkeypatch):
    network.error = error
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        DownloadError, match=r"https://example.org/net.pth: example.org cannot be reached.*BRAINSCORE_MIRROR"
    ):
        fetch_url("https://example.org/net.pth", tmp_path / "net.pth", sha256=None)
    asked = network.connections
    assert asked == (3 if error is NO_NAME else 1)
    assert network.paused_s <= 1
    sources = [S3Object(bucket="brainscore-storage", key=key) for key in ("a.nc", "b.nc")]
    for source in sources:
        with pytest.raises(DownloadError, match="cannot be reached"):
            s3_download.bring(source, None, None)
    assert s3_download.remote_sizes(sources) == [None, None]
    assert network.connections == 2 * asked


def test_silent_name_server_is_asked_once(network):
    network.takes_s = 10.0  # the limit of the system
    with pytest.raises(DownloadError, match="cannot be reached"):
        fetch.check_reachable("https://example.org/a", "a")
    assert (network.connections, network.paused_s) == (1, 0)


def test_four_silent_addresses_take_less_than_15_seconds(network):
    """The addresses of a host are tried one after the other, each for the whole limit."""
    network.error = None
    fetch.check_reachable("https://example.org/a", "a")
    (limit_s,) = network.limits_s
    assert 4 * limit_s < 15


def test_server_is_checked_again_each_minute_until_reached(network):
    for network.now, network.error, connections in ((1, NO_NAME, 3), (60, None, 3), (62, None, 4), (200, NO_NAME, 4)):
        try:
            fetch.check_reachable("https://example.org/a", "a")
        except DownloadError:
            assert network.now < 62
        assert network.connections == connections


def test_refusals_and_proxies_are_left_to_the_engines(network, monkeypatch):
    network.error = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    fetch.check_reachable("https://example.org/a", "a")
    network.error = NO_NAME
    monkeypatch.setenv("all_proxy", "http://proxy.example.org:3128")
    fetch.check_reachable("https://other.example.org/a", "a")
    assert network.connections == 1
