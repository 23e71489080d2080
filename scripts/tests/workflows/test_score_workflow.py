"""Run `score.yml` and `nightly.yml`, the workflows after a merge and at night."""

import hashlib
import json
import subprocess

from pyrage import x25519

from brainscore_ci.reporting.results import read_folder

LIBRARY = "vision/brainscore_vision"
ALL_PAIRS = {(model, benchmark) for model in ("network", "pixels") for benchmark in ("Experiment", "Unrelated")}
PUBLIC = {
    "plan": "success",
    "fetch": "skipped",
    "test": "skipped",
    "score": "success",
    "score-private": "skipped",
    "collect": "success",
    "leaderboard": "skipped",
    "publish": "skipped",
}
PUBLISHED = {"leaderboard": "success", "publish": "success"}
PRIVATE = {**PUBLIC, "fetch": "success", "test": "success", "score": "skipped", "score-private": "success"}
KEY = x25519.Identity.generate()
OPTED_IN = {
    "variables": {
        "PRIVATE_DATA": "true",
        "AWS_ROLE": "arn:aws:iam::1:role/reads",
        "AWS_REGION": "us-east-1",
        "DATA_RECIPIENT": str(KEY.to_public()),
    },
    "secrets": {"DATA_KEY": str(KEY)},
}
SPIKES = b"what neurons answered"


def records(run):
    """Return the records on the branch scores of the origin."""
    command = ["git", "-C", str(run.origin), "ls-tree", "-r", "--name-only", "refs/heads/scores"]
    names = [name for name in subprocess.check_output(command, text=True).splitlines() if name.endswith(".json")]
    contents = [
        subprocess.check_output(["git", "-C", str(run.origin), "show", f"refs/heads/scores:{name}"]) for name in names
    ]
    return {(entry["model"], entry["benchmark"]): entry for entry in map(json.loads, contents) if "model" in entry}


def planned_pairs(run):
    return {(pair.model, pair.benchmark) for pair in run.plan.pairs}


def test_push_scores_affected_pairs(first_push):
    run = first_push[-1]
    assert run.results == {**PUBLIC, **PUBLISHED}, run.story
    assert planned_pairs(run) == {("network", "Experiment"), ("network", "Unrelated")}
    assert records(run).keys() == planned_pairs(run)
    assert records(run)["network", "Unrelated"]["score"] == 0.5


def test_private_data_is_never_in_plain_text_between_jobs(project, github, tmp_path):
    """The file for a private test comes encrypted from the fetching job; no artifact or log has it in plain text."""
    (tmp_path / "mirror/lab").mkdir(parents=True)
    (tmp_path / "mirror/lab/assy_Recordings.nc").write_bytes(SPIKES)
    before, digest = project.commit("before"), hashlib.sha1(SPIKES).hexdigest()  # noqa: S324 - data are named by it
    project.plugin(
        "data/recordings",
        f"""
        from brainscore_core.supported_data_standards.brainio.s3 import load_assembly_from_s3
        from brainscore_vision import data_registry

        data_registry["Recordings"] = lambda: 1 or load_assembly_from_s3(
            identifier="Recordings", version_id=None, sha1="{digest}", bucket="lab", cls=None
        )
        """,
        f"""
        import os
        from pathlib import Path

        import pytest


        def test_public():
            assert 2 + 2 == 4


        @pytest.mark.private_access
        def test_private():
            assert Path(os.environ["BRAINIO_HOME"], "{digest}", "assy_Recordings.nc").read_bytes() == {SPIKES}
        """,
    )
    mirror = {"BRAINSCORE_MIRROR": str(tmp_path / "mirror")}
    run = github.push(before, project.commit("after"), **OPTED_IN, environment=mirror)
    assert run.results == PRIVATE, run.story
    assert [task.with_private for task in run.plan.tests if str(task.plugin) == "data/recordings"] == [True]
    tested = {str(result.plugin): result for result in read_folder(run.artifacts)[0].plugins}
    assert tested["data/recordings"].n_passed == 2  # the private one too
    contents = [file.read_bytes() for file in run.artifacts.rglob("*") if file.is_file()]
    contents += [run.log(job).encode() for job in run.jobs]
    assert not [content for content in contents if SPIKES in content or str(KEY).encode() in content]
    assert records(run).keys() == {("network", "Experiment"), ("pixels", "Experiment")}
    assert {record["status"] for record in records(run).values()} == {"scored"}


