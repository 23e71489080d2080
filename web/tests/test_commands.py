"""Test the command line of the leaderboard, and serving its sites."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager
from dataclasses import replace

import pytest

from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_web.__main__ import main
from brainscore_web.leaderboard.build import make_server


@contextmanager
def served(folder):
    """Serve a folder from a thread."""
    with make_server(folder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_made_up_scores_are_built_and_served(tmp_path, capsys):
    assert main(["leaderboard", "build", "--made-up", "6x6", "--to", str(tmp_path / "site")]) == 0
    assert "6 models, 6 benchmarks" in capsys.readouterr().err
    with served(tmp_path / "site") as server:
        host, port = server.server_address
        assert host == "127.0.0.1"  # not reachable from other machines
        with urllib.request.urlopen(f"http://{host}:{port}/") as answer:
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.read() == (tmp_path / "site/index.html").read_bytes()
        pages = list((tmp_path / "site").rglob("*.html"))
        assert len(pages) > 16
        assert all("these numbers do not describe any real model" in page.read_text("utf-8") for page in pages)


@pytest.fixture(scope="module")
def request_path(tmp_path_factory):
    """Serve a folder with links; yield a function that requests a path and returns status and content."""
    tmp_path = tmp_path_factory.mktemp("served")
    site = tmp_path / "site"
    site.mkdir()
    (site / "page.html").write_text("page")
    (tmp_path / "secret.txt").write_text("secret")
    (site / "inside.html").symlink_to("page.html")
    (site / "file").symlink_to(tmp_path / "secret.txt")
    (site / "folder").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to(site)
    with served(tmp_path / "link") as server:

        def ask(path, host="127.0.0.1:{}", method="GET"):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
            connection.putrequest(method, path, skip_host=True)
            for each in host.split():
                connection.putheader("Host", each.format(server.server_port))
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.read()

        yield ask


@pytest.mark.skipif(sys.platform == "win32", reason="lets only some make links")
@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/page.html", "127.0.0.1:{}", 200),
        ("/page.html", "LocalHost:{}", 200),
        ("/inside.html", "127.0.0.1:{}", 200),
        *(("/page.html", host, 421) for host in ("rebound.example:{}", "127.0.0.1", "", "evil localhost:{}")),
        *((path, "127.0.0.1:{}", 404) for path in ("/file", "/folder/secret.txt", "/folder/", "/%2e%2e/secret.txt")),
        *((path, "127.0.0.1:{}", 400) for path in ("/page.html%00", "/%00/..", "/page.html%00.png")),
    ],
)  # fmt: skip
def test_serves_only_this_machine_and_the_folder(request_path, path, host, status):
    """Refused are rebound host names, links out of the folder, and NUL in a path."""
    for method in "GET", "HEAD":
        answered, content = request_path(path, host, method)
        assert answered == status
        assert b"secret" not in content
        assert content == (b"page" if status == 200 and method == "GET" else content)


def test_builds_from_given_records_and_catalogue(records, made, tmp_path, capsys):
    unscored = replace(made.catalogue.benchmarks[-1], identifier="Unscored2026", parent=None)
    catalogue = replace(made.catalogue, benchmarks=(*made.catalogue.benchmarks, unscored))
    (tmp_path / "catalogue.json").write_text(catalogue.to_json(), encoding="utf-8")
    folders = {"records": records, "catalogue": tmp_path / "catalogue.json", "to": tmp_path / "site"}
    arguments = [f"--{name}={folder}" for name, folder in folders.items()]
    assert main(["leaderboard", "build", *arguments]) == 0
    assert "1 registered benchmark with neither a record nor an average is not listed." in capsys.readouterr().err
    assert made.catalogue.notice in (tmp_path / "site/index.html").read_text("utf-8")
    gone = next(iter(sorted(records.glob("*/*.json"))))
    gone.parent.rename(tmp_path / "elsewhere")
    assert main(["leaderboard", "build", *arguments]) == 1
    assert "--gone FILE" in capsys.readouterr().err
    (tmp_path / "gone.txt").write_text(f"{gone.parent.name}\n")
    assert main(["leaderboard", "build", *arguments, "--gone", str(tmp_path / "gone.txt")]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--made-up", "40"], "expected MODELSxBENCHMARKS"),
        (["--made-up", "4x4", "--at", "main"], "Records come from a single source"),
        (["--made-up", "4x4", "--date", "2026-03-01"], "pass --at too"),
        (["--at", "HEAD", "--date", "March"], "expected a day as YYYY-MM-DD"),
        (["--records", "nowhere", "--catalogue", "catalogue.json"], "is not a folder"),
        (["--recrods", "nowhere"], "Possible options: --records"),
        (["--records", "catalogue.json", "--catalogue", "catalogue.json"], "is not a folder"),
        (["--catalogue", "nowhere.json"], "'nowhere.json' does not exist"),
        (["--made-up", "4x4", "--gone", "nowhere.txt"], "'nowhere.txt' does not exist"),
        (["--made-up", "4x4", "--processes", "0"], "greater than or equal to 1"),
        (["--at", "nowhere", "--catalogue", "catalogue.json"], "has no branch or commit 'nowhere'"),
        (["--catalogue", "catalogue.json"], "has no scores yet"),
    ],
)
def test_wrong_arguments_are_reported(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BRAINSCORE_HOME", str(tmp_path / "home"))
    (tmp_path / "catalogue.json").write_text("{}")
    assert main(["leaderboard", "build", *arguments, "--to", "site"]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("port", "said"), [("70000", "less than or equal to 65535"), ("busy", "cannot be used: Address already in use")]
)
def test_unusable_port_is_reported_before_building(port, said, tmp_path, capsys):
    with make_server(tmp_path) as other:
        given = str(other.server_port) if port == "busy" else port
        site = tmp_path / "site"
        assert main(["leaderboard", "serve", "--made-up", "4x4", "--to", str(site), "--port", given]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not site.exists()


def test_busy_default_port_is_replaced(tmp_path):
    with make_server(tmp_path, None) as first, make_server(tmp_path, None) as second:
        assert first.server_port != second.server_port != 0


def test_unwritable_site_is_reported_before_computing(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["leaderboard", "build", "--made-up", "4x4", "--to", str(tmp_path / "file/site")]) == 2
    assert "is not writable" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="keeps the folder one is in, and lets only some make links")
@pytest.mark.parametrize("to", [".", "link"])
def test_current_or_linked_folder_can_be_replaced(to, tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    if to == "link":
        (tmp_path / "real").mkdir()
        (folder / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert main(["leaderboard", "build", "--made-up", "3x3", "--to", to]) == 0
    there = tmp_path / ("real" if to == "link" else "folder")
    assert (there / "index.html").is_file()
    assert not [each for each in tmp_path.rglob("*") if each.name.startswith(".") and each.name != ".nojekyll"]


def test_serve_replaces_any_earlier_board(tmp_path, monkeypatch, capsys):
    """Other or fewer records are not treated as lost scores when a board is only viewed."""
    monkeypatch.setattr("brainscore_web.leaderboard.build.serve", lambda server, tell, *, browser: tell("address"))
    for size in ("8x6", "4x4"):
        to_site = ["--made-up", size, "--to", str(tmp_path / "site")]
        assert main(["leaderboard", "serve", *to_site, "--port", "0"]) == 0
        assert "address shows" in capsys.readouterr().err
    assert main(["leaderboard", "build", "--made-up", "3x3", *to_site[2:]]) == 1
    assert "--to FOLDER" in capsys.readouterr().err


@pytest.mark.parametrize("where", ["folder", "address"])
def test_local_records_override_a_board(where, first, tmp_path, monkeypatch, capsys):
    """Local scores replace published ones of the same pair; all others equal the board exactly."""
    monkeypatch.setattr("brainscore_web.leaderboard.build.serve", lambda server, tell, *, browser: tell("address"))
    old, requests = json.loads((first / "site/data/board.json").read_text()), []
    scored = next(file for file in sorted((first / "records").glob("*/*.json")) if ScoreRecord.read(file).score)
    theirs = ScoreRecord.read(scored)
    own = [replace(theirs, normalization=None, **more) for more in ({"model": "mine", "score": 0.9}, {"score": 0.8})]
    for record in own:
        record.write(record_path(tmp_path / "own", record.model, record.benchmark))
    with served(first / "site") as server:
        handler = server.RequestHandlerClass.func
        monkeypatch.setattr(handler, "log_request", lambda it, *_: requests.append((it.command, it.path)))
        board = {"folder": str(first / "site"), "address": f"http://127.0.0.1:{server.server_port}/index.html"}[where]
        arguments = ["--with", board, "--records", str(tmp_path / "own"), "--to", str(tmp_path / "site")]
        assert main(["leaderboard", "serve", "--port", "0", *arguments]) == 0
    files = ["/data/board.json", "/data/scores.json"] if where == "address" else []
    assert sorted(set(requests)) == [("GET", file) for file in files]  # nothing is sent
    new = json.loads((tmp_path / "site/data/board.json").read_text())
    assert set(new["models"]["id"]) == {*old["models"]["id"], "mine"}
    assert not new["models"]["public"][new["models"]["id"].index("mine")]
    assert new["nodes"]["id"] == old["nodes"]["id"]
    tables = [json.loads((site / "data/scores.json").read_text()) for site in (first / "site", tmp_path / "site")]
    before, after = ({(row["model"], row["benchmark"]): row["score"] for row in table} for table in tables)
    changed = {pair for pair, score in after.items() if score != before.get(pair)}
    assert changed == {(record.model, record.benchmark) for record in own}
    assert main(["leaderboard", "serve", "--port", "0", "--with", str(tmp_path), *arguments[2:]]) == 2
    assert "is not a leaderboard" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="interrupts as a terminal of POSIX does")
@pytest.mark.parametrize("screen", [True, False])
def test_board_is_served_until_interrupted(screen, tmp_path):
    """A browser opens if there is a screen; interrupting leaves no traceback and no port in use."""
    (tmp_path / "sitecustomize.py").write_text("import webbrowser\nwebbrowser.open = lambda it: print('opened', it)\n")
    kept = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment = {**kept, **({"DISPLAY": ":0"} if screen else {}), "PYTHONUNBUFFERED": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "brainscore_web", "leaderboard", "serve", "--made-up", "4x4"]
    command += ["--port", "0", "--to", str(tmp_path / "site")]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    # A background parent may ignore SIGINT, which children inherit.
    options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, env=environment, **options) as process:
        address = next(line for line in process.stderr if line.startswith("http://")).split()[0]
        with urllib.request.urlopen(address) as answer:  # noqa: S310 - the address just printed
            assert b"<title>Leaderboard" in answer.read()
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == (f"opened {address}\n" if screen or sys.platform == "darwin" else "")
    assert "Traceback" not in err
    make_server(tmp_path, int(address.rsplit(":")[-1].rstrip("/"))).server_close()
