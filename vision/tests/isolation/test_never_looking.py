"""Models that never look are at chance in every design of behaviour: each judged as in CI, over the protocol.

Stand-ins have what published files have: stimuli in blocks of a label, names and columns that say it.
"""

import ast
from pathlib import Path

import numpy as np
import pytest

import brainscore_vision
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import load_metric
from brainscore_vision.benchmark_helpers.behaviour.labels import AgreementWithPeople, LabelAccuracy
from brainscore_vision.benchmark_helpers.behaviour.match_to_sample import MatchToSampleBenchmark
from brainscore_vision.benchmark_helpers.behaviour.odd_one_out import OddOneOutBenchmark
from brainscore_vision.testing.never_looking import RULES, NeverLooks
from brainscore_vision.testing.people import draw_choices
from brainscore_vision.testing.random_model import RandomModel
from brainscore_vision.testing.stand_ins import draw_stimuli

LABELS = ["bear", "car", "dog", "table"]
N = 96
ABOUT = {"parent": "behavior", "bibtex": "@misc{a}"}


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Stimuli to test and to learn from; of the latter the last label has most."""
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
    """People choose between the object and each other one, and are right more often for some images."""
    generator = np.random.default_rng(0)
    rows, others = np.divmod(np.tile(np.arange(N * 4), 12), 4)
    truth, other = stimuli["truth"].to_numpy()[rows], np.array(LABELS)[others]
    apart = truth != other
    rows, truth, other = rows[apart], truth[apart], other[apart]
    right = generator.random(len(rows)) < np.repeat(generator.uniform(0.5, 1, N), 1)[rows]
    choice = np.where(right, truth, other)
    columns = {"stimulus_id": stimuli["stimulus_id"].to_numpy()[rows], "truth": truth, "sample_obj": truth,
               "dist_obj": other, "choice": choice}  # fmt: skip
    coords = {name: ("presentation", values) for name, values in columns.items()}
    return BehavioralAssembly(choice, coords=coords, dims=["presentation"], attrs={"stimulus_set": stimuli})


def triplets(stimuli):
    """People take the third, as in the published file."""
    ids = np.array([np.random.default_rng(seed).permutation(stimuli["stimulus_id"])[:3] for seed in range(600)])
    coords = {f"image_{place + 1}": ("presentation", ids[:, place]) for place in range(3)}
    return BehavioralAssembly(ids[:, 2], coords=coords, dims=["presentation"], attrs={"stimulus_set": stimuli})


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


@pytest.fixture(scope="module")
def chance(sets):
    """What models that guess score in a design: the mean and four standard deviations."""
    known = {}

    def of(design):
        if design not in known:
            scores = [float(DESIGNS[design](*sets)(RandomModel(seed=seed))) for seed in range(8)]
            known[design] = np.mean(scores), 4 * np.std(scores) + 0.05
        return known[design]

    return of


@pytest.mark.parametrize("design", DESIGNS)
def test_a_model_that_never_looks_is_at_chance(remote, sets, chance, design):
    expected, tolerance = chance(design)
    scores = {rule: float(DESIGNS[design](*sets)(remote(NeverLooks(rule)))) for rule in RULES}
    assert {rule: score for rule, score in scores.items() if score > expected + tolerance} == {}


def test_every_benchmark_on_behaviour_shows_its_stimuli_through_one_of_the_designs():
    """Who starts a task elsewhere would have to draw the order and leave out columns again."""
    folder = Path(brainscore_vision.__file__).parent
    found = set()
    for file in [*folder.glob("benchmarks/**/*.py"), *folder.glob("benchmark_helpers/behaviour/*.py")]:
        calls = [node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
        if file.name != "test.py" and "start_task" in {getattr(call, "attr", "") for call in calls}:
            found.add(file.relative_to(folder).as_posix())
            names = {getattr(call, "id", "") for call in calls}
            assert names & {"shown", "_rows"}, f"{file} shows stimuli as they are stored"
    assert found == {
        "benchmark_helpers/behaviour/choices.py",
        "benchmark_helpers/behaviour/labels.py",
        "benchmark_helpers/behaviour/odd_one_out.py",
        "benchmarks/malania2007/benchmark.py",
    }
