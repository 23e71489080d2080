import numpy as np
import pytest

from brainscore_core.benchmarks import ceil_score, explained_variance
from brainscore_core.errors import AssemblyError
from brainscore_core.metrics import Score
from brainscore_core.testing.synthetic import answers_of, assembly_of
from brainscore_vision import load_ceiling


def people(table, present=None):
    """Label a table of shape (n_subjects, n_stimuli) as one presentation for each entry."""
    subjects, stimuli = np.nonzero(np.ones(table.shape) if present is None else present)
    ids, names = [f"s{number:04d}" for number in stimuli], [f"subject{number}" for number in subjects]
    return answers_of(table[subjects, stimuli], stimulus_id=ids, truth=["yes"] * len(stimuli), subject=names)


def simulated(seed=0, n_subjects=6, n_stimuli=4000, noise=1.5):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(n_stimuli)
    return truth, truth + noise * rng.standard_normal((n_subjects, n_stimuli))


def test_bounds_equal_numpy():
    _, table = simulated(n_stimuli=50)
    score = load_ceiling("leave_one_subject_out", bound="lower")(people(table))
    lower = [np.corrcoef(row, np.delete(table, i, axis=0).mean(axis=0))[0, 1] for i, row in enumerate(table)]
    upper = [np.corrcoef(row, table.mean(axis=0))[0, 1] for row in table]
    np.testing.assert_allclose(score.raw.values[:, 0], lower)
    assert float(score) == score.attrs["lower_bound"] == pytest.approx(np.mean(lower))
    assert score.attrs["upper_bound"] == pytest.approx(np.mean(upper))
    assert score.attrs["quantity"] == "correlation"
    assert score.attrs["estimator"] == "each subject from the others, lower bound"
    assert float(load_ceiling("leave_one_subject_out", bound="upper")(people(table))) == pytest.approx(np.mean(upper))


def test_corrected_ceiling_is_reached_by_the_shared_response():
    truth, table = simulated()
    ceiling = load_ceiling("leave_one_subject_out")(people(table))
    assert float(ceiling) == pytest.approx(1 / np.sqrt(1 + 1.5**2), abs=0.01)
    assert ceiling.attrs["lower_bound"] < float(ceiling) < ceiling.attrs["upper_bound"]
    raw = Score(np.mean([np.corrcoef(truth, row)[0, 1] for row in table]))
    raw.attrs["quantity"] = "correlation"
    assert float(ceil_score(raw, ceiling)) == pytest.approx(1, abs=0.02)


