"""Test collecting records into a branch, with real repositories and several at once."""

import dataclasses
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from brainscore_ci.jobs import collect as module
from brainscore_ci.jobs.collect import Collected, collect, publish, read_records, summary
from brainscore_ci.planning.checkout import read_checkout
from brainscore_ci.planning.plan import Pair, Plan
from brainscore_core.errors import UploadError
from brainscore_core.scoring.records import ScoreRecord, record_path

ROOT = Path(__file__).parents[3]


def git(folder, *arguments):
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def revision_of(kind, identifier):
    return f"{kind}-{identifier}"


def record(model="m", benchmark="b", status="scored", **changes):
    made = ScoreRecord.without_score(status, model=model, benchmark=benchmark)
    revisions = {"model_revision": f"model-{model}", "benchmark_revision": f"benchmark-{benchmark}"}
    return dataclasses.replace(made, **{"created": "2026-01-02T03:04:05+00:00", **revisions, **changes})


def plan(*pairs):
    made = tuple(Pair(model=m, benchmark=b, reasons=(), minutes=1, memory_gb=1) for m, b in pairs)
    return Plan(base=None, head="c" * 40, event="push", changed=(), pairs=made)


def write(folder, *records):
    for each in records:
        each.write(record_path(folder, each.model, each.benchmark))
    return folder


