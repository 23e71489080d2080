import pytest

from brainscore_vision import load_dataset, load_stimulus_set

N_TRIALS = {
    "circle_line": 4292, "color": 4132, "convergence": 3874, "eighth": 4302, "gray_easy": 4047, "gray_hard": 4143,
    "half": 4162, "juncture": 3876, "lle": 4167, "llh": 4166, "quarter": 4050, "round_f": 4380, "round_v": 4257,
    "tilted_line": 4314,
}  # fmt: skip


@pytest.mark.private_access
@pytest.mark.parametrize(("experiment", "n_trials"), N_TRIALS.items())
def test_displays_and_answers_are_as_published(experiment, n_trials):
    assembly = load_dataset(f"Ferguson2024_{experiment}")
    assert assembly.sizes == {"presentation": n_trials}
    assert set(assembly["block"].values.tolist()) == {"first", "second"}
    assert set(assembly["distractor_nums"].values.tolist()) == {"1.0", "5.0", "11.0"}
    assert set(assembly["keypress_response"].values.tolist()) == {"f", "j"}
    for name, n_stimuli in {experiment: 48, f"{experiment}_training_stimuli": 1920}.items():
        stimuli = load_stimulus_set(f"Ferguson2024_{name}")
        assert stimuli["stimulus_id"].nunique() == n_stimuli
        assert stimuli["block"].nunique() == 2
