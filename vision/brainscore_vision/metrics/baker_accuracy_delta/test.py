import numpy as np
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric

TYPES = ["w", "f"]
CEILINGS = [(0, 0.9441089133826565, 0.9413347445584921), (1, 0.9685157421289353, 0.9591420329615545)]


def source_of(labels, types, animals):
    return answers_of([labels], image_type=types, animal=animals)


def target_of(right, subjects, types):
    return answers_of(right, subject=subjects, image_type=types)


def experiment(seed=0, n_subjects=9, n_animals=5, n_images=40):
    rng = np.random.default_rng(seed)
    types = np.repeat(TYPES, n_images)
    animals = np.array([f"animal{i % n_animals}" for i in range(2 * n_images)])
    labels = np.where(rng.random(2 * n_images) < np.where(types == "w", 0.9, 0.6), animals, "other")
    right = (rng.random((n_subjects, 2 * n_images)) < np.where(types == "w", 0.9, 0.5)).astype(int)
    subjects = np.repeat(np.arange(1, n_subjects + 1), 2 * n_images)
    target = target_of(right.ravel(), subjects, np.tile(types, n_subjects))
    return source_of(labels, types, animals), target, right


def metric(**kwargs):
    return load_metric("baker_accuracy_delta", image_types=TYPES, **kwargs)


def test_two_people_match_hand_computed_values():
    source = source_of(list("aabbaaxb"), ["w"] * 4 + ["f"] * 4, list("aabbaabb"))  # 1 versus (1 + 1/2) / 2: m = 1/4
    target = target_of([1, 1, 0, 1, 1, 1, 0, 0], ["p"] * 4 + ["q"] * 4, ["w", "w", "f", "f"] * 2)  # h = 1/2 and 1
    score = metric()(source, target)
    assert set(score.raw.values.tolist()) == {0.5, 0.25}
    assert score.attrs["model_delta"] == pytest.approx(0.25)
    assert score.attrs["human_delta"] == pytest.approx(0.75)
    assert score.raw.sizes == {"split": 100}
    assert score.attrs["quantity"] == "share"


def test_every_subject_is_included():
    """The published halves omit the subject with the highest number."""
    source, target, _ = experiment()
    last = target["subject"].values == 9
    other = target_of(np.where(last, 0, target.values), target["subject"].values, target["image_type"].values)
    assert float(metric()(source, other)) != float(metric()(source, target))
    assert float(metric(compat=True)(source, other)) == float(metric(compat=True)(source, target))


def test_error_is_the_standard_error_over_subjects():
    _, _, right = experiment(n_subjects=40)
    deltas = right[:, :40].mean(axis=1) - right[:, 40:].mean(axis=1)
    source, target, _ = experiment(n_subjects=40)
    score = metric()(source, target)
    model, human = score.attrs["model_delta"], deltas.mean()
    assert model < human  # the score is then model / human
    expected = deltas.std(ddof=1) / np.sqrt(40) / human * model / human
    assert score.attrs["error"] == pytest.approx(expected, rel=0.25)


def test_ceiling_is_the_score_of_the_average_person():
    """A model with exactly the human cost has the ceiling as its score; any other cost scores lower."""
    _, target, right = experiment(n_subjects=10)
    deltas = right[:, :40].mean(axis=1) - right[:, 40:].mean(axis=1)
    ceiling = metric().ceiling(target)
    types = np.repeat(TYPES, 1000)
    wrong = np.concatenate([np.arange(1000) < 0, np.arange(1000) < round(1000 * deltas.mean())])
    model = source_of(np.where(wrong, "other", "animal"), types, np.full(2000, "animal"))
    assert float(metric()(model, target)) == pytest.approx(float(ceiling), abs=2e-3)
    assert ceiling.raw.sizes == {"split": 100}
    assert ceiling.attrs["quantity"] == "share"
    for share in (-0.1, 0.1):
        moved = np.concatenate([np.arange(1000) < 0, np.arange(1000) < round(1000 * (deltas.mean() + share))])
        other = source_of(np.where(moved, "other", "animal"), types, np.full(2000, "animal"))
        assert float(metric()(other, target)) < float(ceiling)
    with pytest.raises(AssemblyError, match="two subjects"):
        metric().ceiling(target.isel(presentation=target["subject"].values == 1))


@pytest.mark.parametrize(("seed", "published", "here"), CEILINGS)
def test_ceilings_equal_the_published_ones(seed, published, here):
    _, target, _ = experiment(seed)
    assert float(metric(compat=True).ceiling(target)) == pytest.approx(published, abs=1e-12)
    assert float(metric().ceiling(target)) == pytest.approx(
        here, abs=1e-12
    )  # stated on the page of published differences


def test_rejects_unusable_data():
    source, target, _ = experiment()
    with pytest.raises(AssemblyError, match=r"9 of 9 values of 'subject' have no images of type 'o'"):
        load_metric("baker_accuracy_delta", image_types=["w", "o"])(source, target)
    with pytest.raises(AssemblyError, match="'animal'"):
        metric()(target, target)
    with pytest.raises(AssemblyError, match="two subjects"):
        metric()(source, target.isel(presentation=target["subject"].values == 1))
    with pytest.raises(AssemblyError, match="does not reduce human accuracy"):
        metric()(source, target_of(np.ones_like(target.values), target["subject"].values, target["image_type"].values))
    with pytest.raises(ValueError, match="two types"):
        load_metric("baker_accuracy_delta", image_types="wf")
    named = target_of(target.values, [f"p{i}" for i in target["subject"].values], target["image_type"].values)
    with pytest.raises(AssemblyError, match="numbered"):
        metric(compat=True)(source, named)
