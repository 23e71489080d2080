import itertools

import numpy as np
import pandas as pd
import pytest

from brainscore_core.errors import AssemblyError
from brainscore_core.supported_data_standards.brainio.stimuli import StimulusSet
from brainscore_core.testing.synthetic import assembly_of
from brainscore_vision.benchmark_helpers import properties_common
from brainscore_vision.benchmark_helpers.properties.single_units import record_from_model


def shown(world, stimuli):
    return record_from_model(world.V1(), stimuli, 1).transpose("neuroid", "presentation")


def test_rejects_gratings_out_of_order(world):
    good = shown(world, world.SETS["Marques2020_receptive_field"])
    properties_common._assert_grating_activations(good)
    order = list(range(good.sizes["presentation"]))
    order[0], order[1] = order[1], order[0]
    with pytest.raises(AssemblyError, match="'phase' is not in its place"):
        properties_common._assert_grating_activations(good.isel(presentation=order))
    with pytest.raises(AssertionError, match="multiple of"):
        properties_common._assert_grating_activations(good.isel(presentation=order[:-1]))


def test_accepts_cycles_that_vary_two_columns_together(world):
    """Radius and contrast change together between two cycles, so the conditions are not their full product."""
    parts = [world.SETS["Marques2020_orientation"].copy() for _ in range(2)]
    parts[1]["radius"], parts[1]["contrast"] = 2.0, 0.5
    both = StimulusSet(pd.concat(parts, ignore_index=True))
    both["stimulus_id"] = [f"s{i}" for i in range(len(both))]
    both.identifier = "both"
    properties_common._assert_grating_activations(shown(world, both))


def test_textures_must_occur_once_in_any_order():
    rows = list(itertools.product(["noise", "texture"], [1, 2, 3], [10, 20]))
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("type", "family", "sample"))}
    given = assembly_of(np.zeros((12, 2)), **columns).transpose()
    properties_common._assert_texture_activations(given.isel(presentation=np.random.default_rng(0).permutation(12)))
    with pytest.raises(AssemblyError, match="11 presentations are not 12"):
        properties_common._assert_texture_activations(given.isel(presentation=range(11)))
    with pytest.raises(AssemblyError, match="not in its place"):
        properties_common._assert_texture_activations(given.isel(presentation=[0, *range(11)]))
