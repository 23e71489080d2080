import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from brainscore_vision.metric_helpers.arrays import influence
from brainscore_vision.metric_helpers.arrays.behavior import accuracy_closeness

RNG = np.random.default_rng(0)


def test_kappa_influences_equal_leaving_stimuli_out():
    one, two = RNG.random((2, 30)) < 0.7
    counted = np.arange(30) < 25
    without = np.array([cohen_kappa_score(*(np.delete(side[:25], i) for side in (one, two))) for i in range(25)])
    influences = influence.kappa_influences(one, two, counted)
    np.testing.assert_allclose(influences[:25], 24 / 25 * (without.mean() - without), atol=1e-12)
    assert (influences[25:] == 0).all()
    assert influences.sum() == pytest.approx(0, abs=1e-12)


def test_undefined_kappas_have_no_influence():
    assert (influence.kappa_influences(np.ones(5), np.ones(5)) == 0).all()
    assert (influence.kappa_influences([True, False], [True, False], [False, False]) == 0).all()
    # Without the third, both are always correct.
    assert influence.kappa_influences([True, True, False], [True, True, False])[2] == 0


@pytest.mark.parametrize(("given", "wanted"), [(0.8, 0.6), (0.4, 0.6), (0.7, 0.3), (0.1, 0.3)])
def test_closeness_influences_are_derivatives_by_weight(given, wanted):
    source, target = RNG.random((2, 12))
    source, target = source + given - source.mean(), target + wanted - target.mean()
    counted = RNG.integers(1, 4, size=12).astype(float)

    def closeness(weight):
        return accuracy_closeness(*(np.average(side, weights=weight) for side in (source, target)))

    step = 1e-6
    moved = [(closeness(counted * (1 + step * row)) - closeness(counted)) / step for row in np.eye(12)]
    np.testing.assert_allclose(influence.closeness_influences(source, target, counted), moved, atol=1e-5)
    assert (influence.closeness_influences(source, target, np.zeros(12)) == 0).all()


def test_subject_influences_include_subjects_and_stimuli():
    table = RNG.normal(size=(4, 6))  # the value of a subject is the mean of a row
    values = table.mean(axis=1)
    by_stimulus = (table - values[:, None]) / 6
    influences = influence.subject_influences(values, by_stimulus, np.ones(table.shape))
    np.testing.assert_allclose(influences, (table - table.mean()) / 24)
    np.testing.assert_allclose(influences.sum(axis=1), (values - values.mean()) / 4)
    unknown = np.append(values, np.nan)
    longer = influence.subject_influences(unknown, np.vstack([by_stimulus, np.ones(6)]), np.ones((5, 6)))
    np.testing.assert_allclose(longer, np.vstack([influences, np.zeros(6)]), atol=1e-15)


def test_pair_influences_equal_leaving_subjects_or_stimuli_out():
    values = RNG.normal(size=(5, 5, 8))  # one value for each pair and stimulus
    values = values + values.transpose(1, 0, 2)
    table = values.mean(axis=2)
    off = ~np.eye(5, dtype=bool)
    by_stimulus = np.stack([(values[s] - table[s][:, None])[off[s]].mean(axis=0) / 8 for s in range(5)])
    influences = influence.pair_influences(table, by_stimulus, np.ones((5, 8)))
    assert influences.sum() == pytest.approx(0, abs=1e-12)
    stimuli = (values[off].mean(axis=0) - table[off].mean()) / 8
    np.testing.assert_allclose(influences.sum(axis=0), stimuli, atol=1e-12)
    without = np.array([np.delete(np.delete(table, s, 0), s, 1)[~np.eye(4, dtype=bool)].mean() for s in range(5)])
    np.testing.assert_allclose(influences.sum(axis=1), 4 / 5 * (without.mean() - without), atol=1e-12)


def test_influences_of_a_single_pair_are_undefined():
    assert np.isnan(influence.pair_influences(np.ones((2, 2)), np.zeros((2, 3)), np.ones((2, 3)))).all()


def weighted_correlation(x, y, weight):
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    return (weight * x * y).sum() / np.sqrt((weight * x**2).sum() * (weight * y**2).sum())


@pytest.mark.parametrize("itself", [False, True])
def test_leave_one_out_influences_are_derivatives_by_weight(itself):
    table = RNG.normal(size=9) + RNG.normal(size=(4, 9))
    present = np.ones(table.shape, dtype=bool)
    present[1, 3] = present[2, 5] = False

    def mean(weight):
        weight = weight * present
        values = []
        for s in range(4):
            rest = weight if itself else np.delete(weight, s, axis=0)
            others = table if itself else np.delete(table, s, axis=0)
            means = (rest * others).sum(axis=0) / rest.sum(axis=0)
            values.append(weighted_correlation(table[s], means, weight[s]))
        return np.average(values, weights=(weight.sum(axis=1) / present.sum(axis=1)))

    step = 1e-6
    influences = influence.leave_one_out_influences(table, present, itself=itself)
    for s, i in np.ndindex(table.shape):
        weight = np.ones(table.shape)
        weight[s, i] += step
        moved = (mean(weight) - mean(np.ones(table.shape))) / step
        assert influences[s, i] == pytest.approx(moved, abs=1e-5), (s, i)


def test_constant_subjects_have_no_influence():
    assert (influence.leave_one_out_influences(np.ones((3, 5)), np.ones((3, 5))) == 0).all()
