"""Test submitting zip files and plugins to a local repository and a fake GitHub."""

import io
import re
import subprocess
import zipfile
from dataclasses import replace

import pytest
from fastapi import FastAPI

from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_web.portal import demo
from brainscore_web.portal.checking.worker import Report

pytestmark = pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)

DATA = """
from brainscore_vision import stimulus_set_registry

stimulus_set_registry["Mine2026"] = lambda: None
"""
BENCHMARK = """
from brainscore_vision import benchmark_registry
from .benchmark import make

benchmark_registry["Mine2026-pls"] = make
"""
MAKE = """
from brainscore_vision import load_stimulus_set


def make():
    return load_stimulus_set("Mine2026")
"""
TEST = """
from brainscore_vision.data import mine2026


def test_it():
    assert mine2026 is not None
"""
METADATA = "description: mine\n"
TUTORIAL = {  # as in the tutorial on benchmarks: no folders named after the plugin
    "Mine2026_stimuli_and_data/benchmarks/__init__.py": BENCHMARK,
    "Mine2026_stimuli_and_data/benchmarks/benchmark.py": MAKE,
    "Mine2026_stimuli_and_data/benchmarks/test.py": TEST,
    "Mine2026_stimuli_and_data/data/__init__.py": DATA,
    "Mine2026_stimuli_and_data/data/test.py": TEST,
}


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


class FakeGitHub:
    """A fake GitHub for pull requests."""

    def __init__(self):
        self.pulls, self.checks, self.app = [], [], FastAPI()
        start = "/repos/owner/name"

        @self.app.get(f"{start}/pulls")
        def listed(head: str):
            return [pull for pull in self.pulls if pull["head"]["ref"] == head.partition(":")[2]]

        @self.app.post(f"{start}/pulls")
        def opened(content: dict):
            head = {"ref": content["head"], "sha": "c0ffee", "repo": {"full_name": "owner/name"}}
            self.pulls.append({"number": len(self.pulls) + 1, "state": "open", "head": head, "body": content["body"]})
            return self.pulls[-1]

        @self.app.get(f"{start}/pulls/{{number}}")
        def one(number: int):
            return self.pulls[number - 1]

        @self.app.get(f"{start}/commits/c0ffee/check-runs")
        def checks():
            return {"check_runs": self.checks}


@pytest.fixture
def github():
    return FakeGitHub()


@pytest.fixture
def connected(settings, serve, github, tmp_path):
    """Return a portal that opens pull requests in a small repository."""
    work = tmp_path / "work"
    for kind in ("data", "metrics", "benchmarks", "models"):
        (work / "vision/brainscore_vision" / kind).mkdir(parents=True)
        (work / "vision/brainscore_vision" / kind / "README.md").touch()
    (work / "vision/brainscore_vision/data/other").mkdir()
    (work / "vision/brainscore_vision/data/other/__init__.py").write_text(DATA.replace("Mine2026", "Other2026"))
    (work / "pyproject.toml").write_text(
        '[tool.brainscore.ci]\nlibraries = ["vision/brainscore_vision"]\nrepresentatives = []\n'
        "reference-models = []\nreference-benchmarks = []\n"
    )
    name = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for command in (("init", "-q", "-b", "main"), ("add", "-A"), (*name, "commit", "-q", "-m", "start")):
        subprocess.run(["git", "-C", work, *command], check=True)
    with demo.serving(github.app) as port:
        options = {"repository": "owner/name", "remote": str(work), "records": str(tmp_path / "records")}
        options |= {"github_token": "t0ken", "github_api": f"http://127.0.0.1:{port}", "submission_issue": 5}
        (tmp_path / "records").mkdir()
        with serve(replace(settings, **options)) as portal:
            portal.git = lambda *arguments: subprocess.check_output(["git", "-C", work, *arguments], text=True)
            yield portal


def submit(person, content, name="any.zip"):
    answer = person.post("submissions", files={"file": (name, content)})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_findings_are_shown_before_opening_pull_requests(connected, github):
    ada = connected.caller("ada")
    found = submit(ada, zipped({"benchmarks/mine/weights.pt": b"x", "../evil.py": "x"}))
    assert len(found["findings"]) >= 2
    assert found["plugins"] == []
    found = submit(ada, zipped(TUTORIAL))
    assert found["findings"] == []
    plugins = {one["plugin"]: one["identifiers"] for one in found["plugins"]}
    assert plugins == {"data/mine2026": ["Mine2026"], "benchmarks/mine2026": ["Mine2026-pls"]}
    browser = connected.browser("ada")
    page = browser.get(f"/submissions/{found['id']}")
    assert page.status_code == 200
    assert "<code>data/mine2026</code>: 2 files" in page.text
    assert "pull requests, data first</button>" in page.text
    assert "Open its pull requests." in browser.get("/").text
    assert github.pulls == []


def test_pull_requests_are_offered_only_with_a_repository(portal):
    found = submit(portal.caller("ada"), zipped(TUTORIAL))
    assert found["findings"] == []
    browser = portal.browser("ada")
    page = browser.get(f"/submissions/{found['id']}").text
    assert "</button>" not in page.partition('<h2 id="plugins">')[2].partition("</section>")[0]
    assert "is not connected to a repository, so it opens no pull request" in page
    assert "pull request" not in browser.get("/").text


