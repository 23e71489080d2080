import numpy as np
import pytest

from brainscore_vision import load_dataset, load_stimulus_set
from brainscore_vision.testing.data import registered_files

N_STIMULI = dict.fromkeys(["Ori", "Fil", "Lin", "SilTex", "Sil", "Tex", "LinFil"], 240) | {"Sparse": 171, "Dense": 171}


def test_each_form_registers_pictures_and_choices():
    registered = {tuple(line.split()[:2]) for line in registered_files("kato2026")}
    assert registered == {(kind, f"Kato2026.{form}") for kind in ("data", "stimulus_set") for form in N_STIMULI}


@pytest.mark.private_access
@pytest.mark.parametrize(("form", "n_stimuli"), N_STIMULI.items())
def test_pictures_and_choices_are_as_published(form, n_stimuli):
    assembly, stimuli = load_dataset(f"Kato2026.{form}"), load_stimulus_set(f"Kato2026.{form}")
    n_subjects = 60 if form == "Ori" else 10
    assert len(np.unique(assembly["subject"].values)) == n_subjects
    assert assembly.shape == (n_stimuli * n_subjects,)
    assert set(assembly["stimulus_id"].values) == set(stimuli["stimulus_id"])
    assert set(assembly["condition"].values) == set(stimuli["condition"]) == {form}
    assert len(stimuli) == n_stimuli
