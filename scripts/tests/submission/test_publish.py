import base64
import os
import subprocess
from dataclasses import replace

import pytest

from brainscore_ci.checks.findings import Finding
from brainscore_ci.github.client import Comment
from brainscore_ci.submission.archive import ArchivePolicy
from brainscore_ci.submission.publish import Remote, submit
from brainscore_ci.submission.request import AGREEMENTS, FIELDS, UPDATE, Issue
from brainscore_core.errors import DownloadError, UploadError

URL = "https://github.com/user-attachments/files/1/mine.zip"
POLICY = ArchivePolicy(libraries=("vision/brainscore_vision",))
HERE = "vision/brainscore_vision/benchmarks/myexperiment2024"
DATA = HERE.replace("benchmarks", "data")
BRANCH = "submission/12-benchmarks-myexperiment2024"


class MemoryForge:
    """GitHub in memory: one issue, its attachments, the answers to it, and pull requests."""

    def __init__(self, zips):
        agreed = "\n".join(f"- [X] {text}" for text in AGREEMENTS)
        body = f"### {FIELDS['zip']}\n\n[mine.zip]({URL})\n\n### {FIELDS['agreements']}\n\n{agreed}\n"
        self.said = Issue(number=12, author="ada", author_id=42, body=body)
        self.zips = zips
        self.answers = []
        self.pulls = {}
        self.opened = []

    def issue(self, number):
        assert number == 12
        return self.said

    def comments(self, number):
        return [Comment(id=i, author="github-actions[bot]", body=text) for i, text in enumerate(self.answers)]

    def attachment(self, url, most_bytes):
        return self.zips[url]

    def pull_request_of(self, branch):
        return self.pulls.get(branch)

    def open_pull_request(self, **pull):
        self.pulls[pull["branch"]] = 100 + len(self.opened)
        self.opened.append(pull)
        return self.pulls[pull["branch"]]

    def create_comment(self, number, body):
        self.answers.append(body)


class Project:
    """A work tree with a remote repository."""

    def __init__(self, path):
        self.origin, self.work = path / "origin.git", path / "work"
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(self.origin), cwd=path)
        self.git("clone", "--quiet", str(self.origin), str(self.work), cwd=path)
        self.write("vision/brainscore_vision/benchmarks/other/__init__.py", "")
        self.write(".gitignore", "*.csv\n")
        self.commit("first")

    def git(self, *arguments, cwd=None):
        people = [f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
        settings = {**dict.fromkeys(people, "someone@example.org"), "GIT_CONFIG_GLOBAL": os.devnull}
        options = {"env": {**os.environ, **settings}, "capture_output": True, "check": True, "text": True}
        return subprocess.run(["git", *arguments], cwd=cwd or self.work, **options).stdout

    def write(self, path, text):
        file = self.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self, message, branch="main"):
        self.git("checkout", "--quiet", "-B", branch)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", message)
        self.git("push", "--quiet", "--force", "origin", branch)

    def switch(self, branch):
        self.git("fetch", "--quiet", "origin", branch)
        self.git("checkout", "--quiet", "-B", branch, "FETCH_HEAD")

    def log(self, branch, form="%s"):
        return self.git("log", f"--format={form}", f"main..{branch}", cwd=self.origin).splitlines()

    def files(self, branch):
        return set(self.git("ls-tree", "-r", "--name-only", branch, cwd=self.origin).splitlines())

    def show(self, branch, path):
        return self.git("show", f"{branch}:{path}", cwd=self.origin)

    def branches(self):
        return set(self.git("for-each-ref", "--format=%(refname:short)", "refs/heads", cwd=self.origin).split())


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture
def forge(pack):
    return MemoryForge({URL: pack.plugin()})


@pytest.fixture
def run(project, forge):
    def call(*, errors=(), hints=(), **options):
        findings = [
            Finding(path="a.py", line=3, rule="r", message=text, fix="Mend it", severity=severity)
            for severity, texts in (("error", errors), ("hint", hints))
            for text in texts
        ]

        def check(checkout, folder):
            assert folder in (checkout / HERE, checkout / DATA)
            assert (folder / "__init__.py").is_file()
            return findings

        return submit(forge, Remote(url=str(project.origin)), 12, check=check, policy=POLICY, reply=True, **options)

    return call


