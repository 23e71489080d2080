import numpy as np
import pytest

from brainscore_core.benchmarks import score_benchmark
from brainscore_core.errors import NotApplicableError
from brainscore_vision import load_benchmark, load_dataset, load_metric, load_model, load_stimulus_set
from brainscore_vision.testing.people import KnownAnswers, draw_choices
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import Kato2026

CODES = {
    "Ori": "o", "Fil": "f", "Lin": "l", "SilTex": "st", "Sil": "s", "Tex": "t", "LinFil": "lf", "Dense": "cd",
    "Sparse": "cs",
}  # fmt: skip
METRICS = ["error_consistency", "accuracy_distance"]
KINDS = ["acorn", "bear", "camel", "dryer", "frog"]


def stand_in(stand_ins, forms=tuple(CODES)):
    """Replace the data by made-up pictures and people, in blocks of a kind; some are hard for everybody.

    Each form has different pictures, and each person leaves out some. `Sparse` and `Dense` have fewer photographs.
    """
    for form in forms:
        number, code = [*CODES].index(form), CODES[form]
        n_each = 9 if form in ("Sparse", "Dense") else 12
        kinds = np.repeat(KINDS, n_each)
        names = [f"{kind}_ILSVRC2012_{place % n_each:02}_{code}" for place, kind in enumerate(kinds)]
        columns = {"truth": [f"kato2026_{kind}" for kind in kinds], "condition": [form] * len(kinds)}
        stimuli = draw_stimuli(
            f"Kato2026.{form}", len(kinds), columns={"stimulus_id": names, **columns}, size_px=8, seed=number
        )
        generator = np.random.default_rng(number)
        accuracy = generator.choice([0.2, 0.9], len(kinds))
        people = draw_choices(stimuli, accuracy=accuracy, n_subjects=8, presentation_coords=["truth", "condition"])
        left_out = generator.random(people.shape) < 0.1
        people.values[:] = np.where(left_out, generator.choice(["", "NaN"], people.shape), people.values)
        stand_ins.data(f"Kato2026.{form}", people)


@pytest.fixture(scope="module")
def _people(module_stand_ins):
    stand_in(module_stand_ins, ["Ori", "Tex", "Sil", "Dense"])


pytestmark = pytest.mark.usefixtures("_people", "kept_homes")


def truths(*forms):
    sets = [load_stimulus_set(f"Kato2026.{form}") for form in forms]
    return {name: truth for each in sets for name, truth in zip(each["stimulus_id"], each["truth"], strict=True)}


def draw_person(form, seed):
    """Return answers to a form's pictures, drawn like those of the made-up people."""
    stimuli = load_stimulus_set(f"Kato2026.{form}")
    accuracy = np.random.default_rng([*CODES].index(form)).choice([0.2, 0.9], len(stimuli))
    answers = draw_choices(stimuli, accuracy=accuracy, n_subjects=1, seed=seed)
    return dict(zip(answers["stimulus_id"].values, answers.values, strict=True))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", ["Dense", pytest.param("Ori", marks=pytest.mark.slow)])
def test_answers_like_those_of_people_reach_the_ceiling(form, metric):
    benchmark = load_benchmark(f"Kato2026{form}-{metric}")
    scores = [benchmark(KnownAnswers(truths("Sil") | draw_person(form, seed))) for seed in range(1, 9)]
    errors = [score.attrs["error"] for score in scores]
    ratios = [float(score.raw) / float(score.ceiling) for score in scores]  # not clipped to 1, as scores are
    assert np.mean(ratios) == pytest.approx(1, abs=np.mean(errors))
    assert (benchmark.version, benchmark.parent) == (1, "Kato2026")
    assert scores[0].attrs["n_stimuli"] == (60 if form == "Ori" else 45)


def with_half_known():
    """Return answers that are right about the first half of each kind when unchanged, and the changed pictures of
    these."""
    answers = truths("Ori") | draw_person("Tex", 1)
    known = [name.rpartition("_")[0] for name in truths("Ori") if int(name.split("_")[-2]) < 6]
    answers |= {name: "kato2026_others" for name in truths("Ori") if name.rpartition("_")[0] not in known}
    return answers, [f"{name}_t" for name in known]


@pytest.mark.parametrize("metric", METRICS)
def test_only_pictures_recognised_unchanged_count(metric):
    answers, known = with_half_known()
    score = load_benchmark(f"Kato2026Tex-{metric}")(KnownAnswers(answers))
    people = load_dataset("Kato2026.Tex")
    people = people[np.isin(people["stimulus_id"].values, known)]
    model = draw_choices(load_stimulus_set("Kato2026.Tex"), accuracy=1, n_subjects=1, presentation_coords=["truth"])
    model = model[np.isin(model["stimulus_id"].values, known)]
    model.values[:] = [answers[name] for name in model["stimulus_id"].values]
    expected = load_metric(metric, omitted_answers=["", "NaN"])(model, people)
    assert float(score.raw) == pytest.approx(float(expected))
    assert float(score) == pytest.approx(np.clip(float(expected) / float(score.ceiling), 0, 1))


