"""Test which pull requests may merge without review: each condition, and each attack on it."""

from dataclasses import replace

import pytest

from brainscore_ci.checks.runner import static_errors
from brainscore_ci.github.client import PullRequest
from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.policy import MergePolicy, read_policy
from brainscore_ci.reporting.merge import (
    Change,
    Condition,
    conditions_of_files,
    conditions_of_git,
    conditions_of_github,
    render_conditions,
)
from brainscore_ci.reporting.results import PairResult
from brainscore_core.errors import ConfigurationError

V = "vision/brainscore_vision"
OWN = f"{V}/models/network"
AUTHOR, STRANGER = 583231, 42
GREEN = {"gate": "success", "library gate": "success"}
MODEL = PluginName("models", "network")
PULL = PullRequest(number=7, head_sha="c" * 40, head_branch="change", author=AUTHOR)
CHANGE = Change(
    statuses={f"{OWN}/model.py": "modified"},
    files={f"{OWN}/model.py": ("100644", 100)},
    plugins={f"{OWN}/model.py": MODEL},
    owners_before={MODEL: (AUTHOR, 7)},
    owners={MODEL: (AUTHOR, 7)},
)
POLICY = MergePolicy(enabled=True)


def failed_conditions(judged):
    return [condition.what for condition in judged if condition.problem]


class TestConditions:
    def judge(self, pull=PULL, checks=GREEN, merged_lately=0, change=CHANGE):
        of_files = conditions_of_files(pull.author, change, POLICY)
        return failed_conditions((*of_files, *conditions_of_github(pull, checks, merged_lately, POLICY)))

    def test_all_conditions_hold(self):
        assert self.judge() == []

    @pytest.mark.parametrize(
        ("changes", "what"),
        [
            ({"checks": {}}, "required checks are green for this commit"),
            ({"checks": {**GREEN, "gate": "failure"}}, "required checks are green for this commit"),
            ({"checks": {**GREEN, "library gate": "skipped"}}, "required checks are green for this commit"),
            ({"merged_lately": 3}, "below the rate limit"),
            ({"pull": replace(PULL, draft=True)}, "no draft, no label ci-hold"),
            ({"pull": replace(PULL, labels=frozenset({"ci-hold"}))}, "no draft, no label ci-hold"),
            ({"pull": replace(PULL, author=STRANGER)}, "the author owns every folder, as the target branch says"),
        ],
    )
    def test_each_github_condition_can_refuse(self, changes, what):
        assert self.judge(**changes) == [what]

    @pytest.mark.parametrize(
        ("before", "now"),
        [
            (None, (AUTHOR, STRANGER)),  # a new folder belongs only to its author
            (None, ()),
            ((STRANGER,), (AUTHOR,)),  # authors cannot add themselves
            ((STRANGER,), (STRANGER, AUTHOR)),
            ((AUTHOR,), (AUTHOR, STRANGER)),  # nor anyone else
            ((), (AUTHOR,)),
            ((), ()),
        ],
    )
    def test_owners_come_from_the_target_branch(self, before, now):
        change = replace(CHANGE, owners={MODEL: now}, owners_before={} if before is None else {MODEL: before})
        assert self.judge(change=change) == ["the author owns every folder, as the target branch says"]

    def test_empty_change_is_refused(self):
        nothing = Change(statuses={}, files={}, plugins={}, owners_before={}, owners={})
        assert self.judge(change=nothing) == ["only folders of models change"]

    def test_report_lists_conditions_and_escapes_problems(self):
        text = render_conditions([Condition("names are free", "<b>@all</b>"), Condition("no draft")])
        assert "A person decides: 1 condition failed." in text
        assert "| no draft | yes |" in text
        assert "<b>" not in text
        assert "All conditions hold." in render_conditions([Condition("no draft")])


# -- attacks in real repositories --------------------------------------------------------------------------------------

INIT = "from brainscore_vision import model_registry\n\nfrom .model import make\n\nmodel_registry[{name!r}] = make\n"
FILES = {
    "__init__.py": INIT.format(name="mine"),
    "model.py": "def make():\n    return None\n",
    "test.py": "from brainscore_vision import load_model\n\n\ndef test_it():\n    assert load_model('mine') is None\n",
    "metadata.yml": f"access: public\nlicence: MIT\ncontact: '@me'\ncitation: Me (2026)\nowners: [{AUTHOR}]\n",
    "requirements.txt": "timm\n",
}