def test_opens_a_pull_request(run, project, forge, plugin_files):
    outcome = run(hints=["could be better"])
    assert (outcome.state, outcome.pull, outcome.branch) == ("opened", 100, BRANCH)
    assert project.files(BRANCH) - project.files("main") == {f"{HERE}/{name}" for name in plugin_files}
    assert project.show(BRANCH, f"{HERE}/benchmark.py") == plugin_files["benchmark.py"]
    assert project.log(BRANCH) == ["Add benchmarks/myexperiment2024"]
    message = project.git("log", "-1", "--format=%an%n%B", BRANCH, cwd=project.origin)
    assert message.startswith("github-actions[bot]\n")
    assert message.strip().endswith("Co-authored-by: ada <42+ada@users.noreply.github.com>")
    (pull,) = forge.opened
    assert (pull["branch"], pull["base"], pull["title"]) == (BRANCH, "main", "Add benchmarks/myexperiment2024")
    assert "could be better" in pull["body"]
    assert "Pull request #100" in forge.answers[0]


def test_data_and_benchmark_get_separate_pull_requests(run, project, forge, pack, plugin_files):
    project.write("vision/brainscore_vision/data/other/__init__.py", "")
    project.commit("data")
    files = {f"{folder}/{name}": text for folder in (HERE, DATA) for name, text in plugin_files.items()}
    forge.zips[URL] = pack(files)
    outcome = run()
    assert [one["title"] for one in forge.opened] == ["Add data/myexperiment2024", "Add benchmarks/myexperiment2024"]
    first, second = (one["body"] for one in forge.opened)
    assert "Part of #12: benchmarks/myexperiment2024 follows." in first
    assert "Closes #12" in second
    assert "Closes" not in first
    assert str(outcome).count("Opened pull request") == forge.answers[0].count("Pull request #") == 2
    assert str(run()).count("Nothing to do") == 2
    forge.zips[URL] = pack({**files, f"{DATA}/more.py": ""})
    assert run(errors=["is wrong"]).before == ()  # the data are refused, so the benchmark is not tried


def test_resubmission_changes_nothing(run, project, forge):
    run()
    before = project.git("rev-parse", BRANCH, cwd=project.origin)
    assert run().state == "unchanged"
    assert project.git("rev-parse", BRANCH, cwd=project.origin) == before
    assert len(forge.opened) == 1
    run()
    assert len(forge.answers) == 2  # one for opened, one for unchanged


def test_new_version_keeps_commits_of_reviewers(run, project, forge, pack):
    run()
    project.switch(BRANCH)
    project.write(f"{HERE}/NOTES.md", "reviewed\n")
    project.write("docs/new.md", "reviewed\n")
    project.commit("review", BRANCH)
    assert run().state == "unchanged"  # resubmitting the same files does not undo the review
    forge.zips[URL] = pack.plugin(**{"benchmark.py": "VERSION = 2\n"})
    assert run().state == "updated"
    assert project.log(BRANCH) == ["Add benchmarks/myexperiment2024", "review", "Add benchmarks/myexperiment2024"]
    assert project.show(BRANCH, f"{HERE}/benchmark.py") == "VERSION = 2\n"
    assert "docs/new.md" in project.files(BRANCH)
    assert len(forge.opened) == 1


def test_closed_pull_request_is_replaced_by_a_new_one(run, project, forge, pack):
    run()
    forge.pulls.clear()
    forge.zips[URL] = pack.plugin(**{"benchmark.py": "VERSION = 2\n"})
    assert run().state == "opened"
    assert len(project.log(BRANCH)) == 1


def test_interrupted_submission_is_completed(run, project, forge, monkeypatch):
    def broken(**_):
        raise UploadError("GitHub did not answer")

    with monkeypatch.context() as patch:
        patch.setattr(forge, "open_pull_request", broken)
        with pytest.raises(UploadError):
            run()
    assert BRANCH in project.branches()
    assert run().state == "opened"
    assert len(project.log(BRANCH)) == 1


def test_merged_submission_changes_nothing(run, project, forge):
    run()
    project.switch(BRANCH)
    project.git("push", "--quiet", "origin", f"{BRANCH}:main")
    forge.pulls.clear()
    assert (run().state, len(forge.opened)) == ("unchanged", 1)
    assert "nothing to do" in forge.answers[-1]


def test_existing_plugin_needs_a_stated_update(run, project, forge):
    project.write(f"{HERE}/old.py", "1\n")
    project.commit("second")
    outcome = run()
    assert outcome.state == "refused"
    assert "has a plugin of this name already" in str(outcome)
    forge.said = replace(forge.said, body=f"{forge.said.body}\n### {FIELDS['kind']}\n\n{UPDATE}\n")
    assert run().state == "opened"
    assert f"{HERE}/old.py" not in project.files(BRANCH)
    assert "- removed: `old.py`" in forge.opened[0]["body"]


