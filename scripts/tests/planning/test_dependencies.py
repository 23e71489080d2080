"""Test finding the dependencies between plugins."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.checkout import Checkout, read_checkout
from brainscore_ci.planning.dependencies import QUANTITIES, find_dependencies
from brainscore_core.metrics import Quantity
from brainscore_core.plugin_management.index import PluginIndex, PluginRoot


def uses(tree):
    found = read_checkout(tree.path).dependencies.uses
    return {(str(use.user), str(use.used), use.tests_only) for use in found}


def affected(tree, *names, tests=True):
    changed = {PluginName.parse(name): "changed" for name in names}
    return {str(name) for name in read_checkout(tree.path).dependencies.affected_by(changed, tests=tests)}


EXPERIMENT = {
    ("benchmarks/experiment", "data/recordings", False),
    ("benchmarks/experiment", "metrics/similarity", False),
}


def test_literal_loads_are_uses(tree):
    assert uses(tree) == EXPERIMENT


def test_affected_plugins(tree):
    tree.plugin("models/built_on", test="def test_it():\n    load_benchmark('Experiment-similarity')\n")
    assert affected(tree, "metrics/similarity") == {"metrics/similarity", "benchmarks/experiment", "models/built_on"}
    assert affected(tree, "metrics/similarity", tests=False) == {"metrics/similarity", "benchmarks/experiment"}
    assert affected(tree, "metrics/other") == {"metrics/other"}


def test_tests_do_not_pass_an_effect_on(tree):
    tree.plugin("models/a", registers=[("model", "a")], test="load_benchmark('Experiment-similarity')\n")
    tree.plugin("models/b", model__py="from brainscore_vision.models.a.model import A\n")
    assert affected(tree, "metrics/similarity") == {"metrics/similarity", "benchmarks/experiment", "models/a"}


def test_affected_plugin_has_a_chain_of_reasons(tree):
    chains = read_checkout(tree.path).dependencies.affected_by({PluginName("data", "recordings"): "changed: x.py"})
    assert chains[PluginName("benchmarks", "experiment")] == (
        "uses data/recordings: load_dataset('Recordings') in benchmark.py:5",
        "changed: x.py",
    )


@pytest.mark.parametrize(
    "source",
    [
        "import brainscore_vision.metrics.other\n",
        "from brainscore_vision.metrics.other.metric import M\n",
        "from brainscore_vision.metrics import other\n",
        "from ...metrics.other.metric import M\n",
        "module = import_module('brainscore_vision.metrics.other')\n",
    ],
)
def test_importing_another_plugin_is_a_use(tree, source):
    tree.plugin("models/wrapper", model__py=source)
    assert uses(tree) - EXPERIMENT == {("models/wrapper", "metrics/other", False)}


def test_relative_imports_of_siblings_and_self(tree):
    tree.plugin(
        "models/wrapper", model__py="from ..network.model import M\nfrom .helper import x\n", helper__py="x = 1\n"
    )
    assert uses(tree) - EXPERIMENT == {("models/wrapper", "models/network", False)}
    tree.plugin("models/wrapper", model__py="")
    tree.write("vision/brainscore_vision/models/wrapper/deep/er/a.py", "from ..network import x\n")
    assert uses(tree) == EXPERIMENT  # this import stays within the plugin


@pytest.mark.parametrize(
    ("files", "metrics"),
    [
        ({"benchmark__py": "load_metric(f'sim{kind}')\nKINDS = ['ilarity', 'ple']\n"}, {"similarity", "similar"}),
        ({"benchmark__py": "load_metric(f'sim{kind}')\n"}, set()),
        # An identifier in a variable: all texts that are identifiers. If it cannot be inferred: none unless declared.
        ({"benchmark__py": "from .names import NAME\nload_metric(NAME)\n", "names__py": "NAME = 'other'\n"}, {"other"}),
        ({"benchmark__py": "import os\nload_metric(os.environ['M'])\n"}, set()),
        ({"benchmark__py": "load_metric(os.environ['M'])\n", "metadata__yml": "uses: [other, 'x']\n"}, {"other"}),
        # A composed identifier: all identifiers whose words occur in the plugin.
        ({"benchmark__py": "load_metric(f'{kind}-{how}')\n"}, set()),
        ({"benchmark__py": "load_metric(f'{kind}-{how}')\nKINDS, HOW = ['Simple'], 'pearson'\n"}, {"similar"}),
    ],
    ids=["f-string", "f-string of unknown words", "variable", "unknown", "declared", "no words", "words"],
)
def test_uses_of_computed_identifiers(tree, files, metrics):
    tree.plugin("metrics/similar", registers=[("metric", "simple"), ("metric", "simple-pearson")])
    tree.plugin("benchmarks/new", **files)
    assert uses(tree) - EXPERIMENT == {("benchmarks/new", f"metrics/{name}", False) for name in metrics}


def test_no_plugin_here_uses_an_unnamed_new_plugin(tree):
    """A new plugin plans only its own tests and scores, even among the plugins of this repository."""
    mine = read_checkout(Path(__file__).parents[3])
    tree.plugin("benchmarks/foo2024", registers=[("benchmark", "Foo2024.IT-pls"), ("benchmark", "Foo2024.V4-rdm")])
    tree.plugin("data/foo2024", registers=[("data", "Foo2024"), ("stimulus_set", "Foo2024.public")])
    tree.plugin("metrics/foo2024", registers=[("metric", "foo2024")])
    tree.plugin("models/foo2024", registers=[("model", "foo2024_tiny")])
    names = [PluginName(folder, "foo2024") for folder in FOLDERS]
    new = [PluginRoot(folder=folder, path=tree.library / folder, package=f"new.{folder}") for folder in FOLDERS]
    checkout = Checkout(mine.repository, mine.policy, PluginIndex([*mine.index.roots, *new]))
    assert set(names) < checkout.facts.plugins.keys()
    affected = checkout.dependencies.affected_by(dict.fromkeys(names, "changed: __init__.py added"))
    assert affected == dict.fromkeys(sorted(names), ("changed: __init__.py added",))


def test_new_plugin_named_like_a_quantity_affects_no_plugin_here(tree):
    mine = read_checkout(Path(__file__).parents[3])
    plugins = mine.facts.plugins.values()
    registered = {identifier for plugin in plugins for identifier in plugin.identifiers.get("metric", ())}
    # 'reliability' is a coordinate too, which two plugins pass on in variables: they run their tests in vain.
    new_names = sorted(QUANTITIES - registered - {"reliability"})
    assert "correlation" in new_names
    for name in new_names:
        tree.plugin(f"metrics/{name}", registers=[("metric", name)])
    new = PluginRoot(folder="metrics", path=tree.library / "metrics", package="new.metrics")
    dependencies = Checkout(mine.repository, mine.policy, PluginIndex([*mine.index.roots, new])).dependencies
    assert [use for use in dependencies.uses if use.used.name in new_names] == []


@pytest.mark.parametrize(
    ("source", "is_use"),
    [
        ("quantity: ClassVar[Quantity | None] = 'kappa'", False),
        ("Score(1).attrs.update(quantity='kappa')", False),
        ("assert score.attrs == {'seed': 1, 'quantity': 'kappa'}", False),
        ('assert score.attrs["quantity"] == "kappa"', False),
        ("quantity = 'kappa'\nNAMES = ['kappa']", True),
        ("quantity = 'other'", True),
    ],
)
def test_quantity_of_a_metric_is_not_an_identifier(tree, source, is_use):
    for name in ("kappa", "other"):
        tree.plugin(f"metrics/{name}", registers=[("metric", name)])
    tree.plugin("benchmarks/new", benchmark__py=f"def get(name):\n    return load_metric(name)\n{source}\n")
    assert bool({user for user, _, _ in uses(tree) - EXPERIMENT} & {"benchmarks/new"}) == is_use


def test_quantities_are_those_of_the_contract():
    assert set(get_args(Quantity)) == QUANTITIES


def test_every_plugin_here_states_its_loads():
    assert read_checkout(Path(__file__).parents[3]).dependencies.silent == ()


def test_identifiers_passed_to_a_loading_plugin(tree):
    tree.plugin("benchmarks/factory", factory__py="def make(metric):\n    return load_metric(metric)\n")
    tree.plugin(
        "benchmarks/told",
        benchmark__py="from brainscore_vision.benchmarks.factory.factory import make\nmake('other')\n",
    )
    assert ("benchmarks/told", "metrics/other", False) in uses(tree)
    assert ("benchmarks/told", "metrics/similarity", False) not in uses(tree)
    tree.plugin("metrics/other", registers=[("metric", "other"), ("metric", "other-pearson")])
    tree.plugin("benchmarks/factory", factory__py="def make(metric):\n    return load_metric(f'{metric}-pearson')\n")
    assert uses(tree) - EXPERIMENT == {
        ("benchmarks/told", "benchmarks/factory", False),
        ("benchmarks/told", "metrics/other", False),
    }


def test_loads_through_library_helpers(tree):
    helpers = "vision/brainscore_vision/benchmark_helpers"
    tree.write(f"{helpers}/rsa.py", "def ceiling():\n    return load_ceiling('other')\n")
    tree.write(f"{helpers}/more.py", "from brainscore_vision.benchmark_helpers.rsa import ceiling\n")
    tree.plugin("benchmarks/new", benchmark__py="from brainscore_vision.benchmark_helpers.more import ceiling\n")
    assert uses(tree) - EXPERIMENT == {("benchmarks/new", "metrics/other", False)}


def test_plugin_with_computed_identifiers_matches_any(tree):
    tree.write("vision/brainscore_vision/metrics/computed/__init__.py", "metric_registry[open('x').read()] = 1\n")
    tree.plugin("benchmarks/new", benchmark__py="load_metric('unheard_of')\n")
    assert uses(tree) - EXPERIMENT == {("benchmarks/new", "metrics/computed", False)}


def test_unresolvable_load_is_reported(tree):
    tree.plugin("benchmarks/new", benchmark__py="import os\nload_metric(os.environ['M'])\n")
    assert read_checkout(tree.path).dependencies.silent == (
        (PluginName("benchmarks", "new"), "load_metric(...) in benchmark.py:2"),
    )


def test_composed_identifier_matches_whole_words(tree):
    tree.plugin("data/li2026", registers=[("data", "Li2026.IT-long")])
    tree.plugin("data/zerbe2026", registers=[("data", "Zerbe2026.IT-long")])
    tree.plugin("benchmarks/new", benchmark__py="load_dataset(f'{dataset}.{region}-long')\nDATASET = 'Zerbe2026'\n")
    assert uses(tree) - EXPERIMENT == {("benchmarks/new", "data/zerbe2026", False)}


def test_identifier_with_a_scheme_belongs_to_its_plugin(tree):
    tree.plugin("models/zoo", registers=[("model", "zoo:")])
    tree.plugin("models/user", model__py="load_model('zoo:net50')\n")
    tree.plugin("models/other", model__py="name = 'zoo:net18'\nload_model(name)\n")
    assert uses(tree) - EXPERIMENT == {("models/user", "models/zoo", False), ("models/other", "models/zoo", False)}


def test_reason_names_the_loading_file_and_the_identifier(tree):
    helper = "vision/brainscore_vision/benchmark_helpers/rsa.py"
    tree.write(helper, "\ndef get(name):\n    return load_metric(name)\n")
    source = "from brainscore_vision.benchmark_helpers.rsa import get\nget('other')\n"
    tree.plugin("benchmarks/new", benchmark__py=source)
    (use,) = (use for use in read_checkout(tree.path).dependencies.uses if use.user.name == "new")
    assert use.how == (
        "load_metric(...) in brainscore_vision.benchmark_helpers.rsa:3, imported in benchmark.py, which names 'other'"
    )


def test_removed_identifier_affects_its_users(tree):
    tree.plugin("benchmarks/new", benchmark__py="load_dataset('Gone')\nload_dataset('Here')\n")
    tree.plugin("data/here", registers=[("data", "Here")])
    gone, unrelated = PluginName("data", "gone"), PluginName("data", "unrelated")
    facts = read_checkout(tree.path).facts
    earlier = {gone: {"data": ("Gone",)}, unrelated: {"data": ("Here", "Unrelated")}}
    removed = {gone: "changed: __init__.py deleted", unrelated: "changed: __init__.py deleted"}
    chains = find_dependencies(facts, earlier).affected_by(removed)
    assert chains == {
        PluginName("benchmarks", "new"): (
            "uses data/gone: load_dataset('Gone') in benchmark.py:1, which it registered before",
            "changed: __init__.py deleted",
        )
    }
    assert find_dependencies(facts).affected_by(removed) == {}


def test_circular_dependencies(tree):
    tree.plugin("models/a", registers=[("model", "a")], model__py="load_model('b')\n")
    tree.plugin("models/b", registers=[("model", "b")], model__py="load_model('a')\n")
    assert affected(tree, "models/a") == {"models/a", "models/b"}


def test_unparsable_file_is_ignored(tree):
    tree.plugin("models/broken", model__py="load_model('pixels'\n")
    assert uses(tree) == EXPERIMENT


def test_use_of_a_folder_with_dots_in_its_name(tree):
    tree.plugin("models/net-1.5", registers=[("model", "net-1.5")])
    tree.plugin("models/user", model__py="import_module('brainscore_vision.models.net-1.5')\n")
    assert uses(tree) - EXPERIMENT == {("models/user", "models/net-1.5", False)}


# Random trees ---------------------------------------------------------------------------------------------------------

FOLDERS = {"data": "dataset", "metrics": "metric", "benchmarks": "benchmark", "models": "model"}
NAMES = st.builds(PluginName, st.sampled_from(list(FOLDERS)), st.sampled_from("abc"))
# Ways to use a plugin: {load} is the function, {identifier} is registered by the plugin, {module} is its module.
FORMS = [
    "from brainscore_vision import {load}\n{load}('{identifier}')\n",
    "import brainscore_vision as b\nb.{load}(identifier='{identifier}')\n",
    "from brainscore_vision import {load} as get\ndef f():\n    return [get('{identifier}') for _ in range(2)]\n",
    "NAME = '{identifier}'\n{load}(NAME)\n",
    "{load}(f'{identifier}' if True else 'x')\n",
    "region = 'b'\n{load}('{start}' + region)\n",
    "{load}('{start}%s' % 'x')\n{load}('{start}{{}}'.format('x'))\n",
    "from .names import NAMES\nfor name in NAMES:\n    {load}(name)\n# names.py: NAMES = ['{identifier}']\n",
    "from brainscore_vision.{module}.part import thing\n",
    "from ...{module} import thing\n",
    "import importlib\nimportlib.import_module('brainscore_vision.{module}.part')\n",
    "from brainscore_vision.benchmark_helpers.get import get_{load}\nget_{load}('{identifier}')\n",
]
FILES = st.sampled_from(["__init__.py", "part.py", "deep/part.py", "test.py"])


@settings(max_examples=60)
@given(edges=st.lists(st.tuples(NAMES, NAMES, st.sampled_from(FORMS), FILES), max_size=12))
def test_finds_uses_in_every_form(tmp_path_factory, edges):
    library = tmp_path_factory.mktemp("tree") / "vision/brainscore_vision"
    sources = {}
    for name in {name for user, used, _, _ in edges for name in (user, used)}:
        registry = "data" if name.folder == "data" else name.folder.removesuffix("s")
        sources[name, "__init__.py"] = f"{registry}_registry['{name.folder}.{name.name}'] = None\n"
    for user, used, form, file in edges:
        identifier = f"{used.folder}.{used.name}"
        text = form.format(
            load=f"load_{FOLDERS[used.folder]}",
            identifier=identifier,
            start=identifier[:-1],
            module=f"{used.folder}.{used.name}",
        )
        if "deep/" in file:
            text = text.replace("from ...", "from ....").replace("from .names", "from ..names")
        sources[user, file] = sources.get((user, file), "") + text
        if "names.py" in text:
            sources[user, "names.py"] = sources.get((user, "names.py"), "") + f"NAMES = ['{identifier}']\n"
    for (name, file), text in sources.items():
        path = library / name.folder / name.name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    policy = '[tool.brainscore.ci]\nlibraries = ["vision/brainscore_vision"]\n'
    (library / "benchmark_helpers").mkdir(parents=True)
    (library.parents[1] / "pyproject.toml").write_text(policy)
    getters = [f"def get_load_{kind}(name):\n    return load_{kind}(name)\n" for kind in FOLDERS.values()]
    (library / "benchmark_helpers/get.py").write_text("".join(getters))

    dependencies = read_checkout(library.parents[1]).dependencies
    found = {(use.user, use.used) for use in dependencies.uses}
    assert {(user, used) for user, used, _, _ in edges if user != used} <= found
    own_tests = {(user, used) for user, used, _, file in edges if user != used and file != "test.py"}
    assert own_tests <= {(use.user, use.used) for use in dependencies.uses if not use.tests_only}
