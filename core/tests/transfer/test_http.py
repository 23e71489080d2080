"""A file arrives complete and verified or not at all, whatever the connection, the server or the disk do."""

import contextlib
import hashlib
import http.server
import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import zlib

import numpy as np
import pytest

from brainscore_core.errors import ChecksumError, ConfigurationError, DownloadError
from brainscore_core.transfer import fetch as engine
from brainscore_core.transfer import http as web
from brainscore_core.transfer.http import fetch_url

CONTENT = bytes(range(256)) * 2**13  # two parts
HALF = len(CONTENT) // 2


def sha256_of(content):
    return hashlib.sha256(content).hexdigest()


SHA256 = sha256_of(CONTENT)


def fetch_bytes(server, target, sha256=SHA256):
    """Fetch a file and return its bytes; next to it there may only be its locks and notes."""
    content = fetch_url(server.url, target, sha256=sha256).read_bytes()
    assert leftovers(target) == []
    return content


class WebServer(http.server.ThreadingHTTPServer):
    """Serves `content` under every path.

    ``faults`` holds the answers to the next requests: a status, ``("cut", n)`` (n bytes, then the connection closes)
    or None.
    ``requests`` lists the Range header of every request, or "" if it had none.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.faults, self.requests = CONTENT, [], []
        self.understands_ranges = self.says_etag = self.says_length = True
        self.bytes_per_s = None
        self.url = f"http://127.0.0.1:{self.server_port}/models/net-1.pth"

    def handle_error(self, *_):
        pass  # in these tests clients hang up


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        wanted, body = self.headers.get("Range", ""), server.content
        server.requests.append(wanted)
        fault = server.faults.pop(0) if server.faults else None
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", "/models/net-1.pth")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if isinstance(fault, int):
            self.send_error(fault)
            return
        etag = f'"{zlib.crc32(body)}"'
        first = int(re.fullmatch(r"bytes=(\d+)-", wanted).group(1)) if wanted else 0
        ranged = bool(wanted) and server.understands_ranges and self.headers.get("If-Range", etag) == etag
        self.send_response(206 if ranged else 200)
        if ranged:
            self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
            body = body[first:]
        if server.says_etag:
            self.send_header("ETag", etag)
        if server.says_length:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        self.send_body(body[: fault[1]] if fault else body)
        self.close_connection = fault is not None or not server.says_length

    def send_body(self, body):
        step = 2**15
        for begin in range(0, len(body), step):
            self.wfile.write(body[begin : begin + step])
            if self.server.bytes_per_s:
                time.sleep(step / self.server.bytes_per_s)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with WebServer() as running:
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(web, "_FIRST_PAUSE_S", 0.001)
    for name in ("BRAINSCORE_MIRROR", "BRAINSCORE_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "weights" / "net-1.pth"


def leftovers(target):
    """Return the names of files next to the target that are neither locks nor notes about it."""
    known = {target.name, f"{target.name}.lock", f".{target.name}.fetched.json", f"{target.name}.sha256"}
    return sorted(path.name for path in target.parent.iterdir() if path.name not in known)


# --- the file ---------------------------------------------------------------------------------------------------------


def test_file_is_downloaded_once(server, target):
    assert fetch_url(server.url, target, sha256=SHA256.upper()) == target
    assert target.read_bytes() == CONTENT
    assert fetch_url(server.url, str(target), sha256=SHA256) == target
    assert server.requests == [""]
    assert list(target.parent.glob("*.sha256")) == []  # a full digest needs no record
    assert leftovers(target) == []
    memo = json.loads(target.with_name(".net-1.pth.fetched.json").read_text())
    assert (memo["source"], memo["sha256"]) == (server.url, SHA256)
    moved = server.url.replace("/models/", "/moved/")
    assert fetch_url(moved, target.with_name("moved"), sha256=SHA256).read_bytes() == CONTENT


def test_existing_file_is_verified_once_and_replaced_if_changed(server, target, monkeypatch, caplog):
    target.parent.mkdir()
    target.write_bytes(CONTENT)
    fetch_url(server.url, target, sha256=SHA256)
    assert server.requests == []
    target.write_bytes(CONTENT[:-1] + b"?")
    with caplog.at_level(logging.WARNING):
        fetch_url(server.url, target, sha256=SHA256)
    assert target.read_bytes() == CONTENT
    assert "does not have the promised content" in caplog.text
    monkeypatch.setattr(engine, "file_digest", lambda *_: pytest.fail("hashed"))
    fetch_url(server.url, target, sha256=SHA256)


@pytest.mark.parametrize("says_length", [True, False])
def test_wrong_content_is_removed(server, target, says_length):
    server.content, server.says_length = b"<html>Please log in", says_length
    problem = rf"expected sha256 {SHA256}, found {sha256_of(server.content)} \(19 bytes\)"
    with pytest.raises(ChecksumError, match=problem):
        fetch_url(server.url, target, sha256=SHA256)
    assert not target.exists()
    assert leftovers(target) == []


def test_file_of_unknown_size_and_empty_file_arrive(server, target):
    server.says_length = False
    assert fetch_bytes(server, target) == CONTENT
    server.content = b""
    assert fetch_url(server.url, target.with_name("empty"), sha256=sha256_of(b"")).read_bytes() == b""


@pytest.mark.parametrize(
    ("url", "digest", "problem"),
    [
        *(("https://example.org/a", digest, "expected 64 hex") for digest in ("", "abc1234", "g" * 64, "a" * 65)),
        *((url, SHA256, "expected https") for url in ("file:///etc/passwd", "net.pth", "ftp://example.org/net.pth")),
    ],
)
def test_rejects_malformed_digests_and_addresses(target, url, digest, problem):
    with pytest.raises(ConfigurationError, match=problem):
        fetch_url(url, target, sha256=digest)


# --- a published prefix -----------------------------------------------------------------------------------------------


def test_first_digits_suffice_and_the_full_digest_is_recorded(server, target):
    fetch_url(server.url, target, sha256=SHA256[:8])
    record = target.with_name("net-1.pth.sha256")
    assert record.read_text() == f"{SHA256}  net-1.pth\n"
    if shutil.which("sha256sum"):
        subprocess.run(["sha256sum", "-c", record.name], cwd=target.parent, check=True, stdout=subprocess.DEVNULL)


def test_rejects_wrong_first_digits(server, target):
    wrong = f"{int(SHA256[:8], 16) ^ 1:08x}"
    with pytest.raises(ChecksumError, match=f"expected sha256 {wrong}, found {SHA256}"):
        fetch_url(server.url, target, sha256=wrong)
    assert list(target.parent.glob("*.sha256")) == []


def test_another_file_with_the_same_first_digits_is_rejected(server, target):
    fetch_url(server.url, target, sha256=SHA256[:8])
    record = target.with_name("net-1.pth.sha256")
    record.write_text(f"{SHA256[:8]}{'0' * 56}  net-1.pth\n")  # as if another one had come first
    target.unlink()
    with pytest.raises(ChecksumError, match="differs from the file that was fetched first"):
        fetch_url(server.url, target, sha256=SHA256[:8])
    assert not target.exists()
    record.unlink()
    assert fetch_url(server.url, target, sha256=SHA256[:8]).read_bytes() == CONTENT


def test_without_a_digest_later_files_must_equal_the_first(server, target, caplog):
    fetch_url(server.url, target, sha256=None)
    assert target.with_name("net-1.pth.sha256").read_text().startswith(SHA256)
    target.write_bytes(b"damaged")
    server.content = CONTENT[::-1]
    with pytest.raises(ChecksumError, match="differs from the file that was fetched first"):
        fetch_url(server.url, target, sha256=None)
    server.content = CONTENT
    assert fetch_url(server.url, target, sha256=None).read_bytes() == CONTENT


def interrupt(server, target, sha256=SHA256, match=""):
    """Fetch a file without success: only half of it arrives."""
    server.faults = [("cut", HALF + 5)] + [503] * 4
    with pytest.raises(DownloadError, match=match):
        fetch_url(server.url, target, sha256=sha256)
    server.requests.clear()


@pytest.mark.parametrize("says_etag", [True, False])
def test_without_a_digest_only_an_unchanged_file_is_resumed(server, target, says_etag):
    server.says_etag = says_etag
    interrupt(server, target, sha256=None)
    assert fetch_url(server.url, target, sha256=None).read_bytes() == CONTENT
    assert server.requests == (["", f"bytes={HALF}-"] if says_etag else [""])


# --- interruptions ----------------------------------------------------------------------------------------------------


def test_cut_download_resumes_where_it_broke(server, target):
    server.faults = [("cut", HALF + 2**18), None, ("cut", 2**17)]
    assert fetch_url(server.url, target, sha256=SHA256).read_bytes() == CONTENT
    ranged = [int(each[6:-1]) for each in server.requests if each]
    assert len(ranged) == 2
    assert HALF <= ranged[0] < ranged[1]  # what arrived before the second cut counts too


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_busy_server_is_asked_again(server, target, status):
    server.faults = [status, status]
    assert fetch_url(server.url, target, sha256=SHA256).read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_giving_up_keeps_the_received_part(server, target):
    interrupt(server, target, match=r"503.*the partial download is kept. 5 attempts")
    assert not target.exists()
    assert fetch_bytes(server, target) == CONTENT
    assert server.requests == ["", f"bytes={HALF}-"]


@pytest.mark.parametrize("seed", range(10))
def test_file_arrives_despite_random_faults(server, target, seed):
    dice = np.random.default_rng(seed)
    faults = [("cut", int(dice.integers(len(CONTENT)))), 503, None]
    server.faults = [faults[each] for each in dice.integers(3, size=4)]
    server.understands_ranges, server.says_etag = dice.random(2) < 0.7
    assert fetch_bytes(server, target) == CONTENT


def test_progress_is_shown(server, target, monkeypatch, capsys):
    monkeypatch.setattr(engine, "_ALWAYS_SHOW_PROGRESS_BYTES", 10)
    fetch_url(server.url, target, sha256=SHA256)
    assert re.search(r"net-1\.pth: 100%.*2\.10M/2\.10M", capsys.readouterr().err)


def test_server_without_ranges_sends_the_whole_file_again(server, target):
    interrupt(server, target)
    server.understands_ranges = False
    assert fetch_url(server.url, target, sha256=SHA256).read_bytes() == CONTENT
    assert server.requests == ["", f"bytes={HALF}-"]


@pytest.mark.parametrize(
    ("says_etag", "requests"),
    [(True, [""]), (False, ["", f"bytes={HALF}-", ""])],  # without an ETag, parts that do not fit are fetched once more
)
def test_file_replaced_before_resuming_is_fetched_from_the_start(server, target, says_etag, requests):
    server.says_etag = says_etag
    interrupt(server, target)
    server.content = CONTENT[::-1]
    assert fetch_bytes(server, target, sha256_of(server.content)) == server.content
    assert server.requests == requests


def test_file_replaced_while_resuming_is_fetched_again(server, target):
    interrupt(server, target)
    replaced = CONTENT[::-1]

    class Replacing(list):
        def append(self, wanted):
            super().append(wanted)
            if wanted:  # when the rest is requested, there is another file
                server.content = replaced

    server.requests = Replacing()
    assert fetch_url(server.url, target, sha256=sha256_of(replaced)).read_bytes() == replaced


DOWNLOAD = textwrap.dedent("""
    import signal, sys
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests in the background may ignore it
    from brainscore_core.transfer.http import fetch_url
    import httpx  # what it would import first, so that the kill hits the work itself
    print("ready", flush=True)
    fetch_url(sys.argv[1], sys.argv[2], sha256=sys.argv[3])
