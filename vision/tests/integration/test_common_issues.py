from pathlib import Path

import numpy as np
import pytest

from brainscore_core.testing.synthetic import make_neuroid_assembly, make_stimulus_set
from brainscore_vision import load_ceiling, load_metric
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


def test_recommended_checks_pass_for_matching_stimuli(stimulus_set, assembly):
    assert stimulus_set["stimulus_id"].nunique() == len(stimulus_set)
    assert all(Path(path).exists() for path in stimulus_set.stimulus_paths.values())
    assert not set(assembly.coords["stimulus_id"].values) - set(stimulus_set["stimulus_id"])
    assert np.isnan(assembly.values).sum() == 0
    assert "time_bin" in assembly.dims or len(assembly.dims) == 2
    assert (len(assembly["presentation"]), len(assembly["neuroid"])) == (8, 3)
    assert "NeuroidAssembly" in repr(assembly)


def test_benchmarks_without_a_version_are_version_1(assembly):
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
