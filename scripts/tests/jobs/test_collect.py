"""Test collecting records into a branch, with real repositories and concurrent runs."""

import dataclasses
import json
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from brainscore_ci.jobs import collect as module
from brainscore_ci.jobs.collect import Collected, collect, publish, read_records, summary
from brainscore_ci.planning.checkout import read_checkout
from brainscore_ci.planning.plan import Plan
from brainscore_ci.planning.policy import Policy
from brainscore_ci.planning.shards import pair_shards
from brainscore_core.errors import UploadError
from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_core.records.store import Run
from brainscore_core.scoring.pairs import Pair

ROOT = Path(__file__).parents[3]


def git(folder, *arguments):
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def revision_of(kind, identifier):
    return f"{kind}-{identifier}"


def record(model="m", benchmark="b", status="scored", **changes):
    made = ScoreRecord.without_score(status, model=model, benchmark=benchmark, source_revision=None)
    revisions = {"model_revision": f"model-{model}", "benchmark_revision": f"benchmark-{benchmark}"}
    return dataclasses.replace(made, **{"created": "2026-01-02T03:04:05+00:00", **revisions, **changes})


def plan(*pairs, private=()):
    made = tuple(Pair(model=m, benchmark=b, minutes=1, memory_gb=1, private=b in private) for m, b in pairs)
    return Plan(base=None, head="c" * 40, event="push", changed=(), pairs=made)


def write(folder, *records):
    for each in records:
        each.write(record_path(folder, each.model, each.benchmark))
    return folder


@pytest.fixture
def origin(tmp_path):
    """Return a bare repository with one commit on main."""
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


def record_of_code(checkout, score, **changes):
    """Return a pair's record for the code in a checkout."""
    code = read_checkout(checkout)
    revisions = {
        "model_revision": code.revision_of("model", "pixels"),
        "benchmark_revision": code.revision_of("benchmark", "Unrelated"),
    }
    return record("pixels", "Unrelated", score=score, **{**revisions, **changes})


@pytest.fixture
def checkout(origin):
    return clone(origin.parent, "checkout")


def records_on(origin, branch="scores"):
    names = git(origin, "ls-tree", "-r", "--name-only", f"{branch}:records").splitlines()
    records = [name for name in names if name.endswith(".json")]
    return {name: ScoreRecord.from_json(git(origin, "show", f"{branch}:records/{name}")) for name in records}


def commit_count(origin, branch="scores"):
    return int(git(origin, "rev-list", "--count", branch))


