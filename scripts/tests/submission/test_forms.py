"""Test the repository's forms: issue forms, code owners, and the settings for dependency updates."""

import re
from pathlib import Path

import pytest
import yaml

from brainscore_ci.planning import decide
from brainscore_ci.reporting import merge, reconcile

ROOT = Path(__file__).parents[3]
GITHUB = ROOT / ".github"
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


def owners():
    lines = (GITHUB / "CODEOWNERS").read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def test_code_owners_are_teams_and_paths_exist():
    assert len(owners()) > 5
    for pattern, *names in owners():
        assert names, pattern
        assert all(re.fullmatch(r"@[A-Za-z0-9-]+/[a-z0-9-]+", name) for name in names)
        assert pattern == "*" or (ROOT / pattern.strip("/")).exists(), pattern


def test_trusted_folders_have_separate_owners():
    found = dict(owners())
    for path in ("/.github/", "/scripts/", "/noxfile.py"):
        assert found[path] != found["*"]
    for folder in ("data", "metrics", "benchmarks", "models"):
        assert found[f"/vision/brainscore_vision/{folder}/"] != found["*"]


def test_dependency_updates_wait_a_week():
    updates = yaml.safe_load((GITHUB / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    assert {update["package-ecosystem"] for update in updates} == {"github-actions", "pip", "uv"}
    for update in updates:
        days = [value for key, value in update["cooldown"].items() if key.endswith("days")]
        assert "default-days" in update["cooldown"]
        assert min(days) >= 7
        for folder in update.get("directories", [update.get("directory")]):
            assert (ROOT / folder.strip("/")).is_dir()


def test_issue_forms():
    assert [path.stem for path in FORMS] == ["bug", "plugin_question", "submit_plugin"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_form_fields_are_distinct_and_some_are_required(path):
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    fields = [entry for entry in form["body"] if entry["type"] != "markdown"]
    assert (
        len({entry["id"] for entry in fields}) == len({entry["attributes"]["label"] for entry in fields}) == len(fields)
    )
    assert any(entry.get("validations", {}).get("required") for entry in fields)
    assert "public" in path.read_text(encoding="utf-8")  # the form says that everyone can read it


def test_pull_request_template_matches_the_tutorial():
    text = (GITHUB / "PULL_REQUEST_TEMPLATE.md").read_text(encoding="utf-8")
    groups = re.findall(r"^\*\*(\w+)\*\*$", text, re.MULTILINE)
    assert groups == ["Data", "Benchmark", "Testing", "Documentation"]
    for words in (
        "unique IDs", "NaN", "SHA hashes", "loader functions", "BenchmarkBase", "naming convention", "`version`",
        "`ceiling_func`", "`bibtex`", "`parent`", "benchmark loads", "ceiling is valid", "at least one model",
        "reference model",
    ):  # fmt: skip
        assert len(re.findall(rf"^- \[ \] .*{re.escape(words)}", text, re.MULTILINE)) == 1, words


def test_every_label_is_documented():
    text = (ROOT / "docs/how-to/review_and_merge.md").read_text(encoding="utf-8")
    rows = " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    submission = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE/submit_plugin.yml").read_text(encoding="utf-8"))["labels"]
    labels = {decide.FULL, decide.NO_SCORE, merge.HOLD, *reconcile.OWN_LABELS, *submission}
    assert set(re.findall(r"`([\w-]+)`", rows)) == labels
