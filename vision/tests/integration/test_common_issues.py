"""What the published tutorials list under "Common Issues and Solutions" runs on data that are in order."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import make_neuroid_assembly, make_stimulus_set
from brainscore_vision import load_ceiling, load_metric
from brainscore_vision.benchmark_helpers import PrecomputedFeatures
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, average_repetition
from brainscore_vision.benchmark_helpers.properties_common import PropertiesBenchmark


@pytest.fixture
def stimulus_set(tmp_path):
    return make_stimulus_set(tmp_path, 4, identifier="tutorial")


@pytest.fixture
def assembly(stimulus_set):
    made = make_neuroid_assembly(4, 3, n_repetitions=2, time_bins=[(70, 170)], identifier="tutorial")
    made.attrs["stimulus_set"] = stimulus_set
    return made


def test_stimuli_and_assemblies_that_fit(stimulus_set, assembly):
    assert stimulus_set["stimulus_id"].nunique() == len(stimulus_set)
    assert all(Path(path).exists() for path in stimulus_set.stimulus_paths.values())
    assert not set(assembly.coords["stimulus_id"].values) - set(stimulus_set["stimulus_id"])
    assert np.isnan(assembly.values).sum() == 0
    assert "time_bin" in assembly.dims or len(assembly.dims) == 2
    assert (len(assembly["presentation"]), len(assembly["neuroid"])) == (8, 3)
    assert "NeuroidAssembly" in repr(assembly)


def test_tables_with_numbers_as_names_and_a_column_of_files():
    df = pd.DataFrame({"stimulus_id": [1, 2], "filename": ["a.png", "b.png"]})
    df["stimulus_id"] = df["stimulus_id"].astype(str)
    if "filename" in df.columns:
        df = df.rename(columns={"filename": "image_filename"})
    assert StimulusSet(df)["stimulus_id"].tolist() == ["1", "2"]


def test_a_ceiling_needs_the_repetitions(assembly):
    ceiler = load_ceiling("internal_consistency")
    assert -1 <= float(ceiler(assembly)) <= 1
    with pytest.raises(AssemblyError, match="repetition"):
        ceiler(average_repetition(assembly))


def test_stimuli_of_model_and_brain(stimulus_set, assembly):
    candidate = PrecomputedFeatures(average_repetition(assembly), visual_degrees=8)
    candidate.start_recording("IT", time_bins=[(70, 170)])
    model_assembly = candidate.look_at(stimulus_set, number_of_trials=1)
    model_ids = set(model_assembly["stimulus_id"].values)
    bio_ids = set(assembly["stimulus_id"].values)
    assert model_ids == bio_ids, f"Mismatched IDs: {model_ids ^ bio_ids}"


def test_patterns_1_and_2_state_no_version(assembly):
    ceiler, metric = load_ceiling("internal_consistency"), load_metric("pls")
    neural = NeuralBenchmark(
        identifier="MajajHong2015.IT-pls",
        assembly=average_repetition(assembly),
        similarity_metric=metric,
        visual_degrees=8,
        number_of_trials=50,
        ceiling_func=lambda: ceiler(assembly),
        parent="IT",
        bibtex="",
    )
    properties = PropertiesBenchmark(
        identifier="Marques2020_Cavanaugh2002-surround_suppression_index",
        assembly=assembly,
        neuronal_property=lambda **_: None,
        similarity_metric=load_metric("ks_similarity", property_name="surround_suppression_index"),
        timebins=[(70, 170)],
        ceiling_func=lambda _: 1,
        parent="V1-surround_modulation",
        bibtex="",
    )
    assert (neural.version, properties.version) == (1, 1)
