import itertools

import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.assemblies import NeuronRecordingAssembly
from brainscore_vision import load_benchmark, load_model
from brainscore_vision.benchmark_helpers.behaviour.odd_one_out import CHANCE
from brainscore_vision.testing.coarse_pixels import coarse_pixels
from brainscore_vision.testing.people import KnownAnswers
from brainscore_vision.testing.random_model import RandomModel
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import CEILING, Hebart2023Match

pytestmark = pytest.mark.usefixtures("kept_homes")

N_IMAGES, N_TRIPLETS = 24, 600


def test_benchmark_loads_by_identifier_without_downloads():
    benchmark = load_benchmark("Hebart2023-match")
    assert (benchmark.identifier, benchmark.parent, benchmark.version) == ("Hebart2023-match", "behavior_vision", 1)
    assert "10.7554/eLife.82580" in benchmark.bibtex
    assert float(benchmark.ceiling) == pytest.approx(0.6767)


def stand_in(stand_ins):
    """Replace the data by made-up images, numbered like the published ones, and triplets; people chose the third."""
    generator = np.random.default_rng(0)
    columns = {
        "stimulus_id": [str(number) for number in range(N_IMAGES)],
        "unique_id": [f"object{number}" for number in range(N_IMAGES)],
    }
    stimuli = draw_stimuli("Hebart2023", N_IMAGES, columns=columns, size_px=16)
    different = generator.permutation(list(itertools.combinations(range(N_IMAGES), 3)))[:N_TRIPLETS]
    images = generator.permuted(different, axis=1)
    coords = {name: ("presentation", images[:, place]) for place, name in enumerate(["image_1", "image_2", "image_3"])}
    coords |= {"triplet_id": ("presentation", range(N_TRIPLETS)), "stimulus_id": ("presentation", images[:, 0])}
    assembly = NeuronRecordingAssembly(images[:, 2], coords=coords, dims=["presentation"])
    stand_ins.data("Hebart2023", assembly, stimuli, checked=False)
    return images


@pytest.fixture(scope="module")
def triplets(module_stand_ins):
    return stand_in(module_stand_ins)


def model_of(images, odd):
    return KnownAnswers({"|".join(map(str, trial)): str(name) for trial, name in zip(images, odd, strict=True)})


def test_score_is_the_share_above_chance(triplets):
    generator = np.random.default_rng(1)
    agree = generator.permutation(N_TRIPLETS) < round(CEILING * N_TRIPLETS)
    score = load_benchmark("Hebart2023-match")(model_of(triplets, np.where(agree, triplets[:, 2], triplets[:, 0])))
    assert float(score) == pytest.approx(1, abs=0.01)  # as consistent as people
    assert float(score.raw) == pytest.approx(agree.mean())
    assert score.attrs["error"] == pytest.approx(agree.std(ddof=1) / np.sqrt(N_TRIPLETS) / (CEILING - CHANCE))
    assert (score.attrs["n_stimuli"], score.attrs["n_trials"]) == (N_IMAGES, N_TRIPLETS)
    assert float(load_benchmark("Hebart2023-match")(model_of(triplets, triplets[:, 2]))) == 1  # clipped
    assert float(load_benchmark("Hebart2023-match")(model_of(triplets, triplets[:, 1]))) == 0


def test_guesses_score_at_chance(triplets):
    guesses = [float(load_benchmark("Hebart2023-match")(RandomModel(seed=seed)).raw) for seed in range(5)]
    assert np.mean(guesses) == pytest.approx(CHANCE, abs=3 * np.sqrt(2 / 9 / (5 * N_TRIPLETS)) + 0.03)


def test_network_sees_only_the_chosen_number_of_triplets(triplets):
    benchmark = Hebart2023Match(n_triplets=50)
    shown = []
    model = coarse_pixels()
    look_at = model.look_at
    model.look_at = lambda stimuli, **kwargs: shown.append(stimuli) or look_at(stimuli, **kwargs)
    assert benchmark(model).attrs["n_trials"] == 50
    seen = shown[0]["stimulus_id"].astype(int).to_numpy().reshape(-1, 3)
    assert sorted(map(sorted, seen.tolist())) == sorted(map(sorted, triplets[:50].tolist()))
    benchmark.set_number_of_triplets(n=20)
    assert benchmark(model).attrs["n_trials"] == 20


def test_mismatched_answers_are_refused(triplets):
    class Short(RandomModel):
        def look_at(self, stimuli, number_of_trials=1):
            return super().look_at(stimuli, number_of_trials)[:, :-1]

    with pytest.raises(AssemblyError, match="599 answers to 600 triplets"):
        load_benchmark("Hebart2023-match")(Short())
    with pytest.raises(AssemblyError, match="were not shown, such as 'nothing'"):
        load_benchmark("Hebart2023-match")(model_of(triplets, ["nothing"] * N_TRIPLETS))


@pytest.mark.private_access
@pytest.mark.memory_intense
def test_published_score():
    score = Hebart2023Match(n_triplets=1000)(load_model("alexnet"))
    assert float(score) == pytest.approx(0.38, abs=0.02)