""")


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_killed_process_loses_less_than_a_part(server, target, stop):
    server.content = CONTENT * 4
    server.bytes_per_s = 8_000_000
    arguments = [sys.executable, "-c", DOWNLOAD, server.url, str(target), sha256_of(server.content)]
    progress = target.with_name(".net-1.pth.part.list")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        while not progress.exists() or progress.read_text().count("\n") < 4:  # a header and three parts
            assert process.poll() is None
            time.sleep(0.005)
        os.kill(process.pid, stop)
    assert not target.exists()
    server.bytes_per_s = None
    server.requests.clear()
    assert fetch_bytes(server, target, sha256_of(server.content)) == server.content
    assert int(server.requests[1][6:-1]) >= 3 * 2**20


def test_concurrent_processes_download_once(server, target):
    server.bytes_per_s = 8_000_000
    arguments = [sys.executable, "-c", DOWNLOAD, server.url, str(target), SHA256]
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(subprocess.Popen(arguments, stdout=subprocess.DEVNULL)) for _ in range(3)]
        assert [process.wait(60) for process in running] == [0, 0, 0]
    assert server.requests == [""]


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "reason"),
    [(404, "there is no such file"), (410, "no such file"), (403, "denies access"), (418, "contains no file")],
)
def test_refusals_are_reported_at_once(server, target, status, reason):
    server.faults = [status]
    with pytest.raises(DownloadError, match=rf"{re.escape(server.url)} \({status} .*{reason}"):
        fetch_url(server.url, target, sha256=SHA256)
    assert len(server.requests) == 1


def test_error_without_network_names_the_connection(target):
    with pytest.raises(DownloadError, match="Check the connection"):
        fetch_url("http://127.0.0.1:9/net.pth", target, sha256=SHA256)


def test_error_for_a_full_disk_names_the_free_space(server, target, monkeypatch):
    monkeypatch.setattr(engine.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 1000))
    with pytest.raises(DownloadError, match=rf"needs {len(CONTENT)} bytes in .*, where 1000 are free"):
        fetch_url(server.url, target, sha256=SHA256)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="other: root may write everywhere")
def test_unwritable_folder_is_an_error(server, target):
    target.parent.mkdir()
    target.parent.chmod(0o500)
    with pytest.raises(DownloadError, match="cannot be put there"):
        fetch_url(server.url, target, sha256=SHA256)


def test_offline_error_says_where_to_put_the_file(server, target, monkeypatch, tmp_path):
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path / "mirror"))
    place = re.escape(f"{tmp_path}/mirror/127.0.0.1/models/net-1.pth")
    target.parent.mkdir()
    (tmp_path / "lent").symlink_to(target.parent)  # as for plugin tests, which are lent a user's weights
    asked = tmp_path / "lent" / target.name
    with pytest.raises(DownloadError, match=rf"is not at {target} nor at {place}, and BRAINSCORE_OFFLINE=1 prevents"):
        fetch_url(server.url, asked, sha256=SHA256)
    assert server.requests == []
    assert list(target.parent.iterdir()) == []  # nothing was written, since a box permits no writes


# --- the mirror -------------------------------------------------------------------------------------------------------


@pytest.fixture
def mirror_file(monkeypatch, tmp_path):
    path = tmp_path / "mirror" / "127.0.0.1" / "models" / "net-1.pth"
    path.parent.mkdir(parents=True)
    monkeypatch.setenv("BRAINSCORE_MIRROR", str(tmp_path / "mirror"))
    return path


def test_mirror_is_tried_first(server, target, mirror_file):
    mirror_file.write_bytes(CONTENT)
    assert fetch_url(server.url, target, sha256=SHA256).read_bytes() == CONTENT
    assert server.requests == []


def test_files_of_the_mirror_are_verified(server, target, mirror_file, monkeypatch):
    mirror_file.write_bytes(b"something else")
    assert fetch_url(server.url, target, sha256=SHA256).read_bytes() == CONTENT
    target.unlink()
    monkeypatch.setenv("BRAINSCORE_OFFLINE", "1")
    with pytest.raises(ChecksumError, match="does not have the promised content"):
        fetch_url(server.url, target, sha256=SHA256)


def test_address_cannot_leave_the_mirror(server, target, mirror_file, tmp_path):
    (tmp_path / "mirror" / "secret").write_bytes(CONTENT)
    fetch_url(server.url.replace("/models/net-1.pth", "/..%2Fsecret"), target, sha256=SHA256)
    assert len(server.requests) == 1  # not read from the mirror


def test_silent_server_is_tried_once_for_all_its_files(target, monkeypatch):
    monkeypatch.setattr(web, "_ANSWER_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        for _ in range(2):
            with pytest.raises(DownloadError, match=r"127\.0\.0\.1 cannot be reached \(no answer within 0\.2 s\)"):
                fetch_url(f"{address}/net-1.pth", target, sha256=None)
        listener.settimeout(1)
        listener.accept()  # the check whether the server can be reached
        listener.accept()  # the only request
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()
