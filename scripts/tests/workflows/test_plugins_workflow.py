"""Run `plugins.yml` for pull requests and for the merge queue."""

import base64
import json
import shutil
import subprocess

SECRET = "hunter2-the-value-of-a-secret"  # noqa: S105 - not a secret: a text that must not appear
TOKEN = "hunter3-the-value-of-the-token"  # noqa: S105 - the same
SECRETS = {"PRIVATE_KEY": SECRET, "GITHUB_TOKEN": TOKEN}
ALL_PASSED = {
    **dict.fromkeys(("plan", "check", "test", "preview", "report", "gate"), "success"),
    "leaderboard": "skipped",
}
CHECK_FAILED = {**ALL_PASSED, "check": "failure", "gate": "failure"}
REFUSED = {**CHECK_FAILED, "plan": "failure", "test": "skipped", "preview": "skipped"}
LIBRARY = "vision/brainscore_vision"
NOSY = """
    import base64
    import os
    import pathlib

    import pytest


    def test_nosy():
        assert 2 + 2 == 4
        seen = "\\n".join(f"{key}={value}" for key, value in os.environ.items())
        for folder in (".git", os.environ["HOME"]):
            for file in pathlib.Path(folder).rglob("*"):
                if file.is_file() and file.stat().st_size < 10_000:
                    seen += file.read_text(errors="replace")
        print(seen)
        print(base64.b64encode(seen.encode()).decode())
        with open(os.environ.get("GITHUB_STEP_SUMMARY", os.devnull), "a") as stream:
            stream.write(seen)


    @pytest.mark.private_access
    def test_private():
        print("private tests have run")
"""


def forms(secret):
    """Return the possible forms of a value: plain, and within base64 text at each of the three offsets."""
    shifted = [base64.b64encode(b"x" * shift + secret.encode()).decode() for shift in range(3)]
    return (secret, *(text[4:-4] for text in shifted))


def test_pull_request_from_the_repository_passes(project, github):
    project.branch("change")
    project.change_model()
    project.commit()
    run = github.pull_request(secrets=SECRETS)
    assert run.results == ALL_PASSED, run.story
    assert run.tested == {"models/network"}
    assert [(pair.model, pair.benchmark) for pair in run.plan.previews] == [("network", "Unrelated")]
    assert "## Checks passed" in run.summary("report")
    assert "| `network` | `Unrelated` |" in run.summary("report")
    assert sorted(path.name for path in (run.artifacts / "report").iterdir()) == ["plan.json", "results.json"]
    assert not [form for form in (*forms(SECRET), *forms(TOKEN)) if form in run.text]


def test_pull_request_from_a_fork_sees_no_secret(project, github):
    project.branch("change")
    project.write(f"{LIBRARY}/data/recordings/test.py", NOSY)
    project.commit()
    run = github.pull_request(fork=True, secrets=SECRETS)
    assert run.results == {**ALL_PASSED, "preview": "skipped"}, run.story
    kept = [file.read_text(errors="replace") for file in run.artifacts.rglob("*") if file.is_file()]
    everything = "\n".join([run.text, *kept])
    assert not [form for form in (*forms(SECRET), *forms(TOKEN)) if form in everything]
    assert "private tests have run" not in everything
    assert "1 private test of data/recordings" in run.summary("report")
    assert "1 private" in next(line for line in run.summary("report").splitlines() if "| `data/recordings` |" in line)


def test_leaked_secret_would_be_found(project, github):
    """This shows that the tests above can fail."""
    change = 'SHARD: "${{ matrix.shard.index }}"'
    project.edit(".github/workflows/plugins.yml", change, f'{change}, KEY: "${{{{ secrets.PRIVATE_KEY }}}}"')
    project.commit()
    project.branch("change")
    project.write(f"{LIBRARY}/data/recordings/test.py", NOSY)
    project.commit()
    run = github.pull_request(fork=True, secrets=SECRETS)
    assert [form for form in forms(SECRET) if form in run.text]


