import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric


def experiment():
    rng = np.random.default_rng(0)
    n, subjects = 80, 3
    truth = rng.choice(["a", "b", "c"], size=n)
    answers = np.where(rng.random((subjects + 1, n)) < 0.6, truth, "other")
    answers[rng.random(answers.shape) < 0.2] = "NaN"
    answers[0, 0] = ""
    ids = [f"s{i:02d}" for i in range(n)]
    source = answers_of(answers[0], stimulus_id=ids, truth=truth, condition=["c"] * n)
    target = answers_of(
        answers[1:].ravel(),
        stimulus_id=np.tile(ids, subjects),
        truth=np.tile(truth, subjects),
        condition=["c"] * n * subjects,
        subject=np.repeat(["p", "q", "r"], n),
    )
    return source, target, answers, truth


def kappa(one, two, truth):
    both = ~np.isin(one, ["", "NaN"]) & ~np.isin(two, ["", "NaN"])
    return cohen_kappa_score((one == truth)[both], (two == truth)[both])


def test_score_uses_only_stimuli_that_both_answered():
    source, target, answers, truth = experiment()
    score = load_metric("kato_error_consistency")(source, target)
    expected = [kappa(answers[0], person, truth) for person in answers[1:]]
    np.testing.assert_allclose(score.raw.values, [expected], atol=1e-12)
    assert float(score) == pytest.approx(np.mean(expected))
    published = load_metric("kato_error_consistency", compat=True)(source, target)
    assert float(published) == pytest.approx(abs(np.mean(expected)))
    assert published.attrs["error"] == pytest.approx(np.std(expected))
