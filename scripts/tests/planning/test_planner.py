"""Test planning in real repositories, and the script for users and CI."""

import json
from pathlib import Path

import pytest

from brainscore_ci.planning import planner
from brainscore_ci.planning.checkout import read_own_checkout
from brainscore_ci.planning.plan import Plan
from brainscore_core.errors import ConfigurationError
from brainscore_core.records.record import ScoreRecord, record_path

ROOT = Path(__file__).parents[3]
V = "vision/brainscore_vision"
ALL = {(model, benchmark) for model in ("network", "network_small", "pixels") for benchmark in ("E", "Unrelated")}


@pytest.fixture
def tree(tree):
    tree.plugin("benchmarks/experiment", registers=[("benchmark", "E")], benchmark__py="load_metric('similarity')\n")
    return tree


def checkout_of(tree):
    return read_own_checkout(tree.path)


def pairs(plan):
    return {(pair.model, pair.benchmark) for pair in plan.pairs}


def publish(tree, *scored, status="scored", age=""):
    """Commit records to the branch origin/scores, as the workflow does."""
    found = checkout_of(tree)
    folder = tree.path.parent / "records"
    for model, benchmark in scored:
        record = ScoreRecord.without_score(status, model=model, benchmark=benchmark, source_revision=None)
        revisions = {
            "model_revision": found.revision_of("model", model) + age,
            "benchmark_revision": found.revision_of("benchmark", benchmark),
        }
        ScoreRecord(**{**vars(record), **revisions}).write(record_path(folder / "records", model, benchmark))
    records = type(tree)(folder)
    records.commit()
    tree.git("fetch", "-q", folder, "+main:refs/remotes/origin/scores")


def test_plans_the_working_tree(repository):
    repository.write(f"{V}/models/network/model.py", "x = 1\n")
    plan = planner.plan_work_tree(checkout_of(repository))
    assert [str(task.plugin) for task in plan.tests] == ["models/network"]
    assert pairs(plan) == {pair for pair in ALL if pair[0] != "pixels"}
    assert (plan.event, plan.head) == ("local", None)


def test_users_of_a_removed_identifier_are_tested(repository):
    repository.git("rm", "-r", "-q", f"{V}/metrics/similarity")
    plan = planner.plan_work_tree(checkout_of(repository))
    (task,) = plan.tests
    assert str(task.plugin) == "benchmarks/experiment"
    assert task.reasons[0] == (
        "uses metrics/similarity: load_metric('similarity') in benchmark.py:1, which it registered before"
    )


def test_plan_notes_unresolvable_loads(repository):
    repository.plugin("benchmarks/new", benchmark__py="load_metric(os.environ['M'])\n")
    (note,) = (note for note in planner.plan_work_tree(checkout_of(repository)).notes if "does not say" in note)
    assert "does not say what load_metric(...) in benchmark.py:1 loads" in note
    assert "metadata.yml: uses: [identifier]" in note


def test_default_base_is_origin_main(repository):
    repository.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repository.write(f"{V}/models/network/model.py", "x = 1\n")
    repository.commit()
    assert [str(task.plugin) for task in planner.plan_work_tree(checkout_of(repository)).tests] == ["models/network"]
    assert planner.plan_work_tree(checkout_of(repository), "main").tests == ()


def test_unknown_base_is_an_error(repository):
    repository.git("branch", "-m", "main", "trunk")
    with pytest.raises(ConfigurationError, match="--base BRANCH"):
        planner.plan_work_tree(checkout_of(repository))
    assert planner.plan_work_tree(checkout_of(repository), "trunk").tests == ()


def test_folder_without_checkout_is_an_error(tmp_path):
    with pytest.raises(ConfigurationError, match="no plugin"):
        read_own_checkout(tmp_path)


class TestAfterAMerge:
    @pytest.fixture
    def pushed(self, repository):
        repository.write(f"{V}/models/network/model.py", "x = 1\n")
        repository.commit()
        return repository

    def plan(self, pushed, base="HEAD~1", *, event="push", **options):
        return planner.plan_change(checkout_of(pushed), base, "HEAD", event=event, **options)

    def test_pairs_with_current_records_are_left_out(self, pushed):
        publish(pushed, ("network", "E"), ("network", "Unrelated"))
        plan = self.plan(pushed)
        assert pairs(plan) == {("network_small", "E"), ("network_small", "Unrelated")}
        skipped = [skip.what for skip in plan.skipped if "same code" in skip.reason]
        assert skipped == ["network on E", "network on Unrelated"]

    @pytest.mark.parametrize(
        ("status", "age"), [("scored", "of other code"), ("failed:Timeout", "")], ids=["other code", "failed"]
    )
    def test_failed_and_outdated_pairs_are_scored(self, pushed, status, age):
        publish(pushed, ("network", "E"), status=status, age=age)
        assert ("network", "E") in pairs(self.plan(pushed))

    def test_pairs_skipped_for_private_data_are_retried_with_it(self, pushed):
        publish(pushed, ("network", "E"), status="skipped:private data are not available")
        assert ("network", "E") not in pairs(self.plan(pushed))
        assert ("network", "E") in pairs(self.plan(pushed, with_private=True))

    def test_pull_request_plan_ignores_existing_records(self, pushed):
        publish(pushed, ("network", "E"))
        assert ("network", "E") in pairs(self.plan(pushed, event="pull_request"))

    def test_manual_run_without_base_scores_pairs_without_record(self, pushed):
        publish(pushed, ("network", "E"))
        plan = self.plan(pushed, "", event="workflow_dispatch")
        assert pairs(plan) == ALL - {("network", "E")}
        assert plan.tests == ()

    def test_first_push_scores_everything(self, pushed):
        plan = self.plan(pushed, "0" * 40)
        assert pairs(plan) == ALL
        assert len(plan.tests) == 7


