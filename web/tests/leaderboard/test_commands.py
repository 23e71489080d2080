"""Run the command line of the leaderboard, and serve what it has built."""

import threading
import urllib.request

import pytest

from brainscore_web.__main__ import main
from brainscore_web.leaderboard.serving import make_server


def test_made_up_scores_are_built_and_served(tmp_path, capsys):
    assert main(["leaderboard", "build", "--made-up", "6x6", "--to", str(tmp_path / "site")]) == 0
    assert "6 models, 6 benchmarks" in capsys.readouterr().err
    with make_server(tmp_path / "site") as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        host, port = server.server_address
        assert host == "127.0.0.1"  # nobody else sees it
        with urllib.request.urlopen(f"http://{host}:{port}/") as answer:
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.read() == (tmp_path / "site/index.html").read_bytes()
        pages = list((tmp_path / "site").rglob("*.html"))
        assert len(pages) > 16
        assert all("no number here says anything" in page.read_text("utf-8") for page in pages)
        server.shutdown()
        thread.join()


def test_records_and_catalogue_of_a_person(records, made, tmp_path, capsys):
    (tmp_path / "catalogue.json").write_text(made.catalogue.to_json(), encoding="utf-8")
    arguments = [
        "--records",
        str(records),
        "--catalogue",
        str(tmp_path / "catalogue.json"),
        "--to",
        str(tmp_path / "site"),
    ]
    assert main(["leaderboard", "build", *arguments]) == 0
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
        (["--made-up", "4x4", "--at", "main"], "Records come from one place"),
        (["--made-up", "4x4", "--date", "2026-03-01"], "give --at too"),
        (["--at", "HEAD", "--date", "March"], "expected a day as YYYY-MM-DD"),
        (["--records", "nowhere", "--catalogue", "catalogue.json"], "is no folder"),
    ],
)
def test_wrong_arguments_are_told(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "catalogue.json").write_text("{}")
    assert main(["leaderboard", "build", *arguments, "--to", "site"]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
