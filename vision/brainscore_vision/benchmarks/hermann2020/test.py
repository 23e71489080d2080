import numpy as np
import pytest

from brainscore_core.errors import StimulusError
from brainscore_core.supported_data_standards.brainio.assemblies import BehavioralAssembly
from brainscore_vision import load_benchmark
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.people import KnownAnswers
from brainscore_vision.testing.random_model import RandomModel
from brainscore_vision.testing.stand_ins import draw_stimuli

LABELS = ["bear", "boat", "bottle", "car", "cat"]


def draw(stand_ins, shapes, textures):
    columns = {"truth": shapes, "original_image_category": shapes, "conflict_image_category": textures}
    columns["condition"] = [0] * len(shapes)
    stimuli = draw_stimuli("Geirhos2021_cue-conflict", len(shapes), columns=columns, size_px=8)
    stand_ins.stimuli("Geirhos2021_cue-conflict", stimuli)
    return stimuli


def stand_in(stand_ins, n_each=6):
    """Replace the data by made-up images: each shape in each texture, including its own, in blocks of a shape."""
    shapes, textures = (np.repeat(side, n_each) for side in np.meshgrid(LABELS, LABELS, indexing="ij"))
    return draw(stand_ins, shapes, textures)


@pytest.fixture
def conflicts(stand_ins):
    return stand_in(stand_ins, n_each=1)


def score_of(measure, stimuli, answers):
    model = KnownAnswers(dict(zip(stimuli["stimulus_id"], answers, strict=True)))
    return load_benchmark(f"Hermann2020cueconflict-{measure}")(model)


def test_match_and_bias_agree_with_a_count(conflicts):
    shape, texture = conflicts["original_image_category"], conflicts["conflict_image_category"]
    conflict = np.flatnonzero(shape != texture)
    assert len(conflict) == 20
    answers = shape.to_numpy().copy()
    answers[conflict[:6]] = texture.to_numpy()[conflict[:6]]
    for place in conflict[6:11]:  # neither
        answers[place] = next(label for label in LABELS if label not in (shape[place], texture[place]))
    match, bias = (score_of(measure, conflicts, answers) for measure in ("shape_match", "shape_bias"))
    assert float(match) == pytest.approx(9 / 20)
    assert float(bias) == pytest.approx(9 / 15)
    assert bias.attrs["error"] == pytest.approx(np.sqrt(0.6 * 0.4 / 14))
    assert (bias.attrs["shape_match"], bias.attrs["texture_match"], bias.attrs["n_stimuli"]) == (9 / 20, 6 / 20, 20)
    assert float(bias.ceiling) == 1


def test_bias_of_pure_strategies_and_of_chance(conflicts):
    assert float(score_of("shape_bias", conflicts, conflicts["original_image_category"])) == 1
    assert float(score_of("shape_bias", conflicts, conflicts["conflict_image_category"])) == 0
    biases = [float(load_benchmark("Hermann2020cueconflict-shape_bias")(RandomModel(seed=seed))) for seed in range(30)]
    assert np.mean(biases) == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(30 * 8))


def test_bias_is_nan_without_shape_or_texture_answers(stand_ins):
    stimuli = draw(stand_ins, ["cat", "car", "bear"], ["car", "cat", "bear"])
    score = score_of("shape_bias", stimuli, ["bear", "bear", "bear"])
    assert np.isnan(float(score))
    assert "nothing to resample" in score.attrs["error_nan_reason"]
    assert float(score_of("shape_match", stimuli, ["bear", "bear", "bear"])) == 0


def test_images_without_conflict_are_refused(stand_ins):
    stimuli = draw(stand_ins, ["cat", "car"], ["cat", "car"])
    with pytest.raises(StimulusError, match="at least one image with a conflict"):
        score_of("shape_bias", stimuli, ["cat", "car"])


@pytest.mark.network
@pytest.mark.parametrize(("measure", "expected"), [("shape_bias", 0.21392405), ("shape_match", 0.14083333)])
def test_published_scores(measure, expected):
    from brainscore_core.supported_data_standards.brainio.fetch import get_local_data_path
    from brainscore_core.supported_data_standards.brainio.s3 import download_file_if_not_exists

    name = "resnet-50-pytorch-3deg-Geirhos2021_cue-conflict.nc"
    file = get_local_data_path() / "brain-score-tests" / name
    download_file_if_not_exists(file, "brain-score-tests", f"tests/test_benchmarks/{name}")
    features = BehavioralAssembly.from_files(file_path=file)
    score = load_benchmark(f"Hermann2020cueconflict-{measure}")(PrecomputedFeatures(features, visual_degrees=8))
    assert float(score) == pytest.approx(expected, abs=0.001)
