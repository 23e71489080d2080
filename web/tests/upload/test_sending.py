"""Test sending files to a portal with all kinds of faults, and after an interruption."""

import base64
import hashlib
import json
import random
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from brainscore_core.errors import ConfigurationError, UploadError
from brainscore_core.supported_data_standards.brainio.packaging import package_stimulus_set_locally
from brainscore_core.testing.synthetic import make_stimulus_set
from brainscore_web import upload as client
from brainscore_web.__main__ import main
from brainscore_web.upload import Portal, files_of, identifier_of, send

PART_BYTES = 1_000
PLUGIN = {"__init__.py": "code", "metadata.yml": "access: public", "test.py": "tests", "../evil": "x"}


class FakePortal(BaseHTTPRequestHandler):
    """A fake portal and S3 in one; `server.faults` are answered first, `server.puts` counts sent parts."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Keep silent."""

    def answer(self, status, content, **headers):
        body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        server = self.server
        content = self.rfile.read(int(self.headers["Content-Length"]))
        assert "Authorization" not in self.headers
        time.sleep(server.pause_s)
        with server.lock:
            server.puts += 1
            fault = server.faults.pop(0) if server.faults else None
        if fault == "reset":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        if fault == "silence":
            time.sleep(4)
            fault = (500, "", {})
        if fault == "flip":
            content = bytes([content[0] ^ 1]) + content[1:]
        elif fault is not None:
            status, code, headers = fault
            self.answer(status, f"<Error><Code>{code}</Code><Message>has expired</Message></Error>", **headers)
            return
        sha256 = base64.b64encode(hashlib.sha256(content).digest()).decode()
        if sha256 != self.headers["x-amz-checksum-sha256"]:
            self.answer(400, "<Error><Code>BadDigest</Code></Error>")
            return
        _, name, number = self.path.split("/")
        with server.lock:
            server.stored[name][int(number)] = content
        self.answer(200, "")

    def do_GET(self):
        server = self.server
        if self.path.endswith("/plugin"):
            self.answer(200, {"files": PLUGIN})
            return
        files = [
            {
                "number": place,
                "name": name,
                "size": size,
                "received": [
                    {
                        "number": number,
                        "size": len(content),
                        "checksum": base64.b64encode(hashlib.sha256(content).digest()).decode(),
                    }
                    for number, content in server.stored[name].items()
                ],
            }
            for place, (name, size) in enumerate(server.files.items())
        ]
        result = {"bucket": "bucket/folder"} if server.state == "published" else None
        answer = {"id": 7, "state": server.state, "files": files, "result": result, "problems": server.problems}
        if server.state == "waiting":
            server.state = server.verdict
        self.answer(200, answer)

    def do_POST(self):
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "null")
        if self.path == "/api/v1/device":
            self.answer(
                200, {"device_code": "d", "user_code": "AB-CD", "verification_uri": "u", "interval": 0, "expires_in": 9}
            )
        elif self.path == "/api/v1/device/token":
            server.state = server.state or "receiving"
            server.asked += 1
            self.answer(*((428, {}) if server.asked < 3 else (200, {"token": "secret", "expires": ""})))
        elif self.headers["Authorization"] != "Bearer secret":
            self.answer(401, {"problems": [{"what": "you are not signed in", "where": "", "remedy": "Sign in."}]})
        elif self.path == "/api/v1/uploads":
            for file in body["files"]:
                server.files[file["name"]] = file["size"]
                server.stored.setdefault(file["name"], {})
            self.answer(201, {"id": 7, "part_bytes": PART_BYTES})
        elif self.path.endswith("/parts"):
            name = list(server.files)[int(self.path.split("/")[-2])]
            part = body["parts"][0]
            address = f"http://127.0.0.1:{server.server_port}/{name}/{part['number']}"
            url = {"number": part["number"], "url": address, "headers": {"x-amz-checksum-sha256": part["sha256"]}}
            self.answer(200, {"urls": [url]})
        elif self.path.endswith("/complete"):
            self.answer(200, {})
        else:
            server.state = "waiting"
            self.answer(202, {})


