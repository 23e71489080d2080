"""Models that never look are at chance in every behavioural design, judged over the protocol as in CI.

Stimuli of the designs are like published files: in blocks of a label, with names and columns that reveal it.
"""

import ast
import functools
import importlib
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

import brainscore_vision
from brainscore_core.plugin_management.registry import KINDS
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark, load_metric
from brainscore_vision.benchmark_helpers import screen
from brainscore_vision.benchmark_helpers.behaviour.choices import MatchToSampleBenchmark
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople, LabelAccuracy
from brainscore_vision.benchmark_helpers.behaviour.odd_one_out import OddOneOutBenchmark
from brainscore_vision.catalogue.entries import plugin_index
from brainscore_vision.testing.benchmarks import RULES, better_than_guesses
from brainscore_vision.testing.people import draw_choices
from brainscore_vision.testing.stand_ins import draw_stimuli

LABELS = ["bear", "car", "dog", "table"]
N = 96
ABOUT = {"parent": "behavior", "bibtex": "@misc{a}"}


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Return stimuli to test on and to learn from; most of the latter have the last label."""
    made = []
    for name, numbers in (("test", [24, 24, 24, 24]), ("fit", [8, 8, 8, 16])):
        truth = np.repeat(LABELS, numbers)
        columns = {
            "stimulus_id": [f"{number:04}_{label}" for number, label in enumerate(truth)],
            "truth": truth,
            "image_label": truth,
            "image_number": range(len(truth)),
        }
        folder = tmp_path_factory.mktemp(name)
        made.append(draw_stimuli(f"Never-{name}", len(truth), columns=columns, size_px=12, folder=folder))
    return made


def trials(stimuli):
    """Return choices between the object and each other one; people are right more often for some images."""
    generator = np.random.default_rng(0)
    rows, others = np.divmod(np.tile(np.arange(N * 4), 12), 4)
    truth, other = stimuli["truth"].to_numpy()[rows], np.array(LABELS)[others]
    apart = truth != other
    rows, truth, other = rows[apart], truth[apart], other[apart]
    right = generator.random(len(rows)) < np.repeat(generator.uniform(0.5, 1, N), 1)[rows]
    choice = np.where(right, truth, other)
    ids = stimuli["stimulus_id"].to_numpy()[rows]
    trials = answers_of(choice, stimulus_id=ids, truth=truth, sample_obj=truth, dist_obj=other, choice=choice)
    return trials.assign_attrs(stimulus_set=stimuli)


def triplets(stimuli):
    """Return triplets whose third image people chose, as in the published file."""
    ids = np.array([np.random.default_rng(seed).permutation(stimuli["stimulus_id"])[:3] for seed in range(600)])
    trials = answers_of(ids[:, 2], **{f"image_{place + 1}": ids[:, place] for place in range(3)})
    return trials.assign_attrs(stimulus_set=stimuli)


def people(stimuli):
    return draw_choices(stimuli, accuracy=0.8, n_subjects=8, presentation_coords=["truth"])


DESIGNS = {
    "labels that are named": lambda test, fit: LabelAccuracy("a", lambda: test, chance=0.25, **ABOUT),
    "labels that are learned": lambda test, fit: LabelAccuracy(
        "b", lambda: test, chance=0.25, load_fitting_stimuli=lambda: fit, visual_degrees=4, **ABOUT
    ),
    "agreement on names": lambda test, fit: AgreementWithPeople(
        "c", load_metric("accuracy_distance"), lambda: people(test), visual_degrees=4, **ABOUT
    ),
    "agreement on what is learned": lambda test, fit: AgreementWithPeople(
        *("d", load_metric("accuracy_distance"), lambda: people(test)),
        **{"visual_degrees": 4, "load_fitting_stimuli": lambda: fit, **ABOUT},
    ),
    "match to sample": lambda test, fit: MatchToSampleBenchmark(
        "e", load_metric("i2n"), lambda: trials(test), lambda: fit, visual_degrees=4, **ABOUT
    ),
    "odd one out": lambda test, fit: OddOneOutBenchmark(
        "f", lambda: triplets(test), visual_degrees=4, ceiling=0.7, **ABOUT
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_never_looking_is_at_chance_in_each_design(sets, design):
    assert better_than_guesses(DESIGNS[design](*sets)) == {}


STORED_ORDER = ["labels that are named", "labels that are learned", "odd one out"]
"""Designs that reward right answers, which a stored order gives away; the others reward human-like errors."""


@pytest.mark.slow
@pytest.mark.parametrize("design", STORED_ORDER)
def test_stored_order_would_be_detected(sets, design, monkeypatch):
    monkeypatch.setattr(screen, "digest_order", lambda stimuli, **_: np.arange(len(stimuli)))
    assert better_than_guesses(DESIGNS[design](*sets), ["last", "position in blocks"]) != {}


# Plugin -> pattern of an identifier, whose groups are the arguments of the plugin's function `stand_in`.
PLUGINS = {
    "baker2022": r"Baker2022",
    "bmd2024": r"BMD2024\.(\w+)Behavioral",
    "coggan2024_behavior": r"tong\.",
    "ferguson2024": r"Ferguson2024(\w+)-",
    "geirhos2021": r"Geirhos2021(\w+)-",
    "hebart2023": r"Hebart2023-",
    "hermann2020": r"Hermann2020",
    "imagenet": r"ImageNet-top1",
    "imagenet_c": r"ImageNet-C-(\w+)-",
    "kato2026": r"Kato2026",
    "lonnqvist2024": r"Lonnqvist2024",
    "malania2007": r"Malania2007",
    "maniquet2024": r"Maniquet2024",
    "objectnet": r"ObjectNet",
    "rajalingham2018": r"Rajalingham2018",
    "scialom2024": r"Scialom2024_([\w-]+?)(?:Behavioral|Engineering)",
}
NO_STAND_IN = {"simulatedcortex2026": "its data are simulated and take minutes; the design is `match to sample`"}
SHIPPED = (Path(__file__).parents[1] / "shipped_plugins.txt").read_text().split()  # others test themselves
REGISTERED = {
    plugin.directory.name: plugin.identifiers(KINDS["benchmark"])
    for plugin in plugin_index().plugins("benchmarks")
    if f"benchmarks/{plugin.name}" in SHIPPED
}

SHARING = "hermann2020"  # reads a set of geirhos2021, with further columns


def each_registered():
    for plugin in (name for name in PLUGINS if name != SHARING):
        for identifier in REGISTERED[plugin]:
            yield pytest.param(plugin, identifier, id=identifier)


def some_rules(identifier):
    """Return four rules, which vary with the identifier; the designs are tested with all rules."""
    first = zlib.crc32(identifier.encode())
    return [RULES[(first + step * len(RULES) // 4) % len(RULES)] for step in range(4)]


@pytest.fixture(scope="module")
def stand_in(module_stand_ins):
    """Return a function that replaces a plugin's data by stand-ins, once for all benchmarks on them."""

    @functools.cache
    def once(plugin, *names):
        importlib.import_module(f"brainscore_vision.benchmarks.{plugin}.test").stand_in(module_stand_ins, *names)

    return once


