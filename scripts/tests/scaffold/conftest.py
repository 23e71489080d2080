"""Provide the tables of an experiment: 20 stimuli, 6 neurons, 4 repetitions, and the choices of 5 people."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from brainscore_vision.testing.made_recordings import draw_stimuli, recordings
from brainscore_vision.testing.people import draw_choices


@pytest.fixture(scope="session")
def shared_experiment(tmp_path_factory):
    """Return a folder with pictures, its stimuli table, and the tables of measurements as layout -> rows."""
    folder = tmp_path_factory.mktemp("experiment")
    labels = ["cat", "dog", "hen", "owl"] * 5
    stimuli = draw_stimuli("pic", 20, columns={"truth": labels}, folder=folder / "pictures")
    stimuli["picture"], stimuli["filename"] = stimuli["stimulus_id"], stimuli["stimulus_id"] + ".png"
    measured, _ = recordings(stimuli, n_neuroids=6, n_repetitions=4, noise=0.3)
    neurons = [f"n{number}" for number in range(6)]
    wide = pd.DataFrame(measured.values.round(3), columns=neurons)
    wide.insert(0, "Picture", measured["stimulus_id"].values)
    wide.insert(1, "rep", measured["repetition"].values)
    long = wide.melt(id_vars=["Picture", "rep"], var_name="unit", value_name="rate")
    rng = np.random.default_rng(0)
    counts = rng.poisson(np.exp(2 + 0.5 * long["rate"]))
    spikes = long.loc[long.index.repeat(counts), ["Picture", "rep", "unit"]].reset_index(drop=True)
    spikes["spike_time"] = rng.uniform(0, 200, len(spikes)).round(1)
    accuracy = np.where(np.arange(20) % 8 < 4, 0.95, 0.3)
    answers = draw_choices(stimuli, accuracy=accuracy, n_subjects=5)
    choices = pd.DataFrame({"stimulus": answers["stimulus_id"].values, "participant": answers["subject"].values})
    choices = choices.assign(choice=answers.values, rt=1.5)
    layouts = {"wide": wide, "long": long, "spikes": spikes, "choices": choices, "trials": _trials(stimuli)}
    table = stimuli[["picture", "filename", "truth"]]
    return SimpleNamespace(folder=folder, stimuli=table, truth=measured, layouts=layouts)


def _trials(stimuli):
    """Return a match-to-sample task: 20 people see each picture with every other object; some pairs are harder."""
    truth = stimuli.set_index("stimulus_id")["truth"]
    pairs = [(picture, sample, other) for picture, sample in truth.items() for other in sorted(set(truth) - {sample})]
    accuracy = np.random.default_rng(0).uniform(0.4, 1, len(pairs))
    rows = [
        (picture, f"P{person}", sample, other, sample if person < 20 * correct else other)
        for person in range(20)
        for (picture, sample, other), correct in zip(pairs, accuracy, strict=True)
    ]
    return pd.DataFrame(rows, columns=["stimulus_id", "subject", "sample_object", "distractor_object", "choice"])


@pytest.fixture
def experiment(shared_experiment, tmp_path):
    """Write tables next to the pictures: ``experiment(responses, stimuli=None)`` returns the paths of both."""
    folder = tmp_path / "experiment"
    folder.mkdir()
    (folder / "pictures").symlink_to(shared_experiment.folder / "pictures")

    def write(responses, stimuli=None, **how):
        files = folder / "stimuli.csv", folder / "responses.csv"
        tables = shared_experiment.stimuli if stimuli is None else stimuli, responses
        for file, table in zip(files, tables, strict=True):
            file.write_text(table) if isinstance(table, str) else table.to_csv(file, index=False, **how)
        return files

    return write
