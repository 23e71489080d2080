"""Servers in place of S3: a complete one (moto), and one that fails on request."""

import contextlib
import functools
import http.server
import re
import threading
import time
import zlib

import boto3
import botocore.session
import pytest
from moto.server import ThreadedMotoServer

import brainscore_vision


class FaultyS3(http.server.ThreadingHTTPServer):
    """Serves the entry of `objects` for a path, or `content` if there is none.

    ``faults`` holds the answers to the next downloads, ``requests`` lists every request as (method, path,
    authorization), ``ranges`` lists the Range header of every download, and ``bytes_per_s`` slows downloads down.
    A fault is a status, other content (bytes), ``"cut"`` (half of the body, then the connection closes), ``"hang"``
    (half of the body, then silence) or None (no fault).
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), FaultyHandler)
        self.content, self.objects, self.faults = b"responses of neurons " * 100, {}, []
        self.requests, self.ranges = [], []
        self.refuses = lambda handler: None
        self.bytes_per_s = None
        self.understands_ranges = True
        self.url = f"http://127.0.0.1:{self.server_port}"

    def downloads(self):
        return [path for method, path, _ in self.requests if method == "GET"]

    def handle_error(self, *_):
        pass  # some tests kill the client


class FaultyHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.server.requests.append(("HEAD", self.path, self.headers.get("Authorization")))
        status = self.server.refuses(self)
        self.answer(status or 200, b"" if status else self.stored(), send_body=False)

    def do_GET(self):
        self.server.requests.append(("GET", self.path, self.headers.get("Authorization")))
        self.server.ranges.append(self.headers.get("Range"))
        fault = self.server.faults.pop(0) if self.server.faults else None
        if isinstance(fault, int):
            self.answer(fault, b"")
            return
        body, content_range = fault if isinstance(fault, bytes) else self.stored(), None
        match = self.headers.get("If-Match")
        if match and match != self.etag():
            self.answer(412, b"")
            return
        if (wanted := self.headers.get("Range")) and self.server.understands_ranges:
            first, last = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", wanted).groups())
            content_range = f"bytes {first}-{last}/{len(body)}"
            body = body[first : last + 1]
        self.answer(
            206 if content_range else 200,
            body,
            content_range=content_range,
            cut=fault in ("cut", "hang"),
            hang_s=30 if fault == "hang" else 0,
        )

    def stored(self):
        return self.server.objects.get(self.path.partition("?")[0], self.server.content)

    def etag(self):
        return f'"{zlib.crc32(self.stored())}"'

    def answer(self, status, body, *, content_range=None, send_body=True, cut=False, hang_s=0):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", self.etag())
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        if send_body:
            self.send(body[: len(body) // 2] if cut else body)
        time.sleep(hang_s)
        if cut:
            self.close_connection = True

    def send(self, body):
        if self.server.bytes_per_s is None:
            self.wfile.write(body)
            return
        step = max(1, self.server.bytes_per_s // 20)
        for begin in range(0, len(body), step):
            self.wfile.write(body[begin : begin + step])
            self.wfile.flush()
            time.sleep(0.05)

    def log_message(self, *_):
        pass


@pytest.fixture(autouse=True)
def one_loader(monkeypatch):
    """Let boto3 read its descriptions of services once for all tests, not once for each client."""
    monkeypatch.setattr(botocore.session, "create_loader", one_loader_for)


one_loader_for = functools.cache(botocore.session.create_loader)


@pytest.fixture
def no_credentials(monkeypatch, tmp_path):
    """Hide any S3 settings of this machine."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE", "ENDPOINT_URL_S3"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("CONFIG_FILE", "SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(f"AWS_{name}", str(tmp_path / "absent"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def server(no_credentials, monkeypatch):
    with FaultyS3() as running:
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        yield running
        running.shutdown()


@pytest.fixture(scope="module")
def moto_url():
    """Run an S3 server on this machine; return its address."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with contextlib.redirect_stderr(None):
        server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def new_bucket(no_credentials, moto_url, monkeypatch):
    """Return a function that creates a bucket and returns a client; delete all buckets after the test."""
    own = {"ENDPOINT_URL": moto_url, "ACCESS_KEY_ID": "me", "SECRET_ACCESS_KEY": "x", "DEFAULT_REGION": "us-east-1"}
    for name, value in own.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    client, buckets = boto3.client("s3"), []

    def make(bucket, *, versioned=True):
        client.create_bucket(Bucket=bucket)
        if versioned:
            client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        buckets.append(bucket)
        return client

    yield make
    for bucket in buckets:
        for entry in client.list_object_versions(Bucket=bucket).get("Versions", []):
            client.delete_object(Bucket=bucket, Key=entry["Key"], VersionId=entry["VersionId"])
        client.delete_bucket(Bucket=bucket)


@pytest.fixture
def registries():
    """Return the vision library; remove the registrations of a test afterwards."""
    tables = (brainscore_vision.data_registry, brainscore_vision.stimulus_set_registry)
    before = [dict(table) for table in tables]
    yield brainscore_vision
    for table, content in zip(tables, before, strict=True):
        table.clear()
        table.update(content)