def test_only_private_pairs_are_scored_with_credentials(project, github):
    run = github.push(*project.commit_change(), **OPTED_IN)
    assert run.results == {**PRIVATE, "score": "success"}, run.story
    assert records(run).keys() == {("network", "Experiment"), ("network", "Unrelated")}
    assert {record["status"] for record in records(run).values()} == {"scored"}


def test_failing_pair_does_not_affect_others(project, github):
    before = project.commit("before")
    project.edit(f"{LIBRARY}/models/network/model.py", "# A network.", 'raise ValueError("broken")')
    project.edit(f"{LIBRARY}/benchmarks/unrelated/benchmark.py", "0.25", "0.2")
    run = github.push(before, project.commit("after"))
    assert planned_pairs(run) == ALL_PAIRS - {("pixels", "Experiment")}, run.story
    assert records(run).keys() == planned_pairs(run)
    assert records(run)["pixels", "Unrelated"]["status"] == "scored"
    assert records(run)["network", "Unrelated"]["status"].startswith("failed:")
    assert "failed" in run.summary("collect")


def test_first_push_scores_all_pairs(project, github):
    run = github.push("0" * 40, project.commit())
    assert run.results == PUBLIC, run.story
    assert planned_pairs(run) == ALL_PAIRS


def test_forced_push_scores_all_pairs(project, github):
    _, lost = project.commit_change()
    subprocess.run(["git", "-C", project.path, "reset", "-q", "--hard", "HEAD~2"], check=True)
    run = github.push(lost, project.commit("rewritten"), forced=True)
    assert run.results == PUBLIC, run.story
    assert planned_pairs(run) == ALL_PAIRS


def test_second_run_scores_only_missing_pairs(scored):
    github, before, after = scored
    again = github.push(before, after)
    assert planned_pairs(again) == set(), again.story
    assert again.results == {**PUBLIC, "score": "skipped", "collect": "skipped"}
    pairs = github.dispatch("score", after)
    assert planned_pairs(pairs) == {("pixels", "Experiment"), ("pixels", "Unrelated")}, pairs.story
    assert records(pairs).keys() == ALL_PAIRS


WITH_LEADERBOARD = {"LEADERBOARD": "true"}


def test_leaderboard_is_published_if_enabled(first_push, scored):
    run, (github, *commits) = first_push[-1], scored
    assert {path.stem for path in run.pages.glob("models/*.html")} == {"network", "pixels"}
    assert {path.stem for path in run.pages.glob("benchmarks/*.html")} >= {"Experiment", "Unrelated"}
    again = github.push(*commits, variables=WITH_LEADERBOARD)  # nothing is left to score
    assert again.results == {**PUBLIC, **PUBLISHED, "score": "skipped", "collect": "skipped"}, again.story
    boards = [(each.pages / "data/board.js").read_bytes() for each in (run, again)]
    assert boards[0] == boards[1]


def test_late_run_publishes_the_newest_state(scored):
    github, before, after = scored
    github.project.plugin(
        "models/later", 'from brainscore_vision import model_registry\n\nmodel_registry["later"] = lambda: 1\n'
    )
    github.publish(heads__main=github.project.commit("later"))
    late = github.run("score", "push", {"before": before, "after": after}, after, variables=WITH_LEADERBOARD)
    assert late.results == {**PUBLIC, **PUBLISHED, "score": "skipped", "collect": "skipped"}, late.story
    assert (late.pages / "models/later.html").is_file()


def test_nothing_is_published_without_records(project, github):
    sha = project.commit()
    run = github.push(sha, sha, variables=WITH_LEADERBOARD)
    assert run.results == {**PUBLIC, "score": "skipped", "collect": "skipped"}, run.story


def test_leaderboard_with_a_lost_score_is_not_published(scored, tmp_path):
    github, _, after = scored
    branch = tmp_path / "scores"
    subprocess.run(["git", "clone", "-q", "-b", "scores", str(github.origin), str(branch)], check=True)
    (branch / "records/Unrelated/network.json").unlink()
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in ((*who, "commit", "-qam", "remove one"), ("push", "-q")):
        subprocess.run(["git", "-C", str(branch), *command], check=True)
    sha = github.project.commit("something else")
    run = github.push(after, sha, variables=WITH_LEADERBOARD)
    assert run.results == {**PUBLIC, "score": "skipped", "collect": "skipped", "leaderboard": "failure"}, run.story
    assert "the score of network on Unrelated" in run.log("leaderboard")