@pytest.fixture
def fake_portal(own_homes, monkeypatch):
    monkeypatch.setattr(client, "_FIRST_PAUSE_S", 0.01)
    with ThreadingHTTPServer(("127.0.0.1", 0), FakePortal) as server:
        server.lock, server.faults, server.puts, server.asked, server.pause_s = threading.Lock(), [], 0, 0, 0
        server.files, server.stored, server.state, server.verdict, server.problems = (
            {},
            {},
            "receiving",
            "published",
            [],
        )
        server.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "packages"
    folder.mkdir()
    rng = random.Random(0)  # noqa: S311 - made-up content
    (folder / "stimulus_Mine2026.csv").write_bytes(rng.randbytes(2_500))
    (folder / "stimulus_Mine2026.zip").write_bytes(rng.randbytes(19_001))
    (folder / "notes.txt").write_text("mine")
    return folder


def received_files(server):
    return {name: b"".join(parts[number] for number in sorted(parts)) for name, parts in server.stored.items()}


def sent_files(folder):
    return {file.name: file.read_bytes() for file in files_of(folder)}


FAULTS = [
    "reset",
    "silence",
    "flip",
    (500, "", {}),
    (503, "SlowDown", {"Retry_After": "0"}),
    (429, "", {}),
    (403, "AccessDenied", {}),
    (403, "RequestTimeTooSkewed", {}),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_temporary_faults_are_retried(fake_portal, folder, fault, monkeypatch):
    if fault == "silence":
        monkeypatch.setattr("brainscore_web.upload._SILENT_S", 2)
    fake_portal.faults = [fault] * 4  # one more would be too many for one part
    assert (
        send(Portal(fake_portal.address, "secret"), files_of(folder), "Mine2026", is_private=False)["state"]
        == "waiting"
    )
    assert received_files(fake_portal) == sent_files(folder)
    assert fake_portal.puts == 23 + 4


@pytest.mark.parametrize(("fault", "puts"), [((403, "SignatureDoesNotMatch", {}), 1), ((503, "", {}), 5)])
def test_refused_part_is_an_error_and_a_second_run_continues(fake_portal, folder, fault, puts, monkeypatch):
    monkeypatch.setattr("brainscore_web.upload._WORKERS", 1)
    if fault[0] == 403:
        monkeypatch.setattr(client, "_EXPIRED", client.re.compile("never"))
    portal = Portal(fake_portal.address, "secret")
    fake_portal.faults = [None, None, *[fault] * 9]
    with pytest.raises(UploadError, match=r"Part 3 of stimulus_Mine2026\.csv is refused"):
        send(portal, files_of(folder), "Mine2026", is_private=False)
    assert fake_portal.puts == 2 + puts
    fake_portal.faults, fake_portal.puts = [], 0
    (folder / "stimulus_Mine2026.csv").write_bytes(b"0" * 2_500)  # packaged again: the old file's parts are replaced
    send(portal, files_of(folder), "Mine2026", is_private=False)
    assert received_files(fake_portal) == sent_files(folder)
    send(portal, files_of(folder), "Mine2026", is_private=False)
    assert fake_portal.puts == 23


@pytest.fixture
def packages(tmp_path):
    """Return a folder with a packaged stimulus set."""
    folder, stimuli = tmp_path / "packaged", make_stimulus_set(tmp_path / "pictures", 3)
    package_stimulus_set_locally(stimuli, "Mine2026", folder)
    return folder


def test_files_with_problems_are_not_sent(fake_portal, packages, capsys):
    (table,) = packages.glob("*.csv")
    table.write_text(table.read_text() + "another,another.png\n")
    assert main(["upload", str(packages), "--portal", fake_portal.address]) == 1
    assert (
        "Nothing was sent, because the files have problems; brainscore validate lists them too"
        in capsys.readouterr().err
    )
    assert (fake_portal.asked, fake_portal.files) == (0, {})


def test_upload_completes_a_scaffold_of_the_same_data(fake_portal, packages, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("brainscore_web.upload._POLL_S", 0.01)
    init = (
        'BIBTEX = """{}"""\nload(\n    bucket="{}",  # where the upload put it\n    sha1="12",\n    version_id={},\n)\n'
    )
    monkeypatch.setitem(PLUGIN, "__init__.py", init.format("@misc{<key>}", "b/7", '"v1"'))
    to = tmp_path / "data/mine2026"
    to.mkdir(parents=True)
    asking = 'access: "<public or private>"\nlicence: CC0-1.0\ncontact: {}\n'
    (to / "metadata.yml").write_text(asking.format('"<e-mail address, or GitHub name with @>"'))
    benchmark = tmp_path / "benchmarks/mine2026/metadata.yml"
    benchmark.parent.mkdir(parents=True)
    benchmark.write_text(asking.format('"@me"'))
    monkeypatch.setitem(PLUGIN, "metadata.yml", 'access: "public"\nlicence: "<SPDX>"\ncontact: "@octocat"\n')
    (to / "__init__.py").write_text(init.format("@article{me}", "...", None))
    words = ["upload", str(packages), "--portal", fake_portal.address, "--to", str(to)]
    assert main(words) == 0
    assert (to / "__init__.py").read_text() == init.format("@article{me}", "b/7", '"v1"')
    assert (to / "metadata.yml").read_text() == 'access: "public"\nlicence: CC0-1.0\ncontact: "@octocat"\n'
    assert benchmark.read_text() == 'access: "public"\nlicence: CC0-1.0\ncontact: "@me"\n'
    own = init.format("@article{me}", "...", None).replace("12", "13")
    (to / "__init__.py").write_text(own)
    assert main(words) == 2
    assert "registers other files or was edited" in capsys.readouterr().err
    assert (to / "__init__.py").read_text() == own
    (to / "__init__.py").unlink()
    assert main(words) == 2
    assert "already exists but is not a plugin" in capsys.readouterr().err


def test_upload_in_the_terminal(fake_portal, packages, tmp_path, own_homes, capsys, monkeypatch):
    folder = packages
    monkeypatch.setattr("brainscore_web.upload._POLL_S", 0.01)
    to = tmp_path / "mine2026"
    assert main(["upload", str(folder)]) == 2
    assert "Name the portal" in capsys.readouterr().err
    assert main(["upload", str(folder), "--portal", fake_portal.address, "--to", str(to)]) == 0
    told = capsys.readouterr()
    assert "enter AB-CD" in told.err
    assert "Mine2026 is published: s3://bucket/folder" in told.out
    assert {file.name: file.read_text() for file in to.iterdir()} == {k: v for k, v in PLUGIN.items() if "/" not in k}
    (stored,) = own_homes.rglob("portal_tokens.json")
    assert stored.stat().st_mode & 0o777 == 0o600
    fake_portal.state, fake_portal.verdict = "receiving", "rejected"
    fake_portal.problems = [
        {"where": "a.nc", "what": "no units", "remedy": "set them", "kind": "hint"},
        {"where": "table", "what": "is \x1b[31mempty", "remedy": "write rows"},
    ]
    assert main(["upload", str(folder)]) == 1  # the only known portal
    told = capsys.readouterr()
    assert told.out == "table: is \\u001b[31mempty. write rows\nhint: a.nc: no units. set them\n"
    assert "AB-CD" not in told.err
    stored.chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        client.read_tokens()


def test_selected_files_and_identifier(folder, tmp_path):
    assert [file.name for file in files_of(folder)] == ["stimulus_Mine2026.csv", "stimulus_Mine2026.zip"]
    assert identifier_of(files_of(folder)) == "Mine2026"
    (folder / "assy_Other.nc").touch()
    with pytest.raises(ConfigurationError, match=r"Mine2026, Other.*--identifier"):
        identifier_of(files_of(folder))
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name in ("a.png", ".hidden"):
        (pictures / name).touch()
    with pytest.raises(ConfigurationError, match="has no stimulus_"):
        files_of(pictures)
    (pictures / "table.csv").touch()
    assert [file.name for file in files_of(pictures)] == ["a.png", "table.csv"]
    with pytest.raises(ConfigurationError, match="expected https"):
        Portal("http://portal.example", None)


@pytest.mark.slow
def test_killed_client_resends_at_most_one_part_per_worker(fake_portal, tmp_path, own_homes):
    client.write_token(fake_portal.address, "secret")
    folder, stimuli = tmp_path / "packages", make_stimulus_set(tmp_path / "pictures", 120)
    package_stimulus_set_locally(stimuli, "Mine2026", folder)
    command = [sys.executable, "-m", "brainscore_web", "upload", str(folder)]
    kills, rng = 2, random.Random(0)  # noqa: S311 - moments
    fake_portal.pause_s = 0.01
    for _ in range(kills):
        before = fake_portal.puts
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while fake_portal.puts < before + rng.randint(5, 40):
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.005)
        process.kill()
        process.wait()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert received_files(fake_portal) == sent_files(folder)
    n_parts = sum(-(-len(content) // PART_BYTES) for content in sent_files(folder).values())
    assert fake_portal.puts <= n_parts + kills * 4
