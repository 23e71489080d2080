import numpy as np
import pytest

from brainscore_vision import load_dataset, load_stimulus_set
from brainscore_vision.testing.data import registered_files

N_STIMULI = {"190923": 1200, "201025": 1200, "210225": 1200, "211022": 1600}


def test_each_session_registers_images_and_spikes():
    registered = {tuple(line.split()[:2]) for line in registered_files("cowley2026")}
    assert registered == {(kind, f"Cowley2026.{day}") for kind in ("data", "stimulus_set") for day in N_STIMULI}


@pytest.mark.private_access
@pytest.mark.parametrize(("session", "n_stimuli"), N_STIMULI.items())
def test_images_and_neurons_are_as_published(session, n_stimuli):
    assembly, stimuli = load_dataset(f"Cowley2026.{session}"), load_stimulus_set(f"Cowley2026.{session}")
    assert len(stimuli) == n_stimuli
    assert set(assembly["stimulus_id"].values) <= set(stimuli["stimulus_id"])
    assert np.unique(assembly["region"].values).tolist() == ["V4"]
