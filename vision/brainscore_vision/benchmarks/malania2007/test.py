import numpy as np
import pytest
from scipy.stats import norm

from brainscore_core.supported_data_standards.brainio.assemblies import PropertyAssembly
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark, load_metric
from brainscore_vision.model_interface import BrainModel
from brainscore_vision.testing.random_model import RandomModel
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import CONDITIONS, Malania2007ThresholdElevation, Malania2007VernierAcuity, people_in

# -- with stand-ins ----------------------------------------------------------------------------------------------------

OFFSETS = np.linspace(10, 240, 12)
BASELINE, FLANKED = 50.0, 120.0  # seconds of arc
PEOPLE = ["ann", "ben", "cora", "dan", "eve", "fay"]


SHOWN = {}  # stimulus_id -> side and absolute offset, which models do not get


def drawings(name, n):
    """Return verniers to either side; the sign of the offset gives the side, as it may in published tables."""
    side = np.resize(["left", "right"], n)
    offset = np.resize(np.repeat(OFFSETS, 2), n) * np.where(side == "left", -1, 1)
    columns = {"image_label": side, "vernier_offset_arcsec": offset, "num_flankers": [2] * n}
    stimuli = draw_stimuli(f"Malania2007_{name}", n, columns=columns, size_px=16)
    SHOWN.update(zip(stimuli["stimulus_id"], zip(side, np.abs(offset), strict=True), strict=True))
    return stimuli


def packaged_name(condition):
    digits = condition.lstrip("abcdefghijklmnopqrstuvwxyz_")
    return f"{condition.removesuffix(digits)}-{digits}" if digits else condition.replace("_", "-")


def stand_in(stand_ins, *tested):
    """Replace the data by made-up drawings and people, of all conditions unless some are `tested`.

    One person did not see some of the flankers.
    """
    generator = np.random.default_rng(0)
    stand_ins.stimuli("Malania2007.vernier_only", drawings("vernier-only", 24))
    baseline = BASELINE * generator.uniform(0.85, 1.15, len(PEOPLE))
    made = {"vernier_only": baseline}
    for condition in CONDITIONS:
        stand_ins.stimuli(f"Malania2007.{condition}_fit", drawings(f"{packaged_name(condition)}_fit", 4))
        thresholds = baseline * FLANKED / BASELINE * generator.uniform(0.9, 1.1, len(PEOPLE))
        made[condition] = np.where(np.arange(6) == 5, np.nan, thresholds) if condition == "long2" else thresholds
    for condition in tested or CONDITIONS:
        stand_ins.stimuli(f"Malania2007.{condition}", drawings(packaged_name(condition), 24))
    for condition, thresholds in made.items():
        assembly = PropertyAssembly(thresholds, coords={"subject": ("subject", PEOPLE)}, dims=["subject"])
        stand_ins.data(f"Malania2007.{condition}", assembly, nans_expected=True)
    return made


@pytest.fixture(scope="module")
def people(module_stand_ins):
    return stand_in(module_stand_ins, "short2", "long2")


class Observer(BrainModel):
    """A model whose chance of being right grows with the offset, and is .75 at the given thresholds."""

    identifier = "observer"
    ANSWERS = 60

    def __init__(self, baseline=BASELINE, flanked=FLANKED):
        self.baseline, self.flanked = baseline, flanked
        self.learned = []

    def visual_degrees(self):
        return 8

    def start_task(self, task, fitting_stimuli, number_of_trials=1, require_variance=False):
        assert (task, number_of_trials, require_variance) == ("probabilities", 2, True)
        self.learned.append(fitting_stimuli.identifier)

    def look_at(self, stimuli, number_of_trials=1, require_variance=False):
        assert (number_of_trials, require_variance) == (10, True)
        assert stimuli["degrees"].unique().tolist() == [8]
        threshold = self.baseline if "vernier-only" in stimuli.identifier else self.flanked
        ids = np.tile(stimuli["stimulus_id"], self.ANSWERS)
        side, offset = map(np.array, zip(*(SHOWN[stimulus_id] for stimulus_id in ids), strict=True))
        # At the threshold .5 + .46 * P = .75.
        chance = 0.5 + 0.46 * norm.cdf((offset - threshold) / (threshold / 3) + norm.ppf(0.25 / 0.46))
        right = np.random.default_rng(0).random(len(chance)) < chance
        left = (side == "left") == right
        shares = np.stack([np.where(left, 0.8, 0.2), np.where(left, 0.2, 0.8)], axis=1)
        return answers_of(shares, stimulus_id=ids, choice=("choice", ["left", "right"]))