def test_ceiling_of_the_mean_over_subjects_is_a_reliability():
    truth, table = simulated()
    ceiling = load_ceiling("leave_one_subject_out", scored="mean")(people(table))
    assert ceiling.attrs["quantity"] == "reliability"
    raw = Score(np.corrcoef(truth, table.mean(axis=0))[0, 1])
    raw.attrs["quantity"] = "correlation"
    assert float(explained_variance(raw, ceiling)) == pytest.approx(1, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("bound", ["lower", "upper", "corrected"])
def test_error_is_over_subjects_and_stimuli(bound):
    ceilings = [
        load_ceiling("leave_one_subject_out", bound=bound)(people(simulated(seed, n_stimuli=100)[1]))
        for seed in range(60)
    ]
    spread = np.std([float(each) for each in ceilings])
    assert np.mean([each.attrs["error"] for each in ceilings]) == pytest.approx(spread, rel=0.3)
    assert ceilings[0].attrs["error_over"] == ["stimulus", "subject"]
    assert ceilings[0].attrs["influence"].unit == "subject"


def test_two_subjects_have_no_error():
    ceiling = load_ceiling("leave_one_subject_out", bound="lower")(people(simulated(n_subjects=2, n_stimuli=50)[1]))
    assert np.isnan(ceiling.attrs["error"])
    assert "single pair" in ceiling.attrs["error_nan_reason"]


def test_accepts_incomplete_subjects_and_repetitions():
    _, table = simulated(n_subjects=8)
    present = np.random.default_rng(0).random(table.shape) < 0.6
    partial = people(table, present)
    assert float(load_ceiling("leave_one_subject_out")(partial)) == pytest.approx(1 / np.sqrt(1 + 1.5**2), abs=0.02)
    import xarray as xr

    twice = xr.concat([partial, partial], dim="presentation")
    expected = load_ceiling("leave_one_subject_out")(partial)
    assert float(load_ceiling("leave_one_subject_out")(twice)) == pytest.approx(float(expected))


def neural(values, subjects, dim):
    return assembly_of(
        values, stimulus_id=[f"s{number % 40:02d}" for number in range(len(values))], subject=(dim, subjects)
    )


def test_score_of_several_neuroids_is_their_median():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((40, 3))
    values = np.concatenate([truth + rng.standard_normal((40, 3)) for _ in range(5)])
    score = load_ceiling("leave_one_subject_out", bound="lower")(
        neural(values, np.repeat(list("abcde"), 40), "presentation")
    )
    assert score.raw.dims == ("subject", "neuroid")
    assert float(score) == pytest.approx(np.median(score.raw.values.mean(axis=0)))
    assert list(score.raw["neuroid_id"].values) == ["n0", "n1", "n2"]
    assert score.attrs["error_over"] == ["stimulus", "subject", "neuroid"]


def test_a_single_neuroid_equals_a_single_variable():
    _, table = simulated(n_stimuli=40)
    one = neural(table[:5].reshape(-1, 1), np.repeat(list("abcde"), 40), "presentation")
    plain = load_ceiling("leave_one_subject_out")(people(table[:5]))
    score = load_ceiling("leave_one_subject_out")(one)
    assert (float(score), score.attrs["error"]) == pytest.approx((float(plain), plain.attrs["error"]))
    assert score.attrs["interval"] == pytest.approx(plain.attrs["interval"])
    assert score.attrs["influence"].unit == "subject"


class Spread:
    """A metric that records its arguments."""

    quantity = "share"

    def __init__(self):
        self.pairs = []

    def __call__(self, others, subject):
        self.pairs.append((others, subject))
        return Score(0.5 + 0.1 * len(self.pairs))


def test_subjects_with_own_neuroids_are_compared_with_the_others():
    given = neural(np.random.default_rng(0).normal(size=(40, 6)), list("aabbbc"), "neuroid")
    metric = Spread()
    score = load_ceiling("leave_one_subject_out", metric=metric)(given)
    assert [(others.sizes["neuroid"], own.sizes["neuroid"]) for others, own in metric.pairs] == [(4, 2), (3, 3), (5, 1)]
    assert float(score) == pytest.approx(0.7)
    assert score.attrs["bound"] == "lower"
    assert score.attrs["quantity"] == "share"
    assert score.attrs["error"] == pytest.approx(0.1 / np.sqrt(3))
    assert score.attrs["error_over"] == ["subject"]
    margin = 4.303 * 0.1 / np.sqrt(3)  # Student's t of two degrees of freedom
    assert score.attrs["interval"] == pytest.approx((0.7 - margin, 0.7 + margin), abs=1e-3)
    two = load_ceiling("leave_one_subject_out", metric=Spread())(given.isel(neuroid=slice(5)))
    assert "single pair" in two.attrs["error_nan_reason"]
    with pytest.raises(AssemblyError, match="own neuroids"):
        load_ceiling("leave_one_subject_out")(given)


def test_a_custom_metric_gets_the_mean_of_the_others():
    _, table = simulated(n_subjects=3, n_stimuli=5)
    metric = Spread()
    load_ceiling("leave_one_subject_out", metric=metric)(people(table))
    others, own = metric.pairs[1]
    np.testing.assert_allclose(others.values, table[[0, 2]].mean(axis=0))
    np.testing.assert_allclose(own.values, table[1])
    assert list(others["stimulus_id"].values) == list(own["stimulus_id"].values)


def test_rejects_text_nan_and_too_few_subjects():
    _, table = simulated(n_subjects=2, n_stimuli=5)
    with pytest.raises(AssemblyError, match="at least 3"):
        load_ceiling("leave_one_subject_out")(people(table))
    with pytest.raises(AssemblyError, match="numbers first"):
        load_ceiling("leave_one_subject_out", bound="lower")(people(np.full((3, 4), "yes")))
    table[0, 0] = np.nan
    with pytest.raises(AssemblyError, match="NaN"):
        load_ceiling("leave_one_subject_out", bound="lower")(people(table))


@pytest.mark.parametrize(
    "kwargs",
    [
        {"bound": "best"},
        {"scored": "group"},
        {"bound": "lower", "scored": "mean"},
        {"metric": Spread(), "bound": "corrected"},
        {"metric": Spread(), "scored": "mean"},
    ],
)
def test_rejects_incompatible_parameters(kwargs):
    with pytest.raises(ValueError, match=r"bound|scored"):
        load_ceiling("leave_one_subject_out", **kwargs)