def test_missing_pairs_have_no_usable_record(repository):
    assert set(planner.missing_pairs(checkout_of(repository))) == ALL
    publish(repository, ("network", "E"))
    publish(repository, ("pixels", "E"), status="failed:ValueError")  # a failure needs a person's attention
    publish(repository, ("pixels", "Unrelated"), age="of other code")
    assert set(planner.missing_pairs(checkout_of(repository))) == ALL - {("network", "E"), ("pixels", "E")}


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("", set()),
        ("null", set()),
        ("[]", set()),
        ('["ci-full", "a, b"]', {"ci-full", "a, b"}),
        ("ci-full, ci-no-score", {"ci-full", "ci-no-score"}),
    ],
)
def test_reads_labels(text, labels):
    assert planner.read_labels(text) == labels


@pytest.mark.parametrize("text", ['{"a": 1}', "[1]", '"ci-full"', "[", "null null"])
def test_malformed_labels_are_an_error(text):
    with pytest.raises(ConfigurationError, match="no labels"):
        planner.read_labels(text)


def test_unknown_event_gets_a_suggestion():
    with pytest.raises(ConfigurationError, match="'pull_request'"):
        planner.read_event("pull-request")


class TestScript:
    @pytest.fixture
    def run(self, script):
        return lambda tree, *arguments, **environment: script("plan.py", *arguments, cwd=tree.path, **environment)

    def test_prints_the_plan_as_text(self, run, repository):
        repository.write(f"{V}/metrics/similarity/metric.py", "x = 1\n")
        done = run(repository)
        assert done.returncode == 0, done.stderr
        assert "Tests of 2 plugins, about 3 min" in done.stdout
        assert "<- changed: metric.py added" in done.stdout
        assert "network, network_small, pixels x E" in done.stdout

    def test_writes_json_and_outputs(self, run, repository, tmp_path):
        repository.write(f"{V}/metrics/similarity/metric.py", "x = 1\n")
        repository.commit()
        files = {"plan": tmp_path / "plan.json", "outputs": tmp_path / "outputs"}
        done = run(
            repository,
            *("--event", "pull_request", "--base", "HEAD~1", "--head", "HEAD", "--labels", '["x"]', "--json"),
            *("--output", files["plan"]),
            GITHUB_OUTPUT=str(files["outputs"]),
        )
        assert done.returncode == 0, done.stderr
        plan = Plan.from_json(done.stdout)
        assert Plan.from_json(files["plan"].read_text()) == plan
        assert len(plan.tests) == 2
        outputs = dict(line.split("=", 1) for line in files["outputs"].read_text().splitlines())
        assert (outputs["tests"], outputs["pairs"], outputs["previews"], outputs["refused"]) == ("2", "3", "0", "0")
        assert json.loads(outputs["test_shards"]) == [{"index": 0, "name": "benchmarks/experiment and 1 more"}]

    def test_refused_path_exits_with_1(self, run, repository, tmp_path):
        repository.write(f"{V}/models/x$(touch pwned)/__init__.py", "")
        done = run(repository, GITHUB_OUTPUT=str(tmp_path / "outputs"))
        assert done.returncode == 1
        assert "REFUSED" in done.stdout
        assert {"tests=0", "refused=1"} <= set((tmp_path / "outputs").read_text().splitlines())

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--base", "nowhere"], "'nowhere' is no commit or branch"),
            (["--event", "puhs"], "Did you mean 'push'?"),
            (["--labels", "["], "no labels"),
            (["--unknown"], "No such option: --unknown"),
        ],
    )
    def test_wrong_usage_exits_with_2(self, run, repository, arguments, message):
        done = run(repository, *arguments)
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr

    def test_writes_missing_pairs(self, run, repository, tmp_path):
        done = run(repository, "--missing", tmp_path / "missing.json")
        assert done.returncode == 0, done.stderr
        assert {tuple(pair) for pair in json.loads((tmp_path / "missing.json").read_text())} == ALL
        assert "6 pairs have no record" in done.stderr