def test_nightly_tests_all_plugins(project, github):
    project.write(
        "tests/test_place.py",
        """
        import os
        from pathlib import Path


        def test_place():
            if os.environ.get("BRAINSCORE_DEPENDENCIES") != "oldest":  # whose tests run in the checkout
                assert "höme of " in __file__
                assert Path.home().name == "home" and "höme of " in str(Path.home())
        """,
    )
    run = github.dispatch("nightly", project.commit())
    assert run.results == dict.fromkeys(("plan", "test", "elsewhere", "oldest", "report"), "success"), run.story
    assert "1 passed" in run.log("elsewhere")
    assert len(run.tested) == 6
    kept = {path.name.rpartition("-")[0] for path in run.artifacts.iterdir()} - {""}
    assert kept == {"results-newest", "results-oldest"}
    assert len(run.jobs["report"]) == 2
    assert all("## Checks passed" in row.summary for row in run.jobs["report"])


# Variables that GitHub gives to steps of a job with `id-token: write`, like the replaced action here.
JOB_TOKENS = {"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "token-of-the-job", "GITHUB_TOKEN": "token-of-the-job"}
LOOKS_AROUND = """
import glob, os


def found():
    texts = list(os.environ.values())
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path) as stream:
                texts.append(stream.read())
        except OSError:
            pass
    wanted = ("key-" + "of-the-role", "token-" + "of-the-job")
    files = [os.environ[name] for name in ("GITHUB_ENV", "GITHUB_PATH") if name in os.environ]
    return [word for word in wanted if any(word in text for text in texts)] + files
"""


def test_private_tests_find_no_credential(project, github):
    """A merged test searches for credentials and reports those it finds in its outcome; it also reports a value."""
    before = project.commit("before")
    project.write(f"{LIBRARY}/data/recordings/around.py", LOOKS_AROUND)
    project.write(
        f"{LIBRARY}/data/recordings/test.py",
        """
        import pytest

        from .around import found


        @pytest.mark.private_access
        def test_finds_nothing():
            print("said-by-a-test")
            assert found() == []


        @pytest.mark.private_access
        @pytest.mark.parametrize("value", ["said-by-a-test"])
        def test_says_a_value(value):
            raise ValueError(value)
        """,
    )
    run = github.push(before, project.commit("after"), **OPTED_IN, environment=JOB_TOKENS)
    assert run.results["test"] == "failure", run.story  # one test does fail
    (result,) = [each for each in read_folder(run.artifacts)[0].plugins if str(each.plugin) == "data/recordings"]
    assert (result.n_passed, result.n_failed) == (1, 1), run.story
    assert [(each.test, each.message.partition(";")[0]) for each in result.failures] == [
        ("test_says_a_value", "ValueError")
    ]
    published = run.log("test") + "".join(
        file.read_text(errors="replace")
        for file in run.artifacts.rglob("*")
        if file.is_file() and file.name != "plan.json"
    )
    assert "said-by-a-test" not in published


def test_models_with_private_data_find_no_credential(project, github):
    """A merged model searches for credentials and cannot be loaded if it finds one."""
    before = project.commit("before")
    model = (project.library / "models/network/model.py").read_text(encoding="utf-8")
    hostile = """
if found():
    raise RuntimeError("found")
print("said-by-a-model")
"""
    project.write(f"{LIBRARY}/models/network/model.py", LOOKS_AROUND + hostile + model)
    project.edit(
        f"{LIBRARY}/benchmarks/experiment/benchmark.py",
        "score = Score(0.5)",
        "score = Score(0.5 + 0 * candidate.visual_degrees())",
    )
    run = github.push(before, project.commit("after"), **OPTED_IN, environment=JOB_TOKENS)
    assert run.results == {**PRIVATE, "score": "success"}, run.story
    published = records(run)["network", "Experiment"]
    assert (published["status"], published["score"], published["layers"]) == ("scored", 0.5, {})
    text = "".join(file.read_text(errors="replace") for file in run.artifacts.rglob("*") if file.is_file())
    assert "said-by-a-model" not in run.log("score-private") + text