@pytest.mark.slow
def test_observer_like_people_reaches_the_ceiling(people):
    benchmark = load_benchmark("Malania2007.short2-threshold_elevation")
    model = Observer()
    score = benchmark(model)
    assert 0.7 < benchmark.ceiling < 1
    assert score.raw.attrs["elevation"] == pytest.approx(FLANKED / BASELINE, rel=0.1)
    assert float(score) == pytest.approx(1, abs=0.05)
    assert float(score.raw) >= float(benchmark.ceiling) - benchmark.ceiling.attrs["error"]
    assert model.learned == ["Malania2007_short-2_fit--target8.00--source2.99"]
    assert 0.4 < float(benchmark(Observer(flanked=BASELINE * 1.5))) < float(score)
    assert float(benchmark(Observer(baseline=20, flanked=170))) == 0


@pytest.mark.slow
def test_acuity_without_flankers_reaches_the_ceiling(people):
    benchmark = load_benchmark("Malania2007.vernieracuity-threshold")
    model = Observer()
    score = benchmark(model)
    assert float(score) == pytest.approx(1, abs=0.05)
    assert score.raw.raw["condition"].values.tolist() == list(CONDITIONS)
    assert len(set(model.learned)) == 9
    assert score.raw.attrs["n_subjects"] == 6
    assert score.attrs["failures"] == {}
    assert 0 < score.attrs["error"] < 0.1


@pytest.mark.slow
def test_guessing_model_has_no_threshold(people):
    score = load_benchmark("Malania2007.short2-threshold_elevation")(RandomModel())
    assert float(score) == 0
    assert "accuracy" in score.attrs["failure"]


def test_only_people_with_both_thresholds_count(people):
    found = people_in("long2")
    for assembly in found.values():
        assert assembly["subject"].values.tolist() == PEOPLE[:5]
        assert np.isfinite(assembly.values).all()
    np.testing.assert_array_equal(found["baseline_assembly"].values, people["vernier_only"][:5])
    assert people_in("short2")["condition_assembly"].sizes["subject"] == 6
    assert load_benchmark("Malania2007.long2-threshold_elevation").ceiling.attrs["n_subjects"] == 5


@pytest.mark.slow
def test_published_option_changes_the_ceilings(people):
    published = Malania2007ThresholdElevation("short2", published=True).ceiling
    metric = load_metric("threshold_elevation", "vernier_offset_arcsec", "vernier_only", "short2", 0.75, compat=True)
    assert float(published) == float(metric.ceiling(people_in("short2")))
    assert float(published) != float(load_benchmark("Malania2007.short2-threshold_elevation").ceiling)
    acuity = Malania2007VernierAcuity(published=True)
    assert float(acuity.ceiling) != float(load_benchmark("Malania2007.vernieracuity-threshold").ceiling)


# -- published numbers -------------------------------------------------------------------------------------------------

CEILINGS = {
    "short2": 0.78719345, "short4": 0.49998989, "short6": 0.50590051, "short8": 0.4426336, "short16": 0.8383443,
    "equal2": 0.56664015, "long2": 0.46470421, "equal16": 0.44087153, "long16": 0.50996587,
}  # fmt: skip


@pytest.mark.private_access
@pytest.mark.parametrize(("condition", "ceiling"), CEILINGS.items())
def test_published_ceiling(condition, ceiling):
    found = Malania2007ThresholdElevation(condition, published=True).ceiling
    assert float(found) == pytest.approx(ceiling, abs=0.001)


@pytest.mark.private_access
def test_published_ceiling_of_acuity():
    assert float(Malania2007VernierAcuity(published=True).ceiling) == pytest.approx(0.70168481, abs=0.001)