@pytest.fixture
def project(tree):
    """Return a repository where the author owns the model 'network' and a stranger owns 'other'."""
    tree.write(
        "pyproject.toml",
        f"""
        [tool.brainscore.ci]
        libraries = ["{V}"]
        reference-benchmarks = ["Unrelated"]
        [tool.brainscore.ci.merge]
        enabled = true
        """,
    )
    tree.write("constraints.txt", "timm==1.0\n")
    for name, owner in (("network", AUTHOR), ("other", STRANGER)):
        for file, text in FILES.items():
            text = text.replace("mine", name).replace(str(AUTHOR), str(owner))
            tree.write(f"{V}/models/{name}/{file}", text)
    tree.commit()
    tree.git("checkout", "-q", "-b", "change")
    return tree


def reproduced_pairs(*models, again=0.5):
    return [PairResult(model=model, benchmark="Unrelated", status="scored", score=0.5, again=again) for model in models]


def judge(project, *models, pairs=None):
    head = project.commit()
    project.git("checkout", "-q", "main")
    pull = replace(PULL, head_sha=head)
    results = reproduced_pairs(*(models or ("network",))) if pairs is None else pairs
    main, policy = project.git("rev-parse", "main"), read_policy(project.path)
    return conditions_of_git(project.path, main, pull, policy, static_errors, results)


def add(project, name="mine", **changes):
    for file, text in {**FILES, **changes}.items():
        project.write(f"{V}/models/{name}/{file}", text)


def change_own(project):
    project.write(f"{OWN}/model.py", "def make():\n    return 1 + 1\n")


def test_changing_an_owned_model_meets_all_conditions(project):
    change_own(project)
    assert [condition for condition in judge(project) if condition.problem] == []
    assert project.git("status", "--porcelain") == ""
    assert len(project.git("worktree", "list").splitlines()) == 1


def test_adding_an_owned_model_meets_all_conditions(project):
    add(project)
    assert [condition for condition in judge(project, "mine") if condition.problem] == []


def forge_owners(project):
    path = f"{V}/models/other/metadata.yml"
    project.write(path, (project.path / path).read_text().replace(str(STRANGER), str(AUTHOR)))


def link(project):
    change_own(project)
    (project.path / OWN / "notes.txt").symlink_to("/etc/passwd")


def submodule(project):
    change_own(project)
    commit = project.git("rev-parse", "HEAD")
    project.git("add", "-A")
    project.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{OWN}/sub.py")
    # Without the folder in the work tree, the commit would remove the entry again.
    (project.path / OWN / "sub.py").mkdir()


def make_executable(project):
    project.git("config", "core.fileMode", "false")  # set in the index, as a pull request may do
    project.git("update-index", "--chmod=+x", f"{OWN}/model.py")