@pytest.mark.slow
@pytest.mark.usefixtures("kept_homes")
@pytest.mark.parametrize(("plugin", "identifier"), [*each_registered()])
def test_never_looking_is_at_chance_in_each_registered_benchmark(stand_in, plugin, identifier):
    stand_in(plugin, *re.match(PLUGINS[plugin], identifier).groups())
    benchmark = load_benchmark(identifier)
    degrees = getattr(benchmark, "_visual_degrees", None) or 8.0
    assert better_than_guesses(benchmark, some_rules(identifier), visual_degrees=degrees) == {}


@pytest.mark.slow
@pytest.mark.parametrize("identifier", REGISTERED[SHARING])
def test_never_looking_is_at_chance_on_a_set_of_two_plugins(stand_ins, identifier):
    importlib.import_module(f"brainscore_vision.benchmarks.{SHARING}.test").stand_in(stand_ins)
    assert better_than_guesses(load_benchmark(identifier), some_rules(identifier)) == {}


def test_every_behavioural_benchmark_uses_one_of_the_designs():
    """Code that starts a task elsewhere would have to shuffle stimuli and drop columns again."""
    folder = Path(brainscore_vision.__file__).parent
    found, plugins = set(), set()
    of_plugins = [file for name in REGISTERED for file in folder.glob(f"benchmarks/{name}/**/*.py")]
    for file in [*of_plugins, *folder.glob("benchmark_helpers/behaviour/*.py")]:
        if file.name != "test.py" and "helpers.behaviour" in file.read_text():
            plugins.update(set(file.relative_to(folder).parts) & set(REGISTERED))
        calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        if file.name != "test.py" and "start_task" in {getattr(call, "attr", "") for call in calls}:
            found.add(file.relative_to(folder).as_posix())
            names = {getattr(call, "id", "") for call in calls}
            assert "presented" in names, f"{file} shows stimuli as they are stored"
            assert names & {"shown", "_rows"}, f"{file} shows columns that say the label"
    assert plugins == {*PLUGINS, *NO_STAND_IN}
    assert found == {
        "benchmark_helpers/behaviour/choices.py",
        "benchmark_helpers/behaviour/labels.py",
        "benchmark_helpers/behaviour/odd_one_out.py",
        "benchmarks/malania2007/benchmark.py",
    }