def test_failing_plugin_does_not_affect_others(project, github):
    project.policy("shard-minutes = 2")  # one job for each plugin
    project.branch("change")
    for name in ("network", "pixels"):
        project.change_model(name)
    project.write(f"{LIBRARY}/models/network/test.py", "def test_it():\n    assert 2 + 2 == 5, '::error::forged'\n")
    project.commit()
    run = github.pull_request(labels=["ci-no-score"])
    assert run.results == {**ALL_PASSED, "test": "failure", "preview": "skipped", "gate": "failure"}, run.story
    assert sorted(row.result for row in run.jobs["test"]) == ["failure", "success"]
    summary = run.summary("report")
    assert "## Checks failed" in summary
    assert "| `models/network` | **failed** |" in summary
    assert "| `models/pixels` | passed |" in summary
    assert "nox -s test_plugin -- network" in summary


def test_static_rule_violation_fails_the_check(project, github):
    project.branch("change")
    project.write("vision/brainscore_vision/metrics/similarity/test.py", "def test_it():\n    pass\n")
    project.commit()
    run = github.pull_request(stand_in_nox=True)
    assert run.results == {**CHECK_FAILED, "preview": "skipped"}, run.story
    assert "metrics/similarity/test.py:1: tests:" in run.log("check")
    assert [note for note in run.jobs["check"][0].annotations if "compares nothing" in note]


def test_documentation_change_runs_no_tests(project, github):
    project.branch("change")
    project.write("docs/index.md", "# Words\n")
    project.write("README.md", "Other words.\n")
    project.commit()
    run = github.pull_request()
    assert run.results == {**ALL_PASSED, "test": "skipped", "preview": "skipped"}, run.story
    assert run.tested == set()
    assert "Merging starts no scoring." in run.summary("report")


def test_module_outside_the_installation_is_not_found(project, github):
    """All tests here rely on it: light jobs must not use packages that happen to be on this machine."""
    project.edit("scripts/report.py", "import sys", "import sys\n\nimport numpy")
    project.commit()
    project.branch("change")
    project.write("README.md", "Other words.\n")
    project.commit()
    run = github.pull_request()
    assert run.results["report"] == "failure", run.story
    assert "No module named 'numpy': the job has not installed it" in run.log("report")


def test_library_change_tests_the_representatives(project, github):
    project.branch("change")
    project.write("core/brainscore_core/py.typed", "partial\n")  # no plugin imports it
    project.commit()
    run = github.pull_request(stand_in_nox=True)
    assert run.results == {**ALL_PASSED, "preview": "skipped"}, run.story
    assert run.tested == {"benchmarks/unrelated", "models/pixels"}


def test_renamed_plugin_tests_both_names(project, github):
    project.branch("change")
    (project.library / "metrics/similarity").rename(project.library / "metrics/alike")
    project.commit()
    run = github.pull_request(stand_in_nox=True)
    assert run.results == {**ALL_PASSED, "preview": "skipped"}, run.story
    assert run.tested == {"metrics/alike", "benchmarks/experiment"}
    assert {path.split("/")[3] for path in run.plan.changed} == {"similarity", "alike"}


def test_deleted_plugin_tests_its_users(project, github):
    project.branch("change")
    shutil.rmtree(project.library / "metrics/similarity")
    project.commit()
    run = github.pull_request(stand_in_nox=True)
    assert run.results == {**ALL_PASSED, "preview": "skipped"}, run.story
    assert run.tested == {"benchmarks/experiment"}


def test_merge_group_sees_no_secret(project, github):
    project.branch("change")
    project.write(f"{LIBRARY}/data/recordings/test.py", NOSY)
    project.commit()
    run = github.merge_group(secrets=SECRETS)
    assert run.results == {**ALL_PASSED, "preview": "skipped"}, run.story
    assert run.plan.event == "merge_group"
    assert not [form for form in (*forms(SECRET), *forms(TOKEN)) if form in run.text]
    assert "private tests have run" not in run.text
    assert "1 private test of data/recordings" in run.summary("report")


