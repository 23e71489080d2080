"""Test the plan for a change: first hand-written cases, then random trees and changes."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.changes import ChangeSet, FileChange
from brainscore_ci.planning.checkout import read_checkout
from brainscore_ci.planning.decide import PluginCard, make_plan
from brainscore_ci.planning.dependencies import Dependencies, LibraryEffect, Use
from brainscore_ci.planning.policy import Policy

V = "vision/brainscore_vision"


def change(path, status="modified", old=None, special=None):
    return FileChange(path=path, status=status, old_path=old, special=special)


def plan(tree, *changes, event="pull_request", **options):
    found = read_checkout(tree.path)
    changeset = ChangeSet(changes=changes, base="b", head="h", note="compared")
    return make_plan(changeset, found.dependencies, found.cards, found.policy, event=event, **options)


def plugins_to_test(made):
    return [str(task.plugin) for task in made.tests]


def pairs(made):
    return {(pair.model, pair.benchmark) for pair in made.pairs}


def test_changed_model_is_tested_and_scored(tree):
    made = plan(tree, change(f"{V}/models/network/model.py"))
    assert plugins_to_test(made) == ["models/network"]
    both = ("network", "network_small")
    assert pairs(made) == {(model, name) for model in both for name in ("Experiment-similarity", "Unrelated")}
    assert {(pair.model, pair.benchmark) for pair in made.previews} == {(model, "Unrelated") for model in both}


def test_metric_reaches_its_benchmark_and_all_models_on_it(tree):
    made = plan(tree, change(f"{V}/metrics/similarity/metric.py"))
    assert plugins_to_test(made) == ["benchmarks/experiment", "metrics/similarity"]
    assert pairs(made) == {(model, "Experiment-similarity") for model in ("network", "network_small", "pixels")}
    assert made.previews == ()
    assert made.pairs[0].reasons == (
        "benchmarks/experiment",
        "uses metrics/similarity: load_metric('similarity') in benchmark.py:5",
        "changed: metric.py modified",
    )


def test_changed_model_and_benchmark_plan_the_union(tree):
    made = plan(tree, change(f"{V}/models/pixels/model.py"), change(f"{V}/benchmarks/unrelated/b.py"))
    others = {(model, "Unrelated") for model in ("pixels", "network", "network_small")}
    assert pairs(made) == {("pixels", "Experiment-similarity"), *others}
    assert len(made.pairs) == 4


@pytest.mark.parametrize("file", ["test.py", "README.md", "metadata.yml", "data_packaging/make.py"])
def test_files_that_change_no_score(tree, file):
    made = plan(tree, change(f"{V}/models/network/{file}"))
    assert plugins_to_test(made) == ["models/network"]
    assert made.pairs == made.previews == ()


@pytest.mark.parametrize("path", ["README.md", "docs/index.md", "perf/x.py", "core/tests/test_x.py"])
def test_documentation_plans_nothing(tree, path):
    made = plan(tree, change(path))
    assert made.tests == made.pairs == made.previews == made.refused == ()


@pytest.mark.parametrize("path", ["core/brainscore_core/x.py", f"{V}/metric_helpers/x.py", "strange.file"])
def test_library_and_unknown_files_plan_representatives(tree, path):
    made = plan(tree, change(path))
    assert plugins_to_test(made) == ["benchmarks/unrelated", "models/pixels"]
    assert pairs(made) == {("pixels", "Unrelated")}
    assert any("ci-full" in note for note in made.notes)


class TestLibrary:
    """Changes of the library whose users are known."""

    PATH = f"{V}/metric_helpers/x.py"

    def plan(self, tree, effect, **options):
        return plan(tree, change(self.PATH), library=effect, **options)

    def test_direct_and_indirect_users_are_tested(self, tree):
        metric, model = PluginName("metrics", "similarity"), PluginName("models", "pixels")
        effect = LibraryEffect({metric: "imports f"}, {model: "g"})
        made = self.plan(tree, effect)
        assert {str(task.plugin): task.reasons[-1] for task in made.tests} == {
            "metrics/similarity": "imports f",
            "benchmarks/experiment": "imports f",
            "models/pixels": "g",
        }
        assert made.pairs == made.stale == ()  # no reference pair uses it

    def test_only_nearest_users_are_tested_if_many(self, tree):
        tree.write("pyproject.toml", f"{(tree.path / 'pyproject.toml').read_text()}most-library-tests = 1\n")
        made = self.plan(tree, LibraryEffect({PluginName("metrics", "similarity"): "imports f"}))
        assert plugins_to_test(made) == ["metrics/similarity"]
        assert "2 plugins use what the library changes: the nearest 1 tested now" in made.notes[-1]

    def test_affected_records_are_stale(self, tree):
        records = [("network", "Experiment-similarity"), ("network", "Unrelated"), ("pixels", "Unrelated"), ("x", "y")]
        effect = LibraryEffect({PluginName("benchmarks", "unrelated"): "imports f"})
        made = self.plan(tree, effect, stored=lambda: records)
        assert pairs(made) == {("pixels", "Unrelated")}
        assert made.pairs[0].reasons == ("reference pair", "benchmarks/unrelated", "imports f")
        assert [(pair.model, pair.benchmark, pair.reasons) for pair in made.stale] == [
            ("network", "Unrelated", ("benchmarks/unrelated", "imports f"))
        ]
        everything = self.plan(tree, LibraryEffect(general=frozenset({self.PATH})), stored=lambda: records)
        assert [(pair.model, pair.benchmark) for pair in everything.stale] == records[:2]
        assert plugins_to_test(everything) == ["benchmarks/unrelated", "models/pixels"]

    def test_library_change_without_effect_plans_nothing(self, tree):
        made = self.plan(tree, LibraryEffect(), stored=lambda: pytest.fail("records are not needed"))
        assert made.tests == made.pairs == made.stale == ()


def test_workflow_edit_plans_representatives_without_scores(tree):
    made = plan(tree, change(".github/workflows/plugins.yml"))
    assert plugins_to_test(made) == ["benchmarks/unrelated", "models/pixels"]
    assert made.pairs == ()


def test_ci_full_label_and_nightly_run_test_everything(tree):
    everything = plugins_to_test(plan(tree, change("README.md"), labels=["ci-full"]))
    assert len(everything) == 7
    assert plugins_to_test(plan(tree, event="schedule")) == everything


def test_ci_no_score_label_skips_scores(tree):
    made = plan(tree, change(f"{V}/models/network/model.py"), labels=["ci-no-score"])
    assert made.pairs == made.previews == ()
    assert [(skip.what, skip.reason) for skip in made.skipped] == [("scores of 4 pairs", "label ci-no-score")]


def test_rename_counts_for_both_names(tree):
    tree.plugin("models/renamed", registers=[("model", "renamed")])
    made = plan(tree, change(f"{V}/models/renamed/model.py", "renamed", f"{V}/metrics/similarity/metric.py"))
    assert plugins_to_test(made) == ["benchmarks/experiment", "metrics/similarity", "models/renamed"]


def test_deleted_plugin_plans_nothing(tree):
    made = plan(tree, change(f"{V}/models/gone/__init__.py", "deleted"), change(f"{V}/models/gone/model.py", "deleted"))
    assert made.tests == made.pairs == made.refused == ()  # users of its identifiers: see test_planner.py


def test_nested_and_more_than_300_files(tree):
    changes = [change(f"{V}/models/network/deep/er/{index}.py", "added") for index in range(400)]
    made = plan(tree, *changes)
    assert plugins_to_test(made) == ["models/network"]
    assert made.tests[0].reasons == (
        "changed: deep/er/0.py added, deep/er/1.py added, deep/er/10.py added and 397 more",
    )


@pytest.mark.parametrize("name", ["x$(touch pwned)", "line\nbreak", ".hidden", "-rf", "a b", "ä"])
def test_unsafe_folder_names_are_refused(tree, name):
    made = plan(tree, change(f"{V}/models/{name}/__init__.py", "added"))
    (refusal,) = made.refused
    assert "names of plugin folders" in refusal.reason
    assert made.tests == ()
    assert plan(tree, change(f"{V}/models/{name}/__init__.py", "deleted")).refused == ()


@pytest.mark.parametrize("name", ["n\u0435twork", "net\uff57ork", "network\u200b", "network "], ids=ascii)
def test_lookalike_identifiers_are_refused(tree, name):
    tree.plugin("models/mine", registers=[("model", name)])
    made = plan(tree, change(f"{V}/models/mine/__init__.py", "added"), event="push")
    (refusal,) = made.refused
    assert refusal.path == "models/mine"
    assert re.fullmatch(
        r"'.*' contains the character [A-Z -]+, which may be invisible or look like another one", refusal.reason
    )
    assert made.pairs == made.previews == ()


def test_existing_unsafe_folder_names_reach_no_job(tree):
    tree.plugin("models/x$(touch pwned)", registers=[("model", "odd")])
    assert not [name for name in plugins_to_test(plan(tree, event="schedule")) if "pwned" in name]


def test_renaming_away_from_an_unsafe_name_is_allowed(tree):
    made = plan(tree, change(f"{V}/models/network/model.py", "renamed", f"{V}/models/a b/model.py"))
    assert made.refused == ()


@pytest.mark.parametrize("special", ["symlink", "submodule"])
def test_links_in_plugins_are_refused(tree, special):
    (refusal,) = plan(tree, change(f"{V}/models/network/link", "added", special=special)).refused
    assert special in refusal.reason


class TestPrivate:
    @pytest.fixture
    def private(self, tree):
        test = "import pytest\n\n@pytest.mark.private_access\ndef test_it():\n    pass\n"
        tree.plugin("data/recordings", registers=[("data", "Recordings"), ("stimulus_set", "Recordings")], test=test)
        return tree

    def test_private_tests_run_only_after_the_merge(self, private):
        for event in ("pull_request", "merge_group"):
            made = plan(private, change(f"{V}/data/recordings/x.py"), event=event)
            (task,) = [task for task in made.tests if task.plugin.folder == "data"]
            assert (task.private_tests, task.with_private) == (1, False)
            assert [skip.what for skip in made.skipped] == ["1 private test of data/recordings"]
        made = plan(private, change(f"{V}/data/recordings/x.py"), event="push")
        assert [task.with_private for task in made.tests if task.plugin.folder == "data"] == [True]
        assert made.skipped == ()

    def test_benchmark_on_private_data_is_private_by_default(self, private):
        def are_private():
            made = plan(private, change(f"{V}/models/network/model.py"))
            return {pair.benchmark: pair.private for pair in made.pairs}

        assert are_private() == {"Experiment-similarity": True, "Unrelated": False}
        private.write(f"{V}/benchmarks/experiment/metadata.yml", "access: public\n")
        assert not any(are_private().values())
        private.write(f"{V}/benchmarks/experiment/metadata.yml", "access: private\n")
        private.plugin("benchmarks/experiment", registers=[("benchmark", "E"), ("benchmark", "Epublic.IT")])
        assert are_private() == {"E": True, "Epublic.IT": False, "Unrelated": False}


def test_pairs_with_a_record_are_skipped(tree):
    def is_scored(model, benchmark):
        return "a record of this revision exists" if (model, benchmark) == ("network", "Unrelated") else None

    made = plan(tree, change(f"{V}/models/network/model.py"), is_scored=is_scored)
    assert ("network", "Unrelated") not in pairs(made)
    assert len(made.pairs) == 3
    assert [skip.what for skip in made.skipped] == ["network on Unrelated"]


def test_costs_come_from_the_metadata(tree):
    tree.write(f"{V}/benchmarks/experiment/metadata.yml", "minutes: 42\nmemory_gb: 9.5\n")
    made = plan(tree, change(f"{V}/models/network/model.py"))
    assert {(pair.benchmark, pair.minutes, pair.memory_gb) for pair in made.pairs} == {
        ("Experiment-similarity", 42.0, 9.5),
        ("Unrelated", 5.0, 4.0),
    }


def test_plugin_without_tests_is_reported(tree):
    tree.plugin("models/bare", registers=[("model", "bare")], test=None)
    made = plan(tree, change(f"{V}/models/bare/model.py"))
    assert made.tests == ()
    assert [skip.what for skip in made.skipped] == ["tests of models/bare"]


class TestRevision:
    def test_revision_changes_with_dependencies(self, tree):
        name = PluginName("benchmarks", "experiment")
        before = read_checkout(tree.path).revision(name)
        assert re.fullmatch("[0-9a-f]{16}", before)
        assert read_checkout(tree.path).revision(name) == before
        tree.write(f"{V}/metrics/other/metric.py", "x = 1\n")
        tree.write(f"{V}/metrics/similarity/README.md", "x\n")
        tree.write(f"{V}/benchmarks/experiment/test.py", "x = 1\n")
        assert read_checkout(tree.path).revision(name) == before
        tree.write(f"{V}/metrics/similarity/metric.py", "x = 1\n")
        assert read_checkout(tree.path).revision(name) != before


# Random trees and changes ---------------------------------------------------------------------------------------------

NAMES = st.builds(PluginName, st.sampled_from(["data", "metrics", "benchmarks", "models"]), st.sampled_from("abcdef"))
FILES = st.sampled_from(["__init__.py", "x.py", "test.py", "README.md"])
ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
PATHS = st.one_of(
    st.builds(lambda name, file: f"{V}/{name}/{file}", NAMES, FILES),
    st.sampled_from(["README.md", "core/brainscore_core/x.py", ".github/workflows/x.yml", "odd", "core/tests/x.py"]),
    ANY_TEXT.filter(lambda path: path.strip("/")),
)
CHANGES = st.lists(
    st.builds(change, PATHS, st.sampled_from(["added", "deleted", "modified"]))
    | st.builds(lambda new, old: change(new, "renamed", old), PATHS, PATHS),
    max_size=5,
)


def card(name):
    key = f"{name.folder}.{name.name}"
    return PluginCard(
        name=name,
        models=(key,) if name.folder == "models" else (),
        benchmarks=(key,) if name.folder == "benchmarks" else (),
    )


@settings(max_examples=120)
@given(
    plugins=st.sets(NAMES, max_size=12),
    edges=st.sets(st.tuples(NAMES, NAMES, st.booleans()), max_size=20),
    changes=CHANGES,
    event=st.sampled_from(["pull_request", "merge_group", "push", "schedule", "local", "workflow_dispatch"]),
    labels=st.sets(st.sampled_from(["ci-full", "other"])),
)
def test_plan_covers_all_affected_plugins_once(plugins, edges, changes, event, labels):
    uses = tuple(
        Use(user, used, "", "test.py" if only else "model.py")
        for user, used, only in sorted(edges)
        if {user, used} <= plugins and user != used
    )
    made = make_plan(
        ChangeSet(changes=tuple(changes), base=None, head=None, note=""),
        Dependencies(frozenset(plugins), uses),
        {name: card(name) for name in plugins},
        Policy(
            libraries=("vision/brainscore_vision",),
            reference_models=("models.a",),
            reference_benchmarks=("benchmarks.a",),
        ),
        event=event,
        labels=labels,
    )
    tested = [task.plugin for task in made.tests]
    scored = [(pair.model, pair.benchmark) for pair in made.pairs]
    assert len(set(tested)) == len(tested)
    assert len(set(scored)) == len(scored)
    assert set(tested) <= plugins

    # Independent oracle: plugins with a changed file, then their users, until none is added.
    def reached(start, *, tests_count):
        found = {name for name in start if name in plugins}
        while True:
            more = {use.user for use in uses if use.used in found and not use.tests_only} - found
            if not more:
                break
            found |= more
        return found | ({use.user for use in uses if use.used in found} if tests_count else set())

    paths = [path for each in changes for path in each.paths]
    touched = {name for name in plugins if any(path.startswith(f"{V}/{name}/") for path in paths)}
    assert reached(touched, tests_count=True) <= set(tested)
    code = {name for name in touched if any(path in {f"{V}/{name}/x.py", f"{V}/{name}/__init__.py"} for path in paths)}
    changing = reached(code, tests_count=False)
    models = {card(name).models[0] for name in plugins if name.folder == "models"}
    benchmarks = {card(name).benchmarks[0] for name in plugins if name.folder == "benchmarks"}
    for name in changing:
        assert {(model, benchmark) for model in card(name).models for benchmark in benchmarks} <= set(scored)
        assert {(model, benchmark) for model in models for benchmark in card(name).benchmarks} <= set(scored)