ONLY, PLAIN = "only folders of models change", "files are plain text: no link, submodule or program"
KIND, LARGE = "files are added or modified, none removed or renamed", "at most 50 files and 1 MB"
OWNER, RULES = "the author owns every folder, as the target branch says", "the static rules find nothing"
LOCKED = "requirements are in the lock, or were there before"
ATTACKS = {
    "another's folder": (lambda project: project.write(f"{V}/models/other/model.py", "x = 1\n"), OWNER),
    "forged owners": (forge_owners, OWNER),
    "new folder of another": (
        lambda project: add(project, **{"metadata.yml": FILES["metadata.yml"].replace(str(AUTHOR), str(STRANGER))}),
        OWNER,
    ),
    "owners as texts": (
        lambda project: add(project, **{"metadata.yml": FILES["metadata.yml"].replace(str(AUTHOR), f"'{AUTHOR}'")}),
        OWNER,
    ),
    "a workflow beside it": (lambda project: project.write(".github/workflows/x.yml", "on: push\n"), ONLY),
    "a file beside the folders": (lambda project: project.write(f"{V}/models/__init__.py", "x = 1\n"), ONLY),
    "data": (lambda project: project.plugin("data/mine", registers=[("data", "Mine2026")]), ONLY),
    "the library": (lambda project: project.write(f"{V}/utils.py", "x = 1\n"), ONLY),
    "deletion": (lambda project: project.git("rm", "-q", "-r", OWN), KIND),
    "rename": (lambda project: project.git("mv", OWN, f"{V}/models/renamed"), KIND),
    "rename of another's": (lambda project: project.git("mv", f"{V}/models/other", f"{V}/models/renamed"), OWNER),
    "link": (link, PLAIN),
    "submodule": (submodule, PLAIN),
    "executable": (make_executable, PLAIN),
    "attributes of git": (lambda project: project.write(f"{OWN}/.gitattributes", "* filter=lfs\n"), PLAIN),
    "byte code": (lambda project: project.write(f"{OWN}/model.pyc", "x"), PLAIN),
    "weights": (lambda project: project.write(f"{OWN}/weights.bin", "x"), PLAIN),
    "many files": (lambda project: [project.write(f"{OWN}/m{i}.py", f"x = {i}\n") for i in range(51)], LARGE),
    "a large file": (lambda project: project.write(f"{OWN}/table.csv", "x" * 1_000_001), LARGE),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attack_is_refused_before_files_are_read(project, attack):
    make, what = ATTACKS[attack]
    make(project)
    judged = judge(project)
    assert what in failed_conditions(judged)
    assert [condition.problem for condition in judged].count("not read") == 5


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"__init__.py": INIT.format(name="Network")}, ["names are free"]),  # the same name once folded
        ({"model.py": "def make(:\n"}, [RULES]),
        ({"requirements.txt": "timm\nunheard-of\n"}, [LOCKED]),
        ({"requirements.txt": "https://evil.example/x.zip\n"}, [RULES, LOCKED]),
    ],
    ids=["taken name", "static rule", "unknown requirement", "address as requirement"],
)
def test_each_condition_on_file_contents_can_refuse(project, changes, problems):
    add(project, **changes)
    assert failed_conditions(judge(project, "mine", "Network")) == problems


def test_model_used_by_another_plugin_is_refused(project):
    project.git("checkout", "-q", "main")
    project.plugin("benchmarks/built_on", benchmark__py="load_model('network')\n")
    project.commit()
    project.git("checkout", "-q", "-B", "change")
    change_own(project)
    assert failed_conditions(judge(project)) == ["no score of another plugin can change"]


@pytest.mark.parametrize(
    "pairs", [[], reproduced_pairs("network", again=None), reproduced_pairs("network", again=0.51)]
)
def test_preview_not_reproduced_in_a_second_box_is_refused(project, pairs):
    change_own(project)
    assert failed_conditions(judge(project, pairs=pairs)) == ["two boxes gave the same scores of the preview"]


def test_owner_removed_on_the_target_branch_is_refused(project):
    """The branch began before the removal; the current target branch counts."""
    change_own(project)
    project.commit()
    project.git("checkout", "-q", "main")
    path = f"{OWN}/metadata.yml"
    project.write(path, (project.path / path).read_text().replace(str(AUTHOR), str(STRANGER)))
    project.commit()
    project.git("checkout", "-q", "change")
    assert OWNER in failed_conditions(judge(project))


# -- settings ----------------------------------------------------------------------------------------------------------


def test_merging_is_disabled_by_default(tmp_path):
    assert not read_policy(tmp_path).merge.enabled
    (tmp_path / "pyproject.toml").write_text("[tool.brainscore.ci.merge]\nmost-files = 5\n")
    assert read_policy(tmp_path).merge == MergePolicy(most_files=5)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("enabld = true", "Did you mean 'enabled'"),
        ("enabled = 1", "expected true or false"),
        ("enabled = 'true'", "expected true or false"),
        ("most-files = true", "expected a number above 0"),
        ("required-checks = 'gate'", "expected a list of texts"),
    ],
)
def test_wrong_merge_settings_are_errors(tmp_path, line, message):
    (tmp_path / "pyproject.toml").write_text(f"[tool.brainscore.ci.merge]\n{line}\n")
    with pytest.raises(ConfigurationError, match=message):
        read_policy(tmp_path)