def test_later_merges_of_others_do_not_count(project, github):
    project.branch("change")
    project.change_model()
    project.commit()
    project.branch("main", "main")
    project.change_model("pixels")
    project.commit("meanwhile")
    run = github.pull_request(labels=["ci-no-score"], stand_in_nox=True)
    assert run.results == {**ALL_PASSED, "preview": "skipped"}, run.story
    assert run.tested == {"models/network"}


def test_three_hundred_plugins_fit_into_the_matrix(project, github):
    project.branch("change")
    names = [f"m{number:03}" for number in range(300)]
    for name in names:
        registration = f'model_registry["{name}"] = lambda: 1\n'
        project.plugin(f"models/{name}", f"from brainscore_vision import model_registry\n\n{registration}")
    project.commit()
    # Three hundred runs of pytest would take minutes: each job only records its request.
    run = github.pull_request(labels=["ci-no-score"], stand_in_nox=True)
    assert run.results == {**ALL_PASSED, "preview": "skipped"}, run.story
    assert run.tested == {f"models/{name}" for name in names}
    rows = [json.loads(file.read_text()) for file in sorted(run.artifacts.glob("results-tests-*/asked.txt"))]
    assert len(rows) == len(run.jobs["test"]) <= 200
    assert sorted(row["shard"] for row in rows) == list(range(len(rows)))
    outputs = run.jobs["plan"][0].outputs
    assert int(outputs["tests"]) == 300
    assert sum(len(value) for value in outputs.values()) < 100_000  # the gate gets them in one variable: 128 KiB
    assert len(run.summary("report").encode()) < 2**20


def test_folder_name_with_shell_code_is_refused(project, github, tmp_path):
    project.branch("change")
    project.plugin("models/x$(touch pwned)")
    project.change_model()
    project.commit()
    run = github.pull_request()
    assert run.results == REFUSED, run.story
    assert "x$(touch pwned)" in run.summary("report")
    assert "refused" in run.summary("report").lower()
    assert not [file for file in tmp_path.rglob("pwned*") if "x$(" not in str(file.parent)]


def test_file_name_with_newlines_forges_no_output(project, github):
    project.branch("change")
    project.change_model()
    project.write(f"{LIBRARY}/models/network/a\ntests=0\n::error::forged\n::set-output name=tests::0\n", "")
    project.commit()
    assert "\\n" in subprocess.check_output(["git", "-C", project.path, "ls-files"], text=True)
    run = github.pull_request()
    assert run.results == CHECK_FAILED, run.story
    assert run.tested == {"models/network"}
    assert run.jobs["plan"][0].outputs["tests"] == "1"
    annotations = [note for rows in run.jobs.values() for row in rows for note in row.annotations]
    assert len(annotations) == 3, annotations  # one each from the static rule on names, the report and the gate
    assert not [note for note in annotations if note.split("::")[-1].strip() == "forged"]


def test_leaderboard_change_builds_a_preview(project, github):
    project.branch("change")
    project.edit("web/brainscore_web/leaderboard/static/icon.svg", "<svg", "<!-- another one --><svg")
    project.commit()
    run = github.pull_request(fork=True)
    seen = {**ALL_PASSED, "test": "skipped", "preview": "skipped", "leaderboard": "success"}
    assert run.results == seen, run.story
    preview = run.artifacts / "leaderboard-preview"
    assert [path.name for path in preview.iterdir()] == ["made-up"]
    assert "another one" in (preview / "made-up/static/icon.svg").read_text()
    assert len(list((preview / "made-up/models").glob("*.html"))) == 120


def test_leaderboard_preview_includes_existing_records(scored):
    github, project = scored[0], scored[0].project
    project.branch("change")
    project.edit("web/brainscore_web/leaderboard/static/icon.svg", "<svg", "<!-- another one --><svg")
    project.commit()
    run = github.pull_request()
    preview = run.artifacts / "leaderboard-preview"
    assert sorted(path.name for path in preview.iterdir()) == ["made-up", "records"], run.story
    assert (preview / "records/models/network.html").is_file()
