import numpy as np
import pytest

from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark, load_stimulus_set
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import corrupted_accuracy, sampled

TYPES = ["gaussian_noise", "shot_noise", "impulse_noise"]
N_ORIGINALS = 20
SYNSETS = ["n00000101", "n00000102"]


def stand_in(stand_ins, category):
    """Replace the data by 20 originals, each with three corruptions at two levels."""
    conditions = [(kind, level) for kind in TYPES for level in (1, 5)]
    originals = np.tile([f"ILSVRC2012_val_{number:08d}" for number in range(N_ORIGINALS)], len(conditions))
    kind, level = (np.repeat(values, N_ORIGINALS) for values in zip(*conditions, strict=True))
    ids = [f"{k}_{at}_{name}" for k, at, name in zip(kind, level, originals, strict=True)]
    columns = {
        "stimulus_id": ids,
        "noise_type": kind,
        "noise_level": level,
        "synset": np.tile(np.repeat(SYNSETS, N_ORIGINALS // 2), len(conditions)),
    }
    stimuli = draw_stimuli(f"imagenet_c.{category}", len(ids), columns=columns, size_px=16)
    stand_ins.stimuli(f"imagenet_c.{category}", stimuli)
    return stimuli


@pytest.fixture(scope="module")
def stimuli(module_stand_ins):
    return stand_in(module_stand_ins, "noise")


def observer(stimuli, answers):
    return PrecomputedFeatures(answers_of([answers], stimulus_id=stimuli["stimulus_id"], label=answers), 8)


def test_every_corruption_has_the_same_weight(stimuli):
    blind = (stimuli["noise_type"] == "shot_noise") & (stimuli["noise_level"] == 5)
    answers = np.where(blind, "n00000000", stimuli["synset"])
    benchmark = load_benchmark("ImageNet-C-noise-top1")
    score = benchmark(observer(stimuli, answers))
    assert float(score) == pytest.approx(5 / 6)
    raw = score.raw.raw
    wrong = raw[{"condition": np.flatnonzero(raw.values == 0)}]
    assert (wrong["noise_type"].item(), wrong["noise_level"].item()) == ("shot_noise", 5)
    assert score.raw.attrs["error_over"] == ["origin"]
    assert float(benchmark(observer(stimuli, stimuli["synset"].to_numpy()))) == 1
    assert float(benchmark(observer(stimuli, np.full(len(stimuli), "n00000000")))) == 0


def test_every_tenth_original_is_shown_with_all_corruptions(stimuli):
    model = observer(stimuli, stimuli["synset"].to_numpy())
    assert load_benchmark("ImageNet-C-noise-top1")(model).attrs["n_stimuli"] == 2 * 6
    assert corrupted_accuracy("noise", sampling_factor=1)(model).attrs["n_stimuli"] == N_ORIGINALS * 6
    shown = sampled(load_stimulus_set("imagenet_c.noise"), 10)
    assert shown["origin"].unique().tolist() == ["ILSVRC2012_val_00000000", "ILSVRC2012_val_00000010"]
    assert set(shown.groupby("origin").size()) == {6}


def test_error_is_over_originals(stimuli):
    answers = np.where(stimuli["synset"] == SYNSETS[0], stimuli["synset"], "n00000000")
    score = load_benchmark("ImageNet-C-noise-top1")(observer(stimuli, answers))
    assert float(score) == 0.5
    assert score.attrs["error"] == pytest.approx(np.std([1, 0], ddof=1) / np.sqrt(2))


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize("category", ["noise", "blur", "weather", "digital"])
def test_wrong_answers_score_0(category):
    benchmark = load_benchmark(f"ImageNet-C-{category}-top1")
    stimuli = load_stimulus_set(f"imagenet_c.{category}")
    assert float(benchmark(observer(stimuli, np.full(len(stimuli), "n00000000")))) == 0
