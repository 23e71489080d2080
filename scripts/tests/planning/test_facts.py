"""Test the facts that planning reads from plugin files."""

import pytest

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.checkout import read_checkout

V = "vision/brainscore_vision"
EXPERIMENT = PluginName("benchmarks", "experiment")


def state(tree):
    """Return all facts that planning reads from a tree."""
    found = read_checkout(tree.path)
    uses = sorted((str(use.user), str(use.used), use.how, use.tests_only) for use in found.dependencies.uses)
    return uses, dict(found.cards)


def test_identifier_passed_to_a_helper_from_another_file(tree):
    tree.write(f"{V}/benchmark_helpers/make.py", "def make(name):\n    return load_metric(name)\n")
    tree.plugin(
        "benchmarks/told",
        benchmark__py="""
            from brainscore_vision.benchmark_helpers.make import make
            from .names import NAME
            make(NAME)
        """,
        names__py="NAME = 'other'\n",
    )
    assert ("benchmarks/told", "metrics/other") in {use[:2] for use in state(tree)[0]}


def test_unreadable_files_are_ignored(tree):
    tree.write(f"{V}/models/network/deep.py", "load_metric(" + "+".join(["'a'"] * 20_000) + ")\n")
    tree.write(f"{V}/models/network/metadata.yml", "access: [\n")
    (tree.library / "models/network/broken.py").symlink_to("nowhere.py")
    (tree.library / "models/network/circle").symlink_to(".")
    uses, cards = state(tree)
    assert {use[0] for use in uses} == {"benchmarks/experiment"}
    assert cards[PluginName("models", "network")].minutes is None


@pytest.mark.parametrize(
    "hostile", ["x: " + "[" * 30 + "]" * 30, "a: &a [x]\nb: *a", "# long\n" * 20_000], ids=["deep", "alias", "long"]
)
def test_expensive_metadata_are_not_loaded(tree, hostile):
    (tree.library / "benchmarks/experiment/metadata.yml").write_text(f"minutes: 7\n{hostile}\n")
    assert read_checkout(tree.path).cards[EXPERIMENT].minutes is None
    (tree.library / "benchmarks/experiment/metadata.yml").write_text("minutes: 7\n")
    assert read_checkout(tree.path).cards[EXPERIMENT].minutes == 7
