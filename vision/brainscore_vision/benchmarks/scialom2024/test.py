import numpy as np
import pytest

from brainscore_core.testing.synthetic import answers_of
from brainscore_vision import load_benchmark
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.testing.stand_ins import draw_stimuli

from .benchmark import accuracy_distance, error_consistency

# -- with stand-ins ----------------------------------------------------------------------------------------------------

CATEGORIES = ["Banana", "Beanie", "Binoculars", "Boot", "Bowl", "Cup"]
N_STIMULI, N_SUBJECTS = 60, 12


def answers(truth, difficulty, generator):
    """Name each drawing correctly with a chance of 1 - difficulty, otherwise as another category."""
    others = np.array([generator.choice([name for name in CATEGORIES if name != right]) for right in truth])
    return np.where(generator.random(len(truth)) < difficulty, others, truth)


def stand_in(stand_ins, name):
    """Replace the data by made-up drawings, some hard for everybody; return the drawings and their difficulty."""
    generator = np.random.default_rng(0)
    truth = np.resize(CATEGORIES, N_STIMULI)
    composite = name.endswith("all")
    columns = {
        "stimulus_id": [str(100 + number) for number in range(N_STIMULI)],
        "truth": truth,
        "percentage_elements": np.repeat(["RGB", "contours", "12", "16"], 15) if composite else [16] * N_STIMULI,
        "condition": ["segments"] * N_STIMULI if composite else [16] * N_STIMULI,
    }
    stimuli = draw_stimuli(f"Scialom2024_{name}", N_STIMULI, columns=columns, size_px=32)
    difficulty = np.where(generator.random(N_STIMULI) < 0.3, 0.85, 0.1)
    shown = np.repeat(["RGB", "contours", "segments"], [15, 15, 30]) if composite else ["16"] * N_STIMULI
    given = [answers(truth, difficulty, generator) for _ in range(N_SUBJECTS)]
    each = {
        "stimulus_id": columns["stimulus_id"],
        "truth": truth,
        "condition": shown,
        "percentage_elements": np.asarray(columns["percentage_elements"]).astype(str),
    }
    coords = {name: np.tile(values, N_SUBJECTS) for name, values in each.items()}
    people = np.repeat([f"s{number:02d}" for number in range(N_SUBJECTS)], N_STIMULI)
    assembly = answers_of(np.concatenate(given), subject=people, **coords)
    stand_ins.data(f"Scialom2024_{name}", assembly, stimuli)
    return stimuli, difficulty


@pytest.fixture(scope="module")
def difficulties(module_stand_ins):
    return {name: stand_in(module_stand_ins, name) for name in ("segments-16", "segments-all")}


def namer(stimuli, labels):
    columns = {name: stimuli[name].to_numpy() for name in ("stimulus_id", "truth")}
    return PrecomputedFeatures(answers_of([labels], **columns), 8)


def brain(stimuli, difficulty, seed):
    return answers(stimuli["truth"].to_numpy(), difficulty, np.random.default_rng(seed))


def test_another_person_errs_as_consistently_as_people(difficulties):
    benchmark = load_benchmark("Scialom2024_segments-allBehavioralErrorConsistency")
    stimuli, difficulty = difficulties["segments-all"]
    assert 0.3 < benchmark.ceiling < 0.9
    persons = [float(benchmark(namer(stimuli, brain(stimuli, difficulty, seed))).raw) for seed in range(1, 9)]
    assert np.mean(persons) == pytest.approx(float(benchmark.ceiling), abs=2.5 * benchmark.ceiling.attrs["error"])
    generator = np.random.default_rng(0)
    strangers = [
        float(benchmark(namer(stimuli, brain(stimuli, generator.permutation(difficulty), seed))).raw)
        for seed in range(8)
    ]
    assert abs(np.mean(strangers)) < 0.1
    assert min(persons) > max(strangers)


