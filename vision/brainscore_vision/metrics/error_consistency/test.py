import numpy as np
import pytest
from scipy.stats import sem
from sklearn.metrics import cohen_kappa_score

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric


def experiment(n=60, subjects=4, conditions=None, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.array(["cat", "dog", "car"])[rng.integers(3, size=n)]
    easy = rng.random(n) < 0.5
    ids = np.array([f"s{i:02d}" for i in range(n)])

    def answer():
        return np.where(rng.random(n) < np.where(easy, 0.9, 0.4), truth, "na")

    answers = [answer() for _ in range(subjects)]
    extra = {} if conditions is None else {"condition": np.array([f"c{i % conditions}" for i in range(n)])}
    people = answers_of(
        np.concatenate(answers),
        stimulus_id=np.tile(ids, subjects),
        truth=np.tile(truth, subjects),
        subject=np.repeat([f"p{i}" for i in range(subjects)], n),
        **{name: np.tile(values, subjects) for name, values in extra.items()},
    )
    model = answer()
    return (
        answers_of(model, stimulus_id=ids, truth=truth, **extra),
        people,
        model == truth,
        [a == truth for a in answers],
    )


def test_score_equals_scikit_learn():
    source, target, model, people = experiment()
    score = load_metric("error_consistency")(source, target)
    expected = [cohen_kappa_score(model, person) for person in people]
    np.testing.assert_allclose(score.attrs["raw"].values, [expected], atol=1e-12)
    assert float(score) == pytest.approx(np.mean(expected))
    assert score.attrs["error"] >= sem(expected)  # the error over people only
    assert score.attrs["error_over"] == ["stimulus", "subject"]
    assert score.attrs["quantity"] == "kappa"
    assert score.attrs["raw"].dims == ("condition", "subject")
    assert (score.attrs["n_stimuli"], score.attrs["n_subjects"], score.attrs["n_trials"]) == (60, 4, 240)


def test_compat_reproduces_the_published_aggregate():
    source, target, model, people = experiment(conditions=2)
    contrary = answers_of(
        np.where(model, "na", source["truth"].values),
        **{n: source[n].values for n in ("stimulus_id", "truth", "condition")},
    )
    kappas = np.array([[cohen_kappa_score(~model[c::2], person[c::2]) for person in people] for c in range(2)])
    assert float(load_metric("error_consistency")(contrary, target)) == pytest.approx(kappas.mean())
    published = load_metric("error_consistency", compat=True)(contrary, target)
    assert float(published) == pytest.approx(-kappas.mean())
    assert published.attrs["error"] == pytest.approx(kappas.std())


def test_too_few_people_have_no_error():
    source, target, _, _ = experiment(subjects=2)
    assert np.isnan(load_metric("error_consistency")(source, target.isel(presentation=slice(60))).attrs["error"])
    assert np.isnan(load_metric("error_consistency").ceiling(target).attrs["error"])


def test_error_is_over_people_and_stimuli():
    """If two people agree equally well with the model, only the sample of stimuli is uncertain."""
    source, target, model, people = experiment(subjects=2)
    same = answers_of(
        np.tile(target.values[:60], 2), **{name: target[name].values for name in ("stimulus_id", "truth", "subject")}
    )
    kappa = cohen_kappa_score(model, people[0])
    without = [cohen_kappa_score(np.delete(model, i), np.delete(people[0], i)) for i in range(60)]
    score = load_metric("error_consistency")(source, same)
    assert score.attrs["error"] == pytest.approx(np.sqrt(59 / 60 * np.var(without) * 60), rel=1e-9)
    low, high = score.attrs["interval"]
    assert low < kappa < high


def test_error_of_the_ceiling_is_the_jackknife_over_people():
    _, target, _, people = experiment(subjects=4)
    kappa = {(i, j): cohen_kappa_score(people[i], people[j]) for i in range(4) for j in range(i + 1, 4)}
    left_out = np.array([np.mean([k for pair, k in kappa.items() if who not in pair]) for who in range(4)])
    expected = np.sqrt(3 / 4 * ((left_out - left_out.mean()) ** 2).sum())
    assert load_metric("error_consistency").ceiling(target).attrs["error"] == pytest.approx(expected)


def test_score_ignores_order_and_how_choices_are_stored():
    source, target, _, _ = experiment()
    metric = load_metric("error_consistency")
    base = float(metric(source, target))
    rng = np.random.default_rng(0)
    shuffled = target.isel(presentation=rng.permutation(240))
    coords = {name: shuffled[name].values for name in ("stimulus_id", "truth", "subject")}
    numeric = answers_of(np.zeros(240), choice=shuffled.values, **coords)
    assert float(metric(source.isel(presentation=rng.permutation(60)), shuffled)) == pytest.approx(base)
    assert float(metric(source, numeric)) == pytest.approx(base)
    square = answers_of(source.values[None], **{name: source[name].values for name in ("stimulus_id", "truth")})
    assert float(metric(square, target)) == pytest.approx(base)


def test_people_are_compared_on_the_stimuli_they_saw():
    source, target, model, people = experiment(subjects=2)
    kept = np.r_[0:60, 60:100]
    score = load_metric("error_consistency")(source, target.isel(presentation=kept))
    expected = [cohen_kappa_score(model, people[0]), cohen_kappa_score(model[:40], people[1][:40])]
    np.testing.assert_allclose(score.attrs["raw"].values, [expected])
    ceiling = load_metric("error_consistency").ceiling(target.isel(presentation=kept))
    assert float(ceiling) == pytest.approx(cohen_kappa_score(people[0][:40], people[1][:40]))


def test_undefined_kappas_are_excluded_and_counted():
    ids, truth = [f"s{i}" for i in range(4)], np.array(["a", "a", "b", "b"])
    target = answers_of(
        np.concatenate([truth, ["a", "a", "a", "b"]]),
        stimulus_id=ids * 2,
        truth=np.tile(truth, 2),
        subject=np.repeat(["perfect", "good"], 4),
    )
    score = load_metric("error_consistency")(answers_of(truth, stimulus_id=ids, truth=truth), target)
    assert score.attrs["n_undefined"] == 1
    assert float(score) == pytest.approx(0)  # a model without errors and a person with one


def test_a_model_that_is_always_wrong_scores_zero_without_error():
    source, target, _, _ = experiment()
    score = load_metric("error_consistency")(source.copy(data=np.full(60, "nothing")), target)
    assert float(score) == 0
    assert np.isnan(score.attrs["error"])
    assert "no spread" in score.attrs["error_nan_reason"]


def test_rejects_different_stimuli_and_repeated_judgements():
    source, target, _, _ = experiment()
    metric = load_metric("error_consistency")
    with pytest.raises(AssemblyError, match=r"1 missing from the source .*'s59'"):
        metric(source.isel(presentation=slice(59)), target)
    with pytest.raises(AssemblyError, match="only in the source"):
        metric(source, target.isel(presentation=target["stimulus_id"].values != "s03"))
    with pytest.raises(AssemblyError, match="repeated"):
        metric(source.isel(presentation=[0, *range(60)]), target)
    with pytest.raises(AssemblyError, match=r"judged more than once .*'s00' by 'p0'"):
        metric(source, target.isel(presentation=[0, *range(240)]))
    with pytest.raises(AssemblyError, match="two subjects"):
        metric.ceiling(target.isel(presentation=slice(60)))
    with pytest.raises(AssemblyError, match="'truth'"):
        metric(source, answers_of(target.values, **{n: target[n].values for n in ("stimulus_id", "subject")}))