class TestPublish:
    def test_branch_is_created_with_a_separate_history(self, origin, checkout):
        before = git(checkout, "status", "--porcelain", "--branch")
        publish([record(), record("n")], checkout, "scores", message="two\n")
        assert records_on(origin) == {"b/m.json": record(), "b/n.json": record("n")}
        assert commit_count(origin) == 1
        assert "Scores" in git(origin, "show", "scores:README.md")
        assert git(checkout, "status", "--porcelain", "--branch") == before
        assert git(origin, "rev-list", "--count", "main") == "1"

    def test_one_commit_per_collection_and_none_without_news(self, origin, checkout):
        assert publish([], checkout, "scores", message="x") is None
        assert git(origin, "branch", "--list", "scores") == ""
        for _ in range(3):
            publish([record()], checkout, "scores", message="one\n")
        assert commit_count(origin) == 1
        publish([record("n"), record("o")], checkout, "scores", message="more\n")
        assert commit_count(origin) == 2
        assert len(records_on(origin)) == 3

    def test_failure_does_not_replace_a_score_of_the_same_code(self, origin, checkout):
        publish([record()], checkout, "scores", message="x")
        publish([record(status="failed:Timeout")], checkout, "scores", message="x")
        assert records_on(origin) == {"b/m.json": record()}
        publish([record(status="failed:Timeout", model_revision="new")], checkout, "scores", message="x")
        assert records_on(origin)["b/m.json"].status == "failed:Timeout"

    def test_publishes_records_with_odd_identifiers(self, origin, checkout):
        odd = record("../a:b[1]", "c/d@e+f=1")
        publish([odd], checkout, "scores", message="x")
        assert list(records_on(origin).values()) == [odd]

    @pytest.mark.parametrize("name", ["README.md", "gone.txt", "run.json", ".git", "NUL", "a."])
    def test_identifier_cannot_overwrite_files_of_the_branch(self, origin, checkout, name):
        records = [record(), record("m", name), record(name)]
        for some in records[:1], records[1:]:
            run = Run.of(some, [], commit=None, event="push", n_planned=1)
            publish(some, checkout, "scores", message="x", run=lambda _, run=run: run)
        assert sorted(records_on(origin).values(), key=str) == sorted(records, key=str)
        assert git(origin, "show", "scores:README.md").startswith("# Scores")
        assert Run.from_json(git(origin, "show", "scores:run.json")).event == "push"
        assert git(origin, "ls-tree", "--name-only", "scores").split() == ["README.md", "records", "run.json"]

    def test_conflicting_record_paths_are_errors(self, origin, checkout):
        publish([record()], checkout, "scores", message="x")
        with pytest.raises(UploadError, match=r"records/b/m\.json differs from records/b/M\.json by case alone"):
            publish([record("M")], checkout, "scores", message="x")
        work = clone(origin.parent, "by-hand")
        git(work, "checkout", "-q", "scores")
        (work / "records/c").write_text("a file where a folder of records should be")
        git(work, "add", "-A")
        git(work, "commit", "-qm", "by hand")
        git(work, "push", "-q", "origin", "scores")
        with pytest.raises(UploadError, match="records/c"):
            publish([record("m", "c")], checkout, "scores", message="x")
        assert commit_count(origin) == 2

    @pytest.mark.slow
    def test_concurrent_collections_keep_all_records(self, origin):
        """Both create the branch, and each keeps the other's records."""
        checkouts = [clone(origin.parent, f"pusher-{number}") for number in range(2)]
        ready = threading.Barrier(2)

        def push(number):
            for round_ in range(3):
                ready.wait(60)
                mine = [record(f"m{number}-{round_}-{index}") for index in range(3)]
                publish(mine, checkouts[number], "scores", message=f"{number}\n")

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(push, range(2)))
        assert len(records_on(origin)) == 18
        assert commit_count(origin) == 6

    def test_retries_if_another_push_is_faster(self, origin, checkout, monkeypatch):
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
        assert set(records_on(origin)) == {"b/m.json", "b/rival-1.json", "b/rival-2.json"}
        assert commit_count(origin) == 3

    def test_gives_up_after_twelve_faster_pushes(self, origin, checkout, monkeypatch):
        monkeypatch.setattr(module._Git, "pushed", lambda *_: False)
        monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
        with pytest.raises(UploadError, match="12 times in a row"):
            publish([record()], checkout, "scores", message="x")

    def test_refusing_or_absent_remote_is_not_retried(self, origin, checkout):
        hook = origin / "hooks/pre-receive"
        hook.write_text("#!/bin/sh\necho the policy forbids it >&2\nexit 1\n")
        hook.chmod(0o755)
        with pytest.raises(UploadError, match="the policy forbids it"):
            publish([record()], checkout, "scores", message="x")
        git(checkout, "remote", "set-url", "origin", str(checkout.parent / "nowhere"))
        with pytest.raises(UploadError, match="ls-remote"):
            publish([record()], checkout, "scores", message="x")

    def test_hooks_and_identity_of_the_checkout_are_ignored(self, origin, checkout):
        for name in ("pre-push", "post-commit", "reference-transaction"):
            hook = checkout / f".git/hooks/{name}"
            hook.write_text("#!/bin/sh\nexit 1\n")
            hook.chmod(0o755)
        git(checkout, "config", "user.name", "Somebody")
        publish([record()], checkout, "scores", message="x")
        assert git(origin, "log", "-1", "--format=%an", "scores") == "brainscore"

    def test_token_is_passed_only_in_the_environment(self, checkout):
        git(checkout, "remote", "set-url", "origin", "https://github.example/lab/brain")
        environment = module._Git(checkout, "origin", "ghs_secret").environment
        values = [value for key, value in environment.items() if key.startswith("GIT_CONFIG_")]
        assert "http.https://github.example/.extraheader" in values
        assert any(value.startswith("AUTHORIZATION: basic ") for value in values)
        assert "ghs_secret" not in "".join(values)


def checkout_stub(repository):
    return SimpleNamespace(repository=repository, policy=Policy(), revision_of=revision_of)


