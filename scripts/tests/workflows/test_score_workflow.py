"""Run `score.yml` and `nightly.yml`: what happens after a merge and at night."""

import json
import subprocess

from brainscore_ci.reporting.results import read_folder

LIBRARY = "vision/brainscore_vision"
ALL_PAIRS = {(model, benchmark) for model in ("network", "pixels") for benchmark in ("Experiment", "Unrelated")}
PUBLIC = {"plan": "success", "test": "skipped", "score": "success", "score-private": "skipped", "collect": "success"}
PRIVATE = {**PUBLIC, "test": "success", "score": "skipped", "score-private": "success"}
OPTED_IN = {"PRIVATE_DATA": "true", "AWS_ROLE": "arn:aws:iam::1:role/reads", "AWS_REGION": "us-east-1"}


def records(run):
    """Return the records on the branch scores of the origin."""
    command = ["git", "-C", str(run.origin), "ls-tree", "-r", "--name-only", "refs/heads/scores"]
    names = [name for name in subprocess.check_output(command, text=True).splitlines() if name.endswith(".json")]
    contents = [
        subprocess.check_output(["git", "-C", str(run.origin), "show", f"refs/heads/scores:{name}"]) for name in names
    ]
    return {(entry["model"], entry["benchmark"]): entry for entry in map(json.loads, contents) if "model" in entry}


def planned(run):
    return {(pair.model, pair.benchmark) for pair in run.plan.pairs}


def push_change(project):
    before = project.commit("before")
    project.edit(f"{LIBRARY}/models/network/model.py", "A network.", "Another network.")
    return before, project.commit("after")


def test_push_scores_what_it_can_change(project, github):
    run = github.push(*push_change(project))
    assert run.results == PUBLIC, run.story
    assert planned(run) == {("network", "Experiment"), ("network", "Unrelated")}
    assert records(run).keys() == planned(run)
    assert records(run)["network", "Unrelated"]["score"] == 0.5


def test_push_with_private_data(project, github):
    project.write(f"{LIBRARY}/data/recordings/data.py", "")
    before, after = project.commit("before"), None
    project.write(f"{LIBRARY}/data/recordings/data.py", "VERSION = 2\n")
    after = project.commit("after")
    run = github.push(before, after, variables=OPTED_IN)
    assert run.results == PRIVATE, run.story
    assert [task.with_private for task in run.plan.tests if str(task.plugin) == "data/recordings"] == [True]
    tested = {str(result.plugin): result for result in read_folder(run.artifacts)[0].plugins}
    assert tested["data/recordings"].n_passed == 2  # the private one too
    assert records(run).keys() == {("network", "Experiment"), ("pixels", "Experiment")}
    assert {record["status"] for record in records(run).values()} == {"scored"}


def test_only_pairs_on_private_data_are_scored_where_the_credentials_are(project, github):
    run = github.push(*push_change(project), variables=OPTED_IN)
    assert run.results == {**PRIVATE, "score": "success"}, run.story
    assert records(run).keys() == {("network", "Experiment"), ("network", "Unrelated")}
    assert {record["status"] for record in records(run).values()} == {"scored"}


def test_failing_pair_does_not_lose_the_others(project, github):
    before = project.commit("before")
    project.edit(f"{LIBRARY}/models/network/model.py", "# A network.", 'raise ValueError("broken")')
    project.edit(f"{LIBRARY}/benchmarks/unrelated/benchmark.py", "0.25", "0.2")
    run = github.push(before, project.commit("after"))
    assert planned(run) == ALL_PAIRS - {("pixels", "Experiment")}, run.story
    assert records(run).keys() == planned(run)
    assert records(run)["pixels", "Unrelated"]["status"] == "scored"
    assert records(run)["network", "Unrelated"]["status"].startswith("failed:")
    assert "failed" in run.summary("collect")


def test_first_push_of_a_branch(project, github):
    run = github.push("0" * 40, project.commit())
    assert run.results == PUBLIC, run.story
    assert planned(run) == ALL_PAIRS


def test_forced_push(project, github):
    _, lost = push_change(project)
    subprocess.run(["git", "-C", project.path, "reset", "-q", "--hard", "HEAD~2"], check=True)
    run = github.push(lost, project.commit("rewritten"), forced=True)
    assert run.results == PUBLIC, run.story
    assert planned(run) == ALL_PAIRS


def test_second_run_scores_only_what_is_missing(project, github):
    before, after = push_change(project)
    github.push(before, after)
    again = github.push(before, after)
    assert planned(again) == set(), again.story
    assert again.results == {**PUBLIC, "score": "skipped", "collect": "skipped"}
    pairs = github.dispatch("score", after)
    assert planned(pairs) == {("pixels", "Experiment"), ("pixels", "Unrelated")}, pairs.story
    assert records(pairs).keys() == ALL_PAIRS


def test_nightly_tests_all_plugins(project, github):
    run = github.dispatch("nightly", project.commit())
    assert run.results == dict.fromkeys(("plan", "test", "report"), "success"), run.story
    assert len(run.tested) == 6
    kept = {path.name.rpartition("-")[0] for path in run.artifacts.iterdir()} - {""}
    assert kept == {"results-newest", "results-oldest"}
    assert len(run.jobs["report"]) == 2
    assert all("## Checks passed" in row.summary for row in run.jobs["report"])