def test_update_names_and_asks_the_owners(run, project, forge):
    """The folder's history and the contact on main count, not those in the submission."""
    project.write(f"{HERE}/metadata.yml", "contact: lab@example.org <b>\n")
    project.commit("first\n\nCo-authored-by: grace <7+grace@users.noreply.github.com>")
    project.write(f"{HERE}/old.py", "1\n")
    project.commit("second\n\nCo-authored-by: grace <7+grace@users.noreply.github.com>")
    forge.said = replace(forge.said, body=f"{forge.said.body}\n### {FIELDS['kind']}\n\n{UPDATE}\n")
    assert run().state == "opened"
    text = forge.opened[0]["body"].replace("\u2060", "")
    assert "**`ada` has not written any commit of this plugin.**" in text
    assert "grace (@grace)" in text
    assert "someone@example.org" in text  # the author, whose account is unknown
    assert "lab@example.org" in text
    assert "<b>" not in text
    assert "please say here whether you agree" in text


def test_update_of_an_owned_plugin(run, project, forge):
    project.write(f"{HERE}/old.py", "1\n")
    project.commit("first\n\nCo-authored-by: Ada <42+ada@users.noreply.github.com>")
    forge.said = replace(forge.said, body=f"{forge.said.body}\n### {FIELDS['kind']}\n\n{UPDATE}\n")
    assert run().state == "opened"
    assert "`ada` has written commits of this plugin." in forge.opened[0]["body"]
    assert "@ada" not in forge.opened[0]["body"]


@pytest.mark.parametrize("content", [b"nothing", None], ids=["damaged", "outside"])
def test_refuses_a_bad_archive_with_the_reason(run, project, forge, pack, plugin_files, content):
    forge.zips[URL] = content or pack({"../../evil.py": "x", "README.md": "x"})
    outcome = run()
    assert outcome.state == "refused"
    assert outcome.problems
    assert project.branches() == {"main"}
    assert not forge.opened
    assert "It cannot become a pull request yet" in forge.answers[0]


def test_refuses_plugins_with_check_errors(run, project, forge):
    outcome = run(errors=["'mine' is no literal"])
    assert str(outcome) == "Nothing was submitted:\n- a.py:3: 'mine' is no literal. Mend it"
    assert project.branches() == {"main"}
    assert not forge.opened


def test_accepts_a_local_file(run, pack, tmp_path, forge):
    forge.zips.clear()
    (tmp_path / "a.zip").write_bytes(pack.plugin())
    assert run(file=tmp_path / "a.zip").state == "opened"


def test_commits_files_that_git_would_ignore(run, project, forge, pack):
    forge.zips[URL] = pack.plugin(**{"scores.csv": "1,2\r\n"})
    run()
    assert f"{HERE}/scores.csv" in project.files(BRANCH)
    assert (
        project.git("cat-file", "-s", f"{BRANCH}:{HERE}/scores.csv", cwd=project.origin) == "5\n"
    )  # line endings are unchanged


def test_git_settings_and_hooks_of_the_machine_are_ignored(run, project, tmp_path, monkeypatch):
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "pre-push", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
        (hooks / name).chmod(0o755)
    settings = tmp_path / "gitconfig"
    settings.write_text(f"[core]\n\thooksPath = {hooks}\n[commit]\n\tgpgSign = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert run().state == "opened"
    assert not (tmp_path / "ran").exists()


def test_token_is_in_no_argument_and_no_message(forge, monkeypatch, tmp_path):
    seen, environments = [], []
    original = subprocess.Popen

    def recording_popen(command, **options):
        seen.append(command)
        environments.append(options["env"])
        return original(command, **options)

    monkeypatch.setattr(subprocess, "Popen", recording_popen)
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
    remote = Remote(url=str(tmp_path / "absent"), token="t0ken")  # noqa: S106 - not a real token
    with pytest.raises(DownloadError) as failure:
        submit(forge, remote, 12, check=lambda *_: [], policy=POLICY)
    assert "t0ken" not in f"{seen}{failure.value}{environments}"
    header = f"AUTHORIZATION: basic {base64.b64encode(b'x-access-token:t0ken').decode()}"
    assert header in environments[0].values()


def test_pull_request_gets_no_answer(run, forge):
    forge.said = replace(forge.said, is_pull_request=True)
    assert run().state == "refused"
    assert forge.answers == []


def test_concurrent_push_is_not_overwritten(run, project, forge, monkeypatch):
    run()
    forge.pulls.clear()

    def push_meanwhile(branch):
        project.switch(BRANCH)
        project.write("docs/new.md", "meanwhile\n")
        project.commit("meanwhile", BRANCH)

    original = submit.__globals__["_Git"].commit

    def commit(self, *arguments):
        push_meanwhile(BRANCH)
        return original(self, *arguments)

    monkeypatch.setattr(submit.__globals__["_Git"], "commit", commit)
    with pytest.raises(UploadError, match="git push failed"):
        run()
    assert project.log(BRANCH)[0] == "meanwhile"
