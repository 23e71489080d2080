"""Start a portal with S3 and an account provider, all on this machine."""

import base64
import hashlib
import http.server
import os
import re
import secrets
import socket
import struct
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest

pytest.importorskip("fastapi")
from brainscore_core.testing.machine import free_port
from brainscore_web.portal import demo, serving, sign_in
from brainscore_web.portal.app import make_app, make_service
from brainscore_web.portal.checking.worker import Report, Worker
from brainscore_web.portal.settings import PortalSettings

BUCKETS = ("brainscore-public", "brainscore-quarantine", "brainscore-private")
SUITABLE = Report([], {"__init__.py": "", "metadata.yml": 'access: "<public or private>"\n', "test.py": ""}, None)


@pytest.fixture(scope="session")
def s3():
    """Return the address of an S3 in memory."""
    os.environ.update(demo.KEYS)
    with demo.storage(*BUCKETS) as address:
        yield address


@pytest.fixture
def settings(s3, tmp_path, make_database):
    return settings_for(s3, tmp_path, make_database())


def settings_for(s3, tmp_path, database):
    return PortalSettings(
        database=database,
        folder=tmp_path / "work",
        s3_endpoint=s3,
        secret=secrets.token_hex(32),
        maintainers=f"#{demo.number_of('boss')}",
        part_bytes=5 * 2**20,
        heartbeat_s=0.2,
        silent_s=2,
    )


class FaultyStorage(http.server.ThreadingHTTPServer):
    """Forwards requests to S3, applying the next of its `faults` to each; `asked` counts all requests."""

    daemon_threads = True

    def __init__(self, behind):
        super().__init__(("127.0.0.1", 0), FaultyStorageHandler)
        self.behind, self.faults, self.asked = behind, iter(()), 0
        self.address = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_):
        """Do not log reset connections."""


class FaultyStorageHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one(self):
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked += 1
        fault = next(self.server.faults, None)
        if fault == "slow":
            time.sleep(0.8)
        if isinstance(fault, tuple):
            status, code = fault
            self.answer(status, {"Content-Type": "application/xml"}, f"<Error><Code>{code}</Code></Error>".encode())
        elif fault != "reset":
            kept = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
            done = httpx.request(self.command, f"{self.server.behind}{self.path}", headers=kept, content=content)
            if fault != "answer lost":
                self.answer(done.status_code, done.headers, done.content)
        if fault in ("reset", "answer lost"):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815 - names set by the library

    def answer(self, status, headers, content):
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "connection", "date", "server", "transfer-encoding"):
                self.send_header(name, value)
        self.send_header(
            "Content-Length", headers.get("Content-Length", "0") if self.command == "HEAD" else len(content)
        )
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def storage(s3):
    """Return an S3 whose faults the test sets."""
    with FaultyStorage(s3) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class Caller(httpx.Client):
    """A signed-in user who calls the API; `put` sends files as the clients do."""

    def __init__(self, address, headers):
        super().__init__(base_url=f"{address}/api/v1/", timeout=60, headers=headers)
        self.storage = httpx.Client(timeout=60)

    def announce(self, identifier, files, visibility="public"):
        listed = [
            {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
        ]
        return self.post("uploads", json={"identifier": identifier, "visibility": visibility, "files": listed})

    def urls(self, upload, file, content, numbers=None):
        """Return each part's URL with headers, and its bytes."""
        size = upload["part_bytes"]
        parts = [content[start : start + size] for start in range(0, len(content), size)]
        wanted = [
            {"number": number, "sha256": base64.b64encode(hashlib.sha256(part).digest()).decode()}
            for number, part in enumerate(parts, 1)
            if numbers is None or number in numbers
        ]
        answer = self.post(f"uploads/{upload['id']}/files/{file['number']}/parts", json={"parts": wanted})
        assert answer.status_code == 200, answer.text
        return [(entry, parts[entry["number"] - 1]) for entry in answer.json()["urls"]]

    def put(self, entry, part):
        return self.storage.put(entry["url"], content=part, headers=entry["headers"]).status_code

    def send_files(self, upload, files):
        for file in upload["files"]:
            for entry, part in self.urls(upload, file, files[file["name"]]):
                assert self.put(entry, part) == 200
            answer = self.post(f"uploads/{upload['id']}/files/{file['number']}/complete")
            assert answer.status_code == 200, answer.text

    def upload(self, identifier, files, visibility="public"):
        """Send all files and finalize; return the upload's id."""
        answer = self.announce(identifier, files, visibility)
        assert answer.status_code in (200, 201), answer.text
        self.send_files(answer.json(), files)
        assert self.post(f"uploads/{answer.json()['id']}/finalize").status_code == 202
        return answer.json()["id"]


class RunningPortal:
    """A running portal; `caller` (session) and `terminal` (token) call its API, `browser` opens its pages."""

    def __init__(self, service, address):
        self.service, self.address = service, address

    def caller(self, login):
        """Sign a user in with a browser session, without the provider."""
        person = sign_in.welcome(self.service, str(demo.number_of(login)), login)
        secret = sign_in.issue(self.service, person, "session")
        csrf = sign_in.csrf_of(self.service, sign_in.Visitor(person, secret))
        return Caller(self.address, {"Cookie": f"{sign_in.COOKIE}={secret}", "X-CSRF-Token": csrf})

    def terminal(self, login):
        """Sign a user in with a terminal's token."""
        person = sign_in.welcome(self.service, str(demo.number_of(login)), login)
        token = sign_in.issue(self.service, person, "token")
        return Caller(self.address, {"Authorization": f"Bearer {token}"})

    def browser(self, login, cookie=None, **changed):
        """Sign a user in through the pages, with or without a cookie; `changed` replaces parameters of the redirect."""
        client = httpx.Client(base_url=self.address, timeout=30)
        answer = client.get("/sign-in")
        state = re.search(r"__Host-sign-in=[^;]+", answer.headers["set-cookie"]).group()
        there = httpx.post(answer.headers["location"], data={"login": login}, timeout=60)
        back = httpx.URL(there.headers["location"])
        back = back.copy_merge_params(changed)
        self.back = httpx.get(back, headers={"Cookie": "; ".join(filter(None, (state, cookie)))}, timeout=60)
        session = re.search(r"__Host-session=[^;]+", ", ".join(self.back.headers.get_list("set-cookie")))
        if session:
            client.headers["Cookie"] = session.group()
        return client

    def worker(self):
        return Worker(self.service, threading.Event())

    def work(self, report=SUITABLE):
        """Check waiting uploads; a report replaces the check in the box."""
        worker = self.worker()
        if report is not None:
            worker._boxed = lambda upload, folder: report
        while worker.step():
            pass


@contextmanager
def running_portal(settings):
    """Serve a portal at a free port, with an account provider on this machine."""
    port = free_port()
    address = f"http://localhost:{port}"
    with demo.serving(demo.make_provider(address, "demo", "secret")) as provider_port:
        accounts = f"http://localhost:{provider_port}"
        service = make_service(
            replace(
                settings,
                public_url=address,
                client_id="demo",
                client_secret="secret",  # noqa: S106 - secret of the local provider
                authorize_url=f"{accounts}/authorize",
                token_url=f"{accounts}/token",
                person_url=f"{accounts}/user",
            )
        )
        serving.migrate(settings.database)
        with demo.serving(make_app(service), port=port):
            yield RunningPortal(service, address)


@pytest.fixture
def serve():
    return running_portal


@pytest.fixture(scope="session")
def serve_module():
    return lambda s3, folder: running_portal(settings_for(s3, folder, f"sqlite:///{folder / 'portal.sqlite'}"))


@pytest.fixture
def portal(settings):
    with running_portal(settings) as portal:
        yield portal