@pytest.mark.parametrize("answer", ["kato2026_acorn", "kato2026_others"])
def test_constant_answers_have_no_score(answer):
    """Only acorns would count, about which the model is always right without looking."""
    model = KnownAnswers(dict.fromkeys([*truths("Ori"), *truths("Tex")], answer))
    benchmark = load_benchmark("Kato2026Tex-accuracy_distance")
    with pytest.raises(NotApplicableError, match=r"the same answer to all 60 .* nothing to compare"):
        benchmark(model)
    score = score_benchmark(benchmark, model)
    assert np.isnan(float(score))
    assert "60 unchanged pictures" in score.attrs["not_applicable"]


def test_recognising_no_unchanged_picture_gives_no_score():
    wrong = {name: "kato2026_frog" if "acorn" in name else "kato2026_acorn" for name in truths("Ori")}
    with pytest.raises(NotApplicableError, match="60 unchanged pictures, or answers none of them correctly"):
        load_benchmark("Kato2026Tex-error_consistency")(KnownAnswers(wrong | truths("Tex")))


@pytest.mark.parametrize(("form", "unchanged"), [("Dense", "Sil"), ("Sil", "Ori"), ("Ori", None)])
def test_models_choose_among_the_kinds_and_all_others(form, unchanged):
    started, shown = [], []

    class Onlooker(KnownAnswers):
        def start_task(self, task, fitting_stimuli=None, aggregation="mean"):
            started.append((task, fitting_stimuli, aggregation))
            super().start_task(task, fitting_stimuli)

        def look_at(self, stimuli, number_of_trials=1):
            shown.append((stimuli.identifier, stimuli["degrees"].unique().tolist(), [*stimuli.columns]))
            return super().look_at(stimuli, number_of_trials)

    forms = [form] if unchanged is None else [form, unchanged]
    load_benchmark(f"Kato2026{form}-accuracy_distance")(Onlooker(truths(*forms), visual_degrees=5))
    labels = [f"kato2026_{kind}" for kind in (*KINDS, "others")]
    assert started == [("label", labels, "max")] * len(forms)
    assert [name.partition("--")[0] for name, *_ in shown] == [f"Kato2026.{each}" for each in forms]
    assert all(degrees == [5] and columns == ["stimulus_id", "degrees"] for _, degrees, columns in shown)


def test_published_option_scores_the_absolute_agreement():
    """Agreement below chance scores 0 here; the published score is its absolute value."""
    people = load_dataset("Kato2026.Ori")
    right = (people.values == people["truth"].values).astype(float)
    easy = {name: right[people["stimulus_id"].values == name].mean() > 0.5 for name in truths("Ori")}
    against = {name: "kato2026_others" if easy[name] else truth for name, truth in truths("Ori").items()}
    here = load_benchmark("Kato2026Ori-error_consistency")(KnownAnswers(against))
    published = Kato2026("Ori", "error_consistency", published=True)(KnownAnswers(against))
    assert float(here) == 0
    assert float(published.raw) == -float(here.raw) > 0.1


# -- published numbers -------------------------------------------------------------------------------------------------

# Ceiling and raw score of AlexNet.
ERROR_CONSISTENCY = {
    "Ori": (0.21271, 0.04396), "Fil": (0.34131, 0.15168), "Lin": (0.33968, 0.05427), "SilTex": (0.43446, 0.04693),
    "Sil": (0.52434, 0.06757), "Tex": (0.32948, 0.18094), "LinFil": (0.43865, 0.00906), "Sparse": (0.39401, 0),
    "Dense": (0.35777, 0),
}  # fmt: skip
ACCURACY_DISTANCE = {
    "Ori": (0.88677, 0.77458), "Fil": (0.90117, 0.75369), "Lin": (0.94708, 0.20051), "SilTex": (0.94806, 0.46979),
    "Sil": (0.92978, 0.09714), "Tex": (0.93304, 0.94172), "LinFil": (0.91169, 0.54994), "Sparse": (0.77562, 0.04),
    "Dense": (0.81783, 0.04),
}  # fmt: skip


@pytest.mark.private_access
@pytest.mark.slow
@pytest.mark.parametrize("form", CODES)
@pytest.mark.parametrize("metric", METRICS)
def test_published_numbers(form, metric):
    published = {"error_consistency": ERROR_CONSISTENCY, "accuracy_distance": ACCURACY_DISTANCE}
    benchmark = Kato2026(form, metric, published=True)
    score = benchmark(load_model("alexnet"))
    assert (float(benchmark.ceiling), float(score.raw)) == pytest.approx(published[metric][form], abs=0.0001)
