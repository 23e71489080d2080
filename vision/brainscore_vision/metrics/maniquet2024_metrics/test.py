import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import confusion_matrix

from brainscore_core.errors import AssemblyError
from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_metric
from brainscore_vision.metrics.maniquet2024_metrics.metric import condition_of_task

OBJECTS = np.array(["face", "car", "cat", "tree"])
TASKS = {
    "control": ("control", "control"),
    "clutter_heavy": ("clutter", "heavy"),
    "clutter_light": ("clutter", "light"),
    "scrambling_highpass": ("phasescrambling", "highpass"),
    "scrambling_lowpass": ("phasescrambling", "lowpass"),
    "occlusion_few_large_blobs_high": ("occluder", "fewlarge-high"),
    "occlusion_many_small_deletion_low": ("occluder", "manysmall-low"),
    "occlusion_few_large_partial_viewing_low": ("occluder", "fewlarge-low"),
}


def model(seed=0, n=320):
    rng = np.random.default_rng(seed)
    truth, task = rng.integers(4, size=n), np.arange(n) % 8
    values = rng.normal(size=(n, 4))
    values[np.arange(n), truth] += np.linspace(2, 0.3, 8)[task]
    conditions = list(TASKS.values())
    return answers_of(
        np.exp(values),
        stimulus_id=[f"s{i}" for i in range(n)],
        image_label=OBJECTS[truth],
        manipulation=[conditions[i][0] for i in task],
        manipulation_details=[conditions[i][1] for i in task],
        choice=("choice", OBJECTS),
    )


def people(seed=0, n=2000, subjects=10):
    rng = np.random.default_rng(seed + 100)
    truth, task = rng.integers(4, size=n), rng.integers(8, size=n)
    right = rng.random(n) < np.linspace(0.95, 0.5, 8)[task]
    wrong = (truth + 1 + rng.choice(3, p=[0.6, 0.3, 0.1], size=n)) % 4
    return answers_of(
        right.astype(float),
        image_label=OBJECTS[truth],
        prediction=OBJECTS[np.where(right, truth, wrong)],
        task=np.array(list(TASKS))[task],
        subject_id=[f"p{i % subjects}" for i in range(n)],
    )


def columns(assembly, *without):
    names = ("image_label", "prediction", "task", "subject_id")
    return {name: assembly[name].values for name in names if name not in without}


def off_diagonal(truth, answer):
    return confusion_matrix(truth, answer, labels=sorted(OBJECTS))[~np.eye(4, dtype=bool)]


def test_confusions_equal_scikit_learn():
    source, target = model(), people()
    answers = source["choice"].values[source.values.argmax(axis=1)]
    own = off_diagonal(source["image_label"].values, answers)
    human = off_diagonal(target["image_label"].values, target["prediction"].values)
    score = load_metric("confusion_similarity")(source, target)
    assert float(score) == pytest.approx(pearsonr(own, human)[0], abs=1e-12)
    np.testing.assert_array_equal(score.raw.values, [own, human])
    notes = {name: score.attrs[name] for name in ("n_stimuli", "n_trials", "n_objects", "n_subjects", "quantity")}
    assert notes == {"n_stimuli": 320, "n_trials": 2000, "n_objects": 4, "n_subjects": 10, "quantity": "correlation"}
    left_out = []
    for who in range(10):
        rest = target.isel(presentation=target["subject_id"].values != f"p{who}")
        left_out.append(float(load_metric("confusion_similarity")(source, rest)))
    assert score.attrs["error"] == pytest.approx(np.sqrt(9 * np.var(left_out)))


def test_accuracies_over_tasks_equal_scipy():
    source, target = model(), people()
    right = source["choice"].values[source.values.argmax(axis=1)] == source["image_label"].values
    own, human = [], []
    for task in sorted(TASKS):
        kind, detail = TASKS[task]
        own.append(
            right[(source["manipulation"].values == kind) & (source["manipulation_details"].values == detail)].mean()
        )
        human.append(target.values[target["task"].values == task].mean())
    score = load_metric("tasks_consistency")(source, target)
    assert float(score) == pytest.approx(pearsonr(own, human)[0], abs=1e-12)
    np.testing.assert_allclose(score.raw.values, [own, human])
    assert score.attrs["tasks"] == sorted(TASKS)
    left_out = []
    for who in range(10):
        rest = target.isel(presentation=target["subject_id"].values != f"p{who}")
        left_out.append(float(load_metric("tasks_consistency")(source, rest)))
    assert score.attrs["error"] == pytest.approx(np.sqrt(9 * np.var(left_out)))


@pytest.mark.parametrize(("task", "expected"), TASKS.items())
def test_tasks_of_people_map_to_conditions_of_the_model(task, expected):
    assert condition_of_task(task) == expected