@pytest.fixture
def origin(tmp_path):
    """A bare repository with one commit on main."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
    work = clone(tmp_path, "first")
    (work / "README.md").write_text("x")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "start")
    git(work, "push", "-q", "origin", "HEAD:main")
    return tmp_path / "origin.git"


def clone(folder, name):
    git(folder, "clone", "-q", str(folder / "origin.git"), name)
    return folder / name


@pytest.fixture
def checkout(origin):
    return clone(origin.parent, "checkout")


def published(origin, branch="scores"):
    names = git(origin, "ls-tree", "-r", "--name-only", branch).splitlines()
    return {
        name: ScoreRecord.from_json(git(origin, "show", f"{branch}:{name}")) for name in names if name != "README.md"
    }


def commits(origin, branch="scores"):
    return int(git(origin, "rev-list", "--count", branch))


class TestPublish:
    def test_the_branch_is_made_with_a_history_of_its_own(self, origin, checkout):
        before = git(checkout, "status", "--porcelain", "--branch")
        publish([record(), record("n")], checkout, "scores", message="two\n")
        assert published(origin) == {"b/m.json": record(), "b/n.json": record("n")}
        assert commits(origin) == 1
        assert "Scores" in git(origin, "show", "scores:README.md")
        assert git(checkout, "status", "--porcelain", "--branch") == before
        assert git(origin, "rev-list", "--count", "main") == "1"

    def test_one_commit_for_each_collection_and_none_for_nothing_new(self, origin, checkout):
        for _ in range(3):
            publish([record()], checkout, "scores", message="one\n")
        assert commits(origin) == 1
        publish([record("n"), record("o")], checkout, "scores", message="more\n")
        assert commits(origin) == 2
        assert len(published(origin)) == 3

    def test_nothing_at_all(self, origin, checkout):
        assert publish([], checkout, "scores", message="x") is None
        assert git(origin, "branch", "--list", "scores") == ""

    def test_a_failure_does_not_take_the_place_of_a_score_of_the_same_code(self, origin, checkout):
        publish([record()], checkout, "scores", message="x")
        publish([record(status="failed:Timeout")], checkout, "scores", message="x")
        assert published(origin) == {"b/m.json": record()}
        publish([record(status="failed:Timeout", model_revision="new")], checkout, "scores", message="x")
        assert published(origin)["b/m.json"].status == "failed:Timeout"

    def test_odd_identifiers(self, origin, checkout):
        odd = record("../a: b*?", 'c/"d" ü')
        publish([odd], checkout, "scores", message="x")
        assert list(published(origin).values()) == [odd]

    def test_two_at_once_keep_all_records(self, origin):
        """Both make the branch, and each puts its records on top of those of the other."""
        checkouts = [clone(origin.parent, f"pusher-{number}") for number in range(2)]
        ready = threading.Barrier(2)

        def push(number):
            for round_ in range(3):
                ready.wait(60)
                mine = [record(f"m{number}-{round_}-{index}") for index in range(3)]
                publish(mine, checkouts[number], "scores", message=f"{number}\n")

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(push, range(2)))
        assert len(published(origin)) == 18
        assert commits(origin) == 6

    def test_somebody_else_is_faster_between_fetch_and_push(self, origin, checkout, monkeypatch):
        other = clone(origin.parent, "other")
        original = module._Git.pushed
        rivals = iter([record("rival-1"), record("rival-2")])

        def slow(self, commit, branch):
            if self.repository == checkout and (rival := next(rivals, None)):
                publish([rival], other, "scores", message="rival\n")
            return original(self, commit, branch)

        monkeypatch.setattr(module._Git, "pushed", slow)
        monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
        publish([record()], checkout, "scores", message="mine\n")
        assert set(published(origin)) == {"b/m.json", "b/rival-1.json", "b/rival-2.json"}
        assert commits(origin) == 3

    def test_always_slower(self, origin, checkout, monkeypatch):
        monkeypatch.setattr(module._Git, "pushed", lambda *_: False)
        monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
        with pytest.raises(UploadError, match="12 times in a row"):
            publish([record()], checkout, "scores", message="x")

    def test_a_remote_that_refuses_is_no_reason_to_try_again(self, origin, checkout):
        hook = origin / "hooks/pre-receive"
        hook.write_text("#!/bin/sh\necho the policy forbids it >&2\nexit 1\n")
        hook.chmod(0o755)
        with pytest.raises(UploadError, match="the policy forbids it"):
            publish([record()], checkout, "scores", message="x")

    def test_no_remote(self, checkout):
        git(checkout, "remote", "set-url", "origin", str(checkout.parent / "nowhere"))
        with pytest.raises(UploadError, match="ls-remote"):
            publish([record()], checkout, "scores", message="x")

    def test_hooks_and_identity_of_the_checkout_do_not_count(self, origin, checkout):
        for name in ("pre-push", "post-commit", "reference-transaction"):
            hook = checkout / f".git/hooks/{name}"
            hook.write_text("#!/bin/sh\nexit 1\n")
            hook.chmod(0o755)
        git(checkout, "config", "user.name", "Somebody")
        publish([record()], checkout, "scores", message="x")
        assert git(origin, "log", "-1", "--format=%an", "scores") == "brainscore"

    def test_the_token_is_in_no_argument(self, checkout):
        git(checkout, "remote", "set-url", "origin", "https://github.example/lab/brain")
        environment = module._Git(checkout, "origin", "ghs_secret").environment
        values = [value for key, value in environment.items() if key.startswith("GIT_CONFIG_")]
        assert "http.https://github.example/.extraheader" in values
        assert any(value.startswith("AUTHORIZATION: basic ") for value in values)
        assert "ghs_secret" not in "".join(values)


class TestRead:
    def test_artifacts_apart_and_together(self, tmp_path):
        write(tmp_path / "records-0", record())
        write(tmp_path / "records-1", record("n"))
        write(tmp_path, record("o"))
        found, problems = read_records(tmp_path, plan(("m", "b"), ("n", "b"), ("o", "b")), revision_of)
        assert problems == []
        assert {key[0] for key in found} == {"m", "n", "o"}

    def test_of_two_records_of_a_pair_the_score_is_kept(self, tmp_path):
        write(tmp_path / "a", record())
        write(tmp_path / "b", record(status="failed:X"))
        found, _ = read_records(tmp_path, plan(("m", "b")), revision_of)
        assert found["m", "b"].is_scored

    @pytest.mark.parametrize(
        ("path", "content", "problem"),
        [
            ("b/m.json", "{", "no score record"),
            ("b/m.json", json.dumps({**json.loads(record().to_json()), "score": "1"}), "wrong type"),
            ("b/m.json", "x" * 2_000_000, "1 MiB"),
            ("b/m.txt", record().to_json(), "not a JSON file"),
            ("b/n.json", record().to_json(), "lies elsewhere"),
            ("b/x.json", record("x").to_json(), "not planned"),
            ("b/m.json", record(model_revision="other").to_json(), "other code"),
            ("b/m.json", record(benchmark_revision=None).to_json(), "other code"),
            ("b/\x1b[31m.json", record().to_json(), "lies elsewhere"),
        ],
    )
    def test_what_is_no_record_of_the_plan(self, tmp_path, path, content, problem):
        (tmp_path / "b").mkdir()
        (tmp_path / path).write_text(content)
        found, problems = read_records(tmp_path, plan(("m", "b")), revision_of)
        assert found == {}
        assert len(problems) == 1
        assert problem in problems[0]
        assert problems[0].isprintable()

    def test_links_are_not_followed(self, tmp_path):
        write(tmp_path / "elsewhere", record())
        (tmp_path / "records/b").mkdir(parents=True)
        (tmp_path / "records/b/m.json").symlink_to(tmp_path / "elsewhere/b/m.json")
        (tmp_path / "records/c").symlink_to(tmp_path / "elsewhere/b")
        found, problems = read_records(tmp_path / "records", plan(("m", "b")), revision_of)
        assert found == {}
        assert len(problems) == 2


class TestCollect:
    def test_all_there(self, origin, checkout, tmp_path):
        write(tmp_path / "records", record(), record("n", status="failed:Timeout"))
        collected = collect(plan(("m", "b"), ("n", "b")), tmp_path / "records", checkout, "scores", revision_of)
        assert collected.is_complete
        assert len(published(origin)) == 2

    def test_what_is_missing_is_a_failure(self, origin, checkout, tmp_path):
        write(tmp_path / "records", record())
        collected = collect(plan(("m", "b"), ("n", "b")), tmp_path / "records", checkout, "scores", revision_of)
        assert [(pair.model, pair.benchmark) for pair in collected.missing] == [("n", "b")]
        assert not collected.is_complete
        assert set(published(origin)) == {"b/m.json"}

    def test_a_score_of_an_earlier_attempt_counts_a_failure_does_not(self, checkout, tmp_path):
        old = [record("scored"), record("failed", status="failed:X"), record("old", model_revision="other")]
        publish(old, checkout, "scores", message="x")
        pairs = plan(("scored", "b"), ("failed", "b"), ("old", "b"))
        collected = collect(pairs, tmp_path / "nothing", checkout, "scores", revision_of)
        assert {pair.model for pair in collected.missing} == {"failed", "old"}

    def test_nothing_came(self, origin, checkout, tmp_path):
        collected = collect(plan(("m", "b")), tmp_path / "nothing", checkout, "scores", revision_of)
        assert len(collected.missing) == 1
        assert git(origin, "branch", "--list", "scores") == ""


def test_summary_shows_failures_first_and_escapes():
    hostile = record("a|<img src=x>@everyone", status="failed:X", message="](http://x) #1 `")
    made = Collected((record("good", score=0.25, error=0.01), hostile), plan(("gone`|", "b")).pairs, ("'odd'",))
    text = summary(made, plan(("good", "b"), ("a", "b"), ("gone", "b")))
    assert text.startswith("## Scores: 1 of 3 pairs scored\n")
    assert "| `good` | `b` | `scored` | 0.2500 | 0.0100 |" in text
    assert text.index("everyone") < text.index("`good`")
    assert "](http" not in text
    assert "no record: ``gone`¦`` on `b`" in text


def test_script(tree, origin, tmp_path):
    """From the checkout of a plan to the branch and the summary of the step."""
    git(tree.path, "init", "-q", "-b", "main")
    git(tree.path, "remote", "add", "origin", str(origin))
    found = read_checkout(tree.path)
    revisions = {
        "model_revision": found.revision_of("model", "pixels"),
        "benchmark_revision": found.revision_of("benchmark", "Unrelated"),
    }
    write(tmp_path / "records", record("pixels", "Unrelated", score=0.5, **revisions))
    (tmp_path / "plan.json").write_text(plan(("pixels", "Unrelated"), ("network", "Unrelated")).to_json())
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GITHUB")}
    done = subprocess.run(
        [
            sys.executable,
            ROOT / "scripts/collect.py",
            "--plan",
            tmp_path / "plan.json",
            "--records",
            tmp_path / "records",
        ],
        cwd=tree.path,
        env={**environment, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr  # one is missing
    assert "1 of 2 pairs scored" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "`network`" in done.stdout
    assert list(published(origin)) == ["Unrelated/pixels.json"]
