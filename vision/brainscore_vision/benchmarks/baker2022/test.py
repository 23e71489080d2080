import numpy as np
import pytest

from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark
from brainscore_vision.testing.people import KnownAnswers
from brainscore_vision.testing.random_model import RandomModel
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import accuracy_delta

pytestmark = pytest.mark.usefixtures("kept_homes")

KINDS = {"frankenstein": ("normal", "f"), "fragmented": ("normal", "o"), "inverted": ("inverted", "f")}
ANIMALS = ["bear", "bunny", "cat", "elephant"]
SHARES = {"w": 0.95, "f": 0.6, "o": 0.75}  # accuracies of people
N_EACH, N_SUBJECTS = 15, 12  # images of each animal and type


def stand_in(stand_ins):
    """Replace the data by made-up ones; return, by orientation, the silhouettes and people's accuracy by type."""
    made = {}
    for orientation, types in (("normal", "wfo"), ("inverted", "wf")):
        rows = [(animal, kind, number) for animal in ANIMALS for kind in types for number in range(N_EACH)]
        animals, kinds, numbers = (list(column) for column in zip(*rows, strict=True))
        columns = {"animal": animals, "image_type": kinds, "image_number": numbers, "orientation": orientation}
        columns = {
            name: [values] * len(rows) if isinstance(values, str) else values for name, values in columns.items()
        }
        stimuli = draw_stimuli(f"Baker2022_{orientation}_distortion", len(rows), columns=columns, size_px=10)
        chance = np.array([SHARES[kind] for kind in kinds])
        right = np.random.default_rng(3).random((N_SUBJECTS, len(rows))) < chance
        answers = right.ravel().astype(int)
        ids, truth = (np.tile(column, N_SUBJECTS) for column in (stimuli["stimulus_id"], animals))
        people = np.repeat(np.arange(1, N_SUBJECTS + 1), len(rows))
        assembly = answers_of(answers, stimulus_id=ids, truth=truth, subject=people, correct=answers)
        stand_ins.data(f"Baker2022_{orientation}_distortion", assembly, stimuli)
        by_type = {kind: right[:, np.array(kinds) == kind].mean() for kind in types}
        made[orientation] = stimuli, by_type
    return made


@pytest.fixture(scope="module")
def silhouettes(module_stand_ins):
    return stand_in(module_stand_ins)


def brain(stimuli, shares):
    """Return a model that is right about as many images of each animal and type as people."""
    answers = {}
    for (animal, kind), group in stimuli.groupby(["animal", "image_type"]):
        n_right = round(shares[kind] * len(group))
        other = ANIMALS[ANIMALS.index(animal) - 1]
        answers.update(zip(group["stimulus_id"], [animal] * n_right + [other] * (len(group) - n_right), strict=True))
    return KnownAnswers(answers)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_brain_reaches_the_ceiling_and_unaffected_model_scores_0(silhouettes, kind):
    orientation, disturbed = KINDS[kind]
    stimuli, shares = silhouettes[orientation]
    benchmark = load_benchmark(f"Baker2022{kind}-accuracy_delta")
    assert 0.5 < float(benchmark.ceiling) < 1
    score = benchmark(brain(stimuli, shares))
    assert float(score) == pytest.approx(1, abs=0.12)  # 15 images of a kind: the cost of .2 to .35 has steps of 1/15
    assert score.attrs["human_delta"] == pytest.approx(shares["w"] - shares[disturbed])
    assert (score.attrs["n_stimuli"], score.attrs["n_subjects"]) == (len(stimuli), N_SUBJECTS)
    indifferent = benchmark(brain(stimuli, {**shares, disturbed: shares["w"]}))
    assert float(indifferent) == 0
    half = benchmark(brain(stimuli, {**shares, disturbed: (shares["w"] + shares[disturbed]) / 2}))
    assert 0.3 < float(half) < 0.7
    assert float(benchmark(RandomModel())) < float(score)


def test_inverted_silhouettes_are_not_mixed_with_upright_ones(silhouettes):
    benchmark = load_benchmark("Baker2022inverted-accuracy_delta")
    assert set(benchmark._assembly["orientation"].values.tolist()) == {"inverted"}  # noqa: SLF001 - the filtered data
    assert set(benchmark._assembly.stimulus_set["orientation"]) == {"inverted"}  # noqa: SLF001 - the same


def test_published_option_changes_ceiling_and_score(silhouettes):
    stimuli, shares = silhouettes["normal"]
    here, published = (accuracy_delta("fragmented", "normal", "o", published=flag) for flag in (False, True))
    assert float(published.ceiling) != float(here.ceiling)
    assert float(published(brain(stimuli, shares)).raw) != float(here(brain(stimuli, shares)).raw)


@pytest.mark.private_access
@pytest.mark.parametrize(("kind", "ceiling"), [("frankenstein", 0.8498), ("fragmented", 0.9385), ("inverted", 0.6538)])
def test_published_ceilings(kind, ceiling):
    assert float(accuracy_delta(kind, *KINDS[kind], published=True).ceiling) == pytest.approx(ceiling, abs=0.001)


# Raw and ceiled scores of the published system for features in s3://brainscore-vision/benchmarks/Baker2022.
PUBLISHED = {
    ("frankenstein", "resnet-50-pytorch"): (0.2847, 0.3350),
    ("fragmented", "resnet-50-pytorch"): (0.8452, 0.9005),
    ("inverted", "resnet-50-pytorch"): (0.0, 0.0),
    ("frankenstein", "resnet50-SIN"): (0.6823, 0.8029),
    ("fragmented", "resnet50-SIN"): (0.9100, 0.9696),
    ("inverted", "resnet50-SIN"): (0.7050, 1.0),
}


@pytest.mark.private_access
@pytest.mark.parametrize(("case", "expected"), PUBLISHED.items())
def test_published_scores(case, expected):
    from brainscore_core.supported_data_standards.brainio.fetch import get_local_data_path
    from brainscore_core.supported_data_standards.brainio.s3 import download_file_if_not_exists
    from brainscore_vision.benchmark_helpers import PrecomputedFeatures

    kind, model = case
    name = f"{model}-Baker2022{kind}-accuracy_delta.nc"
    file = get_local_data_path() / "brainscore-vision" / name
    download_file_if_not_exists(file, "brainscore-vision", f"benchmarks/Baker2022/{name}")
    features = BehavioralAssembly.from_files(file_path=file)
    score = accuracy_delta(kind, *KINDS[kind], published=True)(PrecomputedFeatures(features, visual_degrees=8))
    assert (float(score.raw), float(score)) == pytest.approx(expected, abs=0.0001)