@pytest.mark.slow
@pytest.mark.parametrize("identifier", ["confusion_similarity", "tasks_consistency"])
def test_ceiling_is_the_correlation_of_the_true_pattern(identifier):
    """The true pattern is estimated from many more people with equal behaviour."""
    target, truth = people(1, n=3000), people(2, n=400_000)
    metric = load_metric(identifier)
    ceiling = metric.ceiling(target)
    patterns = [metric(model(), assembly).raw.values[1] for assembly in (target, truth)]
    assert float(ceiling) == pytest.approx(np.corrcoef(patterns)[0, 1], abs=0.015)
    assert ceiling.attrs["quantity"] == "correlation"
    assert ceiling.raw.sizes == {"split": 100}
    assert ceiling.attrs["error"] > 0


@pytest.mark.parametrize("identifier", ["confusion_similarity", "tasks_consistency"])
def test_halves_are_seeded(identifier):
    target = people()
    ceiling = load_metric(identifier).ceiling(target)
    np.testing.assert_array_equal(load_metric(identifier).ceiling(target).raw.values, ceiling.raw.values)
    assert float(load_metric(identifier, seed=1).ceiling(target)) != float(ceiling)
    published = load_metric(identifier, compat=True).ceiling(target)
    assert float(published) == pytest.approx(ceiling.raw.values.mean())
    assert published < ceiling


def test_halves_of_two_people_match_hand_computed_values():
    """Each of the two people is one half, so every division gives the same correlation."""
    target = people(subjects=2)
    first = target["subject_id"].values == "p0"
    halves = [
        off_diagonal(target["image_label"].values[part], target["prediction"].values[part]) for part in (first, ~first)
    ]
    r = pearsonr(*halves)[0]
    ceiling = load_metric("confusion_similarity").ceiling(target)
    np.testing.assert_allclose(ceiling.raw.values, r)
    assert float(ceiling) == pytest.approx(np.sqrt(2 * r / (1 + r)))
    assert np.isnan(ceiling.attrs["error"])


def test_halves_of_trials_match_hand_computed_values():
    """Each task has two trials, one in each half."""
    tasks = list(TASKS)[:3]
    answers = {"control": "face face", "clutter_heavy": "car car", "clutter_light": "face car"}
    chosen = " ".join(answers[task] for task in tasks).split()
    target = answers_of(np.zeros(6), image_label=["face"] * 6, prediction=chosen, task=np.repeat(tasks, 2))
    raw = load_metric("tasks_consistency").ceiling(target).raw.values
    # clutter_light is correct in one half only: the patterns are (1, 0, 1) and (1, 0, 0), or the reverse.
    np.testing.assert_allclose(raw, np.corrcoef([1, 0, 1], [1, 0, 0])[0, 1])


def test_no_error_without_names_of_people():
    target = people()
    nameless = answers_of(target.values, **columns(target, "subject_id"))
    for identifier in ("confusion_similarity", "tasks_consistency"):
        score = load_metric(identifier)(model(), nameless)
        assert float(score) == pytest.approx(float(load_metric(identifier)(model(), target)))
        assert np.isnan(score.attrs["error"])
    with pytest.raises(AssemblyError, match="'subject_id'"):
        load_metric("confusion_similarity").ceiling(nameless)


def test_answers_that_are_not_labels_are_ignored():
    target = people()
    coords = columns(target)
    coords["prediction"] = np.where(np.arange(2000) < 100, "none", coords["prediction"])
    score = load_metric("confusion_similarity")(model(), answers_of(target.values, **coords))
    assert score.attrs["n_trials"] == 1900


def test_rejects_different_labels_tasks_and_too_few_trials():
    source, target = model(), people()
    with pytest.raises(AssemblyError, match=r"only people have \['tree'\]"):
        load_metric("confusion_similarity")(source.isel(choice=slice(3)), target)
    with pytest.raises(AssemblyError, match="two values of 'subject_id'"):
        load_metric("confusion_similarity").ceiling(target.isel(presentation=target["subject_id"].values == "p0"))
    with pytest.raises(AssemblyError, match="'clutter_heavy'"):
        load_metric("tasks_consistency")(
            source.isel(presentation=source["manipulation_details"].values != "heavy"), target
        )
    few = target.isel(presentation=np.isin(target["task"].values, ["control", "clutter_heavy"]))
    with pytest.raises(AssemblyError, match="three"):
        load_metric("tasks_consistency")(source, few)
    single = np.flatnonzero(target["task"].values == "control")[1:]
    with pytest.raises(AssemblyError, match="single trial"):
        load_metric("tasks_consistency").ceiling(target.isel(presentation=np.setdiff1d(np.arange(2000), single)))
    with pytest.raises(AssemblyError, match="'task'"):
        load_metric("tasks_consistency")(source, answers_of(target.values, **columns(target, "task")))