@pytest.mark.slow
def test_zip_file_without_folders_gives_the_plugin_name(connected):
    bare = {name.partition("/")[2]: content for name, content in TUTORIAL.items()}
    found = submit(connected.caller("ada"), zipped(bare), "../My Data.zip")
    assert [one["plugin"] for one in found["plugins"]] == ["data/my_data", "benchmarks/my_data"]


@pytest.mark.slow
def test_submission_of_data_and_benchmark_and_its_status(connected, github, tmp_path):
    ada, eve = connected.caller("ada"), connected.caller("eve")
    found = submit(ada, zipped(TUTORIAL))
    answer = ada.post(f"submissions/{found['id']}/open")
    assert answer.status_code == 200, answer.text
    urls = answer.json()["urls"]
    assert [url.rpartition("/")[2] for url in urls] == ["1", "2"]
    branches = [pull["head"]["ref"] for pull in github.pulls]
    names = [re.sub(r"-\d+-", "-N-", branch) for branch in branches]
    assert names == ["submission/5-N-data-mine2026", "submission/5-N-benchmarks-mine2026"]
    changed = connected.git("diff", "--name-only", f"main...{branches[1]}").split()
    folder = "vision/brainscore_vision/benchmarks/mine2026"
    assert changed == [f"{folder}/{name}.py" for name in ("__init__", "benchmark", "test")]
    assert not any("Closes #5" in pull["body"] for pull in github.pulls)  # others submit through this issue too
    assert ada.post(f"submissions/{found['id']}/open").json()["urls"] == urls
    assert len(github.pulls) == 2
    tip = connected.git("rev-parse", branches[0])
    theirs = submit(eve, zipped({**TUTORIAL, "Mine2026_stimuli_and_data/data/test.py": TEST + "# mine\n"}))
    assert eve.post(f"submissions/{theirs['id']}/open").status_code == 200
    assert connected.git("rev-parse", branches[0]) == tip  # users cannot change others' pull requests

    browser = connected.browser("ada")
    github.checks = [
        {"name": "lint", "status": "completed", "conclusion": "success", "html_url": "https://example.org/1"},
        {"name": "tests <b>", "status": "completed", "conclusion": "failure", "html_url": "https://example.org/2"},
        {"name": "score", "status": "in_progress", "conclusion": None, "html_url": "https://example.org/3"},
    ]
    record = ScoreRecord.without_score("failed:timeout", "too slow", model="pixels", benchmark="Mine2026-pls")
    record.write(record_path(tmp_path / "records", "pixels", "Mine2026-pls"))
    page = browser.get("/").text
    assert "open: 1 check passed, 1 running, 1 failed" in page
    assert '<a href="https://example.org/2" rel="noopener">tests &lt;b&gt;</a> failure' in page
    assert "Open the failed check, correct the problems it lists, and submit again." in page
    assert "<td>failed:timeout</td><td>too slow</td>" in page
    github.checks, github.pulls[0] = [], {**github.pulls[0], "state": "closed", "merged": True}
    assert "1 failed" in browser.get("/").text  # cached for at most a minute
    connected.service.seen.clear()
    assert "merged" in browser.get("/").text
    connected.service.seen.clear()
    github.pulls.clear()  # GitHub answers with an error
    assert browser.get("/").text.count("GitHub did not report its state.") == 2


@pytest.mark.slow
def test_refused_plugin_keeps_the_opened_pull_request(connected, github):
    ada = connected.caller("ada")
    untested = {name: text for name, text in TUTORIAL.items() if "benchmark" not in name or "test" not in name}
    found = submit(ada, zipped(untested))
    assert found["findings"] == []
    answer = ada.post(f"submissions/{found['id']}/open")
    assert answer.status_code == 422
    assert "test" in answer.json()["problems"][0]["what"]
    [kept] = ada.post(f"submissions/{found['id']}/open").json()["urls"]
    assert kept.endswith(f"/{github.pulls[0]['number']}")
    assert kept in connected.browser("ada").get("/").text


@pytest.mark.slow
def test_published_upload_opens_one_pull_request(connected, github):
    ada = connected.caller("ada")
    files = {"__init__.py": DATA, "test.py": TEST}
    upload_id = ada.upload("Mine2026", {"b.csv": b"b"})
    connected.work(Report([], files, None))
    answers = [ada.post(f"uploads/{upload_id}/pull-request") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert answers[0].json() == answers[1].json()
    [pull] = github.pulls
    assert connected.git("diff", "--name-only", f"main...{pull['head']['ref']}").split() == [
        f"vision/brainscore_vision/data/mine2026/{name}" for name in sorted(files)
    ]
    assert answers[0].json()["url"] in connected.browser("ada").get("/").text
    upload_id = ada.upload("Wrong2026", {"b.csv": b"b"})
    connected.work(Report([], {"__init__.py": "raise SystemExit\n"}, None))
    refused = ada.post(f"uploads/{upload_id}/pull-request")
    assert refused.status_code == 422
    assert refused.json()["problems"][0]["what"]
    github.app.routes.clear()
    upload_id = ada.upload("Later2026", {"b.csv": b"b"})
    connected.work(Report([], {name: text.replace("Mine2026", "Later2026") for name, text in files.items()}, None))
    unanswered = ada.post(f"uploads/{upload_id}/pull-request")
    assert (unanswered.status_code, unanswered.headers["Retry-After"]) == (503, "30")