class TestRead:
    def test_reads_the_pairs_of_each_job(self, tmp_path):
        for number, name in enumerate("mno"):
            write(tmp_path / f"records-{number}", record(name))
        write(tmp_path / "elsewhere", record("p"))
        planned = plan(*((name, "b") for name in "mnop"))
        found, problems = read_records(tmp_path, planned, Policy(shard_minutes=1.0), revision_of)
        assert problems == []
        assert {key[0] for key in found} == {"m", "n", "o"}

    def test_job_cannot_supply_records_of_another(self, tmp_path):
        """A model in a public job writes the record of a private pair and one of another public job."""
        planned = plan(("m", "b"), ("n", "b"), ("m", "secret"), private=("secret",))
        policy = Policy(shard_minutes=1.0)
        assert [shard.tasks[0].private for shard in pair_shards(planned.pairs, policy)] == [False, False, True]
        write(tmp_path / "records-0", record("m"), record("m", "secret", score=0.999), record("n", score=0.999))
        write(tmp_path / "records-2", record("n", score=0.999))
        found, problems = read_records(tmp_path, planned, policy, revision_of)
        assert found.keys() == {("m", "b")}
        assert sorted(problem.partition(" is ")[0] for problem in problems) == [
            "records-0: 'b/n.json'",
            "records-0: 'secret/m.json'",
            "records-2: 'b/n.json'",
        ]
        write(tmp_path / "records-3", record("n"))
        found, problems = read_records(tmp_path, planned, policy, revision_of)
        assert found.keys() == {("m", "b")}
        assert "'records-3' is of no job of the plan" in problems

    def test_texts_about_private_data_are_not_published(self, tmp_path):
        said = record("m", "secret", status="failed:Value_0x3f8", message="0.8371 in hex", layers={"IT": "0.8371"})
        write(tmp_path / "records-0", said)
        found, problems = read_records(tmp_path, plan(("m", "secret"), private=("secret",)), Policy(), revision_of)
        assert problems == []
        (kept,) = found.values()
        assert (kept.status, kept.message, kept.layers) == ("failed:OtherError", "", {})

    @pytest.mark.parametrize(
        ("path", "content", "problem"),
        [
            ("b/m.json", "{", "not a valid score record"),
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
    def test_rejects_unplanned_and_malformed_records(self, tmp_path, path, content, problem):
        (tmp_path / "records-0/b").mkdir(parents=True)
        (tmp_path / "records-0" / path).write_text(content)
        found, problems = read_records(tmp_path, plan(("m", "b")), Policy(), revision_of)
        assert found == {}
        assert len(problems) == 1
        assert problem in problems[0]
        assert problems[0].isprintable()

    def test_symlinked_records_are_not_followed(self, tmp_path):
        write(tmp_path / "elsewhere", record())
        artifact = tmp_path / "records/records-0"
        (artifact / "b").mkdir(parents=True)
        (artifact / "b/m.json").symlink_to(tmp_path / "elsewhere/b/m.json")
        (artifact / "c").symlink_to(tmp_path / "elsewhere/b")
        found, problems = read_records(tmp_path / "records", plan(("m", "b")), Policy(), revision_of)
        assert found == {}
        assert len(problems) == 2


class TestCollect:
    def test_missing_pair_makes_the_collection_incomplete(self, origin, checkout, tmp_path):
        planned = plan(("m", "b"), ("n", "b"))
        assert len(collect(planned, tmp_path / "nothing", checkout_stub(checkout), "scores").missing) == 2
        assert git(origin, "branch", "--list", "scores") == ""
        write(tmp_path / "records/records-0", record())
        collected = collect(planned, tmp_path / "records", checkout_stub(checkout), "scores")
        assert [(pair.model, pair.benchmark) for pair in collected.missing] == [("n", "b")]
        assert not collected.is_complete
        assert set(records_on(origin)) == {"b/m.json"}
        write(tmp_path / "records/records-0", record("n", status="failed:Timeout"))
        assert collect(planned, tmp_path / "records", checkout_stub(checkout), "scores").is_complete
        assert len(records_on(origin)) == 2

    def test_earlier_score_counts_and_earlier_failure_does_not(self, checkout, tmp_path):
        old = [record("scored"), record("failed", status="failed:X"), record("old", model_revision="other")]
        publish(old, checkout, "scores", message="x")
        pairs = plan(("scored", "b"), ("failed", "b"), ("old", "b"))
        collected = collect(pairs, tmp_path / "nothing", checkout_stub(checkout), "scores")
        assert {pair.model for pair in collected.missing} == {"failed", "old"}

    def test_files_named_by_a_record_are_collected(self, origin, checkout, tmp_path):
        lock, values = b"numpy==2.4\n", b"the bytes of an archive"
        digests = {"environment": sha256(lock).hexdigest(), "values": sha256(values).hexdigest()}
        artifact = write(
            tmp_path / "records/records-0",
            record(**digests),
            record("n", **{**digests, "values": "0" * 64}),
            record("m", "secret", **digests),
        )
        for name in ("b/m", "b/n", "secret/m", "b/other"):
            (artifact / f"{name}.values.npz").write_bytes(values)
        for folder in ("b", "secret"):
            (artifact / folder / f"environment-{digests['environment'][:16]}.txt").write_bytes(lock)
        planned = plan(("m", "b"), ("n", "b"), ("m", "secret"), private=("secret",))
        checkout_as_planned = checkout_stub(checkout)
        numbers = [shard.tasks[0].private for shard in pair_shards(planned.pairs, checkout_as_planned.policy)]
        write(tmp_path / f"records/records-{numbers.index(True)}", record("m", "secret", **digests))
        (artifact / "secret/m.json").unlink()
        for file in (artifact / "secret").iterdir():
            file.rename(tmp_path / f"records/records-{numbers.index(True)}/secret" / file.name)
        collected = collect(planned, tmp_path / "records", checkout_as_planned, "scores")
        assert collected.is_complete, collected.problems
        names = git(origin, "ls-tree", "-r", "--name-only", "scores:records").splitlines()
        lock_name = f"b/environment-{digests['environment'][:16]}.txt"
        assert set(names) == {"b/m.json", "b/n.json", "secret/m.json", "b/m.values.npz", lock_name}
        assert git(origin, "show", f"scores:records/{lock_name}") == "numpy==2.4"
        assert git(origin, "show", "scores:records/b/m.values.npz") == values.decode()

    def test_run_summary_is_published_with_the_records(self, origin, checkout, tmp_path):
        first = record(created="2026-01-02T03:04:05+00:00", duration_s=65.5)
        last = record("n", created="2026-01-02T04:00:00+01:00", duration_s=60.0, status="failed:X")
        odd = record("o", created="<b>yesterday</b>", duration_s=None)
        publish([record("there")], checkout, "scores", message="x")
        write(tmp_path / "records/records-0", first, last, odd)
        planned = plan(("m", "b"), ("n", "b"), ("o", "b"), ("there", "b"), ("none", "b"))
        for _ in range(2):
            collect(planned, tmp_path / "records", checkout_stub(checkout), "scores")
        run = Run.from_json(git(origin, "show", "scores:run.json"))
        assert (run.commit, run.event) == ("c" * 40, "push")
        assert (run.started, run.finished) == ("2026-01-02T02:59:00+00:00", "2026-01-02T03:04:05+00:00")
        assert (run.n_planned, run.n_records, run.n_missing, run.missing) == (5, 3, 1, (("none", "b"),))
        assert run.duration_s == 125.5
        assert commit_count(origin) == 2  # the second collection brought nothing new


def test_summary_shows_failures_first_and_escapes():
    hostile = record("a|<img src=x>@everyone", status="failed:X", message="](http://x) #1 `")
    made = Collected((record("good", score=0.25, error=0.01), hostile), plan(("gone`|", "b")).pairs, ("'odd'",))
    text = summary(made, plan(("good", "b"), ("a", "b"), ("gone", "b")))
    assert text.startswith("## Scores: 1 of 3 pairs scored\n")
    assert "| `good` | `b` | `scored` | 0.2500 | 0.0100 |" in text
    assert text.index("everyone") < text.index("`good`")
    assert "](http" not in text
    assert "no record: ``gone`¦`` on `b`" in text


def push_main(tree, origin=None):
    if origin:
        git(tree.path, "init", "-q", "-b", "main")
        git(tree.path, "remote", "add", "origin", str(origin))
    git(tree.path, "add", "-A")
    git(tree.path, "commit", "-qm", "change")
    git(tree.path, "push", "-q", "--force", "origin", "HEAD:main")


@pytest.fixture
def run_script(script, tmp_path):
    """Return a function that collects the records next to a checkout, run in that checkout."""
    arguments = ("--plan", tmp_path / "plan.json", "--records", tmp_path / "records")
    return lambda checkout: script("collect.py", *arguments, cwd=checkout, GITHUB_STEP_SUMMARY=tmp_path / "summary.md")


class TestLate:
    """The run of one merge ends after the run of the next."""

    @pytest.fixture
    def late(self, tree, origin, tmp_path):
        """Return the checkout of the first merge, whose record is yet to be collected."""
        push_main(tree, origin)
        (tmp_path / "plan.json").write_text(plan(("pixels", "Unrelated")).to_json())
        write(tmp_path / "records/records-0", record_of_code(tree.path, 0.1))
        return clone(origin.parent, "late")

    def test_late_record_does_not_replace_a_newer_score(self, tree, origin, late, run_script):
        tree.write("vision/brainscore_vision/models/pixels/model.py", "x = 2\n")
        push_main(tree)
        assert run_script(late).returncode == 0
        assert git(origin, "branch", "--list", "scores") == ""  # it is not published first either
        newer = record_of_code(tree.path, 0.9)
        publish([newer], tree.path, "scores", message="the second merge\n")
        done = run_script(late)
        assert records_on(origin) == {"Unrelated/pixels.json": newer}
        assert done.returncode == 0, done.stderr
        assert "not published: `pixels` on `Unrelated`" in done.stdout

    def test_unrelated_merge_does_not_outdate_a_record(self, tree, origin, late, run_script):
        tree.write("vision/brainscore_vision/models/network/model.py", "x = 2\n")
        push_main(tree)
        done = run_script(late)
        assert done.returncode == 0, done.stderr
        assert records_on(origin)["Unrelated/pixels.json"].score == 0.1

    def test_record_of_an_older_library_is_outdated(self, tree, origin, late, run_script):
        tree.write("core/brainscore_core/_version.py", '__version__ = "999.0"\n')
        push_main(tree)
        newer = record_of_code(tree.path, 0.9, version_class="999.0")
        publish([newer], tree.path, "scores", message="the second merge\n")
        assert run_script(late).returncode == 0
        assert records_on(origin) == {"Unrelated/pixels.json": newer}

    @pytest.mark.slow
    @pytest.mark.parametrize("says", ["older", "newer", "unknown", "an option"])
    def test_library_age_within_a_release_follows_main(self, tree, origin, late, tmp_path, says, run_script):
        """Plugins and release are equal: only the history of main shows which code is older."""
        older = git(tree.path, "rev-parse", "HEAD")
        tree.write("core/brainscore_core/somewhere.py", "x = 2\n")
        push_main(tree)
        newer = git(tree.path, "rev-parse", "HEAD")
        there = record_of_code(tree.path, 0.9, source_revision=older if says == "newer" else newer)
        publish([there], tree.path, "scores", message="the second merge\n")
        given = {"older": older, "newer": newer, "unknown": None, "an option": "--octopus"}[says]
        write(tmp_path / "records/records-0", record_of_code(tree.path, 0.1, source_revision=given))
        done = run_script(late)
        assert done.returncode == 0, done.stderr
        assert records_on(origin)["Unrelated/pixels.json"].score == (0.9 if says == "older" else 0.1)

    def test_main_moving_during_publication_outdates_a_record(self, tree, origin, late, tmp_path, monkeypatch):
        """The other run pushes between fetch and push; the current code is then looked up again."""
        original = module._Git.pushed

        def slow(git_of, commit, branch):
            monkeypatch.setattr(module._Git, "pushed", original)
            tree.write("vision/brainscore_vision/models/pixels/model.py", "x = 2\n")
            push_main(tree)
            publish([record_of_code(tree.path, 0.9)], tree.path, "scores", message="the second merge\n")
            return original(git_of, commit, branch)

        monkeypatch.setattr(module._Git, "pushed", slow)
        monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
        arguments = (Plan.read(tmp_path / "plan.json"), tmp_path / "records", read_checkout(late), "scores")
        collected = collect(*arguments, code_branch="main")
        assert [each.score for each in collected.outdated] == [0.1]
        assert records_on(origin)["Unrelated/pixels.json"].score == 0.9

    def test_remote_without_the_code_branch_is_an_error(self, origin, late, run_script):
        git(origin, "branch", "-m", "main", "trunk")
        done = run_script(late)
        assert done.returncode == 2
        assert "has no branch 'main'" in done.stderr


def test_script_publishes_and_summarises(tree, origin, tmp_path, run_script):
    """Collect from the checkout of a plan into the branch and the step summary."""
    push_main(tree, origin)
    write(tmp_path / "records/records-0", record_of_code(tree.path, 0.5))
    (tmp_path / "plan.json").write_text(plan(("pixels", "Unrelated"), ("network", "Unrelated")).to_json())
    done = run_script(tree.path)
    assert done.returncode == 1, done.stderr  # one is missing
    assert "1 of 2 pairs scored" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "`network`" in done.stdout
    assert list(records_on(origin)) == ["Unrelated/pixels.json"]