def test_another_person_is_as_accurate_as_people(difficulties):
    for identifier, name in (
        ("Scialom2024_segments-16BehavioralAccuracyDistance", "segments-16"),
        ("Scialom2024_segments-allBehavioralAccuracyDistance", "segments-all"),
    ):
        benchmark = load_benchmark(identifier)
        stimuli, difficulty = difficulties[name]
        score = benchmark(namer(stimuli, brain(stimuli, difficulty, seed=1)))
        assert float(score) > 0.93
        guesses = np.random.default_rng(1).choice(CATEGORIES, N_STIMULI)
        assert float(benchmark(namer(stimuli, guesses))) < 0.5
        assert score.attrs["n_subjects"] == N_SUBJECTS


def test_accuracy_is_the_share_of_right_answers(difficulties):
    benchmark = load_benchmark("Scialom2024_segments-16EngineeringAccuracy")
    stimuli, _ = difficulties["segments-16"]
    labels = stimuli["truth"].to_numpy().copy()
    assert float(benchmark(namer(stimuli, labels))) == 1
    labels[:15] = np.roll(labels, 1)[:15]
    assert float(benchmark(namer(stimuli, labels))) == 0.75
    guesses = np.random.default_rng(0).permutation(stimuli["truth"])
    assert float(benchmark(namer(stimuli, guesses))) == pytest.approx(1 / 6, abs=0.15)


def test_published_option_changes_scores_and_image_sizes(difficulties):
    stimuli, difficulty = difficulties["segments-all"]
    opposite = namer(stimuli, brain(stimuli, 1 - difficulty, seed=0))
    assert float(load_benchmark("Scialom2024_segments-allBehavioralErrorConsistency")(opposite)) == 0
    assert float(error_consistency("segments-all", published=True)(opposite)) > 0.5

    class Sized(PrecomputedFeatures):
        def look_at(self, stimuli, number_of_trials=1):
            self.shown = stimuli
            return super().look_at(stimuli, number_of_trials)

    stimuli, difficulty = difficulties["segments-16"]
    model = Sized(namer(stimuli, brain(stimuli, difficulty, seed=1)).features, visual_degrees=4)
    accuracy_distance("segments-16")(model)
    assert model.shown["degrees"].unique().tolist() == [4]
    accuracy_distance("segments-16", published=True)(model)
    assert "degrees" not in model.shown.columns


# -- published numbers -------------------------------------------------------------------------------------------------

CEILINGS = {
    "rgb": 0.98484, "contours": 0.97794,
    "phosphenes-12": 0.94213, "phosphenes-16": 0.90114, "phosphenes-21": 0.89134, "phosphenes-27": 0.77732,
    "phosphenes-35": 0.78466, "phosphenes-46": 0.78246, "phosphenes-59": 0.79745, "phosphenes-77": 0.83475,
    "phosphenes-100": 0.86073,
    "segments-12": 0.86167, "segments-16": 0.8202, "segments-21": 0.8079, "segments-27": 0.78282,
    "segments-35": 0.77724, "segments-46": 0.85391, "segments-59": 0.83410, "segments-77": 0.86227,
    "segments-100": 0.92517,
    "phosphenes-all": 0.89533, "segments-all": 0.89052,
}  # fmt: skip


@pytest.mark.private_access
@pytest.mark.parametrize(("name", "ceiling"), CEILINGS.items())
def test_published_ceiling_of_accuracy(name, ceiling):
    benchmark = load_benchmark(f"Scialom2024_{name}BehavioralAccuracyDistance")
    assert float(benchmark.ceiling) == pytest.approx(ceiling, abs=0.01 if name.endswith("all") else 0.001)


@pytest.mark.private_access
@pytest.mark.parametrize(("name", "ceiling"), [("phosphenes-all", 0.45755), ("segments-all", 0.42529)])
def test_published_ceiling_of_errors(name, ceiling):
    benchmark = load_benchmark(f"Scialom2024_{name}BehavioralErrorConsistency")
    assert float(benchmark.ceiling) == pytest.approx(ceiling, abs=0.01)
