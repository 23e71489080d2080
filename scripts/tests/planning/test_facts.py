"""Test what planning takes from the files of plugins."""

import os

import pytest

from brainscore_ci.planning.areas import PluginName
from brainscore_ci.planning.checkout import read_checkout

V = "vision/brainscore_vision"
EXPERIMENT = PluginName("benchmarks", "experiment")


def state(tree):
    """Return everything that planning takes from a tree."""
    found = read_checkout(tree.path)
    uses = sorted((str(use.user), str(use.used), use.how, use.tests_only) for use in found.dependencies.uses)
    return uses, dict(found.cards)


def edit(tree):
    tree.write(f"{V}/benchmarks/experiment/benchmark.py", "load_metric('other')\n")


def add_file(tree):
    tree.write(f"{V}/models/network/deep/er.py", "load_metric('other')\n")


def remove_file(tree):
    (tree.library / "benchmarks/experiment/benchmark.py").unlink()


def add_plugin(tree):
    tree.plugin("models/new", registers=[("model", "new")], model__py="load_metric('other')\n")


def remove_plugin(tree):
    for file in (tree.library / "metrics/similarity").iterdir():
        file.unlink()
    (tree.library / "metrics/similarity").rmdir()


def add_metadata(tree):
    tree.write(f"{V}/benchmarks/experiment/metadata.yml", "access: private\nminutes: 3\n")


def add_private_test(tree):
    tree.write(f"{V}/benchmarks/experiment/test.py", "@pytest.mark.private_access\ndef test_it(): pass\n")


def same_size(tree):
    file = tree.library / "benchmarks/experiment/benchmark.py"
    file.write_text(file.read_text().replace("similarity", "dissimilar"))


def helper(tree):
    """A helper that loads: files that were of no interest now are."""
    tree.write(f"{V}/benchmark_helpers/rsa.py", "def ceiling():\n    return load_ceiling('other')\n")
    tree.plugin("models/uses_helper", model__py="from brainscore_vision.benchmark_helpers.rsa import ceiling\n")


@pytest.mark.parametrize(
    "change",
    [edit, add_file, remove_file, add_plugin, remove_plugin, add_metadata, add_private_test, same_size, helper],
)
def test_every_change_is_seen(tree, change):
    before = state(tree)
    assert before[0]
    change(tree)
    assert state(tree) != before


def test_a_helper_that_starts_to_load_is_seen_in_plugins_that_did_not_change(tree):
    tree.write(f"{V}/benchmark_helpers/rsa.py", "def ceiling():\n    return 1\n")
    tree.plugin("models/uses_helper", model__py="from brainscore_vision.benchmark_helpers.rsa import ceiling\n")
    assert not [use for use in state(tree)[0] if use[0] == "models/uses_helper"]
    tree.write(f"{V}/benchmark_helpers/rsa.py", "def ceiling():\n    return load_ceiling('other')\n")
    assert [use[1] for use in state(tree)[0] if use[0] == "models/uses_helper"] == ["metrics/other"]


def test_a_file_that_was_just_written_is_read(tree):
    """Two writes within one tick of the clock, of the same size, leave the same stamp."""
    state(tree)
    file = tree.library / "benchmarks/experiment/benchmark.py"
    stamp = file.stat()
    file.write_text(file.read_text().replace("similarity", "dissimilar"))
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert not [use for use in state(tree)[0] if use[1] == "metrics/similarity"]


def test_identifier_told_to_a_helper_may_stand_in_another_file(tree):
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


def test_what_cannot_be_read_takes_nothing_down(tree):
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
def test_metadata_that_could_take_minutes_or_gigabytes_are_not_loaded(tree, hostile):
    (tree.library / "benchmarks/experiment/metadata.yml").write_text(f"minutes: 7\n{hostile}\n")
    assert read_checkout(tree.path).cards[EXPERIMENT].minutes is None
    (tree.library / "benchmarks/experiment/metadata.yml").write_text("minutes: 7\n")
    assert read_checkout(tree.path).cards[EXPERIMENT].minutes == 7