@pytest.fixture
def plan_contribution(repository):
    """Add an unshipped plugin `mine` and a list of shipped plugins; return a function that plans."""
    code = "LAYERS = ['a', 'b', 'c', 'd', 'e']\n" * 9
    repository.plugin("models/mine", registers=[("model", "mine")], model__py=code)
    repository.write("notes.md", f"notes\n{code}")
    shipped = [f"{kind}/{name}" for kind, name in (("models", "network"), ("models", "pixels"))]
    repository.write("vision/tests/shipped_plugins.txt", "\n".join(shipped))
    policy = f"{(repository.path / 'pyproject.toml').read_text()}shipped = 'vision/tests/shipped_plugins.txt'\n"
    repository.write("pyproject.toml", policy)
    repository.commit()
    repository.git("branch", "base")

    def planned(**options):
        head = repository.commit()
        given = {"event": "pull_request", **options}
        return planner.plan_change(checkout_of(repository), "base", head, **given).plugins_only

    return planned


def test_change_of_only_plugins_is_plugins_only(repository, plan_contribution):
    repository.plugin("metrics/median2030", registers=[("metric", "median2030")], requirements__txt="nobody==1\n")
    repository.write(f"{V}/models/mine/model.py", "LAYERS = []\n")
    assert plan_contribution() == "plugins only: metrics/median2030, models/mine"
    for number in range(4):
        repository.plugin(f"models/more{number}")
    assert (
        plan_contribution(event="merge_group")
        == "plugins only: metrics/median2030, models/mine, models/more0 and 3 more"
    )
    assert (
        plan_contribution(labels=["ci-full"])
        == plan_contribution(event="push")
        == plan_contribution(event="schedule")
        == ""
    )


ATTACKS = {
    "a file outside its folder": lambda tree: tree.write("scripts/gate.py", "print()"),
    "the list of plugins that ship": lambda tree: tree.write("vision/tests/shipped_plugins.txt", ""),
    "the policy": lambda tree: tree.write("pyproject.toml", f"{(tree.path / 'pyproject.toml').read_text()}# mine\n"),
    "the package of all plugins": lambda tree: tree.write(f"{V}/models/__init__.py", "raise SystemExit\n"),
    "a module beside the folders": lambda tree: tree.write(f"{V}/models/mine.py", "x = 1\n"),
    "helpers": lambda tree: tree.write(f"{V}/model_helpers/x.py", "x = 1\n"),
    "a folder that is no plugin": lambda tree: tree.write(f"{V}/models/_shared/x.py", "x = 1\n"),
    "a plugin that ships": lambda tree: tree.write(f"{V}/models/pixels/conftest.py", "x = 1\n"),
    "a deleted file": lambda tree: tree.git("rm", "-q", f"{V}/models/mine/model.py"),
    "a rename out of the folder": lambda tree: tree.git("mv", f"{V}/models/mine/model.py", f"{V}/model.py"),
    "a rename into the folder": lambda tree: tree.git("mv", "notes.md", f"{V}/models/mine/more.md"),
    "a rename within it": lambda tree: tree.git("mv", f"{V}/models/mine/model.py", f"{V}/models/mine/other.py"),
    "a rename to another plugin": lambda tree: tree.git("mv", f"{V}/models/mine", f"{V}/models/pixels/mine"),
    "a symlink": lambda tree: (tree.path / f"{V}/models/mine/link.py").symlink_to("/etc/passwd"),
    "a file that becomes a symlink": lambda tree: (
        (tree.path / f"{V}/models/mine/model.py").unlink(),
        (tree.path / f"{V}/models/mine/model.py").symlink_to("../pixels/__init__.py"),
    ),
    "a submodule": lambda tree: type(tree)(tree.path / f"{V}/models/mine/module").commit(),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_plugin_with_any_other_change_is_not_plugins_only(repository, plan_contribution, attack):
    repository.plugin("metrics/median2030", registers=[("metric", "median2030")])
    attack(repository)
    assert plan_contribution() == ""


def test_plugins_only_considers_all_commits(repository, plan_contribution):
    repository.write("scripts/gate.py", "print()")
    repository.commit()
    repository.plugin("metrics/median2030", registers=[("metric", "median2030")])
    assert plan_contribution() == ""
    (repository.path / "scripts/gate.py").unlink()
    assert plan_contribution() == "plugins only: metrics/median2030"


def test_output_tells_the_library_workflow_whether_to_run(repository, script, tmp_path):
    repository.plugin("metrics/median2030", registers=[("metric", "median2030")])
    for text, library in (("", "0"), ("x = 1\n", "1")):
        output = tmp_path / f"output{library}"
        if text:
            repository.write("core/brainscore_core/x.py", text)
        assert script("plan.py", "--event", "pull_request", cwd=repository.path, GITHUB_OUTPUT=output).returncode == 0
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        assert outputs["library"] == library
        assert outputs["plugins_only"] == ("" if text else "plugins only: metrics/median2030")
