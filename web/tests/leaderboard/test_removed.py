"""Test building from a branch after records were removed."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from brainscore_core.records.record import ScoreRecord, record_path
from brainscore_web.__main__ import main
from brainscore_web.leaderboard.build import check_removed, said_gone
from brainscore_web.leaderboard.site import GoneError
from brainscore_web.leaderboard.sources import CommitSource

from .conftest import git


@pytest.fixture
def branch(records):
    """Return the folder of records in a repository, and a function that commits everything."""
    git(records.parent, "init", "-q", "-b", "scores")

    def commit():
        git(records, "add", "-A")
        git(records, "commit", "-qm", "one more", "--allow-empty")
        return CommitSource.of(records, "scores")

    commit()
    return records, commit


def remove(records, which=min):
    file = which(records.glob("*/*.json"))
    record = ScoreRecord.read(file)
    file.unlink()
    return record


def test_restored_record_is_not_reported(branch):
    records, commit = branch
    remove(records)
    with pytest.raises(GoneError):
        check_removed(commit(), ())
    git(records, "checkout", "-q", "HEAD~1", "--", ".")
    check_removed(commit(), ())


@pytest.mark.parametrize("said", ["{model}", "{benchmark}", "{model} {benchmark}"])
def test_removed_record_is_reported_until_listed_as_gone(branch, said):
    records, commit = branch
    record = remove(records)
    commit()
    source = commit()  # an empty commit: records may have been removed before the previous commit
    with pytest.raises(GoneError, match=rf"the score of {record.model} on {record.benchmark}.*gone\.txt"):
        check_removed(source, said_gone(source))
    (records.parent / "gone.txt").write_text(f"\n {said.format(model=record.model, benchmark=record.benchmark)}\n")
    source = commit()
    check_removed(source, said_gone(source))
    another = remove(records, max)
    source = commit()
    with pytest.raises(GoneError, match=rf"^1 score is missing .* {another.model} on {another.benchmark}\."):
        check_removed(source, said_gone(source))


def test_record_removed_by_a_merge_is_reported(branch):
    records, commit = branch
    git(records, "checkout", "-qb", "other")
    record = remove(records)
    commit()
    git(records, "checkout", "-q", "scores")
    (records / "README.md").write_text("of the branch\n")
    commit()
    git(records, "merge", "-q", "--no-edit", "other")
    with pytest.raises(GoneError, match=record.model):
        check_removed(CommitSource.of(records, "scores"), ())


def test_site_is_not_built_if_a_record_was_removed(branch, made, tmp_path, monkeypatch, capsys):
    records, commit = branch
    record = remove(records)
    commit()
    (tmp_path / "catalogue.json").write_text(made.catalogue.to_json(), encoding="utf-8")
    monkeypatch.chdir(records)
    of_site = ["--catalogue", str(tmp_path / "catalogue.json"), "--to", str(tmp_path / "site")]
    arguments = ["leaderboard", "build", "--at", "scores", *of_site]
    assert main(arguments) == 1
    assert f"the score of {record.model} on {record.benchmark}" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
    assert main(["leaderboard", "build", "--at", "scores~1", *of_site]) == 0  # a past state can be built again
    (records.parent / "gone.txt").write_text(f"{record.model} {record.benchmark}\n")
    commit()
    assert main(arguments) == 0  # the existing site had the score; the branch's gone.txt applies to it too


PAGE = Path(__file__).parents[3] / "docs/how-to/retract_a_score.md"
BLOCKS = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
GIVEN = {"GIT_CONFIG_GLOBAL": os.devnull, "PATH": os.environ["PATH"]} | {
    f"GIT_{who}_{what}": f"{what.lower()}@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def run_block(block, folder, **environment):
    subprocess.run(["bash", "-euc", block], cwd=folder, env=GIVEN | environment, check=True, capture_output=True)


@pytest.fixture
def scores_checkout(tmp_path):
    """Return a checkout of a branch with records of two models on two benchmarks, and a remote to push to."""
    checkout = tmp_path / "checkout"
    for benchmark in ("MyExperiment2024.IT-pls", "Other-i2n"):
        for model in ("mymodel", "mymodel2"):
            record = ScoreRecord.without_score("scored", model=model, benchmark=benchmark)
            record.write(record_path(checkout / "records", model, benchmark))
    (checkout / "records/MyExperiment2024.IT-pls/mymodel.values.npz").touch()
    git(tmp_path, "init", "-q", "--bare", "origin")
    git(checkout, "init", "-q", "-b", "scores")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-qm", "scores")
    git(checkout, "remote", "add", "origin", tmp_path / "origin")
    git(checkout, "push", "-q", "--set-upstream", "origin", "scores")
    return checkout


@pytest.mark.parametrize(("number", "n_left"), [(0, 3), (1, 2)], ids=["a pair", "a model"])
def test_retraction_page_keeps_the_site_buildable(scores_checkout, number, n_left):
    run_block(BLOCKS[number], scores_checkout)
    git(scores_checkout, "add", "-A")
    git(scores_checkout, "commit", "-qm", "as on the page", "--allow-empty")
    source = CommitSource.of(scores_checkout / "records", "scores")
    assert len(list(source.paths())) == n_left
    assert not list((scores_checkout / "records/MyExperiment2024.IT-pls").glob("mymodel.*"))
    check_removed(source, said_gone(source))
    if number == 0:
        assert git(scores_checkout, "log", "-1", "--format=%s", "origin/scores").startswith("Retract mymodel on")


def test_retraction_page_removes_a_local_record(tmp_path):
    place = record_path(tmp_path / "scores", "mymodel", "MyExperiment2024.IT-pls")
    ScoreRecord.without_score("scored", model="mymodel", benchmark="MyExperiment2024.IT-pls").write(place)
    run_block(BLOCKS[2], tmp_path, BRAINSCORE_HOME=str(tmp_path))
    assert not place.exists()
